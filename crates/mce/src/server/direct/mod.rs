//! The surface `direct`: every function is a tool, and what MCP servers have passes through as they wrote it: tools, results,
//! prompts, resources, completions and notices of changes.

mod beside;
mod names;
mod tools;

use std::sync::{Arc, PoisonError, RwLock};

use futures_util::future::BoxFuture;
use mce_broker::{Changed, Listed, NoClient, RunContext};
use rmcp::ErrorData;
use rmcp::model::{
    CallToolRequestParams, CallToolResult, CompleteRequestParams, CompleteResult, GetPromptRequestParams, GetPromptResponse,
    GetPromptResult, Implementation, ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult, ListToolsResult, MetaObject,
    ReadResourceRequestParams, ReadResourceResponse, ReadResourceResult, ServerCapabilities, ServerConfig, Tool,
};
use serde_json::{Map, Value, json};
use tokio::sync::broadcast;
use tokio::sync::broadcast::error::RecvError;

use self::beside::Beside;
use self::tools::{DirectTools, for_legacy};
use super::as_written::carrying;
use super::called::tool_result;
use super::long_integers::to_exact;
use super::notices::Notice;
use super::on_behalf::on_behalf;
use super::surface::{CallOf, Context, Refusal, Surface, is_modern};
use crate::app::App;
use crate::failure::Failure;

/// Items of a page.
const PAGE: usize = 1000;
/// Notices that are kept for a client that reads slowly.
const NOTICES_KEPT: usize = 256;

/// The surface.
pub(crate) struct Direct {
    app: Arc<App>,
    config: ServerConfig,
    beside: Beside,
    has_plain_names: bool,
    // Held for one look; made anew when the catalog has changed.
    tools: Arc<RwLock<Option<Arc<DirectTools>>>>,
    notices: broadcast::Sender<Notice>,
}

impl Direct {
    /// The surface on this app.
    ///
    /// # Errors
    ///
    /// A failure of type `config` if names without the server's are wanted and there are several servers.
    pub(crate) fn new(app: Arc<App>) -> Result<Self, Failure> {
        let has_plain_names = app.settings().serve.has_plain_names;
        let servers = app.settings().servers.len();
        if has_plain_names && servers > 1 {
            let message = format!("`direct_names: plain` is for one server, and there are {servers}");
            return Err(Failure::new("config", message).with_hint("use `direct_names: joined`, or remove servers"));
        }
        let beside = Beside::new(&app);
        let surface = Self {
            config: config(&app, &beside),
            beside,
            has_plain_names,
            tools: Arc::default(),
            notices: broadcast::Sender::new(NOTICES_KEPT),
            app,
        };
        surface.follow_changes();
        Ok(surface)
    }

    /// Takes changes over, and then tells of them, as long as the app lasts.
    fn follow_changes(&self) {
        let mut changes = self.app.changes();
        let (tools, notices, beside) = (Arc::clone(&self.tools), self.notices.clone(), self.beside.clone());
        tokio::spawn(async move {
            loop {
                let change = match changes.recv().await {
                    Ok(change) => change,
                    Err(RecvError::Lagged(_)) => {
                        tools.write().unwrap_or_else(PoisonError::into_inner).take();
                        continue;
                    }
                    Err(RecvError::Closed) => return,
                };
                let notice = match change.what {
                    Changed::Tools => {
                        tools.write().unwrap_or_else(PoisonError::into_inner).take();
                        Notice::Tools
                    }
                    Changed::Prompts => Notice::Prompts,
                    Changed::Resources => Notice::Resources,
                    Changed::Resource(uri) => Notice::Resource(beside.joined_uri(&change.server, &uri)),
                };
                // Fails if nobody listens.
                let _ = notices.send(notice);
            }
        });
    }

    fn tools(&self) -> Arc<DirectTools> {
        if let Some(tools) = &*self.tools.read().unwrap_or_else(PoisonError::into_inner) {
            return Arc::clone(tools);
        }
        // What is kept is told to have changed only from then on.
        if !self.app.is_ready() {
            return Arc::new(DirectTools::of_catalog(&self.app, self.has_plain_names));
        }
        let mut place = self.tools.write().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(place.get_or_insert_with(|| Arc::new(DirectTools::of_catalog(&self.app, self.has_plain_names))))
    }

