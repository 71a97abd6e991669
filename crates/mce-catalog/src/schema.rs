//! Views of JSON Schemas: what belongs into a request or an answer, closures of named types, `allOf` merged for display.
//! Every walk is bounded in depth and safe on cycles.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use crate::function::Types;

/// Deeper parts of a schema accept anything.
const MAX_DEPTH: usize = 128;
/// A chain of references longer than this leads nowhere.
const MAX_REFERENCE_HOPS: usize = 32;
/// More parts of an `allOf`, or properties made from them, are left out of the merged schema.
const MAX_MERGED_PARTS: usize = 2_000;

/// Keywords whose value is one schema. (JSON Schema 2020-12, Core, sections 10 and 11.)
const KEYWORDS_OF_ONE: [&str; 12] = [
    "additionalProperties",
    "contains",
    "contentSchema",
    "else",
    "if",
    "items",
    "not",
    "propertyNames",
    "then",
    "unevaluatedItems",
    "unevaluatedProperties",
    "additionalItems",
];
/// Keywords whose value is a list of schemas.
const KEYWORDS_OF_LIST: [&str; 4] = ["allOf", "anyOf", "oneOf", "prefixItems"];
/// Keywords whose value is an object of schemas.
const KEYWORDS_OF_MAP: [&str; 4] = ["$defs", "dependentSchemas", "patternProperties", "properties"];
/// Keywords whose schemas look at the same value as the schema that holds them.
const KEYWORDS_IN_PLACE: [&str; 3] = ["allOf", "anyOf", "oneOf"];

/// Which direction a value travels in. (OpenAPI 3.0.4, Schema Object, `readOnly` and `writeOnly`.)
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum View {
    /// To the API: properties that are `readOnly` are neither asked for nor shown.
    Request,
    /// From the API: properties that are `writeOnly` are neither expected nor shown.
    Response,
}

impl View {
    const fn hiding_keyword(self) -> &'static str {
        match self {
            Self::Request => "readOnly",
            Self::Response => "writeOnly",
        }
    }
}

/// A schema that stands alone: as seen in `view`, with all named types that it needs in `$defs`.
///
/// A property that the view hides is dropped, also from `required`; where the object admits no other properties it is
/// kept as one that may have any value, so that an answer can be sent back as it came.
///
/// In requests `oneOf` becomes `anyOf`: alternatives that overlap are a common slip of documents, and no value would pass.
pub fn self_contained(schema: &Value, types: &Types, view: View) -> Value {
    let mut out = viewed(schema, types, view, &BTreeSet::new(), 0);
    let names = closure([schema], types);
    if let (Value::Object(members), false) = (&mut out, names.is_empty()) {
        let mut definitions = Map::new();
        for name in names {
            if let Some(named) = types.get(&name) {
                definitions.insert(name, viewed(named, types, view, &BTreeSet::new(), 0));
            }
        }
        members.insert("$defs".to_owned(), Value::Object(definitions));
    }
    out
}

/// The names of all types that the schemas need, directly or through others. Names that `types` lacks are left out.
pub fn closure<'a>(schemas: impl IntoIterator<Item = &'a Value>, types: &Types) -> BTreeSet<String> {
    let mut waiting: Vec<String> = schemas.into_iter().flat_map(references).collect();
    let mut found = BTreeSet::new();
    while let Some(name) = waiting.pop() {
        if let Some(named) = types.get(&name)
            && found.insert(name)
        {
            waiting.extend(references(named));
        }
    }
    found
}

/// The names of the types that a schema refers to by itself.
pub fn references(schema: &Value) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut waiting = vec![schema];
    while let Some(schema) = waiting.pop() {
        if let Some(name) = reference(schema) {
            found.insert(name.to_owned());
        }
        waiting.extend(parts(schema));
    }
    found
}

/// The name in a schema's own `$ref`, if it has one.
pub fn reference(schema: &Value) -> Option<&str> {
    schema.get("$ref")?.as_str()?.strip_prefix("#/$defs/")
}

