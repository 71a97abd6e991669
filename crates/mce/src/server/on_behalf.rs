//! For whom a request of a client is carried out, as the policy and the audit log know it.

use std::sync::Arc;

use mce_broker::ClientRequests;
use rmcp::model::{ProgressToken, RequestId};

use super::surface::Context;
use crate::app::Behalf;

/// Characters kept of what a client calls itself.
const MAX_CLIENT_NAME: usize = 100;
/// Characters kept of what a client calls its request. A `traceparent` has 55. (W3C Trace Context, 3.2)
const MAX_CORRELATION: usize = 64;

/// The client that sent this request, answering by `client` what is asked meanwhile.
pub(super) fn on_behalf(client: Arc<dyn ClientRequests>, context: &Context) -> Behalf {
    let name = context
        .client_info()
        .map(|client| client.name.chars().take(MAX_CLIENT_NAME).collect());
    Behalf {
        correlation: Some(correlation(context)),
        ..Behalf::client(client, name)
    }
}

/// What the client's own records know the request by: the trace that it is part of, else its progress token, else its number.
fn correlation(context: &Context) -> String {
    let text = match (context.meta.get_traceparent(), context.meta.get_progress_token()) {
        (Some(trace), _) => format!("trace:{trace}"),
        (None, Some(ProgressToken(token))) => format!("progress:{token}"),
        (None, None) => match &context.id {
            RequestId::Number(number) => format!("request:{number}"),
            RequestId::String(text) => format!("request:{text}"),
        },
    };
    // It is the client's, and shown to people in terminals.
    let is_plain = |c: &char| c.is_ascii_graphic();
    text.chars().filter(is_plain).take(MAX_CORRELATION).collect()
}