    async fn answer(&self, request: CallToolRequestParams, call: CallOf<'_>) -> Result<CallToolResult, Refusal> {
        self.app.ready().await;
        let tools = self.tools();
        let Some(tool) = tools.get(&request.name) else {
            return Err(ErrorData::invalid_params(format!("there is no tool `{}`", request.name), None).into());
        };
        let arguments = to_exact(&request.arguments.unwrap_or_default()).map_err(Failure::internal)?;
        let called = self.app.call_whole(&tool.reference, &arguments, call.behalf).await?;
        let result = tool_result(called, call.is_modern, |result| self.beside.join_result(result, &tool.server));
        Ok(result?)
    }

    async fn page_of(&self, listed: Listed, cursor: Option<&str>) -> Result<(Option<MetaObject>, Option<String>), ErrorData> {
        let (items, next) = page(&self.beside.list(listed).await, cursor)?;
        Ok((Some(carrying(json!({listed.key(): items}))), next))
    }
}

/// What is passed on is no program's, and nothing is asked for it.
fn run_of(context: &Context) -> RunContext {
    on_behalf(Arc::new(NoClient), context).run(None)
}

impl Surface for Direct {
    fn config(&self) -> ServerConfig {
        self.config.clone()
    }

    fn list_tools<'a>(&'a self, cursor: Option<&'a str>, context: &'a Context) -> BoxFuture<'a, Result<ListToolsResult, ErrorData>> {
        Box::pin(async move {
            self.app.ready().await;
            let tools = self.tools();
            let (tools, next) = page(&tools.all, cursor)?;
            let definitions = tools.into_iter().map(|tool| {
                let mut definition = tool.definition;
                if !is_modern(context) {
                    for_legacy(&mut definition);
                }
                definition
            });
            Ok(ListToolsResult {
                meta: Some(carrying(json!({"tools": definitions.collect::<Vec<_>>()}))),
                next_cursor: next,
                ..ListToolsResult::with_all_items(Vec::new())
            })
        })
    }

    fn tool(&self, name: &str) -> Option<Tool> {
        serde_json::from_value(self.tools().get(name)?.definition.clone()).ok()
    }

    fn call<'a>(&'a self, request: CallToolRequestParams, call: CallOf<'a>) -> BoxFuture<'a, Result<CallToolResult, Refusal>> {
        Box::pin(self.answer(request, call))
    }

    fn list_prompts<'a>(&'a self, cursor: Option<&'a str>) -> BoxFuture<'a, Result<ListPromptsResult, ErrorData>> {
        Box::pin(async move {
            let (meta, next_cursor) = self.page_of(Listed::Prompts, cursor).await?;
            Ok(ListPromptsResult {
                meta,
                next_cursor,
                ..ListPromptsResult::with_all_items(Vec::new())
            })
        })
    }

    fn get_prompt<'a>(
        &'a self,
        request: GetPromptRequestParams,
        context: &'a Context,
    ) -> BoxFuture<'a, Result<GetPromptResponse, ErrorData>> {
        Box::pin(async move {
            let mut answer = GetPromptResult::new(Vec::new());
            answer.meta = Some(carrying(
                self.beside.prompt(&run_of(context), &request.name, params(&request)).await?,
            ));
            Ok(answer.into())
        })
    }

    fn list_resources<'a>(&'a self, cursor: Option<&'a str>) -> BoxFuture<'a, Result<ListResourcesResult, ErrorData>> {
        Box::pin(async move {
            let (meta, next_cursor) = self.page_of(Listed::Resources, cursor).await?;
            Ok(ListResourcesResult {
                meta,
                next_cursor,
                ..ListResourcesResult::with_all_items(Vec::new())
            })
        })
    }

    fn list_templates<'a>(&'a self, cursor: Option<&'a str>) -> BoxFuture<'a, Result<ListResourceTemplatesResult, ErrorData>> {
        Box::pin(async move {
            let (meta, next_cursor) = self.page_of(Listed::Templates, cursor).await?;
            Ok(ListResourceTemplatesResult {
                meta,
                next_cursor,
                ..ListResourceTemplatesResult::with_all_items(Vec::new())
            })
        })
    }

    fn read_resource<'a>(
        &'a self,
        request: ReadResourceRequestParams,
        context: &'a Context,
    ) -> BoxFuture<'a, Result<ReadResourceResponse, ErrorData>> {
        Box::pin(async move {
            let mut answer = ReadResourceResult::new(Vec::new());
            answer.meta = Some(carrying(
                self.beside.resource(&run_of(context), &request.uri, params(&request)).await?,
            ));
            Ok(answer.into())
        })
    }

    fn complete<'a>(&'a self, request: CompleteRequestParams, context: &'a Context) -> BoxFuture<'a, Result<CompleteResult, ErrorData>> {
        Box::pin(async move {
            let mut answer = CompleteResult::default();
            answer.meta = Some(carrying(self.beside.complete(&run_of(context), params(&request)).await?));
            Ok(answer)
        })
    }

    fn notices(&self) -> Option<broadcast::Receiver<Notice>> {
        Some(self.notices.subscribe())
    }

    fn subscribe<'a>(&'a self, uri: &'a str) -> BoxFuture<'a, Result<(), ErrorData>> {
        Box::pin(self.beside.subscribe(uri))
    }

    fn unsubscribe<'a>(&'a self, uri: &'a str) -> BoxFuture<'a, ()> {
        Box::pin(self.beside.unsubscribe(uri))
    }
}

