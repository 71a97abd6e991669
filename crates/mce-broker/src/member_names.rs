//! The members that a schema names at a place of a value, for hints about one that it does not take.

use std::collections::BTreeSet;

use jsonschema::ValidationError;
use jsonschema::paths::LocationSegment;
use mce_catalog::function::Types;
use mce_catalog::schema::{View, is_hidden, merged};
use serde_json::Value;

/// Alternatives that are looked into at one place.
const MAX_SCHEMAS: usize = 50;

/// A schema and the types that it refers to.
#[derive(Clone, Copy)]
pub(crate) struct Schema<'a> {
    pub(crate) schema: &'a Value,
    pub(crate) types: &'a Types,
}

impl Schema<'_> {
    /// The members that may be given where the fault is and are not given.
    pub(crate) fn members_at(self, fault: &ValidationError<'_>) -> BTreeSet<String> {
        let mut here = self.alternatives(vec![self.schema.clone()]);
        for segment in fault.instance_path().segments() {
            let below = here.iter().filter_map(|schema| match &segment {
                LocationSegment::Property(name) => {
                    let named = schema.get("properties").and_then(|properties| properties.get(&**name));
                    named.or_else(|| schema.get("additionalProperties"))
                }
                LocationSegment::Index(index) => {
                    let placed = schema.get("prefixItems").and_then(|items| items.get(*index));
                    placed.or_else(|| schema.get("items"))
                }
            });
            here = self.alternatives(below.cloned().collect());
        }
        let is_sent = |property: &Value| !is_hidden(property, self.types, View::Request);
        let properties = here.iter().filter_map(|schema| schema.get("properties")?.as_object()).flatten();
        let named = properties.filter(|(_, property)| is_sent(property)).map(|(name, _)| name);
        named
            .filter(|name| fault.instance().get(name.as_str()).is_none())
            .cloned()
            .collect()
    }

    /// Each schema whole, with what it may be instead.
    fn alternatives(self, mut waiting: Vec<Value>) -> Vec<Value> {
        let mut found = Vec::new();
        while let Some(next) = waiting.pop().filter(|_| found.len() < MAX_SCHEMAS) {
            let whole = merged(&next, self.types);
            for several in ["anyOf", "oneOf"] {
                waiting.extend(
                    whole
                        .get(several)
                        .and_then(Value::as_array)
                        .into_iter()
                        .flatten()
                        .take(MAX_SCHEMAS)
                        .cloned(),
                );
            }
            found.push(whole);
        }
        found
    }
}
