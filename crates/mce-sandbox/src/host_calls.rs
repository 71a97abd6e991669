//! What a worker may ask of the host, and the trait by which the host answers. Knows no catalog and no network.

use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

/// A request that a worker makes. Everything in it was written by hostile code and is bounded only in size.
#[derive(Debug)]
pub enum HostCall {
    /// Call a function.
    Call {
        /// `server.function`, `server:METHOD /path` or `mcp__server__function`.
        function: String,
        /// How the names of the arguments are to be read.
        naming: Naming,
        /// An object.
        arguments: Box<RawValue>,
        /// The answer is an object: `status`, `headers` as pairs with lower-case names, and `value`, or `base64` where the
        /// value is bytes; of a tool `content`, its blocks, in place of a status.
        with_headers: bool,
        /// The address of a further page, as an answer of this function has given it to this run; at most 8 KiB.
        page: Option<String>,
    },
    /// Send an HTTP request of the program's own to an allowed host. No credential goes with it.
    ///
    /// The answer is an object: `status`; `url`, after redirects; `headers` as pairs with lower-case names; `body` in base64.
    /// Any status is an answer.
    Fetch {
        /// `GET`, `POST`, ...
        method: String,
        /// Absolute.
        url: String,
        /// Names and values, as the program wrote them.
        headers: Vec<(String, String)>,
        /// What is sent; on the wire in base64.
        body: Option<Vec<u8>>,
        /// Redirects are followed, at most five, each to an allowed host. On the wire true if left out.
        follow_redirects: bool,
    },
    /// Stubs of functions that a program imports.
    Describe {
        /// The server's name.
        server: String,
        /// Names in the program's language; empty: all of the server.
        names: Vec<String>,
    },
    /// What is certainly wrong with arguments that a program's text writes out. The answer is a list for each call, of sentences.
    Check {
        /// At most 100.
        calls: Vec<WrittenCall>,
    },
    /// The names of all servers.
    Servers {},
    /// Search for functions. The answer is a list of objects: `name`, as `mcp__server__tool`; `description`; `parameters` and
    /// perhaps `outputSchema`, both JSON Schema.
    Search {
        /// What is looked for.
        query: String,
        /// How it is meant. On the wire `words` if left out.
        by: SearchBy,
        /// One server only.
        server: Option<String>,
        /// At most so many; the host has its own bound.
        limit: Option<u32>,
    },
    /// Keep a value for later runs. The answer is its id.
    Save {
        /// Any JSON.
        value: Box<RawValue>,
    },
    /// A value that a run has kept.
    Load {
        /// The id that [`HostCall::Save`] was answered by; on the wire `handle`.
        id: String,
    },
    /// Ask the client's language model. The answer is a text.
    Ask {
        /// An object: `messages`, of `role` and `content`; `max_tokens`; perhaps `model` and `system_prompt`. On the wire
        /// `arguments`.
        request: Box<RawValue>,
    },
}

/// A call in a program's text.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WrittenCall {
    /// `server.function`.
    pub function: String,
    /// An object of the arguments that are written out, by their names in the program's language; null within them where a
    /// value is not known.
    pub arguments: Box<RawValue>,
    /// JSON Pointers into `arguments`: of what is not known, and of objects and lists that may have more than is written.
    pub unknown: Vec<String>,
}

/// How the query of a search is meant.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SearchBy {
    /// Words; the best come first.
    #[default]
    Words,
    /// Texts, one a line, of which name or description holds at least one; without any, all functions.
    Terms,
    /// The name of one function.
    Name,
}

/// How the names of arguments are to be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Naming {
    /// Identifiers of the program's language.
    Language,
    /// Names as in the document, else identifiers of the program's language.
    Original,
}

/// What the host answers.
#[derive(Debug)]
pub enum HostValue {
    /// JSON text, passed on unread: integers stay exact.
    Json(Box<RawValue>),
    /// Bytes; `bytes` in Python, `Uint8Array` in TypeScript.
    Bytes(Vec<u8>),
}

/// A function as a worker needs it: to make a callable and to check calls before a program starts.
#[derive(Debug, Clone, Serialize)]
pub struct FunctionStub {
    /// The identifier in the program's language.
    pub name: String,
    /// `server.function`, for [`HostCall::Call`].
    pub function: String,
    /// Arguments in the order of the signature; the body is the last, under `body`.
    pub parameters: Vec<ParameterStub>,
    /// The signature, one line, as the function's documentation.
    pub signature: String,
    /// How further pages of its answer are asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pagination: Option<PaginationStub>,
    /// It takes arguments besides its parameters.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub open: bool,
    /// What its value has, if known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result: Option<ResultStub>,
}

/// The fields of an object, or of the items of a list.
#[derive(Debug, Clone, Serialize)]
pub struct ResultStub {
    /// It is a list.
    pub list: bool,
    /// Names of fields; there may be others.
    pub fields: Vec<String>,
}

/// How further pages are asked for; the form of `how` of `mce.paginate`. Paths are names of properties.
#[derive(Debug, Clone, Serialize)]
pub struct PaginationStub {
    /// `links`, `cursor`, `last_item`, `page` or `offset`.
    pub by: &'static str,
    /// An argument in the program's language, or `body` and a property of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parameter: Option<Vec<String>>,
    /// Where the answer says what comes next.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<Vec<String>>,
    /// The number of the first page or item.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first: Option<i64>,
    /// Where the answer has the items; empty for the answer itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub items: Option<Vec<String>>,
}

/// An argument of a [`FunctionStub`].
#[derive(Debug, Clone, Serialize)]
pub struct ParameterStub {
    /// The identifier in the program's language.
    pub name: String,
    /// A call without it is refused.
    pub required: bool,
    /// The only values it may have, if few and known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub literals: Option<Vec<Value>>,
    /// The types that a value may have, by their names in JSON Schema, if known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub types: Option<Vec<String>>,
    /// Its name in the query, if that is where it is sent and it is one value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub query: Option<String>,
    /// It is a whole number.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub whole: bool,
}

/// The answer to [`HostCall::Describe`].
#[derive(Debug, Clone, Serialize)]
pub struct Description {
    /// Functions found, in the order asked for.
    pub functions: Vec<FunctionStub>,
    /// Names that are no function of the server, each with a hint such as ``did you mean `get_item`?`` (may be empty).
    pub unknown: Vec<(String, String)>,
}

/// Why a host call failed, as the program and the model may see it: no secret, no base URL.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CallFailure {
    /// One of the error types of a run: `argument`, `api`, `tool`, `policy`, `approval`, `timeout`, `output`, `internal`.
    #[serde(rename = "type")]
    pub kind: &'static str,
    /// What happened.
    pub message: String,
    /// `server.function`, if one was meant.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub function: Option<String>,
    /// The API's status.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// The API's own body: JSON or a text, bounded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub body: Option<Value>,
    /// What to do about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

/// A pinned, boxed future.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// The host's side of one run. Dropping the future of a call cancels it.
pub trait HostCalls: Send + Sync {
    /// Carries out one host call.
    fn call(&self, call: HostCall) -> BoxFuture<'_, Result<HostValue, CallFailure>>;

    /// The names of all servers, which a worker is told with its program if they are few; `None` if it has to ask.
    fn servers(&self) -> Option<Vec<String>> {
        None
    }

    /// What programs that this one has called have printed since this was last asked. It goes into the log of this one.
    fn printed(&self) -> String {
        String::new()
    }

    /// Time that calls of this run have waited for a person so far. It is not the program's: its wall-clock limit grows
    /// by it.
    fn waited(&self) -> Duration {
        Duration::ZERO
    }
}
