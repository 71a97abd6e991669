//! The cases of `tests/cases`, as far as reading a document decides them. Calls are tested where calls are made.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use mce_catalog::openapi::{Document, Origin, read};
use serde_json::Value;
use url::Url;

use crate::support::{Directory, operations, problems_of};

fn cases() -> Vec<PathBuf> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/cases");
    let mut cases: Vec<PathBuf> = fs_err::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.is_dir())
        .collect();
    cases.sort();
    cases
}

fn texts(value: Option<&Value>) -> Vec<String> {
    match value {
        Some(Value::String(text)) => vec![text.to_lowercase()],
        Some(Value::Array(list)) => list.iter().map(|text| text.as_str().unwrap().to_lowercase()).collect(),
        _ => Vec::new(),
    }
}

/// What is wrong with one case.
fn check(directory: &Path) -> Vec<String> {
    let case: Value = serde_json::from_slice(&fs_err::read(directory.join("case.json")).unwrap()).unwrap();
    let file = ["openapi.json", "openapi.yaml"]
        .map(|name| directory.join(name))
        .into_iter()
        .find(|file| file.exists())
        .unwrap();
    let origin = match case.get("document_url") {
        Some(url) => Origin::Url(Url::parse(url.as_str().unwrap()).unwrap()),
        None => Origin::File(file.clone()),
    };
    let result = read(&fs_err::read(&file).unwrap(), &origin, &Directory);
    let refused = match &result {
        Err(error) => Some(error.to_string()),
        // With a server as the case configures it, this is the caller's refusal.
        Ok(document) => (case["server"].get("base_url") == Some(&Value::Null) && document.needs_base_url()).then(|| "base_url".to_owned()),
    };
    let all = texts(case.get("config_error_contains"));
    let any = texts(case.get("config_error_contains_any"));
    let is_refusal = !all.is_empty() || !any.is_empty();
    match (refused, result) {
        (Some(message), _) => {
            let lower = message.to_lowercase();
            let fits = is_refusal
                && all.iter().all(|text| lower.contains(text))
                && (any.is_empty() || any.iter().any(|text| lower.contains(text)));
            if fits { Vec::new() } else { vec![format!("refused: {message}")] }
        }
        (None, Ok(_)) if is_refusal && case.get("may_refuse").is_none() => vec!["is not refused".to_owned()],
        (None, Ok(document)) => check_document(&case, &document),
        (None, Err(_)) => unreachable!("an error is a refusal"),
    }
}

fn check_document(case: &Value, document: &Document) -> Vec<String> {
    let mut wrong = problems_of(document);
    let is_read_only = case["server"]["is_read_only"] == true;
    for expected in case["functions"].as_array().into_iter().flatten() {
        let operation = expected["operation"].as_str().unwrap();
        let Some(function) = document.functions.iter().find(|function| function.operation == operation) else {
            wrong.push(format!("{operation} is missing"));
            continue;
        };
        let is = [
            ("python", function.python.as_str()),
            ("typescript", &function.typescript),
            ("effect", function.effect.as_str()),
        ];
        for (key, is) in is {
            if expected.get(key).is_some_and(|wanted| wanted != is) {
                wrong.push(format!("{operation}: {key} is `{is}`, not {}", expected[key]));
            }
        }
        let shown = shown(document, operation);
        wrong.extend(
            texts(expected.get("shows"))
                .iter()
                .filter(|text| !shown.contains(*text))
                .map(|text| format!("{operation} hides {text}")),
        );
        wrong.extend(
            texts(expected.get("hides"))
                .iter()
                .filter(|text| shown.contains(*text))
                .map(|text| format!("{operation} shows {text}")),
        );
    }
    if let Some(count) = case.get("function_count").and_then(Value::as_u64)
        && !is_read_only
        && count != document.functions.len() as u64
    {
        wrong.push(format!(
            "{} functions instead of {count}: {:?}",
            document.functions.len(),
            operations(document)
        ));
    }
    for expected in case["skipped"].as_array().into_iter().flatten() {
        let skipped = document.skipped.iter().find(|skipped| expected["operation"] == *skipped.operation);
        let reason = skipped.map(|skipped| skipped.reason.to_lowercase()).unwrap_or_default();
        if !texts(expected.get("reason_contains")).iter().all(|text| reason.contains(text)) || skipped.is_none() {
            wrong.push(format!("{} is skipped for `{reason}`", expected["operation"]));
        }
    }
    let problems = document
        .problems
        .iter()
        .map(|problem| format!("{} {}", problem.pointer, problem.message).to_lowercase())
        .collect::<Vec<_>>()
        .join("\n");
    wrong.extend(
        texts(case.get("problems_contain"))
            .iter()
            .filter(|text| !problems.contains(*text))
            .map(|text| format!("no problem about {text}")),
    );
    wrong.extend(wrong_arguments(case, document));
    wrong
}

/// All that a reader is shown of a function is made from this.
fn shown(document: &Document, operation: &str) -> String {
    let function = document.functions.iter().find(|function| function.operation == operation).unwrap();
    let mut shown = serde_json::to_string(&(
        &function.summary,
        &function.description,
        &function.parameters,
        &function.body,
        &function.result,
    ))
    .unwrap();
    let mut seen = BTreeSet::new();
    while let Some((name, schema)) = document
        .types
        .iter()
        .find(|(name, _)| shown.contains(&format!("#/$defs/{name}\"")) && !seen.contains(*name))
    {
        seen.insert(name.clone());
        shown.push_str(&schema.to_string());
    }
    shown.to_lowercase()
}

/// Arguments of successful calls that the function does not have.
fn wrong_arguments(case: &Value, document: &Document) -> Vec<String> {
    let mut wrong = Vec::new();
    for call in case["calls"]
        .as_array()
        .into_iter()
        .flatten()
        .filter(|call| call.get("expect_request").is_some())
    {
        let operation = call["operation"].as_str().unwrap();
        let Some(function) = document.functions.iter().find(|function| function.operation == operation) else {
            wrong.push(format!("{operation} is called and missing"));
            continue;
        };
        let args = call["args"].as_object().unwrap();
        for key in args.keys() {
            let is_body = key == "body" && function.body.is_some();
            if !is_body && !function.parameters.iter().any(|parameter| parameter.key == *key) {
                wrong.push(format!("{operation} has no argument {key}"));
            }
        }
        for parameter in function
            .parameters
            .iter()
            .filter(|parameter| parameter.is_required && !args.contains_key(&parameter.key))
        {
            wrong.push(format!("{operation} requires {}", parameter.key));
        }
    }
    wrong
}

#[test]
fn documents_become_what_the_cases_say() {
    let mut failed = Vec::new();
    for case in cases() {
        let wrong = check(&case);
        if !wrong.is_empty() {
            failed.push(format!("{}: {}", case.file_name().unwrap().to_string_lossy(), wrong.join("; ")));
        }
    }
    assert!(cases().len() >= 101, "cases are missing");
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}
