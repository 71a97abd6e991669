//! Arguments as far as a program's text writes them out, against their schemas: before it starts nothing has happened yet.

use jsonschema::ValidationError;
use jsonschema::error::ValidationErrorKind as Kind;
use mce_catalog::pointer::escape;
use mce_catalog::view::ArgumentPlace;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::arguments::Names;
use crate::call::{Broker, Caller, Naming};
use crate::call_error::CallError;
use crate::json_text::{Members, find_big_integer, parse_strict};

/// A call of which more is not known is not looked at.
const MAX_UNKNOWN: usize = 300;

/// Keywords that apply others only under a condition, which what is not known may decide.
const CONDITIONAL: [&str; 5] = ["if", "then", "else", "dependentSchemas", "not"];

/// A call in a program's text.
#[derive(Debug, Clone, Copy)]
pub struct WrittenCall<'a> {
    /// `server.function`.
    pub function: &'a str,
    /// Its language decides about the names of arguments.
    pub caller: Caller,
    /// An object of the arguments that are written out; what is not known within them is null.
    pub arguments: &'a RawValue,
    /// JSON Pointers (RFC 6901) into `arguments`: of what is not known, and of objects and lists that may have more than is
    /// written.
    pub unknown: &'a [String],
}

/// A value of which parts are not known.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Written<'a> {
    pub(crate) value: &'a Value,
    /// Pointers into the value, as those of [`WrittenCall::unknown`].
    unknown: &'a [&'a str],
}

impl Written<'_> {
    /// Whether a fault is one whatever stands where nothing is known.
    pub(crate) fn is_certain(&self, fault: &ValidationError<'_>) -> bool {
        let path = fault.instance_path().as_str();
        let is_within = |unknown: &&&str| {
            let rest = unknown.strip_prefix(path);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        if !self.unknown.iter().any(|unknown| is_within(&unknown)) {
            return self.unknown.is_empty() || !is_conditional(fault);
        }
        let is_itself_unknown = self.unknown.contains(&path);
        let is_certain_of_kind = match fault.kind() {
            Kind::Required { .. } => !is_itself_unknown,
            Kind::AdditionalProperties { .. } | Kind::Type { .. } => !fault.instance().is_null(),
            _ => false,
        };
        is_certain_of_kind && !is_conditional(fault)
    }
}

fn is_conditional(fault: &ValidationError<'_>) -> bool {
    let path = fault.schema_path().as_str();
    path.split('/').any(|keyword| CONDITIONAL.contains(&keyword))
}

impl Broker {
    /// What is certainly wrong with the arguments of a call in a program's text: a sentence for each argument. Says nothing of
    /// names and of what is missing, nor of a function that is not there.
    pub fn written_faults(&self, call: WrittenCall<'_>) -> Vec<String> {
        if call.unknown.len() > MAX_UNKNOWN {
            return Vec::new();
        }
        let Ok(found) = self.options.functions.find(call.function) else {
            return Vec::new();
        };
        let Ok(Members(members)) = serde_json::from_str::<Members<'_>>(call.arguments.get()) else {
            return Vec::new();
        };
        let names = Names {
            function: &found.function,
            filled: &found.filled,
            caller: call.caller,
            naming: Naming::Language,
        };
        let validators = self.validators.of(&found);
        let mut faults = Vec::new();
        for (name, text) in members {
            let prefix = format!("/{}", escape(&name));
            let within = call.unknown.iter().filter_map(|pointer| pointer.strip_prefix(&prefix));
            let unknown: Vec<&str> = within.filter(|rest| rest.is_empty() || rest.starts_with('/')).collect();
            let (Ok(value), Some(place)) = (parse_strict(text.get()), names.find(&name)) else {
                continue;
            };
            // Null is no argument; and a number that is not exact here is left to the call.
            if value.is_null() || find_big_integer(text.get()).is_some() {
                continue;
            }
            let written = Written {
                value: &value,
                unknown: &unknown,
            };
            let fault = match place {
                ArgumentPlace::Parameter(index) => validators.parameter_faults(index, &name, written),
                ArgumentPlace::Body => validators.body_faults(written),
            };
            faults.extend(fault.map(|fault| self.without_secrets(CallError::argument(fault)).to_string()));
        }
        faults
    }
}
