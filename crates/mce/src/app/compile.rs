//! Compiling configured documents into the catalog: reads them, skips what has not changed, reports each server.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Instant, SystemTime};

use mce_broker::{DocumentFetcher, Upstreams};
use mce_catalog::changes::{Changes, Contents};
use mce_catalog::function::{Function, SecurityScheme, Target};
use mce_catalog::openapi::{self, Document, Overlay};
use mce_catalog::store::{CompiledDocument, DocumentRecord, Source, Store};
use mce_config::{Location, Origin, ServerSettings, Settings};
use mce_sandbox::Sandbox;

use super::answer::millis;
use super::discovery::Discovery;
use super::documents::{self, Documents};
use super::fit::misfits;
use super::lock::{Lock, LockUse};
use super::report::{ChangeLists, Counts, Outcome, Refusal, ServerReport};
use super::skills::{self, GuideReport};
use super::views::{TOOLS, location_of, text_of};
use crate::failure::Failure;

/// Changes with everything that decides what a document becomes, so that an update of the program compiles anew.
pub(super) const COMPILER: &str = concat!(env!("CARGO_PKG_VERSION"), "+5");

/// Compiles servers of one configuration.
pub(crate) struct Compiler {
    pub(super) settings: Arc<Settings>,
    pub(super) store: Arc<Store>,
    fetcher: DocumentFetcher,
    pub(super) upstreams: Arc<Upstreams>,
    pub(super) discovery: Arc<Discovery>,
    pub(super) sandbox: Arc<Sandbox>,
}

/// What a compile is to do.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CompileOptions<'a> {
    /// Only the server of this name, or all.
    pub(crate) only: Option<&'a str>,
    /// Reads and checks, and writes nothing.
    pub(crate) is_dry_run: bool,
    /// What is done with `mce.lock`.
    pub(crate) lock: LockUse,
    /// Which servers.
    pub(crate) sources: Sources,
    /// Takes over changed tools of pinned servers.
    pub(crate) accepts_changes: bool,
}

/// Kinds of servers to compile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sources {
    /// All.
    All,
    /// Those with a document, and saved recipes.
    Documents,
}

/// The files that make a document, read but for those that it refers to.
struct Files {
    main: Vec<u8>,
    /// By name.
    overlays: Vec<(String, Vec<u8>)>,
    /// All of these.
    sources: Vec<Source>,
}

impl Compiler {
    /// Nothing is read or connected before the first compile.
    pub(crate) fn new(settings: Arc<Settings>, store: Arc<Store>, discovery: Arc<Discovery>, sandbox: Arc<Sandbox>) -> Self {
        Self {
            fetcher: DocumentFetcher::new(&settings.servers, &settings.allowed_domains),
            settings,
            store,
            upstreams: Arc::clone(discovery.upstreams()),
            discovery,
            sandbox,
        }
    }

    /// Compiles. `is_done` is told each server's report as it comes.
    ///
    /// Only a whole compile forgets documents that no server uses any more.
    ///
    /// # Errors
    ///
    /// A failure if `mce.lock` cannot be read or written. What concerns one server is in its report.
    pub(crate) async fn compile(
        &self,
        options: CompileOptions<'_>,
        is_done: &(dyn Fn(&ServerReport) + Sync),
    ) -> Result<Vec<ServerReport>, Failure> {
        let mut lock = Lock::open(&self.settings, options.lock)?;
        let is_wanted_kind =
            |server: &ServerSettings| options.sources == Sources::All || matches!(server.origin, Origin::OpenApi(_) | Origin::Recipes(_));
        let is_named = |server: &ServerSettings| options.only.is_none_or(|name| server.name == name || server.title == name);
        let wanted = |server: &&ServerSettings| is_named(server) && is_wanted_kind(server);
        let mut reports = Vec::new();
        // Recipes come last: what they do depends on the others.
        for server in self.settings.servers.iter().chain(self.recipe_server()).filter(wanted) {
            let start = Instant::now();
            let outcome = match self.compile_server(server, options, lock.as_mut()).await {
                Ok(counts) => Outcome::Compiled(counts),
                Err(failure) => Outcome::Refused(Refusal(failure)),
            };
            let report = ServerReport {
                name: server.name.clone(),
                outcome,
                guide: self.refresh_guide(server, options.is_dry_run).await,
                ms: millis(start.elapsed()),
                is_discovered: server.entry.is_discovered(),
            };
            is_done(&report);
            reports.push(report);
        }
        if !options.is_dry_run {
            let is_whole = options.only.is_none();
            if is_whole {
                self.forget_others();
            }
            if let Some(lock) = lock {
                lock.write(is_whole.then_some(self.settings.servers.as_slice()))?;
            }
        }
        Ok(reports)
    }

