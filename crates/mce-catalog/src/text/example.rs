//! A short program that calls a function, with values that its schemas make likely.

use std::cell::Cell;

use serde_json::{Map, Value};

use super::{
    Language,
    literal::{list, literal, object, text_literal},
    typescript,
};
use crate::{
    function::{Body, BodyFormat, Function, Types},
    schema::{self, View},
};

/// Deeper values are left out.
const MAX_DEPTH: usize = 5;
/// More properties of an object are left out unless they are required.
const MAX_OPTIONAL: usize = 2;
/// More required properties are left out; nobody reads such an example.
const MAX_REQUIRED: usize = 20;
/// An example has no more values than this, whatever the schemas ask for.
const MAX_VALUES: usize = 200;
/// A longer value of a document's examples is not used.
const MAX_VALUE_CHARS: usize = 300;

/// A program that keeps the contract of programs: its value is `result`.
pub(super) fn example(function: &Function, types: &Types, language: Language) -> String {
    let sampler = Sampler {
        types,
        language,
        left: Cell::new(MAX_VALUES),
    };
    let needed = function.parameters.iter().filter(|parameter| parameter.is_required);
    let mut arguments: Vec<(&str, String)> = needed
        .map(|parameter| {
            let name = if language == Language::Python {
                &parameter.python
            } else {
                &parameter.typescript
            };
            (name.as_str(), sampler.text(&parameter.schema, &parameter.original, 0))
        })
        .collect();
    if let Some(body) = &function.body {
        arguments.push(("body", sampler.body(body)));
    }
    let import = language.import_line(function);
    match language {
        Language::Python => {
            let arguments: Vec<String> = arguments.iter().map(|(name, value)| format!("{name}={value}")).collect();
            format!("{import}\n\nresult = {}({})\n", function.python, arguments.join(", "))
        }
        Language::TypeScript => {
            let members: Vec<String> = arguments
                .iter()
                .map(|(name, value)| format!("{}: {value}", typescript::key(name)))
                .collect();
            let members = if members.is_empty() {
                String::new()
            } else {
                format!("{{ {} }}", members.join(", "))
            };
            format!(
                "{import}\n\nconst result = await {}.{}({members});\n",
                function.server, function.typescript
            )
        }
    }
}

struct Sampler<'a> {
    types: &'a Types,
    language: Language,
    /// How many more values are made; after that they are left out.
    left: Cell<usize>,
}

impl Sampler<'_> {
    fn body(&self, body: &Body) -> String {
        let Some(variant) = body.variants.first() else {
            return self.literal(&Value::Null);
        };
        match variant.format {
            BodyFormat::Binary => self.bytes(),
            BodyFormat::Text => self.text(&variant.schema, "text", 0),
            BodyFormat::Json | BodyFormat::Form | BodyFormat::Multipart => self.text(&variant.schema, "body", 0),
        }
    }

    fn literal(&self, value: &Value) -> String {
        literal(value, self.language)
    }

    fn bytes(&self) -> String {
        match self.language {
            Language::Python => "b\"...\"".to_owned(),
            Language::TypeScript => "new TextEncoder().encode(\"...\")".to_owned(),
        }
    }

    /// A value for a schema; `name` is that of the property or parameter.
    fn text(&self, schema: &Value, name: &str, depth: usize) -> String {
        let Some(left) = self.left.get().checked_sub(1) else {
            return text_literal(name);
        };
        self.left.set(left);
        let merged = schema::merged(schema, self.types);
        let Some(members) = merged.as_object().filter(|members| !members.is_empty() && depth <= MAX_DEPTH) else {
            return text_literal(name);
        };
        if let Some(value) = given(members) {
            return self.literal(value);
        }
        if let Some(part) = ["oneOf", "anyOf"].iter().find_map(|keyword| best_part(members.get(*keyword))) {
            let mut base = members.clone();
            base.retain(|keyword, _| keyword != "oneOf" && keyword != "anyOf");
            return self.text(&serde_json::json!({ "allOf": [part, base] }), name, depth + 1);
        }
        match kind(members) {
            "null" => self.literal(&Value::Null),
            "boolean" => self.literal(&Value::Bool(true)),
            "integer" => number(members).unwrap_or_else(|| "1".to_owned()),
            "number" => number(members).unwrap_or_else(|| "1.5".to_owned()),
            "array" => {
                let place = members.get("prefixItems").and_then(Value::as_array);
                let items = place.into_iter().flatten().chain(members.get("items").filter(|_| place.is_none()));
                list(items.map(|item| self.text(item, name, depth + 1)))
            }
            "object" => self.object(members, depth),
            _ if members.get("format").and_then(Value::as_str) == Some("binary") => self.bytes(),
            _ => text_literal(&string(members, name)),
        }
    }

    fn object(&self, members: &Map<String, Value>, depth: usize) -> String {
        let required: Vec<&str> = schema::required(members).collect();
        let visible = members.get("properties").and_then(Value::as_object).into_iter().flatten();
        let visible: Vec<_> = visible
            .filter(|(_, schema)| !schema::is_hidden(schema, self.types, View::Request))
            .collect();
        let mut chosen: Vec<_> = visible
            .iter()
            .filter(|(key, _)| required.contains(&key.as_str()))
            .take(MAX_REQUIRED)
            .collect();
        if chosen.is_empty() && depth < 2 {
            chosen = visible.iter().take(MAX_OPTIONAL).collect();
        }
        object(
            chosen
                .into_iter()
                .map(|(key, schema)| (key.as_str(), self.text(schema, key, depth + 1))),
            self.language,
        )
    }
}

