//! What a condition of a rule says of a value among the arguments.
//!
//! One value may be read in more than one way: `"5"` may be meant as a number, and of a list an API may take any item. A rule
//! that allows must be right in all of these readings, any other in one, so that no spelling gets around it.

use std::cmp::Ordering;

use mce_config::{Comparison, Condition};
use serde_json::{Number, Value};

/// How sure one must be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sense {
    /// In every reading.
    Surely,
    /// In at least one.
    Possibly,
}

impl Sense {
    const fn opposite(self) -> Self {
        match self {
            Self::Surely => Self::Possibly,
            Self::Possibly => Self::Surely,
        }
    }
}

/// Checks a condition; one whose value is missing does not hold, but that it may be missing by `exists: false`. `is_rounded` is
/// whether numbers may be sent with more digits than were read: then they are anywhere between the doubles beside them.
///
/// # Errors
///
/// The comparison that does not hold, and the value, if there is one.
pub(crate) fn check<'a>(
    condition: &'a Condition,
    arguments: &'a Value,
    (sense, is_rounded): (Sense, bool),
) -> Result<(), (&'a Comparison, Option<&'a Value>)> {
    let value = arguments.pointer(&condition.pointer);
    let fails = |comparison: &&Comparison| !holds(comparison, value, (sense, is_rounded));
    condition
        .comparisons
        .iter()
        .find(fails)
        .map_or(Ok(()), |comparison| Err((comparison, value)))
}

fn holds(comparison: &Comparison, value: Option<&Value>, (sense, is_rounded): (Sense, bool)) -> bool {
    let Some(value) = value else {
        return *comparison == Comparison::Exists(false);
    };
    let of_readings = |test: &dyn Fn(&Value) -> bool| {
        let mut readings = Vec::new();
        items_of(value, &mut readings);
        match sense {
            Sense::Surely => !readings.is_empty() && readings.into_iter().all(test),
            Sense::Possibly => readings.into_iter().any(test),
        }
    };
    let is_equal = |operand: &Value, sense: Sense, one: &Value| match operand {
        Value::Array(_) | Value::Object(_) => equal(value, operand, sense),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => equal(one, operand, sense),
    };
    let is_one_of = |operands: &[Value], sense: Sense, one: &Value| operands.iter().any(|operand| is_equal(operand, sense, one));
    let is_number = |test: &dyn Fn(f64) -> bool| {
        of_readings(&|one| {
            let may_differ = is_rounded && !(one.is_i64() || one.is_u64());
            let near = |number: f64| {
                if may_differ {
                    [number.next_down(), number, number.next_up()]
                } else {
                    [number; 3]
                }
            };
            number(one, sense).is_some_and(|number| match sense {
                Sense::Surely => near(number).into_iter().all(test),
                Sense::Possibly => near(number).into_iter().any(test),
            })
        })
    };
    match comparison {
        Comparison::Exists(is_there) => *is_there,
        Comparison::Equals(operand) => match operand {
            Value::Array(_) => equal(value, operand, sense),
            _ => of_readings(&|one| is_equal(operand, sense, one)),
        },
        Comparison::NotEquals(operand) => match operand {
            Value::Array(_) => !equal(value, operand, sense.opposite()),
            _ => of_readings(&|one| !is_equal(operand, sense.opposite(), one)),
        },
        Comparison::In(operands) => of_readings(&|one| is_one_of(operands, sense, one)),
        Comparison::NotIn(operands) => of_readings(&|one| !is_one_of(operands, sense.opposite(), one)),
        Comparison::GreaterThan(limit) => is_number(&|number| number > *limit),
        Comparison::LessThan(limit) => is_number(&|number| number < *limit),
        Comparison::AtLeast(limit) => is_number(&|number| number >= *limit),
        Comparison::AtMost(limit) => is_number(&|number| number <= *limit),
        Comparison::Matches(pattern) => of_readings(&|one| text(one).is_some_and(|text| super::glob::is_glob_match(pattern, &text))),
    }
}

/// The items of a list and of the lists in it; else the value itself.
fn items_of<'a>(value: &'a Value, items: &mut Vec<&'a Value>) {
    match value {
        Value::Array(values) => values.iter().for_each(|value| items_of(value, items)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_) => items.push(value),
    }
}

/// Numbers are equal by their value, however they are written. Possibly, so are texts that read as numbers or truth values.
fn equal(one: &Value, other: &Value, sense: Sense) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => is_same_number(one, other),
        (Value::Array(ones), Value::Array(others)) => {
            ones.len() == others.len() && ones.iter().zip(others).all(|(one, other)| equal(one, other, sense))
        }
        (Value::Object(ones), Value::Object(others)) => {
            let is_equal = |(name, one): (&String, &Value)| others.get(name).is_some_and(|other| equal(one, other, sense));
            ones.len() == others.len() && ones.iter().all(is_equal)
        }
        _ if one == other => true,
        _ if sense == Sense::Possibly => is_same_when_read(one, other),
        _ => false,
    }
}

fn is_same_number(one: &Number, other: &Number) -> bool {
    let whole = |number: &Number| number.as_i64().map(i128::from).or_else(|| number.as_u64().map(i128::from));
    match (whole(one), whole(other)) {
        (Some(one), Some(other)) => one == other,
        _ => one.as_f64() == other.as_f64(),
    }
}

/// As APIs read texts: `"01"` as 1, `"TRUE"` as true.
fn is_same_when_read(one: &Value, other: &Value) -> bool {
    let is_same_text = || match (text(one), text(other)) {
        (Some(one), Some(other)) => {
            let has_truth = one.eq_ignore_ascii_case("true") || one.eq_ignore_ascii_case("false");
            one == other || has_truth && one.eq_ignore_ascii_case(&other)
        }
        _ => false,
    };
    let numbers = (number(one, Sense::Possibly), number(other, Sense::Possibly));
    matches!(numbers, (Some(one), Some(other)) if one.partial_cmp(&other) == Some(Ordering::Equal)) || is_same_text()
}

fn number(value: &Value, sense: Sense) -> Option<f64> {
    match value {
        Value::Number(number) => number.as_f64(),
        Value::String(text) if sense == Sense::Possibly => text.trim().parse().ok().filter(|number: &f64| !number.is_nan()),
        Value::Null | Value::Bool(_) | Value::String(_) | Value::Array(_) | Value::Object(_) => None,
    }
}

fn text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Bool(_) | Value::Number(_) => Some(value.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

#[cfg(test)]
mod tests;
