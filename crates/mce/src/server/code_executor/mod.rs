//! The surface `code-executor`: the tools of Code Executor MCP, for those who come from it. Their arguments can take away from what
//! the settings allow, and never add to it.

mod answer;
mod arguments;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant, SystemTime};

use futures_util::future::BoxFuture;
use mce_broker::UpstreamStatus;
use mce_sandbox::{Inputs, Language};
use rmcp::ErrorData;
use rmcp::model::{
    CallToolRequestParams, CallToolResult, ContentBlock, Implementation, ListToolsResult, ServerCapabilities, ServerConfig, Tool,
    ToolAnnotations,
};
use serde_json::{Value, json};

use self::arguments::RunArguments;
use super::surface::{CallOf, Context, Refusal, Surface};
use super::tools::object;
use crate::app::{App, Behalf};

const HEALTH: &str = "health";

/// The tools that run programs: their names, the language, and whether it is another name of one before it.
const RUNNERS: [(&str, Language, bool); 4] = [
    ("run-typescript-code", Language::TypeScript, false),
    ("run-python-code", Language::Python, false),
    ("executeTypescript", Language::TypeScript, true),
    ("executePython", Language::Python, true),
];

/// The surface.
pub(crate) struct CodeExecutor {
    app: Arc<App>,
    tools: Vec<Tool>,
    started: Instant,
    runs: AtomicUsize,
}

/// A run under way; dropping it ends that.
struct Counted<'a>(&'a AtomicUsize);

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl CodeExecutor {
    pub(crate) fn new(app: Arc<App>) -> Self {
        let mut tools: Vec<Tool> = RUNNERS.into_iter().map(runner).collect();
        tools.push(health_tool());
        Self {
            app,
            tools,
            started: Instant::now(),
            runs: AtomicUsize::new(0),
        }
    }

    async fn answer(&self, request: CallToolRequestParams, call: CallOf<'_>) -> Result<CallToolResult, Refusal> {
        if request.name == HEALTH {
            return Ok(CallToolResult::structured(self.health()));
        }
        let Some((_, language, _)) = RUNNERS.into_iter().find(|(name, ..)| *name == request.name) else {
            return Err(ErrorData::invalid_params(format!("there is no tool `{}`", request.name), None).into());
        };
        let answer = match RunArguments::read(request.arguments.unwrap_or_default()) {
            Ok(arguments) => self.run(language, arguments, call.behalf).await,
            Err(problem) => answer::of_wrong_arguments(&problem),
        };
        let is_success = answer.get("success") == Some(&Value::Bool(true));
        let mut result = CallToolResult::success(vec![ContentBlock::text(answer.to_string())]);
        result.structured_content = Some(answer);
        result.is_error = Some(!is_success);
        Ok(result)
    }

    async fn run(&self, language: Language, arguments: RunArguments, behalf: &Behalf) -> Value {
        self.app.ready().await;
        self.runs.fetch_add(1, Ordering::Relaxed);
        let _counted = Counted(&self.runs);
        let behalf = Behalf {
            model: arguments.model(),
            narrowed: arguments.narrowed(),
            ..behalf.clone()
        };
        let may_ask = behalf.model.is_some();
        let report = self.app.run_program(language, arguments.code, Inputs::new(), &behalf).await;
        let mut answer = answer::of_run(&report.answer, self.app.discovery());
        if may_ask {
            answer["samplingMetrics"] = answer::of_model(&report.model, &report.answer);
        }
        answer
    }

    fn health(&self) -> Value {
        let states = self.app.upstreams().states();
        let connected = states
            .iter()
            .filter(|state| matches!(state.status, UpstreamStatus::Connected { .. }))
            .count();
        let (runs, most) = (self.runs.load(Ordering::Relaxed), self.app.settings().sandbox.concurrent_runs);
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or(Duration::ZERO);
        json!({
            "healthy": true,
            "auditLog": {"enabled": true},
            "mcpClients": {"connected": connected},
            "connectionPool": {"active": runs.min(most), "waiting": runs.saturating_sub(most), "max": most},
            "uptime": self.started.elapsed().as_secs(),
            "timestamp": now.as_secs(),
        })
    }
}

impl Surface for CodeExecutor {
    fn config(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(Implementation::new("mce", env!("CARGO_PKG_VERSION")))
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

fn runner((name, language, is_other_name): (&'static str, Language, bool)) -> Tool {
    let about = match (language, is_other_name) {
        (Language::TypeScript, false) => "Run TypeScript that calls the tools of all MCP servers. What it prints comes back.",
        (Language::Python, false) => "Run Python that calls the tools of all MCP servers. What it prints comes back.",
        (Language::TypeScript, true) => "The same as run-typescript-code.",
        (Language::Python, true) => "The same as run-python-code.",
    };
    Tool::new(name, about, Arc::new(object(arguments::input_schema(language))))
        .with_raw_output_schema(Arc::new(object(answer::output_schema())))
        .with_annotations(
            ToolAnnotations::new()
                .read_only(false)
                .destructive(false)
                .idempotent(false)
                .open_world(true),
        )
}

fn health_tool() -> Tool {
    let count = json!({"type": "integer"});
    let schema = json!({"type": "object", "properties": {
        "healthy": {"type": "boolean"},
        "auditLog": {"type": "object", "properties": {"enabled": {"type": "boolean"}}},
        "mcpClients": {"type": "object", "properties": {"connected": count}},
        "connectionPool": {"type": "object", "properties": {"active": count, "waiting": count, "max": count}},
        "uptime": {"type": "number"},
        "timestamp": {"type": "number"}},
        "required": ["healthy", "auditLog", "mcpClients", "connectionPool", "uptime", "timestamp"]});
    Tool::new(
        HEALTH,
        "How this server is.",
        Arc::new(object(json!({"type": "object", "properties": {}}))),
    )
    .with_raw_output_schema(Arc::new(object(schema)))
    .with_annotations(
        ToolAnnotations::new()
            .read_only(true)
            .destructive(false)
            .idempotent(true)
            .open_world(false),
    )
}
