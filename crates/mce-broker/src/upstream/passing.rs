//! What a server has beside tools: its lists, and requests that are passed on to it as they are. All of it only reads, so that
//! it is asked again if the connection breaks.

use std::borrow::Cow;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use mce_config::Era;
use rmcp::model::{ClientRequest as Request, PaginatedRequestParams, ServerCapabilities};
use rmcp::service::PeerRequestOptions;
use serde_json::{Map, Value, json};

use super::Upstreams;
use super::connection::{Connection, MAX_LIST_BYTES, MAX_TOOLS};
use super::link::Server;
use super::upstream_error::{UpstreamError, UpstreamStep};

/// Pages that a list may come in.
const MAX_PAGES: usize = 1000;

/// A list of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Listed {
    /// Its tools.
    Tools,
    /// Its prompts.
    Prompts,
    /// Its resources.
    Resources,
    /// Its templates of resources.
    Templates,
}

impl Listed {
    /// The method that asks for it.
    const fn method(self) -> &'static str {
        match self {
            Self::Tools => "tools/list",
            Self::Prompts => "prompts/list",
            Self::Resources => "resources/list",
            Self::Templates => "resources/templates/list",
        }
    }

    /// The member of the result that holds it.
    pub const fn key(self) -> &'static str {
        match self {
            Self::Tools => "tools",
            Self::Prompts => "prompts",
            Self::Resources => "resources",
            Self::Templates => "resourceTemplates",
        }
    }

    const fn is_offered(self, capabilities: &ServerCapabilities) -> bool {
        match self {
            Self::Tools => true,
            Self::Prompts => capabilities.prompts.is_some(),
            Self::Resources | Self::Templates => capabilities.resources.is_some(),
        }
    }
}

/// A request that is passed on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Passed {
    /// `prompts/get`.
    Prompt,
    /// `resources/read`.
    Resource,
    /// `completion/complete`.
    Completion,
}

impl Passed {
    pub(crate) const fn method(self) -> &'static str {
        match self {
            Self::Prompt => "prompts/get",
            Self::Resource => "resources/read",
            Self::Completion => "completion/complete",
        }
    }
}

impl Upstreams {
    /// All items of a list of a server, each as it wrote it; none if it has no such list.
    ///
    /// # Errors
    ///
    /// If it cannot be reached, does not answer in time, or lists too much.
    pub async fn list(&self, server: &str, listed: Listed) -> Result<Vec<Value>, UpstreamError> {
        let work = move |connection: Arc<Connection>| -> BoxFuture<'static, _> { Box::pin(async move { connection.pages(listed).await }) };
        let items = self.server(server)?.ask(UpstreamStep::List, work).await?;
        Ok(items.into_iter().map(|item| self.without_secrets(item)).collect())
    }

    /// The result of a request that is passed on, as the server wrote it.
    ///
    /// # Errors
    ///
    /// If the server cannot be reached, does not answer in time, or refuses.
    pub async fn pass(&self, server: &str, passed: Passed, params: Map<String, Value>) -> Result<Value, UpstreamError> {
        let work = move |connection: Arc<Connection>| -> BoxFuture<'static, _> {
            let params = params.clone();
            Box::pin(async move { connection.pass(passed.method(), params).await })
        };
        let result = self.server(server)?.ask(UpstreamStep::Call, work).await?;
        Ok(self.without_secrets(result))
    }

    /// Wants to know when a resource changes. Each call is to be followed by one of [`Upstreams::unsubscribe`].
    ///
    /// # Errors
    ///
    /// If the server cannot be reached or refuses.
    pub async fn subscribe(&self, server: &str, uri: &str) -> Result<(), UpstreamError> {
        let server = self.server(server)?;
        if !server.opening.subscribed.add(uri) {
            return Ok(());
        }
        let told = tell_subscription(server, "resources/subscribe", uri).await;
        if told.is_err() {
            server.opening.subscribed.remove(uri);
        }
        told
    }

    /// Does not want to know any more.
    pub async fn unsubscribe(&self, server: &str, uri: &str) {
        let Ok(server) = self.server(server) else { return };
        if server.opening.subscribed.remove(uri) {
            // A server that does not take it goes on telling, which nobody hears.
            let _ = tell_subscription(server, "resources/unsubscribe", uri).await;
        }
    }

    /// What a client is told of a failure, without secrets: the code and the words of the server where it refused.
    pub fn told(&self, error: &UpstreamError) -> (Option<i64>, String) {
        let (code, words) = match error {
            UpstreamError::Refused { code, message, .. } => (Some(*code), message.clone()),
            other => (None, other.to_string()),
        };
        (code, self.redactor.text(&words).into_owned())
    }

    /// What a server wrote, without secrets: it knows its own token.
    pub(super) fn without_secrets(&self, value: Value) -> Value {
        match self.redactor.json(&value.to_string()) {
            Cow::Borrowed(_) => value,
            Cow::Owned(clean) => serde_json::from_str(&clean).unwrap_or_default(),
        }
    }
}

