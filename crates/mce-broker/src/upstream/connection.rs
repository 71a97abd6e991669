//! One live connection to an MCP server: its tools and calls.

use std::collections::BTreeMap;
use std::process::ExitStatus;
use std::sync::Arc;
use std::time::Duration;

use mce_config::Era;
use rmcp::RoleClient;
use rmcp::model::{
    CallToolRequest, CallToolRequestParams, ClientNotification, ClientRequest as Request, PingRequest, RequestId, RequestMetaObject,
    RootsListChangedNotification, ServerPeerInfo, ServerResult,
};
use rmcp::service::{Peer, PeerRequestOptions, RunningService, ServiceError};
use serde_json::{Map, Value, json};
use tokio::sync::{Mutex, watch};
use tokio::time::timeout;

use super::callers::{Callers, Entered};
use super::client_requests::{ClientRequestKind, ClientRequests};
use super::handler::Handler;
use super::passing::Listed;
use super::raw_answers::{Fate, RawAnswers, RawResult};
use super::upstream_error::{UpstreamError, UpstreamStep};

/// Tools that a server may have.
pub(super) const MAX_TOOLS: usize = 10_000;
/// Bytes of all pages of its tools.
pub(super) const MAX_LIST_BYTES: usize = 32 << 20;
/// How often a server may ask for more input before it answers a call.
const MAX_ROUNDS: usize = 10;
/// The least grave log messages that are wanted. (MCP 2026-07-28, Logging.)
const LOG_LEVEL: &str = "io.modelcontextprotocol/logLevel";
/// The code of an error that says that the user has to be elsewhere first. (MCP 2025-11-25, Elicitation.)
const PAGES_FIRST: i32 = -32042;
/// Questions that it may ask at once.
const MAX_QUESTIONS: usize = 20;
/// Characters of a server's error message that are kept.
const MAX_MESSAGE_CHARS: usize = 2000;
/// How long a connection that broke is watched for the end of its process.
const END_WAIT: Duration = Duration::from_millis(500);

/// The tools of a server.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolList {
    /// Each as the server wrote it. At most 10,000, of 32 MiB together.
    pub tools: Vec<Value>,
    /// The title, else the name, that it gives itself; may be empty.
    pub title: String,
    /// What it says about its use; may be empty.
    pub instructions: String,
    /// Its version; may be empty.
    pub version: String,
}

/// What a tool answered.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolAnswer {
    /// Content blocks, as the server wrote them.
    pub content: Vec<Value>,
    /// `structuredContent`.
    pub structured: Option<Value>,
    /// The tool failed, and `content` says why.
    pub is_error: bool,
    /// Further members of the result, such as `_meta`.
    pub rest: Map<String, Value>,
}

impl ToolAnswer {
    /// The `CallToolResult` as the server wrote it.
    pub fn to_result(&self) -> Value {
        let mut result = Map::new();
        result.insert("content".to_owned(), Value::Array(self.content.clone()));
        if let Some(structured) = &self.structured {
            result.insert("structuredContent".to_owned(), structured.clone());
        }
        if self.is_error {
            result.insert("isError".to_owned(), Value::Bool(true));
        }
        result.extend(self.rest.clone());
        Value::Object(result)
    }
}

/// One call, on a connection.
pub(super) struct Call<'a> {
    pub(super) tool: &'a str,
    pub(super) arguments: &'a Map<String, Value>,
    /// For whom it is made.
    pub(super) client: &'a Arc<dyn ClientRequests>,
}

/// A connection whose handshake is done.
#[derive(Debug)]
pub(super) struct Connection {
    pub(super) server: Arc<str>,
    pub(super) peer: Peer<RoleClient>,
    // Locked to close it, once.
    pub(super) service: Mutex<RunningService<RoleClient, Handler>>,
    pub(super) answers: Arc<RawAnswers>,
    pub(super) callers: Arc<Callers>,
    pub(super) era: Era,
    pub(super) ended: Option<watch::Receiver<Option<ExitStatus>>>,
    pub(super) answer_bytes: usize,
}

impl Connection {
    pub(super) fn is_closed(&self) -> bool {
        self.peer.is_transport_closed()
    }

    pub(super) fn info(&self) -> Option<Arc<ServerPeerInfo>> {
        self.peer.peer_info()
    }

