//! How well search finds what is asked for: recall and mean reciprocal rank over a set of queries on 18 real documents.
//! The documents are not part of this project; where they are missing, the test says so and measures nothing.
#![cfg(test)]
#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "a measurement reads files and a clock"
)]

use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
    time::Instant,
};

use mce_catalog::{
    catalog::{Catalog, SearchQuery, ServerView},
    openapi::{self, NoFurtherFiles, Origin},
    store::{CompiledDocument, DocumentRecord, Store},
};
use serde::Deserialize;

#[derive(Deserialize)]
struct Query {
    q: String,
    server: Option<String>,
    right: Vec<Right>,
    kind: String,
}

#[derive(Deserialize)]
struct Right {
    server: String,
    operation: String,
}

/// The set measures; the floors only tell when a change breaks the ranking.
const RECALL_FLOOR: f64 = 0.80;
const RANK_FLOOR: f64 = 0.55;
const DEPTH: usize = 20;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn catalog(servers: &str, specs: &Path) -> Catalog {
    let store = Store::in_memory().unwrap();
    let mut views = Vec::new();
    for line in servers.lines().skip(1) {
        let mut cells = line.split('\t');
        let (name, file) = (cells.next().unwrap(), cells.next().unwrap());
        let path = specs.join(file);
        let document = openapi::read(&fs::read(&path).unwrap(), &Origin::File(path), &NoFurtherFiles).unwrap();
        let record = DocumentRecord::new(file, "test", &document);
        let compiled = CompiledDocument {
            record: &record,
            functions: &document.functions,
            types: &document.types,
            security_schemes: &document.security_schemes,
        };
        store.replace_document(compiled).unwrap();
        views.push(ServerView {
            name: name.to_owned(),
            location: file.to_owned(),
            ..ServerView::default()
        });
    }
    Catalog::new(Arc::new(store), views)
}

#[test]
fn most_queries_find_a_right_function_among_the_first_eight() {
    let specs = std::env::var_os("MCE_TEST_CORPUS")
        .map_or_else(|| root().join("../shared/corpus"), PathBuf::from)
        .join("specs");
    if !specs.is_dir() {
        eprintln!(
            "\n!!! NOT RUN: there are no documents in {}; set MCE_TEST_CORPUS\n",
            specs.display()
        );
        return;
    }
    let folder = root().join("tests/search");
    let started = Instant::now();
    let catalog = catalog(&fs::read_to_string(folder.join("servers.tsv")).unwrap(), &specs);
    eprintln!("documents compiled and kept in {:?}", started.elapsed());
    let queries = fs::read_to_string(folder.join("queries.jsonl")).unwrap();
    let queries: Vec<Query> = queries.lines().map(|line| serde_json::from_str(line).unwrap()).collect();

    let (mut found, mut reciprocal) = (0.0, 0.0);
    let started = Instant::now();
    for query in &queries {
        let rank = rank(&catalog, query);
        found += f64::from(rank.is_some_and(|rank| rank <= 8));
        reciprocal += rank.map_or(0.0, |rank| 1.0 / f64::from(rank));
        if rank.is_none_or(|rank| rank > 1) {
            eprintln!(
                "{:>4} {:<13} {}",
                rank.map_or_else(|| "-".to_owned(), |rank| rank.to_string()),
                query.kind,
                query.q
            );
        }
    }
    let count = f64::from(u32::try_from(queries.len()).unwrap());
    let (recall, mean) = (found / count, reciprocal / count);
    eprintln!(
        "recall@8 {recall:.3}, MRR {mean:.3}, {:?} a query",
        started.elapsed() / u32::try_from(queries.len()).unwrap()
    );
    assert!(recall >= RECALL_FLOOR && mean >= RANK_FLOOR, "recall@8 {recall:.3}, MRR {mean:.3}");
}

/// The place of the first right function, from 1.
fn rank(catalog: &Catalog, query: &Query) -> Option<u32> {
    let hits = catalog
        .search(SearchQuery {
            text: &query.q,
            server: query.server.as_deref(),
            limit: DEPTH,
        })
        .unwrap()
        .hits;
    let is_right = |server: &str, operation: &str| {
        query
            .right
            .iter()
            .any(|right| right.server == server && right.operation == operation)
    };
    let place = hits.iter().position(|hit| is_right(&hit.server, &hit.operation))?;
    u32::try_from(place + 1).ok()
}
