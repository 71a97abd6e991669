//! The surface `code`: five tools, and functions that a person made tools of their own. Converts requests, lets the [`App`] do
//! the work, converts its answers back.

use std::sync::{Arc, Mutex, PoisonError};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use futures_util::future::BoxFuture;
use mce_broker::{Change, Changed};
use mce_sandbox::{Content, Inputs};
use rmcp::ErrorData;
use rmcp::model::{
    CallToolRequestParams, CallToolResult, ContentBlock, GetPromptRequestParams, GetPromptResponse, GetPromptResult, Implementation,
    ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult, ListToolsResult, Prompt, PromptMessage, ReadResourceRequestParams,
    ReadResourceResponse, ReadResourceResult, Resource, ResourceContents, ResourceTemplate, Role, ServerCapabilities, ServerConfig, Tool,
};
use serde::Serialize;
use serde_json::{Map, Value};
use tokio::sync::broadcast;
use tokio::sync::broadcast::error::RecvError;

use super::index::index;
use super::long_integers::to_exact;
use super::notices::Notice;
use super::promoted::Promoted;
use super::surface::{CallOf, Context, Refusal, Surface, no_resource};
use super::texts::{GUIDE, INSTRUCTIONS};
use super::tools::{self, CachedArguments, ExecuteArguments, GetArguments, SearchArguments, SkillsArguments};
use crate::app::{App, Behalf, RunReport, Wanted};
use crate::failure::Failure;

const GUIDE_NAME: &str = "reusable_code_guide";
/// What the resources of kept values begin with.
const RESULTS: &str = "mce://results/";
/// Notices that wait for those who are told.
const NOTICES_KEPT: usize = 16;

/// The surface. What is listed is made once.
pub(crate) struct Code {
    app: Arc<App>,
    config: ServerConfig,
    /// Without the index of servers, which changes.
    tools: Vec<Tool>,
    promoted: Vec<Promoted>,
    /// The index as it was listed last. Held for one look.
    listed_index: Arc<Mutex<Option<String>>>,
    notices: broadcast::Sender<Notice>,
}

impl Code {
    pub(crate) fn new(app: Arc<App>) -> Self {
        let mut listed = tools::definitions();
        if app.settings().serve.has_additional_tools {
            listed.extend(tools::skill_definitions());
        }
        let promoted = super::promoted::find(&app);
        listed.extend(promoted.iter().map(|function| function.tool.clone()));
        let capabilities = ServerCapabilities::builder()
            .enable_tools()
            .enable_tool_list_changed()
            .enable_prompts()
            .enable_resources()
            .build();
        let identity = Implementation::new("mce", env!("CARGO_PKG_VERSION"));
        let config = ServerConfig::new(capabilities)
            .with_server_info(identity)
            .with_instructions(instructions(&app, &promoted));
        let surface = Self {
            app,
            config,
            tools: listed,
            promoted,
            listed_index: Arc::default(),
            notices: broadcast::Sender::new(NOTICES_KEPT),
        };
        surface.follow_changes();
        surface
    }

    /// The tools, with the servers that there are now.
    pub(super) fn listed(&self) -> Vec<Tool> {
        let index = index_of(&self.app);
        let mut tools = self.tools.clone();
        for tool in tools.iter_mut().filter(|tool| tool.name == "execute_code") {
            let description = tool.description.as_deref().unwrap_or_default();
            tool.description = Some(format!("{description} {index}").into());
        }
        *self.listed_index.lock().unwrap_or_else(PoisonError::into_inner) = Some(index);
        tools
    }

    /// Tells when the index is another than the one that was listed, as long as the app lasts.
    fn follow_changes(&self) {
        let (app, listed, notices) = (Arc::downgrade(&self.app), Arc::clone(&self.listed_index), self.notices.clone());
        let mut changes = self.app.changes();
        let mut ready = self.app.readiness();
        tokio::spawn(async move {
            loop {
                tokio::select! {
                    change = changes.recv() => match change {
                        Ok(Change { what: Changed::Tools, .. }) | Err(RecvError::Lagged(_)) => {}
                        Ok(_) => continue,
                        Err(RecvError::Closed) => return,
                    },
                    changed = ready.changed() => if changed.is_err() { return },
                }
                let Some(app) = app.upgrade() else { return };
                let index = index_of(&app);
                let is_other = listed
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .as_ref()
                    .is_some_and(|listed| *listed != index);
                if is_other {
                    // Fails if nobody listens.
                    let _ = notices.send(Notice::Tools);
                }
            }
        });
    }

