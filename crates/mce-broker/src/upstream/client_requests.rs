//! What MCP servers may ask of the client of this program: the face implements it, the broker passes it on.

use std::fmt::Debug;
use std::pin::Pin;

use serde_json::Value;

/// What the client can do for MCP servers. Only what it can do is declared to them.
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

/// A request of an MCP server.
#[derive(Debug)]
pub struct ClientRequest<'a> {
    /// The server that asks.
    pub server: &'a str,
    /// What it asks.
    pub kind: ClientRequestKind,
    /// `params` of the request. Written by the server: show it, never believe it.
    pub params: Value,
}

/// The client does not do it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientRefusal {
    /// Why, for the server.
    pub message: String,
}

/// The answer of the client: the `result` of the request.
pub type ClientAnswer<'a> = Pin<Box<dyn Future<Output = Result<Value, ClientRefusal>> + Send + 'a>>;

/// The client, as MCP servers see it.
pub trait ClientRequests: Debug + Send + Sync {
    /// What it can do now.
    fn abilities(&self) -> ClientAbilities;

    /// Asks it. Dropping the future withdraws the question.
    fn answer<'a>(&'a self, request: ClientRequest<'a>) -> ClientAnswer<'a>;
}

/// A client that can do nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoClient;

impl ClientRequests for NoClient {
    fn abilities(&self) -> ClientAbilities {
        ClientAbilities::default()
    }

    fn answer<'a>(&'a self, request: ClientRequest<'a>) -> ClientAnswer<'a> {
        let answer = match request.kind {
            // A user who cannot be asked is not the same as a user who says no, but servers know no third answer.
            ClientRequestKind::Elicitation => Ok(serde_json::json!({"action": "decline"})),
            ClientRequestKind::Roots | ClientRequestKind::Sampling => Err(ClientRefusal {
                message: "the client cannot do this".to_owned(),
            }),
        };
        Box::pin(std::future::ready(answer))
    }
}
