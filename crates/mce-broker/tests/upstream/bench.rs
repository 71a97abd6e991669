//! Settings with MCP servers, made of what they should do.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use mce_broker::{Change, Changed, ToolAnswer, ToolCall, UpstreamError, UpstreamState, Upstreams};
use mce_config::{LoadOptions, Origin, ServerSettings, Settings, StdioServer, load};
use mce_test::fake_mcp_server;
use serde_json::{Map, Value, json};
use tempfile::TempDir;

/// Long enough for every test that does not wait for it.
pub(crate) const LONG: Duration = Duration::from_mins(1);

/// Settings with one server, `s`.
pub(crate) fn settings(origin: Origin, change: impl FnOnce(&mut ServerSettings)) -> (Settings, TempDir) {
    let folder = TempDir::new().unwrap();
    std::fs::write(folder.path().join("mce.yaml"), "servers: {s: {command: unused}}").unwrap();
    let options = LoadOptions {
        config_file: None,
        env_file: None,
        working_dir: folder.path().to_owned(),
        environment: BTreeMap::new(),
        arguments: BTreeMap::new(),
    };
    let (mut settings, _) = load(&options).unwrap();
    let server = settings.servers.first_mut().unwrap();
    server.origin = origin;
    server.upstream.start_timeout = LONG;
    server.upstream.call_timeout = LONG;
    change(server);
    (settings, folder)
}

/// The fake server.
pub(crate) fn fake(behaviour: &Value) -> StdioServer {
    let (command, args) = fake_mcp_server(behaviour);
    program(&command, args)
}

pub(crate) fn program(command: &str, args: impl IntoIterator<Item = String>) -> StdioServer {
    StdioServer {
        command: command.to_owned(),
        args: args.into_iter().collect(),
        env: BTreeMap::new(),
        cwd: None,
    }
}

/// One server, `s`, and the connection to it.
pub(crate) struct Bench {
    pub(crate) upstreams: Upstreams,
    _folder: TempDir,
}

impl Bench {
    /// With the fake server.
    pub(crate) fn new(behaviour: &Value) -> Self {
        Self::with(behaviour, |_| {})
    }

    pub(crate) fn with(behaviour: &Value, change: impl FnOnce(&mut ServerSettings)) -> Self {
        Self::of(Origin::McpStdio(fake(behaviour)), change)
    }

    pub(crate) fn of(origin: Origin, change: impl FnOnce(&mut ServerSettings)) -> Self {
        let (settings, folder) = settings(origin, change);
        Self {
            upstreams: Upstreams::new(&settings),
            _folder: folder,
        }
    }

    pub(crate) async fn call(&self, tool: &str, arguments: Value) -> Result<ToolAnswer, UpstreamError> {
        self.upstreams.call_tool(call(tool, arguments)).await
    }

    /// The text of the first block of an answer.
    pub(crate) async fn text(&self, tool: &str, arguments: Value) -> String {
        text(&self.call(tool, arguments).await.unwrap())
    }

    /// The text of an answer, read as JSON.
    pub(crate) async fn json(&self, tool: &str, arguments: Value) -> Value {
        serde_json::from_str(&self.text(tool, arguments).await).unwrap()
    }

    pub(crate) async fn tool_names(&self) -> Vec<String> {
        let list = self.upstreams.list_tools("s").await.unwrap();
        list.tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
    }

    pub(crate) fn state(&self) -> UpstreamState {
        self.upstreams.states().into_iter().next().unwrap()
    }

    /// Waits for one message with this method.
    pub(crate) async fn until_received(&self, method: &str) {
        while self.received(method).await == 0 {
            tokio::task::yield_now().await;
        }
        assert_eq!(self.received(method).await, 1);
    }

    /// How often a message with this method arrived.
    pub(crate) async fn received(&self, method: &str) -> usize {
        let seen = self.json("seen", json!({})).await;
        seen.as_array()
            .unwrap()
            .iter()
            .filter(|message| message["method"] == method)
            .count()
    }
}

pub(crate) fn call(tool: &str, arguments: Value) -> ToolCall<'_> {
    let arguments: Map<String, Value> = serde_json::from_value(arguments).unwrap();
    ToolCall {
        server: "s",
        tool,
        arguments,
        client: None,
    }
}

pub(crate) fn text(answer: &ToolAnswer) -> String {
    answer.content.first().unwrap()["text"].as_str().unwrap().to_owned()
}

/// Whether a process is there and not merely waited for.
pub(crate) fn is_alive(process: i64) -> bool {
    let status = std::fs::read_to_string(Path::new("/proc").join(process.to_string()).join("stat"));
    status.is_ok_and(|status| !status.contains(") Z "))
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

/// The change of tools of the only server.
pub(crate) fn tools_changed() -> Change {
    Change {
        server: "s".to_owned(),
        what: Changed::Tools,
    }
}
