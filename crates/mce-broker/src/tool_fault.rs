//! Arguments that a tool does not take, told whole: every fault, what is expected, what was given. A tool is often called
//! by name, without a look at its signature; so the next attempt can be right.

use std::fmt::Write as _;

use jsonschema::ValidationError;
use jsonschema::error::ValidationErrorKind as Kind;
use mce_catalog::function::{Parameter, ToolTarget};
use mce_catalog::schema::merged;
use mce_catalog::view::ArgumentPlace;
use serde_json::{Map, Value};

use crate::arguments::preferred;
use crate::call::CallRequest;
use crate::call_error::CallError;
use crate::function_source::FoundFunction;
use crate::member_names::Schema;
use crate::nearest::nearest;
use crate::schema_fault::{cut_to, describe_faults, list, type_names};
use crate::validate::FunctionValidators;

/// Faults told.
const MAX_FAULTS: usize = 10;
/// Parameters shown of a tool, required ones first.
const MAX_PARAMETERS: usize = 20;
/// Characters of a parameter's description.
const MAX_DESCRIPTION_CHARS: usize = 80;
/// Characters of what was given.
const MAX_GIVEN_CHARS: usize = 300;

/// What is wrong with a call of a tool.
#[derive(Clone, Copy)]
pub(crate) struct Refused<'a> {
    pub(crate) request: CallRequest<'a>,
    pub(crate) found: &'a FoundFunction,
    pub(crate) tool: &'a ToolTarget,
    pub(crate) validators: &'a FunctionValidators,
}

impl<'a> Refused<'a> {
    /// The error, with all that a caller needs to do better. One that says something else stays as it is.
    pub(crate) fn explain(self, error: CallError) -> CallError {
        let Ok(Value::Object(given)) = serde_json::from_str(self.request.arguments.get()) else {
            return error;
        };
        let faults = self.faults(&given);
        if faults.is_empty() {
            return error;
        }
        let mut text = format!("Parameter validation failed for \"{}\"\n\nErrors:\n", self.request.function);
        for fault in faults.iter().take(MAX_FAULTS) {
            let _ = writeln!(text, "  - {fault}");
        }
        self.write_expected(&mut text);
        let shown = cut_to(&Value::Object(given).to_string(), MAX_GIVEN_CHARS);
        let _ = write!(text, "\nYou provided:\n  {shown}");
        let told = CallError::argument(text);
        match error.hint() {
            Some(hint) => told.with_hint(hint),
            None => told,
        }
    }

    /// Parameters that a caller may give, with their places.
    fn parameters(self) -> impl Iterator<Item = (usize, &'a Parameter)> {
        let is_hidden = move |index| {
            let place = ArgumentPlace::Parameter(index);
            self.found.filled.iter().any(|filled| filled.is_hidden && filled.place == place)
        };
        let all = self.found.function.parameters.iter().enumerate();
        all.filter(move |(index, _)| !is_hidden(*index))
    }

    fn name(self, parameter: &Parameter) -> &str {
        preferred(parameter, self.request.naming, self.request.caller)
    }

    fn faults(self, given: &Map<String, Value>) -> Vec<String> {
        let find = |name: &str| {
            self.parameters().find(|(_, parameter)| {
                [&parameter.key, &parameter.python, &parameter.typescript]
                    .iter()
                    .any(|known| *known == name)
            })
        };
        let is_given = |index| given.keys().any(|name| find(name).is_some_and(|(found, _)| found == index));
        let is_filled = |index| {
            self.found
                .filled
                .iter()
                .any(|filled| filled.place == ArgumentPlace::Parameter(index))
        };
        let missing = self
            .parameters()
            .filter(|(index, parameter)| parameter.is_required && !is_given(*index) && !is_filled(*index));
        let mut faults: Vec<String> = missing
            .map(|(_, parameter)| format!("Missing required parameter: {}", self.name(parameter)))
            .collect();
        for (name, value) in given {
            match find(name) {
                Some((index, parameter)) => faults.extend(self.value_faults(index, parameter, value)),
                None if self.tool.accepts_more => {}
                None => faults.push(self.unexpected(name)),
            }
        }
        if faults.is_empty()
            && let Some(validator) = self.validators.of_whole(self.tool)
        {
            let whole = Value::Object(given.clone());
            faults.extend(
                validator
                    .iter_errors(&whole)
                    .map(|fault| describe_faults("arguments", self.schema(&self.tool.input), std::iter::once(fault))),
            );
        }
        faults
    }

