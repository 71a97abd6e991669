//! The five spellings of "or null" become one: `nullable`, `x-nullable`, `null` among types, among `enum` values, and as
//! an alternative.

use serde_json::{Map, Value, json};

use super::super::reference::Node;

/// Keywords that say nothing about values; they stay outside when a schema is wrapped.
const ANNOTATIONS: &[&str] = &["description", "default", "deprecated", "readOnly", "writeOnly"];

/// Lets `out`, made from `node`, accept null if the document says so.
pub(super) fn admit_null(node: &Node<'_>, out: &mut Map<String, Value>) {
    let is_declared = node.flag("nullable") == Some(true) || node.flag("x-nullable") == Some(true);
    // A `null` among the values is meant, whatever `type` says.
    let is_among_values = out
        .get("enum")
        .and_then(Value::as_array)
        .is_some_and(|values| values.contains(&Value::Null));
    if !is_declared && !is_among_values {
        return;
    }
    if ["$ref", "allOf", "oneOf", "anyOf", "not"].iter().any(|key| out.contains_key(*key)) {
        if is_declared {
            wrap(out);
        }
        return;
    }
    match out.get_mut("type") {
        Some(Value::Array(types)) if !types.iter().any(|name| name == "null") => types.push("null".into()),
        Some(only @ Value::String(_)) if *only != "null" => *only = json!([only.take(), "null"]),
        _ => {}
    }
    if let Some(Value::Array(values)) = out.get_mut("enum")
        && !values.contains(&Value::Null)
    {
        values.push(Value::Null);
    }
    if out.get("const").is_some_and(|value| !value.is_null())
        && let Some(only) = out.shift_remove("const")
    {
        out.insert("enum".to_owned(), json!([only, null]));
    }
}

/// `{X}` becomes `{anyOf: [{X}, {type: null}]}`.
fn wrap(out: &mut Map<String, Value>) {
    let is_choice = out
        .keys()
        .all(|key| key == "anyOf" || key == "discriminator" || ANNOTATIONS.contains(&key.as_str()));
    if is_choice && let Some(Value::Array(alternatives)) = out.get_mut("anyOf") {
        if !alternatives.contains(&json!({"type": "null"})) {
            alternatives.push(json!({"type": "null"}));
        }
        return;
    }
    let whole = std::mem::take(out);
    let mut inner = Map::new();
    for (key, value) in whole {
        if ANNOTATIONS.contains(&key.as_str()) {
            out.insert(key, value);
        } else {
            inner.insert(key, value);
        }
    }
    out.insert("anyOf".to_owned(), json!([inner, {"type": "null"}]));
}
