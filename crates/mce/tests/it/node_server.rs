//! One MCP server of `scripts/install-mcp-servers`, started by us or by the test.

use std::path::Path;
use std::process::Command;

use serde_json::json;

/// The arguments of `node` for one of them.
fn node_arguments(folder: &Path, server: &str, more: &[&str]) -> Vec<String> {
    let program = folder.join("node_modules/@modelcontextprotocol").join(server).join("dist/index.js");
    let more = more.iter().map(|&argument| argument.to_owned());
    std::iter::once(program.to_str().unwrap().to_owned()).chain(more).collect()
}

/// Its entry in `mce.yaml`, below `servers`.
pub(crate) fn node_entry(folder: &Path, name: &str, server: &str, more: &[&str]) -> String {
    let arguments = node_arguments(folder, server, more);
    format!("  {name}:\n    command: node\n    args: {}\n", json!(arguments))
}

/// How it is started without us.
#[expect(clippy::disallowed_methods, reason = "tests start the program as a client does")]
pub(crate) fn node_command(folder: &Path, server: &str, more: &[&str]) -> Command {
    let mut command = Command::new("node");
    command.args(node_arguments(folder, server, more));
    command
}
