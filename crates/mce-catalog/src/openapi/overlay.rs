//! OpenAPI Overlays, versions 1.0 and 1.1: changes to a document before it is read. Bounded, since an overlay can copy and
//! multiply what is there.

use std::collections::BTreeSet;

use serde_json::Value;
use serde_json_path::{JsonPath, NormalizedPath};
use thiserror::Error;

use super::parse::parse;
use super::{CompileError, Problem, prose};
use crate::pointer::unescape;

/// Actions of one overlay.
const MAX_ACTIONS: usize = 10_000;
/// Bytes of one path.
const MAX_PATH_BYTES: usize = 1_000;
/// Parentheses, filters and descents of one path: each multiplies the work of the others.
const MAX_PARENTHESES: usize = 10;
const MAX_FILTERS: usize = 5;
const MAX_DESCENTS: usize = 2;
/// Values that all actions of one overlay may add.
const MAX_ADDED_NODES: usize = 1_000_000;
/// Levels of a document; everything that walks over one recurses at most this deep.
const MAX_DEPTH: usize = 128;

/// An overlay cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum OverlayError {
    /// It is no JSON or YAML.
    #[error("the overlay `{name}` cannot be read: {cause}")]
    Parse {
        /// Its name.
        name: String,
        /// Why.
        cause: CompileError,
    },
    /// It is no overlay of a version that is read here.
    #[error("`{name}` is no overlay: {message}")]
    Shape {
        /// Its name.
        name: String,
        /// What is missing.
        message: String,
    },
    /// One of its actions cannot be understood.
    #[error("the overlay `{name}`: `/actions/{index}` {message}")]
    Action {
        /// Its name.
        name: String,
        /// From 0.
        index: usize,
        /// What is wrong.
        message: String,
    },
}

/// Changes to a document, in order.
#[derive(Debug)]
pub struct Overlay {
    name: String,
    actions: Vec<Action>,
    /// Version 1.0 knows neither primitive targets nor lists that are appended as a whole.
    is_first_version: bool,
}

#[derive(Debug)]
struct Action {
    target: JsonPath,
    text: String,
    change: Change,
}

#[derive(Debug)]
enum Change {
    Remove,
    Update(Value),
    Copy(JsonPath),
    Nothing,
}

impl Overlay {
    /// Reads an overlay; `name` stands for it in messages.
    ///
    /// # Errors
    ///
    /// [`OverlayError`]
    pub fn parse(bytes: &[u8], name: &str) -> Result<Self, OverlayError> {
        let name = name.to_owned();
        let (mut value, _) = parse(bytes).map_err(|cause| OverlayError::Parse { name: name.clone(), cause })?;
        let shape = |message: &str| OverlayError::Shape {
            name: name.clone(),
            message: message.to_owned(),
        };
        let version = value.get("overlay").and_then(Value::as_str).unwrap_or_default();
        let is_first_version = version == "1.0" || version.starts_with("1.0.");
        if !is_first_version && version != "1.1" && !version.starts_with("1.1.") {
            return Err(shape("the top level needs `overlay: 1.0.0` or `overlay: 1.1.0`"));
        }
        let Some(Value::Array(actions)) = value.get_mut("actions").map(Value::take) else {
            return Err(shape("the top level needs `actions`"));
        };
        if actions.len() > MAX_ACTIONS {
            return Err(shape("it has too many actions"));
        }
        let read = |(index, action)| {
            read_action(action, is_first_version).map_err(|message| OverlayError::Action {
                name: name.clone(),
                index,
                message,
            })
        };
        let actions = actions.into_iter().enumerate().map(read).collect::<Result<_, _>>()?;
        Ok(Self {
            name,
            actions,
            is_first_version,
        })
    }

