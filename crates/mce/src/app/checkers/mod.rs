//! Checkers that others wrote read a program before it runs, where settings ask for them and they are installed: `ruff` by
//! `lint_enabled`, a type checker by `type_check: full`. They are a help and no boundary: where one is missing or says
//! nothing in time, the program runs unread.

mod ruff;
mod stubs;
mod told;
mod types;

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::OnceLock;
use std::time::Duration;

use mce_catalog::catalog::Catalog;
use mce_config::{Settings, TypeCheck};
use mce_sandbox::{ErrorKind, Finding, Language, ProgramError};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::Command;
use tokio::time::timeout;

use self::ruff::Ruff;
use self::types::TypeChecker;
use crate::setup::Setup;

/// After this the program runs unread.
const PATIENCE: Duration = Duration::from_secs(20);
/// Bytes that a checker may say.
const MAX_OUTPUT: u64 = 1 << 20;
/// Findings told at most.
const MAX_FINDINGS: usize = 20;
/// Characters of a line of the program that a finding shows.
const SOURCE_CHARS: usize = 300;

/// The checkers that settings ask for.
#[derive(Debug)]
pub(super) struct Checkers {
    ruff: Option<Ruff>,
    python: Option<TypeChecker>,
    typescript: Option<TypeChecker>,
}

impl Checkers {
    pub(super) fn new(setup: &Setup, settings: &Settings) -> Self {
        let path = setup.environment.get("PATH").map_or("", String::as_str);
        let types = |language| (settings.type_check == TypeCheck::Full).then(|| TypeChecker::new(language, path));
        Self {
            ruff: settings.is_lint_enabled.then(|| Ruff::new(path)),
            python: types(Language::Python),
            typescript: types(Language::TypeScript),
        }
    }

    /// What is wrong with a program, if a checker is sure of it.
    pub(super) async fn fault(&self, language: Language, source: &str, catalog: &Catalog) -> Option<ProgramError> {
        if let (Some(ruff), Language::Python) = (&self.ruff, language)
            && let Some(fault) = ruff.fault(source).await
        {
            return Some(fault);
        }
        let types = match language {
            Language::Python => &self.python,
            Language::TypeScript => &self.typescript,
        };
        match types {
            Some(types) => types.fault(source, catalog).await,
            None => None,
        }
    }
}

/// Where a program of a checker is, sought once.
#[derive(Debug)]
struct Installed {
    /// Directories in which programs may be.
    path: String,
    /// Best first.
    names: &'static [&'static str],
    /// The setting that asks for it.
    setting: &'static str,
    found: OnceLock<Option<(&'static str, PathBuf)>>,
}

impl Installed {
    fn new(path: &str, names: &'static [&'static str], setting: &'static str) -> Self {
        Self {
            path: path.to_owned(),
            names,
            setting,
            found: OnceLock::new(),
        }
    }

    fn find(&self) -> Option<(&'static str, &Path)> {
        let found = self.found.get_or_init(|| {
            let found = self.names.iter().find_map(|name| {
                let mut files = std::env::split_paths(&self.path)
                    .filter(|folder| folder.is_absolute())
                    .map(|folder| folder.join(name));
                files.find(|file| file.is_file()).map(|file| (*name, file))
            });
            if found.is_none() {
                let names = self.names.join("` and no `");
                tracing::warn!("`{}` is set, but there is no `{names}`: programs run unread", self.setting);
            }
            found
        });
        found.as_ref().map(|(name, file)| (*name, file.as_path()))
    }

    /// What the program says to these arguments and this text, started in a directory. `None`, with a warning, if it says
    /// nothing in time.
    async fn ask(&self, program: &Path, arguments: &[&str], directory: &Path, input: &str) -> Option<Vec<u8>> {
        let name = program.file_name().unwrap_or_default().to_string_lossy();
        match timeout(PATIENCE, said(program, &self.path, arguments, directory, input)).await {
            Ok(Ok(said)) => Some(said),
            Ok(Err(error)) => {
                tracing::warn!("`{name}` did not read a program: {error}");
                None
            }
            Err(_) => {
                tracing::warn!("`{name}` did not answer within {} s", PATIENCE.as_secs());
                None
            }
        }
    }
}

async fn said(program: &Path, path: &str, arguments: &[&str], directory: &Path, input: &str) -> std::io::Result<Vec<u8>> {
    let mut command = mce_jail::command(program, directory);
    command
        .args(arguments)
        // Some are scripts that look for Node.js.
        .env("PATH", path)
        .env("HOME", directory)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped());
    let mut command = Command::from(command);
    command.kill_on_drop(true);
    let mut child = command.spawn()?;
    let (stdin, stdout) = (child.stdin.take(), child.stdout.take());
    let write = async {
        if let Some(mut stdin) = stdin {
            stdin.write_all(input.as_bytes()).await?;
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
    Ok(text)
}

/// One thing that a checker found.
#[derive(Debug, PartialEq, Eq)]
struct Found {
    /// From 1.
    line: u32,
    message: String,
}

/// All findings as one error, the first line's first.
fn error_of(kind: ErrorKind, mut found: Vec<Found>, source: &str, hint: String) -> Option<ProgramError> {
    found.sort_by_key(|found| found.line);
    let mut findings = found.into_iter().take(MAX_FINDINGS).map(|found| {
        let index = usize::try_from(found.line).unwrap_or(usize::MAX).saturating_sub(1);
        let line = source.lines().nth(index);
        Finding {
            message: found.message,
            line: Some(found.line),
            source: line.map(|line| line.trim().chars().take(SOURCE_CHARS).collect()),
            hint: None,
        }
    });
    let first = findings.next()?;
    Some(ProgramError {
        line: first.line,
        source: first.source,
        hint: Some(hint),
        also: findings.collect(),
        ..ProgramError::new(kind, first.message)
    })
}
