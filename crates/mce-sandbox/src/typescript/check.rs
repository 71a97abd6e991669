//! Checks imports and direct calls of a program against the catalog before it starts: then nothing has happened yet.
//!
//! It refuses only what is certain: functions that are named in the text, and arguments that are written out.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use serde_json::Value;

use super::arguments::{call_faults, host_faults, written_call};
use super::compile::{Call, Facts, Import, Receiver, Refusal, Used};
use super::failure::did_you_mean;
use crate::ErrorKind;

/// The modules that there are.
pub(super) const MODULES: [&str; 2] = ["mce:servers", "mce"];

/// Names of other runtimes, and what there is instead.
const OTHER_RUNTIMES: [(&str, &str); 10] = [
    ("Bun", NO_HOST),
    ("Deno", NO_HOST),
    ("WebSocket", NO_NETWORK),
    ("XMLHttpRequest", NO_NETWORK),
    ("__dirname", NO_HOST),
    ("__filename", NO_HOST),
    ("document", NO_HOST),
    ("process", NO_HOST),
    (
        "require",
        "write `import { server } from \"mce:servers\"`; there are no other modules",
    ),
    ("window", NO_HOST),
];
const NO_HOST: &str = "programs have no environment, files or processes; `console`, `fetch` and the web's own globals are there";
const NO_NETWORK: &str = "`fetch` reaches the hosts of `MCE_ALLOWED_DOMAINS`, and functions of servers all else";

/// Calls whose arguments the host looks at.
const WRITTEN_CALLS: usize = 100;

/// How many names an error lists.
pub(super) const LISTED: usize = 20;

/// A function as the host describes it.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct Stub {
    pub(super) name: String,
    pub(super) function: String,
    pub(super) parameters: Vec<Parameter>,
    pub(super) signature: String,
    /// It takes arguments besides its parameters.
    #[serde(default)]
    pub(super) open: bool,
    result: Option<ResultFields>,
}

#[derive(Debug, Clone, Deserialize)]
pub(super) struct Parameter {
    pub(super) name: String,
    pub(super) required: bool,
    pub(super) literals: Option<Vec<Value>>,
    pub(super) types: Option<Vec<String>>,
}

/// What the value of a function has.
#[derive(Debug, Clone, Deserialize)]
struct ResultFields {
    list: bool,
    fields: Vec<String>,
}

/// The host's description of functions of a server.
#[derive(Debug, Deserialize)]
pub(super) struct Described {
    pub(super) functions: Vec<Stub>,
    pub(super) unknown: Vec<(String, String)>,
}

/// What can be asked of the host.
pub(super) trait Catalog {
    /// The names of all servers; `None` if they cannot be had now.
    fn servers(&mut self) -> Option<Vec<String>>;

    /// Descriptions of functions; `None` if they cannot be had now.
    fn describe(&mut self, server: &str, names: &[&str]) -> Option<Described>;

    /// What the host finds wrong with arguments that are written out, for each call; `None` if it cannot be asked now.
    fn faults(&mut self, calls: &[Value]) -> Option<Vec<Vec<String>>>;
}

/// What is there besides the catalog.
#[derive(Debug, Clone, Copy)]
pub(super) struct Context<'c> {
    /// Names that every program has.
    pub(super) globals: &'c BTreeSet<String>,
    /// The names of the module `mce`.
    pub(super) exports: &'c [String],
    /// Names of other runtimes are refused, too.
    pub(super) has_guard: bool,
}

/// All that is wrong with a program, by line.
#[derive(Debug)]
pub(super) struct Refusals {
    pub(super) first: Refusal,
    pub(super) others: Vec<Refusal>,
}

impl Refusals {
    /// None of none.
    pub(super) fn of(mut all: Vec<Refusal>) -> Option<Self> {
        all.sort_by_key(|refusal| refusal.line);
        let mut all = all.into_iter();
        let first = all.next()?;
        Some(Self {
            first,
            others: all.collect(),
        })
    }
}

/// Checks a program. Returns the servers that the text names without an import.
///
/// # Errors
///
/// [`ErrorKind::Argument`] for a server, function, argument, literal or field that does not exist, [`ErrorKind::Exception`] for
/// such a module, [`ErrorKind::Policy`] for a name of another runtime.
pub(super) fn check(facts: &Facts, context: Context<'_>, catalog: &mut dyn Catalog) -> Result<Vec<String>, Refusals> {
    let globals = context.globals;
    let free: Vec<&String> = facts.free.iter().filter(|name| !globals.contains(*name)).collect();
    let mut found = helper_faults(facts, context.exports);
    let has_import = facts.imports.iter().any(|import| import.module == MODULES[0]);
    let has_unknown_module = facts.imports.iter().any(|import| !MODULES.contains(&import.module.as_str()));
    let needs_servers = !free.is_empty() || has_import || has_unknown_module;
    // If the servers cannot be had, the import itself says so.
    let servers = if needs_servers { catalog.servers() } else { None };
    let Some(servers) = servers else {
        return Refusals::of(found).map_or(Ok(Vec::new()), Err);
    };
    found.extend(facts.imports.iter().filter_map(|import| import_fault(import, &servers)));
    if context.has_guard {
        found.extend(
            facts
                .unguarded
                .iter()
                .filter(|name| !servers.contains(&name.name))
                .filter_map(|name| {
                    let (_, hint) = OTHER_RUNTIMES
                        .iter()
                        .find(|(known, _)| *known == name.name && !globals.contains(*known))?;
                    let message = format!("`{}` is of another runtime: programs do not have it", name.name);
                    Some(refused(ErrorKind::Policy, message, name.line, Some((*hint).to_owned())))
                }),
        );
    }
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
    let mut written = Vec::new();
    for (server, call) in &calls {
        if let Some(described) = described.get(server.as_str()) {
            let faults = call_faults(server, call, described);
            written.extend(written_call(call, described, &faults));
            found.extend(faults.into_iter().map(|fault| fault.refusal));
            found.extend(use_faults(facts, call, described));
        }
    }
    written.truncate(WRITTEN_CALLS);
    found.extend(host_faults(&written, catalog));
    match Refusals::of(found) {
        Some(refusals) => Err(refusals),
        None => Ok(free.into_iter().filter(|name| servers.contains(name)).cloned().collect()),
    }
}