    /// Changes a document; gives what could not be done.
    pub(super) fn apply(&self, document: &mut Value) -> Vec<Problem> {
        let mut problems = Vec::new();
        let mut nodes_left = MAX_ADDED_NODES;
        for (index, action) in self.actions.iter().enumerate() {
            let mut problem = |message: String| {
                problems.push(Problem {
                    pointer: format!("{}#/actions/{index}", self.name),
                    message: format!("the target `{}` {message}", prose::quote(&action.text)),
                });
            };
            let mut places = places(&action.target, document);
            if places.is_empty() {
                problem("selects nothing".to_owned());
                continue;
            }
            let update = match &action.change {
                Change::Nothing => continue,
                Change::Remove => {
                    // From the last to the first, so that the places of list items before them stay.
                    places.sort_by_cached_key(|place| steps(place));
                    let faults = places.iter().rev().filter_map(|place| remove(document, place).err());
                    faults.for_each(&mut problem);
                    continue;
                }
                Change::Update(update) => Some(update),
                Change::Copy(source) => source.query(document).exactly_one().ok(),
            };
            let Some(update) = update else {
                problem("gets nothing: `copy` does not select exactly one value".to_owned());
                continue;
            };
            let (nodes, depth) = measure(update);
            let levels = places.iter().map(|place| place.matches('/').count()).max().unwrap_or_default();
            // Before anything is copied. What follows would build on what is not there.
            nodes_left = match nodes_left.checked_sub(nodes.saturating_mul(places.len())) {
                Some(left) if levels + depth < MAX_DEPTH => left,
                Some(_) | None => {
                    problem("is not changed, and nothing after it: the document would become too large".to_owned());
                    return problems;
                }
            };
            let update = update.clone();
            for place in &places {
                if let Some(target) = document.pointer_mut(place) {
                    self.update(target, &update).unwrap_or_else(&mut problem);
                }
            }
        }
        problems
    }

    fn update(&self, target: &mut Value, update: &Value) -> Result<(), String> {
        match (target, update) {
            (Value::Object(_), update) if !update.is_object() => Err("is an object, and `update` is none".to_owned()),
            (target @ Value::Object(_), update) => merge(target, update),
            (Value::Array(items), Value::Array(more)) if !self.is_first_version => {
                items.extend(more.iter().cloned());
                Ok(())
            }
            (Value::Array(items), entry) => {
                items.push(entry.clone());
                Ok(())
            }
            (_, Value::Object(_) | Value::Array(_)) => Err("is neither an object nor a list, and `update` is one".to_owned()),
            (_, _) if self.is_first_version => Err("is neither an object nor a list, which needs version 1.1 of overlays".to_owned()),
            (primitive, update) => {
                primitive.clone_from(update);
                Ok(())
            }
        }
    }
}

/// What stays of an action. (Overlay 1.1, Action Object.)
fn read_action(mut action: Value, is_first_version: bool) -> Result<Action, String> {
    let text = action.get("target").and_then(Value::as_str).ok_or("needs a `target`")?.to_owned();
    let target = json_path(&text)?;
    let is_removal = action.get("remove").and_then(Value::as_bool) == Some(true);
    let copy = action.get("copy").filter(|_| !is_first_version);
    let source = copy.map(|path| path.as_str().ok_or("has a `copy` that is no text")).transpose()?;
    let source = source.map(json_path).transpose()?;
    let update = action.get_mut("update").map(Value::take);
    let change = match (is_removal, update, source) {
        (true, _, _) => Change::Remove,
        (false, Some(_), Some(_)) => return Err("has both `update` and `copy`".to_owned()),
        (false, Some(update), None) => Change::Update(update),
        (false, None, Some(source)) => Change::Copy(source),
        (false, None, None) => Change::Nothing,
    };
    Ok(Action { target, text, change })
}

fn json_path(text: &str) -> Result<JsonPath, String> {
    let count = |part: &str| text.matches(part).count();
    let is_small = text.len() <= MAX_PATH_BYTES
        && count("(") <= MAX_PARENTHESES
        && count("[") <= MAX_PARENTHESES * 2
        && count("?") <= MAX_FILTERS
        && count("..") <= MAX_DESCENTS;
    if !is_small {
        return Err("has a path that is too complex".to_owned());
    }
    JsonPath::parse(text).map_err(|error| format!("has no path of RFC 9535: {error}"))
}

/// JSON Pointers of what a path selects, each once.
fn places(path: &JsonPath, document: &Value) -> Vec<String> {
    let mut seen = BTreeSet::new();
    let found = path.query_located(document);
    let places = found.locations().map(NormalizedPath::to_json_pointer);
    places.filter(|place| seen.insert(place.clone())).collect()
}

