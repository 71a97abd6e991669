//! A client that writes and reads JSON-RPC lines itself, so that a transcript holds exactly what was said.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use serde_json::{Value, json};

use crate::project::Project;

/// No answer takes longer, or the test has failed.
const PATIENCE: Duration = Duration::from_mins(1);

/// `mce serve`, or another MCP server, and its client.
pub(crate) struct Client {
    child: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<String>,
    next_id: u64,
    /// What came besides answers.
    pub(crate) notices: Vec<Value>,
    /// Added to the parameters of each request, for versions without `initialize`.
    meta: Option<Value>,
}

impl Client {
    /// Starts the server without saying anything.
    pub(crate) fn start(project: &Project) -> Self {
        Self::of(project.command(&["serve"]))
    }

    /// Starts a server by any command.
    pub(crate) fn of(mut command: Command) -> Self {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let stdout = child.stdout.take().unwrap();
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            BufReader::new(stdout)
                .lines()
                .map_while(Result::ok)
                .try_for_each(|line| sender.send(line))
        });
        let stdin = child.stdin.take();
        Self {
            child,
            stdin,
            lines,
            next_id: 0,
            notices: Vec::new(),
            meta: None,
        }
    }

    /// Starts the server and shakes hands by `initialize`.
    pub(crate) fn initialize(project: &Project, version: &str) -> (Self, Value) {
        let mut client = Self::start(project);
        let result = client.shake_hands(version);
        (client, result)
    }

    /// Shakes hands by `initialize`.
    pub(crate) fn shake_hands(&mut self, version: &str) -> Value {
        self.shake_hands_with(version, &json!({}))
    }

    /// The same for a client that can do more.
    pub(crate) fn shake_hands_with(&mut self, version: &str, capabilities: &Value) -> Value {
        let parameters = json!({"protocolVersion": version, "capabilities": capabilities, "clientInfo": {"name": "test", "version": "1"}});
        let result = self.request("initialize", parameters);
        self.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        result
    }

    /// Starts the server for a version without handshake.
    pub(crate) fn stateless(project: &Project, version: &str) -> Self {
        let mut client = Self::start(project);
        client.meta = Some(json!({
            "io.modelcontextprotocol/protocolVersion": version,
            "io.modelcontextprotocol/clientCapabilities": {},
            "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        }));
        client
    }

    /// Sets what each request says of its client, for a version without handshake.
    pub(crate) fn set_meta(&mut self, key: &str, value: Value) {
        if let Some(meta) = &mut self.meta {
            meta[key] = value;
        }
    }

    pub(crate) fn process_id(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn send(&mut self, message: &Value) {
        self.send_line(&message.to_string());
    }

    pub(crate) fn send_line(&mut self, message: &str) {
        let stdin = self.stdin.as_mut().unwrap();
        writeln!(stdin, "{message}").unwrap();
        stdin.flush().unwrap();
    }

    /// Sends a request without waiting. Gives its id.
    pub(crate) fn ask(&mut self, method: &str, mut parameters: Value) -> u64 {
        self.next_id += 1;
        if let Some(meta) = &self.meta {
            parameters["_meta"] = meta.clone();
        }
        self.send(&json!({"jsonrpc": "2.0", "id": self.next_id, "method": method, "params": parameters}));
        self.next_id
    }

    /// Sends a request and waits for its result, which may be an error object.
    pub(crate) fn request(&mut self, method: &str, parameters: Value) -> Value {
        let id = self.ask(method, parameters);
        self.wait(id)
    }

    pub(crate) fn wait(&mut self, id: u64) -> Value {
        loop {
            let message = self.next(&format!("no answer to request {id}"));
            if message["id"] == id {
                return message.get("result").or_else(|| message.get("error")).cloned().unwrap_or_default();
            }
            self.notices.push(message);
        }
    }

    /// Waits for a notification and takes it; those before it stay.
    pub(crate) fn notice(&mut self, method: &str) -> Value {
        loop {
            if let Some(place) = self.notices.iter().position(|notice| notice["method"] == method) {
                return self.notices.remove(place);
            }
            let message = self.next(&format!("no `{method}`"));
            self.notices.push(message);
        }
    }

    /// The next message, whatever it is. `what` is told if there is none.
    pub(crate) fn next(&self, what: &str) -> Value {
        let line = self.lines.recv_timeout(PATIENCE).unwrap_or_else(|error| panic!("{what}: {error}"));
        let message: Value = serde_json::from_str(&line).unwrap_or_else(|error| panic!("stdout holds what is no JSON: {error}: {line}"));
        assert_eq!(message["jsonrpc"], "2.0", "{line}");
        message
    }

    /// Calls a tool. Gives the JSON of its first text block, and whether it is an error.
    #[expect(clippy::needless_pass_by_value, reason = "so that tests can write `json!` in place")]
    pub(crate) fn call(&mut self, tool: &str, arguments: Value) -> (Value, bool) {
        let result = self.request("tools/call", json!({"name": tool, "arguments": arguments}));
        let text = result["content"][0]["text"].as_str().unwrap_or_else(|| panic!("no text: {result}"));
        (serde_json::from_str(text).unwrap(), result["isError"] == true)
    }

    /// Runs a program.
    pub(crate) fn run(&mut self, code: &str) -> Value {
        self.call("execute_code", json!({"code": code, "description": "test"})).0
    }

    /// Kills the server.
    pub(crate) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Closes stdin and waits for the end. Gives the exit code.
    pub(crate) fn close(mut self) -> Option<i32> {
        drop(self.stdin.take());
        let code = self.child.wait().unwrap().code();
        let rest: Vec<_> = self.lines.iter().collect();
        assert!(rest.iter().all(|line| serde_json::from_str::<Value>(line).is_ok()), "{rest:?}");
        code
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
