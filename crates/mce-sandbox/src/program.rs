//! A run from outside: what goes in and what comes out.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

/// What a program is written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Language {
    /// CPython, 3.10 or newer.
    Python,
    /// TypeScript or JavaScript.
    TypeScript,
}

impl Language {
    /// `python` or `typescript`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Python => "python",
            Self::TypeScript => "typescript",
        }
    }
}

/// Values by the names of variables, as JSON text: numbers are those that were written.
pub type Inputs = BTreeMap<String, Box<RawValue>>;

/// A program to run.
#[derive(Debug, Clone)]
pub struct Program {
    /// What it is written in.
    pub language: Language,
    /// Its text.
    pub source: String,
    /// Values that replace those of top-level variables of the same name. Data, never edits of text.
    pub params: Inputs,
    /// Variables that the text gives no value must be among them, or the program does not start.
    pub has_all_params: bool,
    /// The wall-clock time that it has, where that is less than the limit of all runs.
    pub wall: Option<Duration>,
}

/// How a run ended.
#[derive(Debug)]
pub struct Outcome {
    /// The program's value as JSON text, or why there is none.
    pub result: Result<Box<RawValue>, ProgramError>,
    /// What the program printed, in order; valid UTF-8, bounded by the output limit.
    pub logs: String,
    /// Images and the like that the program's value holds, to be sent as content blocks.
    pub contents: Vec<Content>,
    /// Time from the start of the program to its end, by the host's clock, without waiting for a free place.
    pub elapsed: Duration,
}

/// A content block that is no text.
#[derive(Debug, Clone)]
pub struct Content {
    /// E.g. `image/png`.
    pub mime_type: String,
    /// Its bytes.
    pub data: Vec<u8>,
}

/// Why a program has no value.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProgramError {
    /// The kind.
    #[serde(rename = "type")]
    pub kind: ErrorKind,
    /// What happened, in words for the model.
    pub message: String,
    /// Line of the program's own text, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// That line's text, trimmed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// What to do about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// The API's status, for `api`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// The API's own body, for `api`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub body: Option<Value>,
    /// The function that failed, `server.function`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub function: Option<String>,
    /// The program's traceback, only where debugging is on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub traceback: Option<String>,
    /// What else is wrong with the text, in the order of its lines. At most 20.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub also: Vec<Finding>,
}

/// Something wrong with a program's text, found before it starts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Finding {
    /// What is wrong.
    pub message: String,
    /// Line of the program's own text, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// That line's text, trimmed, if it was not told just before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// What to do about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

/// Findings that an error tells besides its own.
pub(crate) const MAX_ALSO: usize = 20;

impl ProgramError {
    /// An error without a position.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
            line: None,
            source: None,
            hint: None,
            status: None,
            body: None,
            function: None,
            traceback: None,
            also: Vec::new(),
        }
    }

    /// The same with advice.
    #[must_use]
    pub fn with_hint(self, hint: impl Into<String>) -> Self {
        Self {
            hint: Some(hint.into()),
            ..self
        }
    }

    /// The same with texts of bounded length, since a worker wrote them.
    pub(crate) fn bounded(self) -> Self {
        let short = |text: Option<String>, bytes| text.map(|text| shortened(text, bytes));
        let also = self.also.into_iter().take(MAX_ALSO);
        Self {
            message: shortened(self.message, 4096),
            source: short(self.source, 1024),
            hint: short(self.hint, 2048),
            function: short(self.function, 512),
            traceback: short(self.traceback, 16 << 10),
            also: also
                .map(|finding| Finding {
                    message: shortened(finding.message, 1024),
                    source: short(finding.source, 512),
                    hint: short(finding.hint, 1024),
                    ..finding
                })
                .collect(),
            ..self
        }
    }
}

/// The start of a text, cut between characters.
pub(crate) fn shortened(mut text: String, bytes: usize) -> String {
    if text.len() > bytes {
        text.truncate(text.floor_char_boundary(bytes));
    }
    text
}

/// Kinds of errors that a model sees.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ErrorKind {
    /// The text is no program.
    Syntax,
    /// A wrong argument, a wrong name, or a wrong request.
    Argument,
    /// The API answered with an error.
    Api,
    /// An upstream tool answered with an error.
    Tool,
    /// Not allowed by configuration.
    Policy,
    /// Not approved by a person.
    Approval,
    /// Too slow.
    Timeout,
    /// Too much memory.
    Memory,
    /// Too much output.
    Output,
    /// The program raised.
    Exception,
    /// No free place.
    Busy,
    /// A fault of ours.
    Internal,
}

impl ErrorKind {
    /// As a model sees it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Syntax => "syntax",
            Self::Argument => "argument",
            Self::Api => "api",
            Self::Tool => "tool",
            Self::Policy => "policy",
            Self::Approval => "approval",
            Self::Timeout => "timeout",
            Self::Memory => "memory",
            Self::Output => "output",
            Self::Exception => "exception",
            Self::Busy => "busy",
            Self::Internal => "internal",
        }
    }
}
