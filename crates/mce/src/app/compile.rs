//! Compiling configured documents into the catalog: reads them, skips what has not changed, reports each server.

use std::path::Path;
use std::sync::Arc;
use std::time::{Instant, SystemTime};

use mce_broker::DocumentFetcher;
use mce_catalog::catalog::ServerView;
use mce_catalog::function::{Function, Target};
use mce_catalog::openapi::{self, Document, Problem, Skipped};
use mce_catalog::store::{CompiledDocument, DocumentRecord, Source, Store};
use mce_config::{Location, Origin, ServerSettings, Settings};
use serde::Serialize;

use super::answer::millis;
use super::documents::{self, Documents};
use super::skills;
use crate::failure::Failure;

/// Changes with everything that decides what a document becomes, so that an update of the program compiles anew.
const COMPILER: &str = concat!(env!("CARGO_PKG_VERSION"), "+1");

/// Compiles servers of one configuration.
pub(crate) struct Compiler {
    settings: Arc<Settings>,
    store: Arc<Store>,
    fetcher: DocumentFetcher,
}

/// What compiling one server gave.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct ServerReport {
    pub(crate) name: String,
    #[serde(flatten)]
    pub(crate) outcome: Outcome,
    pub(crate) ms: u64,
}

/// Counts, or why there are none.
#[derive(Debug, Clone, Serialize)]
#[serde(untagged)]
pub(crate) enum Outcome {
    Compiled(Counts),
    Refused(Refusal),
}

#[derive(Debug, Clone, Serialize)]
pub(crate) struct Counts {
    pub(crate) operations: usize,
    pub(crate) compiled: usize,
    pub(crate) skipped: Vec<Skipped>,
    pub(crate) problems: Vec<Problem>,
    /// The document was compiled before and has not changed.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) unchanged: bool,
}

/// Serialises to `{"error": {"type", "message", "hint"?}}`.
#[derive(Debug, Clone)]
pub(crate) struct Refusal(pub(crate) Failure);

impl Serialize for Refusal {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.to_json().serialize(serializer)
    }
}

impl ServerReport {
    pub(crate) fn failure(&self) -> Option<&Failure> {
        match &self.outcome {
            Outcome::Compiled(_) => None,
            Outcome::Refused(refusal) => Some(&refusal.0),
        }
    }

    pub(crate) fn compiled(&self) -> usize {
        match &self.outcome {
            Outcome::Compiled(counts) => counts.compiled,
            Outcome::Refused(_) => 0,
        }
    }

    /// One line in the log, where nobody asked for a report.
    pub(crate) fn log(&self) {
        match &self.outcome {
            Outcome::Compiled(counts) if counts.unchanged => tracing::debug!("`{}` has not changed", self.name),
            Outcome::Compiled(counts) => {
                tracing::info!(
                    "`{}`: {} of {} operations compiled in {} ms",
                    self.name,
                    counts.compiled,
                    counts.operations,
                    self.ms
                );
            }
            Outcome::Refused(refusal) => tracing::error!("`{}` was not compiled: {}", self.name, refusal.0),
        }
    }
}

/// The catalog's view of the configured servers.
pub(crate) fn views(settings: &Settings) -> Vec<ServerView> {
    let view = |server: &ServerSettings| {
        Some(ServerView {
            name: server.name.clone(),
            location: location_of(server)?,
            description: None,
            is_read_only: server.is_read_only,
        })
    };
    settings.servers.iter().filter_map(view).collect()
}

/// The key of a server's document in the store.
fn location_of(server: &ServerSettings) -> Option<String> {
    match &server.origin {
        Origin::OpenApi(Location::File(path)) => Some(path.to_string_lossy().into_owned()),
        Origin::OpenApi(Location::Url(url)) => Some(url.clone()),
        Origin::McpStdio { .. } | Origin::McpHttp { .. } => None,
    }
}

impl Compiler {
    /// Nothing is read or connected before the first compile.
    pub(crate) fn new(settings: Arc<Settings>, store: Arc<Store>) -> Self {
        Self {
            settings,
            store,
            fetcher: DocumentFetcher::default(),
        }
    }

