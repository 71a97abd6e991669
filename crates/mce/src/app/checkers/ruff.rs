//! The lint gate: `ruff` reads a Python program.

use std::path::Path;

use mce_sandbox::{ErrorKind, ProgramError};
use serde::Deserialize;

use super::{Found, Installed, error_of};

/// Errors, warnings and unused names, but not what is about looks, and not `await` at the top level, which programs may have.
const ARGUMENTS: [&str; 12] = [
    "check",
    "--isolated",
    "--no-cache",
    "--quiet",
    "--output-format",
    "json",
    "--select",
    "E,F,W",
    "--ignore",
    "E1,E2,E3,E5,F704,W1,W2,W3,W5",
    "--stdin-filename=program.py",
    "-",
];

/// Reads programs with `ruff`.
#[derive(Debug)]
pub(super) struct Ruff(Installed);

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

impl Ruff {
    pub(super) fn new(path: &str) -> Self {
        Self(Installed::new(path, &["ruff"], "lint_enabled"))
    }

    /// What is wrong with a Python program.
    pub(super) async fn fault(&self, source: &str) -> Option<ProgramError> {
        let (_, ruff) = self.0.find()?;
        let said = self.0.ask(ruff, &ARGUMENTS, Path::new("/"), source).await?;
        let told: Vec<Told> = serde_json::from_slice(&said)
            .inspect_err(|error| tracing::warn!("`ruff` did not read a program: {error}"))
            .ok()?;
        let found = told.into_iter().map(|told| Found {
            line: told.location.row,
            message: format!("{} ({})", told.message, told.code.as_deref().unwrap_or("syntax")),
        });
        let hint = "`ruff` found this before the program ran, since `MCE_LINT_ENABLED` is set";
        error_of(ErrorKind::Syntax, found.collect(), source, hint.to_owned())
    }
}
