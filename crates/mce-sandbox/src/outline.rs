//! What a program's text says about itself. The text is read in a worker, as a program that runs is, and nothing of it is run.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What a program's text says.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Outline {
    /// What the program is for: in Python its docstring; may be empty.
    pub about: String,
    /// Top-level variables that are assigned once, to a value that is written out, or that have a type and no value.
    pub inputs: Vec<Input>,
    /// Functions that it names, each as it may be called by: `server.function`, `server:METHOD /path`. Some may be none.
    pub functions: Vec<String>,
    /// It may use what it does not name.
    pub open: bool,
}

/// A variable whose value may be replaced.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Input {
    /// Its name.
    pub name: String,
    /// JSON Schema: its type as far as that is written, and the value as `default`, if that is small.
    pub schema: Value,
    /// The text gives it no value.
    pub required: bool,
}
