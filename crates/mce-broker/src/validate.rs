//! Arguments against their schemas. Validators are made when first needed and kept.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use jsonschema::{PatternOptions, Validator};
use mce_catalog::function::{BodyFormat, BodyVariant, Function, ToolTarget};
use mce_catalog::schema::{View, merged, self_contained};
use serde_json::{Map, Value};

use crate::arguments::{Argument, BodyArgument};
use crate::call_error::CallError;
use crate::file_value::{is_file, is_surely_file, read_file};
use crate::function_source::FoundFunction;
use crate::member_names::Schema;
use crate::schema_fault::describe_faults;
use crate::written::Written;

/// Functions whose validators are kept.
const MAX_FUNCTIONS: usize = 256;
/// Steps that one pattern may take on one value; patterns come from documents.
const MAX_PATTERN_STEPS: usize = 100_000;

/// Faults of a value that is partly known of which it is asked whether they are certain.
const MAX_LOOKED_AT: usize = 1_000;

/// The validators of functions that were called lately.
#[derive(Debug, Default)]
pub(crate) struct Validators {
    // Held only to look up and to insert; validators are made and used outside.
    functions: Mutex<HashMap<(String, String), Arc<FunctionValidators>>>,
}

/// The validators of one function's arguments. `None` in a cell: its schema is broken and everything passes.
#[derive(Debug)]
pub(crate) struct FunctionValidators {
    found: Arc<FoundFunction>,
    parameters: Vec<OnceLock<Option<Validator>>>,
    bodies: Vec<OnceLock<Option<Validator>>>,
    /// All arguments of a tool together.
    whole: OnceLock<Option<Validator>>,
}

/// How a body is sent.
#[derive(Debug)]
pub(crate) struct ChosenBody<'a> {
    pub(crate) variant: &'a BodyVariant,
    /// Properties of a multipart body that are files, also when they are given as texts.
    pub(crate) binary_fields: BTreeSet<String>,
}

impl Validators {
    /// The validators of a function, made anew if it is not the one they were made for.
    pub(crate) fn of(&self, found: &Arc<FoundFunction>) -> Arc<FunctionValidators> {
        let key = (found.function.server.clone(), found.function.operation.clone());
        let mut functions = self.functions.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = functions
            .get(&key)
            .filter(|known| Arc::ptr_eq(&known.found, found) || known.found == *found)
        {
            return Arc::clone(known);
        }
        if functions.len() >= MAX_FUNCTIONS {
            functions.clear();
        }
        let made = Arc::new(FunctionValidators::new(Arc::clone(found)));
        functions.insert(key, Arc::clone(&made));
        made
    }
}

impl FunctionValidators {
    fn new(found: Arc<FoundFunction>) -> Self {
        let variants = found.function.body.as_ref().map_or(0, |body| body.variants.len());
        let parameters = found.function.parameters.iter().map(|_| OnceLock::new()).collect();
        Self {
            parameters,
            bodies: (0..variants).map(|_| OnceLock::new()).collect(),
            whole: OnceLock::new(),
            found,
        }
    }

    /// Checks the value of a parameter.
    pub(crate) fn check_parameter(&self, argument: &Argument<'_>) -> Result<(), CallError> {
        let cell = self.parameters.get(argument.index);
        self.check(cell, &argument.parameter.schema, &argument.name, &argument.value)
            .map_err(CallError::argument)
    }

    /// Checks all arguments of a tool together: what its schema says of one because of another.
    pub(crate) fn check_whole(&self, tool: &ToolTarget, arguments: &Value) -> Result<(), CallError> {
        self.check(Some(&self.whole), &tool.input, "arguments", arguments)
            .map_err(CallError::argument)
    }

    /// The validator of a parameter, if its schema is sound.
    pub(crate) fn of_parameter(&self, index: usize) -> Option<&Validator> {
        let schema = &self.found.function.parameters.get(index)?.schema;
        self.parameters.get(index)?.get_or_init(|| self.build(schema)).as_ref()
    }

    /// The validator of all arguments of a tool together.
    pub(crate) fn of_whole(&self, tool: &ToolTarget) -> Option<&Validator> {
        self.whole.get_or_init(|| self.build(&tool.input)).as_ref()
    }

    /// What is certainly wrong with a parameter's value.
    pub(crate) fn parameter_faults(&self, index: usize, name: &str, written: Written<'_>) -> Option<String> {
        let schema = &self.found.function.parameters.get(index)?.schema;
        certain_faults(self.of_parameter(index)?, (name, self.with_types(schema)), written)
    }

