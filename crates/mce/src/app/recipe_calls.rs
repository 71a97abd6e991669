//! Saved recipes that are called as functions. One that a program calls runs as a program of its own, in the place, the time and the
//! limits of the caller, and for the same client.

use std::fmt;
use std::path::Path;
use std::sync::{Arc, PoisonError};

use mce_broker::{CallError, CallErrorKind, ReadyRecipe, RecipeRuns};
use mce_catalog::function::Effect;
use mce_config::RECIPES;
use mce_sandbox::{BoxFuture, ErrorKind, ProgramError};
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Map, Value};
use tokio::sync::Mutex;

use super::Behalf;
use super::addresses::Addresses;
use super::answer::CallGroup;
use super::call_groups::CallGroups;
use super::documents::sha256;
use super::recipe_tools::language_of;
use super::run_calls::RunCalls;
use super::runner::{Ran, Runner, ToRun};

/// How deep recipes may be within each other.
const MAX_DEPTH: usize = 4;
/// Functions that a failure names.
const WRITES_TOLD: usize = 5;

impl Runner {
    /// The hash of a recipe's file, as it was when its signature was read.
    fn hash_as_read(&self, file: &Path) -> Option<String> {
        let catalog = self.discovery.catalog();
        let record = catalog.store().document(&catalog.view(RECIPES).ok()?.location).ok()??;
        let source = record.sources.into_iter().find(|source| Path::new(&source.location) == file)?;
        Some(source.sha256)
    }

    /// The recipe that is called, if it is as it was when its signature was read.
    fn recipe(&self, name: &str, arguments: &Map<String, Value>) -> Result<ToRun, CallError> {
        let refused = |message: String, hint: &str| CallError::new(CallErrorKind::Argument, message).with_hint(hint);
        let recipe = self.saved.get(name);
        let recipe = recipe.map_err(|error| refused(super::chain(&error), error.hint().unwrap_or_default()))?;
        if self.hash_as_read(&recipe.file) != Some(sha256(recipe.source.as_bytes())) {
            let told = format!("the file of the recipe `{name}` has changed since its signature was read");
            return Err(refused(told, "a person reads it anew with `mce compile`"));
        }
        let language = language_of(&recipe);
        let hint = format!("a person looks whether the recipe is right still, and then runs `mce recipes save {name}`");
        self.check_used(&recipe.notes.uses, language, &hint)?;
        let params = to_raw_value(arguments).and_then(|text| serde_json::from_str(text.get()));
        Ok(ToRun {
            language,
            source: recipe.source,
            params: params.map_err(|error| CallError::new(CallErrorKind::Internal, error.to_string()))?,
            has_all_params: true,
            leave: Ok(()),
        })
    }
}

/// Recipes that a program calls.
impl RecipeRuns for RunCalls {
    fn ready<'a>(&'a self, name: &'a str, arguments: Map<String, Value>) -> BoxFuture<'a, Result<ReadyRecipe<'a>, CallError>> {
        Box::pin(async move {
            let mut within = self.within.clone();
            within.push(name.to_owned());
            let refused = |told: &str| CallError::new(CallErrorKind::Policy, format!("{told}: {}", within.join(" -> ")));
            if self.within.iter().any(|outer| outer == name) {
                return Err(refused("a recipe may not call itself"));
            }
            if within.len() > MAX_DEPTH {
                return Err(refused("recipes are too deep within each other"));
            }
            let turn = self.turn.lock().await;
            let program = self.runner.recipe(name, &arguments)?;
            let calls = Self {
                runner: Arc::clone(&self.runner),
                behalf: self.behalf.clone(),
                language: program.language,
                run: self.behalf.run(Some(&program.source)),
                groups: Arc::new(CallGroups::within(&self.groups)),
                addresses: Addresses::default(),
                printed: std::sync::Mutex::default(),
                whole: Arc::clone(&self.whole),
                within,
                is_outermost: false,
                turn: Mutex::default(),
            };
            let run: ReadyRecipe<'a> = Box::pin(async move {
                let _turn = turn;
                let ran = self.runner.run_with(program, Arc::new(calls)).await;
                self.printed
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .push_str(&marked(name, &ran.outcome.logs));
                value_of(name, ran)
            });
            Ok(run)
        })
    }
}

