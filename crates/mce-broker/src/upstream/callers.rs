//! For whom the calls under way on one connection are made, so that what the server asks or tells reaches the client's own
//! request. Servers with `initialize` do not say over pipes which call a question belongs to; where several clients' requests
//! could be meant, the answer is waited for until one is left, and from then on they are called one after another.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};

use rmcp::model::{ProgressToken, RequestId};
use serde_json::Value;
use tokio::sync::watch;

use super::client_requests::{ClientRefusal, ClientRequest, ClientRequestKind, ClientRequests, LogLevel, LogMessage, Progress};
use crate::redact::Redactor;

/// Bytes of a question; it may hold pictures.
const MAX_QUESTION_BYTES: usize = 4 << 20;
/// Bytes of a server's name for a question.
const MAX_KEY_BYTES: usize = 64;
/// Bytes of a log message and characters of the words of a progress.
const MAX_WORDS: usize = 2000;
/// Questions that wait until it is clear whose they are.
const MAX_OPEN_QUESTIONS: usize = 32;
/// Lines of a server in our log, in each [`LOG_WINDOW`].
const MAX_LOG_LINES: u32 = 100;
const LOG_WINDOW: Duration = Duration::from_secs(10);
/// So long after a call, a log message may still be about it.
const JUST_ENDED: Duration = Duration::from_secs(1);
/// Calls that are remembered after their end.
const MAX_ENDED: usize = 64;

/// The calls of one connection.
#[derive(Debug)]
pub(super) struct Callers {
    pub(super) server: Arc<str>,
    /// Who answers what no call caused.
    pub(super) standing: Arc<dyn ClientRequests>,
    pub(super) redactor: Arc<Redactor>,
    state: watch::Sender<State>,
    // When the window began, and how many lines it has; held for one look.
    lines: Mutex<(Option<Instant>, u32)>,
}

#[derive(Debug, Default)]
struct State {
    calls: Vec<Caller>,
    /// The last ones, oldest first.
    ended: VecDeque<Ended>,
    /// Questions that wait until it is clear whose they are.
    open_questions: usize,
    /// It asks without saying for which call.
    is_exclusive: bool,
}

/// A call that has ended. What was told of it just before is handled beside its answer, perhaps later.
#[derive(Debug)]
struct Ended {
    number: u64,
    client: Weak<dyn ClientRequests>,
    token: ProgressToken,
    at: Instant,
}

#[derive(Debug)]
struct Caller {
    number: u64,
    client: Arc<dyn ClientRequests>,
    sent: Option<(RequestId, ProgressToken)>,
}

fn is_same(one: &Arc<dyn ClientRequests>, other: &Arc<dyn ClientRequests>) -> bool {
    std::ptr::addr_eq(Arc::as_ptr(one), Arc::as_ptr(other))
}

impl State {
    fn admits(&self, client: &Arc<dyn ClientRequests>) -> bool {
        !self.is_exclusive || self.calls.iter().all(|call| is_same(&call.client, client))
    }

    fn end(&mut self, number: u64) {
        let Some(place) = self.calls.iter().position(|call| call.number == number) else {
            return;
        };
        let Caller { client, sent, .. } = self.calls.swap_remove(place);
        if let Some((_, token)) = sent {
            if self.ended.len() >= MAX_ENDED {
                self.ended.pop_front();
            }
            self.ended.push_back(Ended {
                number,
                client: Arc::downgrade(&client),
                token,
                at: Instant::now(),
            });
        }
    }

    /// Whose call has this token, and its number.
    fn of_token(&self, token: &ProgressToken) -> Option<(Arc<dyn ClientRequests>, u64)> {
        let under_way = self
            .calls
            .iter()
            .find(|call| call.sent.as_ref().is_some_and(|(_, sent)| sent == token));
        if let Some(call) = under_way {
            return Some((Arc::clone(&call.client), call.number));
        }
        let ended = self.ended.iter().find(|ended| ended.token == *token)?;
        Some((ended.client.upgrade()?, ended.number))
    }

    /// The clients' requests for which calls are under way.
    fn clients(&self) -> Vec<&Arc<dyn ClientRequests>> {
        let mut clients: Vec<&Arc<dyn ClientRequests>> = Vec::new();
        for call in &self.calls {
            if !clients.iter().any(|known| is_same(known, &call.client)) {
                clients.push(&call.client);
            }
        }
        clients
    }