    /// What is certainly wrong with a body, in whatever form it is sent: then of the first form.
    pub(crate) fn body_faults(&self, written: Written<'_>) -> Option<String> {
        let variants = &self.found.function.body.as_ref()?.variants;
        let mut first = None;
        for (cell, variant) in self.bodies.iter().zip(variants) {
            let is_readable = match variant.format {
                BodyFormat::Json => !is_merge_patch(variant),
                BodyFormat::Form => !holds_files(written.value),
                BodyFormat::Multipart | BodyFormat::Text | BodyFormat::Binary => false,
            };
            let validator = cell.get_or_init(|| self.build(&variant.schema)).as_ref()?;
            let fault = is_readable
                .then(|| certain_faults(validator, ("body", self.with_types(&variant.schema)), written))
                .flatten()?;
            first.get_or_insert(fault);
        }
        first
    }

    /// Chooses how the body is sent, and checks its value for that.
    ///
    /// Files choose multipart and binary forms where there are such, of these the one of the type that the file says it has;
    /// else the first form wins that the value fits.
    pub(crate) fn choose_variant<'f>(&self, function: &'f Function, given: &BodyArgument<'_>) -> Result<ChosenBody<'f>, CallError> {
        let variants = function.body.as_ref().map_or(&[][..], |body| &body.variants);
        let wanted = if is_surely_file(&given.value) {
            Some(BodyFormat::Binary)
        } else if holds_files(&given.value) {
            Some(BodyFormat::Multipart)
        } else {
            None
        };
        let mut first_fault = None;
        let mut ordered: Vec<_> = variants.iter().enumerate().collect();
        // Stable: among equals the order of the variants stays.
        ordered.sort_by_key(|(_, variant)| (Some(variant.format) != wanted, !is_type_of_file(variant, &given.value)));
        for (index, variant) in ordered {
            match self.check_body(index, variant, &given.value) {
                Ok(()) => {
                    return Ok(ChosenBody {
                        variant,
                        binary_fields: self.binary_fields(variant),
                    });
                }
                Err(fault) => first_fault = first_fault.or(Some(fault)),
            }
        }
        Err(CallError::argument(
            first_fault.unwrap_or_else(|| "`body`: the function takes none".to_owned()),
        ))
    }

    fn check_body(&self, index: usize, variant: &BodyVariant, value: &Value) -> Result<(), String> {
        let cell = self.bodies.get(index);
        match variant.format {
            BodyFormat::Json => self.check(cell, &variant.schema, "body", value).or_else(|fault| {
                // In a merge patch null removes a member, whatever its schema says. (RFC 7396, section 2)
                let plain = is_merge_patch(variant).then(|| without_nulls(value)).ok_or(fault)?;
                self.check(cell, &variant.schema, "body", &plain)
            }),
            BodyFormat::Form | BodyFormat::Multipart => {
                let Value::Object(members) = value else {
                    return Err("`body`: expected an object with a member for each field".to_owned());
                };
                let plain = self.with_files_as_texts(members, &variant.schema);
                self.check(cell, &variant.schema, "body", &plain)
            }
            BodyFormat::Text if is_surely_file(value) => read_file(value)
                .map(|_| ())
                .ok_or_else(|| "`body`: its `base64` cannot be read".to_owned()),
            BodyFormat::Text if !value.is_string() => Err("`body`: expected a string, which is sent as it stands".to_owned()),
            // XML often has the schema of the object that it stands for.
            BodyFormat::Text if self.type_word(&variant.schema).is_some_and(|word| word != "string") => Ok(()),
            BodyFormat::Text => self.check(cell, &variant.schema, "body", value),
            BodyFormat::Binary => read_file(value)
                .map(|_| ())
                .ok_or_else(|| "`body`: expected bytes: `{\"base64\": …}`, `{\"text\": …}` or a string".to_owned()),
        }
    }

    fn check(&self, cell: Option<&OnceLock<Option<Validator>>>, schema: &Value, name: &str, value: &Value) -> Result<(), String> {
        let validator = cell.and_then(|cell| cell.get_or_init(|| self.build(schema)).as_ref());
        match validator {
            Some(validator) if !validator.is_valid(value) => {
                Err(describe_faults(name, self.with_types(schema), validator.iter_errors(value)))
            }
            Some(_) | None => Ok(()),
        }
    }