    fn unexpected(self, name: &str) -> String {
        let shown = cut_to(name, MAX_DESCRIPTION_CHARS);
        match nearest(name, self.parameters().map(|(_, parameter)| self.name(parameter))) {
            Some(near) => format!("Unexpected parameter: {shown} (did you mean \"{near}\"?)"),
            None => format!("Unexpected parameter: {shown}"),
        }
    }

    fn value_faults(self, index: usize, parameter: &'a Parameter, value: &Value) -> Vec<String> {
        let validator = self.validators.of_parameter(index);
        let faults = validator.into_iter().flat_map(|validator| validator.iter_errors(value));
        let (name, schema) = (self.name(parameter), self.schema(&parameter.schema));
        faults.map(|fault| value_fault(name, schema, fault)).collect()
    }

    fn schema(self, schema: &'a Value) -> Schema<'a> {
        let types = &self.found.types;
        Schema { schema, types }
    }

    fn write_expected(self, text: &mut String) {
        text.push_str("\nExpected parameters:\n");
        let mut shown = 0;
        for (title, is_required) in [("Required", true), ("Optional", false)] {
            let wanted = self.parameters().filter(|(_, parameter)| parameter.is_required == is_required);
            let lines: Vec<String> = wanted.map(|(_, parameter)| self.expected(parameter)).collect();
            let kept = lines.len().min(MAX_PARAMETERS - shown);
            shown += kept;
            if !lines.is_empty() {
                let _ = writeln!(text, "  {title}:");
            }
            for line in lines.iter().take(kept) {
                let _ = writeln!(text, "    \u{2022} {line}");
            }
            if lines.len() > kept {
                let _ = writeln!(text, "    and {} more", lines.len() - kept);
            }
        }
        if self.parameters().next().is_none() {
            text.push_str("  none\n");
        }
    }

    /// `head: number - If provided, …`
    fn expected(self, parameter: &Parameter) -> String {
        let schema = merged(&parameter.schema, &self.found.types);
        let mut line = format!("{}: {}", self.name(parameter), type_text(&schema));
        let description = parameter.description.lines().next().unwrap_or_default().trim();
        if !description.is_empty() {
            let _ = write!(line, " - {}", cut_to(description, MAX_DESCRIPTION_CHARS));
        }
        line
    }
}

fn value_fault(name: &str, schema: Schema<'_>, fault: ValidationError<'_>) -> String {
    let is_itself = fault.instance_path().is_empty();
    match fault.kind() {
        Kind::Type { kind } if is_itself => {
            format!(
                "Type mismatch for \"{name}\": expected {}, got {}",
                type_names(kind),
                kind_of(fault.instance())
            )
        }
        Kind::Enum { options } if is_itself => format!("Invalid value for \"{name}\": must be one of {}", list(options)),
        _ => describe_faults(name, schema, std::iter::once(fault)),
    }
}

/// The type that a schema names, in its own words.
fn type_text(schema: &Value) -> String {
    if let Some(options) = schema.get("enum") {
        return list(options);
    }
    match schema.get("type") {
        Some(Value::String(word)) if word == "array" => {
            match schema.get("items").and_then(|items| items.get("type")).and_then(Value::as_str) {
                Some(item) => format!("{item}[]"),
                None => word.clone(),
            }
        }
        Some(Value::String(word)) => word.clone(),
        Some(Value::Array(words)) => words.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" | "),
        _ => "any".to_owned(),
    }
}

fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}
