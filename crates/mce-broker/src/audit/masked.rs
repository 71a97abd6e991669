//! Arguments as the log keeps them where somebody chose so: without secrets, and cut.

use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::redact::{MARK, Redactor};

/// Characters of a text.
const MAX_TEXT_CHARS: usize = 100;
/// Members of an object, and items of an array.
const MAX_MEMBERS: usize = 20;
/// Levels of nesting.
const MAX_DEPTH: usize = 4;
/// Values of all arguments.
const MAX_VALUES: usize = 200;
/// What stands where something was cut off.
const CUT: &str = "…";
/// Parts of names whose values are nobody's business.
const SECRET_NAMES: [&str; 9] = [
    "password",
    "passwd",
    "secret",
    "token",
    "apikey",
    "authorization",
    "cookie",
    "credential",
    "privatekey",
];

/// The arguments with what may be kept of them.
pub(super) fn masked(arguments: &RawValue, redactor: &Redactor) -> Value {
    let clean = redactor.json(arguments.get());
    let value = serde_json::from_str(&clean).unwrap_or_default();
    let mut left = MAX_VALUES;
    cut(value, 0, &mut left)
}

fn cut(value: Value, depth: usize, left: &mut usize) -> Value {
    let Some(rest) = left.checked_sub(1) else {
        return CUT.into();
    };
    *left = rest;
    match value {
        Value::Array(_) | Value::Object(_) if depth >= MAX_DEPTH => CUT.into(),
        Value::Array(items) => {
            let more = (items.len() > MAX_MEMBERS).then(|| Value::from(CUT));
            let items = items.into_iter().take(MAX_MEMBERS).map(|item| cut(item, depth + 1, left));
            Value::Array(items.chain(more).collect())
        }
        Value::Object(members) => {
            let more = (members.len() > MAX_MEMBERS).then(|| (CUT.to_owned(), Value::from(CUT)));
            let members = members.into_iter().take(MAX_MEMBERS).map(|(name, value)| {
                let value = if is_secret(&name) {
                    MARK.into()
                } else {
                    cut(value, depth + 1, left)
                };
                (cut_text(&name), value)
            });
            Value::Object(members.chain(more).collect::<Map<_, _>>())
        }
        Value::String(text) => cut_text(&text).into(),
        Value::Null | Value::Bool(_) | Value::Number(_) => value,
    }
}

fn cut_text(text: &str) -> String {
    let mut characters = text.chars();
    let start: String = characters.by_ref().take(MAX_TEXT_CHARS).collect();
    if characters.next().is_some() { start + CUT } else { start }
}

fn is_secret(name: &str) -> bool {
    let letters: String = name.chars().filter(char::is_ascii_alphanumeric).collect();
    let letters = letters.to_ascii_lowercase();
    SECRET_NAMES.iter().any(|part| letters.contains(part))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn arguments_are_cut_and_what_is_named_a_secret_is_masked() {
        let many: Vec<u32> = (0..30).collect();
        let arguments = json!({"id": 7, "api-key": "x", "body": {"userPassword": {"a": 1}, "text": "é".repeat(200), "many": many,
            "deep": {"a": {"b": {"c": 1}}}}});
        let raw = RawValue::from_string(arguments.to_string()).unwrap();
        let shown = masked(&raw, &Redactor::new(&[]));
        assert_eq!((&shown["id"], &shown["api-key"]), (&json!(7), &json!(MARK)));
        let body = &shown["body"];
        assert_eq!(
            (&body["userPassword"], &body["text"]),
            (&json!(MARK), &json!("é".repeat(100) + "…"))
        );
        assert_eq!(body["many"].as_array().map(Vec::len), Some(21));
        assert_eq!(body["deep"]["a"]["b"], json!("…"));
        let all: Vec<Vec<u32>> = (0..20).map(|_| (0..20).collect()).collect();
        let raw = RawValue::from_string(json!({"a": all, "b": all}).to_string()).unwrap();
        assert!(masked(&raw, &Redactor::new(&[])).to_string().len() < 2000);
    }
}
