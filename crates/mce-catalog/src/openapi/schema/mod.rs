//! Schemas of any version to JSON Schema 2020-12: references become names of types, spellings of older drafts the new
//! ones, and what a validator would refuse is left out with a problem.

mod keyword;
mod nullable;

use serde_json::{Map, Value, json};

use super::document::Reader;
use super::prose;
use super::reference::Node;
use super::type_name::{Referent, is_alias, pointer_to};
use crate::pointer::unescape;

/// Characters of a description inside a schema.
const MAX_DESCRIPTION: usize = 500;
/// A shared schema with more nodes than this becomes a type rather than being repeated.
const MAX_REPEATED: usize = 12;
/// Hops of a chain of references that are nothing but references.
const MAX_HOPS: usize = 64;
/// References to maps of properties inside of each other.
const MAX_MAPS: usize = 2;

/// Whether a missing `type` may be inferred from other keywords: not in the parts of a composition, which may rely on
/// accepting anything else.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Own,
    Part,
}

impl<'a> Reader<'a> {
    /// The schema at `node` as JSON Schema 2020-12.
    pub(super) fn schema(&mut self, node: &Node<'a>) -> Value {
        self.schema_in(node, Place::Own)
    }

    /// Likewise; if it is `shared`, so that other operations have it as well, a large one becomes a type.
    pub(super) fn shared_schema(&mut self, node: Node<'a>, is_shared: bool) -> Value {
        let is_large = is_shared && node.text("$ref").is_none() && weight(node.value, MAX_REPEATED) > MAX_REPEATED;
        if is_large {
            json!({"$ref": pointer_to(&self.types.name(node))})
        } else {
            self.schema(&node)
        }
    }

    fn schema_in(&mut self, node: &Node<'a>, place: Place) -> Value {
        if !self.spend(1) {
            return Value::Bool(true);
        }
        match node.value {
            Value::Object(_) if node.text("$ref").is_some() => self.with_reference(node),
            Value::Object(_) => Value::Object(self.keywords(node, place)),
            Value::Bool(fixed) => Value::Bool(*fixed),
            Value::Null => Value::Bool(true),
            _ => {
                self.problem(node, "this is no schema; any value is accepted");
                Value::Bool(true)
            }
        }
    }

    /// Normalises the types that wait, and those that they reach.
    pub(super) fn finish_types(&mut self) {
        while let Some((name, node)) = self.types.waiting.pop() {
            let schema = self.schema(&node);
            self.finished_types.insert(name, schema);
        }
    }

    /// A schema with `$ref`. What stands beside it holds as well from 3.1 on; before, only what does not restrict.
    fn with_reference(&mut self, node: &Node<'a>) -> Value {
        let reference = node.text("$ref").unwrap_or_default();
        let target = match self.referent(node, reference) {
            Referent::Fixed(false) => return Value::Bool(false),
            Referent::Fixed(true) => None,
            Referent::Type(name) => Some(pointer_to(&name)),
        };
        let mut out = Map::new();
        if let Some(target) = target {
            out.insert("$ref".to_owned(), target.into());
        }
        if node.object().is_some_and(|members| members.len() > 1) {
            if self.version.has_siblings() {
                let siblings = self.keywords(node, Place::Part);
                out.extend(siblings.into_iter().filter(|(key, _)| key != "$ref"));
                return Value::Object(out);
            }
            self.annotations(node, &mut out);
            nullable::admit_null(node, &mut out);
        }
        Value::Object(out)
    }

    /// The type that a reference means, behind schemas that are nothing but another reference.
    fn referent(&mut self, from: &Node<'a>, reference: &'a str) -> Referent {
        let key = (from.file.index, reference);
        if let Some(known) = self.types.referents.get(&key) {
            return known.clone();
        }
        let (referent, is_of_file) = match self.end_of_chain(from, reference) {
            Ok((node, is_of_file)) => match node.value {
                Value::Bool(fixed) => (Referent::Fixed(*fixed), is_of_file),
                Value::Object(_) => (Referent::Type(self.types.name(node)), is_of_file),
                _ => {
                    self.problem(
                        from,
                        &format!(
                            "the reference `{}` leads to no schema; any value is accepted",
                            prose::quote(reference)
                        ),
                    );
                    (Referent::Fixed(true), is_of_file)
                }
            },
            Err(reason) => {
                self.problem(from, &format!("{reason}; any value is accepted"));
                (Referent::Fixed(true), true)
            }
        };
        if is_of_file {
            self.types.referents.insert(key, referent.clone());
        }
        referent
    }

