//! What a JSON Schema validator found, in words for the caller: where, what was given, what is allowed.

use std::collections::BTreeSet;

use jsonschema::ValidationError;
use jsonschema::error::{TypeKind, ValidationErrorKind as Kind};
use jsonschema::paths::LocationSegment;
use serde_json::Value;

use crate::member_names::Schema;
use crate::nearest::nearest;

/// Faults told of one argument.
const MAX_FAULTS: usize = 4;
/// Allowed values listed.
const MAX_LISTED: usize = 20;
/// Characters shown of a value.
const MAX_SHOWN: usize = 60;
/// Alternatives within alternatives that are looked into.
const MAX_DEPTH: usize = 4;

/// One sentence on all faults of a value of this schema, which the caller calls `name`.
pub(crate) fn describe_faults<'a>(name: &str, of: Schema<'_>, faults: impl Iterator<Item = ValidationError<'a>>) -> String {
    let described: Vec<_> = faults.take(MAX_FAULTS).map(|fault| describe((name, of), &fault, 0)).collect();
    described.join("; ")
}

fn describe((name, of): (&str, Schema<'_>), fault: &ValidationError<'_>, depth: usize) -> String {
    let place = place(name, fault);
    let given = show(fault.instance());
    match fault.kind() {
        Kind::Type { kind } => format!("{place}: expected {}, got {}", type_names(kind), type_of(fault.instance())),
        Kind::Enum { options } => format!("{place}: {given} is not one of {}", list(options)),
        Kind::Constant { expected_value } => format!("{place}: {given} is not {}", show(expected_value)),
        Kind::Required { property } => format!("{place}: member `{}` is missing", bare(property)),
        Kind::AdditionalProperties { unexpected } | Kind::UnevaluatedProperties { unexpected } => {
            format!("{place}: {}", not_allowed(unexpected, &of.members_at(fault)))
        }
        Kind::AdditionalItems { limit } => format!("{place}: more than {limit} items"),
        Kind::UnevaluatedItems { .. } => format!("{place}: too many items"),
        Kind::AnyOf { context } | Kind::OneOfNotValid { context } => match nearest_alternative(context).filter(|_| depth < MAX_DEPTH) {
            None => format!("{place}: {given} fits none of the alternatives"),
            Some(faults) => {
                let inner: Vec<_> = faults.iter().take(2).map(|fault| describe((name, of), fault, depth + 1)).collect();
                format!(
                    "{place}: fits none of {} alternatives; the nearest: {}",
                    context.len(),
                    inner.join("; ")
                )
            }
        },
        Kind::OneOfMultipleValid { .. } => format!("{place}: {given} fits more than one alternative"),
        Kind::Minimum { limit } => format!("{place}: {given} is less than {limit}"),
        Kind::Maximum { limit } => format!("{place}: {given} is greater than {limit}"),
        Kind::ExclusiveMinimum { limit } => format!("{place}: {given} is not greater than {limit}"),
        Kind::ExclusiveMaximum { limit } => format!("{place}: {given} is not less than {limit}"),
        Kind::MultipleOf { multiple_of } => format!("{place}: {given} is no multiple of {multiple_of}"),
        Kind::MinLength { limit } => format!("{place}: {given} is shorter than {limit} characters"),
        Kind::MaxLength { limit } => format!("{place}: {given} is longer than {limit} characters"),
        Kind::MinItems { limit } => format!("{place}: fewer than {limit} items"),
        Kind::MaxItems { limit } => format!("{place}: more than {limit} items"),
        Kind::MinProperties { limit } => format!("{place}: fewer than {limit} members"),
        Kind::MaxProperties { limit } => format!("{place}: more than {limit} members"),
        Kind::Pattern { pattern } => format!("{place}: {given} does not match `{}`", cut(pattern)),
        Kind::PropertyNames { error } => format!(
            "{place}: a member's name is not allowed: {}",
            describe((name, of), error, depth + 1)
        ),
        Kind::UniqueItems => format!("{place}: an item occurs twice"),
        Kind::Contains => format!("{place}: an item that is needed is missing"),
        Kind::Format { format } => format!("{place}: {given} has not the format `{}`", cut(format)),
        Kind::FalseSchema => format!("{place}: no value is allowed here"),
        Kind::Not { .. } => format!("{place}: {given} is what is not allowed"),
        Kind::ContentEncoding { content_encoding } => format!("{place}: {given} is not encoded as `{}`", cut(content_encoding)),
        Kind::ContentMediaType { content_media_type } => format!("{place}: {given} is not of type `{}`", cut(content_media_type)),
        Kind::FromUtf8 { .. } | Kind::Custom { .. } | Kind::Referencing(_) => format!("{place}: {given} is not allowed"),
        Kind::BacktrackLimitExceeded { .. } | Kind::RegexEngineFailure { .. } => {
            format!("{place}: {given} is too hard to match with its pattern")
        }
    }
}

/// Members that the schema does not take, and what may have been meant.
fn not_allowed(unexpected: &[String], known: &BTreeSet<String>) -> String {
    let quoted = |name: &str| format!("`{}`", cut(name));
    let names: Vec<_> = unexpected.iter().take(MAX_LISTED).map(|name| quoted(name)).collect();
    let refused = format!(
        "{} {} not allowed",
        names.join(", "),
        if unexpected.len() == 1 { "is" } else { "are" }
    );
    let near = |name: &String| nearest(name, known.iter().map(String::as_str));
    let meant: BTreeSet<_> = unexpected.iter().take(MAX_LISTED).filter_map(near).map(quoted).collect();
    if !meant.is_empty() {
        return format!("{refused}; did you mean {}?", Vec::from_iter(meant).join(", "));
    }
    if known.is_empty() {
        return refused;
    }
    let listed: Vec<_> = known.iter().take(MAX_LISTED).map(|name| quoted(name)).collect();
    let more = match known.len() - listed.len() {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!("{refused}; there are {}{more}", listed.join(", "))
}

/// The alternative that most likely was meant: not of another type altogether, with the deepest and the fewest faults.
fn nearest_alternative<'a>(context: &'a [Vec<ValidationError<'static>>]) -> Option<&'a Vec<ValidationError<'static>>> {
    let is_other_kind = |fault: &ValidationError<'_>| {
        let is_shallow = fault.instance_path().segments().count() <= 1;
        match fault.kind() {
            Kind::Type { .. } => fault.instance_path().is_empty(),
            Kind::Constant { .. } | Kind::Enum { .. } => is_shallow,
            _ => false,
        }
    };
    context
        .iter()
        .filter(|faults| !faults.is_empty())
        .min_by_key(|faults| (faults.iter().filter(|fault| is_other_kind(fault)).count(), faults.len()))
}

/// `name.member[3]`.
fn place(name: &str, fault: &ValidationError<'_>) -> String {
    let mut place = name.to_owned();
    for segment in fault.instance_path().segments() {
        match segment {
            LocationSegment::Property(key) => {
                place.push('.');
                place.push_str(&cut(&key));
            }
            LocationSegment::Index(index) => place.extend(["[", &index.to_string(), "]"]),
        }
    }
    format!("`{place}`")
}

pub(crate) fn type_names(kind: &TypeKind) -> String {
    match kind {
        TypeKind::Single(one) => one.to_string(),
        TypeKind::Multiple(several) => several.into_iter().map(|one| one.to_string()).collect::<Vec<_>>().join(" or "),
    }
}

fn type_of(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(_) | Value::Number(_) => show(value),
        Value::String(_) => format!("the string {}", show(value)),
        Value::Array(_) => "an array".to_owned(),
        Value::Object(_) => "an object".to_owned(),
    }
}

pub(crate) fn list(options: &Value) -> String {
    let Some(options) = options.as_array() else { return show(options) };
    let listed: Vec<_> = options.iter().take(MAX_LISTED).map(show).collect();
    let more = options.len().saturating_sub(MAX_LISTED);
    if more == 0 {
        listed.join(", ")
    } else {
        format!("{} and {more} more", listed.join(", "))
    }
}

fn show(value: &Value) -> String {
    format!("`{}`", bare(value))
}

fn bare(value: &Value) -> String {
    match value {
        Value::String(text) => cut(text),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => cut(&value.to_string()),
    }
}

fn cut(text: &str) -> String {
    cut_to(text, MAX_SHOWN)
}

/// At most so many characters of a text.
pub(crate) fn cut_to(text: &str, most: usize) -> String {
    if text.chars().nth(most).is_none() {
        return text.to_owned();
    }
    let kept: String = text.chars().take(most).collect();
    format!("{kept}…")
}
