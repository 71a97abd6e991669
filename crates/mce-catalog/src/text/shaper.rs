//! Schemas become shapes. Named types become definitions when they are asked for, so that a large document costs only
//! what is shown.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use super::{
    identifier::{is_taken, is_type_name, pascal},
    note::note,
    schema_form::{is_bytes, is_nullable, kinds, only_reference, record},
    shape::{Content, Definition, Field, Shape},
    values::literals,
};
use crate::{
    function::{Function, Types},
    schema::{self, View},
};

/// Deeper types are `Any`.
const MAX_DEPTH: usize = 24;
/// More parts of a union are `Any`.
const MAX_UNION_PARTS: usize = 40;
/// More values of an enumeration are not listed.
pub(super) const MAX_LITERALS: usize = 30;
/// The same where the enumeration is what is asked for.
const MAX_ALL_LITERALS: usize = 1_000;
/// An enumeration with more values gets a name.
const MAX_INLINE_LITERALS: usize = 8;
/// More properties of one object are left out.
const MAX_FIELDS: usize = 500;
/// More definitions of one text are `Any`.
const MAX_DEFINITIONS: usize = 2_000;
/// More definitions of a whole server are `Any`.
const MAX_DEFINITIONS_OF_ALL: usize = 200_000;
/// Unions of unions may grow without end; after this many schemas all else is `Any`.
const MAX_STEPS: usize = 10_000;

/// A function's types, and the definitions that they need.
#[derive(Debug)]
pub(super) struct Shaper<'a> {
    types: &'a Types,
    definitions: Vec<Pending>,
    /// Definitions of named types, by view.
    named: BTreeMap<(&'a str, View), usize>,
    used_names: BTreeSet<String>,
    /// Names of types that look different in requests and answers.
    two_faced: BTreeSet<&'a str>,
    /// Names that the result needs.
    in_result: BTreeSet<String>,
    /// Named types that are being written in place, to end cycles.
    open: Vec<&'a str>,
    /// Schemas looked at so far; of a whole server, since the last function or definition began.
    steps: usize,
    /// More values of an enumeration are not listed.
    max_literals: usize,
    is_of_all: bool,
}

/// A definition before it is needed.
#[derive(Debug)]
struct Pending {
    name: String,
    view: View,
    /// `None` for a type that is not at hand.
    schema: Option<Value>,
    /// What was made of it already. To make it again would give other names to the types inside.
    made: Option<Definition>,
}

/// Where a walk over schemas is.
#[derive(Debug, Clone, Copy)]
struct At<'h> {
    view: View,
    /// A name for a type that has none.
    hint: &'h str,
    depth: usize,
}

impl<'a> At<'a> {
    const fn start(view: View, hint: &'a str) -> Self {
        Self { view, hint, depth: 0 }
    }

    fn deeper<'h>(&self, hint: &'h str) -> At<'h> {
        At {
            view: self.view,
            hint,
            depth: self.depth + 1,
        }
    }
}

/// The types of a function's parts.
#[derive(Debug)]
pub(super) struct Parts {
    /// In the function's order.
    pub(super) parameters: Vec<Shape>,
    /// One for each variant of the body.
    pub(super) bodies: Vec<Shape>,
    pub(super) result: Shape,
}

impl<'a> Shaper<'a> {
    /// For the texts of one function.
    pub(super) fn new(function: &'a Function, types: &'a Types) -> Self {
        Self::of(std::slice::from_ref(function), types, false)
    }

    /// For one text of all functions of a server.
    pub(super) fn of_all(functions: &'a [Function], types: &'a Types) -> Self {
        Self::of(functions, types, true)
    }

    fn of(functions: &'a [Function], types: &'a Types, is_of_all: bool) -> Self {
        let has_request = |function: &Function| function.body.is_some() || !function.parameters.is_empty();
        let is_needed = functions.iter().any(has_request);
        Self {
            types,
            definitions: Vec::new(),
            named: BTreeMap::new(),
            used_names: BTreeSet::new(),
            two_faced: if is_needed { two_faced(types) } else { BTreeSet::new() },
            in_result: schema::closure(functions.iter().filter_map(|function| function.result.as_ref()), types),
            open: Vec::new(),
            steps: 0,
            max_literals: MAX_LITERALS,
            is_of_all,
        }
    }