/// The steps of a JSON Pointer, so that places sort as in the document, items of lists by number.
fn steps(place: &str) -> Vec<(Option<usize>, String)> {
    place.split('/').map(|step| (step.parse().ok(), step.to_owned())).collect()
}

fn remove(document: &mut Value, place: &str) -> Result<(), String> {
    let (parent, last) = place.rsplit_once('/').ok_or("is the whole document, which cannot be removed")?;
    match document.pointer_mut(parent) {
        Some(Value::Object(members)) => {
            members.shift_remove(&unescape(last));
        }
        Some(Value::Array(items)) => {
            if let Some(index) = last.parse().ok().filter(|index| *index < items.len()) {
                items.remove(index);
            }
        }
        // It went with something around it.
        Some(_) | None => {}
    }
    Ok(())
}

/// Objects are merged, lists joined, everything else replaced; values of different kinds stay apart.
fn merge(target: &mut Value, update: &Value) -> Result<(), String> {
    match (target, update) {
        (Value::Object(members), Value::Object(updates)) => {
            let mut result = Ok(());
            for (key, update) in updates {
                match members.get_mut(key) {
                    Some(member) => {
                        result = result.and(merge(member, update).map_err(|error| format!("{error} (`{}`)", prose::quote(key))));
                    }
                    None => {
                        members.insert(key.clone(), update.clone());
                    }
                }
            }
            result
        }
        (Value::Array(items), Value::Array(more)) => {
            items.extend(more.iter().cloned());
            Ok(())
        }
        (Value::Object(_) | Value::Array(_), _) | (_, Value::Object(_) | Value::Array(_)) => {
            Err("has a member of another kind than `update` gives it, which stays as it is".to_owned())
        }
        (primitive, update) => {
            primitive.clone_from(update);
            Ok(())
        }
    }
}