    fn forget_others(&self) {
        // What is found depends on where this is run: tools of MCP servers are kept for whoever runs elsewhere.
        let documents = self.store.documents().unwrap_or_default();
        let locations = documents.into_iter().map(|record| record.location);
        let tools = locations.filter(|location| location.starts_with(TOOLS));
        let servers = self.settings.servers.iter().chain(&self.settings.recipe_server);
        let kept: Vec<String> = servers.map(location_of).chain(tools).collect();
        let kept: Vec<&str> = kept.iter().map(String::as_str).collect();
        if let Err(error) = self.store.remove_documents_except(&kept) {
            tracing::warn!("old documents were not removed: {error}");
        }
    }

    async fn compile_server(
        &self,
        server: &ServerSettings,
        options: CompileOptions<'_>,
        lock: Option<&mut Lock>,
    ) -> Result<Counts, Failure> {
        demand_variables(server)?;
        let location = match &server.origin {
            Origin::OpenApi(location) => location,
            Origin::McpStdio(_) | Origin::McpHttp(_) => return self.compile_tools(server, options).await,
            Origin::Recipes(_) => return self.compile_recipes(server, options).await,
        };
        let is_dry_run = options.is_dry_run;
        let started = SystemTime::now();
        let fetcher = self.fetcher_for(server);
        let documents = Documents::new(location, &fetcher)?;
        let key = location_of(server);
        let known = self.store.document(&key).map_err(Failure::internal)?;
        let current = known.as_ref().filter(|record| record.compiler == COMPILER);
        // Large files are not kept in memory only to see that they are as they were; what is fetched is fetched once.
        if let Some(record) = current.filter(|record| !record.sources.iter().any(documents::is_url))
            && documents.are_unchanged(&record.sources, &[]).await
        {
            return self.keep_unchanged(server, record, lock);
        }
        let files = self.read_files(server, &documents).await?;
        if let Some(lock) = &lock {
            lock.check(server, &files.sources, false)?;
        }
        if let Some(record) = current
            && documents.are_unchanged(&record.sources, &files.sources).await
        {
            return self.keep_unchanged(server, record, lock);
        }
        let start = Instant::now();
        let (document, files) = read(documents, files).await?;
        Self::demand_base_url(server, || document.needs_base_url())?;
        let mut record = record(&key, files.sources, &document, millis(start.elapsed()));
        documents::stamp_all(&mut record.sources, started);
        if let Some(lock) = lock {
            lock.check(server, &record.sources, true)?;
            lock.note(server, &record.sources);
        }
        let changes = known.map(|_| self.changes(&key, &document)).transpose()?;
        let store = if is_dry_run {
            &Arc::new(Store::in_memory().map_err(Failure::internal)?)
        } else {
            &self.store
        };
        replace(store, &record, &document)?;
        let mut counts = Counts::new(record, document.functions.len());
        counts.problems.extend(misfits(server, store, &self.settings.allowed_domains)?);
        counts.changes = changes.map(ChangeLists::from);
        Ok(counts)
    }

    async fn read_files(&self, server: &ServerSettings, documents: &Documents<'_>) -> Result<Files, Failure> {
        let mut files = Files {
            main: documents.read_main().await?,
            overlays: Vec::new(),
            sources: Vec::new(),
        };
        let mut add = |location: &Location, bytes: &[u8]| {
            files.sources.push(Source {
                location: text_of(location),
                sha256: documents::sha256(bytes),
                stamp: None,
            });
        };
        if let Origin::OpenApi(location) = &server.origin {
            add(location, &files.main);
        }
        for overlay in &server.overlays {
            let bytes = Documents::new(overlay, &self.fetcher_for(server))?.read_main().await?;
            add(overlay, &bytes);
            files.overlays.push((overlay.to_string(), bytes));
        }
        Ok(files)
    }

