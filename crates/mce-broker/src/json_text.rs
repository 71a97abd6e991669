//! Strict reading of JSON from outside: no key twice, bounded depth, and integers that `f64` cannot hold are noticed.

use std::borrow::Cow;
use std::fmt;

use mce_catalog::pointer::unescape;
use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;
use serde_json::{Map, Number, Value};

/// JSON from outside may be nested this deeply.
pub(crate) const MAX_DEPTH: usize = 120;

/// The members of an object, values unread.
pub(crate) struct Members<'a>(pub(crate) Vec<(Cow<'a, str>, &'a RawValue)>);

/// Reads a value in which no object has a key twice: what is checked must be what is sent.
pub(crate) fn parse_strict(text: &str) -> Result<Value, serde_json::Error> {
    serde_json::from_str::<Strict>(text).map(|strict| strict.0)
}

/// The first integer in a JSON text that fits neither `i64` nor `u64`. [`Value`] would round it.
pub(crate) fn find_big_integer(text: &str) -> Option<&str> {
    outside_strings(text).flat_map(number_words).find(|word| is_big_integer(word))
}

/// What may be numbers in a part of a JSON text.
fn number_words(part: &str) -> impl Iterator<Item = &str> {
    part.split(|c: char| !(c.is_ascii_digit() || matches!(c, '-' | '+' | '.' | 'e' | 'E')))
}

/// The part of a JSON text that a JSON pointer (RFC 6901) leads to, as it is written.
pub(crate) fn text_at<'a>(text: &'a str, pointer: &str) -> Option<&'a str> {
    let mut found = text;
    for step in pointer.split('/').skip(1) {
        let step = unescape(step);
        found = if let Ok(Members(members)) = serde_json::from_str(found) {
            members.into_iter().find(|(name, _)| *name == step)?.1.get()
        } else {
            items(found)?.get(step.parse::<usize>().ok()?)?.get()
        };
    }
    Some(found)
}

/// The items of a JSON list, as they are written; nothing if the text is none.
pub(crate) fn items(text: &str) -> Option<Vec<&RawValue>> {
    serde_json::from_str(text).ok()
}

/// Whether a JSON text nests arrays and objects no deeper than `limit`. The text need not be well formed.
pub(crate) fn is_shallow(text: &str, limit: usize) -> bool {
    let mut depth = 0_usize;
    for byte in outside_strings(text).flat_map(str::bytes) {
        match byte {
            b'[' | b'{' => depth += 1,
            b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth > limit {
            return false;
        }
    }
    true
}

/// A JSON text without blanks, in which the members of objects are sorted and texts are written in one way. Numbers stay as they
/// are written. The text must be valid and nested no deeper than [`MAX_DEPTH`].
pub(crate) fn canonical(text: &str) -> String {
    let mut canonical = String::with_capacity(text.len());
    write_canonical(text, &mut canonical);
    canonical
}

fn write_canonical(text: &str, to: &mut String) {
    let text = text.trim();
    if let Ok(Members(mut members)) = serde_json::from_str(text) {
        members.sort_by(|(one, _), (other, _)| one.cmp(other));
        let members = members
            .iter()
            .map(|(name, value)| (Some(Value::from(name.as_ref()).to_string()), value.get()));
        write_between(('{', '}'), members, to);
    } else if let Ok(items) = serde_json::from_str::<Vec<&RawValue>>(text) {
        write_between(('[', ']'), items.iter().map(|item| (None, item.get())), to);
    } else if let Ok(string) = serde_json::from_str::<String>(text) {
        to.push_str(&Value::from(string).to_string());
    } else {
        to.push_str(text);
    }
}

fn write_between<'a>((open, close): (char, char), parts: impl Iterator<Item = (Option<String>, &'a str)>, to: &mut String) {
    to.push(open);
    for (place, (name, value)) in parts.enumerate() {
        if place > 0 {
            to.push(',');
        }
        if let Some(name) = name {
            to.push_str(&name);
            to.push(':');
        }
        write_canonical(value, to);
    }
    to.push(close);
}

fn is_big_integer(word: &str) -> bool {
    let digits = word.strip_prefix('-').unwrap_or(word);
    !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()) && word.parse::<i64>().is_err() && word.parse::<u64>().is_err()
}

/// The parts of a JSON text between its strings.
fn outside_strings(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = Some(text);
    std::iter::from_fn(move || {
        let (part, after) = rest?.split_once('"').map_or((rest?, None), |(part, after)| (part, Some(after)));
        rest = after.and_then(skip_string);
        Some(part)
    })
}

