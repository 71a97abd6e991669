//! What a condition of a rule says of a value among the arguments.
//!
//! One value may be read in more than one way: `"5"` may be meant as a number, and of a list an API may take any item. A rule
//! that allows must be right in all of these readings, any other in one, so that no spelling gets around it.

use std::cmp::Ordering;

use mce_config::{Comparison, Condition, Decimal};
use serde_json::{Number, Value};

use crate::json_text::items;

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

/// A value as it is written, with all digits of its numbers.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Written<'a> {
    pub(crate) text: &'a str,
    /// It is sent so; else it may be sent as it was read.
    pub(crate) is_sure: bool,
}

/// Whether a condition compares with a limit, for which each digit counts.
pub(crate) fn needs_digits(condition: &Condition) -> bool {
    let has_limit = |comparison: &Comparison| {
        matches!(
            comparison,
            Comparison::GreaterThan(_) | Comparison::LessThan(_) | Comparison::AtLeast(_) | Comparison::AtMost(_)
        )
    };
    condition.comparisons.iter().any(has_limit)
}

/// Checks a condition; one whose value is missing does not hold, but that it may be missing by `exists: false`. `written` is the
/// value's text, where numbers may be sent with more digits than were read.
///
/// # Errors
///
/// The comparison that does not hold, and the value, if there is one.
pub(crate) fn check<'a>(
    condition: &'a Condition,
    arguments: &'a Value,
    (sense, written): (Sense, Option<Written<'_>>),
) -> Result<(), (&'a Comparison, Option<&'a Value>)> {
    let value = arguments.pointer(&condition.pointer);
    let fails = |comparison: &&Comparison| !holds(comparison, value, (sense, written));
    condition
        .comparisons
        .iter()
        .find(fails)
        .map_or(Ok(()), |comparison| Err((comparison, value)))
}

fn holds(comparison: &Comparison, value: Option<&Value>, (sense, written): (Sense, Option<Written<'_>>)) -> bool {
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
    let is_limited = |limit: &Decimal, is_right: fn(Ordering) -> bool| {
        let mut numbers = Vec::new();
        numbers_of(value, (sense, written), &mut numbers);
        let test = |number: Option<Decimal>| number.is_some_and(|number| is_right(number.cmp(limit)));
        match sense {
            Sense::Surely => !numbers.is_empty() && numbers.into_iter().all(test),
            Sense::Possibly => numbers.into_iter().any(test),
        }
    };
    let is_equal = |operand: &Value, sense: Sense, one: &Value| match operand {
        Value::Array(_) | Value::Object(_) => equal(value, operand, sense),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => equal(one, operand, sense),
    };
    let is_one_of = |operands: &[Value], sense: Sense, one: &Value| operands.iter().any(|operand| is_equal(operand, sense, one));
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
        Comparison::GreaterThan(limit) => is_limited(limit, Ordering::is_gt),
        Comparison::LessThan(limit) => is_limited(limit, Ordering::is_lt),
        Comparison::AtLeast(limit) => is_limited(limit, Ordering::is_ge),
        Comparison::AtMost(limit) => is_limited(limit, Ordering::is_le),
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

/// The numbers that a value and the items of lists in it are read as; none in the place of what is no number.
fn numbers_of(value: &Value, (sense, written): (Sense, Option<Written<'_>>), numbers: &mut Vec<Option<Decimal>>) {
    match value {
        Value::Array(values) => {
            let texts = written.and_then(|written| items(written.text)).unwrap_or_default();
            for (place, value) in values.iter().enumerate() {
                let text = texts.get(place).map(|text| text.get());
                let written = text.zip(written).map(|(text, whole)| Written { text, ..whole });
                numbers_of(value, (sense, written), numbers);
            }
        }
        Value::Number(number) => {
            let read = || Decimal::parse(&number.to_string());
            let exact = written.and_then(|written| Decimal::parse(written.text.trim()));
            if exact.is_none() || written.is_some_and(|written| !written.is_sure) {
                numbers.push(read());
            }
            numbers.extend(exact.map(Some));
        }
        Value::String(text) if sense == Sense::Possibly => numbers.push(read_text(text.trim())),
        Value::Null | Value::Bool(_) | Value::String(_) | Value::Object(_) => numbers.push(None),
    }
}

/// A text as a number; what is infinite is beyond all others.
fn read_text(text: &str) -> Option<Decimal> {
    let infinite = || {
        let number = text.parse().ok().filter(|number: &f64| number.is_infinite())?;
        Decimal::parse(&format!("{}1e{}", if number < 0.0 { "-" } else { "" }, i64::MAX))
    };
    Decimal::parse(text).or_else(infinite)
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
    let numbers = (number(one), number(other));
    matches!(numbers, (Some(one), Some(other)) if one.partial_cmp(&other) == Some(Ordering::Equal)) || is_same_text()
}

fn number(value: &Value) -> Option<f64> {
    match value {
        Value::Number(number) => number.as_f64(),
        Value::String(text) => text.trim().parse().ok().filter(|number: &f64| !number.is_nan()),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
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