    /// The document is in the store as it is; what is made of it can be wrong all the same.
    fn keep_unchanged(&self, server: &ServerSettings, record: &DocumentRecord, lock: Option<&mut Lock>) -> Result<Counts, Failure> {
        let compiled = record.operations.saturating_sub(record.skipped.len());
        let needs_base_url = || compiled > 0 && self.store.are_all(&record.location, |it| !has_base_url(it)).unwrap_or(false);
        Self::demand_base_url(server, needs_base_url)?;
        if let Some(lock) = lock {
            lock.check(server, &record.sources, true)?;
            lock.note(server, &record.sources);
        }
        let mut counts = Counts::new(record.clone(), compiled);
        counts.unchanged = true;
        counts
            .problems
            .extend(misfits(server, &self.store, &self.settings.allowed_domains)?);
        Ok(counts)
    }

    /// What is different from the last compile.
    pub(super) fn changes(&self, location: &str, document: &Document) -> Result<Changes, Failure> {
        let (functions, types) = self.store.contents(location).map_err(Failure::internal)?;
        let before = Contents {
            functions: &functions,
            types: &types,
        };
        let after = Contents {
            functions: &document.functions,
            types: &document.types,
        };
        Ok(Changes::between(before, after))
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

    /// The security schemes of a server's document; none before it is compiled.
    pub(crate) fn security_schemes(&self, server: &ServerSettings) -> BTreeMap<String, SecurityScheme> {
        self.store.security_schemes(&location_of(server)).unwrap_or_default()
    }

    /// What fetches by the way to a server.
    fn fetcher_for(&self, server: &ServerSettings) -> DocumentFetcher {
        self.fetcher.by_way_to(server, &self.upstreams)
    }

    /// Reads a server's guide anew, if it has one. A remote one that cannot be had leaves the last copy.
    async fn refresh_guide(&self, server: &ServerSettings, is_dry_run: bool) -> Option<GuideReport> {
        let read = match server.skills.as_ref()? {
            Location::File(file) => fs_err::read(file).map_err(|error| error.to_string()),
            Location::Url(url) => {
                let read = self.fetcher_for(server).fetch(url).await;
                read.map_err(|error| super::chain(&error))
            }
        };
        let report = skills::take(&self.settings.data_dir, server, read, is_dry_run)?;
        if let Some(error) = &report.error {
            tracing::warn!("the guide to `{}` was not read: {error}", server.name);
        }
        Some(report)
    }
}

fn demand_variables(server: &ServerSettings) -> Result<(), Failure> {
    server.unresolved.first().map_or(Ok(()), |missing| {
        Err(Failure::new(
            "config",
            format!("{}: {}: nothing defines `${{{}}}`", missing.file, missing.key, missing.variable),
        )
        .with_hint(missing.advice()))
    })
}

/// Parsing takes long enough to keep it off the threads that answer requests.
async fn read(documents: Documents<'_>, mut files: Files) -> Result<(Document, Files), Failure> {
    let origin = documents.origin().clone();
    let loader = documents.into_loader();
    let task = tokio::task::spawn_blocking(move || {
        let overlays = files.overlays.iter().map(|(name, bytes)| Overlay::parse(bytes, name));
        let overlays = overlays
            .collect::<Result<Vec<_>, _>>()
            .map_err(|error| Failure::new("document", error.to_string()))?;
        let document = openapi::read_with_overlays(&files.main, &origin, &loader, &overlays)
            .map_err(|error| Failure::new("document", error.to_string()).with_hint(error.hint().unwrap_or_default()))?;
        files.sources.splice(1..1, document.files.iter().map(documents::source_of));
        Ok((document, files))
    });
    task.await.map_err(|_| Failure::internal("the document's reader failed"))?
}

pub(super) fn record(location: &str, sources: Vec<Source>, document: &Document, compile_ms: u64) -> DocumentRecord {
    let now = SystemTime::now()
        .duration_since(SystemTime::UNIX_EPOCH)
        .map_or(0, |since| since.as_secs());
    DocumentRecord {
        sources,
        compile_ms,
        compiled_at: i64::try_from(now).unwrap_or(i64::MAX),
        ..DocumentRecord::new(location, COMPILER, document)
    }
}

pub(super) fn replace(store: &Store, record: &DocumentRecord, document: &Document) -> Result<(), Failure> {
    let compiled = CompiledDocument {
        record,
        functions: &document.functions,
        types: &document.types,
        security_schemes: &document.security_schemes,
    };
    store
        .replace_document(compiled)
        .map_err(|error| Failure::internal(super::chain(&error)))
}

fn has_base_url(function: &Function) -> bool {
    matches!(&function.target, Target::Http(http) if http.base_url.is_some())
}