    /// The shapes of all parts of the function. The order decides names, so it is the same for every text.
    pub(super) fn parts(&mut self, function: &'a Function) -> Parts {
        self.begin();
        let base = pascal(&function.typescript);
        let variants = function.body.iter().flat_map(|body| &body.variants);
        let bodies = variants
            .map(|variant| self.shape(&variant.schema, At::start(View::Request, &format!("{base}Body"))))
            .collect();
        let parameters = function.parameters.iter();
        let parameters = parameters
            .map(|parameter| {
                self.shape(
                    &parameter.schema,
                    At::start(View::Request, &format!("{base}{}", pascal(&parameter.typescript))),
                )
            })
            .collect();
        let result = match &function.result {
            Some(schema) => self.shape(schema, At::start(View::Response, &format!("{base}Result"))),
            None => Shape::Any,
        };
        Parts {
            parameters,
            bodies,
            result,
        }
    }

    fn begin(&mut self) {
        if self.is_of_all {
            self.steps = 0;
        }
    }

    pub(super) fn name(&self, number: usize) -> String {
        self.definitions
            .get(number)
            .map_or_else(|| "Any".to_owned(), |pending| pending.name.clone())
    }

    /// The type that texts call by this name; `None` if there is none at hand.
    pub(super) fn find(&mut self, name: &str) -> Option<Shape> {
        let mut number = 0;
        while let Some(pending) = self.definitions.get(number) {
            if pending.name == name {
                return pending.schema.is_some().then_some(Shape::Named(number));
            }
            // Types inside of it may be meant.
            self.definition(number)?;
            number += 1;
        }
        // One that is farther away than what is at hand of the function's types.
        let (name, _) = self.types.get_key_value(name)?;
        let view = if self.in_result.contains(name) {
            View::Response
        } else {
            View::Request
        };
        Some(self.shape_of_reference(name, At::start(view, name)))
    }

    /// From now on enumerations are listed as far as a model may want to read them.
    pub(super) fn list_all_values(&mut self) {
        self.max_literals = MAX_ALL_LITERALS;
        self.steps = 0;
        for pending in &mut self.definitions {
            pending
                .made
                .take_if(|made| matches!(made.content, Content::Alias(_)) && !made.is_whole());
        }
    }

    /// Writes out what a name stands for; that may add further definitions.
    pub(super) fn definition(&mut self, number: usize) -> Option<Definition> {
        if let Some(made) = self.definitions.get(number)?.made.clone() {
            return Some(made);
        }
        let definition = self.make(number)?;
        // A module needs each once.
        if let Some(pending) = self.definitions.get_mut(number).filter(|_| !self.is_of_all) {
            pending.made = Some(definition.clone());
        }
        Some(definition)
    }

    fn make(&mut self, number: usize) -> Option<Definition> {
        self.begin();
        let pending = self.definitions.get(number)?;
        let (name, view) = (pending.name.clone(), pending.view);
        let Some(schema) = pending.schema.clone() else {
            return Some(Definition {
                name,
                content: Content::Missing,
                note: String::new(),
            });
        };
        let note = note(&schema, self.types, self.max_literals);
        let content = match record(&schema) {
            Some(properties) => self.record(&schema, properties, view, &name),
            None => Content::Alias(self.shape_of_object(&schema, At::start(view, &name))),
        };
        Some(Definition { name, content, note })
    }

