//! A configured server, as far as the catalog needs it: which document it shows, and by what rules.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::function::{Effect, Pagination};

/// A configured server, as far as the catalog needs it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ServerView {
    /// Its normalised name.
    pub name: String,
    /// Its name as a person wrote it, by which references may call it too; may be empty.
    pub title: String,
    /// The location of its document in the store.
    pub location: String,
    /// A description in place of the document's.
    pub description: Option<String>,
    /// Hides all functions that do not only read.
    pub is_read_only: bool,
    /// It is not there as long as it has no function.
    pub is_optional: bool,
    /// What else is done to its functions.
    pub rules: ViewRules,
}

/// What a person wants of a server's functions. Operations are named by `METHOD /path`, `operationId` or function name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ViewRules {
    /// Only functions that one of these selects are visible; empty: all.
    pub include: Vec<Selector>,
    /// Functions that one of these selects are hidden, whatever `include` says.
    pub exclude: Vec<Selector>,
    /// New names of functions, by operation.
    pub rename: BTreeMap<String, String>,
    /// Rules for single functions, by operation.
    pub functions: BTreeMap<String, FunctionRule>,
    /// How functions give further pages that have what it needs and whose document does not say it.
    pub pagination: Option<Pagination>,
}

impl ViewRules {
    /// Whether they leave all functions as they are.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// Selects functions: those to which all of its parts apply.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Selector {
    /// A tag of the document.
    pub tag: Option<String>,
    /// A path of the document; `*` stands for anything in a segment, `**` for any number of segments.
    pub path: Option<String>,
    /// A method, in any case.
    pub method: Option<String>,
    /// `METHOD /path`, an `operationId` or a function's name.
    pub operation: Option<String>,
}

/// Rules for one function.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FunctionRule {
    /// Said before what the document says; may be empty.
    pub description: String,
    /// What calling it does, in place of what the document's method says.
    pub effect: Option<Effect>,
    /// Arguments by their original names, for calls that do not give them.
    pub defaults: BTreeMap<String, ArgumentDefault>,
    /// How it gives further pages, in place of what the document says.
    pub pagination: Option<Pagination>,
}

/// An argument for calls that do not give it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArgumentDefault {
    /// As if the call had given it.
    pub value: Value,
    /// The argument is not shown, and a call that gives it is refused.
    pub is_hidden: bool,
}

/// An argument of a function.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ArgumentPlace {
    /// The parameter at this place, from 0.
    Parameter(usize),
    /// The request body.
    Body,
}

/// An argument that is filled in where a call does not give it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FilledArgument {
    /// Which argument.
    pub place: ArgumentPlace,
    /// The value as JSON.
    pub json: String,
    /// The argument may not be given.
    pub is_hidden: bool,
}

impl Selector {
    /// Whether it means this operation (`METHOD /path`, or a tool's own name) with these tags and names.
    pub(crate) fn selects(&self, operation: &str, tags: &[String], names: &[&str]) -> bool {
        let (method, path) = operation.split_once(' ').unwrap_or_default();
        let is_named = |wanted: &String| same_operation(wanted, operation) || names.contains(&wanted.as_str());
        self.tag.as_ref().is_none_or(|tag| tags.contains(tag))
            && self.method.as_ref().is_none_or(|wanted| wanted.eq_ignore_ascii_case(method))
            && self.path.as_ref().is_none_or(|pattern| matches_path(pattern, path))
            && self.operation.as_ref().is_none_or(is_named)
    }
}

/// Whether a text means this `METHOD /path`; the method may be in any case.
pub(crate) fn same_operation(text: &str, operation: &str) -> bool {
    match (text.split_once(' '), operation.split_once(' ')) {
        (Some((method, path)), Some((known, known_path))) => method.eq_ignore_ascii_case(known) && path.trim_start() == known_path,
        _ => text == operation,
    }
}

/// `**` is any number of segments, none too; `*` in a segment is any text. Work grows with the product of both lengths only.
fn matches_path(pattern: &str, path: &str) -> bool {
    let segments: Vec<&str> = path.split('/').collect();
    // `reached[i]`: the pattern so far can stand for the first `i` segments.
    let mut reached = vec![false; segments.len() + 1];
    if let Some(start) = reached.first_mut() {
        *start = true;
    }
    for part in pattern.split('/') {
        let mut next = Vec::with_capacity(reached.len());
        if part == "**" {
            let mut is_open = false;
            next.extend(reached.iter().map(|here| {
                is_open |= here;
                is_open
            }));
        } else {
            next.push(false);
            let steps = reached.iter().zip(&segments);
            next.extend(steps.map(|(here, segment)| *here && matches_segment(part, segment)));
        }
        reached = next;
    }
    reached.last().copied().unwrap_or_default()
}

fn matches_segment(pattern: &str, segment: &str) -> bool {
    let Some((start, rest)) = pattern.split_once('*') else {
        return pattern == segment;
    };
    let Some(mut left) = segment.strip_prefix(start) else {
        return false;
    };
    let mut parts: Vec<&str> = rest.split('*').collect();
    let end = parts.pop().unwrap_or_default();
    for part in parts {
        match left.split_once(part) {
            Some((_, after)) => left = after,
            None => return false,
        }
    }
    left.ends_with(end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stars_stand_for_text_in_a_segment_and_for_segments() {
        for (pattern, path, expected) in [
            ("/items", "/items", true),
            ("/items", "/items/", false),
            ("/items/*", "/items/{id}", true),
            ("/items/*", "/items", false),
            ("/items/*", "/items/{id}/tags", false),
            ("/items/**", "/items", true),
            ("/items/**", "/items/{id}/tags", true),
            ("/**/tags", "/items/{id}/tags", true),
            ("/**/tags", "/tags", true),
            ("**", "/anything/at/all", true),
            ("/v*/a*c/*", "/v1/abbc/x", true),
            ("/v*/a*b*c", "/v1/acb", false),
            ("/*", "/Items", true),
            ("/items", "/Items", false),
            ("", "/items", false),
        ] {
            assert_eq!(matches_path(pattern, path), expected, "{pattern} {path}");
        }
    }

    #[test]
    fn many_stars_cost_no_more_than_their_number() {
        let pattern = "/**/a*a*a*b".repeat(200);
        assert!(!matches_path(&pattern, &"/aaaa".repeat(400)));
    }

    #[test]
    fn all_parts_of_a_selector_must_apply() {
        let tags = ["admin".to_owned()];
        let check = |selector: &Selector, expected| {
            assert_eq!(
                selector.selects("DELETE /items/{id}", &tags, &["delete_item", "deleteItem"]),
                expected,
                "{selector:?}"
            );
        };
        let text = |text: &str| Some(text.to_owned());
        let (tag, path, method) = (text("admin"), text("/items/**"), text("delete"));
        let whole = Selector {
            tag,
            path,
            method,
            operation: None,
        };
        check(&whole, true);
        check(
            &Selector {
                tag: text("other"),
                ..whole.clone()
            },
            false,
        );
        check(
            &Selector {
                method: text("GET"),
                ..whole.clone()
            },
            false,
        );
        check(
            &Selector {
                path: text("/orders"),
                ..whole
            },
            false,
        );
        for (operation, expected) in [
            ("deleteItem", true),
            ("delete_item", true),
            ("delete /items/{id}", true),
            ("DELETE /items", false),
        ] {
            check(
                &Selector {
                    operation: text(operation),
                    ..Selector::default()
                },
                expected,
            );
        }
    }
}
