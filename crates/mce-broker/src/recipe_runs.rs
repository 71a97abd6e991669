//! Who runs saved recipes that are called as functions: not the broker, which knows no programs.

use std::fmt;

use futures_util::future::BoxFuture;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::call_error::CallError;

/// A recipe that may run and has its turn: runs it and gives its value. Nothing happens before it is polled; dropping it ends the run.
pub type ReadyRecipe<'a> = BoxFuture<'a, Result<Box<RawValue>, CallError>>;

/// Runs recipes for whoever calls them.
pub trait RecipeRuns: fmt::Debug + Send + Sync {
    /// Makes the recipe of this name ready to run with these values for its variables, which fit its signature: refuses one that may
    /// not run, and waits for its turn.
    fn ready<'a>(&'a self, name: &'a str, arguments: Map<String, Value>) -> BoxFuture<'a, Result<ReadyRecipe<'a>, CallError>>;
}
