//! The side of a call that speaks with the client: answers when the call is done, asks what is asked meanwhile, tells how it
//! goes. A client with `initialize` gets requests of its own; others get `input_required` and answer by calling again.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use mce_broker::{ClientAbilities, ClientRefusal, ClientRequestKind, LogLevel, LogMessage};
use rmcp::RoleServer;
#[expect(deprecated, reason = "clients still use it")]
use rmcp::model::LoggingMessageNotificationParam;
use rmcp::model::{
    CallToolResponse, CallToolResult, ClientCapabilities, InputRequest, InputRequiredResult, ProgressNotificationParam, ProtocolVersion,
    ServerRequest,
};
use rmcp::service::{Peer, PeerRequestOptions, RequestContext};
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::{Instant as Deadline, sleep_until, timeout_at};

use super::client_call::{ClientCall, Inbox, Question, Told};
use super::parking::{Parked, Parking};
use super::surface::Refusal;
use crate::app::App;
use crate::failure::Failure;

/// Between two reports of progress.
const PROGRESS_INTERVAL: Duration = Duration::from_millis(40);
/// After so long without one, a call that goes on says so.
const QUIET: Duration = Duration::from_secs(5);

/// Questions that come within this time are one answer.
const TOGETHER: Duration = Duration::from_millis(20);
/// Log messages that wait to be sent. Further ones go to our log.
const WAITING_LOGS: usize = 256;

/// What a call is answered by.
pub(super) type Answer = Result<CallToolResult, Refusal>;

/// A call that goes on by itself. Dropping it ends it.
#[derive(Debug)]
struct Running(JoinHandle<Answer>);

impl Drop for Running {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// A call, and the ends of the channels through which it asks and tells.
#[derive(Debug)]
pub(super) struct Conversation {
    running: Running,
    call: Arc<ClientCall>,
    inbox: Inbox,
    started: Instant,
}

/// The client's request that is open.
pub(super) struct Open<'a> {
    pub(super) context: &'a RequestContext<RoleServer>,
    pub(super) parking: &'a Arc<Parking>,
    /// What the request is, for the state that is handed out: another one cannot use it.
    pub(super) binding: &'a [u8],
    pub(super) app: &'a App,
}

impl Conversation {
    pub(super) fn new(call: Arc<ClientCall>, inbox: Inbox, work: impl Future<Output = Answer> + Send + 'static) -> Self {
        Self {
            running: Running(tokio::spawn(work)),
            call,
            inbox,
            started: Instant::now(),
        }
    }

    /// Goes on until there is something to answer the open request by.
    ///
    /// # Errors
    ///
    /// Why the call ended without an answer.
    pub(super) async fn go_on(mut self, open: Open<'_>) -> Result<CallToolResponse, Refusal> {
        let context = open.context;
        self.call.set_log_level(wanted_log_level(context));
        let is_asked = takes_requests(context);
        let token = context.meta.get_progress_token();
        let mut asked = FuturesUnordered::new();
        let (mut next_report, mut has_news) = (Deadline::now(), false);
        let mut next_sign = Deadline::now() + QUIET;
        loop {
            tokio::select! {
                answer = &mut self.running.0 => {
                    while let Ok(log) = self.inbox.logs.try_recv() {
                        tell_log(&context.peer, log).await;
                    }
                    if let (Some(token), Ok(true)) = (token, self.inbox.progress.has_changed().map(|is_new| is_new || has_news)) {
                        tell_progress(&context.peer, self.told(), token).await;
                    }
                    return answer.map_err(Failure::internal)?.map(CallToolResponse::Complete);
                }
                Some(question) = self.inbox.questions.recv() => {
                    if is_asked {
                        asked.push(ask(context.peer.clone(), question));
                        continue;
                    }
                    let questions = self.with_others(question).await;
                    match open.parking.park(Parked::new(self, questions), open.binding) {
                        Ok(required) => return Ok(CallToolResponse::InputRequired(required)),
                        Err(parked) => self = parked.refuse("too many calls wait for answers of clients"),
                    }
                }
                Some(()) = asked.next(), if !asked.is_empty() => {}
                Some(log) = self.inbox.logs.recv() => tell_log(&context.peer, log).await,
                Ok(()) = self.inbox.progress.changed(), if token.is_some() && !has_news => has_news = true,
                () = sleep_until(next_report), if has_news => {
                    if let Some(token) = token.clone() {
                        tell_progress(&context.peer, self.told(), token).await;
                    }
                    has_news = false;
                    next_report = Deadline::now() + PROGRESS_INTERVAL;
                    next_sign = Deadline::now() + QUIET;
                }
                () = sleep_until(next_sign), if token.is_some() => {
                    self.call.tell_alive(self.started.elapsed());
                    next_sign = Deadline::now() + QUIET;
                }
                () = context.ct.cancelled() => return Err(Failure::internal("the request was cancelled").into()),
                () = open.app.ended() => return Err(Failure::internal("the client has gone").into()),
            }
        }
    }

    /// A question with those that are asked at the same time: clients call again only so many times.
    async fn with_others(&mut self, first: Question) -> Vec<Question> {
        let mut questions = vec![first];
        let end = Deadline::now() + TOGETHER;
        while let Ok(Some(question)) = timeout_at(end, self.inbox.questions.recv()).await {
            questions.push(question);
        }
        questions
    }

    fn told(&mut self) -> Option<Told> {
        self.inbox.progress.borrow_and_update().clone()
    }
}

