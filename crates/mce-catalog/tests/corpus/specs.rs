//! Documents that other people wrote, about 500 of them. They are no part of the project: `MCE_TEST_CORPUS` names the
//! folder, which holds `manifest.tsv` and `specs/`.

use std::path::{Path, PathBuf};

use mce_catalog::function::{Function, Types};
use mce_catalog::openapi::{Document, Origin, read};
use serde_json::Value;

use crate::support::{Directory, closed, problems_of};

/// Documents that are refused, and what the message says.
const REFUSED: &[(&str, &str)] = &[("synth/alias-bomb.yaml", "expand to too large a document")];

/// Documents whose manifest counts otherwise, the number here, and why.
const OTHER_COUNTS: &[(&str, usize, &str)] = &[
    ("readme-30-server-path-level.yaml", 7, "the manifest misses one"),
    ("synth/anchors-merge.yaml", 1, "not counted"),
    ("synth/dup-keys.json", 1, "not counted"),
    ("synth/dup-keys.yaml", 1, "not counted"),
    ("synth/oas32-all.yaml", 7, "not counted"),
];

/// Documents with operations that cannot become functions, and why.
const SKIPPED: &[(&str, &str)] = &[("pb33f-vendor-extensions-test.yaml", "`vendor-extensions-components.yaml")];

/// Functions of one document whose schemas are given to the validator.
const VALIDATED: usize = 40;

/// A larger document is not read a second time.
const LARGEST_RENAMED: usize = 1_000_000;

struct Row {
    file: String,
    operations: Option<usize>,
}

pub(crate) fn corpus() -> Option<PathBuf> {
    #[expect(clippy::disallowed_methods, reason = "tests have no configuration of their own")]
    let named = std::env::var_os("MCE_TEST_CORPUS").map(PathBuf::from);
    let folder = named.unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/corpus"));
    folder.join("manifest.tsv").exists().then_some(folder)
}

fn rows(folder: &Path) -> Vec<Row> {
    let manifest = fs_err::read_to_string(folder.join("manifest.tsv")).unwrap();
    let row = |line: &str| {
        let columns: Vec<&str> = line.split('\t').collect();
        let is_openapi = columns.get(2).is_some_and(|version| version.starts_with(['2', '3']));
        let operations = columns.get(4).and_then(|count| count.parse().ok()).filter(|_| is_openapi);
        Row {
            file: columns[0].to_owned(),
            operations,
        }
    };
    manifest.lines().skip(1).map(row).collect()
}

/// What is wrong with one document.
fn check(folder: &Path, row: &Row) -> Vec<String> {
    let path = folder.join("specs").join(&row.file);
    let bytes = fs_err::read(&path).unwrap();
    let result = read(&bytes, &Origin::File(path), &Directory);
    let refusal = REFUSED.iter().find(|(file, _)| *file == row.file).map(|(_, message)| *message);
    let refusal = refusal.or_else(|| row.operations.is_none().then_some("neither `openapi` nor `swagger` is there"));
    match (result, refusal) {
        (Ok(document), None) => check_document(row, &document, bytes.len()),
        (Ok(_), Some(message)) => vec![format!("is not refused with `{message}`")],
        (Err(error), Some(message)) if error.to_string().contains(message) => Vec::new(),
        (Err(error), _) => vec![error.to_string()],
    }
}

fn check_document(row: &Row, document: &Document, bytes: usize) -> Vec<String> {
    let mut wrong = problems_of(document);
    let other = OTHER_COUNTS.iter().find(|(file, ..)| *file == row.file).map(|(_, count, _)| *count);
    if let Some(count) = other.or(row.operations)
        && count != document.operations
    {
        wrong.push(format!("{} operations instead of {count}", document.operations));
    }
    let expected = SKIPPED.iter().find(|(file, _)| *file == row.file).map(|(_, reason)| *reason);
    let unexpected = document
        .skipped
        .iter()
        .filter(|skipped| !expected.is_some_and(|reason| skipped.reason.contains(reason)));
    wrong.extend(unexpected.map(|skipped| format!("skipped {}: {} ({})", skipped.operation, skipped.reason, skipped.pointer)));
    let sample = if bytes < 300_000 { VALIDATED } else { 4 };
    let step = document.functions.len().div_ceil(sample).max(1);
    for function in document.functions.iter().step_by(step) {
        if let Err(error) = validates(&function.schemas().collect::<Vec<_>>(), &document.types) {
            wrong.push(format!("{}: {error}", function.operation));
        }
    }
    wrong
}

