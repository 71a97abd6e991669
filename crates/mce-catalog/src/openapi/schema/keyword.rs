//! Keywords that hold no schemas: types, enums, bounds, patterns. Each comes out with a value that JSON Schema 2020-12
//! allows, or not at all.

use std::collections::BTreeSet;

use serde_json::{Map, Number, Value};

use super::super::document::Reader;
use super::super::media_type;
use super::super::reference::{Node, flag};
use super::Place;

/// Longest pattern that is checked; a longer one is left out.
const MAX_PATTERN: usize = 4_000;

impl<'a> Reader<'a> {
    /// `type`, and `format` where the document's word for a type says more than a type can.
    pub(super) fn type_keyword(&mut self, node: &Node<'a>, place: Place, out: &mut Map<String, Value>) {
        let mut types: Vec<Value> = Vec::new();
        let declared = node.get("type");
        let words: Vec<Node<'a>> = match &declared {
            Some(declared) if declared.value.is_array() => declared.items().collect(),
            Some(declared) if !declared.value.is_null() => vec![declared.clone()],
            _ => Vec::new(),
        };
        for word in words {
            let Some((name, format)) = word.value.as_str().and_then(known_type) else {
                if word.value.as_str() != Some("any") {
                    self.problem(&word, "this is no type that is known; any value is accepted");
                }
                // One of several types that may be anything means anything.
                types.clear();
                break;
            };
            if !types.iter().any(|known| known == name) {
                types.push(name.into());
            }
            if let Some(format) = format {
                out.insert("format".to_owned(), format.into());
            }
        }
        if types.is_empty() && declared.is_none() && place == Place::Own {
            types.extend(inferred_type(node).map(Value::from));
        }
        match types.len() {
            0 => {}
            1 => out.extend(types.pop().map(|only| ("type".to_owned(), only))),
            _ => out.extend([("type".to_owned(), Value::Array(types))]),
        }
    }

    /// Keywords whose value is kept as it is, if it is of the right kind.
    pub(super) fn plain_keyword(&mut self, key: &str, member: &Node<'a>, out: &mut Map<String, Value>) {
        let kept = match key {
            "const" => Some(member.value.clone()),
            "enum" => self.enumeration(member, out),
            "required" => member
                .value
                .as_array()
                .map(|_| names(member.value))
                .filter(|names| names != &Value::Array(Vec::new())),
            "dependentRequired" => member
                .object()
                .map(|_| member.members().map(|(name, list)| (name.to_owned(), names(list.value))).collect()),
            "minLength" | "maxLength" | "minItems" | "maxItems" | "minProperties" | "maxProperties" | "minContains" | "maxContains" => {
                count(member.value)
            }
            "minimum" | "maximum" => number(member.value).map(Value::Number),
            // A boolean until draft 4: see `repair_bounds`.
            "exclusiveMinimum" | "exclusiveMaximum" => flag(member.value)
                .map(Value::Bool)
                .or_else(|| number(member.value).map(Value::Number)),
            "multipleOf" => number(member.value)
                .filter(|number| number.as_f64().is_some_and(|n| n > 0.0))
                .map(Value::Number),
            "uniqueItems" => flag(member.value).filter(|flag| *flag).map(Value::Bool),
            "format" if out.contains_key("format") => return,
            "format" | "contentEncoding" | "contentMediaType" => {
                let is_word =
                    |text: &&str| !text.is_empty() && text.len() <= 100 && text.bytes().all(|b| b.is_ascii_graphic() || b == b' ');
                member.value.as_str().filter(is_word).map(Value::from)
            }
            "pattern" => return self.pattern(member, out),
            _ => return,
        };
        match kept {
            Some(value) => {
                out.insert(key.to_owned(), value);
            }
            // In drafts before 4 `required` is a flag of the property.
            None if matches!(key, "required" | "uniqueItems" | "format") || member.value.is_null() => {}
            None => self.problem(member, &format!("`{key}` is empty or of the wrong kind; it is left out")),
        }
    }

    fn pattern(&mut self, member: &Node<'a>, out: &mut Map<String, Value>) {
        match member.value.as_str() {
            Some(pattern) if self.is_pattern(pattern) => {
                out.insert("pattern".to_owned(), pattern.into());
            }
            Some(_) => self.problem(member, "this is no regular expression that is known here; it is left out"),
            None => {}
        }
    }

    /// Whether a validator will accept a pattern.
    pub(super) fn is_pattern(&mut self, pattern: &str) -> bool {
        if let Some(known) = self.patterns.get(pattern) {
            return *known;
        }
        let is_pattern = pattern.len() <= MAX_PATTERN && {
            let schema = serde_json::json!({"pattern": pattern});
            jsonschema::options()
                .with_draft(jsonschema::Draft::Draft202012)
                .offline()
                .build(&schema)
                .is_ok()
        };
        self.patterns.insert(pattern.to_owned(), is_pattern);
        is_pattern
    }

    /// Values in the type that the schema has, each once: `type: string` with `enum: [1, 2]` means texts.
    fn enumeration(&mut self, member: &Node<'a>, out: &mut Map<String, Value>) -> Option<Value> {
        let items = member.value.as_array().filter(|items| !items.is_empty())?;
        if !self.spend(items.len()) {
            return None;
        }
        let types = types_of(out);
        let mut seen = BTreeSet::new();
        let mut values = Vec::with_capacity(items.len());
        for item in items {
            let value = in_type(item, &types);
            if seen.insert(value.to_string()) {
                values.push(value);
            }
        }
        Some(Value::Array(values))
    }
}

