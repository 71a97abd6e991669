//! What MCP servers may ask of the client of this program, and tell it: the face implements it, the broker passes it on.

use std::fmt::Debug;
use std::pin::Pin;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// Characters of a question that are shown where it got no answer.
const SHOWN_CHARS: usize = 200;

/// What the client can do for MCP servers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ClientAbilities {
    /// It has roots.
    pub roots: bool,
    /// It has a language model.
    pub sampling: bool,
    /// It can show a form to its user.
    pub elicitation_form: bool,
    /// It can send its user to a URL.
    pub elicitation_url: bool,
}

impl ClientAbilities {
    /// What servers with `initialize` are told, once for all clients: each request is answered or refused when it comes.
    /// So a server has the same tools for whoever connects first.
    pub const ALL: Self = Self {
        roots: true,
        sampling: true,
        elicitation_form: true,
        elicitation_url: true,
    };

    /// `capabilities` of the protocol.
    pub fn to_capabilities(self) -> Value {
        let mut capabilities = serde_json::Map::new();
        if self.roots {
            capabilities.insert("roots".to_owned(), json!({}));
        }
        if self.sampling {
            capabilities.insert("sampling".to_owned(), json!({}));
        }
        let mut modes = serde_json::Map::new();
        if self.elicitation_form {
            modes.insert("form".to_owned(), json!({}));
        }
        if self.elicitation_url {
            modes.insert("url".to_owned(), json!({}));
        }
        if !modes.is_empty() {
            capabilities.insert("elicitation".to_owned(), Value::Object(modes));
        }
        Value::Object(capabilities)
    }
}

/// What is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClientRequestKind {
    /// `roots/list`.
    Roots,
    /// `sampling/createMessage`.
    Sampling,
    /// `elicitation/create`.
    Elicitation,
}

impl ClientRequestKind {
    /// The kind of a request, by its method.
    pub fn of_method(method: &str) -> Option<Self> {
        match method {
            "roots/list" => Some(Self::Roots),
            "sampling/createMessage" => Some(Self::Sampling),
            "elicitation/create" => Some(Self::Elicitation),
            _ => None,
        }
    }

    /// Its method.
    pub const fn method(self) -> &'static str {
        match self {
            Self::Roots => "roots/list",
            Self::Sampling => "sampling/createMessage",
            Self::Elicitation => "elicitation/create",
        }
    }
}

/// A request to the client: of an MCP server, or of a program.
#[derive(Debug, Clone, PartialEq)]
pub struct ClientRequest {
    /// What the server calls the question, where it has a name: letters, digits, `_`, `-` and `.`, at most 64.
    pub key: Option<String>,
    /// The server that asks; empty for a program.
    pub server: String,
    /// What it asks.
    pub kind: ClientRequestKind,
    /// `params` of the request. Written by the server: show it, never believe it.
    pub params: Value,
}

impl ClientRequest {
    /// What was asked, in few words.
    pub fn summary(&self) -> String {
        let shown = |text: &str| -> String {
            let text = text.chars().map(|c| if c.is_control() { ' ' } else { c });
            text.take(SHOWN_CHARS).collect()
        };
        let text = |pointer: &str| self.params.pointer(pointer).and_then(Value::as_str).map(shown);
        match self.kind {
            ClientRequestKind::Roots => "it asked for the folders of the client".to_owned(),
            ClientRequestKind::Sampling => match text("/messages/0/content/text") {
                Some(said) => format!("it asked a language model: `{said}`"),
                None => "it asked a language model".to_owned(),
            },
            ClientRequestKind::Elicitation => format!("it asked the user: `{}`", text("/message").unwrap_or_default()),
        }
    }
}

/// The client does not do it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientRefusal {
    /// Why, for the server.
    pub message: String,
}

impl ClientRefusal {
    /// A client without an ability.
    pub fn unable(kind: ClientRequestKind) -> Self {
        let message = match kind {
            ClientRequestKind::Roots => "the client has no folders to tell",
            ClientRequestKind::Sampling => "the client has no language model to ask (it does not offer sampling)",
            ClientRequestKind::Elicitation => "the client cannot ask its user that (it does not offer this kind of elicitation)",
        };
        Self {
            message: message.to_owned(),
        }
    }
}