/// Servers without `initialize` learn it by what is listened to.
async fn tell_subscription(server: &Arc<Server>, method: &'static str, uri: &str) -> Result<(), UpstreamError> {
    let uri = uri.to_owned();
    let work = move |connection: Arc<Connection>| -> BoxFuture<'static, _> {
        let params = Map::from_iter([("uri".to_owned(), Value::from(uri.clone()))]);
        Box::pin(async move {
            match connection.era {
                Era::Modern => Ok(()),
                Era::Auto | Era::Legacy => connection.pass(method, params).await.map(drop),
            }
        })
    };
    server.ask(UpstreamStep::Call, work).await
}

impl Connection {
    /// All pages of a list.
    pub(super) async fn pages(&self, listed: Listed) -> Result<Vec<Value>, UpstreamError> {
        if !self.info().is_some_and(|info| listed.is_offered(&info.capabilities)) {
            return Ok(Vec::new());
        }
        let mut items: Vec<Value> = Vec::new();
        let mut bytes = 0;
        let mut cursor = None;
        for _ in 0..MAX_PAGES {
            let params = PaginatedRequestParams::default().with_cursor(cursor.clone());
            let request = self.read_request(listed.method(), &json!(params), UpstreamStep::List)?;
            let page = self
                .request(request, UpstreamStep::List, (PeerRequestOptions::no_options(), None))
                .await?;
            bytes += page.bytes;
            if bytes > MAX_LIST_BYTES {
                return Err(self.too_large(MAX_LIST_BYTES, UpstreamStep::List));
            }
            let Value::Object(mut page) = page.result else {
                return Err(self.wrong(&format!("no list of {}", listed.key()), UpstreamStep::List));
            };
            let Some(Value::Array(found)) = page.remove(listed.key()) else {
                return Err(self.wrong(&format!("no list of {}", listed.key()), UpstreamStep::List));
            };
            items.extend(found.into_iter().filter(Value::is_object));
            if items.len() > MAX_TOOLS {
                return Err(UpstreamError::TooMany {
                    server: self.server.to_string(),
                    what: listed.key(),
                    limit: MAX_TOOLS,
                });
            }
            let next = page.get("nextCursor").and_then(Value::as_str).map(str::to_owned);
            if next.is_none() {
                return Ok(items);
            }
            if next == cursor {
                break;
            }
            cursor = next;
        }
        Err(self.wrong(&format!("its pages of {} never end", listed.key()), UpstreamStep::List))
    }

    /// Asks a server with `initialize` to tell when these resources change: one that is connected anew has forgotten it.
    pub(super) async fn subscribe_again(&self, uris: Vec<String>) {
        for uri in uris {
            let params = Map::from_iter([("uri".to_owned(), Value::from(uri))]);
            // One that does not take it any more is not to be helped.
            let _ = self.pass("resources/subscribe", params).await;
        }
    }

    async fn pass(&self, method: &str, params: Map<String, Value>) -> Result<Value, UpstreamError> {
        let request = self.read_request(method, &Value::Object(params), UpstreamStep::Call)?;
        let answer = self
            .request(request, UpstreamStep::Call, (PeerRequestOptions::no_options(), None))
            .await?;
        if answer.bytes > self.answer_bytes {
            return Err(self.too_large(self.answer_bytes, UpstreamStep::Call));
        }
        Ok(answer.result)
    }

    fn read_request(&self, method: &str, params: &Value, step: UpstreamStep) -> Result<Request, UpstreamError> {
        serde_json::from_value(json!({"method": method, "params": params}))
            .map_err(|_| self.wrong("a request that the protocol does not have", step))
    }
}