/// What the client of a request can do.
pub(super) fn abilities(capabilities: Option<&ClientCapabilities>) -> ClientAbilities {
    let Some(capabilities) = capabilities else {
        return ClientAbilities::default();
    };
    let elicitation = capabilities.elicitation.as_ref();
    let has_url = elicitation.is_some_and(|modes| modes.url.is_some());
    ClientAbilities {
        roots: capabilities.roots.is_some(),
        sampling: capabilities.sampling.is_some(),
        // Without any mode, forms are meant. (MCP 2025-11-25, Elicitation.)
        elicitation_form: elicitation.is_some_and(|modes| modes.form.is_some() || !has_url),
        elicitation_url: has_url,
    }
}

/// Whether the client takes requests of its server.
pub(super) fn takes_requests(context: &RequestContext<RoleServer>) -> bool {
    context
        .protocol_version()
        .is_none_or(|version| version.as_str() < ProtocolVersion::V_2026_07_28.as_str())
}

fn wanted_log_level(context: &RequestContext<RoleServer>) -> Option<LogLevel> {
    let level = serde_json::to_value(context.meta.log_level()?).ok()?;
    serde_json::from_value(level).ok()
}

/// Asks a client with `initialize`, until nobody waits for its answer any more.
async fn ask(peer: Peer<RoleServer>, question: Question) {
    let Question { request, mut reply } = question;
    let wire = json!({"method": request.kind.method(), "params": request.params});
    let answer = match serde_json::from_value::<ServerRequest>(wire) {
        Ok(request) => peer.send_cancellable_request(request, PeerRequestOptions::no_options()).await,
        Err(_) => return refuse(reply, "the question cannot be read"),
    };
    let Ok(mut handle) = answer else {
        return refuse(reply, "the client has gone");
    };
    let answered = tokio::select! {
        answered = &mut handle.rx => answered,
        () = reply.closed() => {
            // Fails if the client has gone.
            let _ = handle.cancel(Some("nobody waits for it any more".to_owned())).await;
            return;
        }
    };
    match answered {
        Ok(Ok(answer)) => {
            let value = serde_json::to_value(answer).unwrap_or_default();
            // Fails if nobody waits any more.
            let _ = reply.send(checked(request.kind, value));
        }
        Ok(Err(rmcp::ServiceError::McpError(error))) => {
            let words: String = error.message.chars().take(500).collect();
            refuse(reply, &format!("the client refused: {words}"));
        }
        Ok(Err(_)) | Err(_) => refuse(reply, "the client has gone"),
    }
}

fn refuse(reply: tokio::sync::oneshot::Sender<Result<Value, ClientRefusal>>, why: &str) {
    // Fails if nobody waits any more.
    let _ = reply.send(Err(ClientRefusal { message: why.to_owned() }));
}

/// Refuses what is no answer to such a question.
pub(super) fn checked(kind: ClientRequestKind, answer: Value) -> Result<Value, ClientRefusal> {
    let is_one = match kind {
        ClientRequestKind::Roots => answer.get("roots").is_some_and(Value::is_array),
        ClientRequestKind::Sampling => answer.get("content").is_some() && answer.get("role").is_some_and(Value::is_string),
        ClientRequestKind::Elicitation => matches!(answer.get("action").and_then(Value::as_str), Some("accept" | "decline" | "cancel")),
    };
    if is_one {
        Ok(answer)
    } else {
        Err(ClientRefusal {
            message: format!("what the client answered is no result of `{}`", kind.method()),
        })
    }
}

/// The answer that asks a client without server requests; none if a question cannot be read.
pub(super) fn input_required<'a>(questions: impl Iterator<Item = (String, &'a Question)>, state: String) -> Option<InputRequiredResult> {
    let requests = questions.map(|(key, question)| {
        let wire = json!({"method": question.request.kind.method(), "params": question.request.params});
        Some((key, serde_json::from_value::<InputRequest>(wire).ok()?))
    });
    let requests: BTreeMap<String, InputRequest> = requests.collect::<Option<_>>()?;
    Some(InputRequiredResult::new(Some(requests), Some(state)))
}

/// The folders of a client with `initialize`.
pub(super) async fn roots(peer: &Peer<RoleServer>) -> Option<Value> {
    let request = serde_json::from_value::<ServerRequest>(json!({"method": "roots/list"})).ok()?;
    let answer = peer.send_request(request).await.ok()?;
    checked(ClientRequestKind::Roots, serde_json::to_value(answer).ok()?).ok()
}

/// Where log messages go that no request of this client asked for.
pub(super) fn log_channel(peer: Peer<RoleServer>) -> mpsc::Sender<LogMessage> {
    let (sender, mut messages) = mpsc::channel(WAITING_LOGS);
    tokio::spawn(async move {
        while let Some(message) = messages.recv().await {
            tell_log(&peer, message).await;
        }
    });
    sender
}

async fn tell_progress(peer: &Peer<RoleServer>, told: Option<Told>, token: rmcp::model::ProgressToken) {
    let Some(told) = told else { return };
    let mut params = ProgressNotificationParam::new(token, told.progress);
    params.total = told.total;
    params.message = told.message;
    // Fails if the client has gone.
    let _ = peer.notify_progress(params).await;
}

/// Sends a log message, under the name of its server.
#[expect(deprecated, reason = "clients still use it")]
pub(super) async fn tell_log(peer: &Peer<RoleServer>, message: LogMessage) {
    let Ok(Ok(level)) = serde_json::to_value(message.level).map(serde_json::from_value) else {
        return;
    };
    let logger = match message.logger {
        Some(part) => format!("{}.{part}", message.server),
        None => message.server,
    };
    let params = LoggingMessageNotificationParam::new(level, message.data).with_logger(logger);
    // Fails if the client has gone.
    let _ = peer.notify_logging_message(params).await;
}
