//! Files and bytes in arguments: `{"filename", "content_type", "base64" | "text"}`, and plain texts.

use base64::Engine;
use base64::alphabet;
use base64::engine::DecodePaddingMode;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig};
use serde_json::{Map, Value};

/// Padding is optional: programs write it both ways.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// A file to send.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FileValue {
    pub(crate) filename: Option<String>,
    pub(crate) content_type: Option<String>,
    pub(crate) bytes: Vec<u8>,
}

/// Whether a value has the shape of a file: one of `base64` and `text`, and nothing but what a file has.
pub(crate) fn is_file(value: &Value) -> bool {
    let Value::Object(members) = value else { return false };
    let is_text = |key: &str| members.get(key).is_some_and(Value::is_string);
    let is_optional = |key: &str| members.get(key).is_none_or(|value| value.is_string() || value.is_null());
    (is_text("base64") != is_text("text"))
        && is_optional("filename")
        && is_optional("content_type")
        && members
            .keys()
            .all(|key| matches!(key.as_str(), "base64" | "text" | "filename" | "content_type"))
}

/// Whether a value can be nothing but a file. An object whose only member is `text` might be ordinary JSON.
pub(crate) fn is_surely_file(value: &Value) -> bool {
    is_file(value)
        && value
            .as_object()
            .is_some_and(|members| members.contains_key("base64") || members.len() > 1)
}

/// Reads a file object, or a text as a file of its UTF-8 bytes.
///
/// `None` if the value is neither, or the base64 is none.
pub(crate) fn read_file(value: &Value) -> Option<FileValue> {
    match value {
        Value::String(text) => Some(FileValue {
            filename: None,
            content_type: None,
            bytes: text.clone().into_bytes(),
        }),
        Value::Object(members) if is_file(value) => {
            let bytes = match text_of(members, "base64") {
                Some(base64) => BASE64.decode(base64).ok()?,
                None => text_of(members, "text")?.into_bytes(),
            };
            Some(FileValue {
                filename: text_of(members, "filename"),
                content_type: text_of(members, "content_type"),
                bytes,
            })
        }
        Value::Object(_) | Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) => None,
    }
}

fn text_of(members: &Map<String, Value>, key: &str) -> Option<String> {
    members.get(key).and_then(Value::as_str).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn files_are_told_from_other_values() {
        for (value, is_a_file, is_sure) in [
            (json!({"base64": "AA=="}), true, true),
            (json!({"text": "a"}), true, false),
            (json!({"text": "a", "filename": "b"}), true, true),
            (json!({"text": "a", "filename": null}), true, true),
            (json!({"text": "a", "base64": "AA=="}), false, false),
            (json!({"text": "a", "title": "b"}), false, false),
            (json!({"filename": "b"}), false, false),
            (json!("a"), false, false),
        ] {
            assert_eq!((is_file(&value), is_surely_file(&value)), (is_a_file, is_sure), "{value}");
        }
    }

    #[test]
    fn bytes_come_from_base64_or_text() {
        let bytes = |value: Value| read_file(&value).map(|file| file.bytes);
        assert_eq!(bytes(json!({"base64": "AAEC/w=="})), Some(vec![0, 1, 2, 255]));
        assert_eq!(bytes(json!({"base64": "AAEC/w"})), Some(vec![0, 1, 2, 255]));
        assert_eq!(bytes(json!({"base64": "A*"})), None);
        assert_eq!(bytes(json!({"text": "ü"})), Some("ü".into()));
        assert_eq!(bytes(json!("ü")), Some("ü".into()));
        assert_eq!(bytes(json!(5)), None);
    }
}
