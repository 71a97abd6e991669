//! What kind of thing a schema describes, as far as a text needs to know.

use serde_json::{Map, Value};

/// Keywords that say nothing about which values are valid.
const ANNOTATIONS: [&str; 12] = [
    "$comment",
    "$ref",
    "allOf",
    "default",
    "deprecated",
    "description",
    "example",
    "examples",
    "externalDocs",
    "readOnly",
    "title",
    "writeOnly",
];

/// The properties of a schema that is an object with known properties and nothing else (but `null`).
pub(super) fn record(schema: &Value) -> Option<&Map<String, Value>> {
    let members = schema.as_object()?;
    let is_other = ["const", "enum"].iter().any(|keyword| members.contains_key(*keyword))
        || ["oneOf", "anyOf"].iter().any(|keyword| {
            // Conditions such as `anyOf: [{required: [a]}, {required: [b]}]` leave it what it is.
            let parts = members.get(*keyword).and_then(Value::as_array);
            parts.is_some_and(|parts| {
                parts.iter().any(|part| {
                    part.as_object()
                        .is_none_or(|part| part.keys().any(|key| key != "required" && key != "not"))
                })
            })
        });
    let is_object = match members.get("type") {
        None => true,
        Some(Value::String(kind)) => kind == "object",
        Some(Value::Array(kinds)) => kinds.iter().all(|kind| kind == "object" || kind == "null"),
        Some(_) => false,
    };
    members
        .get("properties")
        .and_then(Value::as_object)
        .filter(|properties| !is_other && is_object && !properties.is_empty())
}

/// The name in a schema that is a reference and otherwise only describes; also as the only part of an `allOf`.
pub(super) fn only_reference(members: &Map<String, Value>) -> Option<&str> {
    if !members
        .keys()
        .all(|key| ANNOTATIONS.contains(&key.as_str()) || key.starts_with("x-"))
    {
        return None;
    }
    let own = members
        .get("$ref")
        .and_then(Value::as_str)
        .and_then(|text| text.strip_prefix("#/$defs/"));
    match (own, members.get("allOf").and_then(Value::as_array).map(Vec::as_slice)) {
        (Some(name), None) => Some(name),
        (None, Some([Value::Object(part)])) => only_reference(part),
        _ => None,
    }
}

pub(super) fn is_nullable(schema: &Value) -> bool {
    schema
        .get("type")
        .and_then(Value::as_array)
        .is_some_and(|kinds| kinds.iter().any(|kind| kind == "null"))
}

pub(super) fn is_bytes(members: &Map<String, Value>) -> bool {
    let is_text = |key: &str, wanted: &str| members.get(key).and_then(Value::as_str) == Some(wanted);
    is_text("format", "binary") || (is_text("contentMediaType", "application/octet-stream") && !members.contains_key("contentEncoding"))
}

/// The words of `type`, or what the other keywords make likely.
pub(super) fn kinds(members: &Map<String, Value>) -> Vec<&str> {
    match members.get("type") {
        Some(Value::String(kind)) => return vec![kind],
        Some(Value::Array(kinds)) => return kinds.iter().filter_map(Value::as_str).collect(),
        Some(_) | None => {}
    }
    let has = |keywords: &[&str]| keywords.iter().any(|keyword| members.contains_key(*keyword));
    if has(&["properties", "additionalProperties", "patternProperties"]) {
        vec!["object"]
    } else if has(&["items", "prefixItems"]) {
        vec!["array"]
    } else if has(&["pattern", "minLength", "maxLength"]) {
        vec!["string"]
    } else {
        Vec::new()
    }
}