/// A value that the schema itself gives.
fn given(members: &Map<String, Value>) -> Option<&Value> {
    let first = |key: &str| {
        members
            .get(key)
            .and_then(Value::as_array)
            .and_then(|values| values.iter().find(|value| !value.is_null()))
    };
    let example = members
        .get("example")
        .or_else(|| first("examples"))
        .or_else(|| members.get("default"));
    let example = example.filter(|value| fits(value, members) && value.to_string().chars().count() <= MAX_VALUE_CHARS);
    members.get("const").or(example).or_else(|| first("enum"))
}

/// Examples of documents are often of another type; a program would be refused with them.
fn fits(value: &Value, members: &Map<String, Value>) -> bool {
    if members
        .get("enum")
        .and_then(Value::as_array)
        .is_some_and(|values| !values.contains(value))
    {
        return false;
    }
    match kind(members) {
        "string" => value.is_string() && members.get("format").and_then(Value::as_str) != Some("binary"),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "boolean" => value.is_boolean(),
        "array" => value.as_array().is_some_and(|items| !items.is_empty()),
        // Required and read-only properties of an example are not checked here; values are put together instead.
        "object" => false,
        _ => !value.is_object() && !value.is_null(),
    }
}

fn best_part(parts: Option<&Value>) -> Option<&Value> {
    let parts = parts?.as_array()?;
    parts
        .iter()
        .find(|part| part.get("type").and_then(Value::as_str) != Some("null"))
        .or_else(|| parts.first())
}

fn kind(members: &Map<String, Value>) -> &str {
    match members.get("type") {
        Some(Value::String(kind)) => kind,
        Some(Value::Array(kinds)) => kinds
            .iter()
            .filter_map(Value::as_str)
            .find(|kind| *kind != "null")
            .unwrap_or("null"),
        Some(_) | None if members.contains_key("properties") => "object",
        Some(_) | None if members.contains_key("items") => "array",
        Some(_) | None => "string",
    }
}

fn number(members: &Map<String, Value>) -> Option<String> {
    members.get("minimum").filter(|value| value.is_number()).map(ToString::to_string)
}

fn string(members: &Map<String, Value>, name: &str) -> String {
    match members.get("format").and_then(Value::as_str).unwrap_or_default() {
        "date-time" => "2026-01-31T12:00:00Z".to_owned(),
        "date" => "2026-01-31".to_owned(),
        "time" => "12:00:00Z".to_owned(),
        "uuid" => "6f1c1f0e-5a0e-4c3c-9b0a-2d6f0f6c9a11".to_owned(),
        "email" => "someone@example.com".to_owned(),
        "uri" | "url" => "https://example.com/".to_owned(),
        "hostname" => "example.com".to_owned(),
        "ipv4" => "192.0.2.1".to_owned(),
        "byte" => "aGk=".to_owned(),
        _ => name.chars().take(40).collect(),
    }
}