    pub(super) async fn close(&self) {
        // An error is a panic of the task that served it, which has ended then.
        let _ = self.service.lock().await.close().await;
    }

    /// Tells a server with `initialize` which log messages are wanted between calls; others are told with each call.
    pub(super) async fn tell_log_level(&self) {
        let can_log = self.info().is_some_and(|info| info.capabilities.logging.is_some());
        let level = self.callers.standing.log_level().map(serde_json::to_value);
        if let (Era::Legacy, true, Some(Ok(level))) = (self.era, can_log, level)
            && let Ok(request) = serde_json::from_value(json!({"method": "logging/setLevel", "params": {"level": level}}))
        {
            // Fails if it is closed, or does not do it: nothing depends on that.
            let _ = self.peer.send_request(request).await;
        }
    }

    /// Tells a server with `initialize` that the client has other folders now.
    pub(super) async fn tell_roots_changed(&self) {
        if self.era == Era::Legacy {
            let notice = RootsListChangedNotification::default();
            // Fails if it is closed, and then there is nobody to tell.
            let _ = self
                .peer
                .send_notification(ClientNotification::RootsListChangedNotification(notice))
                .await;
        }
    }

    /// Whether anything comes back within this time, be it an error.
    pub(super) async fn answers_ping(&self, limit: Duration) -> bool {
        let ping = self.peer.send_request(Request::PingRequest(PingRequest::default()));
        matches!(timeout(limit, ping).await, Ok(Ok(_) | Err(ServiceError::McpError(_))))
    }

    /// Its tools, and what it says about itself.
    pub(super) async fn list_tools(&self) -> Result<ToolList, UpstreamError> {
        Ok(self.with_introduction(self.pages(Listed::Tools).await?))
    }

    fn with_introduction(&self, tools: Vec<Value>) -> ToolList {
        let info = self.info();
        let itself = info.as_ref().and_then(|info| info.server_info.as_ref());
        ToolList {
            tools,
            title: itself.map(|i| i.title.as_ref().unwrap_or(&i.name).clone()).unwrap_or_default(),
            version: itself.map(|i| i.version.clone()).unwrap_or_default(),
            instructions: info.as_ref().and_then(|info| info.instructions.clone()).unwrap_or_default(),
        }
    }

    /// Calls a tool, and answers what it asks meanwhile. (MCP 2026-07-28, Multi Round-Trip Requests.)
    pub(super) async fn call(&self, call: &Call<'_>, entered: &Entered<'_>) -> Result<ToolAnswer, UpstreamError> {
        let mut params = CallToolRequestParams::new(call.tool.to_owned()).with_arguments(call.arguments.clone());
        let mut has_shown = false;
        for _ in 0..MAX_ROUNDS {
            let request = Request::CallToolRequest(CallToolRequest::new(params.clone()));
            let answered = self.request(request, UpstreamStep::Call, (self.options(call), Some(entered))).await;
            let answer = match answered {
                // It has done nothing yet.
                Err(UpstreamError::PagesFirst { pages, .. }) if !has_shown => {
                    has_shown = true;
                    self.show(call, &pages).await?;
                    continue;
                }
                answered => answered?,
            };
            if answer.bytes > self.answer_bytes {
                return Err(self.too_large(self.answer_bytes, UpstreamStep::Call));
            }
            let Value::Object(result) = answer.result else {
                return Err(self.wrong("no result of a tool", UpstreamStep::Call));
            };
            if result.get("resultType").and_then(Value::as_str) != Some("input_required") {
                return self.answer(result);
            }
            params.request_state = result.get("requestState").and_then(Value::as_str).map(str::to_owned);
            params.input_responses = self.inputs(call, result.get("inputRequests")).await?;
        }
        Err(self.wrong("it never stops asking for more input", UpstreamStep::Call))
    }

