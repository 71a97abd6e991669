//! What a condition of a rule says of a value among the arguments.
//!
//! One value may be read in more than one way: `"5"` may be meant as a number, and of a list an API may take any item. A rule
//! that allows must be right in all of these readings, any other in one, so that no spelling gets around it.

use std::cmp::Ordering;

use mce_config::{Comparison, Condition, Decimal, ExactValue};
use serde_json::Value;

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

/// Whether a condition compares with numbers, of which each digit counts.
pub(crate) fn needs_digits(condition: &Condition) -> bool {
    let is_exact = |comparison: &Comparison| !matches!(comparison, Comparison::Matches(_) | Comparison::Exists(_));
    condition.comparisons.iter().any(is_exact)
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
    let read = value.map(ExactValue::from);
    let exact = written.and_then(|written| ExactValue::parse(written.text));
    // Where it may be sent as it was read, both count.
    let is_read_too = exact.is_none() || written.is_some_and(|written| !written.is_sure);
    let numbers: Vec<&ExactValue> = exact.iter().chain(read.as_ref().filter(|_| is_read_too)).collect();
    let holds = |comparison: &Comparison| match (comparison, &read) {
        (Comparison::Exists(is_there), read) => *is_there == read.is_some(),
        (_, None) => false,
        (Comparison::Matches(_), Some(read)) => holds(comparison, read, sense),
        _ => every_or_any(sense, &numbers, |value| holds(comparison, value, sense)),
    };
    let fails = |comparison: &&Comparison| !holds(comparison);
    condition
        .comparisons
        .iter()
        .find(fails)
        .map_or(Ok(()), |comparison| Err((comparison, value)))
}

/// Whether a test holds of all values, of which there must be some, or of any one.
fn every_or_any<T: Copy>(sense: Sense, values: &[T], test: impl FnMut(T) -> bool) -> bool {
    let mut values_in_turn = values.iter().copied();
    match sense {
        Sense::Surely => !values.is_empty() && values_in_turn.all(test),
        Sense::Possibly => values_in_turn.any(test),
    }
}

/// Whether a comparison holds of a value that is there.
fn holds(comparison: &Comparison, value: &ExactValue, sense: Sense) -> bool {
    let mut items = Vec::new();
    items_of(value, &mut items);
    let of_readings = |test: &dyn Fn(&ExactValue) -> bool| every_or_any(sense, &items, test);
    let is_limited = |limit: &Decimal, is_right: fn(Ordering) -> bool| {
        of_readings(&|one| number(one, sense).is_some_and(|number| is_right(number.cmp(limit))))
    };
    let is_equal = |operand: &ExactValue, sense: Sense, one: &ExactValue| match operand {
        ExactValue::Array(_) | ExactValue::Object(_) => equal(value, operand, sense),
        ExactValue::Null | ExactValue::Bool(_) | ExactValue::Number(_) | ExactValue::String(_) => equal(one, operand, sense),
    };
    let is_one_of = |operands: &[ExactValue], sense: Sense, one: &ExactValue| operands.iter().any(|operand| is_equal(operand, sense, one));
    match comparison {
        Comparison::Exists(is_there) => *is_there,
        Comparison::Equals(operand) => match operand {
            ExactValue::Array(_) => equal(value, operand, sense),
            _ => of_readings(&|one| is_equal(operand, sense, one)),
        },
        Comparison::NotEquals(operand) => match operand {
            ExactValue::Array(_) => !equal(value, operand, sense.opposite()),
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
fn items_of<'a>(value: &'a ExactValue, items: &mut Vec<&'a ExactValue>) {
    match value {
        ExactValue::Array(values) => values.iter().for_each(|value| items_of(value, items)),
        _ => items.push(value),
    }
}

/// The number that a value is read as; possibly, a text is one, too.
fn number(value: &ExactValue, sense: Sense) -> Option<Decimal> {
    match value {
        ExactValue::Number(number) => Some(number.clone()),
        ExactValue::String(text) if sense == Sense::Possibly => read_text(text.trim()),
        _ => None,
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
fn equal(one: &ExactValue, other: &ExactValue, sense: Sense) -> bool {
    match (one, other) {
        (ExactValue::Array(ones), ExactValue::Array(others)) => {
            ones.len() == others.len() && ones.iter().zip(others).all(|(one, other)| equal(one, other, sense))
        }
        (ExactValue::Object(ones), ExactValue::Object(others)) => {
            let is_equal = |(name, one): (&String, &ExactValue)| others.get(name).is_some_and(|other| equal(one, other, sense));
            ones.len() == others.len() && ones.iter().all(is_equal)
        }
        _ if one == other => true,
        _ if sense == Sense::Possibly => is_same_when_read(one, other),
        _ => false,
    }
}

/// As APIs read texts: `"01"` as 1, `"TRUE"` as true.
fn is_same_when_read(one: &ExactValue, other: &ExactValue) -> bool {
    let is_same_text = || match (text(one), text(other)) {
        (Some(one), Some(other)) => {
            let has_truth = one.eq_ignore_ascii_case("true") || one.eq_ignore_ascii_case("false");
            one == other || has_truth && one.eq_ignore_ascii_case(&other)
        }
        _ => false,
    };
    let numbers = [one, other].map(|value| number(value, Sense::Possibly));
    matches!(numbers, [Some(one), Some(other)] if one == other) || is_same_text()
}

fn text(value: &ExactValue) -> Option<String> {
    match value {
        ExactValue::String(text) => Some(text.clone()),
        ExactValue::Bool(_) | ExactValue::Number(_) => Some(value.to_string()),
        ExactValue::Null | ExactValue::Array(_) | ExactValue::Object(_) => None,
    }
}

#[cfg(test)]
mod tests;
