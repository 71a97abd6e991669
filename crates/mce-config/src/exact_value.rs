//! A JSON value whose numbers have all their digits: what a rule compares with must not be rounded.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::{Deserialize, Deserializer, Error};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::Decimal;

/// A JSON value. Numbers are equal by their value, however they are written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ExactValue {
    /// `null`.
    Null,
    /// A truth value.
    Bool(bool),
    /// A number of any length.
    Number(Decimal),
    /// A text.
    String(String),
    /// A list.
    Array(Vec<Self>),
    /// An object. Of a name that is there twice, the last counts.
    Object(BTreeMap<String, Self>),
}

impl ExactValue {
    /// Reads a JSON text, whose depth must be bounded; none if it is no JSON.
    pub fn parse(text: &str) -> Option<Self> {
        serde_json::from_str(text).ok()
    }

    /// The same for who reads JSON; a number of more digits than a double always keeps, which are 15, is its text.
    pub fn to_value(&self) -> Value {
        match self {
            Self::Null => Value::Null,
            Self::Bool(is_true) => Value::from(*is_true),
            Self::Number(number) => number_value(number),
            Self::String(text) => Value::from(text.as_str()),
            Self::Array(items) => items.iter().map(Self::to_value).collect(),
            Self::Object(members) => {
                let members = members.iter().map(|(name, value)| (name.clone(), value.to_value()));
                Value::Object(members.collect())
            }
        }
    }
}

fn number_value(number: &Decimal) -> Value {
    let text = number.as_str();
    let read = serde_json::from_str(text)
        .ok()
        .filter(|read: &Value| read.is_i64() || read.is_u64() || text.len() <= 15);
    read.unwrap_or_else(|| Value::from(text))
}

/// With numbers as they were read.
impl From<&Value> for ExactValue {
    fn from(value: &Value) -> Self {
        match value {
            Value::Null => Self::Null,
            Value::Bool(is_true) => Self::Bool(*is_true),
            // What a number is written as is a number always.
            Value::Number(number) => Decimal::parse(&number.to_string()).map_or(Self::Null, Self::Number),
            Value::String(text) => Self::String(text.clone()),
            Value::Array(items) => Self::Array(items.iter().map(Self::from).collect()),
            Value::Object(members) => Self::Object(members.iter().map(|(name, value)| (name.clone(), Self::from(value))).collect()),
        }
    }
}

impl<'de> Deserialize<'de> for ExactValue {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = Box::<RawValue>::deserialize(deserializer)?;
        let text = raw.get();
        let read = match text.as_bytes().first() {
            Some(b'{') => serde_json::from_str(text).map(Self::Object),
            Some(b'[') => serde_json::from_str(text).map(Self::Array),
            Some(b'-' | b'0'..=b'9') => return Decimal::parse(text).map(Self::Number).ok_or_else(|| D::Error::custom("no number")),
            _ => serde_json::from_str::<Value>(text).map(|value| Self::from(&value)),
        };
        read.map_err(D::Error::custom)
    }
}

/// As JSON, with numbers as they are written.
impl fmt::Display for ExactValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null | Self::Bool(_) | Self::String(_) => self.to_value().fmt(f),
            Self::Number(number) => number.fmt(f),
            Self::Array(items) => {
                f.write_str("[")?;
                for (place, item) in items.iter().enumerate() {
                    f.write_str(if place > 0 { "," } else { "" })?;
                    item.fmt(f)?;
                }
                f.write_str("]")
            }
            Self::Object(members) => {
                f.write_str("{")?;
                for (place, (name, value)) in members.iter().enumerate() {
                    let comma = if place > 0 { "," } else { "" };
                    write!(f, "{comma}{}:{value}", Value::from(name.as_str()))?;
                }
                f.write_str("}")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_keep_all_digits() {
        let text = r#"{"a":[18446744073709551617,-1.50e400,0.10000000000000000001,"x\"y",null,true],"b\n":{}}"#;
        let value = ExactValue::parse(text).unwrap();
        assert_eq!(value.to_string(), text);
        assert_eq!(value.to_value()["a"][0], "18446744073709551617");
        for (one, other, is_equal) in [
            ("1", "1.0", true),
            ("[1e2, {\"a\": 0}]", "[100,{\"a\":-0.0}]", true),
            ("18446744073709551616", "18446744073709551617", false),
            ("9007199254740993", "9007199254740992.0", false),
            ("{\"a\": 1, \"b\": 2}", "{\"b\": 2, \"a\": 1}", true),
            ("1", "\"1\"", false),
        ] {
            let [first, second] = [one, other].map(|text| ExactValue::parse(text).unwrap());
            assert_eq!(first == second, is_equal, "{one} {other}");
        }
        for text in ["", "01", "+1", "nan", "[1,]", "1 2"] {
            assert!(ExactValue::parse(text).is_none(), "{text}");
        }
    }
}
