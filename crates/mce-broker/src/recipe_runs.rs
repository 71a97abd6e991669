//! Who runs saved recipes that are called as functions: not the broker, which knows no programs.

use std::fmt;

use futures_util::future::BoxFuture;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::call_error::CallError;

/// Runs recipes for whoever calls them.
pub trait RecipeRuns: fmt::Debug + Send + Sync {
    /// Runs the recipe of this name with these values for its variables, which fit its signature, and gives its value. Dropping the
    /// future ends the run.
    fn run<'a>(&'a self, name: &'a str, arguments: Map<String, Value>) -> BoxFuture<'a, Result<Box<RawValue>, CallError>>;
}