    /// The schema at the end of a chain, and whether the reference means the same everywhere in its file.
    fn end_of_chain(&self, from: &Node<'a>, reference: &'a str) -> Result<(Node<'a>, bool), String> {
        let (mut node, is_of_file) = match self.references.resolve_once(from, reference) {
            Ok(node) => (node, true),
            Err(reason) => (Self::inside_own_schema(from, reference).ok_or(reason)?, false),
        };
        for _ in 0..MAX_HOPS {
            let Some(next) = node.text("$ref").filter(|_| is_alias(&node)) else {
                return Ok((node, is_of_file));
            };
            node = self.references.resolve_once(&node, next)?;
        }
        Err(format!("the reference `{}` leads back to itself", prose::quote(reference)))
    }

    /// A reference such as `#/$defs/x` that is meant relative to a schema around it, as in JSON Schema.
    fn inside_own_schema(from: &Node<'a>, reference: &str) -> Option<Node<'a>> {
        let steps: Vec<String> = reference.strip_prefix("#/")?.split('/').map(unescape).collect();
        let mut around = vec![Node::top(from.file)];
        for step in from.pointer.split('/').skip(1).map(unescape) {
            let next = around.last()?.step(&step)?;
            around.push(next);
        }
        around
            .into_iter()
            .rev()
            .find_map(|root| steps.iter().try_fold(root, |node, step| node.step(step)))
    }

    /// All keywords but `$ref`.
    fn keywords(&mut self, node: &Node<'a>, place: Place) -> Map<String, Value> {
        let mut out = Map::new();
        self.type_keyword(node, place, &mut out);
        for (key, member) in node.members() {
            match key {
                "properties" | "dependentSchemas" => self.schema_map(key, &member, &mut out),
                "patternProperties" => self.pattern_properties(&member, &mut out),
                "items" => self.items(&member, &mut out),
                "prefixItems" => self.schema_list("prefixItems", &member, Place::Own, &mut out),
                "allOf" | "anyOf" | "oneOf" => self.schema_list(key, &member, Place::Part, &mut out),
                "not" | "if" | "then" | "else" => {
                    let schema = self.schema_in(&member, Place::Part);
                    out.insert(key.to_owned(), schema);
                }
                "additionalProperties" | "unevaluatedProperties" | "unevaluatedItems" | "contains" | "propertyNames" => {
                    let schema = self.schema_in(&member, Place::Own);
                    out.insert(key.to_owned(), schema);
                }
                "dependencies" => self.dependencies(&member, &mut out),
                "discriminator" => self.discriminator(&member, &mut out),
                _ => self.plain_keyword(key, &member, &mut out),
            }
        }
        self.annotations(node, &mut out);
        keyword::repair_bounds(&mut out);
        keyword::repair_binary(&mut out);
        keyword::repair_list_of_choices(&mut out);
        keyword::repair_required(&mut out);
        nullable::admit_null(node, &mut out);
        out
    }

    /// Keywords that describe and do not restrict.
    fn annotations(&mut self, node: &Node<'a>, out: &mut Map<String, Value>) {
        if let Some(text) = node.text("description") {
            let text = prose::line(text, MAX_DESCRIPTION);
            if !text.is_empty() && self.spend(1 + text.len() / 64) {
                out.insert("description".to_owned(), text.into());
            }
        }
        for key in ["deprecated", "readOnly", "writeOnly"] {
            if node.flag(key) == Some(true) {
                out.insert(key.to_owned(), true.into());
            }
        }
        if let Some(default) = node.get("default").filter(|default| weight(default.value, 32) <= 32) {
            let is_short = default.value.as_str().is_none_or(|text| text.len() <= 1000);
            if is_short {
                out.insert("default".to_owned(), default.value.clone());
            }
        }
    }

    fn schema_map(&mut self, key: &str, member: &Node<'a>, out: &mut Map<String, Value>) {
        if member.object().is_none() {
            if !member.value.is_null() {
                self.problem(member, &format!("`{key}` is no object; it is left out"));
            }
            return;
        }
        if member.text("$ref").is_some() {
            return self.referenced_map(key, member, out);
        }
        let schemas = member.members().map(|(name, schema)| (name.to_owned(), self.schema(&schema)));
        out.insert(key.to_owned(), schemas.collect());
    }

    /// Some write a reference to a whole map of properties; a property called `$ref` would be a schema and no text.
    fn referenced_map(&mut self, key: &str, member: &Node<'a>, out: &mut Map<String, Value>) {
        let end = match self.references.follow(member.clone()) {
            // Such maps are no types, so only this ends a circle of them.
            Ok(_) if self.maps_followed >= MAX_MAPS => Err("a reference to properties leads to further ones".to_owned()),
            Ok(followed) if followed.node.object().is_none() => Err("the reference leads to no properties".to_owned()),
            other => other,
        };
        match end {
            Ok(followed) => {
                self.maps_followed += 1;
                self.schema_map(key, &followed.node, out);
                self.maps_followed -= 1;
            }
            Err(reason) => self.problem(member, &format!("{reason}; these properties are left out")),
        }
    }

    fn pattern_properties(&mut self, member: &Node<'a>, out: &mut Map<String, Value>) {
        let mut schemas = Map::new();
        for (pattern, schema) in member.members() {
            if self.is_pattern(pattern) {
                schemas.insert(pattern.to_owned(), self.schema(&schema));
            } else {
                self.problem(&schema, "this pattern is no regular expression that is known here; it is left out");
            }
        }
        if !schemas.is_empty() {
            out.insert("patternProperties".to_owned(), Value::Object(schemas));
        }
    }

    fn schema_list(&mut self, key: &str, member: &Node<'a>, place: Place, out: &mut Map<String, Value>) {
        let schemas: Vec<Value> = member.items().map(|item| self.schema_in(&item, place)).collect();
        if !schemas.is_empty() {
            out.insert(key.to_owned(), Value::Array(schemas));
        } else if !member.value.is_null() {
            self.problem(member, &format!("`{key}` is no list of schemas, or an empty one; it is left out"));
        }
    }

    /// One schema for all items, or, before 2020-12, one for each.
    fn items(&mut self, member: &Node<'a>, out: &mut Map<String, Value>) {
        if member.value.is_array() {
            self.schema_list("prefixItems", member, Place::Own, out);
        } else {
            let schema = self.schema(member);
            out.insert("items".to_owned(), schema);
        }
    }

    /// Before 2019-09, one keyword for what are two now.
    fn dependencies(&mut self, member: &Node<'a>, out: &mut Map<String, Value>) {
        let mut schemas = Map::new();
        let mut required = Map::new();
        for (name, dependency) in member.members() {
            if dependency.value.is_array() {
                required.insert(name.to_owned(), keyword::names(dependency.value));
            } else {
                schemas.insert(name.to_owned(), self.schema_in(&dependency, Place::Part));
            }
        }
        if !schemas.is_empty() {
            out.insert("dependentSchemas".to_owned(), Value::Object(schemas));
        }
        if !required.is_empty() {
            out.insert("dependentRequired".to_owned(), Value::Object(required));
        }
    }

    /// Kept for readers; a validator does not look at it. (OpenAPI 3.2, Discriminator Object.)
    fn discriminator(&mut self, member: &Node<'a>, out: &mut Map<String, Value>) {
        // In Swagger 2.0 it is just the name.
        let Some(property) = member.value.as_str().or_else(|| member.text("propertyName")) else {
            return;
        };
        let mut mapping = Map::new();
        for (tag, target) in member
            .get("mapping")
            .iter()
            .flat_map(|mapping| mapping.members().collect::<Vec<_>>())
        {
            let Some(target_text) = target.value.as_str() else { continue };
            if let Some(name) = self.mapped_type(&target, target_text) {
                mapping.insert(tag.to_owned(), pointer_to(&name).into());
            }
        }
        let mut discriminator = Map::new();
        discriminator.insert("propertyName".to_owned(), property.into());
        if !mapping.is_empty() {
            discriminator.insert("mapping".to_owned(), Value::Object(mapping));
        }
        out.insert("discriminator".to_owned(), Value::Object(discriminator));
    }

    /// The type that a mapping's value means: the name of a component, or a reference.
    fn mapped_type(&mut self, from: &Node<'a>, target: &'a str) -> Option<String> {
        let component = Node::top(self.main)
            .get("components")
            .and_then(|it| it.get("schemas"))
            .and_then(|it| it.get_object(target));
        if let Some(component) = component {
            return Some(self.types.name(component));
        }
        if !target.contains(['#', '/', '.']) {
            return None;
        }
        let (node, _) = self.end_of_chain(from, target).ok()?;
        node.value.is_object().then(|| self.types.name(node))
    }
}

/// How many nodes a value has; counting stops above `limit`.
pub(super) fn weight(value: &Value, limit: usize) -> usize {
    let mut count = 1;
    let mut add = |inner: &Value| {
        if count <= limit {
            count += weight(inner, limit - count.min(limit));
        }
    };
    match value {
        Value::Object(members) => members.values().for_each(&mut add),
        Value::Array(items) => items.iter().for_each(&mut add),
        _ => {}
    }
    count
}

#[cfg(test)]
mod tests;
