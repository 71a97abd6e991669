//! What MCP servers have beside tools. Each list is asked for when a client asks; a server that does not answer in time does not
//! hold the others up: what is known of it is listed, and the client hears when there is more.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use mce_broker::{Broker, Change, Changed, Listed, Passed, RunContext, UpstreamError};
use mce_config::Origin;
use rmcp::ErrorData;
use rmcp::model::ErrorCode;
use serde_json::{Map, Value, json};
use tokio::sync::broadcast;

use super::names;
use crate::app::App;
use crate::server::surface::no_resource;

/// How long a list waits for servers.
const PATIENCE: Duration = Duration::from_secs(5);

/// What each server listed last.
type Known = BTreeMap<(String, Listed), Vec<Value>>;

/// Prompts and resources of all MCP servers.
#[derive(Clone)]
pub(super) struct Beside {
    broker: Arc<Broker>,
    changes: broadcast::Sender<Change>,
    servers: Vec<String>,
    // Held for one look-up.
    known: Arc<Mutex<Known>>,
}

impl Beside {
    pub(super) fn new(app: &App) -> Self {
        let is_mcp = |origin: &Origin| match origin {
            Origin::McpStdio(_) | Origin::McpHttp(_) => true,
            Origin::OpenApi(_) | Origin::Recipes(_) => false,
        };
        let servers = app.settings().servers.iter().filter(|server| is_mcp(&server.origin));
        Self {
            broker: Arc::clone(app.broker()),
            changes: app.changes_sender(),
            servers: servers.map(|server| server.name.clone()).collect(),
            known: Arc::default(),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.servers.is_empty()
    }

    /// Names and URIs of a server that is the only one stay as they are.
    fn only(&self) -> Option<&str> {
        match self.servers.as_slice() {
            [only] => Some(only),
            _ => None,
        }
    }

    /// All items of a list, of all servers in the order of the settings, under the names that clients use.
    pub(super) async fn list(&self, listed: Listed) -> Vec<Value> {
        let lists = self.servers.iter().map(async |server| {
            let mut items = self.list_of(server, listed).await;
            if self.only().is_none() {
                for item in &mut items {
                    join_item(item, server, listed);
                }
            }
            items
        });
        futures_util::future::join_all(lists).await.concat()
    }

    /// What a server lists, or listed before where it does not answer now.
    async fn list_of(&self, server: &str, listed: Listed) -> Vec<Value> {
        let (asking, name) = (self.clone(), server.to_owned());
        let mut task = tokio::spawn(async move { asking.ask(&name, listed).await });
        match tokio::time::timeout(PATIENCE, &mut task).await {
            Ok(Ok(Ok(items))) => return items,
            Ok(Ok(Err(error))) => tracing::warn!("`{}` of `{server}`: {}", listed.key(), error.internal()),
            Ok(Err(_)) => {}
            Err(_) => {
                let (changes, change) = (self.changes.clone(), change_of(server, listed));
                tokio::spawn(async move {
                    if matches!(task.await, Ok(Ok(_))) {
                        // Fails if nobody listens.
                        let _ = changes.send(change);
                    }
                });
            }
        }
        self.known(server, listed)
    }

    async fn ask(&self, server: &str, listed: Listed) -> Result<Vec<Value>, UpstreamError> {
        let items = self.broker.upstreams().list(server, listed).await?;
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.insert((server.to_owned(), listed), items.clone());
        Ok(items)
    }

    fn known(&self, server: &str, listed: Listed) -> Vec<Value> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.get(&(server.to_owned(), listed)).cloned().unwrap_or_default()
    }

    /// `prompts/get`.
    pub(super) async fn prompt(&self, run: &RunContext, name: &str, params: Map<String, Value>) -> Result<Value, ErrorData> {
        let (server, own) = self.prompt_of(name).await.ok_or_else(|| no_prompt(name))?;
        let mut result = self.pass(run, &server, Passed::Prompt, with(params, "name", &own)).await?;
        let messages = result.get_mut("messages").and_then(Value::as_array_mut);
        let contents = messages.into_iter().flatten().filter_map(|message| message.get_mut("content"));
        contents.for_each(|content| self.join_block(content, &server));
        Ok(result)
    }

    /// `resources/read`.
    pub(super) async fn resource(&self, run: &RunContext, uri: &str, params: Map<String, Value>) -> Result<Value, ErrorData> {
        let (server, own) = self.parted(uri).ok_or_else(|| no_resource(uri))?;
        let passed = self.pass(run, server, Passed::Resource, with(params, "uri", own)).await;
        let mut result = passed.map_err(|mut error| {
            // Which one there is none of. (MCP 2026-07-28, Resources, Error Handling.)
            if matches!(error.code, ErrorCode::INVALID_PARAMS | ErrorCode::RESOURCE_NOT_FOUND) {
                error.data = Some(json!({"uri": uri}));
            }
            error
        })?;
        let contents = result.get_mut("contents").and_then(Value::as_array_mut);
        contents.into_iter().flatten().for_each(|content| self.join_uri(content, server));
        Ok(result)
    }

