//! What became of a document's operations since it was compiled before.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use serde_json::{Map, Value};

use crate::{
    function::{Body, Function, Parameter, Types},
    schema::references,
};

/// Keywords of schemas that change nothing about what a call may send or get.
const ANNOTATIONS: [&str; 8] = [
    "$comment",
    "deprecated",
    "description",
    "example",
    "examples",
    "externalDocs",
    "title",
    "xml",
];
/// Keywords whose members have names of their own.
const MAPS: [&str; 4] = ["$defs", "dependentSchemas", "patternProperties", "properties"];
/// Keywords that hold values, not schemas.
const VALUES: [&str; 4] = ["const", "default", "enum", "required"];

/// Operations that differ. In the order of the document that has them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Changes {
    /// Callable now, and not before.
    pub added: Vec<String>,
    /// Callable before, and not now.
    pub removed: Vec<String>,
    /// Called in another way: names, effect, arguments, types of arguments or answer.
    pub changed: Vec<String>,
}

/// The functions of a document and their types.
#[derive(Debug, Clone, Copy)]
pub struct Contents<'a> {
    /// In the document's order.
    pub functions: &'a [Function],
    /// By name.
    pub types: &'a Types,
}

impl Changes {
    /// What differs between two states of a document.
    pub fn between(before: Contents<'_>, after: Contents<'_>) -> Self {
        let types = changed_types(before.types, after.types);
        let known: BTreeMap<&str, &Function> = before.functions.iter().map(|one| (one.operation.as_str(), one)).collect();
        let now: BTreeSet<&str> = after.functions.iter().map(|one| one.operation.as_str()).collect();
        let mut changes = Self::default();
        for function in after.functions {
            let list = match known.get(function.operation.as_str()) {
                None => &mut changes.added,
                Some(old) if differs(old, function, &types) => &mut changes.changed,
                Some(_) => continue,
            };
            list.push(function.operation.clone());
        }
        let gone = before.functions.iter().filter(|one| !now.contains(one.operation.as_str()));
        changes.removed = gone.map(|one| one.operation.clone()).collect();
        changes
    }

