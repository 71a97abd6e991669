//! Why a command failed: what a person reads, what `--json` prints, and the exit code.

use std::fmt;

use serde_json::{Value, json};

/// A command's failure with its type, message and hints. Exit code 1.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Failure {
    /// A type of the answers of runs: `argument`, `api`, `policy`, `internal`, …
    pub(crate) kind: &'static str,
    pub(crate) message: String,
    pub(crate) hint: Option<String>,
    /// The API's status, for `api`.
    pub(crate) status: Option<u16>,
    /// The API's own body, for `api`.
    pub(crate) body: Option<Value>,
}

impl Failure {
    pub(crate) fn new(kind: &'static str, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
            hint: None,
            status: None,
            body: None,
        }
    }

    pub(crate) fn internal(error: impl fmt::Display) -> Self {
        Self::new("internal", error.to_string())
    }

    pub(crate) fn argument(message: impl Into<String>) -> Self {
        Self::new("argument", message)
    }

    pub(crate) fn with_hint(mut self, hint: impl Into<String>) -> Self {
        let hint = hint.into();
        self.hint = (!hint.is_empty()).then_some(hint);
        self
    }

    /// `{"error": {"type", "message", "status"?, "body"?, "hint"?}}`.
    pub(crate) fn to_json(&self) -> Value {
        let mut error = json!({"type": self.kind, "message": self.message});
        if let Some(object) = error.as_object_mut() {
            let optional = [
                ("status", self.status.map(Value::from)),
                ("body", self.body.clone()),
                ("hint", self.hint.clone().map(Value::from)),
            ];
            object.extend(optional.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?))));
        }
        json!({"error": error})
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Failure {}