/// A count; `1e9` and `0.0` are counts as well.
fn count(value: &Value) -> Option<Value> {
    // 2^53: up to here each integer has a float of its own.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    let number = number(value)?;
    if let Some(count) = number.as_u64() {
        return Some(count.into());
    }
    let float = number.as_f64().filter(|float| *float >= 0.0 && float.fract() == 0.0)?;
    if float > EXACT {
        return Some(u64::MAX.into());
    }
    format!("{float:.0}").parse::<u64>().ok().map(Value::from)
}

/// The types that a schema allows by name, as far as `type` is done already.
fn types_of(schema: &Map<String, Value>) -> Vec<String> {
    match schema.get("type") {
        Some(Value::String(only)) => vec![only.clone()],
        Some(Value::Array(types)) => types.iter().filter_map(|name| name.as_str().map(str::to_owned)).collect(),
        _ => Vec::new(),
    }
}

/// A value as the type wants it, where it is plain what was meant.
fn in_type(value: &Value, types: &[String]) -> Value {
    let allows = |name: &str| types.iter().any(|known| known == name);
    match value {
        Value::Number(_) | Value::Bool(_)
            if allows("string") && !types.iter().any(|name| matches!(name.as_str(), "integer" | "number" | "boolean")) =>
        {
            Value::String(value.to_string())
        }
        Value::String(text) if !types.is_empty() && !allows("string") => {
            if allows("boolean") && flag(value).is_some() {
                flag(value).map_or(Value::Null, Value::Bool)
            } else if allows("integer") || allows("number") {
                serde_json::from_str::<Number>(text).map_or_else(|_| value.clone(), Value::Number)
            } else {
                value.clone()
            }
        }
        _ => value.clone(),
    }
}

/// A number, also if written as text.
fn number(value: &Value) -> Option<Number> {
    match value {
        Value::Number(number) => Some(number.clone()),
        Value::String(text) => serde_json::from_str(text.trim()).ok(),
        _ => None,
    }
}

/// The texts of a list, each once.
pub(super) fn names(value: &Value) -> Value {
    let mut seen = BTreeSet::new();
    let names = value
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .filter(|name| seen.insert(*name));
    Value::Array(names.map(Value::from).collect())
}