/// Follows plain references until a schema with content of its own; `None` where the chain breaks or does not end.
pub fn resolve<'a>(schema: &'a Value, types: &'a Types) -> Option<&'a Value> {
    let mut here = schema;
    for _ in 0..MAX_REFERENCE_HOPS {
        match reference(here) {
            Some(name) => here = types.get(name)?,
            None => return Some(here),
        }
    }
    None
}

/// Whether a property with this schema is left out of the view.
pub fn is_hidden(schema: &Value, types: &Types, view: View) -> bool {
    let says_so = |schema: &Value| schema.get(view.hiding_keyword()).and_then(Value::as_bool).unwrap_or(false);
    says_so(schema) || resolve(schema, types).is_some_and(says_so)
}

/// Whether a view hides a property somewhere in a schema. Named types that it refers to are not looked into.
pub fn hides_something(schema: &Value, types: &Types) -> bool {
    let mut waiting = vec![schema];
    while let Some(schema) = waiting.pop() {
        if let Some(properties) = schema.get("properties").and_then(Value::as_object) {
            let hides = |view| properties.values().any(|property| is_hidden(property, types, view));
            if hides(View::Request) || hides(View::Response) {
                return true;
            }
        }
        waiting.extend(parts(schema));
    }
    false
}

/// The names in a schema's `required`.
pub fn required(schema: &Map<String, Value>) -> impl Iterator<Item = &str> {
    let names = schema.get("required").and_then(Value::as_array);
    names.into_iter().flatten().filter_map(Value::as_str)
}

/// Whether a schema says plainly that null is a value of it.
pub fn admits_null(schema: &Value, types: &Types) -> bool {
    let mut waiting = vec![schema];
    let mut left = MAX_MERGED_PARTS;
    while let Some(schema) = waiting.pop() {
        left = left.saturating_sub(1);
        let Some(schema) = resolve(schema, types).filter(|_| left > 0) else {
            continue;
        };
        let is_null = |value: &Value| value.as_str() == Some("null");
        let says_so = match schema.get("type") {
            Some(Value::Array(kinds)) => kinds.iter().any(is_null),
            Some(kind) => is_null(kind),
            None => schema.get("const").is_some_and(Value::is_null),
        };
        if says_so {
            return true;
        }
        let alternatives = ["anyOf", "oneOf"].into_iter().filter_map(|key| schema.get(key)?.as_array());
        waiting.extend(alternatives.flatten());
    }
    false
}

/// One schema in place of an `allOf` and of references to its parts: properties joined, `required` united.
///
/// For display only. A keyword that several parts give is taken from the outermost, then from the first; a property that
/// several parts give becomes an `allOf` of its own. Without `allOf` and `$ref` the schema comes back as it is.
pub fn merged(schema: &Value, types: &Types) -> Value {
    let mut merge = Merge {
        types,
        out: Map::new(),
        merged: BTreeSet::new(),
        parts: 0,
    };
    let mut whole = schema;
    // A mere reference is not a part of what it stands for.
    while let Some(name) = reference(whole).filter(|_| whole.as_object().is_some_and(|members| members.len() == 1))
        && let Some(named) = types.get(name)
        && merge.merged.insert(name.to_owned())
    {
        whole = named;
    }
    merge.add(whole, 0);
    Value::Object(merge.out)
}

/// The subschemas of a schema, one level down.
fn parts(schema: &Value) -> Vec<&Value> {
    let Some(members) = schema.as_object() else { return Vec::new() };
    let mut found = Vec::new();
    for (keyword, value) in members {
        let keyword = keyword.as_str();
        if KEYWORDS_OF_ONE.contains(&keyword) {
            found.push(value);
        } else if KEYWORDS_OF_LIST.contains(&keyword) {
            found.extend(value.as_array().into_iter().flatten());
        } else if KEYWORDS_OF_MAP.contains(&keyword) {
            found.extend(value.as_object().into_iter().flat_map(Map::values));
        }
    }
    found
}

