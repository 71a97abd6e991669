//! What compiling a server gave, as `mce compile` prints it.

use mce_catalog::changes::Changes;
use mce_catalog::openapi::{Problem, Skipped};
use mce_catalog::store::DocumentRecord;
use serde::Serialize;

use super::skills::GuideReport;
use crate::failure::Failure;

/// Operations in each list of [`ChangeLists`].
const MAX_LISTED: usize = 200;

/// What compiling one server gave.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct ServerReport {
    pub(crate) name: String,
    #[serde(flatten)]
    pub(crate) outcome: Outcome,
    /// Its guide for the model, if it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) guide: Option<GuideReport>,
    pub(crate) ms: u64,
    /// It stands in another program's file.
    #[serde(skip)]
    pub(crate) is_discovered: bool,
}

/// Counts, or why there are none.
#[derive(Debug, Clone, Serialize)]
#[serde(untagged)]
pub(crate) enum Outcome {
    Compiled(Counts),
    Refused(Refusal),
}

#[derive(Debug, Clone, Serialize)]
pub(crate) struct Counts {
    pub(crate) operations: usize,
    pub(crate) compiled: usize,
    pub(crate) skipped: Vec<Skipped>,
    pub(crate) problems: Vec<Problem>,
    /// The document was compiled before and has not changed.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) unchanged: bool,
    /// Against the last compile; none if there was none, or nothing was compiled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) changes: Option<ChangeLists>,
}

/// Operations that differ from those of the last compile, some of each kind.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct ChangeLists {
    #[serde(flatten)]
    pub(crate) listed: Changes,
    /// How many are not listed.
    #[serde(skip_serializing_if = "is_zero")]
    pub(crate) more: usize,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature that serde asks for")]
fn is_zero(count: &usize) -> bool {
    *count == 0
}

impl From<Changes> for ChangeLists {
    fn from(mut all: Changes) -> Self {
        let mut more = 0;
        for list in [&mut all.added, &mut all.removed, &mut all.changed] {
            more += list.len().saturating_sub(MAX_LISTED);
            list.truncate(MAX_LISTED);
        }
        Self { listed: all, more }
    }
}

/// Serialises to `{"error": {"type", "message", "hint"?}}`.
#[derive(Debug, Clone)]
pub(crate) struct Refusal(pub(crate) Failure);

impl Serialize for Refusal {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.to_json().serialize(serializer)
    }
}

impl Counts {
    pub(super) fn new(record: DocumentRecord, compiled: usize) -> Self {
        Self {
            operations: record.operations,
            compiled,
            skipped: record.skipped,
            problems: record.problems,
            unchanged: false,
            changes: None,
        }
    }
}

impl ServerReport {
    pub(crate) fn failure(&self) -> Option<&Failure> {
        match &self.outcome {
            Outcome::Compiled(_) => None,
            Outcome::Refused(refusal) => Some(&refusal.0),
        }
    }

    pub(crate) fn compiled(&self) -> usize {
        match &self.outcome {
            Outcome::Compiled(counts) => counts.compiled,
            Outcome::Refused(_) => 0,
        }
    }

    /// One line in the log, where nobody asked for a report.
    pub(crate) fn log(&self) {
        match &self.outcome {
            Outcome::Compiled(counts) if counts.unchanged => tracing::debug!("`{}` has not changed", self.name),
            Outcome::Compiled(counts) => {
                tracing::info!(
                    "`{}`: {} of {} operations compiled in {} ms",
                    self.name,
                    counts.compiled,
                    counts.operations,
                    self.ms
                );
            }
            Outcome::Refused(refusal) => tracing::error!("`{}` was not compiled: {}", self.name, refusal.0),
        }
    }
}
