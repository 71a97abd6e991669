//! What type checkers say, and what of it is told: only what is sure to be wrong in a program that was not written for a type
//! checker. Of a list or text that lacks a method, of an argument of the wrong type, that can be said; not of values whose
//! type a checker had to guess from how they were first written, and not of fields that a document may have left out.

use std::collections::BTreeSet;

use serde::Deserialize;

use super::Found;

/// Kinds of values that are all there is to them: what they lack, they lack.
const PYTHON_VALUES: [&str; 8] = ["list[", "dict[", "str", "int", "float", "bool", "CoroutineType[", "tuple["];

/// Of `ty check --output-format concise`.
pub(super) fn by_ty(said: &str, functions: &BTreeSet<&str>) -> Vec<Found> {
    let found = said.lines().filter_map(|line| {
        let (line, rest) = line.strip_prefix("program.py:")?.split_once(':')?;
        let (_, rest) = rest.split_once(": error[")?;
        let (rule, message) = rest.split_once("] ")?;
        is_sure_of_ty(rule, message, functions).then(|| Found {
            line: line.parse().unwrap_or(1),
            message: message.to_owned(),
        })
    });
    found.collect()
}

/// The names of rules have changed between versions.
fn is_sure_of_ty(rule: &str, message: &str, functions: &BTreeSet<&str>) -> bool {
    match rule {
        "invalid-argument-type" => {
            let is_ours = message
                .strip_prefix("Argument to function `")
                .and_then(|rest| rest.split_once('`'))
                .is_some_and(|(name, _)| functions.contains(name));
            let is_of_key = message.starts_with("Invalid argument to key");
            let found = between(message, "found `", "`").or_else(|| between(message, "value of type `", "`"));
            let wanted = between(message, "Expected `", "`").or_else(|| between(message, "declared type `", "`"));
            (is_ours || is_of_key) && !is_guessed(found.unwrap_or_default(), wanted.unwrap_or_default())
        }
        "missing-typed-dict-key" => true,
        "unknown-typed-dict-constructor-key" | "invalid-typed-dict-key" | "invalid-key" => message.contains(" - did you mean "),
        "missing-attribute" | "unresolved-attribute" | "not-subscriptable" | "non-subscriptable" | "not-iterable" => {
            between(message, "type `", "`").is_some_and(|kind| PYTHON_VALUES.iter().any(|value| kind.starts_with(value)))
        }
        _ => false,
    }
}

/// Whether a type may be wider than the value is, as a checker takes it from how the value was first written: `status = "open"`
/// is a `str`, `{"id": 1}` a `dict[str, int]`.
fn is_guessed(found: &str, wanted: &str) -> bool {
    let is_collection = ["dict[", "list[", "set[", "tuple["].iter().any(|kind| found.starts_with(kind));
    let is_simple = |kind: &str| matches!(kind, "str" | "LiteralString" | "int" | "float" | "bool");
    is_collection && !is_simple(wanted) || is_simple(found) && wanted.contains("Literal[")
}

#[derive(Deserialize)]
struct Pyright {
    #[serde(rename = "generalDiagnostics")]
    diagnostics: Vec<Diagnostic>,
}

#[derive(Deserialize)]
struct Diagnostic {
    file: String,
    message: String,
    rule: Option<String>,
    range: Range,
}

#[derive(Deserialize)]
struct Range {
    start: Start,
}

#[derive(Deserialize)]
struct Start {
    /// From 0.
    line: u32,
}

/// Of `pyright --outputjson`.
pub(super) fn by_pyright(said: &str, functions: &BTreeSet<&str>) -> Vec<Found> {
    let Ok(said) = serde_json::from_str::<Pyright>(said) else {
        tracing::warn!("`pyright` did not read a program");
        return Vec::new();
    };
    let found = said.diagnostics.into_iter().filter(|told| {
        let is_here = told.file.ends_with("/program.py");
        is_here && is_sure_of_pyright(told.rule.as_deref().unwrap_or_default(), &told.message, functions)
    });
    found
        .map(|told| Found {
            line: told.range.start.line.saturating_add(1),
            message: joined(&told.message),
        })
        .collect()
}