/// What `tools/list` says now, for those who want to know what it costs.
pub(super) fn listed_tools(app: &App) -> Value {
    let tools = DirectTools::of_catalog(app, app.settings().serve.has_plain_names);
    tools.all.into_iter().map(|tool| tool.definition).collect()
}

/// What is offered depends on the settings alone, since servers may still have to be connected to.
fn config(app: &App, beside: &Beside) -> ServerConfig {
    let capabilities = if beside.is_empty() {
        ServerCapabilities::builder().enable_tools().build()
    } else {
        ServerCapabilities::builder()
            .enable_completions()
            .enable_prompts()
            .enable_prompts_list_changed()
            .enable_resources()
            .enable_resources_list_changed()
            .enable_resources_subscribe()
            .enable_tools()
            .enable_tool_list_changed()
            .build()
    };
    let config = ServerConfig::new(capabilities).with_server_info(Implementation::new("mce", env!("CARGO_PKG_VERSION")));
    // With one server, what it says of itself holds for all tools.
    match app.discovery().summaries().unwrap_or_default().as_slice() {
        [only] if !only.description.is_empty() => config.with_instructions(only.description.clone()),
        _ => config,
    }
}

/// The parameters of a request without `_meta`, which is about us and the client.
fn params(request: &impl serde::Serialize) -> Map<String, Value> {
    let params = serde_json::to_value(request).ok();
    let mut params = params.and_then(|params| params.as_object().cloned()).unwrap_or_default();
    params.shift_remove("_meta");
    params
}

/// The page that begins at a cursor, and where the next one begins.
fn page<T: Clone>(items: &[T], cursor: Option<&str>) -> Result<(Vec<T>, Option<String>), ErrorData> {
    let start = match cursor {
        None => 0,
        Some(cursor) => cursor
            .parse()
            .map_err(|_| ErrorData::invalid_params(format!("nothing begins at the cursor `{cursor}`"), None))?,
    };
    let items = items.get(start..).unwrap_or_default();
    let next = (items.len() > PAGE).then(|| (start + PAGE).to_string());
    Ok((items.iter().take(PAGE).cloned().collect(), next))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lists_come_in_pages() {
        let items: Vec<usize> = (0..2500).collect();
        let mut seen = Vec::new();
        let mut cursor = None;
        loop {
            let (page, next) = page(&items, cursor.as_deref()).unwrap();
            assert!(page.len() <= PAGE);
            seen.extend(page);
            cursor = next;
            if cursor.is_none() {
                break;
            }
        }
        assert_eq!(seen, items);
        assert!(page(&items, Some("x")).is_err());
    }
}