/// `hidden_outside` are the properties that a schema around this one hides for the same value.
fn viewed(schema: &Value, types: &Types, view: View, hidden_outside: &BTreeSet<String>, depth: usize) -> Value {
    let Some(members) = schema.as_object() else { return schema.clone() };
    if depth > MAX_DEPTH {
        return Value::Bool(true);
    }
    let mut hidden = hidden_outside.clone();
    hidden_properties(schema, types, view, &mut hidden, 0);
    let mut out = Map::new();
    for (keyword, value) in members {
        let within = |part: &Value| {
            let same_value = KEYWORDS_IN_PLACE.contains(&keyword.as_str());
            viewed(part, types, view, if same_value { &hidden } else { &EMPTY }, depth + 1)
        };
        let new = match (keyword.as_str(), value) {
            ("required", Value::Array(names)) => {
                let is_kept = |name: &&Value| name.as_str().is_none_or(|name| !hidden.contains(name));
                Value::Array(names.iter().filter(is_kept).cloned().collect())
            }
            ("properties", Value::Object(properties)) => {
                viewed_properties(properties, is_closed(members), within, |schema| is_hidden(schema, types, view))
            }
            (keyword, _) if KEYWORDS_OF_ONE.contains(&keyword) => within(value),
            (keyword, Value::Array(list)) if KEYWORDS_OF_LIST.contains(&keyword) => list.iter().map(within).collect(),
            (keyword, Value::Object(map)) if KEYWORDS_OF_MAP.contains(&keyword) => {
                Value::Object(map.iter().map(|(key, part)| (key.clone(), within(part))).collect())
            }
            _ => value.clone(),
        };
        out.insert(keyword.clone(), new);
    }
    if view == View::Request {
        admit_several(&mut out);
    }
    Value::Object(out)
}

/// Lets a value fit more than one alternative of a `oneOf`.
fn admit_several(schema: &mut Map<String, Value>) {
    let Some(alternatives) = schema.shift_remove("oneOf") else { return };
    if !schema.contains_key("anyOf") {
        schema.insert("anyOf".to_owned(), alternatives);
    } else if let Value::Array(parts) = schema.entry("allOf").or_insert_with(|| Value::Array(Vec::new())) {
        parts.push(serde_json::json!({ "anyOf": alternatives }));
    }
}

static EMPTY: BTreeSet<String> = BTreeSet::new();

fn viewed_properties(
    properties: &Map<String, Value>,
    is_closed: bool,
    within: impl Fn(&Value) -> Value,
    is_hidden: impl Fn(&Value) -> bool,
) -> Value {
    let mut out = Map::new();
    for (name, schema) in properties {
        if !is_hidden(schema) {
            out.insert(name.clone(), within(schema));
        } else if is_closed {
            out.insert(name.clone(), Value::Bool(true));
        }
    }
    Value::Object(out)
}

fn is_closed(schema: &Map<String, Value>) -> bool {
    ["additionalProperties", "unevaluatedProperties"]
        .iter()
        .any(|keyword| schema.get(*keyword) == Some(&Value::Bool(false)))
}

/// Properties that the view hides, of the schema and of the parts of its `allOf`, since `required` may stand elsewhere.
fn hidden_properties(schema: &Value, types: &Types, view: View, hidden: &mut BTreeSet<String>, hops: usize) {
    let Some(schema) = resolve(schema, types).filter(|_| hops < MAX_REFERENCE_HOPS) else {
        return;
    };
    for (name, property) in schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
        if is_hidden(property, types, view) {
            hidden.insert(name.clone());
        }
    }
    for part in schema.get("allOf").and_then(Value::as_array).into_iter().flatten() {
        hidden_properties(part, types, view, hidden, hops + 1);
    }
}

/// Makes `known` say what both say. What was joined before is not nested again, so that it grows by one part each time.
fn join(known: &mut Value, schema: &Value) {
    if known == schema {
        return;
    }
    let joined = known
        .as_object_mut()
        .filter(|members| members.len() == 1)
        .and_then(|members| members.get_mut("allOf"));
    match joined {
        Some(Value::Array(parts)) if parts.contains(schema) => {}
        Some(Value::Array(parts)) => parts.push(schema.clone()),
        Some(_) | None => *known = serde_json::json!({ "allOf": [known.clone(), schema] }),
    }
}