    fn answer(&self, mut result: Map<String, Value>) -> Result<ToolAnswer, UpstreamError> {
        let structured = result.shift_remove("structuredContent");
        let content = match result.shift_remove("content") {
            Some(Value::Array(content)) => content,
            None if structured.is_some() => Vec::new(),
            // The result of 2024-10-07.
            None if result.contains_key("toolResult") => {
                let text = result.shift_remove("toolResult").unwrap_or_default();
                return Ok(ToolAnswer {
                    content: Vec::new(),
                    structured: Some(text),
                    is_error: false,
                    rest: result,
                });
            }
            Some(_) | None => return Err(self.wrong("no content", UpstreamStep::Call)),
        };
        let is_error = result.shift_remove("isError").and_then(|is| is.as_bool()).unwrap_or_default();
        // Of a revision of the protocol that the client may not speak.
        result.shift_remove("resultType");
        Ok(ToolAnswer {
            content,
            structured,
            is_error,
            rest: result,
        })
    }

    /// What is said of the client with each request: only servers without `initialize` read it.
    fn options(&self, call: &Call<'_>) -> PeerRequestOptions {
        let options = PeerRequestOptions::no_options();
        match self.era {
            Era::Auto | Era::Legacy => options,
            Era::Modern => {
                let mut meta = RequestMetaObject::default();
                let abilities = call.client.abilities().to_capabilities();
                meta.set_client_capabilities(serde_json::from_value(abilities).unwrap_or_default());
                if let Some(Ok(level)) = call.client.log_level().map(serde_json::to_value) {
                    meta.0.0.insert(LOG_LEVEL.to_owned(), level);
                }
                options.with_meta(meta)
            }
        }
    }

    /// Sends the user to pages, one after another.
    async fn show(&self, call: &Call<'_>, pages: &[Value]) -> Result<(), UpstreamError> {
        for page in pages.iter().take(MAX_QUESTIONS) {
            let answer = self
                .callers
                .ask_client(call.client, (None, ClientRequestKind::Elicitation), page)
                .await;
            let reason = match answer {
                Ok(answer) if answer.get("action").and_then(Value::as_str) == Some("accept") => continue,
                Ok(_) => "the user did not go to its page".to_owned(),
                Err(refusal) => refusal.message,
            };
            let server = self.server.to_string();
            return Err(UpstreamError::InputRefused { server, reason });
        }
        Ok(())
    }

    async fn inputs(&self, call: &Call<'_>, asked: Option<&Value>) -> Result<Option<BTreeMap<String, Value>>, UpstreamError> {
        let Some(asked) = asked.and_then(Value::as_object) else {
            return Ok(None);
        };
        let mut questions = Vec::new();
        for (key, request) in asked {
            let method = request.get("method").and_then(Value::as_str);
            let Some(kind) = method.and_then(ClientRequestKind::of_method) else {
                return Err(self.wrong("it asks for an unknown kind of input", UpstreamStep::Call));
            };
            questions.push((key, kind, request.get("params").unwrap_or(&Value::Null)));
        }
        if questions.len() > MAX_QUESTIONS {
            return Err(self.wrong("it asks too much at once", UpstreamStep::Call));
        }
        let answers = questions.into_iter().map(async |(key, kind, params)| {
            let answer = self.callers.ask_client(call.client, (Some(key), kind), params).await;
            answer
                .map(|answer| (key.clone(), answer))
                .map_err(|refusal| UpstreamError::InputRefused {
                    server: self.server.to_string(),
                    reason: refusal.message,
                })
        });
        let answers: Vec<(String, Value)> = futures_util::future::try_join_all(answers).await?;
        Ok(Some(answers.into_iter().collect()))
    }