    /// Compiles the server of this name, or all. `is_done` is told each server's report as it comes.
    ///
    /// Only a whole compile forgets documents that no server uses any more.
    pub(crate) async fn compile(
        &self,
        only: Option<&str>,
        is_dry_run: bool,
        is_done: &(dyn Fn(&ServerReport) + Sync),
    ) -> Vec<ServerReport> {
        let wanted = |server: &&ServerSettings| only.is_none_or(|name| server.name == name || server.title == name);
        let mut reports = Vec::new();
        for server in self.settings.servers.iter().filter(wanted) {
            let start = Instant::now();
            let outcome = match self.compile_server(server, is_dry_run).await {
                Ok(mut counts) => {
                    counts.problems.extend(self.unmatched_names(server));
                    Outcome::Compiled(counts)
                }
                Err(failure) => Outcome::Refused(Refusal(failure)),
            };
            let report = ServerReport {
                name: server.name.clone(),
                outcome,
                ms: millis(start.elapsed()),
            };
            is_done(&report);
            reports.push(report);
        }
        if only.is_none() && !is_dry_run {
            let kept: Vec<String> = self.settings.servers.iter().filter_map(location_of).collect();
            let kept: Vec<&str> = kept.iter().map(String::as_str).collect();
            if let Err(error) = self.store.remove_documents_except(&kept) {
                tracing::warn!("old documents were not removed: {error}");
            }
        }
        reports
    }

    async fn compile_server(&self, server: &ServerSettings, is_dry_run: bool) -> Result<Counts, Failure> {
        if let Some(missing) = server.unresolved.first() {
            return Err(Failure::new(
                "config",
                format!("{}: {}: nothing defines `${{{}}}`", missing.file, missing.key, missing.variable),
            )
            .with_hint(format!("set `{}` in the environment or in `.env`", missing.variable)));
        }
        let Origin::OpenApi(location) = &server.origin else {
            return Ok(Counts {
                operations: 0,
                compiled: 0,
                skipped: Vec::new(),
                problems: vec![Problem {
                    pointer: String::new(),
                    message: "MCP servers are not connected by this version".to_owned(),
                }],
                unchanged: false,
            });
        };
        if !is_dry_run {
            self.refresh_skills(server).await;
        }
        let documents = Documents::new(location, &self.fetcher)?;
        let main = documents.read_main().await?;
        let key = location_of(server).unwrap_or_default();
        let known = self.store.document(&key).map_err(Failure::internal)?;
        if let Some(record) = known.filter(|record| record.compiler == COMPILER)
            && documents.are_unchanged(&record.sources, &main).await
        {
            Self::demand_base_url(server, || self.stored_needs_base_url(&key))?;
            return self.counts(record, true);
        }
        let start = Instant::now();
        let (document, main) = read(documents, main).await?;
        Self::demand_base_url(server, || document.needs_base_url())?;
        let record = record(&key, &main, &document, millis(start.elapsed()));
        if is_dry_run {
            return Ok(counts_of(record, document.functions.len(), false));
        }
        let compiled = CompiledDocument {
            record: &record,
            functions: &document.functions,
            types: &document.types,
            security_schemes: &document.security_schemes,
        };
        self.store
            .replace_document(compiled)
            .map_err(|error| Failure::internal(super::chain(&error)))?;
        Ok(counts_of(record, document.functions.len(), false))
    }

    /// Names in a server's settings that mean nothing in its document.
    fn unmatched_names(&self, server: &ServerSettings) -> Vec<Problem> {
        let Some(location) = location_of(server) else { return Vec::new() };
        let schemes = self.store.security_schemes(&location).unwrap_or_default();
        let known: Vec<_> = schemes.keys().map(|name| format!("`{name}`")).collect();
        let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
        let credentials = server
            .credentials
            .keys()
            .filter(|name| !schemes.contains_key(*name))
            .map(|name| Problem {
                pointer: format!("servers.{}.credentials.{name}", server.title),
                message: format!("the document has no security scheme `{name}`; it has {known}"),
            });
        let is_function = |name: &str| self.store.function(&location, name).is_ok_and(|function| function.is_some());
        let promoted = server
            .top_level_functions
            .iter()
            .filter(|name| !is_function(name))
            .map(|name| Problem {
                pointer: format!("servers.{}.top_level_functions", server.title),
                message: format!("the document has no function `{name}`"),
            });
        credentials.chain(promoted).collect()
    }

