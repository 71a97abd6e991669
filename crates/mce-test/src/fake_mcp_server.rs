//! An MCP server for tests: a Python program that behaves as badly as it is told.

use std::path::{Path, PathBuf};

use serde_json::Value;

/// How the fake MCP server is started: a program and its arguments. What `behaviour` may hold is said at the start of
/// `fake_mcp_server.py`.
pub fn fake_mcp_server(behaviour: &Value) -> (String, Vec<String>) {
    let program: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/fake_mcp_server.py");
    let arguments = vec![program.to_str().unwrap().to_owned(), behaviour.to_string()];
    ("python3".to_owned(), arguments)
}
