//! What comes from a server unasked: its requests go to the client, its progress to the call, its log to whoever wants it.

use std::sync::Arc;

use rmcp::model::{
    ClientConfig, ElicitRequestParams, ElicitResult, Extensions, Implementation, ProgressNotificationParam, ProtocolVersion, RequestId,
    ResourceUpdatedNotificationParam,
};
#[expect(deprecated, reason = "servers of 2025-11-25 and before still use these")]
use rmcp::model::{CreateMessageRequestParams, CreateMessageResult, ListRootsResult, LoggingMessageNotificationParam};
use rmcp::service::{InboundStreamOrigin, NotificationContext, RequestContext};
use rmcp::{ClientHandler, ErrorData, RoleClient};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::json;
use tokio::sync::broadcast;

use super::callers::Callers;
use super::changes::{Change, Changed};
use super::client_requests::{ClientAbilities, ClientRequestKind, LogLevel};
use super::raw_answers::RawAnswers;

/// One connection's handler.
#[derive(Debug)]
pub(super) struct Handler {
    pub(super) callers: Arc<Callers>,
    pub(super) answers: Arc<RawAnswers>,
    pub(super) changed: broadcast::Sender<Change>,
}

impl Handler {
    fn tell(&self, what: Changed) {
        // Fails if nobody listens.
        let _ = self.changed.send(Change::new(&self.callers.server, what));
    }

    async fn ask<P: Serialize, R: DeserializeOwned>(
        &self,
        kind: ClientRequestKind,
        params: P,
        context: RequestContext<RoleClient>,
    ) -> Result<R, ErrorData> {
        let internal = |e: serde_json::Error| ErrorData::internal_error(e.to_string(), None);
        let params = serde_json::to_value(params).map_err(internal)?;
        let asked = self.callers.ask(kind, &params, origin(&context.extensions));
        let answer = tokio::select! {
            answer = asked => answer,
            () = context.ct.cancelled() => return Err(ErrorData::internal_error("the request was cancelled", None)),
        };
        let value = answer.map_err(|refusal| ErrorData::invalid_request(refusal.message, None))?;
        serde_json::from_value(value).map_err(internal)
    }
}

/// The request on whose stream a message came; only streamable HTTP tells.
fn origin(extensions: &Extensions) -> Option<&RequestId> {
    match extensions.get::<InboundStreamOrigin>() {
        Some(InboundStreamOrigin::OutboundRequest(id)) => Some(id),
        Some(InboundStreamOrigin::Unassociated) | None => None,
    }
}

#[expect(deprecated, reason = "servers of 2025-11-25 and before still use these")]
impl ClientHandler for Handler {
    async fn create_message(
        &self,
        params: CreateMessageRequestParams,
        context: RequestContext<RoleClient>,
    ) -> Result<CreateMessageResult, ErrorData> {
        self.ask(ClientRequestKind::Sampling, params, context).await
    }

    async fn list_roots(&self, context: RequestContext<RoleClient>) -> Result<ListRootsResult, ErrorData> {
        self.ask(ClientRequestKind::Roots, json!({}), context).await
    }

    async fn create_elicitation(
        &self,
        params: ElicitRequestParams,
        context: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        self.ask(ClientRequestKind::Elicitation, params, context).await
    }

    async fn on_progress(&self, params: ProgressNotificationParam, _context: NotificationContext<RoleClient>) {
        self.callers
            .tell_progress(&params.progress_token, params.progress, params.total, params.message.as_deref());
        self.answers.note_told();
    }

    async fn on_logging_message(&self, params: LoggingMessageNotificationParam, _context: NotificationContext<RoleClient>) {
        let level = serde_json::to_value(params.level).and_then(serde_json::from_value);
        self.callers.tell_log(level.unwrap_or(LogLevel::Info), params.logger, &params.data);
        self.answers.note_told();
    }

    async fn on_tool_list_changed(&self, _context: NotificationContext<RoleClient>) {
        self.tell(Changed::Tools);
    }

    async fn on_prompt_list_changed(&self, _context: NotificationContext<RoleClient>) {
        self.tell(Changed::Prompts);
    }

    async fn on_resource_list_changed(&self, _context: NotificationContext<RoleClient>) {
        self.tell(Changed::Resources);
    }

    async fn on_resource_updated(&self, params: ResourceUpdatedNotificationParam, _context: NotificationContext<RoleClient>) {
        self.tell(Changed::Resource(params.uri));
    }

    /// What a server is told about us.
    fn get_info(&self) -> ClientConfig {
        let mut capabilities = ClientAbilities::ALL.to_capabilities();
        // A notice would have to be sent when they change.
        capabilities["roots"] = json!({"listChanged": true});
        let capabilities = serde_json::from_value(capabilities).unwrap_or_default();
        let ourselves = Implementation::new("mce", env!("CARGO_PKG_VERSION"));
        // The default would be a revision that has no `initialize`.
        ClientConfig::new(capabilities, ourselves).with_protocol_version(ProtocolVersion::V_2025_11_25)
    }
}
