//! `mce serve --transport http`, spoken to by requests written here.

use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Stdio};

use mce_test::fake_mcp_server;
use serde_json::{Value, json};

use crate::project::Project;

/// The server, in a folder of its own. Dropping it kills it.
pub(crate) struct Server {
    _project: Project,
    child: Child,
    pub(crate) port: u16,
}

struct Answer {
    status: u16,
    head: String,
    body: String,
}

impl Server {
    pub(crate) fn start(project: Project) -> Self {
        let arguments = ["serve", "--transport", "http", "--port", "0"];
        let mut child = project.command(&arguments).stderr(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map_while(Result::ok);
        let line = lines.find(|line| line.contains("serving MCP at")).expect("it does not start");
        let port = line.split("127.0.0.1:").nth(1).unwrap().split('/').next().unwrap().parse().unwrap();
        // The rest is read, so that it never waits for a reader.
        std::thread::spawn(move || lines.for_each(drop));
        Self {
            _project: project,
            child,
            port,
        }
    }

    fn send(&self, method: &str, fields: &[(&str, &str)], body: &str) -> Answer {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        let mut head = format!("{method} /mcp HTTP/1.0\r\nContent-Length: {}\r\n", body.len());
        if !fields.iter().any(|(name, _)| *name == "Host") {
            write!(head, "Host: 127.0.0.1:{}\r\n", self.port).unwrap();
        }
        for (name, value) in fields {
            write!(head, "{name}: {value}\r\n").unwrap();
        }
        // It may answer before it has read all.
        let _ = stream.write_all(format!("{head}\r\n{body}").as_bytes());
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        let answer = String::from_utf8(answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap_or_else(|| panic!("no answer: {answer}"));
        Answer {
            status: head.split(' ').nth(1).unwrap().parse().unwrap(),
            head: head.to_lowercase(),
            body: body.to_owned(),
        }
    }

    /// The status of an answer to who has this `Authorization`.
    pub(crate) fn status_with(&self, authorization: &str) -> u16 {
        self.ask("tools/list", json!({}), &[("Authorization", authorization)]).status
    }

    fn post(&self, fields: &[(&str, &str)], message: &Value) -> Answer {
        let always = [
            ("Content-Type", "application/json"),
            ("Accept", "application/json, text/event-stream"),
        ];
        self.send("POST", &[&always, fields].concat(), &message.to_string())
    }

    /// A request of 2026-07-28.
    fn ask(&self, method: &str, mut parameters: Value, more: &[(&str, &str)]) -> Answer {
        parameters["_meta"] = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
            "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        });
        let name = parameters["name"].as_str().unwrap_or_default().to_owned();
        let mut fields = vec![("MCP-Protocol-Version", "2026-07-28"), ("Mcp-Method", method)];
        if !name.is_empty() {
            fields.push(("Mcp-Name", &name));
        }
        fields.extend(more);
        self.post(&fields, &json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": parameters}))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Answer {
    /// The last message of the answer.
    fn result(&self) -> Value {
        let mut events = self.body.lines().filter_map(|line| line.strip_prefix("data:"));
        let text = events.rfind(|data| !data.trim().is_empty()).unwrap_or(&self.body);
        let message: Value = serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {} {}", self.status, self.body));
        message.get("result").or_else(|| message.get("error")).cloned().unwrap_or_default()
    }
}

fn direct() -> Project {
    let (command, args) = fake_mcp_server(&json!({}));
    let project = Project::empty().with("MCE_SURFACE", "direct").with("MCE_DIRECT_NAMES", "plain");
    project.write(
        "mce.yaml",
        &format!("servers:\n  fake:\n    command: {command}\n    args: {}\n", json!(args)),
    );
    project
}

#[test]
fn clients_without_sessions_are_served() {
    let server = Server::start(Project::empty());
    let listed = server.ask("tools/list", json!({}), &[]).result();
    assert_eq!(listed["tools"].as_array().unwrap().len(), 5, "{listed}");
    assert_eq!(listed["resultType"], "complete");
    let call = json!({"name": "execute_code", "arguments": {"code": "result = 40 + 2", "description": "test"}});
    let result = server.ask("tools/call", call, &[]).result();
    assert!(result["content"][0]["text"].as_str().unwrap().contains("\"data\":42"), "{result}");
}

#[test]
fn clients_with_sessions_are_served() {
    let server = Server::start(Project::empty());
    let hello = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}});
    let hello = server.post(&[], &json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}));
    assert_eq!(hello.result()["serverInfo"]["name"], "mce", "{}", hello.body);
    let session = hello
        .head
        .lines()
        .find_map(|line| line.strip_prefix("mcp-session-id: "))
        .unwrap()
        .to_owned();
    let fields = [("Mcp-Session-Id", session.as_str()), ("MCP-Protocol-Version", "2025-11-25")];
    let ready = server.post(&fields, &json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
    assert_eq!(ready.status, 202);
    let call =
        json!({"name": "execute_code", "arguments": {"code": "export default 40 + 2", "description": "t", "language": "typescript"}});
    let answer = server.post(&fields, &json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": call}));
    assert!(
        answer.result()["content"][0]["text"].as_str().unwrap().contains("\"data\":42"),
        "{}",
        answer.body
    );
    assert_eq!(server.send("DELETE", &fields, "").status / 100, 2);
    assert_eq!(
        server
            .post(&fields, &json!({"jsonrpc": "2.0", "id": 3, "method": "tools/list"}))
            .status,
        404
    );
}

#[test]
fn results_leave_as_they_were_written() {
    let server = Server::start(direct());
    let result = server
        .ask("tools/call", json!({"name": "structured", "arguments": {}}), &[])
        .result();
    assert_eq!(result["content"][0]["future"], json!([1]), "{result}");
    assert!(!result.to_string().contains("as-written"), "{result}");
}

#[test]
fn pages_of_other_places_are_kept_out() {
    let server = Server::start(Project::empty());
    for (field, value, status) in [
        ("Origin", "https://evil.example.com", 403),
        ("Origin", "null", 403),
        ("Origin", "http://localhost:6274", 200),
        ("Host", "evil.example.com", 403),
        ("Host", "localhost", 200),
    ] {
        assert_eq!(
            server.ask("tools/list", json!({}), &[(field, value)]).status,
            status,
            "{field}: {value}"
        );
    }
}

#[test]
fn with_a_token_only_who_has_it_is_served() {
    let project = Project::empty().with("MCE_HTTP_TOKEN", "token-of-the-test-1");
    let server = Server::start(project);
    let refused = server.ask("tools/list", json!({}), &[]);
    assert_eq!(refused.status, 401);
    assert!(refused.head.contains("www-authenticate: bearer"), "{}", refused.head);
    for (value, status) in [
        ("Bearer token-of-the-test-2", 401),
        ("Basic token-of-the-test-1", 401),
        ("bearer token-of-the-test-1", 200),
    ] {
        assert_eq!(
            server.ask("tools/list", json!({}), &[("Authorization", value)]).status,
            status,
            "{value}"
        );
    }
}

#[test]
fn others_than_this_machine_are_not_served_without_a_token() {
    let ended = Project::empty().run(&["serve", "--transport", "http", "--host", "0.0.0.0", "--port", "0"]);
    assert_eq!(ended.code, 1);
    assert!(ended.err.contains("MCE_HTTP_TOKEN"), "{ended:?}");
}

#[test]
fn what_is_too_large_is_refused() {
    let server = Server::start(Project::empty());
    let call = json!({"name": "execute_code", "arguments": {"code": "x".repeat(17 << 20), "description": "test"}});
    assert_eq!(server.ask("tools/call", call, &[]).status, 413);
    assert_eq!(server.ask("tools/list", json!({}), &[]).status, 200);
}

#[test]
fn it_ends_when_asked_also_while_somebody_listens() {
    let mut server = Server::start(direct());
    let port = server.port;
    let listening = std::thread::spawn(move || {
        let body =
            json!({"jsonrpc": "2.0", "id": 1, "method": "subscriptions/listen", "params": {"notifications": {"toolsListChanged": true},
            "_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}}}})
            .to_string();
        let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
        let head = format!(
            "POST /mcp HTTP/1.0\r\nHost: localhost\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\n\
             MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: subscriptions/listen\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        );
        stream.write_all(head.as_bytes()).unwrap();
        let mut text = String::new();
        let mut reader = BufReader::new(stream);
        while !text.contains("acknowledged") {
            assert!(reader.read_line(&mut text).unwrap() > 0, "{text}");
        }
        reader
    });
    let mut reader = listening.join().unwrap();
    let process = rustix::process::Pid::from_child(&server.child);
    rustix::process::kill_process(process, rustix::process::Signal::TERM).unwrap();
    let _ = reader.read_to_string(&mut String::new());
    assert_eq!(server.child.wait().unwrap().code(), Some(0));
}