fn import_fault(import: &Import, servers: &[String]) -> Option<Refusal> {
    let Import { module, names, line } = import;
    if module == MODULES[0] {
        let unknown = names.iter().find(|name| *name != "default" && !servers.contains(name))?;
        let hint = did_you_mean(unknown, servers.iter().map(String::as_str));
        let hint = hint.unwrap_or_else(|| format!("servers: {}", listed(servers.iter().map(String::as_str))));
        let message = format!("there is no server `{}`", short(unknown));
        return Some(refused(ErrorKind::Argument, message, *line, Some(hint)));
    }
    if MODULES.contains(&module.as_str()) {
        return None;
    }
    let listed = listed(servers.iter().map(String::as_str));
    let hint = format!("import servers from \"mce:servers\" ({listed}) and helpers from \"mce\"; there are no other modules");
    let message = format!("there is no module `{}`", short(module));
    Some(refused(ErrorKind::Exception, message, *line, Some(hint)))
}

fn helper_faults(facts: &Facts, exports: &[String]) -> Vec<Refusal> {
    let imports = facts.imports.iter().filter(|import| import.module == MODULES[1]);
    let names = imports.flat_map(|import| import.names.iter().map(|name| (name, import.line)));
    let unknown = names.filter(|(name, _)| !exports.contains(name));
    let fault = |(name, line): (&String, u32)| {
        let hint = did_you_mean(name, exports.iter().map(String::as_str));
        let hint = hint.unwrap_or_else(|| format!("it has: {}", listed(exports.iter().map(String::as_str))));
        let message = format!("the module `mce` has no `{}`", short(name));
        refused(ErrorKind::Argument, message, line, Some(hint))
    };
    unknown.map(fault).collect()
}

/// What is wrong with how the value of a call is used.
fn use_faults<'f>(facts: &'f Facts, call: &'f Call, described: &'f Described) -> impl Iterator<Item = Refusal> + 'f {
    let stub = described.functions.iter().find(|stub| stub.name == call.function);
    let uses = facts.uses.iter().filter(|one| one.call == call.start);
    uses.filter_map(move |one| {
        let stub = stub?;
        let (message, hint) = match &one.what {
            Used::Unawaited => (
                format!("the value of `{}` is used before it is awaited", stub.function),
                "put `await` before the call".to_owned(),
            ),
            Used::Field(name) => {
                let result = stub
                    .result
                    .as_ref()
                    .filter(|result| !result.list && !result.fields.contains(name))?;
                // Answers may have more fields than documents say: only what looks like a slip is certain enough.
                let close = slip(name, &result.fields)?;
                (
                    format!("the value of `{}` has no `{}`", stub.function, short(name)),
                    format!(
                        "did you mean `{close}`? (what the document lacks can be had by `?.{}`)",
                        short(name)
                    ),
                )
            }
        };
        Some(Refusal {
            function: Some(stub.function.clone()),
            ..refused(ErrorKind::Argument, message, one.line, Some(hint))
        })
    })
}

/// The field that is meant by a name that differs by case, underscores or a letter.
fn slip<'f>(name: &str, fields: &'f [String]) -> Option<&'f String> {
    let plain = |text: &str| text.replace(['_', '-'], "").to_lowercase();
    let same = fields.iter().find(|field| plain(field) == plain(name));
    let is_near = |field: &&String| name.chars().count() > 3 && differences(name, field) == 1;
    same.or_else(|| fields.iter().find(is_near))
}

/// Letters by which two names differ at most, counted from both ends.
fn differences(left: &str, right: &str) -> usize {
    let (left, right): (Vec<char>, Vec<char>) = (left.chars().collect(), right.chars().collect());
    let shorter = left.len().min(right.len());
    let start = left.iter().zip(&right).take_while(|(a, b)| a == b).count();
    let ends = left.iter().rev().zip(right.iter().rev());
    let end = ends.take(shorter - start).take_while(|(a, b)| a == b).count();
    left.len().max(right.len()) - start - end
}

pub(super) fn listed<'n>(names: impl Iterator<Item = &'n str>) -> String {
    let names: Vec<&str> = names.collect();
    if names.is_empty() {
        return "none".to_owned();
    }
    let shown: Vec<String> = names.iter().take(LISTED).map(|name| format!("`{name}`")).collect();
    format!("{}{}", shown.join(", "), if names.len() > LISTED { ", ..." } else { "" })
}

pub(super) fn short(name: &str) -> String {
    name.chars().take(100).collect()
}

pub(super) const fn refused(kind: ErrorKind, message: String, line: u32, hint: Option<String>) -> Refusal {
    Refusal::new(kind, message, Some(line), hint)
}