/// The type of JSON Schema for a word of a document, and the format that the word implies.
fn known_type(word: &str) -> Option<(&'static str, Option<&'static str>)> {
    Some(match word.trim().to_ascii_lowercase().as_str() {
        "string" | "text" | "str" => ("string", None),
        "integer" | "int" | "long" => ("integer", None),
        "number" | "float" | "double" | "decimal" => ("number", None),
        "boolean" | "bool" => ("boolean", None),
        "array" | "list" => ("array", None),
        "object" | "map" | "dict" | "hash" => ("object", None),
        "null" => ("null", None),
        // Swagger 2.0, Parameter and Response Objects.
        "file" => ("string", Some("binary")),
        "date" => ("string", Some("date")),
        "datetime" | "date-time" => ("string", Some("date-time")),
        "uuid" => ("string", Some("uuid")),
        _ => return None,
    })
}

/// What a schema without `type` must be by its other keywords.
fn inferred_type(node: &Node<'_>) -> Option<&'static str> {
    let has = |key: &str| node.object().is_some_and(|members| members.contains_key(key));
    if ["allOf", "anyOf", "oneOf", "not", "enum", "const", "$ref", "if"]
        .iter()
        .any(|key| has(key))
    {
        return None;
    }
    if has("properties") || node.get("additionalProperties").is_some_and(|it| it.value.is_object()) {
        return Some("object");
    }
    has("items").then_some("array")
}

/// Until draft 4 `exclusiveMinimum` is a flag beside `minimum`; now it is the bound itself.
pub(super) fn repair_bounds(out: &mut Map<String, Value>) {
    for (exclusive, inclusive) in [("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")] {
        let Some(Value::Bool(is_exclusive)) = out.get(exclusive) else {
            continue;
        };
        let is_exclusive = *is_exclusive;
        out.shift_remove(exclusive);
        if is_exclusive && let Some(bound) = out.shift_remove(inclusive) {
            out.insert(exclusive.to_owned(), bound);
        }
    }
}

/// From 3.1 on bytes are text with a media type and no encoding. (OpenAPI 3.1, Working with Binary Data.)
pub(super) fn repair_binary(out: &mut Map<String, Value>) {
    let Some(media_type) = out.get("contentMediaType").and_then(Value::as_str) else {
        return;
    };
    if media_type::is_json(media_type) || media_type::is_text(media_type) || out.contains_key("contentEncoding") {
        return;
    }
    let is_text = out.get("type").is_none_or(|it| it == "string");
    let is_alone = !["$ref", "allOf", "anyOf", "oneOf", "format"]
        .iter()
        .any(|key| out.contains_key(*key));
    if is_text && is_alone {
        out.insert("type".to_owned(), "string".into());
        out.insert("format".to_owned(), "binary".into());
    }
}

/// `enum` beside `type: array` means the items, where no value of it is a list.
pub(super) fn repair_list_of_choices(out: &mut Map<String, Value>) {
    let is_list = out.get("type").is_some_and(|it| it == "array");
    let values = out.get("enum").and_then(Value::as_array);
    if !is_list || values.is_none_or(|values| values.iter().any(|value| value.is_array() || value.is_null())) {
        return;
    }
    let Some(values) = out.shift_remove("enum") else { return };
    let items = out.entry("items").or_insert_with(|| Value::Object(Map::new()));
    if let Some(items) = items.as_object_mut().filter(|items| !items.contains_key("enum")) {
        items.insert("enum".to_owned(), values);
    }
}

/// A closed object that requires a property it does not declare has no value at all; the property may be anything then.
pub(super) fn repair_required(out: &mut Map<String, Value>) {
    let is_closed = out.get("additionalProperties") == Some(&Value::Bool(false)) && !out.contains_key("patternProperties");
    let Some(required) = out.get("required").and_then(Value::as_array).filter(|_| is_closed).cloned() else {
        return;
    };
    let properties = out.entry("properties").or_insert_with(|| Value::Object(Map::new()));
    if let Some(properties) = properties.as_object_mut() {
        for name in required.iter().filter_map(Value::as_str) {
            properties.entry(name).or_insert(Value::Bool(true));
        }
    }
}
