//! Results as an MCP server wrote them. rmcp's types drop what they do not know, so what passes through travels in `_meta` of an
//! empty result of rmcp's, whose own fields (`resultType`, caching) stay, and takes its place where messages leave.

use rmcp::ErrorData;
use rmcp::model::{ClientNotification, ClientRequest, CustomResult, MetaObject, ProtocolVersion, ServerConfig, ServerResult};
use rmcp::service::{NotificationContext, RequestContext, Service};
use rmcp::{RoleServer, handler::server::ServerHandler};
use serde_json::{Map, Value};
use std::borrow::Cow;

/// The member of `_meta` that carries a result.
const KEY: &str = "mce/as-written";

/// `_meta` of a result that stands for this one.
pub(crate) fn carrying(result: Value) -> MetaObject {
    let mut meta = MetaObject::default();
    meta.0.insert(KEY.to_owned(), result);
    meta
}

/// A service whose results leave as they were written.
#[derive(Clone)]
pub(crate) struct AsWritten<H>(pub(crate) H);

impl<H: ServerHandler> Service<RoleServer> for AsWritten<H> {
    async fn handle_request(&self, request: ClientRequest, context: RequestContext<RoleServer>) -> Result<ServerResult, ErrorData> {
        let result = Service::handle_request(&self.0, request, context).await?;
        if !carries(&result) {
            return Ok(result);
        }
        let mut value = serde_json::to_value(result).map_err(|error| ErrorData::internal_error(error.to_string(), None))?;
        lift(&mut value);
        Ok(ServerResult::CustomResult(CustomResult(value)))
    }

    async fn handle_notification(
        &self,
        notification: ClientNotification,
        context: NotificationContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        Service::handle_notification(&self.0, notification, context).await
    }

    fn get_info(&self) -> ServerConfig {
        ServerHandler::get_info(&self.0)
    }

    fn supported_protocol_versions(&self) -> Cow<'static, [ProtocolVersion]> {
        ServerHandler::supported_protocol_versions(&self.0)
    }
}

fn carries(result: &ServerResult) -> bool {
    let meta = match result {
        ServerResult::CallToolResult(result) => &result.meta,
        ServerResult::ListToolsResult(result) => &result.meta,
        ServerResult::ListPromptsResult(result) => &result.meta,
        ServerResult::GetPromptResult(result) => &result.meta,
        ServerResult::ListResourcesResult(result) => &result.meta,
        ServerResult::ListResourceTemplatesResult(result) => &result.meta,
        ServerResult::ReadResourceResult(result) => &result.meta,
        ServerResult::CompleteResult(result) => &result.meta,
        _ => return false,
    };
    meta.as_ref().is_some_and(|meta| meta.0.contains_key(KEY))
}

/// A message's text, with the result that it carries in the place of the one that stands for it.
pub(super) fn lift_text(message: &str) -> Option<String> {
    if !message.contains(KEY) {
        return None;
    }
    let mut message: Value = serde_json::from_str(message).ok()?;
    lift(message.get_mut("result")?);
    Some(message.to_string())
}

/// Puts the members of the carried result over those of the one that carries it.
fn lift(result: &mut Value) {
    let Some(stand_in) = result.as_object_mut() else { return };
    let meta = stand_in.get_mut("_meta").and_then(Value::as_object_mut);
    let Some(Value::Object(written)) = meta.and_then(|meta| meta.shift_remove(KEY)) else {
        return;
    };
    if stand_in.get("_meta").and_then(Value::as_object).is_some_and(Map::is_empty) {
        stand_in.shift_remove("_meta");
    }
    stand_in.extend(written);
}

#[cfg(test)]
mod tests {
    use rmcp::model::CallToolResult;
    use serde_json::json;

    use super::*;

    #[test]
    fn what_was_written_takes_the_place_of_what_stands_for_it() {
        let written = json!({"content": [{"type": "future", "x": 1}], "_meta": {"a": 1}, "new": true});
        let mut result = CallToolResult::success(Vec::new());
        result.meta = Some(carrying(written));
        let message = json!({"jsonrpc": "2.0", "id": 1, "result": result}).to_string();
        let expected = json!({"jsonrpc": "2.0", "id": 1, "result": {"resultType": "complete", "content": [{"type": "future", "x": 1}],
            "isError": false, "_meta": {"a": 1}, "new": true}});
        assert_eq!(serde_json::from_str::<Value>(&lift_text(&message).unwrap()).unwrap(), expected);
    }

    #[test]
    fn other_messages_stay_as_they_are() {
        assert_eq!(lift_text(r#"{"jsonrpc": "2.0", "id": 1, "result": {"content": []}}"#), None);
        let own = r#"{"id":1,"result":{"content":[{"type":"text","text":"mce/as-written"}]}}"#;
        assert_eq!(lift_text(own).as_deref(), Some(own));
    }
}
