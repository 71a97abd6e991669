//! The MCP face: takes requests from rmcp and lets the [`Surface`] answer them.

use std::sync::Arc;

use rmcp::ErrorData;
use rmcp::handler::server::ServerHandler;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, CompleteRequestParams, CompleteResult, ContentBlock, GetPromptRequestParams,
    GetPromptResponse, ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult, ListToolsResult, PaginatedRequestParams,
    ReadResourceRequestParams, ReadResourceResponse, ServerConfig, Tool,
};

use super::surface::{self, Context, Surface};
use crate::app::{App, Behalf};
use crate::failure::Failure;

/// Answers one client. Cheap to clone; all state is the app's and the surface's.
#[derive(Clone)]
pub(crate) struct Handler {
    app: Arc<App>,
    surface: Arc<dyn Surface>,
}

impl Handler {
    /// A handler with the surface of the settings.
    ///
    /// # Errors
    ///
    /// A failure of type `config` if this version does not have it.
    pub(crate) fn new(app: Arc<App>) -> Result<Self, Failure> {
        let surface = surface::open(&app)?;
        Ok(Self { app, surface })
    }
}

impl ServerHandler for Handler {
    fn get_info(&self) -> ServerConfig {
        self.surface.config()
    }

    async fn list_tools(&self, request: Option<PaginatedRequestParams>, _: Context) -> Result<ListToolsResult, ErrorData> {
        self.surface.list_tools(cursor(request.as_ref()))
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        self.surface.tool(name)
    }

    async fn call_tool(&self, request: CallToolRequestParams, context: Context) -> Result<CallToolResponse, ErrorData> {
        let behalf = Behalf::nobody();
        // Dropping the answer's future ends the run and its host calls.
        let result = tokio::select! {
            result = self.surface.call(request, &behalf) => result,
            () = context.ct.cancelled() => Err(Failure::internal("the request was cancelled")),
            () = self.app.ended() => Err(Failure::internal("the client has gone")),
        };
        Ok(result
            .unwrap_or_else(|failure| CallToolResult::error(vec![ContentBlock::text(failure.to_json().to_string())]))
            .into())
    }

    async fn list_prompts(&self, request: Option<PaginatedRequestParams>, _: Context) -> Result<ListPromptsResult, ErrorData> {
        self.surface.list_prompts(cursor(request.as_ref())).await
    }

    async fn get_prompt(&self, request: GetPromptRequestParams, context: Context) -> Result<GetPromptResponse, ErrorData> {
        self.surface.get_prompt(request, &context).await
    }

    async fn list_resources(&self, request: Option<PaginatedRequestParams>, _: Context) -> Result<ListResourcesResult, ErrorData> {
        self.surface.list_resources(cursor(request.as_ref())).await
    }

    async fn list_resource_templates(
        &self,
        request: Option<PaginatedRequestParams>,
        _: Context,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        self.surface.list_templates(cursor(request.as_ref())).await
    }

    async fn read_resource(&self, request: ReadResourceRequestParams, context: Context) -> Result<ReadResourceResponse, ErrorData> {
        self.surface.read_resource(request, &context).await
    }

    async fn complete(&self, request: CompleteRequestParams, context: Context) -> Result<CompleteResult, ErrorData> {
        if self.surface.config().capabilities.completions.is_none() {
            return Err(ErrorData::method_not_found::<rmcp::model::CompleteRequestMethod>());
        }
        self.surface.complete(request, &context).await
    }
}

fn cursor(request: Option<&PaginatedRequestParams>) -> Option<&str> {
    request.and_then(|request| request.cursor.as_deref())
}