/// How many values there are, and how many levels.
fn measure(value: &Value) -> (usize, usize) {
    let together = |parts: &mut dyn Iterator<Item = &Value>| {
        parts
            .map(measure)
            .fold((1, 1), |(nodes, depth), (more, below)| (nodes + more, depth.max(below + 1)))
    };
    match value {
        Value::Array(items) => together(&mut items.iter()),
        Value::Object(members) => together(&mut members.values()),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => (1, 1),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn apply(version: &str, document: &Value, actions: &Value) -> (Value, Vec<String>) {
        let overlay = json!({"overlay": version, "info": {"title": "t", "version": "1"}, "actions": actions});
        let overlay = Overlay::parse(overlay.to_string().as_bytes(), "o.yaml").unwrap();
        let mut changed = document.clone();
        let problems = overlay.apply(&mut changed);
        (
            changed,
            problems
                .into_iter()
                .map(|problem| format!("{}: {}", problem.pointer, problem.message))
                .collect(),
        )
    }

    #[test]
    fn actions_change_what_their_targets_select() {
        let document =
            json!({"info": {"title": "a", "tags": ["x"]}, "paths": {"/a": {"get": {"tags": ["p"]}}, "/b/{c~d}": {"get": {"tags": []}}}});
        let check = |actions: Value, pointer: &str, expected: Value| {
            let (changed, problems) = apply("1.1.0", &document, &actions);
            assert_eq!(
                (changed.pointer(pointer).cloned().unwrap_or_default(), problems),
                (expected, vec![]),
                "{actions}"
            );
        };
        check(
            json!([{"target": "$.info", "update": {"title": "b", "tags": ["y"], "new": {"k": 1}}}]),
            "/info",
            json!({"title": "b", "tags": ["x", "y"], "new": {"k": 1}}),
        );
        check(json!([{"target": "$.info.tags", "update": "y"}]), "/info/tags", json!(["x", "y"]));
        check(
            json!([{"target": "$.info.tags", "update": ["y", "z"]}]),
            "/info/tags",
            json!(["x", "y", "z"]),
        );
        check(json!([{"target": "$.info.title", "update": "b"}]), "/info/title", json!("b"));
        check(
            json!([{"target": "$.paths['/b/{c~d}']", "remove": true}]),
            "/paths",
            json!({"/a": {"get": {"tags": ["p"]}}}),
        );
        check(
            json!([{"target": "$.paths.*.get.tags[*]", "remove": true}]),
            "/paths/~1a/get/tags",
            json!([]),
        );
        check(
            json!([{"target": "$.paths", "update": {"/c": {}}}, {"target": "$.paths['/c']", "copy": "$.paths['/a']"}]),
            "/paths/~1c",
            json!({"get": {"tags": ["p"]}}),
        );
        check(
            json!([{"target": "$.paths.*.get", "update": {"x": true}}]),
            "/paths/~1b~1{c~0d}/get/x",
            json!(true),
        );
    }

    #[test]
    fn items_of_a_list_are_removed_whatever_their_order() {
        for (target, expected) in [("$.a[?@ > 1]", json!([1])), ("$.a[11, 2, 0]", json!([2, 4, 5, 6, 7, 8, 9, 10, 11]))] {
            let document = json!({"a": (1..13).collect::<Vec<_>>()});
            let (changed, _) = apply("1.0.0", &document, &json!([{"target": target, "remove": true}]));
            assert_eq!(changed, json!({"a": expected}));
        }
    }

    #[test]
    fn version_1_0_appends_a_list_as_one_entry_and_takes_no_primitives() {
        let document = json!({"a": [1], "b": 1});
        let (changed, problems) = apply(
            "1.0.0",
            &document,
            &json!([{"target": "$.a", "update": [2]}, {"target": "$.b", "update": 2}]),
        );
        assert_eq!(changed, json!({"a": [1, [2]], "b": 1}));
        assert_eq!(problems.len(), 1, "{problems:?}");
    }

    #[test]
    fn what_cannot_be_done_is_told_and_changes_nothing() {
        let document = json!({"a": {"b": [1]}, "c": 1});
        for (action, expected) in [
            (
                json!({"target": "$.none", "update": {}}),
                "o.yaml#/actions/0: the target `$.none` selects nothing",
            ),
            (json!({"target": "$", "remove": true}), "the whole document"),
            (json!({"target": "$.a", "update": 1}), "`update` is none"),
            (json!({"target": "$.a", "update": {"b": {"c": 1}}}), "another kind"),
            (json!({"target": "$.c", "update": {}}), "neither an object nor a list"),
            (json!({"target": "$.a", "copy": "$.*"}), "exactly one"),
        ] {
            let (changed, problems) = apply("1.1.0", &document, &json!([action]));
            assert_eq!(changed, document, "{action}");
            assert!(matches!(problems.as_slice(), [one] if one.contains(expected)), "{problems:?}");
        }
    }

    #[test]
    fn copies_of_copies_end() {
        let doubling = json!({"target": "$.a", "copy": "$.b"});
        let back = json!({"target": "$.b", "copy": "$"});
        let actions: Vec<Value> = (0..200).flat_map(|_| [doubling.clone(), back.clone()]).collect();
        let (changed, problems) = apply("1.1.0", &json!({"a": {}, "b": {}}), &json!(actions));
        assert!(measure(&changed).1 <= MAX_DEPTH);
        assert!(problems.iter().any(|problem| problem.contains("too large")), "{problems:?}");
    }

    #[test]
    fn what_is_no_overlay_is_refused_with_the_reason() {
        let check = |text: &str, expected: &str| {
            let error = Overlay::parse(text.as_bytes(), "o.yaml").unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        };
        check("a: [", "not valid YAML");
        check("openapi: 3.1.0", "needs `overlay: 1.0.0`");
        check("overlay: 2.0.0\nactions: []", "needs `overlay: 1.0.0`");
        check("overlay: 1.0.0", "needs `actions`");
        check("overlay: 1.0.0\nactions: [{update: {}}]", "`/actions/0` needs a `target`");
        check("overlay: 1.0.0\nactions: [{target: 'paths'}]", "RFC 9535");
        check("overlay: 1.1.0\nactions: [{target: $, update: {}, copy: $}]", "both");
        check(
            &format!("overlay: 1.0.0\nactions: [{{target: '${}'}}]", "..*".repeat(3)),
            "too complex",
        );
    }
}
