//! What a text on the wire means, and whether that is the value that was meant to be sent.

use percent_encoding::percent_decode_str;
use serde_json::{Number, Value};

/// Percent-decoded.
pub(crate) fn decoded(text: &str) -> String {
    percent_decode_str(text).decode_utf8_lossy().into_owned()
}

/// Percent-decoded, with pluses for spaces.
pub(crate) fn form_decoded(text: &str) -> String {
    decoded(&text.replace('+', " "))
}

/// Whether a text stands for a value that is not null.
pub(crate) fn is_text_of(text: &str, value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::String(meant) => meant == text,
        Value::Bool(meant) => text == meant.to_string(),
        Value::Number(meant) => serde_json::from_str::<Number>(text).is_ok_and(|number| is_same_number(&number, meant)),
        Value::Array(_) | Value::Object(_) => serde_json::from_str::<Value>(text).is_ok_and(|came| is_same(&came, value)),
    }
}

/// Whether two values are the same, where `1` and `1.0` are one number.
pub(crate) fn is_same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => is_same_number(one, other),
        (Value::Array(one), Value::Array(other)) => one.len() == other.len() && one.iter().zip(other).all(|(a, b)| is_same(a, b)),
        (Value::Object(one), Value::Object(other)) => {
            one.len() == other.len() && one.iter().all(|(key, value)| other.get(key).is_some_and(|it| is_same(value, it)))
        }
        _ => one == other,
    }
}

fn is_same_number(one: &Number, other: &Number) -> bool {
    one == other || ((one.is_f64() || other.is_f64()) && one.as_f64() == other.as_f64())
}

/// The items that can be sent. (RFC 6570, section 2.3: undefined ones are not.)
pub(crate) fn sent_items(items: &[Value]) -> Vec<&Value> {
    items.iter().filter(|item| !item.is_null()).collect()
}

/// Likewise the members.
pub(crate) fn sent_members(value: &Value) -> Vec<(&String, &Value)> {
    let members = value.as_object().into_iter().flatten();
    members.filter(|(_, member)| !member.is_null()).collect()
}

/// The values in a structure, each with its name in brackets: `a[b][]`.
pub(crate) fn leaves<'v>(name: &str, value: &'v Value, found: &mut Vec<(String, &'v Value)>) {
    match value {
        Value::Object(members) => members
            .iter()
            .for_each(|(key, member)| leaves(&format!("{name}[{key}]"), member, found)),
        Value::Array(items) => items.iter().for_each(|item| leaves(&format!("{name}[]"), item, found)),
        Value::Null => {}
        other => found.push((name.to_owned(), other)),
    }
}
