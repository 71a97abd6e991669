//! Checks imports and direct calls of a program against the catalog before it starts: then nothing has happened yet.
//!
//! It refuses only what is certain: functions that are named in the text, and arguments that are written out.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use serde_json::Value;

use super::compile::{Argument, Arguments, Call, Facts, Import, Receiver, Refusal};
use super::failure::did_you_mean;
use crate::ErrorKind;

/// The modules that there are.
pub(super) const MODULES: [&str; 2] = ["mce:servers", "mce"];

/// How many names an error lists.
const LISTED: usize = 20;

/// A function as the host describes it.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct Stub {
    name: String,
    function: String,
    parameters: Vec<Parameter>,
    signature: String,
    /// It takes arguments besides its parameters.
    #[serde(default)]
    open: bool,
}

#[derive(Debug, Clone, Deserialize)]
struct Parameter {
    name: String,
    required: bool,
    literals: Option<Vec<Value>>,
}

/// The host's description of functions of a server.
#[derive(Debug, Deserialize)]
pub(super) struct Described {
    functions: Vec<Stub>,
    unknown: Vec<(String, String)>,
}

/// What can be asked of the host.
pub(super) trait Catalog {
    /// The names of all servers; `None` if they cannot be had now.
    fn servers(&mut self) -> Option<Vec<String>>;

    /// Descriptions of functions; `None` if they cannot be had now.
    fn describe(&mut self, server: &str, names: &[&str]) -> Option<Described>;
}

/// Checks a program. `exports` are the names of the module `mce`. Returns the servers that the text names without an import.
///
/// # Errors
///
/// [`ErrorKind::Argument`] for a server, function, argument or literal that does not exist, [`ErrorKind::Exception`] for
/// such a module.
pub(super) fn check(
    facts: &Facts,
    globals: &BTreeSet<String>,
    exports: &[String],
    catalog: &mut dyn Catalog,
) -> Result<Vec<String>, Refusal> {
    let free: Vec<&String> = facts.free.iter().filter(|name| !globals.contains(*name)).collect();
    let has_import = facts.imports.iter().any(|import| import.module == MODULES[0]);
    let has_unknown_module = facts.imports.iter().any(|import| !MODULES.contains(&import.module.as_str()));
    if free.is_empty() && !has_import && !has_unknown_module {
        return check_helpers(facts, exports).map(|()| Vec::new());
    }
    // If the servers cannot be had, the import itself says so.
    let Some(servers) = catalog.servers() else {
        return Ok(Vec::new());
    };
    for import in &facts.imports {
        check_import(import, &servers)?;
    }
    check_helpers(facts, exports)?;
    let named = |call: &Call| match &call.receiver {
        Receiver::Imported(server) => Some(server.clone()),
        Receiver::Free(name) => (!globals.contains(name) && servers.contains(name)).then(|| name.clone()),
    };
    let calls: Vec<(String, &Call)> = facts.calls.iter().filter_map(|call| Some((named(call)?, call))).collect();
    let mut wanted: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for (server, call) in &calls {
        wanted.entry(server).or_default().insert(&call.function);
    }
    let mut described = BTreeMap::new();
    for (server, names) in wanted {
        let names: Vec<&str> = names.into_iter().collect();
        if let Some(found) = catalog.describe(server, &names) {
            described.insert(server, found);
        }
    }
    for (server, call) in &calls {
        if let Some(described) = described.get(server.as_str()) {
            check_call(server, call, described)?;
        }
    }
    Ok(free.into_iter().filter(|name| servers.contains(name)).cloned().collect())
}

fn check_import(import: &Import, servers: &[String]) -> Result<(), Refusal> {
    let Import { module, names, line } = import;
    if module == MODULES[0] {
        let Some(unknown) = names.iter().find(|name| *name != "default" && !servers.contains(name)) else {
            return Ok(());
        };
        let hint = did_you_mean(unknown, servers.iter().map(String::as_str));
        let hint = hint.unwrap_or_else(|| format!("servers: {}", listed(servers.iter().map(String::as_str))));
        return Err(refused(
            ErrorKind::Argument,
            format!("there is no server `{}`", short(unknown)),
            *line,
            Some(hint),
        ));
    }
    if MODULES.contains(&module.as_str()) {
        return Ok(());
    }
    let listed = listed(servers.iter().map(String::as_str));
    let hint = format!("import servers from \"mce:servers\" ({listed}) and helpers from \"mce\"; there are no other modules");
    Err(refused(
        ErrorKind::Exception,
        format!("there is no module `{}`", short(module)),
        *line,
        Some(hint),
    ))
}

