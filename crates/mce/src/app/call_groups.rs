//! What a run has called so far, for its answer. What a recipe calls counts for the program that called the recipe, too.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use mce_catalog::function::Effect;

use super::answer::{CallGroup, millis};

/// How a call ended, as far as its run knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    Good,
    Failed,
    /// The run ended first.
    Unknown,
}

/// Calls by function.
#[derive(Debug, Default)]
pub(super) struct CallGroups {
    // Held only while a finished call is counted.
    own: Mutex<Vec<CallGroup>>,
    outer: Option<Arc<Self>>,
}

impl CallGroups {
    /// Those of a run that another one waits for.
    pub(super) fn within(outer: &Arc<Self>) -> Self {
        Self {
            own: Mutex::default(),
            outer: Some(Arc::clone(outer)),
        }
    }

    /// What was called so far, in the order of first calls.
    pub(super) fn so_far(&self) -> Vec<CallGroup> {
        self.own.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Whether something was called that writes, also by who waits for this run.
    pub(super) fn has_written(&self) -> bool {
        let own = self.own.lock().unwrap_or_else(PoisonError::into_inner);
        let is_own = own.iter().any(|group| group.effect != Effect::Read);
        drop(own);
        is_own || self.outer.as_ref().is_some_and(|outer| outer.has_written())
    }

    pub(super) fn count(&self, function: &str, effect: Effect, start: Instant, end: End) {
        if let Some(outer) = &self.outer {
            outer.count(function, effect, start, end);
        }
        let failed = u32::from(end != End::Good);
        let unfinished = u32::from(end == End::Unknown);
        let mut groups = self.own.lock().unwrap_or_else(PoisonError::into_inner);
        let ms = millis(start.elapsed());
        // A host may be read from and written to, which stays apart.
        if let Some(group) = groups.iter_mut().find(|group| group.function == function && group.effect == effect) {
            group.count += 1;
            group.ms += ms;
            group.failed += failed;
            group.unfinished += unfinished;
        } else {
            groups.push(CallGroup {
                function: function.to_owned(),
                count: 1,
                ms,
                failed,
                unfinished,
                effect,
            });
        }
    }
}

/// A call under way. Where the run ends before the call does, the call is dropped, and this tells that it was made.
pub(super) struct Unfinished<'a> {
    lost: Option<&'a (dyn Fn() + Sync)>,
}

impl<'a> Unfinished<'a> {
    pub(super) fn new(lost: &'a (dyn Fn() + Sync)) -> Self {
        Self { lost: Some(lost) }
    }

    pub(super) fn finish(mut self) {
        self.lost = None;
    }
}

impl Drop for Unfinished<'_> {
    fn drop(&mut self) {
        if let Some(lost) = self.lost {
            lost();
        }
    }
}
