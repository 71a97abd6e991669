//! Values made from schemas. Not every value fits: choices between alternatives turn with each attempt, and who asks
//! checks the value and asks again.

use std::collections::BTreeSet;

use mce_catalog::function::Types;
use mce_catalog::schema::{View, is_hidden};
use serde_json::{Map, Number, Value, json};

use crate::pattern::is_match;
use crate::text;

/// Levels in which optional members are given.
const FULL_DEPTH: usize = 4;
/// Levels in which anything is made at all; recursion ends here.
const MAX_DEPTH: usize = 24;
/// Values in one sample after which optional members are left out.
const MAX_VALUES: usize = 300;

/// How much of what is possible is given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Extent {
    Required,
    All,
}

/// Makes values.
pub(crate) struct Sampler<'a> {
    pub(crate) types: &'a Types,
    pub(crate) view: View,
    pub(crate) extent: Extent,
    /// From 0; another one makes another choice.
    pub(crate) attempt: usize,
    made: usize,
}

type Schema<'a> = &'a Map<String, Value>;

impl<'a> Sampler<'a> {
    pub(crate) const fn new(types: &'a Types, view: View, extent: Extent, attempt: usize) -> Self {
        Self {
            types,
            view,
            extent,
            attempt,
            made: 0,
        }
    }

    /// A value; `None` if there seems to be none.
    pub(crate) fn value(&mut self, schema: &'a Value) -> Option<Value> {
        self.at(&[schema], 0)
    }

    /// A value for a parameter, which has to leave a trace in the request.
    pub(crate) fn parameter(&mut self, schema: &'a Value) -> Option<Value> {
        let value = self.value(schema)?;
        let is_without_trace = match &value {
            Value::Array(items) => items.is_empty(),
            Value::Object(members) => members.is_empty(),
            Value::String(text) => text.is_empty(),
            _ => false,
        };
        if !is_without_trace {
            return Some(value);
        }
        let full = Sampler::new(self.types, self.view, Extent::All, self.attempt).value(schema)?;
        if full != value {
            return Some(full);
        }
        // All its members are read-only, which leaves no other way.
        Sampler::new(self.types, View::Response, Extent::All, self.attempt).value(schema)
    }

    fn at(&mut self, schemas: &[&'a Value], depth: usize) -> Option<Value> {
        self.made += 1;
        if depth > MAX_DEPTH {
            return None;
        }
        let mut parts = Vec::new();
        let mut seen = BTreeSet::new();
        for schema in schemas {
            self.gather(schema, &mut parts, &mut seen, depth)?;
        }
        if let Some(fixed) = parts.iter().find_map(|part| part.get("const")) {
            return Some(fixed.clone());
        }
        let types = allowed_types(&parts);
        if let Some(values) = parts.iter().find_map(|part| part.get("enum")?.as_array()) {
            return self.one_of(values, &parts, types.as_deref());
        }
        let word = self.type_word(&parts, types.as_deref(), depth)?;
        match word {
            "null" => Some(Value::Null),
            "boolean" => Some(Value::Bool(self.attempt.is_multiple_of(2))),
            "integer" | "number" => self.number(&parts, word == "integer"),
            "string" => text::sample(&parts, self.extent, self.attempt + self.made).map(Value::String),
            "array" => self.array(&parts, depth),
            _ => self.object(&parts, depth),
        }
    }

    /// All schemas that hold for the value; one of each list of alternatives.
    fn gather(&mut self, schema: &'a Value, parts: &mut Vec<Schema<'a>>, seen: &mut BTreeSet<&'a str>, depth: usize) -> Option<()> {
        let members = match schema {
            Value::Bool(false) => return None,
            Value::Object(members) => members,
            _ => return Some(()),
        };
        if parts.len() > 500 {
            return None;
        }
        parts.push(members);
        if let Some(name) = mce_catalog::schema::reference(schema)
            && let Some((name, target)) = self.types.get_key_value(name)
            && seen.insert(name)
        {
            self.gather(target, parts, seen, depth)?;
        }
        for part in list(members, "allOf") {
            self.gather(part, parts, seen, depth)?;
        }
        for keyword in ["oneOf", "anyOf"] {
            let alternatives = list(members, keyword);
            // Below the depth where everything is given, the first that ends is enough.
            let turn = if depth > FULL_DEPTH + 4 { 0 } else { self.attempt };
            let is_there = |index: usize| alternatives.get((index + turn) % alternatives.len());
            let chosen = (0..alternatives.len()).filter_map(is_there).find(|one| {
                let is_parent = mce_catalog::schema::reference(one).is_some_and(|name| seen.contains(name));
                !is_parent && self.gather(one, &mut parts.clone(), &mut seen.clone(), depth).is_some()
            });
            match chosen {
                Some(chosen) => self.gather(chosen, parts, seen, depth)?,
                None if alternatives.is_empty() || alternatives.iter().any(Value::is_object) => {}
                None => return None,
            }
        }
        Some(())
    }

    fn one_of(&self, values: &'a [Value], parts: &[Schema<'a>], types: Option<&[&str]>) -> Option<Value> {
        let lists: Vec<&Vec<Value>> = parts.iter().filter_map(|part| part.get("enum")?.as_array()).collect();
        let fits = |value: &&Value| {
            lists.iter().all(|list| list.contains(value)) && types.is_none_or(|types| types.iter().any(|word| is_of_type(value, word)))
        };
        let (telling, others): (Vec<&Value>, Vec<&Value>) = values
            .iter()
            .filter(fits)
            .partition(|value| !value.is_null() && value.as_str() != Some(""));
        let fitting = if telling.is_empty() { others } else { telling };
        let turn = self.attempt + if self.extent == Extent::All { self.made } else { 0 };
        let turn = turn.checked_rem(fitting.len())?;
        fitting.get(turn).map(|value| (*value).clone())
    }

