//! What a type cannot say about a value, in one line for a comment.

use serde_json::{Map, Value};

use super::{literal::text_literal, prose::one_line};
use crate::{function::Types, schema};

/// Longest description in a note, in characters.
const MAX_DESCRIPTION_CHARS: usize = 120;
/// Longest default and pattern.
const MAX_VALUE_CHARS: usize = 40;
/// Formats that a type already says.
const SILENT_FORMATS: [&str; 6] = ["int32", "int64", "float", "double", "string", "password"];

/// What a file may be given as.
const FILE: &str = "bytes, or an object with filename, content_type and base64 or text";

/// More values of a discriminator are not listed.
const MAX_TAGS: usize = 20;

/// Format, bounds, default, discriminator and description; empty if there is nothing to say. More than `max_literals` values
/// of an enumeration are not listed.
pub(super) fn note(schema: &Value, types: &Types, max_literals: usize) -> String {
    let get = |key: &str| {
        schema
            .get(key)
            .or_else(|| schema::resolve(schema, types).and_then(|target| target.get(key)))
    };
    let mut parts = Vec::new();
    if get("deprecated") == Some(&Value::Bool(true)) {
        parts.push("deprecated".to_owned());
    }
    parts.push(constraints(schema, types, max_literals));
    if let Some(default) = get("default").filter(|default| !default.is_null()) {
        parts.push(format!("default {}", one_line(&short_json(default), MAX_VALUE_CHARS)));
    }
    // Named types say it where they are defined.
    parts.extend(schema.get("discriminator").and_then(tags));
    let described = get("description").or_else(|| get("title")).and_then(Value::as_str);
    parts.extend(described.map(|text| first_sentence(text, MAX_DESCRIPTION_CHARS)));
    parts.retain(|part| !part.is_empty());
    parts.join("; ")
}

/// Which value of which property means which type. (OpenAPI 3.1, Discriminator Object.)
fn tags(discriminator: &Value) -> Option<String> {
    let property = one_line(discriminator.get("propertyName")?.as_str()?, MAX_VALUE_CHARS);
    let Some(mapping) = discriminator.get("mapping").and_then(Value::as_object) else {
        return Some(format!("by {property}"));
    };
    let type_name = |target: &Value| {
        target
            .as_str()?
            .strip_prefix("#/$defs/")
            .map(|name| one_line(name, MAX_VALUE_CHARS))
    };
    let mut listed: Vec<String> = mapping
        .iter()
        .take(MAX_TAGS)
        .filter_map(|(tag, target)| {
            Some(format!(
                "{} is {}",
                text_literal(&one_line(tag, MAX_VALUE_CHARS)),
                type_name(target)?
            ))
        })
        .collect();
    if mapping.len() > MAX_TAGS {
        listed.push(format!("… {} more", mapping.len() - MAX_TAGS));
    }
    Some(format!("by {property}: {}", listed.join(", ")))
}

/// Format and bounds of a value, and how many values of its enumeration are not listed.
pub(super) fn constraints(schema: &Value, types: &Types, max_literals: usize) -> String {
    let mut parts: Vec<String> = Vec::new();
    let Some(members) = schema::resolve(schema, types).and_then(Value::as_object) else {
        return String::new();
    };
    match members.get("format").and_then(Value::as_str) {
        Some("binary") => parts.push(FILE.to_owned()),
        Some(format) if !SILENT_FORMATS.contains(&format) => parts.push(one_line(format, MAX_VALUE_CHARS)),
        Some(_) | None => {}
    }
    let items = members.get("items").and_then(|items| schema::resolve(items, types));
    if items.is_some_and(|items| items.get("format").is_some_and(|format| format == "binary")) {
        parts.push(format!("each {FILE}"));
    }
    parts.extend(bounds(members));
    let unlisted = members
        .get("enum")
        .and_then(Value::as_array)
        .map_or(0, Vec::len)
        .saturating_sub(max_literals);
    if unlisted > 0 {
        parts.push(format!("… {unlisted} more values"));
    }
    parts.join("; ")
}

/// The first sentence of a text, on one line.
pub(super) fn first_sentence(text: &str, limit: usize) -> String {
    let line = one_line(text, limit.saturating_mul(4));
    let mut sentence = String::new();
    let mut rest = line.split_inclusive(". ");
    for part in rest.by_ref() {
        sentence.push_str(part);
        let is_abbreviation = ["e.g. ", "i.e. ", "etc. ", "vs. "].iter().any(|end| sentence.ends_with(end));
        if sentence.len() > 12 && !is_abbreviation {
            break;
        }
    }
    one_line(&sentence, limit)
}

fn bounds(members: &Map<String, Value>) -> Vec<String> {
    let mut parts = Vec::new();
    let number = |key: &str| members.get(key).filter(|value| value.is_number()).map(ToString::to_string);
    parts.extend(range(number("minimum"), number("maximum"), ""));
    parts.extend(number("exclusiveMinimum").map(|least| format!("more than {least}")));
    parts.extend(number("exclusiveMaximum").map(|most| format!("less than {most}")));
    parts.extend(range(number("minLength"), number("maxLength"), " characters"));
    parts.extend(range(number("minItems"), number("maxItems"), " items"));
    if let Some(pattern) = members
        .get("pattern")
        .and_then(Value::as_str)
        .filter(|pattern| pattern.chars().count() <= MAX_VALUE_CHARS)
    {
        parts.push(format!("matches {}", text_literal(pattern)));
    }
    parts
}

fn range(least: Option<String>, most: Option<String>, unit: &str) -> Option<String> {
    match (least.filter(|least| least != "0" || unit.is_empty()), most) {
        (Some(least), Some(most)) => Some(format!("{least} to {most}{unit}")),
        (Some(least), None) => Some(format!("at least {least}{unit}")),
        (None, Some(most)) => Some(format!("at most {most}{unit}")),
        (None, None) => None,
    }
}

fn short_json(value: &Value) -> String {
    match value {
        Value::String(text) => text_literal(text),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => value.to_string(),
    }
}