    async fn answer(&self, tool: &str, arguments: Option<Map<String, Value>>, behalf: &Behalf) -> Result<CallToolResult, Failure> {
        self.app.ready().await;
        match tool {
            "list_servers" => text(&self.app.discovery().list_servers(self.app.libraries().await)?),
            "search_functions" => {
                let given: SearchArguments = tools::parse(tool, arguments)?;
                text(
                    &self
                        .app
                        .discovery()
                        .search(&given.query, given.server.as_deref(), given.limit, given.language.into())?,
                )
            }
            "get_functions" => {
                let given: GetArguments = tools::parse(tool, arguments)?;
                let wanted: Vec<_> = given
                    .functions
                    .into_iter()
                    .map(|item| Wanted {
                        server: item.server_name,
                        function: item.function_name,
                        types: item.types,
                    })
                    .collect();
                text(&self.app.discovery().get_functions(&wanted, given.language.into())?)
            }
            "execute_code" => {
                let given: ExecuteArguments = tools::parse(tool, arguments)?;
                let report = self
                    .app
                    .execute(given.language.into(), given.code, &given.description, behalf)
                    .await;
                run_result(&self.app.within_budget(report, given.max_result_bytes).await)
            }
            "run_cached_code" => {
                let given: CachedArguments = tools::parse(tool, arguments)?;
                let report = self
                    .app
                    .run_cached(&given.cache_id, inputs(given.params.unwrap_or_default())?, behalf)
                    .await;
                run_result(&self.app.within_budget(report, given.max_result_bytes).await)
            }
            "list_skills" if self.app.settings().serve.has_additional_tools => text(&self.app.skills().list()),
            "get_server_skills" if self.app.settings().serve.has_additional_tools => {
                let given: SkillsArguments = tools::parse(tool, arguments)?;
                text(&self.app.skills().get(&given.server_name)?)
            }
            _ => self.answer_promoted(tool, arguments, behalf).await,
        }
    }

    async fn answer_promoted(&self, tool: &str, arguments: Option<Map<String, Value>>, behalf: &Behalf) -> Result<CallToolResult, Failure> {
        let Some(function) = self.promoted.iter().find(|function| function.tool.name == tool) else {
            let known: Vec<_> = self.tools.iter().map(|tool| format!("`{}`", tool.name)).collect();
            return Err(Failure::argument(format!("there is no tool `{tool}`")).with_hint(format!("the tools are {}", known.join(", "))));
        };
        let arguments = to_exact(&arguments.unwrap_or_default()).map_err(Failure::internal)?;
        text(&self.app.call(&function.reference, &arguments, behalf).await?)
    }
}

impl Surface for Code {
    fn config(&self) -> ServerConfig {
        self.config.clone()
    }