    /// Whom a log message may be about: the only client, else the one whose call has just ended.
    fn told_client(&self) -> Option<Arc<dyn ClientRequests>> {
        if !self.calls.is_empty() {
            return self.only_client();
        }
        let last = self.ended.back().filter(|ended| ended.at.elapsed() < JUST_ENDED)?;
        last.client.upgrade()
    }

    fn only_client(&self) -> Option<Arc<dyn ClientRequests>> {
        match self.clients().as_slice() {
            [only] => Some(Arc::clone(only)),
            _ => None,
        }
    }
}

/// A call under way. Dropping it ends it here.
#[derive(Debug)]
pub(super) struct Entered<'a> {
    callers: &'a Callers,
    number: u64,
}

impl Entered<'_> {
    /// Notes the request by which the call is made.
    pub(super) fn note_sent(&self, id: RequestId, token: ProgressToken) {
        self.callers.state.send_modify(|state| {
            if let Some(call) = state.calls.iter_mut().find(|call| call.number == self.number) {
                call.sent = Some((id, token));
            }
        });
    }
}

impl Drop for Entered<'_> {
    fn drop(&mut self) {
        self.callers.state.send_modify(|state| state.end(self.number));
    }
}

/// A question that waits until it is clear whose it is.
struct Open<'a>(&'a watch::Sender<State>);

impl Drop for Open<'_> {
    fn drop(&mut self) {
        self.0.send_modify(|state| state.open_questions -= 1);
    }
}

impl Callers {
    pub(super) fn new(server: &str, standing: Arc<dyn ClientRequests>, redactor: Arc<Redactor>) -> Self {
        Self {
            server: server.into(),
            standing,
            redactor,
            state: watch::Sender::default(),
            lines: Mutex::default(),
        }
    }

