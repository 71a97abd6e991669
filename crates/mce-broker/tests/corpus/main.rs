//! Documents that other people wrote, about 500 of them with 37,000 operations: each function is called through the
//! broker, and each request is held against the document itself, which is read here without the catalog.
//!
//! The documents are no part of the project: `MCE_TEST_CORPUS` names the folder, which holds `manifest.tsv` and `specs/`.
//! `MCE_TEST_ONLY` is a part of the names of the documents to call; `MCE_WRITE_COVERAGE` writes `tests/coverage.md`.

#![cfg(test)]

mod answer;
mod arguments;
mod body;
mod calls;
mod coverage;
mod known;
mod meaning;
mod mock;
mod pattern;
mod raw;
mod sample;
mod text;
mod wire;

use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::Instant;

use calls::Outcome;

fn variable(name: &str) -> Option<std::ffi::OsString> {
    #[expect(clippy::disallowed_methods, reason = "tests have no configuration of their own")]
    std::env::var_os(name)
}

fn corpus() -> Option<PathBuf> {
    let folder = variable("MCE_TEST_CORPUS").map(PathBuf::from);
    let folder = folder.unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/corpus"));
    let folder = folder.canonicalize().ok()?;
    folder.join("manifest.tsv").exists().then_some(folder)
}

/// The documents, those with the most operations first.
fn documents(folder: &Path) -> Vec<String> {
    let manifest = std::fs::read_to_string(folder.join("manifest.tsv")).unwrap();
    let mut rows: Vec<(usize, String)> = manifest
        .lines()
        .skip(1)
        .map(|line| {
            let columns: Vec<&str> = line.split('\t').collect();
            (
                columns.get(4).and_then(|count| count.parse().ok()).unwrap_or(0),
                columns[0].to_owned(),
            )
        })
        .collect();
    rows.sort_by(|one, other| other.0.cmp(&one.0).then_with(|| one.1.cmp(&other.1)));
    let only = variable("MCE_TEST_ONLY").map(|only| only.to_string_lossy().into_owned());
    rows.into_iter()
        .map(|(_, file)| file)
        .filter(|file| only.as_ref().is_none_or(|only| file.contains(only.as_str())))
        .collect()
}

fn run_all(folder: &Path) -> Vec<Outcome> {
    let waiting = Mutex::new(documents(folder).into_iter());
    let outcomes = Mutex::new(Vec::new());
    let threads = std::thread::available_parallelism().map_or(2, std::num::NonZero::get);
    let work = || {
        loop {
            // Taken out of the lock before the work starts.
            let next = waiting.lock().unwrap().next();
            let Some(file) = next else { break };
            let started = Instant::now();
            let outcome = calls::run(folder, &file);
            println!("{file}: {} calls, {} ms", outcome.calls, started.elapsed().as_millis());
            outcomes.lock().unwrap().push(outcome);
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..threads {
            std::thread::Builder::new().stack_size(64 << 20).spawn_scoped(scope, work).unwrap();
        }
    });
    let mut outcomes = outcomes.into_inner().unwrap();
    outcomes.sort_by(|one, other| one.file.cmp(&other.file));
    outcomes
}

#[test]
fn every_function_of_every_document_is_called_as_the_document_says() {
    let Some(folder) = corpus() else {
        println!("NOT RUN: there is no corpus; name its folder in MCE_TEST_CORPUS");
        return;
    };
    let started = Instant::now();
    let outcomes = run_all(&folder);
    assert!(
        outcomes.len() > 400 || variable("MCE_TEST_ONLY").is_some(),
        "the corpus is incomplete"
    );
    let sum = |of: fn(&Outcome) -> usize| outcomes.iter().map(of).sum::<usize>();
    println!(
        "{} operations, {} called, {} calls in {:?}",
        sum(|it| it.operations),
        sum(|it| it.called),
        sum(|it| it.calls),
        started.elapsed()
    );
    let faults: Vec<String> = outcomes.iter().flat_map(unexpected).collect();
    assert!(faults.is_empty(), "{} faults:\n{}", faults.len(), faults.join("\n"));
    if variable("MCE_WRITE_COVERAGE").is_some() {
        let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/coverage.md");
        std::fs::write(page, coverage::page(&outcomes)).unwrap();
    }
}

/// Faults that are not known, and known ones that are gone.
fn unexpected(outcome: &Outcome) -> Vec<String> {
    let file = &outcome.file;
    let new = outcome
        .faults
        .iter()
        .filter(|(operation, _)| known::reason(file, operation).is_none());
    let mut lines: Vec<String> = new.map(|(operation, fault)| format!("{file}: {operation}: {fault}")).collect();
    let is_gone = |operation: &str| !outcome.faults.iter().any(|fault| fault.0 == operation);
    let gone = known::FAULTS.iter().filter(|known| known.0 == file && is_gone(known.1));
    lines.extend(gone.map(|(_, operation, _)| format!("{file}: {operation}: is known not to work, and works")));
    lines
}