    /// `completion/complete`.
    pub(super) async fn complete(&self, run: &RunContext, mut params: Map<String, Value>) -> Result<Value, ErrorData> {
        let reference = params.get("ref").cloned().unwrap_or_default();
        let text = |key: &str| reference.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
        let (server, key, own) = if reference.get("type").and_then(Value::as_str) == Some("ref/prompt") {
            let name = text("name");
            let (server, own) = self.prompt_of(&name).await.ok_or_else(|| no_prompt(&name))?;
            (server, "name", own)
        } else {
            let uri = text("uri");
            let (server, own) = self.parted(&uri).ok_or_else(|| no_resource(&uri))?;
            (server.to_owned(), "uri", own.to_owned())
        };
        if let Some(reference) = params.get_mut("ref").and_then(Value::as_object_mut) {
            reference.insert(key.to_owned(), Value::from(own));
        }
        self.pass(run, &server, Passed::Completion, params).await
    }

    pub(super) async fn subscribe(&self, uri: &str) -> Result<(), ErrorData> {
        let (server, own) = self.parted(uri).ok_or_else(|| no_resource(uri))?;
        self.broker
            .upstreams()
            .subscribe(server, own)
            .await
            .map_err(|error| self.refused(&error))
    }

    pub(super) async fn unsubscribe(&self, uri: &str) {
        if let Some((server, own)) = self.parted(uri) {
            self.broker.upstreams().unsubscribe(server, own).await;
        }
    }

    /// A server's own URI as clients know it.
    pub(super) fn joined_uri(&self, server: &str, uri: &str) -> String {
        match self.only() {
            Some(_) => uri.to_owned(),
            None => names::joined_uri(server, uri),
        }
    }

    /// Gives resources in a tool's result the URIs that clients can read them by.
    pub(super) fn join_result(&self, result: &mut Value, server: &str) {
        let blocks = result.get_mut("content").and_then(Value::as_array_mut);
        blocks.into_iter().flatten().for_each(|block| self.join_block(block, server));
    }

    fn join_block(&self, block: &mut Value, server: &str) {
        match block.get("type").and_then(Value::as_str) {
            Some("resource_link") => self.join_uri(block, server),
            Some("resource") => block
                .get_mut("resource")
                .into_iter()
                .for_each(|resource| self.join_uri(resource, server)),
            Some(_) | None => {}
        }
    }

    fn join_uri(&self, holder: &mut Value, server: &str) {
        if self.only().is_none() {
            join_member(holder, "uri", |uri| names::joined_uri(server, uri));
        }
    }

    fn parted<'a>(&'a self, uri: &'a str) -> Option<(&'a str, &'a str)> {
        if let Some(only) = self.only() {
            return Some((only, uri));
        }
        let (server, own) = names::parted_uri(uri)?;
        self.servers.iter().any(|known| known == server).then_some((server, own))
    }

    /// The server of a prompt and its own name. Names that were changed are found in the list of their server.
    async fn prompt_of(&self, name: &str) -> Option<(String, String)> {
        if let Some(only) = self.only() {
            return Some((only.to_owned(), name.to_owned()));
        }
        // A name of a server may be the start of another's.
        let servers = self.servers.iter().filter(|server| name.starts_with(server.as_str()));
        for server in servers {
            let mut items = self.known(server, Listed::Prompts);
            if items.is_empty() {
                items = self.list_of(server, Listed::Prompts).await;
            }
            let own = items.iter().filter_map(|item| item.get("name").and_then(Value::as_str));
            if let Some(own) = own.into_iter().find(|own| names::joined(server, own) == name) {
                return Some((server.clone(), own.to_owned()));
            }
        }
        None
    }

    async fn pass(&self, run: &RunContext, server: &str, passed: Passed, params: Map<String, Value>) -> Result<Value, ErrorData> {
        let passing = self.broker.pass(run, server, passed, params).await;
        passing.map_err(|error| self.refused(&error))
    }

    /// A server's own error as it gave it, else what happened to it.
    fn refused(&self, error: &UpstreamError) -> ErrorData {
        let (code, message) = self.broker.upstreams().told(error);
        let code = code.and_then(|code| i32::try_from(code).ok());
        ErrorData::new(code.map_or(ErrorCode::INTERNAL_ERROR, ErrorCode), message, None)
    }
}

fn no_prompt(name: &str) -> ErrorData {
    ErrorData::invalid_params(format!("there is no prompt `{name}`"), None)
}

fn with(mut params: Map<String, Value>, key: &str, value: &str) -> Map<String, Value> {
    params.insert(key.to_owned(), Value::from(value));
    params
}

fn change_of(server: &str, listed: Listed) -> Change {
    let what = match listed {
        Listed::Tools => Changed::Tools,
        Listed::Prompts => Changed::Prompts,
        Listed::Resources | Listed::Templates => Changed::Resources,
    };
    Change {
        server: server.to_owned(),
        what,
    }
}

fn join_item(item: &mut Value, server: &str, listed: Listed) {
    match listed {
        Listed::Tools | Listed::Prompts => join_member(item, "name", |own| names::joined(server, own)),
        Listed::Resources => join_member(item, "uri", |own| names::joined_uri(server, own)),
        Listed::Templates => join_member(item, "uriTemplate", |own| names::joined_uri(server, own)),
    }
}

fn join_member(holder: &mut Value, key: &str, join: impl FnOnce(&str) -> String) {
    if let Some(Value::String(text)) = holder.get_mut(key) {
        *text = join(text);
    }
}
