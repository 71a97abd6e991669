//! Entries as other programs write them get the keys that ours have, so that one reader reads all of them.

use std::collections::BTreeMap;

use crate::discover::{Dialect, TimeoutUnit};
use crate::field::Field;
use crate::yaml::{Entry, Kind, Node};

/// Other words for our keys. Where both are there, the other word wins: `serverUrl` and `httpUrl` do so where they come from.
pub(crate) const OTHER_WORDS: [(&str, &str); 18] = [
    ("available_tools", "include"),
    ("cmd", "command"),
    ("disabled_tools", "exclude"),
    ("enabled_tools", "include"),
    ("envFile", "env_file"),
    ("environment", "env"),
    ("envs", "env"),
    ("excludeTools", "exclude"),
    ("httpUrl", "url"),
    ("http_headers", "headers"),
    ("includeTools", "include"),
    ("serverUrl", "url"),
    ("startup_timeout_sec", "start_timeout"),
    ("tool_timeout_sec", "timeout"),
    ("transport", "type"),
    ("transportType", "type"),
    ("uri", "url"),
    ("workingDirectory", "cwd"),
];

/// The longest time that is understood, in seconds: a day.
pub(crate) const MAX_SECONDS: u32 = 86_400;

/// Gives a server's fields the keys and the units of ours.
pub(crate) fn respell(fields: &mut BTreeMap<String, Field>, dialect: Dialect) {
    if fields.contains_key("httpUrl") && !fields.contains_key("type") {
        add_text(fields, ("httpUrl", "type"), "streamable-http");
    }
    // Of goose, for which an empty list allows all.
    if fields.get("available_tools").is_some_and(is_empty_list) {
        fields.remove("available_tools");
    }
    timeouts(fields, dialect);
    for (other, ours) in OTHER_WORDS {
        if let Some(field) = fields.remove(other).filter(|field| !field.is_blank()) {
            fields.insert(ours.to_owned(), field);
        }
    }
    command(fields);
    named_variables(fields);
    bearer(fields);
    login(fields);
    for key in ["include", "exclude"] {
        if let Some(field) = fields.get_mut(key) {
            without_arguments(&mut field.node);
        }
    }
}

/// Whether it is a list without items.
pub(crate) fn is_empty_list(field: &Field) -> bool {
    matches!(&field.node.kind, Kind::List(items) if items.is_empty())
}

/// A command with its arguments in one list, as `OpenCode` has it, or in a mapping, as older Zed.
fn command(fields: &mut BTreeMap<String, Field>) {
    let Some(field) = fields.remove("command") else { return };
    match field.node.kind.clone() {
        Kind::List(items) => {
            let mut items = items.into_iter();
            if let Some(first) = items.next() {
                fields.insert("command".to_owned(), with_node(&field, first));
            }
            let own = fields.remove("args").map(|args| args.node.kind);
            let own = if let Some(Kind::List(own)) = own { own } else { Vec::new() };
            let args = Kind::List(items.chain(own).collect());
            fields.insert("args".to_owned(), with_kind(&field, args));
        }
        Kind::Map(entries) => {
            for entry in entries {
                let key = if entry.key == "path" { "command".to_owned() } else { entry.key };
                fields.entry(key).or_insert_with(|| with_node(&field, entry.value));
            }
        }
        Kind::Null | Kind::Scalar(_) => {
            fields.insert("command".to_owned(), field);
        }
    }
}

/// Codex and goose name variables that are passed on, and header fields whose values are in variables.
fn named_variables(fields: &mut BTreeMap<String, Field>) {
    for (key, ours) in [("env_keys", "env"), ("env_vars", "env"), ("env_http_headers", "headers")] {
        let Some(field) = fields.remove(key) else { continue };
        let named: Vec<Entry> = match &field.node.kind {
            Kind::List(items) => items
                .iter()
                .filter_map(name_of)
                .map(|(name, line)| reference(name, name, line))
                .collect(),
            Kind::Map(entries) => {
                let variable = |entry: &Entry| Some(reference(&entry.key, name_of(&entry.value)?.0, entry.line));
                entries.iter().filter_map(variable).collect()
            }
            Kind::Null | Kind::Scalar(_) => continue,
        };
        add_entries(fields, ours, &field, named);
    }
}

/// A variable's name: a text, or a mapping with `name`.
fn name_of(node: &Node) -> Option<(&str, u64)> {
    match &node.kind {
        Kind::Scalar(name) => Some((name, node.line)),
        Kind::Map(entries) => match &entries.iter().find(|entry| entry.key == "name")?.value.kind {
            Kind::Scalar(name) => Some((name, node.line)),
            Kind::Null | Kind::List(_) | Kind::Map(_) => None,
        },
        Kind::Null | Kind::List(_) => None,
    }
}

fn reference(key: &str, variable: &str, line: u64) -> Entry {
    Entry {
        key: key.to_owned(),
        line,
        value: Node {
            line,
            ..Node::text(&format!("${{{variable}}}"))
        },
    }
}

