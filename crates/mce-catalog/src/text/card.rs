//! Everything that a model needs to call one function, as one value.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

use super::{
    Language,
    definitions::definitions,
    example::example,
    literal::literal,
    note::constraints,
    prose::{one_line, paragraph},
    python,
    shape::Shape,
    shaper::{MAX_LITERALS, Parts, Shaper},
    signature::{body_shape, write},
    typescript,
};
use crate::{
    function::{Advance, Body, Function, Location, Pagination, Parameter, Target, Types},
    observed::is_observed,
    schema,
};

/// Longest description of a part, in characters.
const MAX_DESCRIPTION_CHARS: usize = 300;
/// The same for a tool, of which it often is all that there is to read.
const MAX_TOOL_CHARS: usize = 2_000;
/// More values of an enumeration are not listed.
const MAX_VALUES: usize = 100;
/// A longer default or value is not shown.
const MAX_VALUE_CHARS: usize = 200;
/// More error answers are not listed.
const MAX_ERRORS: usize = 20;
/// Longest description of an error answer, in characters.
const MAX_ERROR_CHARS: usize = 120;

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
    /// What it does, at most 300 characters; of a tool, at most 2,000.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// The line that imports it.
    pub import_line: String,
    /// How it is called.
    pub signature: String,
    /// Source text of the types in the signature, as far as the budget goes; what is cut is named at the end, with
    /// how to ask for it.
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
    /// The type is that of answers so far; its author does not say what it answers with.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub observed: bool,
    /// How its answer goes on over further pages, and what gives them all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub paginates: Option<String>,
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
    /// What the API takes when it is left out, as a literal of the language.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default: Option<String>,
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
    let mut shaper = Shaper::new(function, types);
    let parts = shaper.parts(function);
    let source = definitions(&mut shaper, roots(function, &parts), language, budget);
    let name = |number: usize| shaper.name(number);
    let annotation = |shape: &Shape| match language {
        Language::Python => python::annotation(shape, &name),
        Language::TypeScript => typescript::annotation(shape, &name),
    };
    let parameters = function.parameters.iter().zip(&parts.parameters);
    let errors = function.errors.iter().take(MAX_ERRORS);
    Card {
        server: function.server.clone(),
        function: language.function_name(function).to_owned(),
        operation: function.operation.clone(),
        effect: function.effect.as_str(),
        deprecated: function.is_deprecated,
        description: description(function),
        import_line: language.import_line(function),
        signature: write(function, &parts, types, language, &name),
        types: source.with_advice(language),
        parameters: parameters
            .map(|(parameter, shape)| parameter_card(parameter, annotation(shape), types, language))
            .collect(),
        body: function.body.as_ref().map(|body| body_card(body, &parts, &annotation)),
        result: annotation(&parts.result),
        observed: function.result.as_ref().is_some_and(is_observed),
        paginates: function
            .pagination
            .as_ref()
            .map(|pagination| paginates(pagination, function, language)),
        errors: errors
            .map(|(status, text)| (one_line(status, MAX_ERROR_CHARS), one_line(text, MAX_ERROR_CHARS)))
            .collect(),
        example: example(function, types, language),
    }
}

/// What the text of a function's types begins from. What is sent comes first: without it there is no call.
pub(super) fn roots<'p>(function: &Function, parts: &'p Parts) -> impl Iterator<Item = &'p Shape> {
    let body = function.body.as_ref().map(|_| body_shape(parts));
    body.into_iter()
        .chain(&parts.parameters)
        .chain([&parts.result])
        .chain(parts.bodies.iter().skip(1))
}

/// The summary, and what the description adds to it.
fn description(function: &Function) -> String {
    let summary = one_line(&function.summary, MAX_DESCRIPTION_CHARS);
    let limit = match &function.target {
        Target::Http(_) => MAX_DESCRIPTION_CHARS,
        Target::Tool(_) => MAX_TOOL_CHARS,
    };
    let description = paragraph(&function.description, limit);
    // The summary is one line, whatever the description has.
    let line = one_line(&function.description, limit);
    let adds_nothing = description.is_empty() || summary.starts_with(line.trim_end_matches(['.', '…']));
    match (summary.is_empty(), adds_nothing) {
        (_, true) => summary,
        (true, false) => description,
        (false, false) if line.starts_with(summary.trim_end_matches(['.', '…'])) => description,
        (false, false) => format!("{summary}\n{description}"),
    }
}

fn paginates(pagination: &Pagination, function: &Function, language: Language) -> String {
    let by = match &pagination.advance {
        Advance::Links => "link header",
        Advance::Cursor { .. } => "cursor",
        Advance::LastItem { .. } => "last item",
        Advance::Page { .. } => "page number",
        Advance::Offset { .. } => "offset",
    };
    match language {
        Language::Python => format!("by {by}; `mce.paginate({}, {{…}})` yields the items of all pages", function.python),
        Language::TypeScript => format!(
            "by {by}; `for await (const item of paginate({}.{}, {{…}}))` has the items of all pages",
            function.server, function.typescript
        ),
    }
}

fn parameter_card(parameter: &Parameter, type_text: String, types: &Types, language: Language) -> ParameterCard {
    let name = if language == Language::Python {
        &parameter.python
    } else {
        &parameter.typescript
    };
    let resolved = schema::resolve(&parameter.schema, types);
    let find = |key: &str| parameter.schema.get(key).or_else(|| resolved.and_then(|schema| schema.get(key)));
    let is_short = |value: &&Value| value.to_string().chars().count() <= MAX_VALUE_CHARS;
    let values = find("enum").and_then(Value::as_array).into_iter().flatten();
    // The type lists short enumerations already.
    let is_listed = values.clone().count() <= MAX_LITERALS;
    let description = one_line(&parameter.description, MAX_DESCRIPTION_CHARS);
    let constraints = constraints(&parameter.schema, types, MAX_LITERALS);
    ParameterCard {
        name: name.clone(),
        original: (parameter.original != *name).then(|| one_line(&parameter.original, MAX_VALUE_CHARS)),
        location: parameter.location,
        type_text,
        required: parameter.is_required,
        deprecated: parameter.is_deprecated,
        description: [constraints, description]
            .into_iter()
            .filter(|text| !text.is_empty())
            .collect::<Vec<_>>()
            .join("; "),
        default: find("default")
            .filter(|value| !value.is_null())
            .filter(is_short)
            .map(|value| literal(value, language)),
        values: if is_listed {
            Vec::new()
        } else {
            values.filter(is_short).take(MAX_VALUES).cloned().collect()
        },
    }
}

fn body_card(body: &Body, parts: &Parts, annotation: &dyn Fn(&Shape) -> String) -> BodyCard {
    let alternatives = body.variants.iter().zip(&parts.bodies).skip(1);
    BodyCard {
        type_text: annotation(body_shape(parts)),
        content_type: body
            .variants
            .first()
            .map(|variant| one_line(&variant.media_type, MAX_VALUE_CHARS))
            .unwrap_or_default(),
        required: body.is_required,
        description: one_line(&body.description, MAX_DESCRIPTION_CHARS),
        alternatives: alternatives
            .map(|(variant, shape)| (one_line(&variant.media_type, MAX_VALUE_CHARS), annotation(shape)))
            .collect(),
    }
}
