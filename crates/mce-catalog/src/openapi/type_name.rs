//! Named schemas: which places of a document are types, and what each is called.
//!
//! A component's name depends on the document's other components only. A schema elsewhere (in another file, behind a
//! deep reference) first gets a name with a hash of its place, and loses the hash in the end if the plain name is free.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use unicode_normalization::UnicodeNormalization as _;

use super::reference::Node;
use crate::names;
use crate::pointer::unescape;

/// What a reference in a schema means.
#[derive(Debug, Clone)]
pub(super) enum Referent {
    /// The type of this name.
    Type(String),
    /// A schema that is `true` or `false`.
    Fixed(bool),
}

/// The types that functions reach.
#[derive(Debug, Default)]
pub(super) struct TypeTable<'a> {
    /// References already resolved, by file and text.
    pub(super) referents: BTreeMap<(usize, &'a str), Referent>,
    by_place: BTreeMap<(usize, String), String>,
    /// Types not yet normalised.
    pub(super) waiting: Vec<(String, Node<'a>)>,
    /// Names of the main document's components, by pointer.
    components: BTreeMap<String, String>,
    component_names: BTreeSet<String>,
    /// The plain names of types that have a provisional one.
    provisional: BTreeMap<String, String>,
}

impl<'a> TypeTable<'a> {
    /// Names all components in advance.
    pub(super) fn new(main: &Node<'a>) -> Self {
        let mut table = Self::default();
        let places = [
            main.get("components").and_then(|components| components.get_object("schemas")),
            main.get_object("definitions"),
        ];
        // A component that is only another name for one is never a type, so it takes no name from one.
        let components: Vec<(&str, Node<'a>)> = places
            .iter()
            .flatten()
            .flat_map(|section| section.members().collect::<Vec<_>>())
            .filter(|(_, node)| !is_alias(node))
            .collect();
        let originals: Vec<&str> = components.iter().map(|(original, _)| *original).collect();
        for ((_, node), name) in components.iter().zip(component_names(&originals)) {
            table.component_names.insert(name.to_lowercase());
            table.components.insert(node.pointer.clone(), name);
        }
        table
    }

    /// The name of the type at `node`, which is normalised later if it was not met before.
    pub(super) fn name(&mut self, node: Node<'a>) -> String {
        let place = (node.file.index, node.pointer.clone());
        if let Some(name) = self.by_place.get(&place) {
            return name.clone();
        }
        let name = self.new_name(&node);
        self.by_place.insert(place, name.clone());
        self.waiting.push((name.clone(), node));
        name
    }

    fn new_name(&mut self, node: &Node<'a>) -> String {
        let component = (node.file.index == 0).then(|| self.components.get(&node.pointer)).flatten();
        if let Some(name) = component {
            return name.clone();
        }
        let plain = ascii(&place_name(node));
        let provisional = names::with_hash(&plain, &node.place());
        self.provisional.insert(provisional.clone(), plain);
        provisional
    }

    /// Better names for types with a provisional one, where the plain name is not ambiguous.
    pub(super) fn renames(&self) -> BTreeMap<String, String> {
        let mut uses: BTreeMap<String, usize> = BTreeMap::new();
        for plain in self.provisional.values() {
            *uses.entry(plain.to_lowercase()).or_default() += 1;
        }
        let is_free = |plain: &String| !self.component_names.contains(&plain.to_lowercase()) && uses.get(&plain.to_lowercase()) == Some(&1);
        self.provisional
            .iter()
            .filter(|(_, plain)| is_free(plain))
            .map(|(from, to)| (from.clone(), to.clone()))
            .collect()
    }
}

/// `{"$ref": "#/$defs/NAME"}`'s text.
pub(super) fn pointer_to(name: &str) -> String {
    format!("#/$defs/{name}")
}

/// A schema that is a reference and says nothing of its own.
pub(super) fn is_alias(node: &Node<'_>) -> bool {
    let is_idle = |key: &String| matches!(key.as_str(), "$ref" | "description" | "summary" | "title") || key.starts_with("x-");
    node.text("$ref").is_some() && node.object().is_some_and(|members| members.keys().all(is_idle))
}

/// Replaces names in the references of a schema. Recurses as deep as the schema is nested, which the parser bounds.
pub(super) fn rename(schema: &mut Value, renames: &BTreeMap<String, String>) {
    match schema {
        Value::Object(members) => {
            for (key, value) in members {
                match value {
                    Value::String(text) if key == "$ref" => rename_pointer(text, renames),
                    Value::Object(inner) if key == "mapping" => inner.iter_mut().for_each(|(_, value)| {
                        if let Value::String(text) = value {
                            rename_pointer(text, renames);
                        }
                    }),
                    other => rename(other, renames),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| rename(item, renames)),
        _ => {}
    }
}

fn rename_pointer(text: &mut String, renames: &BTreeMap<String, String>) {
    if let Some(name) = text.strip_prefix("#/$defs/").and_then(|name| renames.get(name)) {
        *text = pointer_to(name);
    }
}

/// Names for all components of a document, no two alike even without regard to case, since generated files are named
/// after them: the last part of a dotted name, and as many parts more as tell it apart.
fn component_names(originals: &[&str]) -> Vec<String> {
    let parts: Vec<Vec<&str>> = originals.iter().map(|original| dotted(original)).collect();
    let mut lengths: Vec<usize> = vec![1; originals.len()];
    let longest = parts.iter().map(Vec::len).max().unwrap_or(1);
    for _ in 0..longest {
        let mut groups: BTreeMap<String, Vec<usize>> = BTreeMap::new();
        for (index, (parts, length)) in parts.iter().zip(&lengths).enumerate() {
            groups.entry(joined(parts, *length).to_lowercase()).or_default().push(index);
        }
        for index in groups.into_values().filter(|group| group.len() > 1).flatten() {
            if let (Some(length), Some(parts)) = (lengths.get_mut(index), parts.get(index)) {
                *length = (*length + 1).min(parts.len());
            }
        }
    }
    let candidates: Vec<String> = parts.iter().zip(&lengths).map(|(parts, length)| joined(parts, *length)).collect();
    // Of those that still meet, the one spelt like its name keeps it.
    let mut owners: BTreeMap<String, &str> = BTreeMap::new();
    for (candidate, original) in candidates.iter().zip(originals) {
        let owner = owners.entry(candidate.to_lowercase()).or_insert(original);
        if (*original != candidate, *original) < (*owner != candidate, *owner) {
            *owner = original;
        }
    }
    let is_owner = |candidate: &String, original: &str| owners.get(&candidate.to_lowercase()) == Some(&original);
    let mut taken: BTreeSet<String> = BTreeSet::new();
    let mut finals = Vec::new();
    for (candidate, original) in candidates.iter().zip(originals) {
        let mut name = if is_owner(candidate, original) {
            candidate.clone()
        } else {
            names::with_hash(candidate, original)
        };
        while !taken.insert(name.to_lowercase()) {
            name = names::with_hash(&name, original);
        }
        finals.push(name);
    }
    finals
}

/// The parts of a dotted name that can stand for it alone: each starts with a letter.
fn dotted(original: &str) -> Vec<&str> {
    let parts: Vec<&str> = original.split('.').collect();
    let is_word = |part: &&str| part.starts_with(|c: char| c.is_alphabetic()) && part.chars().all(|c| c.is_alphanumeric() || c == '_');
    // More parts are no namespace that somebody wrote.
    if (2..=12).contains(&parts.len()) && parts.iter().all(is_word) {
        parts
    } else {
        vec![original]
    }
}

fn joined(parts: &[&str], length: usize) -> String {
    let kept: Vec<&str> = parts.iter().skip(parts.len().saturating_sub(length)).copied().collect();
    let original = kept.join(".");
    ascii(&names::type_name(&original).unwrap_or_else(|| names::with_hash("Type", &original)))
}

/// Only ASCII, since the name is part of a URI reference.
fn ascii(name: &str) -> String {
    if name.is_ascii() {
        return name.to_owned();
    }
    let mut kept: String = name.nfkd().filter(char::is_ascii).collect();
    if !kept.starts_with(|c: char| c.is_ascii_alphabetic()) {
        kept.insert_str(0, "Type");
    }
    names::with_hash(&kept, name)
}

/// A name for a schema that is no component of the main document, made from its pointer or its file's name.
fn place_name(node: &Node<'_>) -> String {
    let mut words: Vec<String> = Vec::new();
    let steps: Vec<String> = node.pointer.split('/').skip(1).map(unescape).collect();
    let mut kind = "";
    let mut before = "";
    for (index, step) in steps.iter().enumerate() {
        match (index, step.as_str()) {
            (0, "components" | "definitions" | "paths" | "$defs" | "tools") | (1, "schemas" | "pathItems") => {}
            (2, "inputSchema" | "outputSchema") => {}
            (0 | 1, "parameters") => kind = "Parameter",
            (0 | 1, "responses") => kind = "Response",
            (1, "requestBodies") => kind = "Body",
            (1, "headers") => kind = "Header",
            (_, "properties" | "content" | "schema" | "allOf" | "anyOf" | "oneOf" | "patternProperties" | "additionalProperties") => {}
            (_, "definitions" | "$defs") => {}
            (_, "items") => words.push("item".to_owned()),
            (_, "requestBody") => words.push("body".to_owned()),
            (_, "responses") => words.push("response".to_owned()),
            _ if before == "content" => {}
            (_, other) => words.push(other.to_owned()),
        }
        before = step;
    }
    words.push(kind.to_owned());
    if words.iter().all(String::is_empty) {
        let file = node.file.name.rsplit('/').next().unwrap_or_default();
        words.push(file.split('.').next().unwrap_or_default().to_owned());
    }
    // The last words tell most.
    let kept = words.len().saturating_sub(5);
    let name = words.iter().skip(kept).map(String::as_str).collect::<Vec<_>>().join(" ");
    names::type_name(&name).unwrap_or_else(|| "Schema".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn components_are_called_by_the_shortest_part_that_tells_them_apart() {
        let check = |originals: &[&str], expected: &[&str]| assert_eq!(component_names(originals), expected);
        check(
            &[
                "io.k8s.api.core.v1.Pod",
                "io.k8s.api.apps.v1.Deployment",
                "io.k8s.api.extensions.v1beta1.Deployment",
            ],
            &["Pod", "V1Deployment", "V1beta1Deployment"],
        );
        check(&["pull-request", "Foo.1.0"], &["PullRequest", "Foo10"]);
    }

    #[test]
    fn components_that_differ_in_case_alone_are_told_apart_without_regard_to_order() {
        let names = component_names(&["error", "Error"]);
        assert_eq!(names[1], "Error");
        assert!(names[0].starts_with("Error_"));
        let mut reversed = component_names(&["Error", "error"]);
        reversed.reverse();
        assert_eq!(names, reversed);
    }

    #[test]
    fn names_are_ascii() {
        assert!(component_names(&["Größe", "名前"]).iter().all(|name| name.is_ascii()));
    }
}
