//! Arguments of calls in a program's text: names, few literals and types here, what is written out deeper by the host.

use serde_json::{Map, Value, json};

use super::check::{Catalog, Described, LISTED, Parameter, Stub, listed, refused, short};
use super::compile::{Argument, Arguments, Call, Refusal, pointer};
use super::failure::{did_you_mean, similar};
use crate::ErrorKind;

/// What is wrong with a call.
#[derive(Debug)]
pub(super) struct Fault {
    pub(super) refusal: Refusal,
    /// The argument whose value is wrong.
    argument: Option<String>,
}

/// A call as the host reads it.
#[derive(Debug)]
pub(super) struct WrittenCall<'c> {
    call: &'c Call,
    stub: &'c Stub,
    json: Value,
}

/// The arguments of a call that are written out and not yet found wrong, if there are any.
pub(super) fn written_call<'c>(call: &'c Call, described: &'c Described, faults: &[Fault]) -> Option<WrittenCall<'c>> {
    let stub = described.functions.iter().find(|stub| stub.name == call.function)?;
    let Arguments::Object { members, .. } = &call.arguments else {
        return None;
    };
    let (mut arguments, mut unknown) = (Map::new(), Vec::new());
    for Argument { name, written, .. } in members {
        let is_wrong = faults.iter().any(|fault| fault.argument.as_ref() == Some(name));
        if !is_wrong && !written.value.is_null() {
            let place = pointer(name);
            unknown.extend(written.unknown.iter().map(|rest| format!("/{place}{rest}")));
            arguments.insert(name.clone(), written.value.clone());
        }
    }
    let json = json!({"function": stub.function, "arguments": arguments, "unknown": unknown});
    (!arguments.is_empty()).then_some(WrittenCall { call, stub, json })
}

/// What the host, which has the schemas, finds wrong with arguments that are written out.
pub(super) fn host_faults(written: &[WrittenCall<'_>], catalog: &mut dyn Catalog) -> Vec<Refusal> {
    let calls: Vec<Value> = written.iter().map(|written| written.json.clone()).collect();
    let found = if calls.is_empty() { None } else { catalog.faults(&calls) };
    let of_call = |(written, texts): (&WrittenCall<'_>, Vec<String>)| {
        let refusal = |text| Refusal {
            function: Some(written.stub.function.clone()),
            ..refused(ErrorKind::Argument, text, written.call.line, None)
        };
        texts.into_iter().map(refusal).collect::<Vec<_>>()
    };
    written.iter().zip(found.unwrap_or_default()).flat_map(of_call).collect()
}

pub(super) fn call_faults(server: &str, call: &Call, described: &Described) -> Vec<Fault> {
    let Call {
        function, arguments, line, ..
    } = call;
    let Some(stub) = described.functions.iter().find(|stub| stub.name == *function) else {
        // A member that every object has is none of the server's.
        let unknown = described.unknown.iter().find(|(name, _)| name == function);
        let fault = unknown.map(|(_, hint)| Refusal {
            function: Some(format!("{server}.{}", short(function))),
            ..refused(
                ErrorKind::Argument,
                format!("server `{server}` has no function `{}`", short(function)),
                *line,
                (!hint.is_empty()).then(|| hint.clone()),
            )
        });
        let fault = fault.map(|refusal| Fault { refusal, argument: None });
        return fault.into_iter().collect();
    };
    let faults = match arguments {
        Arguments::Unknown => Vec::new(),
        Arguments::Wrong => vec![(
            format!("`{}` takes its arguments as one object", stub.function),
            Some(stub.signature.clone()),
            None,
        )],
        Arguments::None => faults_in(stub, &[], false),
        Arguments::Object { members, is_open } => faults_in(stub, members, *is_open),
    };
    let of_function = |(message, hint, argument)| Fault {
        refusal: Refusal {
            function: Some(stub.function.clone()),
            ..refused(ErrorKind::Argument, message, *line, hint)
        },
        argument,
    };
    faults.into_iter().map(of_function).collect()
}

/// What is wrong with the arguments of a call, each with a hint and the argument whose value is wrong.
fn faults_in(stub: &Stub, given: &[Argument], is_open: bool) -> Vec<(String, Option<String>, Option<String>)> {
    let Stub {
        function,
        parameters,
        signature,
        open: takes_more,
        ..
    } = stub;
    let names = || parameters.iter().map(|parameter| parameter.name.as_str());
    let mut faults = Vec::new();
    let mut meant = Vec::new();
    for argument in given {
        match parameters.iter().find(|parameter| parameter.name == argument.name) {
            Some(parameter) => {
                let fault = wrong_literal(function, parameter, argument.literal.as_ref());
                let fault = fault.or_else(|| wrong_type(parameter, argument));
                faults.extend(fault.map(|(message, hint)| (message, hint, Some(argument.name.clone()))));
            }
            None if *takes_more => {}
            None => {
                meant.extend(similar(&argument.name, names()));
                let hint = did_you_mean(&argument.name, names());
                let hint = hint.unwrap_or_else(|| format!("its arguments: {}", listed(names())));
                faults.push((
                    format!("`{function}` has no argument `{}`", short(&argument.name)),
                    Some(hint),
                    None,
                ));
            }
        }
    }
    let is_given = |name: &str| given.iter().any(|argument| argument.name == name);
    let missing: Vec<&str> = parameters
        .iter()
        .filter(|parameter| parameter.required && !is_given(&parameter.name) && !meant.contains(&parameter.name.as_str()))
        .map(|parameter| parameter.name.as_str())
        .collect();
    if !is_open && !missing.is_empty() {
        faults.push((
            format!("`{function}` needs {}", listed(missing.into_iter())),
            Some(signature.clone()),
            None,
        ));
    }
    faults
}

/// A value of a type that is none of the argument's.
fn wrong_type(parameter: &Parameter, argument: &Argument) -> Option<(String, Option<String>)> {
    let (kind, types) = (argument.kind?, parameter.types.as_ref()?);
    let fits = |wanted: &String| wanted == kind || kind == "integer" && wanted == "number";
    if types.iter().any(fits) {
        return None;
    }
    let got = match (&argument.literal, kind) {
        (Some(Value::String(text)), _) => format!("the string `{}`", text.chars().take(50).collect::<String>()),
        (_, "array" | "object" | "integer") => format!("an {kind}"),
        _ => format!("a {kind}"),
    };
    Some((format!("`{}`: expected {}, got {got}", parameter.name, types.join(" or ")), None))
}

fn wrong_literal(function: &str, parameter: &Parameter, value: Option<&Value>) -> Option<(String, Option<String>)> {
    let (value, literals) = (value?, parameter.literals.as_ref()?);
    if literals.is_empty() || literals.contains(value) {
        return None;
    }
    let close = value
        .as_str()
        .and_then(|text| did_you_mean(text, literals.iter().filter_map(Value::as_str)));
    let hint = close.unwrap_or_else(|| {
        let shown: Vec<String> = literals.iter().take(LISTED).map(shown).collect();
        format!("one of: {}", shown.join(", "))
    });
    Some((
        format!("`{}` of `{function}` cannot be {}", parameter.name, shown(value)),
        Some(hint),
    ))
}

/// A literal as the program would write it.
fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => format!("'{}'", short(text)),
        other => other.to_string(),
    }
}