    fn record(&mut self, schema: &Value, properties: &Map<String, Value>, view: View, name: &str) -> Content {
        let required: BTreeSet<&str> = schema.as_object().into_iter().flat_map(schema::required).collect();
        let mut fields = Vec::new();
        for (key, property) in properties.iter().take(MAX_FIELDS) {
            if !schema::is_hidden(property, self.types, view) {
                let shape = self.shape(property, At::start(view, &format!("{name}{}", pascal(key))));
                fields.push(Field {
                    key: key.clone(),
                    shape,
                    is_required: required.contains(key.as_str()),
                    note: note(property, self.types, MAX_LITERALS),
                });
            }
        }
        let undeclared = required.iter().filter(|name| !properties.contains_key(**name));
        fields.extend(undeclared.take(MAX_FIELDS).map(|name| Field {
            key: (*name).to_owned(),
            shape: Shape::Any,
            is_required: true,
            note: String::new(),
        }));
        let others = schema
            .get("additionalProperties")
            .filter(|others| others.as_object().is_some_and(|members| !members.is_empty()));
        let others = others.map(|others| self.shape(others, At::start(view, &format!("{name}Value"))));
        Content::Record {
            fields,
            others,
            unnamed_fields: properties.len().saturating_sub(MAX_FIELDS),
        }
    }

    fn shape(&mut self, schema: &Value, at: At<'_>) -> Shape {
        let Some(members) = schema.as_object() else {
            return if schema == &Value::Bool(false) { Shape::Never } else { Shape::Any };
        };
        self.steps += 1;
        if at.depth > MAX_DEPTH || self.steps > MAX_STEPS {
            return Shape::Any;
        }
        if let Some(name) = only_reference(members) {
            return self.shape_of_reference(name, at);
        }
        if members.contains_key("allOf") || members.contains_key("$ref") {
            let schema = schema::merged(schema, self.types);
            return self.shape_of_whole(&schema, at);
        }
        self.shape_of_whole(schema, at)
    }

    /// Of a schema without `allOf` and `$ref`: an object with properties gets a definition, and so does an enumeration that
    /// is too long to list, so that it can be asked for; all else is written in place.
    fn shape_of_whole(&mut self, schema: &Value, at: At<'_>) -> Shape {
        if record(schema).is_none() {
            let values = schema.get("enum").and_then(Value::as_array);
            let is_cut = values.is_some_and(|values| values.len() > MAX_LITERALS && values.iter().all(Value::is_string));
            return if is_cut {
                self.define(at.hint, at.view, Some(schema.clone()))
            } else {
                self.shape_of_object(schema, at)
            };
        }
        let named = self.define(at.hint, at.view, Some(schema.clone()));
        if is_nullable(schema) {
            Shape::union(vec![named, Shape::Null])
        } else {
            named
        }
    }

    fn shape_of_reference(&mut self, name: &str, at: At<'_>) -> Shape {
        // The name lives as long as the types only if it is theirs.
        let Some((name, target)) = self.types.get_key_value(name) else {
            return self.define(name, at.view, None);
        };
        let view = if self.two_faced.contains(name.as_str()) {
            at.view
        } else {
            View::Response
        };
        if let Some(number) = self.named.get(&(name.as_str(), view)) {
            return self.named_shape(*number, target);
        }
        if !self.open.contains(&name.as_str()) && self.is_written_in_place(target) {
            self.open.push(name);
            let shape = self.shape(target, at.deeper(at.hint));
            self.open.pop();
            return shape;
        }
        let is_second_face = view == View::Request && self.in_result.contains(name) && self.two_faced.contains(name.as_str());
        let own_name = if is_second_face { format!("{name}Request") } else { name.clone() };
        let is_composed = target.get("allOf").is_some() || target.get("$ref").is_some();
        let merged = if is_composed {
            schema::merged(&serde_json::json!({ "$ref": format!("#/$defs/{name}") }), self.types)
        } else {
            target.clone()
        };
        let Shape::Named(number) = self.define(&own_name, view, Some(merged)) else {
            return Shape::Any;
        };
        self.named.insert((name.as_str(), view), number);
        self.named_shape(number, target)
    }

