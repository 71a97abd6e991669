//! The program's parts, wired: what the MCP face and the commands both use.

mod addresses;
mod answer;
mod behalf;
mod blocks;
mod call_groups;
mod calls;
mod checkers;
mod checking;
mod compile;
mod discovery;
mod documents;
mod fit;
mod lock;
mod model;
mod narrowed;
mod policy;
mod recipe_calls;
mod recipe_tools;
mod recipes;
mod report;
mod result_parts;
mod run_calls;
mod runner;
mod runs;
mod sandbox_options;
mod skills;
mod small;
mod state;
mod stub;
mod tool_schema;
mod tools;
mod views;

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use mce_broker::{
    Broker, BrokerOptions, CallLimits, CatalogSource, Change, Changed, ClientRequests, NoClient, Recipes, ResultLimits, Results,
    SavedRecipes, UpstreamState, Upstreams,
};
use mce_catalog::catalog::Catalog;
use mce_config::{ServerSettings, Settings};
use mce_sandbox::{Sandbox, SandboxFacts};
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::{OnceCell, broadcast, watch};

pub(crate) use self::answer::{CallGroup, RunAnswer};
pub(crate) use self::behalf::Behalf;
pub(crate) use self::calls::Called;
use self::checkers::Checkers;
pub(crate) use self::compile::{CompileOptions, Compiler, Sources};
pub(crate) use self::discovery::{Discovery, Wanted};
pub(crate) use self::lock::LockUse;
pub(crate) use self::model::{ModelLeave, ModelUse};
pub(crate) use self::narrowed::Narrowed;
pub(crate) use self::recipes::{ListedInput, ListedRecipe, SaveFrom, ShownRecipe};
use self::report::Refusal;
pub(crate) use self::report::{Counts, Outcome, ServerReport};
pub(crate) use self::run_calls::MODEL;
use self::runner::Runner;
pub(crate) use self::runs::RunReport;
use self::sandbox_options::sandbox_options;
use self::skills::Skills;
pub(crate) use self::tool_schema::arguments_schema;
use crate::failure::Failure;
use crate::setup::Setup;

/// Runs that may wait for a place.
const QUEUED_RUNS: usize = 64;
/// Requests wait so long for MCP servers that were never listed.
const LISTING_GRACE: Duration = Duration::from_secs(5);
/// Changes that are kept for who reads them slowly.
const CHANGES_KEPT: usize = 256;
/// A compile that nobody asked for.
const IN_BACKGROUND: CompileOptions<'_> = CompileOptions {
    only: None,
    is_dry_run: false,
    lock: LockUse::Ignore,
    sources: Sources::Documents,
    accepts_changes: false,
};

/// Everything behind the faces. Opening it starts no process and reads no document.
pub(crate) struct App {
    settings: Arc<Settings>,
    discovery: Arc<Discovery>,
    broker: Arc<Broker>,
    sandbox: Arc<Sandbox>,
    runner: Arc<Runner>,
    recipes: Recipes,
    results: Arc<Results>,
    skills: Skills,
    compiler: Compiler,
    libraries: OnceCell<Vec<String>>,
    /// False while servers that were never compiled are being compiled for the first time.
    is_ready: watch::Sender<bool>,
    changes: broadcast::Sender<Change>,
    /// Where a person who types commands is.
    working_dir: PathBuf,
    /// True as soon as nobody waits for answers any more.
    has_ended: watch::Sender<bool>,
}

impl App {
    /// Wires the parts for these settings.
    ///
    /// # Errors
    ///
    /// A failure if the state directory cannot be used.
    pub(crate) fn open(setup: &Setup, settings: Arc<Settings>) -> Result<Self, Failure> {
        Self::open_for(setup, settings, Arc::new(NoClient))
    }