fn is_sure_of_pyright(rule: &str, message: &str, functions: &BTreeSet<&str>) -> bool {
    match rule {
        "reportArgumentType" => {
            let is_ours = between(message, " in function \"", "\"").is_some_and(|name| functions.contains(name));
            // As `"int" is not assignable to "str"`; what is within them is told in lines of its own.
            let mut reasons = message.lines().skip(1).filter_map(|why| {
                let (found, wanted) = why.trim().split_once(" is not assignable to ")?;
                let plain = |kind: &str| {
                    kind.trim_start_matches("Type ")
                        .trim_start_matches("type ")
                        .trim_matches('"')
                        .to_owned()
                };
                Some((plain(found), plain(wanted)))
            });
            is_ours && !reasons.any(|(found, wanted)| is_guessed(&found, &wanted))
        }
        "reportAttributeAccessIssue" => {
            between(message, " for class \"", "\"").is_some_and(|kind| PYTHON_VALUES.iter().any(|value| kind.starts_with(value)))
        }
        "reportIndexIssue" => message.contains("\"CoroutineType["),
        _ => false,
    }
}

/// Of `tsc --pretty false`, and of `tsgo`.
pub(super) fn by_tsc(said: &str) -> Vec<Found> {
    let mut told: Vec<(u32, &str, String)> = Vec::new();
    for line in said.lines() {
        if let Some((_, _, message)) = told.last_mut().filter(|_| line.starts_with(' ')) {
            message.push('\n');
            message.push_str(line.trim());
        } else {
            let begun = line.strip_prefix("program.ts(").and_then(|rest| {
                let (place, rest) = rest.split_once("): error TS")?;
                let (code, message) = rest.split_once(": ")?;
                let (line, _) = place.split_once(',')?;
                Some((line.parse().ok()?, code, message.to_owned()))
            });
            // What is told of other files takes its lines with it.
            told.push(begun.unwrap_or_default());
        }
    }
    let sure = told.into_iter().filter(|(_, code, message)| is_sure_of_tsc(code, message));
    sure.map(|(line, _, message)| Found {
        line,
        message: joined(&message),
    })
    .collect()
}

fn is_sure_of_tsc(code: &str, message: &str) -> bool {
    let is_of_empty = message.contains("type '{}'");
    match code {
        // A value that does not fit. Its type may be wider than the value is: `let state = "open"` is a `string`.
        "2322" | "2345" => !is_of_empty && message.lines().last().is_none_or(|why| !is_widened(why)),
        // A field that an object written down has too much, or too little.
        "2353" | "2561" | "2739" | "2740" | "2741" | "2820" => !is_of_empty,
        // A field or method that a value does not have.
        "2551" => true,
        "2339" => between(message, " on type '", "'")
            .is_some_and(|kind| matches!(kind, "string" | "number" | "boolean") || kind.ends_with("[]") || kind.starts_with("Promise<")),
        _ => false,
    }
}

/// Whether the reason is a type that was made wider than the value.
fn is_widened(why: &str) -> bool {
    let (Some(is), Some(wanted)) = (between(why, "Type '", "'"), between(why, "assignable to type '", "'.")) else {
        return false;
    };
    let is_simple = |kind: &str| matches!(kind, "string" | "number" | "boolean");
    is_simple(is) && !is_simple(wanted) && !wanted.ends_with("[]")
}

/// The text between the first `begin` and the `end` after it.
fn between<'a>(text: &'a str, begin: &str, end: &str) -> Option<&'a str> {
    let (_, rest) = text.split_once(begin)?;
    rest.split_once(end).map(|(inside, _)| inside)
}

/// A message in one line.
fn joined(message: &str) -> String {
    let lines: Vec<&str> = message.lines().map(str::trim).collect();
    lines.join("; ").chars().take(500).collect()
}
