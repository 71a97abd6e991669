//! What a client sees: which tools, prompts and resources are listed, and how each is answered. One for the process.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use rmcp::model::{
    CallToolRequestParams, CallToolResult, CompleteRequestParams, CompleteResult, GetPromptRequestParams, GetPromptResponse,
    ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult, ListToolsResult, ProtocolVersion, ReadResourceRequestParams,
    ReadResourceResponse, ServerConfig, Tool,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer};
use tokio::sync::broadcast;

use super::auto;
use super::code::Code;
use super::code_executor::CodeExecutor;
use super::direct::Direct;
use super::notices::Notice;
use super::search::Search;
use crate::app::{App, Behalf};
use crate::failure::Failure;

/// A request as it came, for what a surface passes on of it.
pub(crate) type Context = RequestContext<RoleServer>;

/// The client's call of a tool.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CallOf<'a> {
    pub(crate) behalf: &'a Behalf,
    /// The client speaks 2026-07-28 or later.
    pub(crate) is_modern: bool,
}

/// What is listed never depends on who connects, nor on what was asked before.
pub(crate) trait Surface: Send + Sync {
    /// What a client is told first: capabilities and instructions.
    fn config(&self) -> ServerConfig;

    /// A page of the tools; `cursor` is where it begins.
    ///
    /// # Errors
    ///
    /// If nothing begins there.
    fn list_tools<'a>(&'a self, cursor: Option<&'a str>, context: &'a Context) -> BoxFuture<'a, Result<ListToolsResult, ErrorData>>;

    /// The tool of that name.
    fn tool(&self, name: &str) -> Option<Tool>;

    /// Calls a tool. Dropping the future ends what it began.
    fn call<'a>(&'a self, request: CallToolRequestParams, call: CallOf<'a>) -> BoxFuture<'a, Result<CallToolResult, Refusal>>;

    /// A page of the prompts.
    fn list_prompts<'a>(&'a self, _cursor: Option<&'a str>) -> BoxFuture<'a, Result<ListPromptsResult, ErrorData>> {
        ready(Ok(ListPromptsResult::default()))
    }

    /// A prompt.
    fn get_prompt<'a>(
        &'a self,
        request: GetPromptRequestParams,
        _context: &'a Context,
    ) -> BoxFuture<'a, Result<GetPromptResponse, ErrorData>> {
        let message = format!("there is no prompt `{}`", request.name);
        ready(Err(ErrorData::invalid_params(message, None)))
    }

    /// A page of the resources.
    fn list_resources<'a>(&'a self, _cursor: Option<&'a str>) -> BoxFuture<'a, Result<ListResourcesResult, ErrorData>> {
        ready(Ok(ListResourcesResult::default()))
    }

    /// A page of the templates of resources.
    fn list_templates<'a>(&'a self, _cursor: Option<&'a str>) -> BoxFuture<'a, Result<ListResourceTemplatesResult, ErrorData>> {
        ready(Ok(ListResourceTemplatesResult::default()))
    }

    /// What a resource holds.
    fn read_resource<'a>(
        &'a self,
        request: ReadResourceRequestParams,
        _context: &'a Context,
    ) -> BoxFuture<'a, Result<ReadResourceResponse, ErrorData>> {
        ready(Err(no_resource(&request.uri)))
    }

    /// Values that an argument may have.
    fn complete<'a>(&'a self, _request: CompleteRequestParams, _context: &'a Context) -> BoxFuture<'a, Result<CompleteResult, ErrorData>> {
        ready(Ok(CompleteResult::default()))
    }

    /// What clients are told without asking, if anything ever changes.
    fn notices(&self) -> Option<broadcast::Receiver<Notice>> {
        None
    }

    /// Begins to tell when a resource changes. Each call is followed by one of `unsubscribe`.
    fn subscribe<'a>(&'a self, uri: &'a str) -> BoxFuture<'a, Result<(), ErrorData>> {
        ready(Err(no_resource(uri)))
    }

    /// Ends what `subscribe` began.
    fn unsubscribe<'a>(&'a self, _uri: &'a str) -> BoxFuture<'a, ()> {
        ready(())
    }
}

/// Why a call has no answer.
#[derive(Debug)]
pub(crate) enum Refusal {
    /// Becomes a result that the model reads.
    Failure(Failure),
    /// Becomes an error of the protocol.
    Protocol(ErrorData),
}

impl From<Failure> for Refusal {
    fn from(failure: Failure) -> Self {
        Self::Failure(failure)
    }
}

impl From<ErrorData> for Refusal {
    fn from(error: ErrorData) -> Self {
        Self::Protocol(error)
    }
}

/// Whether the client speaks 2026-07-28 or later.
pub(crate) fn is_modern(context: &Context) -> bool {
    context
        .protocol_version()
        .is_some_and(|version| version.as_str() >= ProtocolVersion::V_2026_07_28.as_str())
}

/// The surface of the settings.
///
/// # Errors
///
/// A failure of type `config` if the settings do not fit it.
pub(crate) fn open(app: &Arc<App>) -> Result<Arc<dyn Surface>, Failure> {
    use mce_config::Surface as Chosen;
    match app.settings().serve.surface {
        Chosen::Code => Ok(Arc::new(Code::new(Arc::clone(app)))),
        Chosen::Direct => Ok(Arc::new(Direct::new(Arc::clone(app))?)),
        Chosen::Search => Ok(Arc::new(Search::new(Arc::clone(app)))),
        Chosen::CodeExecutor => Ok(Arc::new(CodeExecutor::new(Arc::clone(app)))),
        Chosen::Auto => auto::choose(app),
    }
}

pub(crate) fn no_resource(uri: &str) -> ErrorData {
    ErrorData::resource_not_found(format!("there is no resource `{uri}`"), None)
}

fn ready<'a, T: Send + 'a>(value: T) -> BoxFuture<'a, T> {
    Box::pin(std::future::ready(value))
}