    fn type_word(&self, parts: &[Schema<'a>], types: Option<&[&'a str]>, depth: usize) -> Option<&'a str> {
        let Some(types) = types else {
            return Some(implied_type(parts));
        };
        if depth > FULL_DEPTH + 4 && types.contains(&"null") {
            return Some("null");
        }
        let real: Vec<&&str> = types.iter().filter(|word| **word != "null").collect();
        match real.len() {
            0 => types.first().copied(),
            count => real.get(self.attempt % count).map(|word| **word),
        }
    }

    fn number(&self, parts: &[Schema<'a>], is_integer: bool) -> Option<Value> {
        let bounds = |key: &str| parts.iter().filter_map(|part| part.get(key)?.as_f64()).collect::<Vec<_>>();
        let step = bounds("multipleOf")
            .into_iter()
            .fold(None, |known: Option<f64>, step| Some(known.map_or(step, |it| it.max(step))));
        let margin = if is_integer { 1.0 } else { 1e-3 };
        let low = bounds("exclusiveMinimum")
            .into_iter()
            .map(|bound| bound + margin)
            .chain(bounds("minimum"));
        let low = low.fold(f64::NEG_INFINITY, f64::max);
        let high = bounds("exclusiveMaximum")
            .into_iter()
            .map(|bound| bound - margin)
            .chain(bounds("maximum"));
        let high = high.fold(f64::INFINITY, f64::min);
        let is_long = parts.iter().any(|part| part.get("format").and_then(Value::as_str) == Some("int64"));
        if is_integer && is_long && self.extent == Extent::All && step.is_none() && low < 9.0e15 && high > 9.1e15 {
            // More digits than a float holds.
            return Some(json!(9_007_199_254_740_993_i64));
        }
        let turn = f64::from(u32::try_from((self.attempt + self.made) % 90).ok()?);
        let wanted = if is_integer { 7.0 + turn } else { 1.5 + turn };
        let mut value = wanted.max(low).min(high);
        if is_integer {
            value = if value < low { value.ceil() } else { value.floor() };
            value = if value < low { value + 1.0 } else { value };
        }
        if let Some(step) = step {
            let near = (value / step).floor() * step;
            value = if near < low { near + step } else { near };
        }
        #[expect(clippy::cast_possible_truncation, reason = "checked to be whole and small")]
        if value.fract() == 0.0 && value.abs() < 9.0e15 && is_integer {
            return Some(json!(value as i64));
        }
        let bound = |key: &str| {
            parts
                .iter()
                .find_map(|part| part.get(key).filter(|bound| bound.is_number()))
                .cloned()
        };
        if is_integer {
            return bound("minimum").or_else(|| bound("maximum"));
        }
        Number::from_f64(value).map(Value::Number)
    }

    fn is_full(&self, depth: usize) -> bool {
        self.extent == Extent::All && depth < FULL_DEPTH && self.made < MAX_VALUES
    }

    fn array(&mut self, parts: &[Schema<'a>], depth: usize) -> Option<Value> {
        let least = count(parts, "minItems").into_iter().max().unwrap_or(0);
        let most = count(parts, "maxItems").into_iter().min().unwrap_or(usize::MAX);
        let wanted = if self.is_full(depth) { 2 } else { 0 };
        let first: Vec<&'a Value> = parts
            .iter()
            .map(|part| list(part, "prefixItems"))
            .max_by_key(|list| list.len())
            .unwrap_or_default()
            .iter()
            .collect();
        let items: Vec<&'a Value> = parts.iter().filter_map(|part| part.get("items")).chain(contains(parts)).collect();
        let is_unique = parts.iter().any(|part| part.get("uniqueItems") == Some(&Value::Bool(true)));
        let least = least.max(first.len().min(most)).max(usize::from(contains(parts).next().is_some()));
        let mut values: Vec<Value> = Vec::new();
        for index in 0..least.max(wanted).min(most) {
            let schemas = first.get(index).map_or_else(|| items.clone(), |own| vec![*own]);
            let turn = self.attempt;
            let mut made = self.at(&schemas, depth + 1);
            for more in 1..20 {
                if !is_unique || made.as_ref().is_none_or(|value| !values.contains(value)) {
                    break;
                }
                self.attempt = turn + more;
                made = self.at(&schemas, depth + 1);
            }
            self.attempt = turn;
            match made {
                Some(value) if is_unique && values.contains(&value) && index >= least => break,
                Some(value) => values.push(value),
                None if index >= least => break,
                None => return None,
            }
        }
        Some(Value::Array(values))
    }

    fn object(&mut self, parts: &[Schema<'a>], depth: usize) -> Option<Value> {
        let hidden = self.hidden(parts);
        let required: Vec<&'a str> = names(parts, "required").filter(|name| !hidden.contains(name)).collect();
        let mut known: Vec<&'a str> = Vec::new();
        for (name, _) in parts.iter().flat_map(|part| members(part, "properties")) {
            if !known.contains(&name) && !hidden.contains(name) {
                known.push(name);
            }
        }
        let least = count(parts, "minProperties").into_iter().max().unwrap_or(0);
        let most = count(parts, "maxProperties").into_iter().min().unwrap_or(usize::MAX);
        let mut out = Map::new();
        for name in known.iter().chain(&required).copied() {
            let is_required = required.contains(&name);
            let is_wanted = is_required || self.is_full(depth) || out.len() + required.len() < least;
            if out.contains_key(name) || !is_wanted || (!is_required && (!is_admitted(parts, name) || out.len() + 1 > most)) {
                continue;
            }
            let schemas: Vec<&'a Value> = parts.iter().flat_map(|part| of_member(part, name)).collect();
            match self.at(&schemas, depth + 1) {
                Some(value) => {
                    out.insert(name.to_owned(), value);
                }
                None if is_required => return None,
                None => {}
            }
        }
        let further = usize::from(known.is_empty() && self.is_full(depth));
        self.add_further(parts, least.max(further).min(most), &mut out, depth);
        Some(Value::Object(out))
    }

    /// Members that no `properties` names.
    fn add_further(&mut self, parts: &[Schema<'a>], wanted: usize, out: &mut Map<String, Value>, depth: usize) {
        for index in 0..20 {
            if out.len() >= wanted {
                break;
            }
            let name = self.member_name(parts, index);
            if out.contains_key(&name) || !is_admitted(parts, &name) {
                continue;
            }
            let unevaluated = parts.iter().filter_map(|part| part.get("unevaluatedProperties"));
            let schemas: Vec<&'a Value> = parts.iter().flat_map(|part| of_member(part, &name)).chain(unevaluated).collect();
            let value = self.at(&schemas, depth + 1);
            if let Some(value) = value {
                out.insert(name, value);
            }
        }
    }

    fn member_name(&mut self, parts: &[Schema<'a>], index: usize) -> String {
        let by_pattern = parts
            .iter()
            .flat_map(|part| members(part, "patternProperties"))
            .nth(index)
            .map(|(pattern, _)| pattern);
        if let Some(name) = by_pattern.and_then(|pattern| crate::pattern::text_for(pattern, 0, index)) {
            return name;
        }
        let turn = self.attempt;
        self.attempt += index;
        let schema = parts.iter().find_map(|part| part.get("propertyNames"));
        let named = schema
            .and_then(|schema| self.at(&[schema], 0))
            .and_then(|name| name.as_str().map(str::to_owned));
        self.attempt = turn;
        named.unwrap_or_else(|| format!("key{index}"))
    }

    fn hidden(&self, parts: &[Schema<'a>]) -> BTreeSet<&'a str> {
        let properties = parts.iter().flat_map(|part| members(part, "properties"));
        properties
            .filter(|(_, schema)| is_hidden(schema, self.types, self.view))
            .map(|(name, _)| name)
            .collect()
    }
}

pub(crate) fn list<'a>(schema: Schema<'a>, key: &str) -> &'a [Value] {
    schema.get(key).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

fn members<'a>(schema: Schema<'a>, key: &str) -> impl Iterator<Item = (&'a str, &'a Value)> {
    let members = schema.get(key).and_then(Value::as_object).into_iter().flatten();
    members.map(|(name, value)| (name.as_str(), value))
}

fn contains<'a>(parts: &[Schema<'a>]) -> impl Iterator<Item = &'a Value> {
    parts.iter().filter_map(|part| part.get("contains"))
}

pub(crate) fn count(parts: &[Schema<'_>], key: &str) -> Vec<usize> {
    let counts = parts.iter().filter_map(|part| part.get(key)?.as_u64());
    counts.map(|count| usize::try_from(count).unwrap_or(usize::MAX)).collect()
}

/// Names that must be there, also because of other names.
fn names<'a>(parts: &[Schema<'a>], key: &str) -> impl Iterator<Item = &'a str> {
    let lists: Vec<&'a Value> = parts.iter().flat_map(|part| list(part, key)).collect();
    lists.into_iter().filter_map(Value::as_str)
}