fn bearer(fields: &mut BTreeMap<String, Field>) {
    let Some(field) = fields.remove("bearer_token_env_var") else {
        return;
    };
    let Kind::Scalar(variable) = &field.node.kind else { return };
    let mut entry = reference("Authorization", variable, field.node.line);
    entry.value.kind = Kind::Scalar(format!("Bearer ${{{variable}}}"));
    add_entries(fields, "headers", &field, vec![entry]);
}

/// Cursor has its client's registration at `auth`.
fn login(fields: &mut BTreeMap<String, Field>) {
    let is_login = |field: &Field| matches!(&field.node.kind, Kind::Map(entries) if entries.iter().any(|entry| entry.key == "CLIENT_ID"));
    if fields.get("auth").is_some_and(is_login)
        && let Some(field) = fields.remove("auth")
    {
        fields.entry("oauth".to_owned()).or_insert(field);
    }
}

/// Adds to a mapping what it does not have.
fn add_entries(fields: &mut BTreeMap<String, Field>, key: &str, origin: &Field, added: Vec<Entry>) {
    let field = fields
        .entry(key.to_owned())
        .or_insert_with(|| with_kind(origin, Kind::Map(Vec::new())));
    if field.is_blank() {
        field.node.kind = Kind::Map(Vec::new());
    }
    let Kind::Map(entries) = &mut field.node.kind else { return };
    for entry in added {
        if !entries.iter().any(|known| known.key.eq_ignore_ascii_case(&entry.key)) {
            entries.push(entry);
        }
    }
}

/// Gemini CLI lets a name of a tool go on with its arguments: `run(ls)`.
fn without_arguments(node: &mut Node) {
    let Kind::List(items) = &mut node.kind else { return };
    for item in items {
        if let Kind::Scalar(name) = &mut item.kind
            && !name.contains(' ')
            && let Some((tool, _)) = name.split_once('(')
        {
            *name = tool.to_owned();
        }
    }
}

/// All times become whole seconds, rounded up.
fn timeouts(fields: &mut BTreeMap<String, Field>, dialect: Dialect) {
    for (key, unit) in [
        ("startup_timeout_sec", 1.0),
        ("tool_timeout_sec", 1.0),
        ("startup_timeout_ms", 1000.0),
    ] {
        if let Some(mut field) = fields.remove(key) {
            to_seconds(&mut field.node, unit);
            let ours = if key == "startup_timeout_ms" { "start_timeout" } else { key };
            fields.entry(ours.to_owned()).or_insert(field);
        }
    }
    let Some(mut field) = fields.remove("timeout") else { return };
    let key = match dialect.timeout {
        TimeoutUnit::None => return,
        TimeoutUnit::Ours => "timeout",
        TimeoutUnit::Seconds => {
            to_seconds(&mut field.node, 1.0);
            "timeout"
        }
        TimeoutUnit::Milliseconds => {
            to_seconds(&mut field.node, 1000.0);
            "timeout"
        }
        TimeoutUnit::Either => {
            let unit = if number(&field.node).is_some_and(|number| number >= 1000.0) {
                1000.0
            } else {
                1.0
            };
            to_seconds(&mut field.node, unit);
            "timeout"
        }
        TimeoutUnit::StartMilliseconds => {
            if let Kind::Map(entries) = &field.node.kind {
                for (theirs, ours) in [("startup", "start_timeout"), ("request", "timeout")] {
                    if let Some(entry) = entries.iter().find(|entry| entry.key == theirs) {
                        let mut field = with_node(&field, entry.value.clone());
                        to_seconds(&mut field.node, 1000.0);
                        fields.insert(ours.to_owned(), field);
                    }
                }
                return;
            }
            to_seconds(&mut field.node, 1000.0);
            "start_timeout"
        }
    };
    fields.insert(key.to_owned(), field);
}

fn number(node: &Node) -> Option<f64> {
    match &node.kind {
        Kind::Scalar(text) => text.trim().parse().ok().filter(|number: &f64| number.is_finite()),
        Kind::Null | Kind::List(_) | Kind::Map(_) => None,
    }
}

/// What is no number stays as it is, for its reader to refuse. Zero means no limit, which we do not offer.
fn to_seconds(node: &mut Node, per_second: f64) {
    let Some(number) = number(node) else { return };
    let seconds = if number > 0.0 {
        (number / per_second).ceil()
    } else {
        f64::INFINITY
    };
    node.kind = Kind::Scalar(format!("{:.0}", seconds.min(MAX_SECONDS.into())));
}

fn add_text(fields: &mut BTreeMap<String, Field>, (from, key): (&str, &str), text: &str) {
    if let Some(field) = fields.get(from) {
        let field = with_kind(field, Kind::Scalar(text.to_owned()));
        fields.insert(key.to_owned(), field);
    }
}

fn with_node(field: &Field, node: Node) -> Field {
    Field { node, ..field.clone() }
}

fn with_kind(field: &Field, kind: Kind) -> Field {
    let node = Node {
        line: field.node.line,
        kind,
        is_plain: false,
    };
    with_node(field, node)
}
