//! Why a call failed: one text for the program and the model, another for the audit log.

use std::path::PathBuf;

use serde_json::Value;
use serde_json::value::RawValue;
use thiserror::Error;

use crate::policy::Decision;

/// A broker that cannot be made.
#[derive(Debug, Error)]
pub enum BrokerError {
    /// The audit log cannot be opened for appending.
    #[error("failed to open the audit log `{}`", path.display())]
    AuditLog {
        /// The log.
        path: PathBuf,
        /// The system's error.
        #[source]
        source: std::io::Error,
    },
}

/// A call that failed. `Display` is the external text: it holds no secret, no base URL and no host.
#[derive(Debug, Clone, Error)]
#[error("{message}")]
pub struct CallError {
    /// What kind of failure it is.
    pub kind: CallErrorKind,
    /// `server.function`, if one was meant.
    pub function: Option<String>,
    /// What happened, for the program and the model.
    pub message: String,
    hint: Option<Box<str>>,
    internal: Option<Box<str>>,
    result: Option<Box<RawValue>>,
    attempts: u32,
    decision: Option<Box<Decision>>,
    is_on_record: bool,
}

/// Kinds of failures, as the program sees them.
#[derive(Debug, Clone, PartialEq)]
pub enum CallErrorKind {
    /// A wrong name, a wrong argument, or a request that cannot be made of the arguments. Nothing was sent.
    Argument,
    /// The API answered with a status other than 2xx, or could not be reached (no status).
    Api {
        /// Its status.
        status: Option<u16>,
        /// Its body as JSON, or as a text; bounded.
        body: Option<Box<Value>>,
    },
    /// A tool said that it failed, or its MCP server could not be asked.
    Tool {
        /// The tool may have done something.
        may_have_effects: bool,
    },
    /// Not allowed by configuration. Nothing was sent.
    Policy,
    /// A person has to allow it first. Nothing was sent.
    Approval,
    /// The API took too long.
    Timeout,
    /// The answer is too large, or is not what it says it is.
    Output,
    /// Too much at the same time, or too often. Nothing was sent.
    Busy,
    /// A fault of ours.
    Internal,
}

impl CallErrorKind {
    /// The error type of a run: `argument`, `api`, `tool`, `policy`, `approval`, `timeout`, `output`, `busy` or `internal`.
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Argument => "argument",
            Self::Api { .. } => "api",
            Self::Tool { .. } => "tool",
            Self::Policy => "policy",
            Self::Approval => "approval",
            Self::Timeout => "timeout",
            Self::Output => "output",
            Self::Busy => "busy",
            Self::Internal => "internal",
        }
    }
}

impl CallError {
    /// An error of this kind with its external text.
    pub fn new(kind: CallErrorKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            function: None,
            message: message.into(),
            hint: None,
            internal: None,
            result: None,
            attempts: 1,
            decision: None,
            is_on_record: false,
        }
    }

    pub(crate) fn argument(message: impl Into<String>) -> Self {
        Self::new(CallErrorKind::Argument, message)
    }

    pub(crate) fn policy(message: impl Into<String>) -> Self {
        Self::new(CallErrorKind::Policy, message)
    }

    /// The same with advice.
    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into().into_boxed_str());
        self
    }

    #[must_use]
    pub(crate) fn with_internal(mut self, internal: impl Into<String>) -> Self {
        self.internal = Some(internal.into().into_boxed_str());
        self
    }

    #[must_use]
    pub(crate) fn in_function(mut self, function: &str) -> Self {
        self.function = Some(function.to_owned());
        self
    }

    #[must_use]
    pub(crate) fn with_result(mut self, result: Option<Box<RawValue>>) -> Self {
        self.result = result;
        self
    }

    #[must_use]
    pub(crate) fn with_wait(self, hint: Option<String>) -> Self {
        match hint {
            Some(hint) => self.with_hint(hint),
            None => self,
        }
    }

    #[must_use]
    pub(crate) const fn after_attempts(mut self, attempts: u32) -> Self {
        self.attempts = attempts;
        self
    }

    /// How often it was sent.
    pub(crate) const fn attempts(&self) -> u32 {
        self.attempts
    }

    #[must_use]
    pub(crate) fn with_decision(mut self, decision: Decision) -> Self {
        self.decision = Some(Box::new(decision));
        self
    }

    /// What the policy decided, where that ended the call.
    pub(crate) fn decision(&self) -> Option<&Decision> {
        self.decision.as_deref()
    }

    /// The same, when the audit log has it already.
    #[must_use]
    pub(crate) const fn on_record(mut self) -> Self {
        self.is_on_record = true;
        self
    }

    /// Whether the audit log has it already: as the outcome of an intent, or as a refusal.
    pub(crate) const fn is_on_record(&self) -> bool {
        self.is_on_record
    }

    /// Whether it was not allowed, so that nothing was sent.
    pub(crate) fn is_refusal(&self) -> bool {
        matches!(self.kind, CallErrorKind::Policy | CallErrorKind::Approval)
    }

    /// Changes all texts.
    pub(crate) fn map_text(mut self, change: impl Fn(&str) -> String) -> Self {
        self.message = change(&self.message);
        self.hint = self.hint.map(|hint| change(&hint).into_boxed_str());
        self.internal = self.internal.map(|internal| change(&internal).into_boxed_str());
        self
    }

    /// What to do about it, e.g. ``did you mean `owner`?``.
    pub fn hint(&self) -> Option<&str> {
        self.hint.as_deref()
    }

    /// The text for the audit log: may name host and path, never a secret.
    pub fn internal(&self) -> &str {
        self.internal.as_deref().unwrap_or(&self.message)
    }

    /// The whole result of a tool that said that it failed, where it was asked for.
    pub fn result(&self) -> Option<&RawValue> {
        self.result.as_deref()
    }

    /// The API's status, for [`CallErrorKind::Api`].
    pub fn status(&self) -> Option<u16> {
        if let CallErrorKind::Api { status, .. } = &self.kind {
            *status
        } else {
            None
        }
    }

    /// The API's own body, for [`CallErrorKind::Api`].
    pub fn body(&self) -> Option<&Value> {
        if let CallErrorKind::Api { body, .. } = &self.kind {
            body.as_deref()
        } else {
            None
        }
    }
}