/// Whether a validator takes the schemas.
pub(crate) fn validates(schemas: &[&Value], types: &Types) -> Result<(), String> {
    if schemas.is_empty() {
        return Ok(());
    }
    let schema = closed(schemas, types);
    let validator = jsonschema::options()
        .offline()
        .build(&schema)
        .map_err(|error| format!("{error} at {}", error.instance_path()))?;
    // Also that looking at a value ends.
    let _ = validator.is_valid(&serde_json::json!({"a": [1, null]}));
    Ok(())
}

#[test]
fn every_document_becomes_functions() {
    let Some(folder) = corpus() else {
        println!("NOT RUN: there is no corpus; name its folder in MCE_TEST_CORPUS");
        return;
    };
    let mut failed = Vec::new();
    let rows = rows(&folder);
    for row in &rows {
        let wrong = check(&folder, row);
        if !wrong.is_empty() {
            let more = wrong.len().saturating_sub(5);
            let shown = wrong.iter().take(5).cloned().collect::<Vec<_>>().join("\n  ");
            failed.push(format!(
                "{}:\n  {shown}{}",
                row.file,
                if more > 0 { format!("\n  and {more} more") } else { String::new() }
            ));
        }
    }
    assert!(rows.len() > 400, "the corpus is incomplete");
    assert!(
        failed.is_empty(),
        "{} of {} documents:\n{}",
        failed.len(),
        rows.len(),
        failed.join("\n")
    );
}

/// A document without one of its operations, the one in the middle; `None` for one that is no JSON or has too few.
fn without_one(bytes: &[u8]) -> Option<Vec<u8>> {
    let mut document: Value = serde_json::from_slice(bytes).ok()?;
    let paths = document.get_mut("paths")?.as_object_mut()?;
    let at = paths.len() / 2;
    let key = paths.keys().nth(at).filter(|_| paths.len() > 2)?.clone();
    paths.shift_remove(&key);
    serde_json::to_vec(&document).ok()
}

/// What is called otherwise in a document with more operations.
fn renamed(less: &Document, more: &Document) -> Vec<String> {
    let mut wrong = Vec::new();
    for before in &less.functions {
        let after = more.functions.iter().find(|function| function.operation == before.operation);
        let names = |function: &Function| [function.python.clone(), function.typescript.clone()];
        if after.map(names) != Some(names(before)) {
            wrong.push(format!("{} was {}", before.operation, before.python));
        }
        if !after.is_some_and(|after| after.schemas().eq(before.schemas())) {
            wrong.push(format!("{} refers to other types", before.operation));
        }
    }
    let changed = less.types.iter().filter(|(name, schema)| more.types.get(*name) != Some(*schema));
    wrong.extend(changed.map(|(name, _)| format!("type {name} is another")));
    wrong
}

#[test]
fn a_path_more_renames_no_function_and_no_type() {
    let Some(folder) = corpus() else {
        println!("NOT RUN: there is no corpus; name its folder in MCE_TEST_CORPUS");
        return;
    };
    let mut failed = Vec::new();
    let mut count = 0;
    for row in rows(&folder) {
        let path = folder.join("specs").join(&row.file);
        let bytes = fs_err::read(&path).unwrap();
        let Some(less) = without_one(&bytes).filter(|_| bytes.len() < LARGEST_RENAMED) else {
            continue;
        };
        let origin = Origin::File(path);
        if let (Ok(less), Ok(more)) = (read(&less, &origin, &Directory), read(&bytes, &origin, &Directory)) {
            count += 1;
            let wrong = renamed(&less, &more);
            failed.extend((!wrong.is_empty()).then(|| format!("{}: {}", row.file, wrong[..wrong.len().min(3)].join("; "))));
        }
    }
    assert!(count > 80, "{count} documents are too few");
    assert!(failed.is_empty(), "{} of {count}:\n{}", failed.len(), failed.join("\n"));
}