    fn named_shape(&self, number: usize, target: &Value) -> Shape {
        // A definition of a record cannot say that the whole may be null.
        let is_nullable_record = self
            .definitions
            .get(number)
            .and_then(|pending| pending.schema.as_ref())
            .and_then(record)
            .is_some()
            && is_nullable(target);
        if is_nullable_record {
            Shape::union(vec![Shape::Named(number), Shape::Null])
        } else {
            Shape::Named(number)
        }
    }

    /// Whether a named type says as much in place as by its name.
    fn is_written_in_place(&self, target: &Value) -> bool {
        let Some(members) = target.as_object() else { return true };
        if let Some(name) = only_reference(members) {
            return self.types.contains_key(name);
        }
        let is_composed = ["allOf", "$ref", "oneOf", "anyOf"]
            .iter()
            .any(|keyword| members.contains_key(*keyword));
        let is_long = members
            .get("enum")
            .and_then(Value::as_array)
            .is_some_and(|values| values.len() > MAX_INLINE_LITERALS);
        !is_composed && !is_long && record(target).is_none()
    }

    fn define(&mut self, hint: &str, view: View, schema: Option<Value>) -> Shape {
        let most = if self.is_of_all { MAX_DEFINITIONS_OF_ALL } else { MAX_DEFINITIONS };
        if self.definitions.len() >= most {
            return Shape::Any;
        }
        let name = self.unused_name(hint);
        self.definitions.push(Pending {
            name,
            view,
            schema,
            made: None,
        });
        Shape::Named(self.definitions.len() - 1)
    }

    fn unused_name(&mut self, hint: &str) -> String {
        let mut base = if is_type_name(hint) { hint.to_owned() } else { pascal(hint) };
        if !base.starts_with(|c: char| c.is_ascii_uppercase()) || is_taken(&base) {
            base = format!("Type{base}");
        }
        let mut name = base.clone();
        let mut count = 1;
        // A name made from a hint must not be that of a type of the document.
        while self.used_names.contains(&name) || (name != hint && self.types.contains_key(&name)) {
            count += 1;
            name = format!("{base}{count}");
        }
        self.used_names.insert(name.clone());
        name
    }

    fn shape_of_object(&mut self, schema: &Value, at: At<'_>) -> Shape {
        let Some(members) = schema.as_object() else { return Shape::Any };
        if let Some(value) = members.get("const") {
            return literals(std::slice::from_ref(value), self.max_literals);
        }
        if let Some(values) = members.get("enum").and_then(Value::as_array) {
            return literals(values, self.max_literals);
        }
        for keyword in ["oneOf", "anyOf"] {
            if let Some(parts) = members.get(keyword).and_then(Value::as_array)
                && parts.iter().any(|part| self.says_type(part))
            {
                return self.union(members, keyword, parts, at);
            }
        }
        let kinds = kinds(members);
        if kinds.is_empty() {
            return Shape::Any;
        }
        Shape::union(kinds.into_iter().map(|kind| self.shape_of_kind(kind, members, at)).collect())
    }

    /// Whether a part of a union is more than a condition such as `{"required": ["a"]}`.
    fn says_type(&self, part: &Value) -> bool {
        let part = schema::resolve(part, self.types).and_then(Value::as_object);
        part.is_some_and(|members| {
            members
                .keys()
                .any(|key| !matches!(key.as_str(), "required" | "not" | "description" | "title"))
        })
    }