    /// As [`App::open`], with a client that answers what no call causes.
    ///
    /// # Errors
    ///
    /// As [`App::open`].
    pub(crate) fn open_for(setup: &Setup, settings: Arc<Settings>, client: Arc<dyn ClientRequests>) -> Result<Self, Failure> {
        let state = state::open(&settings.data_dir)?;
        let catalog = Arc::new(Catalog::new(Arc::clone(&state.store), views::views(&settings)));
        let results = Results::open(&state.file, ResultLimits::default()).map_err(|error| Failure::internal(chain(&error)))?;
        let recipe_file = settings.recipes.file.clone().unwrap_or(state.file);
        let recipes = Recipes::open(&recipe_file, settings.recipes.clone());
        let recipes = recipes.map_err(|error| Failure::internal(format!("`{}`: {}", recipe_file.display(), chain(&error))))?;
        let broker = Broker::new(BrokerOptions {
            settings: Arc::clone(&settings),
            functions: Arc::new(CatalogSource::new(Arc::clone(&catalog))),
            limits: CallLimits {
                total: settings.calls.total,
                answer_bytes: settings.calls.answer_bytes,
                ..CallLimits::default()
            },
            client,
        });
        let broker = Arc::new(broker.map_err(|error| Failure::internal(chain(&error)))?);
        let discovery = Arc::new(Discovery::new(catalog, Arc::clone(broker.upstreams())));
        let sandbox = Arc::new(Sandbox::new(sandbox_options(setup, &settings)?));
        let results = Arc::new(results);
        let runner = Runner {
            settings: Arc::clone(&settings),
            broker: Arc::clone(&broker),
            discovery: Arc::clone(&discovery),
            results: Arc::clone(&results),
            sandbox: Arc::clone(&sandbox),
            saved: SavedRecipes::new(settings.recipes.folder.clone()),
            checkers: Checkers::new(setup, &settings),
        };
        Ok(Self {
            compiler: Compiler::new(Arc::clone(&settings), state.store, Arc::clone(&discovery), Arc::clone(&sandbox)),
            runner: Arc::new(runner),
            discovery,
            broker,
            sandbox,
            recipes,
            results,
            skills: Skills::new(&settings),
            libraries: OnceCell::new(),
            is_ready: watch::Sender::new(true),
            changes: broadcast::Sender::new(CHANGES_KEPT),
            working_dir: setup.working_dir.clone(),
            has_ended: watch::Sender::new(false),
            settings,
        })
    }

    pub(crate) fn settings(&self) -> &Settings {
        &self.settings
    }

    pub(crate) fn discovery(&self) -> &Arc<Discovery> {
        &self.discovery
    }

    /// The client of a behalf, with a record of each question that it is asked.
    pub(crate) fn recorded_client(&self, behalf: &Behalf) -> Arc<dyn ClientRequests> {
        self.broker.recorded_client(&behalf.run(None), Arc::clone(&behalf.client))
    }

    /// What performs effects, for who passes requests on.
    pub(crate) const fn broker(&self) -> &Arc<Broker> {
        &self.broker
    }

    /// MCP servers of the settings.
    pub(crate) fn upstreams(&self) -> &Arc<Upstreams> {
        self.broker.upstreams()
    }

    pub(crate) fn skills(&self) -> &Skills {
        &self.skills
    }

    pub(crate) fn compiler(&self) -> &Compiler {
        &self.compiler
    }

    /// Compiles all servers whose documents have changed. MCP servers are not asked.
    pub(crate) async fn compile_documents(&self) -> Vec<ServerReport> {
        self.compiler.compile(IN_BACKGROUND, &|_| {}).await.unwrap_or_default()
    }

    /// Lists the tools of MCP servers that were never listed, all at the same time.
    async fn list_unlisted(&self) {
        let listings = self.compiler.unlisted().into_iter().map(|server| self.list_tools(server));
        futures_util::future::join_all(listings).await;
    }

    /// Connects to all MCP servers, and tells how they are then.
    pub(crate) async fn connect_upstreams(&self) -> Vec<UpstreamState> {
        let states = self.broker.upstreams().states();
        // Why one cannot be connected is part of its state.
        futures_util::future::join_all(states.iter().map(|state| self.broker.upstreams().connect(&state.server))).await;
        self.broker.upstreams().states()
    }

    /// Lists the tools of an MCP server, also if they are known; says how many can be called.
    ///
    /// # Errors
    ///
    /// Why they cannot be listed.
    pub(crate) async fn list_server(&self, name: &str) -> Result<usize, Failure> {
        let server = self.settings.server(name);
        let server = server.ok_or_else(|| Failure::argument(format!("there is no server `{name}`")))?;
        Ok(self.compiler.list_tools(server, IN_BACKGROUND).await?.compiled)
    }

    async fn list_tools(&self, server: &ServerSettings) {
        let start = Instant::now();
        let outcome = match self.compiler.list_tools(server, IN_BACKGROUND).await {
            Ok(counts) => {
                // Before that nobody has seen a list.
                if !counts.unchanged && self.is_ready() {
                    let (server, what) = (server.name.clone(), Changed::Tools);
                    // Fails if nobody listens.
                    let _ = self.changes.send(Change { server, what });
                }
                Outcome::Compiled(counts)
            }
            Err(failure) => Outcome::Refused(Refusal(failure)),
        };
        let report = ServerReport {
            name: server.name.clone(),
            outcome,
            guide: None,
            ms: answer::millis(start.elapsed()),
            is_discovered: server.entry.is_discovered(),
        };
        report.log();
    }

    /// Lists the tools of servers anew that say that they changed, and then tells of it.
    async fn follow_changes(&self) {
        let mut changed = self.broker.upstreams().changed();
        loop {
            match changed.recv().await {
                Ok(change) => {
                    if let (Changed::Tools, Some(server)) = (&change.what, self.settings.server(&change.server)) {
                        self.list_tools(server).await;
                    } else {
                        // Fails if nobody listens.
                        let _ = self.changes.send(change);
                    }
                }
                Err(RecvError::Lagged(_)) => {}
                Err(RecvError::Closed) => return,
            }
        }
    }

