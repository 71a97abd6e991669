//! The shape of values that a tool without an output schema has answered with: types and names of properties, never values.
//! It is what was seen, not what is promised, and is shown as that.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

/// Levels that are looked into.
const MAX_DEPTH: usize = 5;
/// Items of a list that are looked at.
const MAX_ITEMS: usize = 20;
/// An object with more properties, or with names that look like data, is a map.
const MAX_PROPERTIES: usize = 24;
/// Types that a value may have; beyond, any.
const MAX_ALTERNATIVES: usize = 4;
/// A shape with longer text says of its properties no more than that they are there.
const MAX_BYTES: usize = 4 << 10;
/// Characters of a property's name.
const MAX_NAME_CHARS: usize = 40;
/// What a schema has that is made of answers.
const MARK: &str = "x-observed";

/// The shape of a value as a JSON Schema.
pub fn shape_of(value: &Value) -> Value {
    bounded(shape(value, MAX_DEPTH))
}

/// The shape that covers both.
pub fn merged(left: &Value, right: &Value) -> Value {
    bounded(union(left.clone(), right.clone()))
}

/// The shape as the result of a function: marked, and with a word to its reader.
pub(crate) fn as_result(mut shape: Value) -> Value {
    if let Value::Object(members) = &mut shape {
        members.insert(MARK.to_owned(), true.into());
        if members.contains_key("properties") {
            members.insert("description".to_owned(), "As seen in answers, not promised.".into());
        }
    }
    shape
}

/// Whether the result of a function is what was seen, which becomes another with further answers.
pub fn is_observed(result: &Value) -> bool {
    result.get(MARK).is_some()
}

fn shape(value: &Value, depth: usize) -> Value {
    match value {
        Value::Null => json!({"type": "null"}),
        Value::Bool(_) => json!({"type": "boolean"}),
        Value::Number(number) if number.is_f64() => json!({"type": "number"}),
        Value::Number(_) => json!({"type": "integer"}),
        Value::String(_) => json!({"type": "string"}),
        Value::Array(_) if depth == 0 => json!({"type": "array"}),
        Value::Array(items) => {
            let all = items.iter().take(MAX_ITEMS).map(|item| shape(item, depth - 1));
            all.reduce(union)
                .map_or_else(|| json!({"type": "array"}), |items| json!({"type": "array", "items": items}))
        }
        Value::Object(_) if depth == 0 => json!({"type": "object"}),
        Value::Object(members) if is_map(members) => {
            let all = members.values().take(MAX_ITEMS).map(|member| shape(member, depth - 1));
            let values = all.reduce(union).unwrap_or_else(|| json!({}));
            json!({"type": "object", "additionalProperties": values})
        }
        Value::Object(members) => {
            let properties: Map<String, Value> = members
                .iter()
                .map(|(name, member)| (name.clone(), shape(member, depth - 1)))
                .collect();
            let required: Vec<&String> = members.keys().collect();
            json!({"type": "object", "properties": properties, "required": required})
        }
    }
}

/// Whether the names of an object's members are data, as in a table by id.
fn is_map(members: &Map<String, Value>) -> bool {
    let is_name = |name: &String| {
        let is_plain = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '$' | '@' | '.' | ' ');
        let starts = name.chars().next().is_some_and(|first| !first.is_ascii_digit());
        starts && name.chars().count() <= MAX_NAME_CHARS && name.chars().all(is_plain)
    };
    members.len() > MAX_PROPERTIES || !members.keys().all(is_name)
}

fn union(left: Value, right: Value) -> Value {
    if left == right {
        return left;
    }
    let mut alternatives: Vec<Value> = Vec::new();
    for one in flat(left).into_iter().chain(flat(right)) {
        let same_kind = alternatives.iter().position(|known| are_one_kind(known, &one));
        match same_kind {
            Some(at) => {
                let known = alternatives.swap_remove(at);
                alternatives.insert(at, combined(known, &one));
            }
            None => alternatives.push(one),
        }
    }
    match alternatives.len() {
        1 => alternatives.pop().unwrap_or_default(),
        2..=MAX_ALTERNATIVES => json!({"anyOf": alternatives}),
        _ => json!({}),
    }
}

fn flat(schema: Value) -> Vec<Value> {
    match schema {
        Value::Object(mut members) => match members.remove("anyOf") {
            Some(Value::Array(alternatives)) => alternatives,
            _ => vec![Value::Object(members)],
        },
        other => vec![other],
    }
}

fn kind(schema: &Value) -> &str {
    match schema.get("type").and_then(Value::as_str) {
        Some("integer") => "number",
        Some(word) => word,
        None => "any",
    }
}

fn are_one_kind(left: &Value, right: &Value) -> bool {
    kind(left) == kind(right)
}

/// Of two shapes of one kind.
fn combined(left: Value, right: &Value) -> Value {
    if left == *right {
        return left;
    }
    match kind(&left) {
        "number" => json!({"type": "number"}),
        "array" => match (left.get("items"), right.get("items")) {
            (Some(one), Some(other)) => json!({"type": "array", "items": union(one.clone(), other.clone())}),
            (Some(items), None) | (None, Some(items)) => json!({"type": "array", "items": items}),
            (None, None) => left,
        },
        "object" => combined_objects(&left, right),
        _ => left,
    }
}

