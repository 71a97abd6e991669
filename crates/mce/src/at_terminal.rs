//! Somebody at a terminal, who may be asked whether a call is made.

use std::io::IsTerminal as _;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use mce_broker::{
    ApprovalAnswer, ClientAbilities, ClientAnswer, ClientRefusal, ClientRequest, ClientRequestKind, ClientRequests, NoClient,
};
use rustix::termios::{QueueSelector, tcflush};
use serde_json::{Value, json};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use crate::terminal::Terminal;
use crate::waiting_clock::WaitingClock;

/// Who typed the command. MCP servers can ask nothing here.
#[derive(Debug)]
pub(crate) struct AtTerminal {
    terminal: Terminal,
    // One question is asked after another.
    asking: tokio::sync::Mutex<()>,
    // Held for one look.
    clock: Mutex<WaitingClock>,
}

/// A question that waits.
struct Waiting<'a>(&'a AtTerminal);

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.with_clock(WaitingClock::stop);
    }
}

impl AtTerminal {
    pub(crate) fn new(terminal: Terminal) -> Arc<Self> {
        Arc::new(Self {
            terminal,
            asking: tokio::sync::Mutex::default(),
            clock: Mutex::default(),
        })
    }

    fn with_clock<T>(&self, work: impl FnOnce(&mut WaitingClock) -> T) -> T {
        work(&mut self.clock.lock().unwrap_or_else(PoisonError::into_inner))
    }

    async fn ask(&self, params: &Value) -> Result<Value, ClientRefusal> {
        self.with_clock(WaitingClock::start);
        let _waiting = Waiting(self);
        let _turn = self.asking.lock().await;
        let message = params.get("message").and_then(Value::as_str).unwrap_or_default();
        let choices = params
            .pointer("/requestedSchema/properties/decision/enum")
            .and_then(Value::as_array);
        let answer = ask_person(self.terminal, message).await;
        let place = match answer {
            Some(ApprovalAnswer::Once) => 0,
            Some(ApprovalAnswer::Always) => 1,
            Some(ApprovalAnswer::Deny) => 2,
            None => return Ok(json!({"action": "cancel"})),
        };
        let decision = choices.and_then(|choices| choices.get(place));
        Ok(json!({"action": "accept", "content": {"decision": decision}}))
    }
}

impl ClientRequests for AtTerminal {
    fn abilities(&self) -> ClientAbilities {
        ClientAbilities::default()
    }

    fn can_approve(&self) -> bool {
        is_there()
    }

    fn answer(&self, request: ClientRequest) -> ClientAnswer<'_> {
        let is_ours = request.kind == ClientRequestKind::Elicitation && request.server.is_empty();
        if is_ours && is_there() {
            return Box::pin(async move { self.ask(&request.params).await });
        }
        NoClient.answer(request)
    }

    fn waited(&self) -> Duration {
        self.with_clock(|clock| clock.read())
    }
}

/// Whether somebody reads what is written, and can answer.
pub(crate) fn is_there() -> bool {
    std::io::stdin().is_terminal() && std::io::stderr().is_terminal()
}

/// Asks on standard error, and reads the answer from standard input; none if that ends. Anything but a yes is a no, and what was
/// typed before the question is there is no answer to it.
pub(crate) async fn ask_person(terminal: Terminal, question: &str) -> Option<ApprovalAnswer> {
    let mut typed = typed().lock().await;
    if let Err(error) = tcflush(std::io::stdin(), QueueSelector::IFlush) {
        tracing::debug!("what was typed before the question counts: {error}");
    }
    while typed.try_recv().is_ok() {}
    terminal.note(format!(
        "\n{question}\n\nAllow it? `y` once, `always` for this function, anything else is a no:"
    ));
    let line = typed.recv().await?;
    Some(match line.trim().to_ascii_lowercase().as_str() {
        "y" | "yes" => ApprovalAnswer::Once,
        "always" => ApprovalAnswer::Always,
        _ => ApprovalAnswer::Deny,
    })
}

/// Lines that are typed, read by one thread for all questions: a read of a question's own, which cannot be given up, would take
/// the answer to the next question.
fn typed() -> &'static tokio::sync::Mutex<UnboundedReceiver<String>> {
    static TYPED: OnceLock<tokio::sync::Mutex<UnboundedReceiver<String>>> = OnceLock::new();
    TYPED.get_or_init(|| {
        let (sender, receiver) = unbounded_channel();
        let read = move || {
            for line in std::io::stdin().lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    break;
                }
            }
        };
        if let Err(error) = std::thread::Builder::new().name("typed".to_owned()).spawn(read) {
            tracing::error!("nothing can be read from the terminal: {error}");
        }
        tokio::sync::Mutex::new(receiver)
    })
}
