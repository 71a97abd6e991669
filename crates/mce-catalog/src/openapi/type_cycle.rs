//! Types that contain themselves in place (`allOf` to the parent whose `oneOf` leads back) would send a validator round
//! for ever. Each such circle is cut at one reference; circles through properties or items are ordinary recursion.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

use super::type_name::pointer_to;
use crate::function::Types;

/// How a schema holds another one in place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Hold {
    /// All of both must hold.
    All,
    /// One alternative.
    Choice,
    /// `not` and conditions.
    Other,
}

/// What each type holds in place.
type Edges = BTreeMap<String, Vec<(String, Hold)>>;

/// Steps of the search over all types together. Beyond it, which only a document made for it reaches, all that is left is
/// cut at once.
const MAX_STEPS: usize = 5_000_000;

/// Cuts all circles, and tells the types in which something was cut.
pub(super) fn cut(types: &mut Types) -> BTreeSet<String> {
    let edges = types.iter().map(|(name, schema)| (name.clone(), held(schema))).collect();
    let mut search = Search {
        edges,
        ..Search::default()
    };
    let mut cut_in = BTreeSet::new();
    while let Some(circle) = search.find_circle() {
        // A child of a parent that lists its children: cut the child's way up, so that the parent's choice stays whole.
        let step = circle.iter().find(|step| step.hold == Hold::All).or_else(|| circle.last());
        let Some(step) = step.cloned() else { break };
        cut_step(types, &step);
        if let Some(schema) = types.get(&step.from) {
            search.edges.insert(step.from.clone(), held(schema));
        }
        cut_in.insert(step.from);
    }
    if search.is_exhausted {
        for (from, edges) in search.edges.iter().filter(|(name, _)| !search.done.contains(*name)) {
            for (to, _) in edges {
                if let Some(schema) = types.get_mut(from) {
                    replace(schema, &pointer_to(to), &Value::Bool(true), Hold::All);
                }
            }
            cut_in.insert(from.clone());
        }
    }
    cut_in
}

/// `from` holds `to` in place.
#[derive(Debug, Clone)]
struct Step {
    from: String,
    to: String,
    hold: Hold,
}

/// The search for circles, always in the same order for the same types.
#[derive(Default)]
struct Search {
    /// What each type holds in place.
    edges: Edges,
    /// Types from which no circle can be reached; cutting elsewhere does not change that.
    done: BTreeSet<String>,
    steps: usize,
    /// [`MAX_STEPS`] are used up.
    is_exhausted: bool,
}

impl Search {
    fn find_circle(&mut self) -> Option<Vec<Step>> {
        self.steps += self.edges.len() / 64;
        let starts: Vec<&String> = self.edges.keys().filter(|name| !self.done.contains(*name)).collect();
        for start in starts {
            // The way from `start` to where the search is: a type, and how many of its edges were tried.
            let mut way: Vec<(&str, usize)> = vec![(start, 0)];
            let mut on_way: BTreeSet<&str> = BTreeSet::from([start.as_str()]);
            while let Some((name, tried)) = way.last_mut() {
                self.steps += 1;
                if self.steps > MAX_STEPS {
                    self.is_exhausted = true;
                    return None;
                }
                let name = *name;
                let next = self
                    .edges
                    .get(name)
                    .and_then(|edges| edges.get(*tried))
                    .filter(|_| !self.done.contains(name));
                let Some((to, _)) = next else {
                    self.done.insert(name.to_owned());
                    on_way.remove(name);
                    way.pop();
                    continue;
                };
                *tried += 1;
                if on_way.contains(to.as_str()) {
                    return Some(circle(&self.edges, &way, to));
                }
                if !self.done.contains(to) {
                    on_way.insert(to);
                    way.push((to, 0));
                }
            }
        }
        None
    }
}

/// The part of the way from `first` on, with the last tried edge of each.
fn circle(edges: &Edges, way: &[(&str, usize)], first: &str) -> Vec<Step> {
    let steps = way.iter().skip_while(|(name, _)| *name != first);
    let step = |(name, tried): &(&str, usize)| {
        let (to, hold) = edges.get(*name)?.get(tried.checked_sub(1)?)?;
        Some(Step {
            from: (*name).to_owned(),
            to: to.clone(),
            hold: *hold,
        })
    };
    steps.filter_map(step).collect()
}

/// The types that a schema holds in place, in order.
fn held(schema: &Value) -> Vec<(String, Hold)> {
    let mut found = Vec::new();
    collect(schema, Hold::All, &mut found);
    found
}