    /// Warms the sandbox and compiles what has changed, while requests are already answered.
    pub(crate) fn start_in_background(self: &Arc<Self>) {
        if self.settings.sandbox.is_warm {
            let app = Arc::clone(self);
            tokio::spawn(async move {
                if let Err(error) = app.sandbox.start().await {
                    tracing::warn!("the sandbox does not start: {error}");
                }
            });
        }
        if self.settings.serve.compiles_on_startup {
            // Only servers without any functions keep requests waiting.
            let _ = self.is_ready.send_replace(self.discovery.is_complete());
            let app = Arc::clone(self);
            tokio::spawn(async move {
                for report in app.compile_documents().await {
                    report.log();
                }
                let listing = app.list_unlisted();
                tokio::pin!(listing);
                // A slow MCP server is not waited for.
                let is_done = tokio::time::timeout(LISTING_GRACE, &mut listing).await.is_ok();
                let _ = app.is_ready.send_replace(true);
                if !is_done {
                    listing.await;
                }
                app.log_rule_faults().await;
            });
            let app = Arc::clone(self);
            tokio::spawn(async move { app.follow_changes().await });
        }
    }

    /// What of MCP servers is another now: in the catalog, where it is in that.
    pub(crate) fn changes(&self) -> broadcast::Receiver<Change> {
        self.changes.subscribe()
    }

    /// Changes when all has been compiled that nobody had compiled.
    pub(crate) fn readiness(&self) -> watch::Receiver<bool> {
        self.is_ready.subscribe()
    }

    /// Where who finds out that something is another now tells it.
    pub(crate) fn changes_sender(&self) -> broadcast::Sender<Change> {
        self.changes.clone()
    }

    /// Waits until each server has been compiled or refused once.
    pub(crate) async fn ready(&self) {
        let _ = self.is_ready.subscribe().wait_for(|is_ready| *is_ready).await;
    }

    /// Whether each server has been compiled or refused once.
    pub(crate) fn is_ready(&self) -> bool {
        *self.is_ready.borrow()
    }

    /// What tells that the client has gone.
    pub(crate) fn end(&self) -> watch::Sender<bool> {
        self.has_ended.clone()
    }

    /// Waits until the client has gone.
    pub(crate) async fn ended(&self) {
        let _ = self.has_ended.subscribe().wait_for(|has_ended| *has_ended).await;
    }

    /// Libraries that programs can import, such as `pandas 2.3`.
    pub(crate) async fn libraries(&self) -> &[String] {
        self.libraries
            .get_or_init(|| async {
                let libraries = self.sandbox.python().await.map(|python| python.libraries).unwrap_or_default();
                libraries.into_iter().map(|(name, version)| format!("{name} {version}")).collect()
            })
            .await
    }

    /// What the sandbox would use, for `doctor`.
    pub(crate) async fn inspect_sandbox(&self) -> SandboxFacts {
        self.sandbox.inspect().await
    }

    /// A value that is kept, or the part of it that a query names.
    ///
    /// # Errors
    ///
    /// A failure of type `argument` if nothing is kept under this id, or it has no such part.
    pub(crate) async fn result(&self, id: &str, query: &str) -> Result<String, Failure> {
        let (results, wanted) = (Arc::clone(&self.results), id.to_owned());
        let loaded = tokio::task::spawn_blocking(move || results.load(&wanted, SystemTime::now())).await;
        let text = loaded.map_err(Failure::internal)?.map_err(|error| {
            let told = Failure::argument(error.to_string());
            error.hint().map_or_else(|| Failure::internal(&error), |hint| told.with_hint(hint))
        })?;
        result_parts::Part::read(query)?.of(&text)
    }

    /// Forgets all compiled documents, copies of guides, recipes and what programs have saved. Gives how many documents and recipes there were.
    ///
    /// # Errors
    ///
    /// A failure if the state cannot be written.
    pub(crate) fn clean(&self) -> Result<(usize, usize), Failure> {
        let documents = self.discovery.clear()?;
        self.results.clear().map_err(|error| Failure::internal(chain(&error)))?;
        let recipes = self.recipes.clear().map_err(|error| Failure::internal(chain(&error)))?;
        match fs_err::remove_dir_all(skills::copies(&self.settings.data_dir)) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(Failure::internal(error)),
            Ok(()) | Err(_) => Ok((documents, recipes)),
        }
    }

    /// Ends all children and waits until they are gone.
    pub(crate) async fn close(&self) {
        tokio::join!(self.sandbox.stop(), self.broker.upstreams().close());
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

/// An error with its causes.
pub(crate) fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let _ = write!(text, ": {error}");
        cause = error.source();
    }
    text
}