    fn union(&mut self, members: &Map<String, Value>, keyword: &str, parts: &[Value], at: At<'_>) -> Shape {
        let mut base = members.clone();
        base.shift_remove(keyword);
        let has_base = record(&Value::Object(base.clone())).is_some();
        let records = parts.iter().filter(|part| part.get("properties").is_some()).count();
        let mut shapes = Vec::new();
        for (index, part) in parts.iter().take(MAX_UNION_PARTS).enumerate() {
            let hint = match schema::reference(part) {
                Some(name) if has_base => format!("{}{name}", at.hint),
                Some(name) => name.to_owned(),
                None => match part.get("title").and_then(Value::as_str) {
                    Some(title) => format!("{}{}", at.hint, pascal(title)),
                    None if records < 2 => at.hint.to_owned(),
                    None => format!("{}Option{}", at.hint, index + 1),
                },
            };
            let shape = if has_base {
                self.shape(&serde_json::json!({ "allOf": [part, base] }), at.deeper(&hint))
            } else {
                self.shape(part, at.deeper(&hint))
            };
            shapes.push(shape);
        }
        if parts.len() > MAX_UNION_PARTS {
            shapes.push(Shape::Any);
        }
        if is_nullable(&Value::Object(base)) {
            shapes.push(Shape::Null);
        }
        Shape::union(shapes)
    }

    fn shape_of_kind(&mut self, kind: &str, members: &Map<String, Value>, at: At<'_>) -> Shape {
        match kind {
            "null" => Shape::Null,
            "boolean" => Shape::Boolean,
            "integer" => Shape::Integer,
            "number" => Shape::Number,
            "string" if is_bytes(members) => Shape::Bytes,
            "string" => Shape::Text,
            "array" => self.list(members, at),
            "object" => self.map(members, at),
            _ => Shape::Any,
        }
    }

    fn list(&mut self, members: &Map<String, Value>, at: At<'_>) -> Shape {
        let hint = format!("{}Item", at.hint);
        let rest = members.get("items");
        let Some(places) = members
            .get("prefixItems")
            .and_then(Value::as_array)
            .filter(|places| !places.is_empty())
        else {
            let item = rest.map_or(Shape::Any, |items| self.shape(items, at.deeper(&hint)));
            return Shape::List(Box::new(item));
        };
        let items = places
            .iter()
            .take(MAX_UNION_PARTS)
            .map(|place| self.shape(place, at.deeper(&hint)))
            .collect();
        let is_closed =
            rest == Some(&Value::Bool(false)) || members.get("maxItems").and_then(Value::as_u64) == u64::try_from(places.len()).ok();
        let rest = (!is_closed).then(|| Box::new(rest.map_or(Shape::Any, |items| self.shape(items, at.deeper(&hint)))));
        Shape::Tuple { items, rest }
    }

    fn map(&mut self, members: &Map<String, Value>, at: At<'_>) -> Shape {
        // An object with properties beside other types (`type: [object, string]`).
        if members
            .get("properties")
            .and_then(Value::as_object)
            .is_some_and(|properties| !properties.is_empty())
        {
            let mut whole = members.clone();
            whole.insert("type".to_owned(), Value::from("object"));
            // Alternatives that say no type have been passed over; without them it is surely a record.
            whole.retain(|keyword, _| !["const", "enum", "oneOf", "anyOf"].contains(&keyword.as_str()));
            return self.shape_of_whole(&Value::Object(whole), at);
        }
        let hint = format!("{}Value", at.hint);
        let patterns = members
            .get("patternProperties")
            .and_then(Value::as_object)
            .into_iter()
            .flat_map(Map::values);
        let others = members.get("additionalProperties").filter(|others| !others.is_boolean());
        let values: Vec<Shape> = patterns
            .chain(others)
            .take(MAX_UNION_PARTS)
            .map(|schema| self.shape(schema, at.deeper(&hint)))
            .collect();
        Shape::Map(Box::new(if values.is_empty() { Shape::Any } else { Shape::union(values) }))
    }
}

/// Names of types whose view in requests differs from that in answers, by themselves or through others.
fn two_faced(types: &Types) -> BTreeSet<&str> {
    let mut users: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    let mut waiting = Vec::new();
    for (name, schema) in types {
        for used in schema::references(schema) {
            users.entry(used).or_default().push(name);
        }
        if schema::hides_something(schema, types) {
            waiting.push(name.as_str());
        }
    }
    let mut found = BTreeSet::new();
    while let Some(name) = waiting.pop() {
        if found.insert(name) {
            waiting.extend(users.get(name).into_iter().flatten().copied());
        }
    }
    found
}
