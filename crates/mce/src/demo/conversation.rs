//! A client's side of the conversation: sends what a model would send, prints it, counts its tokens.

use std::sync::Arc;
use std::time::Instant;

use rmcp::model::{CallToolRequestParams, CallToolResult, ClientCapabilities, ClientConfig, ContentBlock, Implementation, ProtocolVersion};
use rmcp::service::RunningService;
use rmcp::{RoleClient, ServiceExt};
use serde_json::{Value, json};

use crate::app::App;
use crate::failure::Failure;
use crate::server::{Handler, tools};
use crate::terminal::Terminal;
use crate::tokens;

/// Bytes between client and server that may be under way.
const PIPE_BYTES: usize = 64 << 10;
/// Characters of an answer that are printed.
const SHOWN_CHARS: usize = 900;

/// The conversation so far.
pub(super) struct Conversation {
    terminal: Terminal,
    client: RunningService<RoleClient, ClientConfig>,
    definitions: usize,
    tool_count: usize,
    messages: usize,
    steps: u32,
    runs: Vec<(String, f64, u64)>,
    is_right: bool,
}

impl Conversation {
    /// Connects a client to a server over a pipe, and reads what every client reads.
    pub(super) async fn start(terminal: Terminal, app: &Arc<App>) -> Result<Self, Failure> {
        let (client_end, server_end) = tokio::io::duplex(PIPE_BYTES);
        let handler = Handler::new(Arc::clone(app), Arc::default())?;
        tokio::spawn(async move {
            if let Ok(server) = handler.serve(server_end).await {
                let _ = server.waiting().await;
            }
        });
        let config = ClientConfig::new(
            ClientCapabilities::default(),
            Implementation::new("demo", env!("CARGO_PKG_VERSION")),
        )
        .with_protocol_version(ProtocolVersion::V_2025_11_25);
        let client = config.serve(client_end).await.map_err(Failure::internal)?;
        let listed = client.list_all_tools().await.map_err(Failure::internal)?;
        let instructions = client.peer_info().and_then(|info| info.instructions.clone()).unwrap_or_default();
        let definitions = serde_json::to_string(&listed).map_err(Failure::internal)?;
        Ok(Self {
            terminal,
            client,
            definitions: tokens::count(&definitions) + tokens::count(&instructions),
            tool_count: listed.len(),
            messages: 0,
            steps: 0,
            runs: Vec::new(),
            is_right: true,
        })
    }

    /// Calls a tool and prints question and answer. Gives the answer's JSON.
    pub(super) async fn ask(&mut self, about: &str, tool: &'static str, arguments: Value) -> Result<Value, Failure> {
        self.steps += 1;
        self.terminal.heading(&format!("{}. {about}", self.steps));
        self.show_question(tool, &arguments);
        let sent = tokens::count(&arguments.to_string());
        let start = Instant::now();
        let request = CallToolRequestParams::new(tool).with_arguments(tools::object(arguments));
        let result = self.client.call_tool(request).await.map_err(Failure::internal)?;
        let elapsed_ms = start.elapsed().as_secs_f64() * 1000.0;
        let text = text_of(&result);
        let received = tokens::count(&text);
        self.messages += sent + received;
        let answer: Value = serde_json::from_str(&text).unwrap_or(Value::String(text));
        if let Some(inside) = answer.get("execution_time_ms").and_then(Value::as_u64) {
            self.runs.push((about.to_owned(), elapsed_ms, inside));
        }
        self.show_answer(&answer, sent, received);
        Ok(answer)
    }

    /// Holds a value against what is right.
    pub(super) fn expect(&mut self, what: &str, came: &Value, right: &Value) {
        self.check(what, came == right, || format!("expected {right}, came {came}"));
    }

    /// Notes whether something is as it must be.
    pub(super) fn check(&mut self, what: &str, is_right: bool, detail: impl FnOnce() -> String) {
        self.is_right &= is_right;
        let text = if is_right {
            format!("  right: {what}")
        } else {
            format!("  WRONG: {what}: {}", detail())
        };
        self.terminal.line(self.terminal.verdict(is_right, &text));
    }

    pub(super) fn is_right(&self) -> bool {
        self.is_right
    }

    pub(super) fn definitions(&self) -> usize {
        self.definitions
    }

    pub(super) fn tool_count(&self) -> usize {
        self.tool_count
    }

    pub(super) fn messages(&self) -> usize {
        self.messages
    }

    /// Each run: its step, milliseconds as the client waited, milliseconds of the program.
    pub(super) fn runs(&self) -> &[(String, f64, u64)] {
        &self.runs
    }

    pub(super) async fn end(self) {
        let _ = self.client.cancel().await;
    }

    fn show_question(&self, tool: &str, arguments: &Value) {
        self.terminal.line(format!("> {tool}"));
        for (name, value) in arguments.as_object().into_iter().flatten() {
            match value.as_str() {
                Some(text) if text.contains('\n') => {
                    self.terminal.line(format!("    {name}:"));
                    text.lines().for_each(|line| self.terminal.line(format!("      {line}")));
                }
                _ => self.terminal.line(format!("    {name}: {value}")),
            }
        }
    }

    fn show_answer(&self, answer: &Value, sent: usize, received: usize) {
        let text = serde_json::to_string_pretty(answer).unwrap_or_default();
        let shown: String = text.chars().take(SHOWN_CHARS).collect();
        let is_cut = shown.len() < text.len();
        shown.lines().for_each(|line| self.terminal.line(format!("  {line}")));
        if is_cut {
            self.terminal.line(self.terminal.faint("  … (cut here, the model gets it whole)"));
        }
        self.terminal
            .line(self.terminal.faint(&format!("  {sent} tokens sent, {received} received")));
    }
}

fn text_of(result: &CallToolResult) -> String {
    let texts = result.content.iter().filter_map(|block| match block {
        ContentBlock::Text(text) => Some(text.text.as_str()),
        _ => None,
    });
    texts.collect::<Vec<_>>().join("\n")
}

/// An object that names a function, for `get_functions`.
pub(super) fn function(name: &str) -> Value {
    json!({"server_name": "shop", "function_name": name})
}