/// What one merge knows so far.
struct Merge<'a> {
    types: &'a Types,
    out: Map<String, Value>,
    /// Named types that came in already: once is enough, and cycles end.
    merged: BTreeSet<String>,
    parts: usize,
}

impl Merge<'_> {
    fn add(&mut self, schema: &Value, depth: usize) {
        let Some(members) = schema.as_object() else { return };
        self.parts += 1;
        if depth > MAX_REFERENCE_HOPS || self.parts > MAX_MERGED_PARTS {
            return;
        }
        for (keyword, value) in members {
            match (keyword.as_str(), value) {
                ("allOf" | "$ref", _) => {}
                ("properties", Value::Object(properties)) => self.add_properties(properties),
                ("required", Value::Array(names)) => self.add_required(names),
                // A parent's list of its children is no part of a child.
                ("oneOf" | "anyOf", Value::Array(parts)) if depth > 0 && self.is_list_of_children(members, parts) => {}
                ("discriminator", _) if depth > 0 => {}
                _ => {
                    self.out.entry(keyword.clone()).or_insert_with(|| value.clone());
                }
            }
        }
        if let Some(name) = reference(schema)
            && let Some(named) = self.types.get(name)
            && self.merged.insert(name.to_owned())
        {
            self.add(named, depth + 1);
        }
        for part in members.get("allOf").and_then(Value::as_array).into_iter().flatten() {
            self.add(part, depth + 1);
        }
    }

    fn is_list_of_children(&self, members: &Map<String, Value>, parts: &[Value]) -> bool {
        members.contains_key("discriminator") || parts.iter().filter_map(reference).any(|name| self.merged.contains(name))
    }

    fn add_properties(&mut self, properties: &Map<String, Value>) {
        let entry = self.out.entry("properties").or_insert_with(|| Value::Object(Map::new()));
        let Value::Object(all) = entry else { return };
        for (name, schema) in properties {
            self.parts += 1;
            match all.get_mut(name) {
                Some(known) => join(known, schema),
                None => {
                    all.insert(name.clone(), schema.clone());
                }
            }
        }
    }

    fn add_required(&mut self, names: &[Value]) {
        let entry = self.out.entry("required").or_insert_with(|| Value::Array(Vec::new()));
        let Value::Array(all) = entry else { return };
        for name in names {
            if !all.contains(name) {
                all.push(name.clone());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn types() -> Types {
        let item = json!({"type": "object", "required": ["id", "name", "secret"], "properties": {
            "id": {"type": "integer", "readOnly": true}, "name": {"type": "string"}, "secret": {"type": "string", "writeOnly": true},
            "parent": {"$ref": "#/$defs/Item"}}});
        Types::from([("Item".to_owned(), item), ("Plain".to_owned(), json!({"type": "string"}))])
    }

    #[test]
    fn null_is_a_value_where_a_schema_says_so_plainly() {
        for (schema, expected) in [
            (json!({"type": "null"}), true),
            (json!({"type": ["string", "null"]}), true),
            (json!({"const": null}), true),
            (json!({"anyOf": [{"type": "integer"}, {"oneOf": [{"type": "null"}]}]}), true),
            (json!({"$ref": "#/$defs/Plain"}), false),
            (json!({}), false),
            (json!({"type": "object", "properties": {"a": {"type": "null"}}}), false),
        ] {
            assert_eq!(admits_null(&schema, &types()), expected, "{schema}");
        }
        let endless = Types::from([("A".to_owned(), json!({"anyOf": [{"$ref": "#/$defs/A"}]}))]);
        assert!(!admits_null(&json!({"$ref": "#/$defs/A"}), &endless));
    }

    #[test]
    fn values_of_requests_may_fit_several_alternatives() {
        let schema = json!({"oneOf": [{"oneOf": [true, {}]}, {"properties": {"oneOf": {"type": "string"}}}]});
        assert_eq!(
            self_contained(&schema, &types(), View::Request),
            json!({"anyOf": [{"anyOf": [true, {}]}, {"properties": {"oneOf": {"type": "string"}}}]})
        );
        assert_eq!(self_contained(&schema, &types(), View::Response), schema);
        let both = json!({"oneOf": [true], "anyOf": [{}]});
        assert_eq!(
            self_contained(&both, &types(), View::Request),
            json!({"anyOf": [{}], "allOf": [{"anyOf": [true]}]})
        );
    }

    #[test]
    fn a_request_asks_for_no_read_only_property_and_a_response_for_no_write_only_one() {
        let schema = json!({"$ref": "#/$defs/Item"});
        let request = self_contained(&schema, &types(), View::Request);
        assert_eq!(request["$defs"]["Item"]["required"], json!(["name", "secret"]));
        assert_eq!(request["$defs"]["Item"]["properties"].get("id"), None);
        let response = self_contained(&schema, &types(), View::Response);
        assert_eq!(response["$defs"]["Item"]["required"], json!(["id", "name"]));
        assert_eq!(response["$defs"].get("Plain"), None, "a type that nothing refers to is left out");
    }

    #[test]
    fn required_beside_the_property_that_it_names_is_relaxed_too() {
        let schema = json!({"allOf": [{"$ref": "#/$defs/Item"}, {"required": ["id", "name"]}], "required": ["id"]});
        let request = self_contained(&schema, &types(), View::Request);
        assert_eq!(request["allOf"][1]["required"], json!(["name"]));
        assert_eq!(request["required"], json!([]));
    }

    #[test]
    fn a_closed_object_still_takes_back_what_it_sent() {
        let schema = json!({"additionalProperties": false, "properties": {"id": {"type": "integer", "readOnly": true}}});
        assert_eq!(self_contained(&schema, &types(), View::Request)["properties"]["id"], json!(true));
    }

    #[test]
    fn all_of_is_merged_over_references_and_cycles() {
        let mut types = types();
        types.insert(
            "Loop".to_owned(),
            json!({"allOf": [{"$ref": "#/$defs/Loop"}, {"$ref": "#/$defs/Item"}], "required": ["more"]}),
        );
        let one = merged(&json!({"$ref": "#/$defs/Loop"}), &types);
        assert_eq!(one["required"], json!(["more", "id", "name", "secret"]));
        assert_eq!(one["properties"].as_object().map(Map::len), Some(4));
        assert_eq!(resolve(&json!({"$ref": "#/$defs/Gone"}), &types), None);
    }

    #[test]
    fn what_a_parent_says_of_its_children_is_no_part_of_them_but_of_itself() {
        let mut types = types();
        let children = json!([{"$ref": "#/$defs/Cat"}, {"$ref": "#/$defs/Item"}]);
        types.insert(
            "Pet".to_owned(),
            json!({"allOf": [{"$ref": "#/$defs/Plain"}], "oneOf": children, "discriminator": {"propertyName": "kind"}}),
        );
        types.insert("Cat".to_owned(), json!({"allOf": [{"$ref": "#/$defs/Pet"}], "required": ["claws"]}));
        let cat = merged(&json!({"$ref": "#/$defs/Cat"}), &types);
        assert_eq!((cat.get("oneOf"), cat.get("discriminator")), (None, None));
        assert_eq!(cat["type"], json!("string"));
        let pet = merged(&json!({"$ref": "#/$defs/Pet"}), &types);
        assert_eq!(pet["oneOf"], children);
    }

    #[test]
    fn names_and_values_are_no_references() {
        let schema =
            json!({"properties": {"$ref": {"type": "string"}}, "default": {"$ref": "#/$defs/Item"}, "enum": [{"$ref": "#/$defs/Plain"}]});
        assert_eq!(references(&schema), BTreeSet::new());
    }
}
