//! The answer of a run, as the model gets it: one compact JSON object.

use std::time::Duration;

use mce_catalog::function::Effect;
use mce_sandbox::{Outcome, ProgramError};
use serde::Serialize;
use serde_json::value::RawValue;

use super::small::Handle;

/// One function's calls in a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct CallGroup {
    pub(crate) function: String,
    pub(crate) count: u32,
    /// All of them together.
    pub(crate) ms: u64,
    /// Calls that failed, or whose end was not waited for.
    #[serde(skip_serializing_if = "is_zero")]
    pub(crate) failed: u32,
    /// Those of `failed` that were under way when the run ended: what they did is not known.
    #[serde(skip_serializing_if = "is_zero")]
    pub(crate) unfinished: u32,
    /// Present where the function changes something: `write` or `destructive`.
    #[serde(skip_serializing_if = "reads")]
    pub(crate) effect: Effect,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature that serde asks for")]
fn is_zero(count: &u32) -> bool {
    *count == 0
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature that serde asks for")]
fn reads(effect: &Effect) -> bool {
    *effect == Effect::Read
}

/// The answer of `execute_code` and `run_cached_code`. Empty fields are left out.
#[derive(Debug, Serialize)]
pub(crate) struct RunAnswer {
    pub(crate) success: bool,
    /// The program's value; present on success, but for a large one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) data: Option<Box<RawValue>>,
    /// In place of `data`, where that is large.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) handle: Option<Handle>,
    /// `toon`, if the value is the next content block, in that notation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) format: Option<&'static str>,
    /// Present exactly on failure.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) error: Option<ProgramError>,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) logs: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) cache_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) next: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) calls: Vec<CallGroup>,
    pub(crate) execution_time_ms: u64,
}

impl RunAnswer {
    pub(crate) fn new(outcome: Outcome, calls: Vec<CallGroup>) -> Self {
        let elapsed = outcome.elapsed;
        let (data, error) = match outcome.result {
            Ok(data) => (Some(data), None),
            Err(error) => (None, Some(error)),
        };
        Self {
            success: error.is_none(),
            data,
            handle: None,
            format: None,
            error,
            logs: outcome.logs,
            cache_id: None,
            next: None,
            calls,
            execution_time_ms: millis(elapsed),
        }
    }

    /// An answer without a run.
    pub(crate) fn refused(error: ProgramError) -> Self {
        Self {
            success: false,
            data: None,
            handle: None,
            format: None,
            error: Some(error),
            logs: String::new(),
            cache_id: None,
            next: None,
            calls: Vec::new(),
            execution_time_ms: 0,
        }
    }
}

pub(crate) fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
