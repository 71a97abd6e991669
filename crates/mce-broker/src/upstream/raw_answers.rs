//! Answers as the server wrote them. rmcp's own types drop what they do not know, so the results of the requests that
//! matter are taken out before it reads them, and it gets an empty result instead.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use rmcp::model::{
    ClientJsonRpcMessage, ClientNotification, ClientRequest, ErrorCode, ErrorData, JsonRpcMessage, RequestId, ServerJsonRpcMessage,
    ServerResult,
};
use serde_json::{Map, Value};
use tokio::sync::watch;
use tokio::time::timeout;

use super::http_client::HttpFault;

/// How long an answer waits for what came before it to be told on.
const TELLING_TIME: Duration = Duration::from_millis(100);

/// The result of a request.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct RawResult {
    pub(super) result: Value,
    /// Of the whole message.
    pub(super) bytes: usize,
}

#[derive(Debug)]
enum Place {
    /// The request was given to the transport.
    Sent,
    Answered(RawResult),
    /// Its answer was too large to be kept.
    TooLarge,
    Failed(HttpFault),
}

/// The requests of one connection whose results are kept.
#[derive(Debug, Default)]
pub(super) struct RawAnswers {
    // Held for one look-up.
    places: Mutex<HashMap<RequestId, Place>>,
    // Why another request failed last: before the connection stands, there is one at a time.
    fault: Mutex<Option<HttpFault>>,
    reads_tools: bool,
    /// Reports of progress and log messages that came, and those that were told on.
    came: AtomicU64,
    told: watch::Sender<u64>,
}

/// What became of a request.
#[derive(Debug, PartialEq)]
pub(super) enum Fate {
    NeverSent,
    Unanswered,
    Answered(RawResult),
    TooLarge,
    Failed(HttpFault),
}

impl RawAnswers {
    /// As the default; but of a list of tools the service gets a copy if it can read it: over HTTP it takes header fields from
    /// schemas. (MCP 2026-07-28, Transports, Custom headers.)
    pub(super) fn with_tools_read() -> Self {
        Self {
            reads_tools: true,
            ..Self::default()
        }
    }

