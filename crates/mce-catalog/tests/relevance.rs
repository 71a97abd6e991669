//! How well search finds what is asked for: recall and mean reciprocal rank over a set of queries on 18 real documents.
//! The documents are not part of this project; where they are missing, the test says so and measures nothing.
#![cfg(test)]
#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "a measurement reads files and a clock"
)]

use std::{
    collections::BTreeMap,
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

/// The catalog of all documents and the folder of the queries, unless the documents are not on this machine.
fn everything() -> Option<(Catalog, PathBuf)> {
    let specs = std::env::var_os("MCE_TEST_CORPUS")
        .map_or_else(|| root().join("../shared/corpus"), PathBuf::from)
        .join("specs");
    if !specs.is_dir() {
        eprintln!(
            "\n!!! NOT RUN: there are no documents in {}; set MCE_TEST_CORPUS\n",
            specs.display()
        );
        return None;
    }
    let folder = root().join("tests/search");
    let started = Instant::now();
    let catalog = catalog(&fs::read_to_string(folder.join("servers.tsv")).unwrap(), &specs);
    eprintln!("documents compiled and kept in {:?}", started.elapsed());
    Some((catalog, folder))
}

#[test]
fn what_is_asked_for_in_plain_words_is_among_the_first() {
    let Some((catalog, _)) = everything() else { return };
    for (server, query, operation, at_most) in [
        ("github", "create repository", "POST /user/repos", 2),
        ("github", "get a repository", "GET /repos/{owner}/{repo}", 1),
        ("github", "list repository issues", "GET /repos/{owner}/{repo}/issues", 1),
        ("github", "get a pull request", "GET /repos/{owner}/{repo}/pulls/{pull_number}", 1),
        (
            "github",
            "approve a pull request",
            "POST /repos/{owner}/{repo}/pulls/{pull_number}/reviews",
            3,
        ),
        (
            "github",
            "request review",
            "POST /repos/{owner}/{repo}/pulls/{pull_number}/requested_reviewers",
            8,
        ),
        ("github", "delete a branch", "DELETE /repos/{owner}/{repo}/git/refs/{ref}", 4),
        ("github", "close an issue", "PATCH /repos/{owner}/{repo}/issues/{issue_number}", 4),
        ("github", "list branches", "GET /repos/{owner}/{repo}/branches", 1),
        (
            "kubernetes",
            "list pods in a namespace",
            "GET /api/v1/namespaces/{namespace}/pods",
            1,
        ),
        ("stripe", "create a customer", "POST /v1/customers", 1),
        ("stripe", "list invoices", "GET /v1/invoices", 2),
    ] {
        let hits = hits(&catalog, query, Some(server));
        let place = hits.iter().position(|hit| hit.1 == operation);
        assert!(place.is_some_and(|place| place < at_most), "`{query}` found {hits:#?}");
    }
}

#[test]
fn most_queries_find_a_right_function_among_the_first_eight() {
    let Some((catalog, folder)) = everything() else { return };
    let queries = fs::read_to_string(folder.join("queries.jsonl")).unwrap();
    let queries: Vec<Query> = queries.lines().map(|line| serde_json::from_str(line).unwrap()).collect();

    let started = Instant::now();
    let ranks: Vec<Option<usize>> = queries
        .iter()
        .map(|query| rank(&hits(&catalog, &query.q, query.server.as_deref()), query))
        .collect();
    let each = started.elapsed() / u32::try_from(queries.len()).unwrap();
    for (query, rank) in queries.iter().zip(&ranks).filter(|(_, rank)| **rank != Some(1)) {
        let rank = rank.map_or_else(|| "-".to_owned(), |rank| rank.to_string());
        eprintln!("{rank:>4} {:<13} {}", query.kind, query.q);
    }
    let plain = Plain::of(&catalog);
    let plain: Vec<Option<usize>> = queries.iter().map(|query| rank(&plain.hits(query), query)).collect();
    let half = |ranks: &[Option<usize>], odd: usize| ranks.iter().skip(odd).step_by(2).copied().collect::<Vec<_>>();
    for (what, ranks) in [
        ("all", ranks.clone()),
        ("queries 1, 3, 5 ...", half(&ranks, 0)),
        ("queries 2, 4, 6 ...", half(&ranks, 1)),
        ("plain BM25 over name and description", plain),
    ] {
        let (recall, mean) = measures(&ranks);
        eprintln!("recall@8 {recall:.3}, MRR {mean:.3}: {what}");
    }
    eprintln!("{each:?} a query");
    let (recall, mean) = measures(&ranks);
    assert!(recall >= RECALL_FLOOR && mean >= RANK_FLOOR, "recall@8 {recall:.3}, MRR {mean:.3}");
}

/// The share of ranks that are at most 8, and the mean of the reciprocal ones.
fn measures(ranks: &[Option<usize>]) -> (f64, f64) {
    let number = |count: usize| f64::from(u32::try_from(count).unwrap());
    let among_first = ranks.iter().flatten().filter(|rank| **rank <= 8).count();
    let reciprocal: f64 = ranks.iter().flatten().map(|rank| 1.0 / number(*rank)).sum();
    (number(among_first) / number(ranks.len()), reciprocal / number(ranks.len()))
}

/// Server and operation of each answer, best first.
fn hits(catalog: &Catalog, query: &str, server: Option<&str>) -> Vec<(String, String)> {
    let found = catalog.search(SearchQuery {
        text: query,
        server,
        limit: DEPTH,
    });
    let hits = found.unwrap().hits.into_iter();
    hits.map(|hit| (hit.server, hit.operation)).collect()
}

/// The place of the first right function, from 1.
fn rank(hits: &[(String, String)], query: &Query) -> Option<usize> {
    let is_right = |hit: &(String, String)| {
        query
            .right
            .iter()
            .any(|right| (&right.server, &right.operation) == (&hit.0, &hit.1))
    };
    Some(hits.iter().position(is_right)? + 1)
}

/// What others do: BM25 (k1 1.5, b 0.75) over the words of a function's name and description, as they stand.
struct Plain {
    functions: Vec<((String, String), BTreeMap<String, f64>)>,
    /// In how many functions a word is.
    known: BTreeMap<String, f64>,
    length: f64,
}

impl Plain {
    fn of(catalog: &Catalog) -> Self {
        let mut functions = Vec::new();
        let mut known = BTreeMap::<String, f64>::new();
        for view in catalog.views() {
            for row in catalog.functions(&view.name).unwrap() {
                let function = catalog.function(&view.name, &row.function.python).unwrap();
                let mut words = BTreeMap::<String, f64>::new();
                for word in plain_words(&format!("{} {} {}", function.python, function.summary, function.description)) {
                    *words.entry(word).or_default() += 1.0;
                }
                for word in words.keys() {
                    *known.entry(word.clone()).or_default() += 1.0;
                }
                functions.push(((view.name.clone(), function.operation), words));
            }
        }
        let lengths: f64 = functions.iter().flat_map(|(_, words)| words.values()).sum();
        let length = lengths / f64::from(u32::try_from(functions.len()).unwrap());
        Self { functions, known, length }
    }

    fn hits(&self, query: &Query) -> Vec<(String, String)> {
        let all = f64::from(u32::try_from(self.functions.len()).unwrap());
        let words: Vec<String> = plain_words(&query.q).collect();
        let mut scored = Vec::new();
        for (name, text) in &self.functions {
            let length: f64 = text.values().sum::<f64>() / self.length;
            let score: f64 = words
                .iter()
                .filter_map(|word| Some((text.get(word)?, self.known.get(word)?)))
                .map(|(count, with)| (1.0 + (all - with + 0.5) / (with + 0.5)).ln() * count * 2.5 / (count + 1.5 * (0.25 + 0.75 * length)))
                .sum();
            if score > 0.0 && query.server.as_ref().is_none_or(|server| *server == name.0) {
                scored.push((score, name));
            }
        }
        scored.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(b.1)));
        scored.into_iter().take(DEPTH).map(|(_, name)| name.clone()).collect()
    }
}

fn plain_words(text: &str) -> impl Iterator<Item = String> {
    text.split(|letter: char| !letter.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
}
