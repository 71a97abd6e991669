//! The surface `search`: one tool finds functions, another calls one. For clients that may not run code.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use rmcp::ErrorData;
use rmcp::model::{
    CallToolRequestParams, CallToolResult, ContentBlock, Implementation, ListToolsResult, ServerCapabilities, ServerConfig, Tool,
};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::called::tool_result;
use super::long_integers::to_exact;
use super::surface::{CallOf, Context, Refusal, Surface};
use super::tools::{self, SearchArguments, object};
use crate::app::App;
use crate::failure::Failure;

const SEARCH: &str = "search_functions";
const CALL: &str = "call_function";

const INSTRUCTIONS: &str = "\
These tools give you the functions of many APIs. Find them with `search_functions` and the task's words, then call one by its name \
`server.function` with `call_function`.";

/// The surface.
pub(crate) struct Search {
    app: Arc<App>,
    tools: Vec<Tool>,
}

/// Arguments of `call_function`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct CallArguments {
    function: String,
    #[serde(default)]
    arguments: Option<serde_json::Map<String, Value>>,
}

impl Search {
    pub(crate) fn new(app: Arc<App>) -> Self {
        let mut tools: Vec<Tool> = tools::definitions().into_iter().filter(|tool| tool.name == SEARCH).collect();
        let schema = json!({"type": "object", "required": ["function"], "properties": {
            "function": {"type": "string", "description": "`server.function`"},
            "arguments": {"type": "object"}}});
        let about = "Call a function that `search_functions` found. Its arguments are those of the signature; a request body is `body`.";
        tools.push(Tool::new(CALL, about, Arc::new(object(schema))));
        Self { app, tools }
    }

    async fn answer(&self, request: CallToolRequestParams, call: CallOf<'_>) -> Result<CallToolResult, Refusal> {
        self.app.ready().await;
        let arguments = Value::Object(request.arguments.unwrap_or_default());
        let wrong = |error: serde_json::Error| Failure::argument(format!("`{}`: {error}", request.name));
        match request.name.as_ref() {
            SEARCH => {
                let given: SearchArguments = serde_json::from_value(arguments).map_err(wrong)?;
                let discovery = self.app.discovery();
                let found = discovery.search(&given.query, given.server.as_deref(), given.limit, given.language.into())?;
                Ok(CallToolResult::success(vec![ContentBlock::text(found.to_string())]))
            }
            CALL => {
                let given: CallArguments = serde_json::from_value(arguments).map_err(wrong)?;
                let arguments: Box<RawValue> = to_exact(&given.arguments.unwrap_or_default()).map_err(Failure::internal)?;
                let called = self.app.call_whole(&given.function, &arguments, call.behalf).await?;
                Ok(tool_result(called, call.is_modern, |_| {})?)
            }
            other => Err(ErrorData::invalid_params(format!("there is no tool `{other}`"), None).into()),
        }
    }
}

impl Surface for Search {
    fn config(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(Implementation::new("mce", env!("CARGO_PKG_VERSION")))
            .with_instructions(INSTRUCTIONS)
    }

    fn list_tools<'a>(&'a self, _cursor: Option<&'a str>, _context: &'a Context) -> BoxFuture<'a, Result<ListToolsResult, ErrorData>> {
        Box::pin(async { Ok(ListToolsResult::with_all_items(self.tools.clone())) })
    }

    fn tool(&self, name: &str) -> Option<Tool> {
        self.tools.iter().find(|tool| tool.name == name).cloned()
    }

    fn call<'a>(&'a self, request: CallToolRequestParams, call: CallOf<'a>) -> BoxFuture<'a, Result<CallToolResult, Refusal>> {
        Box::pin(self.answer(request, call))
    }
}
