//! What comes from a server unasked: its requests go to the client, its progress to the call, its log to ours.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use rmcp::model::{
    ClientConfig, ElicitRequestParams, ElicitResult, Implementation, ProgressNotificationParam, ProgressToken, ProtocolVersion,
};
#[expect(deprecated, reason = "servers of 2025-11-25 and before still use these")]
use rmcp::model::{CreateMessageRequestParams, CreateMessageResult, ListRootsResult, LoggingMessageNotificationParam};
use rmcp::service::{NotificationContext, RequestContext};
use rmcp::{ClientHandler, ErrorData, RoleClient};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::sync::broadcast;

use super::client_requests::{ClientAbilities, ClientRequest, ClientRequestKind, ClientRequests};

/// Characters of a server's log message that are kept.
const MAX_LOG_CHARS: usize = 2000;

/// How far a call is.
#[derive(Debug, Clone, PartialEq)]
pub struct Progress {
    /// Grows with each report.
    pub progress: f64,
    /// What it grows to.
    pub total: Option<f64>,
    /// The server's words.
    pub message: Option<String>,
}

/// Where the progress of a call goes. Must not block.
pub type ProgressSink = Arc<dyn Fn(Progress) + Send + Sync>;

/// The calls of one connection whose progress somebody wants to know.
#[derive(Default)]
pub(super) struct ProgressSinks {
    // Held for one look-up.
    sinks: Mutex<HashMap<ProgressToken, ProgressSink>>,
}

impl ProgressSinks {
    pub(super) fn insert(&self, token: ProgressToken, sink: ProgressSink) {
        self.sinks.lock().unwrap_or_else(PoisonError::into_inner).insert(token, sink);
    }

    pub(super) fn remove(&self, token: &ProgressToken) {
        self.sinks.lock().unwrap_or_else(PoisonError::into_inner).remove(token);
    }

    fn get(&self, token: &ProgressToken) -> Option<ProgressSink> {
        self.sinks.lock().unwrap_or_else(PoisonError::into_inner).get(token).cloned()
    }
}

impl fmt::Debug for ProgressSinks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ProgressSinks")
    }
}

/// One connection's handler.
#[derive(Debug)]
pub(super) struct Handler {
    pub(super) server: Arc<str>,
    pub(super) client: Arc<dyn ClientRequests>,
    pub(super) progress: Arc<ProgressSinks>,
    /// Names of servers whose tools changed.
    pub(super) changed: broadcast::Sender<String>,
}

impl Handler {
    async fn ask<P: Serialize, R: DeserializeOwned>(&self, kind: ClientRequestKind, params: P) -> Result<R, ErrorData> {
        let internal = |e: serde_json::Error| ErrorData::internal_error(e.to_string(), None);
        let request = ClientRequest {
            server: &self.server,
            kind,
            params: serde_json::to_value(params).map_err(internal)?,
        };
        let answer = self.client.answer(request).await;
        let value = answer.map_err(|refusal| ErrorData::invalid_request(refusal.message, None))?;
        serde_json::from_value(value).map_err(internal)
    }
}

#[expect(deprecated, reason = "servers of 2025-11-25 and before still use these")]
impl ClientHandler for Handler {
    async fn create_message(
        &self,
        params: CreateMessageRequestParams,
        _context: RequestContext<RoleClient>,
    ) -> Result<CreateMessageResult, ErrorData> {
        self.ask(ClientRequestKind::Sampling, params).await
    }

    async fn list_roots(&self, _context: RequestContext<RoleClient>) -> Result<ListRootsResult, ErrorData> {
        self.ask(ClientRequestKind::Roots, json!({})).await
    }

    async fn create_elicitation(
        &self,
        params: ElicitRequestParams,
        _context: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        self.ask(ClientRequestKind::Elicitation, params).await
    }

    async fn on_progress(&self, params: ProgressNotificationParam, _context: NotificationContext<RoleClient>) {
        if let Some(sink) = self.progress.get(&params.progress_token) {
            sink(Progress {
                progress: params.progress,
                total: params.total,
                message: params.message,
            });
        }
    }

    async fn on_logging_message(&self, params: LoggingMessageNotificationParam, _context: NotificationContext<RoleClient>) {
        if tracing::enabled!(tracing::Level::DEBUG) {
            let text: String = params.data.to_string().chars().take(MAX_LOG_CHARS).collect();
            tracing::debug!(server = %self.server, level = ?params.level, text, "an MCP server logged");
        }
    }

    async fn on_tool_list_changed(&self, _context: NotificationContext<RoleClient>) {
        // Fails if nobody listens.
        let _ = self.changed.send(self.server.to_string());
    }

    /// What a server is told about us.
    fn get_info(&self) -> ClientConfig {
        let capabilities = serde_json::from_value(capabilities(self.client.abilities())).unwrap_or_default();
        let ourselves = Implementation::new("mce", env!("CARGO_PKG_VERSION"));
        // The default would be a revision that has no `initialize`.
        ClientConfig::new(capabilities, ourselves).with_protocol_version(ProtocolVersion::V_2025_11_25)
    }
}

/// `capabilities` of the protocol.
fn capabilities(abilities: ClientAbilities) -> Value {
    let mut capabilities = serde_json::Map::new();
    if abilities.roots {
        capabilities.insert("roots".to_owned(), json!({}));
    }
    if abilities.sampling {
        capabilities.insert("sampling".to_owned(), json!({}));
    }
    let mut modes = serde_json::Map::new();
    if abilities.elicitation_form {
        modes.insert("form".to_owned(), json!({}));
    }
    if abilities.elicitation_url {
        modes.insert("url".to_owned(), json!({}));
    }
    if !modes.is_empty() {
        capabilities.insert("elicitation".to_owned(), Value::Object(modes));
    }
    Value::Object(capabilities)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_the_client_can_do_is_declared() {
        assert_eq!(capabilities(ClientAbilities::default()), json!({}));
        let form = ClientAbilities {
            elicitation_form: true,
            ..ClientAbilities::default()
        };
        assert_eq!(capabilities(form), json!({"elicitation": {"form": {}}}));
        let all = ClientAbilities {
            roots: true,
            sampling: true,
            elicitation_form: true,
            elicitation_url: true,
        };
        let all = capabilities(all);
        assert_eq!(all, json!({"roots": {}, "sampling": {}, "elicitation": {"form": {}, "url": {}}}));
        let typed: rmcp::model::ClientCapabilities = serde_json::from_value(all.clone()).unwrap();
        assert_eq!(serde_json::to_value(typed).unwrap(), all);
    }
}