    fn build(&self, schema: &Value) -> Option<Validator> {
        let schema = self_contained(schema, &self.found.types, View::Request);
        jsonschema::draft202012::options()
            .offline()
            .should_validate_formats(false)
            .with_pattern_options(PatternOptions::fancy_regex().backtrack_limit(MAX_PATTERN_STEPS))
            .build(&schema)
            .map_err(|e| {
                tracing::warn!(
                    operation = self.found.function.operation,
                    server = self.found.function.server,
                    "arguments are not checked: {e}"
                );
            })
            .ok()
    }

    /// Files stand where the schema says string (`format: binary`), so they are checked as strings.
    fn with_files_as_texts(&self, members: &Map<String, Value>, schema: &Value) -> Value {
        let whole = merged(schema, &self.found.types);
        let plain = members.iter().map(|(name, value)| {
            let property = whole.get("properties").and_then(|properties| properties.get(name));
            let items = property
                .map(|property| merged(property, &self.found.types))
                .and_then(|property| property.get("items").cloned());
            let value = match value {
                Value::Array(values) => Value::Array(values.iter().map(|value| self.file_as_text(value, items.as_ref())).collect()),
                other => self.file_as_text(other, property),
            };
            (name.clone(), value)
        });
        Value::Object(plain.collect())
    }

    fn file_as_text(&self, value: &Value, schema: Option<&Value>) -> Value {
        let is_object = schema
            .and_then(|schema| self.type_word(schema))
            .is_some_and(|word| word == "object");
        if is_object || !is_file(value) {
            return value.clone();
        }
        let content = value.get("base64").or_else(|| value.get("text"));
        content.cloned().unwrap_or_default()
    }

    fn binary_fields(&self, variant: &BodyVariant) -> BTreeSet<String> {
        let whole = merged(&variant.schema, &self.found.types);
        let properties = whole
            .get("properties")
            .and_then(Value::as_object)
            .filter(|_| variant.format == BodyFormat::Multipart);
        let binary = properties.into_iter().flatten().filter(|(_, property)| {
            let property = merged(property, &self.found.types);
            is_binary(&property)
                || property
                    .get("items")
                    .is_some_and(|items| is_binary(&merged(items, &self.found.types)))
        });
        binary.map(|(name, _)| name.clone()).collect()
    }

    fn with_types<'s>(&'s self, schema: &'s Value) -> Schema<'s> {
        let types = &self.found.types;
        Schema { schema, types }
    }

    fn type_word(&self, schema: &Value) -> Option<String> {
        merged(schema, &self.found.types)
            .get("type")
            .and_then(Value::as_str)
            .map(str::to_owned)
    }
}

fn is_merge_patch(variant: &BodyVariant) -> bool {
    variant.media_type.starts_with("application/merge-patch+json")
}

fn certain_faults(validator: &Validator, (name, of): (&str, Schema<'_>), written: Written<'_>) -> Option<String> {
    let faults = validator.iter_errors(written.value).take(MAX_LOOKED_AT);
    let faults = faults.filter(|fault| written.is_certain(fault));
    Some(describe_faults(name, of, faults)).filter(|text| !text.is_empty())
}

/// Whether a file says that it has the media type of this form.
fn is_type_of_file(variant: &BodyVariant, value: &Value) -> bool {
    let own = value.get("content_type").and_then(Value::as_str).unwrap_or_default();
    own.eq_ignore_ascii_case(&variant.media_type)
}

/// A value without members that are null, at any depth of objects. Arrays of a merge patch are replaced as a whole.
fn without_nulls(value: &Value) -> Value {
    let Value::Object(members) = value else { return value.clone() };
    let kept = members.iter().filter(|(_, member)| !member.is_null());
    Value::Object(kept.map(|(name, member)| (name.clone(), without_nulls(member))).collect())
}

fn is_binary(schema: &Value) -> bool {
    let has = |key: &str, wanted: &str| schema.get(key).and_then(Value::as_str) == Some(wanted);
    has("format", "binary") || has("contentMediaType", "application/octet-stream")
}

fn holds_files(value: &Value) -> bool {
    let Value::Object(members) = value else { return false };
    members.values().any(|member| match member {
        Value::Array(items) => items.iter().any(is_surely_file),
        other => is_surely_file(other),
    })
}