/// What follows the string that `text` is inside of.
fn skip_string(text: &str) -> Option<&str> {
    let mut is_escaped = false;
    let end = text.bytes().position(|byte| {
        let is_end = byte == b'"' && !is_escaped;
        is_escaped = byte == b'\\' && !is_escaped;
        is_end
    })?;
    text.get(end + 1..)
}

impl<'de> Deserialize<'de> for Members<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct MembersVisitor;

        impl<'de> Visitor<'de> for MembersVisitor {
            type Value = Members<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object of arguments")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::new();
                while let Some(key) = map.next_key::<CowText<'de>>()? {
                    members.push((key.0, map.next_value()?));
                }
                Ok(Members(members))
            }
        }

        deserializer.deserialize_map(MembersVisitor)
    }
}

/// A text that is borrowed where it holds no escapes.
#[derive(serde::Deserialize)]
#[serde(transparent)]
struct CowText<'a>(#[serde(borrow)] Cow<'a, str>);

struct Strict(Value);

impl<'de> Deserialize<'de> for Strict {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(StrictVisitor).map(Self)
    }
}

struct StrictVisitor;

impl<'de> Visitor<'de> for StrictVisitor {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Value, E> {
        Number::from_f64(value)
            .map(Value::Number)
            .ok_or_else(|| E::custom("a number is out of range"))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::String(value.to_owned()))
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(Value::String(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Value, A::Error> {
        let mut items = Vec::new();
        while let Some(Strict(item)) = seq.next_element()? {
            items.push(item);
        }
        Ok(Value::Array(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        let mut members = Map::new();
        while let Some(key) = map.next_key::<String>()? {
            let Strict(value) = map.next_value()?;
            if members.insert(key.clone(), value).is_some() {
                return Err(A::Error::custom(format_args!("the key `{key}` occurs twice")));
            }
        }
        Ok(Value::Object(members))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pointer_finds_a_text_as_it_is_written() {
        let text = r#" {"a": [1, {"b/~": 5.00}], "c": "x"} "#;
        for (pointer, found) in [
            ("", Some(text)),
            ("/a/1/b~1~0", Some("5.00")),
            ("/a/0", Some("1")),
            ("/a/2", None),
            ("/c/0", None),
        ] {
            assert_eq!(text_at(text, pointer), found, "{pointer}");
        }
    }

    #[test]
    fn one_value_has_one_canonical_text() {
        for (text, expected) in [
            (
                r#" {"b" : [1, {"z":null,"y":[ ]}], "a":"\u00e9\n"} "#,
                r#"{"a":"é\n","b":[1,{"y":[],"z":null}]}"#,
            ),
            ("[1.0,1,12345678901234567890123]", "[1.0,1,12345678901234567890123]"),
            (r#"{"a":{"\"":true}}"#, r#"{"a":{"\"":true}}"#),
        ] {
            assert_eq!(canonical(text), expected);
        }
    }

    #[test]
    fn values_are_read_as_they_are() {
        let text = r#"{"a":[1,-2,1.5,true,null,"x\n"],"b":18446744073709551615}"#;
        assert_eq!(parse_strict(text).unwrap(), serde_json::from_str::<Value>(text).unwrap());
    }

    #[test]
    fn a_key_that_occurs_twice_is_refused() {
        assert!(
            parse_strict(r#"{"a":{"b":1,"b":2}}"#)
                .unwrap_err()
                .to_string()
                .contains("`b` occurs twice")
        );
    }

    #[test]
    fn nesting_without_end_is_refused() {
        assert!(parse_strict(&"[".repeat(100_000)).is_err());
        assert!(is_shallow(r#"{"a":"[[[[[[","b":[]}"#, 2));
        assert!(!is_shallow("[[[]]]", 2));
    }

    #[test]
    fn integers_that_would_be_rounded_are_found() {
        for (text, found) in [
            ("[9223372036854775807, -9223372036854775808, 18446744073709551615]", None),
            (r#"{"18446744073709551616":"18446744073709551616"}"#, None),
            (r#"{"a\"18446744073709551616":1}"#, None),
            ("[1.5e300, 123456789012345678901234567890.0]", None),
            (r#"{"a":[18446744073709551616]}"#, Some("18446744073709551616")),
            ("-9223372036854775809", Some("-9223372036854775809")),
        ] {
            assert_eq!(find_big_integer(text), found, "{text}");
        }
    }
}
