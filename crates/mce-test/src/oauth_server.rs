//! An authorization server that others wrote, with an MCP server behind it: `tests/oauth/server.mjs`.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use serde_json::Value;

use crate::others::installed_servers;

/// Both servers. They end when this is dropped.
#[derive(Debug)]
pub struct OAuthServer {
    child: Child,
    /// The authorization server.
    pub issuer: String,
    /// The MCP server.
    pub url: String,
}

impl OAuthServer {
    /// Starts them; what `behaviour` may hold is said at the start of `server.mjs`. `None` if what they need is not installed.
    pub fn start(behaviour: &Value) -> Option<Self> {
        let mut behaviour = behaviour.clone();
        behaviour["modules"] = Value::from(installed_servers()?.join("node_modules").to_str().unwrap());
        let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/oauth/server.mjs");
        #[expect(clippy::disallowed_methods, reason = "a program of the tests")]
        let mut command = Command::new("node");
        let command = command.arg(program).arg(behaviour.to_string());
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let places: Value = serde_json::from_str(&line).unwrap();
        let place = |name: &str| places[name].as_str().unwrap().to_owned();
        Some(Self {
            child,
            issuer: place("issuer"),
            url: place("url"),
        })
    }

    /// The command that plays the browser; a URL follows.
    pub fn browser() -> String {
        let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/oauth/browser.py");
        format!("python3 {}", program.to_str().unwrap())
    }

    /// Has it do something, such as `{"revoke": true}`.
    pub fn control(&self, wanted: &Value) {
        self.exchange("POST", &wanted.to_string());
    }

    /// What happened so far.
    pub fn told(&self) -> Value {
        serde_json::from_str(&self.exchange("GET", "")).unwrap()
    }

    fn exchange(&self, method: &str, body: &str) -> String {
        let host = self.issuer.strip_prefix("http://").unwrap();
        let mut stream = TcpStream::connect(host).unwrap();
        write!(
            stream,
            "{method} /control HTTP/1.0\r\nHost: {host}\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        )
        .unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer.split_once("\r\n\r\n").unwrap().1.to_owned()
    }
}

impl Drop for OAuthServer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