fn check_helpers(facts: &Facts, exports: &[String]) -> Result<(), Refusal> {
    for Import { names, line, .. } in facts.imports.iter().filter(|import| import.module == MODULES[1]) {
        if let Some(unknown) = names.iter().find(|name| !exports.contains(name)) {
            let hint = did_you_mean(unknown, exports.iter().map(String::as_str));
            let hint = hint.unwrap_or_else(|| format!("it has: {}", listed(exports.iter().map(String::as_str))));
            let message = format!("the module `mce` has no `{}`", short(unknown));
            return Err(refused(ErrorKind::Argument, message, *line, Some(hint)));
        }
    }
    Ok(())
}

fn check_call(server: &str, call: &Call, described: &Described) -> Result<(), Refusal> {
    let Call {
        function, arguments, line, ..
    } = call;
    let Some(stub) = described.functions.iter().find(|stub| stub.name == *function) else {
        // A member that every object has is none of the server's.
        let Some((_, hint)) = described.unknown.iter().find(|(name, _)| name == function) else {
            return Ok(());
        };
        return Err(Refusal {
            function: Some(format!("{server}.{}", short(function))),
            ..refused(
                ErrorKind::Argument,
                format!("server `{server}` has no function `{}`", short(function)),
                *line,
                (!hint.is_empty()).then(|| hint.clone()),
            )
        });
    };
    let fault = match arguments {
        Arguments::Unknown => return Ok(()),
        Arguments::Wrong => Some((
            format!("`{}` takes its arguments as one object", stub.function),
            Some(stub.signature.clone()),
        )),
        Arguments::None => fault_in(stub, &[], false),
        Arguments::Object { members, is_open } => fault_in(stub, members, *is_open),
    };
    fault.map_or(Ok(()), |(message, hint)| {
        Err(Refusal {
            function: Some(stub.function.clone()),
            ..refused(ErrorKind::Argument, message, *line, hint)
        })
    })
}

/// What is wrong with the arguments of a call, and a hint.
fn fault_in(stub: &Stub, given: &[Argument], is_open: bool) -> Option<(String, Option<String>)> {
    let Stub {
        function,
        parameters,
        signature,
        open: takes_more,
        ..
    } = stub;
    let names = || parameters.iter().map(|parameter| parameter.name.as_str());
    for argument in given {
        let Some(parameter) = parameters.iter().find(|parameter| parameter.name == argument.name) else {
            if *takes_more {
                continue;
            }
            let hint = did_you_mean(&argument.name, names());
            let hint = hint.unwrap_or_else(|| format!("its arguments: {}", listed(names())));
            return Some((format!("`{function}` has no argument `{}`", short(&argument.name)), Some(hint)));
        };
        if let Some(fault) = wrong_literal(function, parameter, argument.literal.as_ref()) {
            return Some(fault);
        }
    }
    let is_given = |name: &str| given.iter().any(|argument| argument.name == name);
    let missing: Vec<&str> = parameters
        .iter()
        .filter(|parameter| parameter.required && !is_given(&parameter.name))
        .map(|parameter| parameter.name.as_str())
        .collect();
    if is_open || missing.is_empty() {
        return None;
    }
    Some((
        format!("`{function}` needs {}", listed(missing.into_iter())),
        Some(signature.clone()),
    ))
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

fn listed<'n>(names: impl Iterator<Item = &'n str>) -> String {
    let names: Vec<&str> = names.collect();
    if names.is_empty() {
        return "none".to_owned();
    }
    let shown: Vec<String> = names.iter().take(LISTED).map(|name| format!("`{name}`")).collect();
    format!("{}{}", shown.join(", "), if names.len() > LISTED { ", ..." } else { "" })
}

fn short(name: &str) -> String {
    name.chars().take(100).collect()
}

const fn refused(kind: ErrorKind, message: String, line: u32, hint: Option<String>) -> Refusal {
    Refusal {
        kind,
        message,
        line: Some(line),
        hint,
        function: None,
    }
}