    fn counts(&self, record: DocumentRecord, unchanged: bool) -> Result<Counts, Failure> {
        let (compiled, _) = self.store.count_functions(&record.location).map_err(Failure::internal)?;
        Ok(counts_of(record, usize::try_from(compiled).unwrap_or(usize::MAX), unchanged))
    }

    /// A document whose servers say nothing usable needs the configuration's help: better told now than at each call.
    fn demand_base_url(server: &ServerSettings, is_needed: impl FnOnce() -> bool) -> Result<(), Failure> {
        if server.base_url.is_some() || !is_needed() {
            return Ok(());
        }
        Err(Failure::new(
            "config",
            format!(
                "the document of `{}` names no server with an absolute URL, so that its `base_url` is needed",
                server.name
            ),
        )
        .with_hint(format!(
            "add `base_url: https://…` to the server `{}`, or set `MCE_{}_BASE_URL`",
            server.title,
            server.name.to_uppercase()
        )))
    }

    fn stored_needs_base_url(&self, location: &str) -> bool {
        let rows = self.store.functions(location).unwrap_or_default();
        let has_base_url = |name: &str| {
            let function = self.store.function(location, name).ok().flatten();
            function.is_some_and(|function| has_base_url(&function))
        };
        !rows.is_empty() && !rows.iter().any(|row| has_base_url(&row.python))
    }

    /// A remote guide is copied; one that cannot be had leaves the last copy.
    async fn refresh_skills(&self, server: &ServerSettings) {
        let Some(Location::Url(url)) = &server.skills else { return };
        let copy = skills::copy_of(&self.settings.data_dir, &server.name);
        let fetched = match self.fetcher.fetch(url).await {
            Ok(fetched) => write_whole(&copy, &fetched).map_err(Failure::internal),
            Err(error) => Err(Failure::internal(super::chain(&error))),
        };
        if let Err(failure) = fetched {
            tracing::warn!("the guide to `{}` was not refreshed: {failure}", server.name);
        }
    }
}

/// Parsing takes long enough to keep it off the threads that answer requests.
async fn read(documents: Documents<'_>, main: Vec<u8>) -> Result<(Document, Vec<u8>), Failure> {
    let origin = documents.origin().clone();
    let loader = documents.into_loader();
    let task = tokio::task::spawn_blocking(move || {
        let document = openapi::read(&main, &origin, &loader);
        (document, main)
    });
    let (document, main) = task.await.map_err(|_| Failure::internal("the document's reader failed"))?;
    let document = document.map_err(|error| Failure::new("document", error.to_string()).with_hint(error.hint().unwrap_or_default()))?;
    Ok((document, main))
}

fn record(location: &str, main: &[u8], document: &Document, compile_ms: u64) -> DocumentRecord {
    let first = Source {
        location: location.to_owned(),
        sha256: documents::sha256(main),
        etag: None,
    };
    let further = document.files.iter().map(documents::source_of);
    let now = SystemTime::now()
        .duration_since(SystemTime::UNIX_EPOCH)
        .map_or(0, |since| since.as_secs());
    DocumentRecord {
        location: location.to_owned(),
        sources: std::iter::once(first).chain(further).collect(),
        compiler: COMPILER.to_owned(),
        title: document.title.clone(),
        description: document.description.clone(),
        format: document.version.clone(),
        operations: document.operations,
        skipped: document.skipped.clone(),
        problems: document.problems.clone(),
        compile_ms,
        compiled_at: i64::try_from(now).unwrap_or(i64::MAX),
    }
}

fn has_base_url(function: &Function) -> bool {
    let Target::Http(http) = &function.target;
    http.base_url.is_some()
}

fn counts_of(record: DocumentRecord, compiled: usize, unchanged: bool) -> Counts {
    Counts {
        operations: record.operations,
        compiled,
        skipped: record.skipped,
        problems: record.problems,
        unchanged,
    }
}

/// Readers see the old file or the new one, never half of one.
fn write_whole(file: &Path, bytes: &[u8]) -> std::io::Result<()> {
    if let Some(directory) = file.parent() {
        fs_err::create_dir_all(directory)?;
    }
    let part = file.with_extension("part");
    fs_err::write(&part, bytes)?;
    fs_err::rename(part, file)
}