/// The schemas that hold for a member.
fn of_member<'a>(schema: Schema<'a>, name: &str) -> Vec<&'a Value> {
    let own = schema.get("properties").and_then(|properties| properties.get(name));
    let mut found: Vec<&'a Value> = own.into_iter().collect();
    for (pattern, schema) in members(schema, "patternProperties") {
        if is_match(pattern, name) {
            found.push(schema);
        }
    }
    if found.is_empty() {
        found.extend(schema.get("additionalProperties"));
    }
    found
}

/// Whether every closed part knows this name.
fn is_admitted(parts: &[Schema<'_>], name: &str) -> bool {
    let is_closed = |part: &&Schema<'_>| part.get("additionalProperties") == Some(&Value::Bool(false));
    parts
        .iter()
        .filter(is_closed)
        .all(|part| of_member(part, name).iter().any(|schema| **schema != Value::Bool(false)))
}

/// The types that all parts allow; `None` if no part says.
fn allowed_types<'a>(parts: &[Schema<'a>]) -> Option<Vec<&'a str>> {
    let mut allowed: Option<Vec<&'a str>> = None;
    for part in parts {
        let own: Vec<&'a str> = match part.get("type") {
            Some(Value::String(word)) => vec![word],
            Some(Value::Array(words)) => words.iter().filter_map(Value::as_str).collect(),
            _ => continue,
        };
        allowed = Some(match allowed {
            None => own,
            Some(known) => {
                let both = known.iter().filter_map(|word| common(word, &own));
                both.collect()
            }
        });
    }
    allowed
}