    fn list_tools<'a>(&'a self, _cursor: Option<&'a str>, _context: &'a Context) -> BoxFuture<'a, Result<ListToolsResult, ErrorData>> {
        Box::pin(async { Ok(ListToolsResult::with_all_items(self.listed())) })
    }

    fn tool(&self, name: &str) -> Option<Tool> {
        self.tools.iter().find(|tool| tool.name == name).cloned()
    }

    fn call<'a>(&'a self, request: CallToolRequestParams, call: CallOf<'a>) -> BoxFuture<'a, Result<CallToolResult, Refusal>> {
        Box::pin(async move { Ok(self.answer(&request.name, request.arguments, call.behalf).await?) })
    }

    fn notices(&self) -> Option<broadcast::Receiver<Notice>> {
        Some(self.notices.subscribe())
    }

    fn list_prompts<'a>(&'a self, _cursor: Option<&'a str>) -> BoxFuture<'a, Result<ListPromptsResult, ErrorData>> {
        let guide = Prompt::new(GUIDE_NAME, Some("How to write programs that can run again with other values"), None);
        Box::pin(async { Ok(ListPromptsResult::with_all_items(vec![guide])) })
    }

    fn get_prompt<'a>(
        &'a self,
        request: GetPromptRequestParams,
        _context: &'a Context,
    ) -> BoxFuture<'a, Result<GetPromptResponse, ErrorData>> {
        let answer = if request.name == GUIDE_NAME {
            Ok(GetPromptResult::new(vec![PromptMessage::new_text(Role::User, GUIDE)]).into())
        } else {
            Err(ErrorData::invalid_params(
                format!("there is no prompt `{}`; the one prompt is `{GUIDE_NAME}`", request.name),
                None,
            ))
        };
        Box::pin(async { answer })
    }

    fn list_resources<'a>(&'a self, _cursor: Option<&'a str>) -> BoxFuture<'a, Result<ListResourcesResult, ErrorData>> {
        let guides = self.app.skills().servers().map(|server| {
            Resource::new(format!("skills://{server}"), format!("{server}_skills"))
                .with_description(format!("Guide to the server `{server}`"))
                .with_mime_type("text/markdown")
        });
        let guides = ListResourcesResult::with_all_items(guides.collect());
        Box::pin(async { Ok(guides) })
    }

    fn list_templates<'a>(&'a self, _cursor: Option<&'a str>) -> BoxFuture<'a, Result<ListResourceTemplatesResult, ErrorData>> {
        let results = ResourceTemplate::new(format!("{RESULTS}{{id}}{{?path,from,count}}"), "results")
            .with_description("A large result of a run: `path` is a JSON Pointer, `from` and `count` are items of a list or characters")
            .with_mime_type("application/json");
        Box::pin(async { Ok(ListResourceTemplatesResult::with_all_items(vec![results])) })
    }

    fn read_resource<'a>(
        &'a self,
        request: ReadResourceRequestParams,
        _context: &'a Context,
    ) -> BoxFuture<'a, Result<ReadResourceResponse, ErrorData>> {
        let guide = request
            .uri
            .strip_prefix("skills://")
            .and_then(|server| self.app.skills().read(server));
        Box::pin(async move {
            if let Some(result) = request.uri.strip_prefix(RESULTS) {
                let (id, query) = result.split_once('?').unwrap_or((result, ""));
                let read = self.app.result(id, query).await;
                let text = read.map_err(|failure| ErrorData::resource_not_found(failure.to_string(), None))?;
                let contents = ResourceContents::text(text, request.uri).with_mime_type("application/json");
                return Ok(ReadResourceResult::new(vec![contents]).into());
            }
            let Some(guide) = guide else {
                return Err(no_resource(&request.uri));
            };
            let contents = ResourceContents::text(guide, request.uri).with_mime_type("text/markdown");
            Ok(ReadResourceResult::new(vec![contents]).into())
        })
    }
}

fn index_of(app: &App) -> String {
    index(&app.discovery().summaries().unwrap_or_default())
}

/// Instructions, then the names of promoted functions, then guides as far as their bound reaches.
fn instructions(app: &App, promoted: &[Promoted]) -> String {
    let mut all = INSTRUCTIONS.to_owned();
    if !promoted.is_empty() {
        let names: Vec<_> = promoted.iter().map(|function| format!("`{}`", function.tool.name)).collect();
        all.push_str("\n\n## Direct API Tools\nCall these as they are, without code: ");
        all.push_str(&names.join(", "));
    }
    if let Some(guides) = app.skills().instructions() {
        all.push_str("\n\n");
        all.push_str(&guides);
    }
    all
}

/// Values for variables, from the arguments of a tool.
fn inputs(params: Map<String, Value>) -> Result<Inputs, Failure> {
    let texts = params.into_iter().map(|(name, value)| Ok((name, to_exact(&value)?)));
    texts.collect::<serde_json::Result<_>>().map_err(Failure::internal)
}

fn text(value: &impl Serialize) -> Result<CallToolResult, Failure> {
    let text = serde_json::to_string(value).map_err(Failure::internal)?;
    Ok(CallToolResult::success(vec![ContentBlock::text(text)]))
}

fn run_result(report: &RunReport) -> Result<CallToolResult, Failure> {
    let mut blocks = vec![ContentBlock::text(
        serde_json::to_string(&report.answer).map_err(Failure::internal)?,
    )];
    blocks.extend(report.text.iter().map(ContentBlock::text));
    blocks.extend(report.contents.iter().map(content_block));
    Ok(if report.answer.success {
        CallToolResult::success(blocks)
    } else {
        CallToolResult::error(blocks)
    })
}

fn content_block(content: &Content) -> ContentBlock {
    let data = BASE64_STANDARD.encode(&content.data);
    if content.mime_type.starts_with("audio/") {
        ContentBlock::audio(data, content.mime_type.clone())
    } else {
        ContentBlock::image(data, content.mime_type.clone())
    }
}