    /// Whether nothing differs.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// Types that are not what they were, also by what they refer to.
fn changed_types(before: &Types, after: &Types) -> BTreeSet<String> {
    let is_same = |name: &String, schema: &Value| before.get(name).is_some_and(|old| same(old, schema));
    let mut changed: BTreeSet<String> = after
        .iter()
        .filter(|(name, schema)| !is_same(name, schema))
        .map(|(name, _)| name.clone())
        .collect();
    let mut users: BTreeMap<String, Vec<&String>> = BTreeMap::new();
    for (name, schema) in after {
        for used in references(schema) {
            users.entry(used).or_default().push(name);
        }
    }
    let mut open: Vec<String> = changed.iter().cloned().collect();
    while let Some(name) = open.pop() {
        for user in users.get(&name).into_iter().flatten() {
            if changed.insert((*user).clone()) {
                open.push((*user).clone());
            }
        }
    }
    changed
}

fn differs(old: &Function, new: &Function, changed_types: &BTreeSet<String>) -> bool {
    let same_parameter = |(old, new): (&Parameter, &Parameter)| {
        (&old.key, old.location, old.is_required) == (&new.key, new.location, new.is_required) && same(&old.schema, &new.schema)
    };
    let same_parameters = old.parameters.len() == new.parameters.len() && old.parameters.iter().zip(&new.parameters).all(same_parameter);
    let same_result = match (&old.result, &new.result) {
        (Some(old), Some(new)) => same(old, new),
        (old, new) => old == new,
    };
    let same_names = (&old.python, &old.typescript, old.effect) == (&new.python, &new.typescript, new.effect);
    !(same_names && same_parameters && same_body(old.body.as_ref(), new.body.as_ref()) && same_result)
        || new.schemas().flat_map(references).any(|name| changed_types.contains(&name))
}

fn same_body(old: Option<&Body>, new: Option<&Body>) -> bool {
    match (old, new) {
        (None, None) => true,
        (Some(old), Some(new)) => {
            let variants = old.variants.iter().zip(&new.variants);
            old.is_required == new.is_required
                && old.variants.len() == new.variants.len()
                && variants
                    .into_iter()
                    .all(|(old, new)| old.media_type == new.media_type && same(&old.schema, &new.schema))
        }
        (Some(_), None) | (None, Some(_)) => false,
    }
}

/// Whether two schemas take the same values, as far as they are written alike. Schemas of the catalog are shallow.
fn same(old: &Value, new: &Value) -> bool {
    match (old, new) {
        (Value::Object(old), Value::Object(new)) => {
            let count = |members: &Map<String, Value>| members.keys().filter(|key| !is_annotation(key)).count();
            let is_same = |(key, old): (&String, &Value)| {
                let Some(new) = new.get(key) else { return false };
                match (old, new) {
                    (Value::Object(old), Value::Object(new)) if MAPS.contains(&key.as_str()) => {
                        old.len() == new.len() && old.iter().all(|(name, old)| new.get(name).is_some_and(|new| same(old, new)))
                    }
                    _ if VALUES.contains(&key.as_str()) => old == new,
                    _ => same(old, new),
                }
            };
            count(old) == count(new) && old.iter().filter(|(key, _)| !is_annotation(key)).all(is_same)
        }
        (Value::Array(old), Value::Array(new)) => old.len() == new.len() && old.iter().zip(new).all(|(old, new)| same(old, new)),
        (old, new) => old == new,
    }
}

fn is_annotation(key: &str) -> bool {
    ANNOTATIONS.contains(&key)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::openapi::{NoFurtherFiles, Origin, read};

    fn document() -> Value {
        json!({
            "openapi": "3.1.0", "info": {"title": "t", "version": "1"},
            "paths": {
                "/a": {"get": {"parameters": [{"name": "q", "in": "query", "description": "old", "schema": {"type": "string"}}], "responses": {}}},
                "/b": {"post": {"requestBody": {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/Outer"}}}}, "responses": {}}},
            },
            "components": {"schemas": {
                "Outer": {"type": "object", "properties": {"inner": {"$ref": "#/components/schemas/Inner"}}},
                "Inner": {"type": "object", "properties": {"description": {"type": "string", "description": "old"}}},
            }},
        })
    }

    fn check(change: impl FnOnce(&mut Value), added: &[&str], removed: &[&str], changed: &[&str]) {
        let mut later = document();
        change(&mut later);
        let [before, after] =
            [document(), later].map(|text| read(text.to_string().as_bytes(), &Origin::File("/d.json".into()), &NoFurtherFiles).unwrap());
        let [before, after] = [&before, &after].map(|document| Contents {
            functions: &document.functions,
            types: &document.types,
        });
        let changes = Changes::between(before, after);
        assert_eq!(
            (changes.added, changes.removed, changes.changed),
            (owned(added), owned(removed), owned(changed))
        );
    }

    fn owned(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn operations_come_go_and_change() {
        check(|_| {}, &[], &[], &[]);
        check(
            |later| later["paths"]["/c"] = json!({"delete": {"responses": {}}}),
            &["DELETE /c"],
            &[],
            &[],
        );
        check(
            |later| drop(later["paths"].as_object_mut().unwrap().remove("/a")),
            &[],
            &["GET /a"],
            &[],
        );
        check(
            |later| later["paths"]["/a"]["get"]["parameters"][0]["required"] = json!(true),
            &[],
            &[],
            &["GET /a"],
        );
        check(
            |later| later["paths"]["/a"]["get"]["operationId"] = json!("other"),
            &[],
            &[],
            &["GET /a"],
        );
    }

    #[test]
    fn a_type_changes_those_that_use_it_also_indirectly() {
        let change = |later: &mut Value| later["components"]["schemas"]["Inner"]["properties"]["description"]["type"] = json!("integer");
        check(change, &[], &[], &["POST /b"]);
        let change = |later: &mut Value| {
            drop(
                later["components"]["schemas"]["Inner"]["properties"]
                    .as_object_mut()
                    .unwrap()
                    .remove("description"),
            );
        };
        check(change, &[], &[], &["POST /b"]);
    }

    #[test]
    fn descriptions_change_nothing() {
        let change = |later: &mut Value| {
            later["components"]["schemas"]["Inner"]["properties"]["description"]["description"] = json!("new");
            later["paths"]["/a"]["get"]["parameters"][0]["description"] = json!("new");
        };
        check(change, &[], &[], &[]);
    }
}