    fn with<T>(&self, work: impl FnOnce(&mut HashMap<RequestId, Place>) -> T) -> T {
        work(&mut self.places.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// To be called with each message before it is sent, in order.
    pub(super) fn note_sent(&self, message: &ClientJsonRpcMessage) {
        match message {
            JsonRpcMessage::Request(request) if is_kept(&request.request) => {
                self.with(|places| places.insert(request.id.clone(), Place::Sent));
            }
            JsonRpcMessage::Notification(notification) => {
                if let ClientNotification::CancelledNotification(cancelled) = &notification.notification
                    && let Some(id) = &cancelled.params.request_id
                {
                    self.with(|places| places.remove(id));
                }
            }
            JsonRpcMessage::Request(_) | JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_) => {}
        }
    }

    /// To be called if a message was not sent after all.
    pub(super) fn note_unsent(&self, id: &RequestId) {
        self.with(|places| places.remove(id));
    }

    /// Takes the result of a request that is kept out of a message; for all others the message comes back.
    pub(super) fn keep(&self, message: Value, bytes: usize) -> Result<ServerJsonRpcMessage, Value> {
        let Value::Object(mut message) = message else {
            return Err(message);
        };
        let method = message.get("method").and_then(Value::as_str);
        if matches!(method, Some("notifications/message" | "notifications/progress")) {
            self.came.fetch_add(1, Ordering::Relaxed);
        }
        let id = response_id(&message).filter(|id| self.with(|places| places.contains_key(id)));
        let Some((id, result)) = id.and_then(|id| Some((id, message.remove("result")?))) else {
            return Err(Value::Object(message));
        };
        let is_read = self.reads_tools && result.get("tools").is_some();
        let tools = is_read.then(|| serde_json::from_value(result.clone()).ok()).flatten();
        let copy = tools.map_or_else(|| ServerResult::empty(()), ServerResult::ListToolsResult);
        self.with(|places| places.insert(id.clone(), Place::Answered(RawResult { result, bytes })));
        Ok(ServerJsonRpcMessage::response(copy, id))
    }

    /// What is said to rmcp of a message that was too large, of which only the ends are known. If nothing tells which
    /// request it answers, it is taken to answer all that are kept.
    pub(super) fn too_large(&self, head: &[u8], tail: &[u8]) -> Vec<ServerJsonRpcMessage> {
        let named = id_at_start(head).or_else(|| id_at_end(tail));
        self.with(|places| {
            let mut answers = Vec::new();
            for (id, place) in places.iter_mut() {
                if matches!(place, Place::Sent) && named.as_ref().is_none_or(|named| named == id) {
                    *place = Place::TooLarge;
                    let error = ErrorData::new(ErrorCode::INTERNAL_ERROR, "the answer is too large", None);
                    answers.push(ServerJsonRpcMessage::error(error, Some(id.clone())));
                }
            }
            answers
        })
    }

    /// To be called when a report of progress or a log message has been told on.
    pub(super) fn note_told(&self) {
        self.told.send_modify(|told| *told += 1);
    }

    /// Waits until all that came so far has been told on: each is told by a task of its own, which an answer may overtake.
    pub(super) async fn until_told(&self) {
        let came = self.came.load(Ordering::Relaxed);
        let mut told = self.told.subscribe();
        if timeout(TELLING_TIME, told.wait_for(|told| *told >= came)).await.is_err() {
            // What cannot be read is never told on.
            self.told.send_modify(|told| *told = came.max(*told));
        }
    }

    /// Notes that the answer to a request is too large.
    pub(super) fn note_too_large(&self, id: &RequestId) {
        self.with(|places| places.insert(id.clone(), Place::TooLarge));
    }

    /// Notes why a message got no answer.
    pub(super) fn note_fault(&self, message: &ClientJsonRpcMessage, fault: HttpFault) {
        let JsonRpcMessage::Request(request) = message else {
            return;
        };
        let is_kept = self.with(|places| {
            places
                .get_mut(&request.id)
                .map(|place| *place = Place::Failed(fault.clone()))
                .is_some()
        });
        if !is_kept {
            *self.fault.lock().unwrap_or_else(PoisonError::into_inner) = Some(fault);
        }
    }

    /// Why the last request failed whose result is not kept, such as the first.
    pub(super) fn take_fault(&self) -> Option<HttpFault> {
        self.fault.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Takes what became of a request.
    pub(super) fn take(&self, id: &RequestId) -> Fate {
        match self.with(|places| places.remove(id)) {
            None => Fate::NeverSent,
            Some(Place::Sent) => Fate::Unanswered,
            Some(Place::Answered(result)) => Fate::Answered(result),
            Some(Place::TooLarge) => Fate::TooLarge,
            Some(Place::Failed(fault)) => Fate::Failed(fault),
        }
    }
}

/// Whether somebody wants the result as it was written.
const fn is_kept(request: &ClientRequest) -> bool {
    matches!(
        request,
        ClientRequest::CallToolRequest(_)
            | ClientRequest::ListToolsRequest(_)
            | ClientRequest::ListPromptsRequest(_)
            | ClientRequest::GetPromptRequest(_)
            | ClientRequest::ListResourcesRequest(_)
            | ClientRequest::ListResourceTemplatesRequest(_)
            | ClientRequest::ReadResourceRequest(_)
            | ClientRequest::CompleteRequest(_)
    )
}

fn response_id(message: &Map<String, Value>) -> Option<RequestId> {
    if message.contains_key("method") {
        return None;
    }
    match message.get("id")? {
        Value::Number(number) => number.as_i64().map(RequestId::Number),
        // Some servers make a text of each number.
        Value::String(text) => text.parse().ok().map(RequestId::Number),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    }
}

/// The id of a message that begins with it, as those of most servers do.
fn id_at_start(head: &[u8]) -> Option<RequestId> {
    let start = String::from_utf8_lossy(head.get(..head.len().min(200))?).replace([' ', '\t'], "");
    let rest = start.strip_prefix('{')?;
    let rest = rest.strip_prefix("\"jsonrpc\":\"2.0\",").unwrap_or(rest);
    let rest = rest.strip_prefix("\"id\":")?;
    let (id, _) = rest.split_once(',')?;
    id.trim_matches('"').parse().ok().map(RequestId::Number)
}

/// The id of a message that ends with it.
fn id_at_end(tail: &[u8]) -> Option<RequestId> {
    let end = String::from_utf8_lossy(tail).replace([' ', '\t', '\r'], "");
    let rest = end.strip_suffix('}')?;
    let rest = rest.strip_suffix(",\"jsonrpc\":\"2.0\"").unwrap_or(rest);
    let (_, id) = rest.rsplit_once("\"id\":")?;
    id.trim_matches('"').parse().ok().map(RequestId::Number)
}

#[cfg(test)]
mod tests {
    use rmcp::model::{CallToolRequest, CallToolRequestParams, CancelledNotification, CancelledNotificationParam};
    use serde_json::json;

    use super::*;

    fn with_calls(ids: impl IntoIterator<Item = i64>) -> RawAnswers {
        let answers = RawAnswers::default();
        for id in ids {
            let request = ClientRequest::CallToolRequest(CallToolRequest::new(CallToolRequestParams::new("t")));
            answers.note_sent(&ClientJsonRpcMessage::request(request, RequestId::Number(id)));
        }
        answers
    }

    #[test]
    fn a_result_is_kept_as_it_was_written() {
        let answers = with_calls([3]);
        let result = json!({"z": 1, "a": {"priority": 1, "new": true}});
        let message = json!({"result": result, "jsonrpc": "2.0", "id": 3});
        assert!(answers.keep(message, 7).is_ok());
        assert_eq!(answers.take(&RequestId::Number(3)), Fate::Answered(RawResult { result, bytes: 7 }));
        assert_eq!(answers.take(&RequestId::Number(3)), Fate::NeverSent);
    }

    #[test]
    fn what_was_not_asked_for_or_was_cancelled_is_not_kept() {
        let answers = with_calls([3]);
        for other in [
            json!({"id": 4, "result": {}}),
            json!({"id": 3, "error": {}}),
            json!({"id": 3, "method": "ping", "result": {}}),
            json!([]),
        ] {
            assert_eq!(answers.keep(other.clone(), 0).unwrap_err(), other);
        }
        let params: CancelledNotificationParam = serde_json::from_value(json!({"requestId": 3})).unwrap();
        let cancelled = ClientNotification::CancelledNotification(CancelledNotification::new(params));
        answers.note_sent(&ClientJsonRpcMessage::notification(cancelled));
        assert_eq!(answers.take(&RequestId::Number(3)), Fate::NeverSent);
    }

    #[test]
    fn an_answer_that_is_too_large_is_told_apart_by_its_ends() {
        for (head, tail) in [
            (r#"{"jsonrpc":"2.0","id":2,"result":"aaaa"#, "aaaa"),
            (r#"{ "id": 2, "jsonrpc": "2.0", "result":"aaaa"#, "aaaa"),
            (r#"{"result":{"id":1,"#, r#"aa"},"jsonrpc":"2.0","id":2}"#),
            (r#"{"result":{"id":1,"#, r#"aa"}, "id": 2, "jsonrpc": "2.0"}"#),
        ] {
            let answers = with_calls([1, 2]);
            assert_eq!(answers.too_large(head.as_bytes(), tail.as_bytes()).len(), 1, "{head}");
            assert_eq!(answers.take(&RequestId::Number(1)), Fate::Unanswered);
            assert_eq!(answers.take(&RequestId::Number(2)), Fate::TooLarge);
        }
        assert_eq!(with_calls([1, 2]).too_large(b"?", b"?").len(), 2);
    }
}
