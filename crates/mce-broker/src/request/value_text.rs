//! A value as text: what JSON calls it, without quotes around strings.

use serde_json::{Number, Value};

/// The text of a value that is not null. Arrays and objects inside styles have no notation of their own, so they are
/// JSON. (OpenAPI 3.2, Appendix B)
pub(super) fn value_text(value: &Value) -> Option<String> {
    match value {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number_text(number)),
        Value::Bool(_) | Value::Array(_) | Value::Object(_) => Some(value.to_string()),
    }
}

/// From here on a whole number is written with an exponent, as languages do.
const LEAST_WITH_EXPONENT: f64 = 1e21;

/// `3.0` is the integer 3 in JSON Schema, and so is `1e16`; servers read them as one only without fraction and exponent.
fn number_text(number: &Number) -> String {
    match number.as_f64().filter(|_| number.is_f64()) {
        Some(value) if value.fract() == 0.0 && value.abs() < LEAST_WITH_EXPONENT => format!("{value:.0}"),
        Some(_) | None => number.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn values_are_written_as_json_without_quotes() {
        for (value, text) in [
            (json!(true), Some("true")),
            (json!(9_223_372_036_854_775_807_i64), Some("9223372036854775807")),
            (json!(0.1), Some("0.1")),
            (json!(3.0), Some("3")),
            (json!(-0.0), Some("-0")),
            (json!(1e16), Some("10000000000000000")),
            (json!(-1.5e20), Some("-150000000000000000000")),
            (json!(1e21), Some("1e+21")),
            (json!(1e-7), Some("1e-7")),
            (json!("a\"b"), Some("a\"b")),
            (json!({"a": [1, "x"]}), Some(r#"{"a":[1,"x"]}"#)),
            (json!(null), None),
        ] {
            assert_eq!(value_text(&value).as_deref(), text);
        }
    }
}
