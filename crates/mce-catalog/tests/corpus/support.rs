//! What the tests over documents share: reading further files, and what must hold of each document.

use std::collections::{BTreeMap, BTreeSet};

use mce_catalog::function::{Function, Parameter, Target, Types};
use mce_catalog::openapi::{Document, Load, LoadError, Origin};
use serde_json::{Map, Value, json};

/// Reads files of the disk; no URLs.
pub(crate) struct Directory;

impl Load for Directory {
    fn load(&self, reference: &Origin) -> Result<Vec<u8>, LoadError> {
        match reference {
            Origin::File(path) => fs_err::read(path).map_err(|error| LoadError(error.kind().to_string())),
            Origin::Url(url) => Err(LoadError(format!("no request to {} is expected", url.path()))),
        }
    }
}

/// The operations that are functions.
pub(crate) fn operations(document: &Document) -> Vec<&str> {
    document.functions.iter().map(|function| function.operation.as_str()).collect()
}

/// What no document may become.
pub(crate) fn problems_of(document: &Document) -> Vec<String> {
    let mut wrong = Vec::new();
    if document.operations != document.functions.len() + document.skipped.len() {
        wrong.push("operations are lost".to_owned());
    }
    let mut names = BTreeSet::new();
    for function in &document.functions {
        for name in [
            format!("operation {}", function.operation),
            format!("py {}", function.python),
            format!("ts {}", function.typescript),
        ] {
            if !names.insert(name.clone()) {
                wrong.push(format!("{name} occurs twice"));
            }
        }
        wrong.extend(problems_of_function(function));
    }
    for name in document.types.keys() {
        if !is_identifier(name) || !name.is_ascii() {
            wrong.push(format!("type {name} is no identifier"));
        }
    }
    let lower: BTreeSet<String> = document.types.keys().map(|name| name.to_lowercase()).collect();
    if lower.len() != document.types.len() {
        wrong.push("types differ in case alone".to_owned());
    }
    let schemas = document.functions.iter().flat_map(Function::schemas).chain(document.types.values());
    let mut dangling = BTreeSet::new();
    schemas.for_each(|schema| collect_dangling(schema, &document.types, &mut dangling));
    wrong.extend(dangling.into_iter().map(|pointer| format!("{pointer} leads to nothing")));
    wrong
}

fn problems_of_function(function: &Function) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut note = |what: &str| wrong.push(format!("{}: {what}", function.operation));
    let names = [&function.python, &function.typescript]
        .into_iter()
        .chain(function.parameters.iter().flat_map(|it| [&it.python, &it.typescript]));
    for name in names.filter(|name| !is_identifier(name)) {
        note(&format!("{name} is no identifier"));
    }
    let body = function.body.as_ref().map(|_| "body".to_owned());
    let unique = |names: Vec<&String>| names.iter().collect::<BTreeSet<_>>().len() == names.len();
    let keys: [fn(&Parameter) -> &String; 3] = [|it| &it.python, |it| &it.typescript, |it| &it.key];
    for key in keys {
        if !unique(function.parameters.iter().map(key).chain(&body).collect()) {
            note("parameters are not unique");
        }
    }
    if !function.parameters.iter().is_sorted_by_key(|parameter| !parameter.is_required) {
        note("required parameters are not first");
    }
    if function.body.as_ref().is_some_and(|body| body.variants.is_empty()) {
        note("the body has no variant");
    }
    let is_tool = matches!(function.target, Target::Tool(_));
    if function.summary.chars().count() > 120 || function.description.chars().count() > if is_tool { 4000 } else { 1000 } {
        note("its texts are too long");
    }
    wrong
}

fn is_identifier(name: &str) -> bool {
    let mut chars = name.chars();
    chars.next().is_some_and(|c| c == '_' || unicode_ident::is_xid_start(c)) && chars.all(unicode_ident::is_xid_continue)
}

fn references<'v>(schema: &'v Value, found: &mut Vec<&'v str>) {
    match schema {
        Value::Object(members) => {
            for (key, value) in members {
                match value {
                    Value::String(text) if key == "$ref" => found.push(text),
                    other => references(other, found),
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| references(item, found)),
        _ => {}
    }
}

fn collect_dangling(schema: &Value, types: &Types, dangling: &mut BTreeSet<String>) {
    let mut found = Vec::new();
    references(schema, &mut found);
    for pointer in found {
        if !pointer.strip_prefix("#/$defs/").is_some_and(|name| types.contains_key(name)) {
            dangling.insert(pointer.to_owned());
        }
    }
}

/// All of these schemas at once, with the types that they reach.
pub(crate) fn closed(schemas: &[&Value], types: &Types) -> Value {
    let mut defs: BTreeMap<&str, &Value> = BTreeMap::new();
    let mut waiting = schemas.to_vec();
    while let Some(schema) = waiting.pop() {
        let mut found = Vec::new();
        references(schema, &mut found);
        for name in found.into_iter().filter_map(|pointer| pointer.strip_prefix("#/$defs/")) {
            if let Some((name, schema)) = types.get_key_value(name)
                && defs.insert(name, schema).is_none()
            {
                waiting.push(schema);
            }
        }
    }
    let defs: Map<String, Value> = defs.into_iter().map(|(name, schema)| (name.to_owned(), schema.clone())).collect();
    json!({"$schema": "https://json-schema.org/draft/2020-12/schema", "$defs": defs, "anyOf": schemas})
}