    /// Begins a call, as soon as it cannot be taken for that of another.
    pub(super) async fn enter(&self, client: &Arc<dyn ClientRequests>) -> Entered<'_> {
        static NUMBERS: AtomicU64 = AtomicU64::new(0);
        let number = NUMBERS.fetch_add(1, Ordering::Relaxed);
        let enter = |state: &mut State| {
            let is_admitted = state.admits(client);
            if is_admitted {
                state.calls.push(Caller {
                    number,
                    client: Arc::clone(client),
                    sent: None,
                });
            }
            is_admitted
        };
        let mut changes = self.state.subscribe();
        while !self.state.send_if_modified(enter) {
            // The sender lives as long as `self`.
            let _ = changes.wait_for(|state| state.admits(client)).await;
        }
        Entered { callers: self, number }
    }

    /// Asks the client whose call caused the question. `origin` is that call, where the transport tells.
    pub(super) async fn ask(&self, kind: ClientRequestKind, params: &Value, origin: Option<&RequestId>) -> Result<Value, ClientRefusal> {
        let client = match origin.and_then(|id| self.of_request(id)) {
            Some(client) => client,
            None if kind == ClientRequestKind::Roots => self.roots_keeper(),
            None => self.asked_by().await?,
        };
        self.ask_client(&client, (None, kind), params).await
    }

    /// Asks a client. What it is asked holds no secret of the settings, though servers know theirs.
    pub(super) async fn ask_client(
        &self,
        client: &Arc<dyn ClientRequests>,
        (key, kind): (Option<&str>, ClientRequestKind),
        params: &Value,
    ) -> Result<Value, ClientRefusal> {
        let text = params.to_string();
        if text.len() > MAX_QUESTION_BYTES {
            return Err(ClientRefusal {
                message: format!("a question may have {MAX_QUESTION_BYTES} bytes"),
            });
        }
        let request = ClientRequest {
            key: key.filter(|key| is_plain(key)).map(str::to_owned),
            server: self.server.to_string(),
            kind,
            params: serde_json::from_str(&self.redactor.json(&text)).unwrap_or_default(),
        };
        let summary = request.summary();
        client.answer(request).await.map_err(|refusal| ClientRefusal {
            message: format!("{} ({summary})", refusal.message),
        })
    }

    fn of_request(&self, id: &RequestId) -> Option<Arc<dyn ClientRequests>> {
        let state = self.state.borrow();
        let found = state
            .calls
            .iter()
            .find(|call| call.sent.as_ref().is_some_and(|(sent, _)| sent == id));
        found.map(|call| Arc::clone(&call.client))
    }

    /// Folders are asked for at any time, and hardly ever for a call.
    fn roots_keeper(&self) -> Arc<dyn ClientRequests> {
        if self.standing.abilities().roots {
            return Arc::clone(&self.standing);
        }
        let only = self.state.borrow().only_client().filter(|client| client.abilities().roots);
        only.unwrap_or_else(|| Arc::clone(&self.standing))
    }

    async fn asked_by(&self) -> Result<Arc<dyn ClientRequests>, ClientRefusal> {
        let is_taken = self.state.send_if_modified(|state| {
            let has_place = state.open_questions < MAX_OPEN_QUESTIONS;
            state.open_questions += usize::from(has_place);
            state.is_exclusive = true;
            has_place
        });
        if !is_taken {
            return Err(ClientRefusal {
                message: "too many questions wait".to_owned(),
            });
        }
        let _open = Open(&self.state);
        let mut changes = self.state.subscribe();
        // With as many questions as callers, none of them will end.
        let is_clear = |state: &State| state.clients().len() <= state.open_questions.max(1);
        let Ok(state) = changes.wait_for(is_clear).await else {
            return Ok(Arc::clone(&self.standing));
        };
        match state.clients().as_slice() {
            [] => Ok(Arc::clone(&self.standing)),
            [only] => Ok(Arc::clone(only)),
            [..] => Err(ClientRefusal {
                message: "several calls are under way and the server does not say for which of them it asks: call again, one after another"
                    .to_owned(),
            }),
        }
    }

    /// Passes the progress of a call on.
    pub(super) fn tell_progress(&self, token: &ProgressToken, progress: f64, total: Option<f64>, message: Option<&str>) {
        let found = self.state.borrow().of_token(token);
        if let Some((client, call)) = found {
            client.progress(Progress {
                call,
                progress,
                total,
                message: message.map(|words| self.redactor.text(&words.chars().take(MAX_WORDS).collect::<String>()).into_owned()),
            });
        }
    }

    fn has_place_in_log(&self) -> bool {
        let mut lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        if lines.0.is_none_or(|since| since.elapsed() > LOG_WINDOW) {
            *lines = (Some(Instant::now()), 0);
        }
        lines.1 = lines.1.saturating_add(1);
        if lines.1 == MAX_LOG_LINES {
            tracing::warn!(
                server = &*self.server,
                "an MCP server logs too much: the rest is dropped for some seconds"
            );
        }
        lines.1 < MAX_LOG_LINES
    }

    /// Passes a log message on: to the client that wants it, else to our log.
    pub(super) fn tell_log(&self, level: LogLevel, logger: Option<String>, data: &Value) {
        let text = data.to_string();
        let data = if text.len() <= MAX_WORDS {
            serde_json::from_str(&self.redactor.json(&text)).unwrap_or_default()
        } else {
            // Cut first: what is cut off may be of any size.
            let start: String = text.chars().take(MAX_WORDS).collect();
            Value::from(self.redactor.text(&start).into_owned())
        };
        let logger = logger.map(|name| self.redactor.text(&name.chars().take(100).collect::<String>()).into_owned());
        let message = LogMessage {
            server: self.server.to_string(),
            level,
            logger,
            data,
        };
        let client = self.state.borrow().told_client();
        if client.is_some_and(|client| client.log(&message)) || self.standing.log(&message) {
            return;
        }
        if !self.has_place_in_log() {
            return;
        }
        let (server, text) = (message.server, message.data.to_string());
        match level {
            LogLevel::Debug => tracing::debug!(server, text, "an MCP server logged"),
            LogLevel::Info | LogLevel::Notice => tracing::info!(server, text, "an MCP server logged"),
            LogLevel::Warning => tracing::warn!(server, text, "an MCP server logged"),
            LogLevel::Error | LogLevel::Critical | LogLevel::Alert | LogLevel::Emergency => {
                tracing::error!(server, text, "an MCP server logged");
            }
        }
    }
}

/// Whether a server's name for a question may be shown to the client as it is.
fn is_plain(key: &str) -> bool {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
    (1..=MAX_KEY_BYTES).contains(&key.len()) && key.bytes().all(is_part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_short_plain_names_of_questions_are_shown() {
        for (key, expected) in [
            ("user_name", true),
            ("a-b.c9", true),
            ("", false),
            ("a b", false),
            ("größe", false),
            ("a\"", false),
        ] {
            assert_eq!(is_plain(key), expected, "{key}");
        }
        assert!(is_plain(&"k".repeat(MAX_KEY_BYTES)) && !is_plain(&"k".repeat(MAX_KEY_BYTES + 1)));
    }
}