fn common<'a>(word: &'a str, others: &[&'a str]) -> Option<&'a str> {
    if others.contains(&word) {
        return Some(word);
    }
    let is_pair = |wanted: &str| others.contains(&wanted);
    ((word == "number" && is_pair("integer")) || (word == "integer" && is_pair("number"))).then_some("integer")
}

fn is_of_type(value: &Value, word: &str) -> bool {
    match value {
        Value::Null => word == "null",
        Value::Bool(_) => word == "boolean",
        Value::Number(number) => word == "number" || (word == "integer" && !number.is_f64()),
        Value::String(_) => word == "string",
        Value::Array(_) => word == "array",
        Value::Object(_) => word == "object",
    }
}

/// What a schema without `type` is about.
fn implied_type(parts: &[Schema<'_>]) -> &'static str {
    let has = |keys: &[&str]| parts.iter().any(|part| keys.iter().any(|key| part.contains_key(*key)));
    if has(&[
        "properties",
        "required",
        "minProperties",
        "additionalProperties",
        "patternProperties",
    ]) {
        "object"
    } else if has(&["items", "prefixItems", "minItems"]) {
        "array"
    } else if has(&["minimum", "maximum", "exclusiveMinimum", "multipleOf"]) {
        "number"
    } else {
        "string"
    }
}