fn collect(schema: &Value, hold: Hold, found: &mut Vec<(String, Hold)>) {
    let Value::Object(members) = schema else { return };
    if let Some(name) = members
        .get("$ref")
        .and_then(Value::as_str)
        .and_then(|text| text.strip_prefix("#/$defs/"))
    {
        found.push((name.to_owned(), hold));
    }
    for (key, value) in members {
        let inner = match key.as_str() {
            "allOf" => hold,
            "anyOf" | "oneOf" => hold.max(Hold::Choice),
            "not" | "if" | "then" | "else" | "dependentSchemas" => Hold::Other,
            _ => continue,
        };
        match value {
            Value::Array(items) => items.iter().for_each(|item| collect(item, inner, found)),
            Value::Object(schemas) if key == "dependentSchemas" => schemas.values().for_each(|item| collect(item, inner, found)),
            other => collect(other, inner, found),
        }
    }
}

/// Replaces the references of one step. Held with all else, the other type is replaced by what of it does not lead on;
/// as one of several alternatives it adds nothing and goes.
fn cut_step(types: &mut Types, step: &Step) {
    let mut replacement = Value::Bool(true);
    if step.hold == Hold::All
        && step.from != step.to
        && let Some(Value::Object(parent)) = types.get(&step.to)
    {
        let own = without_composition(parent);
        if !own.is_empty() {
            let name = format!("{}_Base", step.to);
            replacement = json!({"$ref": pointer_to(&name)});
            types.insert(name, Value::Object(own));
        }
    }
    if let Some(schema) = types.get_mut(&step.from) {
        replace(schema, &pointer_to(&step.to), &replacement, Hold::All);
    }
}

/// The keywords of a type that hold no other type in place.
fn without_composition(schema: &Map<String, Value>) -> Map<String, Value> {
    const COMPOSITION: &[&str] = &[
        "$ref",
        "allOf",
        "anyOf",
        "oneOf",
        "not",
        "if",
        "then",
        "else",
        "dependentSchemas",
        "discriminator",
    ];
    schema
        .iter()
        .filter(|(key, _)| !COMPOSITION.contains(&key.as_str()))
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect()
}

fn replace(schema: &mut Value, pointer: &str, replacement: &Value, hold: Hold) {
    let Value::Object(members) = schema else { return };
    if members.get("$ref").is_some_and(|text| text == pointer) {
        members.shift_remove("$ref");
        match replacement {
            Value::Object(other) => members.extend(other.clone()),
            _ if members.is_empty() => *schema = Value::Bool(hold == Hold::All),
            _ => {}
        }
        return;
    }
    for (key, value) in members.iter_mut() {
        let inner = match key.as_str() {
            "allOf" => hold,
            "anyOf" | "oneOf" => Hold::Choice,
            "not" | "if" | "then" | "else" | "dependentSchemas" => Hold::Other,
            _ => continue,
        };
        match value {
            Value::Array(items) => {
                for item in items.iter_mut() {
                    replace(item, pointer, replacement, inner);
                }
                if inner == Hold::Choice {
                    items.retain(|item| *item != Value::Bool(false));
                }
            }
            Value::Object(schemas) if key == "dependentSchemas" => {
                schemas.values_mut().for_each(|item| replace(item, pointer, replacement, inner));
            }
            other => replace(other, pointer, replacement, inner),
        }
    }
    // A choice of nothing but itself is no choice at all.
    members.retain(|key, value| !(matches!(key.as_str(), "anyOf" | "oneOf") && value.as_array().is_some_and(Vec::is_empty)));
}

#[cfg(test)]
#[expect(clippy::needless_pass_by_value, reason = "the values are written in place")]
mod tests {
    use super::*;

    fn check(types: Value, expected: Value) {
        let mut types: Types = serde_json::from_value(types).unwrap();
        cut(&mut types);
        assert_eq!(serde_json::to_value(&types).unwrap(), expected);
        let edges = types.iter().map(|(name, schema)| (name.clone(), held(schema))).collect();
        assert!(
            Search {
                edges,
                ..Search::default()
            }
            .find_circle()
            .is_none()
        );
    }

    #[test]
    fn a_type_that_is_only_itself_is_anything() {
        check(json!({"A": {"allOf": [{"$ref": "#/$defs/A"}]}}), json!({"A": {"allOf": [true]}}));
        check(json!({"A": {"oneOf": [{"$ref": "#/$defs/A"}]}}), json!({"A": {}}));
    }

    #[test]
    fn a_child_keeps_the_properties_of_a_parent_that_lists_its_children() {
        let child = json!({"allOf": [{"$ref": "#/$defs/Pet"}, {"required": ["bark"]}]});
        let pet = json!({"properties": {"name": true}, "oneOf": [{"$ref": "#/$defs/Dog"}]});
        check(
            json!({"Dog": child, "Pet": pet}),
            json!({
                "Dog": {"allOf": [{"$ref": "#/$defs/Pet_Base"}, {"required": ["bark"]}]},
                "Pet": pet,
                "Pet_Base": {"properties": {"name": true}},
            }),
        );
    }

    #[test]
    fn recursion_through_properties_stays() {
        let types = json!({"Tree": {"properties": {"kids": {"items": {"$ref": "#/$defs/Tree"}}}}});
        check(types.clone(), types);
    }
}
