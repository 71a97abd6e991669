//! A client of another make (rmcp) with a person and a language model behind it, in both eras, over the real program.

use std::process::Stdio;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rmcp::model::{
    CallToolRequestParams, CallToolResult, ClientCapabilities, ClientConfig, ElicitRequestParams, ElicitResult, Implementation,
    ProgressNotificationParam, ProtocolVersion,
};
#[expect(deprecated, reason = "they are part of what is tested")]
use rmcp::model::{CreateMessageRequestParams, CreateMessageResult, ListRootsResult, LoggingMessageNotificationParam};
use rmcp::service::ClientServiceExt as _;
use rmcp::service::{ClientLifecycleMode, NotificationContext, RequestContext, RunningService};
use rmcp::{ClientHandler, ErrorData, RoleClient};
use serde_json::{Value, json};
use tokio::process::{Child, Command};

use crate::project::Project;

/// What the person can do, what it was asked, and what it was told.
#[derive(Debug, Clone, Default)]
pub(crate) struct Person {
    abilities: Value,
    pause: Duration,
    decision: Option<&'static str>,
    pub(crate) asked: Arc<Mutex<Vec<Value>>>,
    pub(crate) progress: Arc<Mutex<Vec<Told>>>,
    pub(crate) logs: Arc<Mutex<Vec<(String, Value)>>>,
}

/// Progress and its total.
pub(crate) type Told = (f64, Option<f64>);

/// The person, connected.
pub(crate) struct Connected {
    pub(crate) person: Person,
    pub(crate) service: RunningService<RoleClient, Person>,
    _child: Child,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ClientEra {
    Legacy,
    Modern,
}

pub(crate) const ERAS: [ClientEra; 2] = [ClientEra::Legacy, ClientEra::Modern];

impl Person {
    /// One who can do all.
    pub(crate) fn able() -> Self {
        Self::with(json!({"roots": {"listChanged": true}, "sampling": {}, "elicitation": {"form": {}, "url": {}}}))
    }

    /// One who can do nothing.
    pub(crate) fn unable() -> Self {
        Self::with(json!({}))
    }

    fn with(abilities: Value) -> Self {
        Self {
            abilities,
            ..Self::default()
        }
    }

    /// One who thinks before each answer.
    pub(crate) fn thinking(self, pause: Duration) -> Self {
        Self { pause, ..self }
    }

    /// One who answers this where a call waits for a yes.
    pub(crate) fn deciding(self, decision: &'static str) -> Self {
        Self {
            decision: Some(decision),
            ..self
        }
    }

    /// Starts `mce serve` and connects to it.
    pub(crate) async fn connect(self, project: &Project, era: ClientEra) -> Connected {
        let mut command = Command::from(project.command(&["serve"]));
        let stderr = Stdio::from(fs_err::File::create(project.file("stderr")).unwrap().into_file());
        let command = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(stderr)
            .kill_on_drop(true);
        let mut child = command.spawn().unwrap();
        let pipes = (child.stdout.take().unwrap(), child.stdin.take().unwrap());
        let lifecycle = match era {
            ClientEra::Legacy => ClientLifecycleMode::Initialize,
            ClientEra::Modern => ClientLifecycleMode::Discover {
                preferred_versions: vec![ProtocolVersion::V_2026_07_28],
            },
        };
        let service = self.clone().serve_with_lifecycle(pipes, lifecycle).await.unwrap();
        Connected {
            person: self,
            service,
            _child: child,
        }
    }

    async fn keep(&self, asked: Value) {
        self.asked.lock().unwrap().push(asked);
        tokio::time::sleep(self.pause).await;
    }
}

impl Connected {
    pub(crate) async fn call(&self, tool: &'static str, arguments: Value) -> CallToolResult {
        let arguments = arguments.as_object().cloned().unwrap();
        let params = CallToolRequestParams::new(tool).with_arguments(arguments);
        self.service.call_tool(params).await.unwrap()
    }

    /// Runs a program and gives its answer.
    pub(crate) async fn run(&self, language: &str, code: &str) -> Value {
        let arguments = json!({"code": code, "description": "test", "language": language});
        let result = self.call("execute_code", arguments).await;
        let result = serde_json::to_value(result).unwrap();
        serde_json::from_str(result["content"][0]["text"].as_str().unwrap()).unwrap()
    }

    pub(crate) fn asked(&self) -> Vec<Value> {
        std::mem::take(&mut *self.person.asked.lock().unwrap())
    }
}

#[expect(deprecated, reason = "they are part of what is tested")]
impl ClientHandler for Person {
    async fn create_message(
        &self,
        params: CreateMessageRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<CreateMessageResult, ErrorData> {
        let params = serde_json::to_value(params).unwrap();
        let said = params["messages"][0]["content"]["text"].clone();
        self.keep(params).await;
        let said = format!("you said: {}", said.as_str().unwrap());
        let answer = json!({"role": "assistant", "content": {"type": "text", "text": said}, "model": "m", "stopReason": "endTurn"});
        Ok(serde_json::from_value(answer).unwrap())
    }

    async fn list_roots(&self, _: RequestContext<RoleClient>) -> Result<ListRootsResult, ErrorData> {
        self.keep(json!("roots")).await;
        Ok(serde_json::from_value(json!({"roots": [{"uri": "file:///work", "name": "work"}]})).unwrap())
    }

    async fn create_elicitation(&self, params: ElicitRequestParams, _: RequestContext<RoleClient>) -> Result<ElicitResult, ErrorData> {
        let params = serde_json::to_value(params).unwrap();
        let is_url = params["mode"] == "url";
        let is_approval = params.pointer("/requestedSchema/properties/decision").is_some();
        self.keep(params).await;
        let answer = if let (Some(decision), true) = (self.decision, is_approval) {
            json!({"action": "accept", "content": {"decision": decision}})
        } else if is_url {
            json!({"action": "accept"})
        } else {
            json!({"action": "accept", "content": {"name": "Ann"}})
        };
        Ok(serde_json::from_value(answer).unwrap())
    }

    async fn on_progress(&self, params: ProgressNotificationParam, _: NotificationContext<RoleClient>) {
        self.progress.lock().unwrap().push((params.progress, params.total));
    }

    async fn on_logging_message(&self, params: LoggingMessageNotificationParam, _: NotificationContext<RoleClient>) {
        self.logs.lock().unwrap().push((params.logger.unwrap_or_default(), params.data));
    }

    fn get_info(&self) -> ClientConfig {
        let abilities: ClientCapabilities = serde_json::from_value(self.abilities.clone()).unwrap();
        ClientConfig::new(abilities, Implementation::new("person", "1")).with_protocol_version(ProtocolVersion::V_2025_11_25)
    }
}

/// Looks every few milliseconds until it is so, for at most as long as a slow machine needs.
pub(crate) async fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    for _ in 0..4000 {
        if is_so() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    panic!("never: {what}");
}
