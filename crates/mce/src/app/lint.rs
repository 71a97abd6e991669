//! The lint gate: `ruff` reads a program before it runs, where `lint_enabled` asks for that and `ruff` is installed.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::OnceLock;
use std::time::Duration;

use mce_sandbox::{ErrorKind, Finding, ProgramError};
use serde::Deserialize;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::Command;
use tokio::time::timeout;

/// After this the program runs unread.
const PATIENCE: Duration = Duration::from_secs(10);
/// Bytes that `ruff` may say.
const MAX_OUTPUT: u64 = 256 << 10;
/// Findings told at most.
const MAX_FINDINGS: usize = 20;
/// Errors, warnings and unused names, but not what is about looks, and not `await` at the top level, which programs may have.
const RULES: [&str; 4] = ["--select", "E,F,W", "--ignore", "E1,E2,E3,E5,F704,W1,W2,W3,W5"];

/// Reads programs with `ruff`.
#[derive(Debug)]
pub(super) struct Lint {
    /// Directories in which `ruff` may be.
    path: String,
    found: OnceLock<Option<PathBuf>>,
}

#[derive(Deserialize)]
struct Told {
    code: Option<String>,
    message: String,
    location: Location,
}

#[derive(Deserialize)]
struct Location {
    row: u32,
}

impl Lint {
    pub(super) fn new(path: &str) -> Self {
        Self {
            path: path.to_owned(),
            found: OnceLock::new(),
        }
    }

    /// What is wrong with a Python program. `None` also where `ruff` is not there, or does not answer: the gate is a help, and no
    /// boundary.
    pub(super) async fn fault(&self, source: &str) -> Option<ProgramError> {
        let ruff = self.found.get_or_init(|| find(&self.path)).as_deref()?;
        match timeout(PATIENCE, told(ruff, source)).await {
            Ok(Ok(told)) => error_of(told, source),
            Ok(Err(error)) => {
                tracing::warn!("`ruff` did not read a program: {error}");
                None
            }
            Err(_) => {
                tracing::warn!("`ruff` did not answer within {} s", PATIENCE.as_secs());
                None
            }
        }
    }
}

fn find(path: &str) -> Option<PathBuf> {
    let found = std::env::split_paths(path)
        .map(|folder| folder.join("ruff"))
        .find(|file| file.is_file());
    if found.is_none() {
        tracing::warn!("`lint_enabled` is set, but there is no `ruff`: programs run unread");
    }
    found
}

async fn told(ruff: &Path, source: &str) -> std::io::Result<Vec<Told>> {
    let mut command = mce_jail::command(ruff, Path::new("/"));
    command
        .args(["check", "--isolated", "--no-cache", "--quiet", "--output-format", "json"])
        .args(RULES)
        .args(["--stdin-filename", "program.py", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped());
    let mut command = Command::from(command);
    command.kill_on_drop(true);
    let mut child = command.spawn()?;
    let (stdin, stdout) = (child.stdin.take(), child.stdout.take());
    let write = async {
        if let Some(mut stdin) = stdin {
            stdin.write_all(source.as_bytes()).await?;
        }
        std::io::Result::Ok(())
    };
    let read = async {
        let mut text = Vec::new();
        if let Some(stdout) = stdout {
            stdout.take(MAX_OUTPUT).read_to_end(&mut text).await?;
        }
        Ok(text)
    };
    let ((), text) = tokio::try_join!(write, read)?;
    serde_json::from_slice(&text).map_err(std::io::Error::other)
}

fn error_of(mut told: Vec<Told>, source: &str) -> Option<ProgramError> {
    told.sort_by_key(|told| told.location.row);
    let mut findings = told.into_iter().take(MAX_FINDINGS).map(|told| {
        let index = usize::try_from(told.location.row).unwrap_or(usize::MAX).saturating_sub(1);
        let line = source.lines().nth(index).map(|line| line.trim().chars().take(300).collect());
        Finding {
            message: format!("{} ({})", told.message, told.code.as_deref().unwrap_or("syntax")),
            line: Some(told.location.row),
            source: line,
            hint: None,
        }
    });
    let first = findings.next()?;
    Some(ProgramError {
        line: first.line,
        source: first.source,
        hint: Some("`ruff` found this before the program ran, since `MCE_LINT_ENABLED` is set".to_owned()),
        also: findings.collect(),
        ..ProgramError::new(ErrorKind::Syntax, first.message)
    })
}
