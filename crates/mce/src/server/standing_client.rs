//! The client between its requests: the folders it told last, and the log messages it wants, for what no call caused.

use std::sync::{Arc, Mutex, PoisonError};

use mce_broker::{ClientAbilities, ClientAnswer, ClientRequest, ClientRequestKind, ClientRequests, LogLevel, LogMessage, NoClient};
use serde_json::Value;
use tokio::sync::mpsc;

/// A client.
#[derive(Debug, Default)]
pub(crate) struct StandingClient {
    /// It is the one of the process, over its pipes, whom MCP servers know.
    is_only: bool,
    // Each held for one look.
    roots: Mutex<Option<Value>>,
    logs: Mutex<Option<(LogLevel, mpsc::Sender<LogMessage>)>>,
}

impl StandingClient {
    /// The one client of a process.
    pub(crate) fn only() -> Arc<Self> {
        Arc::new(Self {
            is_only: true,
            ..Self::default()
        })
    }

    /// Whether MCP servers know it.
    pub(crate) const fn is_only(&self) -> bool {
        self.is_only
    }

    /// Keeps the answer to `roots/list`. True if it is another than before.
    pub(crate) fn keep_roots(&self, roots: Value) -> bool {
        let mut kept = self.roots.lock().unwrap_or_else(PoisonError::into_inner);
        let is_new = kept.as_ref() != Some(&roots);
        *kept = Some(roots);
        is_new
    }

    /// Where log messages go that no request asked for, from now on.
    pub(crate) fn set_logs(&self, level: LogLevel, logs: mpsc::Sender<LogMessage>) {
        *self.logs.lock().unwrap_or_else(PoisonError::into_inner) = Some((level, logs));
    }

    fn roots(&self) -> Option<Value> {
        self.roots.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl ClientRequests for StandingClient {
    fn abilities(&self) -> ClientAbilities {
        ClientAbilities {
            roots: self.roots().is_some(),
            ..ClientAbilities::default()
        }
    }

    fn answer(&self, request: ClientRequest) -> ClientAnswer<'_> {
        match (request.kind, self.roots()) {
            (ClientRequestKind::Roots, Some(roots)) => Box::pin(std::future::ready(Ok(roots))),
            _ => NoClient.answer(request),
        }
    }

    fn log_level(&self) -> Option<LogLevel> {
        let logs = self.logs.lock().unwrap_or_else(PoisonError::into_inner);
        logs.as_ref().map(|(level, _)| *level)
    }

    fn log(&self, message: &LogMessage) -> bool {
        let logs = self.logs.lock().unwrap_or_else(PoisonError::into_inner);
        // Fails if too many wait, or the client has gone.
        logs.as_ref()
            .is_some_and(|(least, logs)| message.level >= *least && logs.try_send(message.clone()).is_ok())
    }
}