    /// Sends a request and waits for its result. If it is dropped meanwhile, the server is told.
    pub(super) async fn request(
        &self,
        request: Request,
        step: UpstreamStep,
        (options, entered): (PeerRequestOptions, Option<&Entered<'_>>),
    ) -> Result<RawResult, UpstreamError> {
        let sent = self.peer.send_request_with_option(request, options).await;
        let Ok(handle) = sent else {
            return Err(self.broke(false, step).await);
        };
        let id = handle.id.clone();
        let mut guard = Abandoned {
            connection: self,
            id: Some(id.clone()),
        };
        if let Some(entered) = entered {
            entered.note_sent(id.clone(), handle.progress_token.clone());
        }
        let answer = handle.await_response().await;
        guard.id = None;
        drop(guard);
        if entered.is_some() {
            self.answers.until_told().await;
        }
        match (answer, self.answers.take(&id)) {
            (Ok(read), Fate::Answered(mut result)) => {
                keep_listed(&read, &mut result.result);
                Ok(result)
            }
            (_, Fate::Failed(fault)) => Err(UpstreamError::from_http(&self.server, fault, step)),
            (_, Fate::TooLarge) => Err(self.too_large(self.limit(step), step)),
            (Ok(result), Fate::NeverSent | Fate::Unanswered) => self.typed(&result, step),
            (Err(error), Fate::NeverSent) => Err(self.failed(error, false, step).await),
            (Err(error), Fate::Unanswered | Fate::Answered(_)) => Err(self.failed(error, true, step).await),
        }
    }

    fn typed(&self, result: &ServerResult, step: UpstreamStep) -> Result<RawResult, UpstreamError> {
        let result = serde_json::to_value(result).map_err(|_| self.wrong("an unreadable result", step))?;
        Ok(RawResult { result, bytes: 0 })
    }

    fn limit(&self, step: UpstreamStep) -> usize {
        match step {
            UpstreamStep::Call => self.answer_bytes,
            UpstreamStep::List | UpstreamStep::Start => MAX_LIST_BYTES,
        }
    }

    async fn failed(&self, error: ServiceError, was_sent: bool, step: UpstreamStep) -> UpstreamError {
        match error {
            ServiceError::McpError(error) if error.code.0 == PAGES_FIRST => UpstreamError::PagesFirst {
                server: self.server.to_string(),
                message: error.message.chars().take(MAX_MESSAGE_CHARS).collect(),
                pages: match error.data.as_ref().and_then(|data| data.get("elicitations")) {
                    Some(Value::Array(pages)) => pages.clone(),
                    Some(_) | None => Vec::new(),
                },
            },
            ServiceError::McpError(error) => UpstreamError::Refused {
                server: self.server.to_string(),
                code: i64::from(error.code.0),
                message: error.message.chars().take(MAX_MESSAGE_CHARS).collect(),
            },
            ServiceError::UnexpectedResponse => self.wrong("an unexpected kind of result", step),
            _ => self.broke(was_sent, step).await,
        }
    }

    async fn broke(&self, was_sent: bool, step: UpstreamStep) -> UpstreamError {
        UpstreamError::Disconnected {
            server: self.server.to_string(),
            status: end_of(self.ended.clone()).await,
            was_sent,
            step,
        }
    }

    pub(super) fn wrong(&self, problem: &str, step: UpstreamStep) -> UpstreamError {
        UpstreamError::Protocol {
            server: self.server.to_string(),
            problem: problem.to_owned(),
            step,
        }
    }

    pub(super) fn too_large(&self, limit_bytes: usize, step: UpstreamStep) -> UpstreamError {
        UpstreamError::TooLarge {
            server: self.server.to_string(),
            limit_bytes,
            step,
        }
    }
}

/// Drops the tools that rmcp dropped: those whose schema asks for header fields in a way that is not allowed.
fn keep_listed(read: &ServerResult, result: &mut Value) {
    let (ServerResult::ListToolsResult(listed), Some(Value::Array(tools))) = (read, result.get_mut("tools")) else {
        return;
    };
    if listed.tools.len() < tools.len() {
        tools.retain(|tool| {
            listed
                .tools
                .iter()
                .any(|listed| tool.get("name").and_then(Value::as_str) == Some(&*listed.name))
        });
    }
}

/// How a process ended, if it ends soon.
pub(super) async fn end_of(ended: Option<watch::Receiver<Option<ExitStatus>>>) -> Option<String> {
    let mut ended = ended?;
    let status = timeout(END_WAIT, ended.wait_for(Option::is_some)).await.ok()?.ok()?;
    status.map(|status| status.to_string())
}

/// Tells the server that nobody waits any more, unless it has answered.
struct Abandoned<'a> {
    connection: &'a Connection,
    id: Option<RequestId>,
}

impl Drop for Abandoned<'_> {
    fn drop(&mut self) {
        let (Some(id), Ok(runtime)) = (self.id.take(), tokio::runtime::Handle::try_current()) else {
            return;
        };
        let (peer, answers) = (self.connection.peer.clone(), Arc::clone(&self.connection.answers));
        runtime.spawn(async move {
            // Fails if the connection is closed, and then there is nobody to tell.
            let _ = peer.send_notification(super::cancellation(id.clone())).await;
            answers.take(&id);
        });
    }
}
