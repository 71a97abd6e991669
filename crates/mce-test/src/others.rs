//! Servers that others wrote, and what they work on.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Where `scripts/install-mcp-servers` has put the servers of others: into `MCE_TEST_MCP_SERVERS`, else below `target`. `None`,
/// and a word about it, if they are not installed.
pub fn installed_servers() -> Option<PathBuf> {
    #[expect(clippy::disallowed_methods, reason = "a variable of the tests")]
    let named = std::env::var_os("MCE_TEST_MCP_SERVERS").map(PathBuf::from);
    let folder = named.unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/test-mcp"));
    if folder.join("installed").exists() {
        return Some(folder.canonicalize().unwrap());
    }
    #[expect(clippy::print_stderr, reason = "it must be seen that tests did not run")]
    {
        eprintln!(
            "NOT RUN: there are no servers of others in `{}`; scripts/install-mcp-servers installs them",
            folder.display()
        );
    }
    None
}

/// Makes a git repository of a folder, with one empty commit, `first`.
pub fn git_repository(folder: &Path) {
    let commit: &[&str] = &[
        "-c",
        "user.name=t",
        "-c",
        "user.email=t@example.com",
        "commit",
        "-qm",
        "first",
        "--allow-empty",
    ];
    for args in [&["init", "-q"][..], commit] {
        #[expect(clippy::disallowed_methods, reason = "a program of the tests")]
        let mut command = Command::new("git");
        let done = command.args(args).current_dir(folder).status().unwrap();
        assert!(done.success(), "git {args:?}: {done}");
    }
}