fn combined_objects(left: &Value, right: &Value) -> Value {
    let properties = |schema: &Value| schema.get("properties").and_then(Value::as_object).cloned();
    let (Some(mut all), Some(others)) = (properties(left), properties(right)) else {
        let values = |schema: &Value| -> Vec<Value> {
            let of_map = schema.get("additionalProperties").cloned();
            of_map
                .into_iter()
                .chain(properties(schema).into_iter().flatten().map(|(_, member)| member))
                .collect()
        };
        let both = values(left).into_iter().chain(values(right)).reduce(union);
        return match both {
            Some(values) => json!({"type": "object", "additionalProperties": values}),
            None => json!({"type": "object"}),
        };
    };
    let names = |schema: &Value| -> BTreeSet<String> {
        let listed = schema.get("required").and_then(Value::as_array).into_iter().flatten();
        listed.filter_map(Value::as_str).map(str::to_owned).collect()
    };
    let required: Vec<String> = names(left).intersection(&names(right)).cloned().collect();
    for (name, member) in others {
        match all.get_mut(&name) {
            Some(known) => *known = union(known.take(), member),
            None => {
                all.insert(name, member);
            }
        }
    }
    if all.len() > MAX_PROPERTIES {
        let values = all.into_iter().map(|(_, member)| member).reduce(union).unwrap_or_else(|| json!({}));
        return json!({"type": "object", "additionalProperties": values});
    }
    json!({"type": "object", "properties": all, "required": required})
}

/// A shape that does not grow: what is too long loses its inner parts, then all.
fn bounded(shape: Value) -> Value {
    if shape.to_string().len() <= MAX_BYTES {
        return shape;
    }
    let shallow = without_parts(&shape, 1);
    if shallow.to_string().len() <= MAX_BYTES {
        return shallow;
    }
    without_parts(&shape, 0)
}

fn without_parts(schema: &Value, depth: usize) -> Value {
    let Value::Object(members) = schema else { return schema.clone() };
    let mut out = Map::new();
    for (key, value) in members {
        match (key.as_str(), value) {
            ("properties", Value::Object(properties)) if depth > 0 => {
                let inner = properties
                    .iter()
                    .map(|(name, property)| (name.clone(), without_parts(property, depth - 1)));
                out.insert(key.clone(), Value::Object(inner.collect()));
            }
            ("items" | "additionalProperties", inner) if depth > 0 => {
                out.insert(key.clone(), without_parts(inner, depth - 1));
            }
            ("type", _) => {
                out.insert(key.clone(), value.clone());
            }
            ("required", _) if depth > 0 => {
                out.insert(key.clone(), value.clone());
            }
            _ => {}
        }
    }
    Value::Object(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shape_has_types_and_names_and_no_values() {
        let value = json!({"id": 7, "name": "secret words", "tags": ["a", "b"], "price": 1.5, "next": null, "ok": true});
        let shape = shape_of(&value);
        assert_eq!(
            shape,
            json!({"type": "object", "required": ["id", "name", "tags", "price", "next", "ok"], "properties": {
                "id": {"type": "integer"}, "name": {"type": "string"}, "tags": {"type": "array", "items": {"type": "string"}},
                "price": {"type": "number"}, "next": {"type": "null"}, "ok": {"type": "boolean"}}})
        );
        assert!(!shape.to_string().contains("secret"));
    }

    #[test]
    fn what_differs_between_answers_becomes_optional_or_a_union() {
        let left = shape_of(&json!({"a": 1, "b": "x"}));
        let right = shape_of(&json!({"a": 1.5, "c": []}));
        let both = merged(&left, &right);
        assert_eq!(
            both,
            json!({"type": "object", "required": ["a"], "properties": {
                "a": {"type": "number"}, "b": {"type": "string"}, "c": {"type": "array"}}})
        );
        assert_eq!(merged(&both, &right), both);
        assert_eq!(
            merged(&shape_of(&json!("x")), &shape_of(&json!(null))),
            json!({"anyOf": [{"type": "string"}, {"type": "null"}]})
        );
        assert_eq!(
            shape_of(&json!([{"a": 1}, {"a": null}]))["items"]["properties"]["a"],
            json!({"anyOf": [{"type": "integer"}, {"type": "null"}]})
        );
    }

    #[test]
    fn names_that_are_data_make_a_map() {
        let by_id = json!({"17": {"n": 1}, "42": {"n": 2}});
        let shape = shape_of(&by_id);
        assert_eq!(shape["additionalProperties"]["properties"]["n"], json!({"type": "integer"}));
        let by_path = shape_of(&json!({"/etc/a": 1}));
        assert_eq!(by_path, json!({"type": "object", "additionalProperties": {"type": "integer"}}));
        let map_and_object = merged(&shape, &shape_of(&json!({"name": {"n": "x"}})));
        assert!(map_and_object.get("properties").is_none(), "{map_and_object}");
    }

    #[test]
    fn a_shape_stays_small_whatever_is_seen() {
        let wide: Map<String, Value> = (0..1000).map(|n| (format!("name{n}"), json!({"deep": {"deeper": [n]}}))).collect();
        let deep = (0..200).fold(
            json!(1),
            |inner, n| json!({format!("level{n}"): inner, "x": [1, "a", null, true, {}]}),
        );
        let mut all = json!({});
        for value in [Value::Object(wide), deep, json!([[[[[[[1]]]]]]]), json!("text")] {
            all = merged(&all, &shape_of(&value));
            assert!(all.to_string().len() <= MAX_BYTES, "{all}");
        }
        let growing = (0..500).fold(shape_of(&json!({})), |known, n| {
            merged(&known, &shape_of(&json!({format!("field_{n}"): {"a": n, "b": "x", "c": [n]}})))
        });
        assert!(growing.to_string().len() <= MAX_BYTES, "{growing}");
    }
}
