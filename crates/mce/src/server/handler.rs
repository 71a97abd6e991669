//! The MCP face: converts requests, lets the [`App`] do the work, converts its answers back.

use std::sync::Arc;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use mce_sandbox::Content;
use rmcp::handler::server::ServerHandler;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, GetPromptRequestParams, GetPromptResponse, GetPromptResult,
    Implementation, ListPromptsResult, ListResourcesResult, ListToolsResult, PaginatedRequestParams, Prompt, PromptMessage,
    ReadResourceRequestParams, ReadResourceResponse, ReadResourceResult, Resource, ResourceContents, Role, ServerCapabilities,
    ServerConfig, Tool,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer};
use serde::Serialize;
use serde_json::value::to_raw_value;
use serde_json::{Map, Value};

use super::promoted::Promoted;
use super::texts::{GUIDE, INSTRUCTIONS};
use super::tools::{self, CachedArguments, ExecuteArguments, GetArguments, SearchArguments, SkillsArguments};
use crate::app::{App, RunReport, Wanted};
use crate::failure::Failure;

const GUIDE_NAME: &str = "reusable_code_guide";

/// Answers one client. Cheap to clone; all state is the app's.
#[derive(Clone)]
pub(crate) struct Handler {
    app: Arc<App>,
    face: Arc<Face>,
}

/// What is listed. Made once; never depends on who connects.
struct Face {
    config: ServerConfig,
    tools: Vec<Tool>,
    promoted: Vec<Promoted>,
}

impl Handler {
    pub(crate) fn new(app: Arc<App>) -> Self {
        let mut listed = tools::definitions();
        if app.settings().serve.has_additional_tools {
            listed.extend(tools::skill_definitions());
        }
        let promoted = super::promoted::find(&app);
        listed.extend(promoted.iter().map(|function| function.tool.clone()));
        let capabilities = ServerCapabilities::builder()
            .enable_tools()
            .enable_prompts()
            .enable_resources()
            .build();
        let identity = Implementation::new("mce", env!("CARGO_PKG_VERSION"));
        let config = ServerConfig::new(capabilities)
            .with_server_info(identity)
            .with_instructions(instructions(&app, &promoted));
        Self {
            app,
            face: Arc::new(Face {
                config,
                tools: listed,
                promoted,
            }),
        }
    }

    async fn answer(&self, tool: &str, arguments: Option<Map<String, Value>>) -> Result<CallToolResult, Failure> {
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
                run_result(&self.app.execute(given.language.into(), given.code, &given.description).await)
            }
            "run_cached_code" => {
                let given: CachedArguments = tools::parse(tool, arguments)?;
                run_result(&self.app.run_cached(&given.cache_id, given.params.unwrap_or_default()).await)
            }
            "list_skills" if self.app.settings().serve.has_additional_tools => text(&self.app.skills().list()),
            "get_server_skills" if self.app.settings().serve.has_additional_tools => {
                let given: SkillsArguments = tools::parse(tool, arguments)?;
                text(&self.app.skills().get(&given.server_name)?)
            }
            _ => self.answer_promoted(tool, arguments).await,
        }
    }

    async fn answer_promoted(&self, tool: &str, arguments: Option<Map<String, Value>>) -> Result<CallToolResult, Failure> {
        let Some(function) = self.face.promoted.iter().find(|function| function.tool.name == tool) else {
            let known: Vec<_> = self.face.tools.iter().map(|tool| format!("`{}`", tool.name)).collect();
            return Err(Failure::argument(format!("there is no tool `{tool}`")).with_hint(format!("the tools are {}", known.join(", "))));
        };
        let arguments = to_raw_value(&arguments.unwrap_or_default()).map_err(Failure::internal)?;
        text(&self.app.call(&function.reference, &arguments).await?)
    }
}

impl ServerHandler for Handler {
    fn get_info(&self) -> ServerConfig {
        self.face.config.clone()
    }

    async fn list_tools(&self, _: Option<PaginatedRequestParams>, _: RequestContext<RoleServer>) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(self.face.tools.clone()))
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        self.face.tools.iter().find(|tool| tool.name == name).cloned()
    }

    async fn call_tool(&self, request: CallToolRequestParams, context: RequestContext<RoleServer>) -> Result<CallToolResponse, ErrorData> {
        // Dropping the answer's future ends the run and its host calls.
        let result = tokio::select! {
            result = self.answer(&request.name, request.arguments) => result,
            () = context.ct.cancelled() => Err(Failure::internal("the request was cancelled")),
            () = self.app.ended() => Err(Failure::internal("the client has gone")),
        };
        Ok(result
            .unwrap_or_else(|failure| CallToolResult::error(vec![ContentBlock::text(failure.to_json().to_string())]))
            .into())
    }

    async fn list_prompts(&self, _: Option<PaginatedRequestParams>, _: RequestContext<RoleServer>) -> Result<ListPromptsResult, ErrorData> {
        let guide = Prompt::new(GUIDE_NAME, Some("How to write programs that can run again with other values"), None);
        Ok(ListPromptsResult::with_all_items(vec![guide]))
    }

    async fn get_prompt(&self, request: GetPromptRequestParams, _: RequestContext<RoleServer>) -> Result<GetPromptResponse, ErrorData> {
        if request.name != GUIDE_NAME {
            return Err(ErrorData::invalid_params(
                format!("there is no prompt `{}`; the one prompt is `{GUIDE_NAME}`", request.name),
                None,
            ));
        }
        Ok(GetPromptResult::new(vec![PromptMessage::new_text(Role::User, GUIDE)]).into())
    }

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let guides = self.app.skills().servers().map(|server| {
            Resource::new(format!("skills://{server}"), format!("{server}_skills"))
                .with_description(format!("Guide to the server `{server}`"))
                .with_mime_type("text/markdown")
        });
        Ok(ListResourcesResult::with_all_items(guides.collect()))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let guide = request
            .uri
            .strip_prefix("skills://")
            .and_then(|server| self.app.skills().read(server));
        let Some(guide) = guide else {
            return Err(ErrorData::resource_not_found(
                format!("there is no resource `{}`", request.uri),
                None,
            ));
        };
        let contents = ResourceContents::text(guide, request.uri).with_mime_type("text/markdown");
        Ok(ReadResourceResult::new(vec![contents]).into())
    }
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

fn text(value: &impl Serialize) -> Result<CallToolResult, Failure> {
    let text = serde_json::to_string(value).map_err(Failure::internal)?;
    Ok(CallToolResult::success(vec![ContentBlock::text(text)]))
}

fn run_result(report: &RunReport) -> Result<CallToolResult, Failure> {
    let mut blocks = vec![ContentBlock::text(
        serde_json::to_string(&report.answer).map_err(Failure::internal)?,
    )];
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