/// Recipes that are called by no program.
pub(super) struct AtTop<'a> {
    pub(super) runner: &'a Arc<Runner>,
    pub(super) behalf: &'a Behalf,
}

impl fmt::Debug for AtTop<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AtTop").field("behalf", self.behalf).finish_non_exhaustive()
    }
}

impl RecipeRuns for AtTop<'_> {
    fn ready<'a>(&'a self, name: &'a str, arguments: Map<String, Value>) -> BoxFuture<'a, Result<ReadyRecipe<'a>, CallError>> {
        Box::pin(async move {
            let program = self.runner.recipe(name, &arguments)?;
            let run: ReadyRecipe<'a> =
                Box::pin(async move { value_of(name, self.runner.run_as(program, self.behalf, vec![name.to_owned()]).await) });
            Ok(run)
        })
    }
}

/// What a recipe has printed, each line behind its name.
fn marked(name: &str, logs: &str) -> String {
    let lines: Vec<String> = logs.lines().map(|line| format!("[{name}] {line}\n")).collect();
    lines.concat()
}

fn value_of(name: &str, ran: Ran) -> Result<Box<RawValue>, CallError> {
    ran.outcome.result.map_err(|error| failed(name, error, &ran.groups))
}

/// A recipe's failure for who called it. What it says of policy and of time holds for the caller; whatever else went wrong went wrong
/// in the recipe. After a write, no kind is right that says that nothing was sent.
fn failed(name: &str, error: ProgramError, groups: &[CallGroup]) -> CallError {
    let writes = writes_of(groups);
    let kind = match error.kind {
        ErrorKind::Policy | ErrorKind::Approval | ErrorKind::Busy | ErrorKind::Internal if writes.is_some() => {
            CallErrorKind::Tool { may_have_effects: true }
        }
        ErrorKind::Policy => CallErrorKind::Policy,
        ErrorKind::Approval => CallErrorKind::Approval,
        ErrorKind::Timeout => CallErrorKind::Timeout,
        ErrorKind::Output => CallErrorKind::Output,
        ErrorKind::Busy => CallErrorKind::Busy,
        ErrorKind::Internal => CallErrorKind::Internal,
        ErrorKind::Api => CallErrorKind::Api {
            status: error.status,
            body: error.body.map(Box::new),
        },
        ErrorKind::Syntax | ErrorKind::Argument | ErrorKind::Tool | ErrorKind::Memory | ErrorKind::Exception => {
            CallErrorKind::Tool { may_have_effects: true }
        }
    };
    let place = error.line.map_or_else(String::new, |line| format!(" in line {line}"));
    let wrote = writes
        .as_ref()
        .map_or_else(String::new, |writes| format!("; it had called {writes}"));
    let told = CallError::new(kind, format!("the recipe `{name}` failed{place}: {}{wrote}", error.message));
    let again = writes.map(|_| "calling the recipe again does again what it did before it failed".to_owned());
    let hints: Vec<String> = error.hint.into_iter().chain(again).collect();
    if hints.is_empty() { told } else { told.with_hint(hints.join("; ")) }
}

/// The functions that write among those that were called. What recipes called is among them, so that recipes are not.
fn writes_of(groups: &[CallGroup]) -> Option<String> {
    let is_write = |group: &&CallGroup| group.effect != Effect::Read && !group.function.starts_with("recipes.");
    let writes: Vec<String> = groups.iter().filter(is_write).map(told_of).collect();
    let more = writes.len().saturating_sub(WRITES_TOLD);
    let told = writes.iter().take(WRITES_TOLD).map(String::as_str).collect::<Vec<_>>().join(", ");
    match (writes.is_empty(), more) {
        (true, _) => None,
        (false, 0) => Some(told),
        (false, more) => Some(format!("{told} and {more} more functions that write")),
    }
}

fn told_of(group: &CallGroup) -> String {
    let failed = match group.failed {
        0 => String::new(),
        failed => format!(", {failed} of them without success"),
    };
    format!("`{}` ({}×{failed})", group.function, group.count)
}