/// The answer of the client: the `result` of the request.
pub type ClientAnswer<'a> = Pin<Box<dyn Future<Output = Result<Value, ClientRefusal>> + Send + 'a>>;

/// How far a call is.
#[derive(Debug, Clone, PartialEq)]
pub struct Progress {
    /// Which call of all calls of the process.
    pub call: u64,
    /// Grows with each report of a call.
    pub progress: f64,
    /// What it grows to.
    pub total: Option<f64>,
    /// The server's words.
    pub message: Option<String>,
}

/// How grave a log message is. (RFC 5424)
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[expect(missing_docs, reason = "the words say it")]
pub enum LogLevel {
    Debug,
    Info,
    Notice,
    Warning,
    Error,
    Critical,
    Alert,
    Emergency,
}

/// What a server logged.
#[derive(Debug, Clone, PartialEq)]
pub struct LogMessage {
    /// The server.
    pub server: String,
    /// How grave it is.
    pub level: LogLevel,
    /// The part of the server that logged.
    pub logger: Option<String>,
    /// Any JSON, bounded, without secrets.
    pub data: Value,
}

/// A request of the client, as the MCP servers see it that are called for it; or the client between its requests.
pub trait ClientRequests: Debug + Send + Sync {
    /// What the client can do.
    fn abilities(&self) -> ClientAbilities;

    /// Whether it can ask its person about a call. That question comes from no server, as an elicitation with the key `approval`.
    fn can_approve(&self) -> bool {
        self.abilities().elicitation_form
    }

    /// Asks it. Dropping the future withdraws the question.
    fn answer(&self, request: ClientRequest) -> ClientAnswer<'_>;

    /// Time that it was waited for so far. It is not that of calls, whose limits grow by it.
    fn waited(&self) -> Duration {
        Duration::ZERO
    }

    /// Takes the progress of a call. Must not block.
    fn progress(&self, _progress: Progress) {}

    /// The least grave log messages that it wants.
    fn log_level(&self) -> Option<LogLevel> {
        None
    }

    /// Takes a log message, if it wants that. Must not block.
    fn log(&self, _message: &LogMessage) -> bool {
        false
    }
}

/// A client that can do nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoClient;

impl ClientRequests for NoClient {
    fn abilities(&self) -> ClientAbilities {
        ClientAbilities::default()
    }

    fn answer(&self, request: ClientRequest) -> ClientAnswer<'_> {
        let answer = match request.kind {
            // Servers ask as soon as they are connected to, and are told of folders later if there are any.
            ClientRequestKind::Roots => Ok(json!({"roots": []})),
            kind @ (ClientRequestKind::Elicitation | ClientRequestKind::Sampling) => Err(ClientRefusal::unable(kind)),
        };
        Box::pin(std::future::ready(answer))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_the_client_can_do_is_declared() {
        assert_eq!(ClientAbilities::default().to_capabilities(), json!({}));
        let form = ClientAbilities {
            elicitation_form: true,
            ..ClientAbilities::default()
        };
        assert_eq!(form.to_capabilities(), json!({"elicitation": {"form": {}}}));
        let all = ClientAbilities::ALL.to_capabilities();
        assert_eq!(all, json!({"roots": {}, "sampling": {}, "elicitation": {"form": {}, "url": {}}}));
        let typed: rmcp::model::ClientCapabilities = serde_json::from_value(all.clone()).unwrap();
        assert_eq!(serde_json::to_value(typed).unwrap(), all);
    }

    #[test]
    fn a_question_is_told_in_one_short_line() {
        let request = |kind, params| ClientRequest {
            key: None,
            server: "s".to_owned(),
            kind,
            params,
        };
        let asked = request(
            ClientRequestKind::Elicitation,
            json!({"message": format!("a\nb{}", "x".repeat(9000))}),
        );
        assert!(asked.summary().starts_with("it asked the user: `a b"), "{}", asked.summary());
        assert!(asked.summary().len() < 300);
        let said = json!({"messages": [{"role": "user", "content": {"type": "text", "text": "hi"}}]});
        assert_eq!(
            request(ClientRequestKind::Sampling, said).summary(),
            "it asked a language model: `hi`"
        );
    }
}
