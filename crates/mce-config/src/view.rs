//! How a person wants the functions of a server to be shown and called. None of it needs a compile.

use std::collections::BTreeMap;
use std::fmt;

use serde_json::Value;

use crate::Rate;

/// What changes a server's functions after they were compiled. Names of operations are `METHOD /path`, an `operationId`
/// or a function's name.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ViewSettings {
    /// Describes the server in place of its document. At most [`MAX_DESCRIPTION_CHARS`].
    pub description: Option<String>,
    /// Only functions that one of these selects are there; empty: all.
    pub include: Vec<FunctionSelector>,
    /// Functions that one of these selects are not there, whatever `include` says.
    pub exclude: Vec<FunctionSelector>,
    /// New names of functions, by operation. Identifiers.
    pub rename: BTreeMap<String, String>,
    /// Settings of single functions, by operation.
    pub functions: BTreeMap<String, FunctionSettings>,
    /// How often its functions may be called, by all clients together.
    pub rate: Option<Rate>,
    /// Further attempts of what only reads; none: as `retries` of the settings says.
    pub retries: Option<u32>,
    /// Failures in a row after which it is left alone, 0: never; none: as `breaker_failures` of the settings says.
    pub breaker_failures: Option<u32>,
    /// How functions give further pages whose document does not say it.
    pub pagination: Option<PaginationSettings>,
}

/// Selects functions: those to which all of its parts apply. At least one part is there.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FunctionSelector {
    /// A tag of the document.
    pub tag: Option<String>,
    /// A path of the document; `*` stands for anything in a segment, `**` for any number of segments.
    pub path: Option<String>,
    /// A method, in any case.
    pub method: Option<String>,
    /// `METHOD /path`, an `operationId` or a function's name.
    pub operation: Option<String>,
}

/// Settings of one function.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct FunctionSettings {
    /// Said to the model before what the document says. At most [`MAX_DESCRIPTION_CHARS`].
    pub description: Option<String>,
    /// What calling it does, in place of what its method says.
    pub effect: Option<EffectSetting>,
    /// Arguments by their original names (the request body is `body`), for calls that do not give them.
    pub defaults: BTreeMap<String, ArgumentDefault>,
    /// How often it may be called, by all clients together.
    pub rate: Option<Rate>,
    /// How it gives further pages, whatever the document says.
    pub pagination: Option<PaginationSettings>,
}

/// How further pages of an answer are asked for. Ways to properties are their names, from outside to inside.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PaginationSettings {
    /// What leads to the next page.
    pub by: PaginationWay,
    /// The argument that leads to the next page, by its original name, or `body` and the name of a property of it. Only
    /// `Links` has none, and `Cursor` may have none: then the value in the answer is an address.
    pub parameter: Option<Vec<String>>,
    /// Where the items of a page are; an empty way is the answer itself. `None`: found in each answer.
    pub items: Option<Vec<String>>,
}

/// What leads to the next page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PaginationWay {
    /// The field `Link` of the answer.
    Links,
    /// A value in the answer.
    Cursor {
        /// Where it is.
        next: Vec<String>,
    },
    /// The `id` of the last item.
    LastItem,
    /// The number of the page.
    Page {
        /// That of the first one. Default 1.
        first: i64,
    },
    /// The number of items before it.
    Offset {
        /// That of the first one. Default 0.
        first: i64,
    },
}

/// What calling a function does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EffectSetting {
    /// Changes nothing.
    Read,
    /// Creates or changes something.
    Write,
    /// Removes something.
    Destructive,
}

/// An argument for calls that do not give it. `Debug` shows no value, because it can come from a `${VAR}`.
#[derive(Clone, PartialEq)]
pub struct ArgumentDefault {
    /// As if the call had given it.
    pub value: Value,
    /// The model does not see the argument, and a call that gives it is refused.
    pub is_hidden: bool,
}

impl fmt::Debug for ArgumentDefault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ArgumentDefault")
            .field("is_hidden", &self.is_hidden)
            .finish_non_exhaustive()
    }
}

impl fmt::Display for FunctionSelector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts = [
            ("tag", &self.tag),
            ("path", &self.path),
            ("method", &self.method),
            ("operation", &self.operation),
        ];
        let parts = parts
            .into_iter()
            .filter_map(|(name, value)| Some(format!("{name}: {}", value.as_deref()?)));
        f.write_str(&parts.collect::<Vec<_>>().join(", "))
    }
}

/// Characters of a description that a person adds. The model gets them in full.
pub const MAX_DESCRIPTION_CHARS: usize = 300;
