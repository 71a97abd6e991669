//! Values that a document lists, as a shape.

use serde_json::Value;

use super::shape::Shape;

/// A text that is longer is not listed as a value.
const MAX_LITERAL_CHARS: usize = 200;

/// Values as a shape, at most `limit` of them; other values than texts, integers and booleans as their type.
pub(super) fn literals(values: &[Value], limit: usize) -> Shape {
    let mut listed = Vec::new();
    let mut others = Vec::new();
    for value in values {
        let is_listed = match value {
            Value::String(text) => text.chars().count() <= MAX_LITERAL_CHARS,
            Value::Number(number) => !number.is_f64(),
            Value::Bool(_) => true,
            Value::Null | Value::Array(_) | Value::Object(_) => false,
        };
        if is_listed {
            listed.push(value.clone());
        } else {
            others.push(type_of(value));
        }
    }
    let is_open = listed.len() > limit;
    if is_open && !listed.iter().all(Value::is_string) {
        return Shape::union(values.iter().map(type_of).collect());
    }
    listed.truncate(limit);
    if !listed.is_empty() {
        others.insert(0, Shape::Literals { values: listed, is_open });
    }
    Shape::union(others)
}

fn type_of(value: &Value) -> Shape {
    match value {
        Value::Null => Shape::Null,
        Value::Bool(_) => Shape::Boolean,
        Value::Number(number) if number.is_f64() => Shape::Number,
        Value::Number(_) => Shape::Integer,
        Value::String(_) => Shape::Text,
        Value::Array(_) => Shape::List(Box::new(Shape::Any)),
        Value::Object(_) => Shape::Map(Box::new(Shape::Any)),
    }
}
