//! Messages over the pipes of a child process, one per line. (MCP, Transports, stdio.)

use std::collections::HashSet;
use std::io;
use std::sync::Arc;

use rmcp::RoleClient;
use rmcp::model::{ClientJsonRpcMessage, JsonRpcMessage, RequestId, ServerJsonRpcMessage, ServerNotification};
use rmcp::transport::Transport;
use serde_json::Value;
use tokio::io::AsyncWriteExt as _;
use tokio::process::{ChildStdin, ChildStdout};
use tokio::sync::Mutex;

use super::bounded_lines::{BoundedLines, Line};
use super::child::{Pipes, ServerProcess};
use super::notes::Notes;
use super::raw_answers::RawAnswers;

/// Requests of a server that are being answered at the same time; it is not read from while there are as many.
const MAX_SERVER_REQUESTS: usize = 64;

/// The connection to a child process, which ends with it.
pub(super) struct PipeTransport {
    server: String,
    process: ServerProcess,
    lines: BoundedLines<ChildStdout>,
    // Writers take turns; a message is one turn. `None` once the input is closed.
    input: Arc<Mutex<Option<ChildStdin>>>,
    answers: Arc<RawAnswers>,
    notes: Arc<Notes>,
    ready: Vec<ServerJsonRpcMessage>,
    /// Requests of the server that are not answered yet.
    open: HashSet<RequestId>,
}

impl PipeTransport {
    /// `line_bytes` is the longest line that is read.
    pub(super) fn new(
        server: &str,
        (process, (output, input)): (ServerProcess, Pipes),
        line_bytes: usize,
        answers: Arc<RawAnswers>,
        notes: Arc<Notes>,
    ) -> Self {
        Self {
            server: server.to_owned(),
            process,
            lines: BoundedLines::new(output, line_bytes),
            input: Arc::new(Mutex::new(Some(input))),
            answers,
            notes,
            ready: Vec::new(),
            open: HashSet::new(),
        }
    }

    /// What a line says. A line that is no message is noted and skipped: programs print things.
    fn read(&self, line: &[u8]) -> Option<ServerJsonRpcMessage> {
        if line.iter().all(u8::is_ascii_whitespace) {
            return None;
        }
        let Ok(message) = serde_json::from_slice::<Value>(line) else {
            self.notes.add(&self.server, "stdout", line);
            return None;
        };
        let message = match self.answers.keep(message, line.len()) {
            Ok(answered) => return Some(answered),
            Err(message) => message,
        };
        let message = serde_json::from_value(message);
        if message.is_err() {
            self.notes.add(&self.server, "stdout", line);
        }
        message.ok()
    }

    fn note_open(&mut self, message: &ServerJsonRpcMessage) {
        match message {
            JsonRpcMessage::Request(request) => {
                self.open.insert(request.id.clone());
            }
            JsonRpcMessage::Notification(notification) => {
                // What it does not want any more is not answered.
                if let ServerNotification::CancelledNotification(cancelled) = &notification.notification
                    && let Some(id) = &cancelled.params.request_id
                {
                    self.open.remove(id);
                }
            }
            JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_) => {}
        }
    }
}

impl Transport<RoleClient> for PipeTransport {
    type Error = io::Error;

    fn send(&mut self, message: ClientJsonRpcMessage) -> impl Future<Output = io::Result<()>> + Send + 'static {
        self.answers.note_sent(&message);
        match &message {
            JsonRpcMessage::Response(response) => self.open.remove(&response.id),
            JsonRpcMessage::Error(error) => error.id.as_ref().is_some_and(|id| self.open.remove(id)),
            JsonRpcMessage::Request(_) | JsonRpcMessage::Notification(_) => false,
        };
        let input = Arc::clone(&self.input);
        let answers = Arc::clone(&self.answers);
        async move {
            let written = write(&input, &message).await;
            if let (Err(_), JsonRpcMessage::Request(request)) = (&written, &message) {
                // Without its line end nothing was said.
                answers.note_unsent(&request.id);
            }
            written
        }
    }

    async fn receive(&mut self) -> Option<ServerJsonRpcMessage> {
        loop {
            if let Some(message) = self.ready.pop() {
                return Some(message);
            }
            if self.open.len() >= MAX_SERVER_REQUESTS {
                // Whoever waits for this starts anew after each message that is sent, and so sees when one was answered.
                std::future::pending::<()>().await;
            }
            let line = match self.lines.next(false).await {
                Ok(line) => line?,
                Err(error) => {
                    tracing::debug!(server = self.server, %error, "reading from an MCP server failed");
                    return None;
                }
            };
            match line {
                Line::Whole(line) => {
                    let Some(message) = self.read(&line) else {
                        // Junk must leave the other tasks their turn.
                        tokio::task::consume_budget().await;
                        continue;
                    };
                    self.note_open(&message);
                    return Some(message);
                }
                Line::Cut { head, tail } => {
                    self.notes.add(&self.server, "too long", &head);
                    self.ready = self.answers.too_large(&head, &tail);
                }
            }
        }
    }

    async fn close(&mut self) -> io::Result<()> {
        // A writer that waits for a server that does not read holds the input; then the process is told without it.
        if let Ok(mut input) = self.input.try_lock() {
            input.take();
        }
        self.process.stop().await;
        Ok(())
    }
}

async fn write(input: &Mutex<Option<ChildStdin>>, message: &ClientJsonRpcMessage) -> io::Result<()> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    let mut input = input.lock().await;
    let input = input.as_mut().ok_or(io::ErrorKind::NotConnected)?;
    input.write_all(&line).await?;
    input.flush().await
}
