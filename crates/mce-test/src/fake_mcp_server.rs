//! An MCP server for tests: a Python program that behaves as badly as it is told.

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};

use serde_json::Value;

/// How the fake MCP server is started: a program and its arguments. What `behaviour` may hold is said at the start of
/// `fake_mcp_server.py`.
pub fn fake_mcp_server(behaviour: &Value) -> (String, Vec<String>) {
    let program: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/fake_mcp_server.py");
    let arguments = vec![program.to_str().unwrap().to_owned(), behaviour.to_string()];
    ("python3".to_owned(), arguments)
}

/// A server that listens on a port of this machine. Dropping it ends it.
#[derive(Debug)]
pub struct HttpServerProcess {
    child: Child,
    /// Where it listens.
    pub port: u16,
}

impl HttpServerProcess {
    /// The fake MCP server over HTTP: `behaviour` has a key `http`.
    pub fn fake_mcp(behaviour: &Value) -> Self {
        let (program, arguments) = fake_mcp_server(behaviour);
        #[expect(clippy::disallowed_methods, reason = "a program of the tests")]
        let mut command = std::process::Command::new(program);
        let mut child = command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let port = line.trim().parse().unwrap();
        Self { child, port }
    }

    /// A server that is started already and listens there.
    pub const fn of(child: Child, port: u16) -> Self {
        Self { child, port }
    }
}

impl Drop for HttpServerProcess {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
