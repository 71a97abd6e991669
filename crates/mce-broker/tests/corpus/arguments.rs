//! Arguments for a function.

use mce_catalog::function::{BodyFormat, Function, Types};
use mce_catalog::schema::{View, merged, self_contained};
use serde_json::{Map, Value, json};

use crate::body;
use crate::sample::{Extent, Sampler};

/// Samples that are tried for one value.
const TURNS: usize = 8;

/// What arguments are made for.
#[derive(Clone, Copy)]
pub(crate) struct Case<'a> {
    pub(crate) function: &'a Function,
    pub(crate) types: &'a Types,
    pub(crate) extent: Extent,
    /// The kind of body whose schema is followed.
    pub(crate) variant: usize,
}

impl Case<'_> {
    /// Arguments by their keys; they need not fit their schemas.
    ///
    /// # Errors
    ///
    /// The name of the argument for which there is no value.
    pub(crate) fn sampled(&self, attempt: usize) -> Result<Map<String, Value>, String> {
        self.arguments(|schema, is_parameter| {
            let mut sampler = Sampler::new(self.types, View::Request, self.extent, attempt);
            if is_parameter {
                sampler.parameter(schema)
            } else {
                sampler.value(schema)
            }
        })
    }

    /// Arguments that fit, as many as there are values for.
    ///
    /// # Errors
    ///
    /// As [`Case::sampled`].
    pub(crate) fn fitted(&self) -> Result<Map<String, Value>, String> {
        self.arguments(|schema, _| fitted(schema, self.types))
    }

    fn arguments(&self, value_of: impl Fn(&Value, bool) -> Option<Value>) -> Result<Map<String, Value>, String> {
        let mut arguments = Map::new();
        for parameter in &self.function.parameters {
            if !parameter.is_required && self.extent == Extent::Required {
                continue;
            }
            match value_of(&parameter.schema, true).filter(|value| !value.is_null()) {
                Some(value) => {
                    arguments.insert(parameter.key.clone(), value);
                }
                None if parameter.is_required => return Err(parameter.key.clone()),
                None => {}
            }
        }
        let body = self
            .function
            .body
            .as_ref()
            .filter(|body| body.is_required || self.extent == Extent::All);
        let Some(variant) = body.and_then(|body| body.variants.get(self.variant)) else {
            return Ok(arguments);
        };
        let value = match variant.format {
            BodyFormat::Binary => Some(json!({"base64": "AAH+/w0K"})),
            BodyFormat::Text => Some(json!("text é & more")),
            BodyFormat::Json | BodyFormat::Form => value_of(&variant.schema, false),
            BodyFormat::Multipart => value_of(&variant.schema, false).map(|value| self.with_files(value, &variant.schema)),
        };
        arguments.insert("body".to_owned(), value.ok_or("body")?);
        Ok(arguments)
    }

    fn with_files(&self, value: Value, schema: &Value) -> Value {
        let whole = merged(schema, self.types);
        body::with_files(value, |name| {
            let property = whole.get("properties").and_then(|properties| properties.get(name));
            property.is_some_and(|property| self.extent == Extent::All && is_binary(property, self.types))
        })
    }
}

fn is_binary(schema: &Value, types: &Types) -> bool {
    let schema = merged(schema, types);
    let is_format = |schema: &Value| schema.get("format").and_then(Value::as_str) == Some("binary");
    is_format(&schema) || schema.get("items").is_some_and(|items| is_format(&merged(items, types)))
}

/// A value that fits: with all members, or else with each member that some value fits.
fn fitted(schema: &Value, types: &Types) -> Option<Value> {
    let validator = jsonschema::draft202012::options()
        .offline()
        .should_validate_formats(false)
        .build(&self_contained(schema, types, View::Request))
        .ok()?;
    let sample = |extent, turn| Sampler::new(types, View::Request, extent, turn).value(schema);
    let full: Vec<Value> = (0..TURNS).filter_map(|turn| sample(Extent::All, turn)).collect();
    if let Some(value) = full.iter().find(|value| validator.is_valid(value)) {
        return Some(value.clone());
    }
    let mut fitting = (0..TURNS)
        .filter_map(|turn| sample(Extent::Required, turn))
        .find(|value| validator.is_valid(value))?;
    let whole = merged(schema, types);
    for (name, property) in full.first().and_then(Value::as_object).into_iter().flatten() {
        let own = whole
            .get("properties")
            .and_then(|properties| properties.get(name))
            .unwrap_or(property);
        let least = Sampler::new(types, View::Request, Extent::Required, 0).value(own);
        let candidates = full.iter().filter_map(|value| value.get(name).cloned()).chain(least);
        for candidate in candidates {
            let mut with_it = fitting.clone();
            with_it.as_object_mut()?.entry(name.clone()).or_insert(candidate);
            if validator.is_valid(&with_it) {
                fitting = with_it;
                break;
            }
        }
    }
    Some(fitting)
}
