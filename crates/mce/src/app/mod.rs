//! The program's parts, wired: what the MCP face and the commands both use.

mod addresses;
mod answer;
mod behalf;
mod blocks;
mod calls;
mod compile;
mod discovery;
mod documents;
mod fit;
mod lint;
mod lock;
mod model;
mod narrowed;
mod policy;
mod report;
mod result_parts;
mod run_calls;
mod sandbox_options;
mod skills;
mod small;
mod state;
mod stub;
mod tool_schema;
mod tools;
mod views;

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime};

use mce_broker::{
    Broker, BrokerOptions, CallError, CallErrorKind, CallLimits, CatalogSource, Change, Changed, ClientRequests, NewRecipe, NoClient,
    Recipes, ResultLimits, Results, RunEnd, UpstreamState, Upstreams,
};
use mce_catalog::catalog::Catalog;
use mce_config::{ServerSettings, Settings};
use mce_sandbox::{Content, ErrorKind, Language, Program, ProgramError, Sandbox, SandboxFacts};
use serde_json::{Map, Value};
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::{OnceCell, broadcast, watch};

use self::addresses::Addresses;
pub(crate) use self::answer::{CallGroup, RunAnswer};
pub(crate) use self::behalf::Behalf;
pub(crate) use self::calls::Called;
pub(crate) use self::compile::{CompileOptions, Compiler, Sources};
pub(crate) use self::discovery::{Discovery, Wanted};
use self::lint::Lint;
pub(crate) use self::lock::LockUse;
use self::model::Model;
pub(crate) use self::model::{ModelLeave, ModelUse};
pub(crate) use self::narrowed::Narrowed;
use self::report::Refusal;
pub(crate) use self::report::{Counts, Outcome, ServerReport};
pub(crate) use self::run_calls::MODEL;
use self::run_calls::RunCalls;
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
    sandbox: Sandbox,
    /// If programs are read by `ruff` first.
    lint: Option<Lint>,
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

/// Changed functions that an error tells.
const CHANGES_TOLD: usize = 3;

/// A finished run: the answer's JSON and further content blocks.
pub(crate) struct RunReport {
    pub(crate) answer: RunAnswer,
    pub(crate) contents: Vec<Content>,
    /// The value in another notation than JSON.
    pub(crate) text: Option<String>,
    /// How much of the client's language model was used.
    pub(crate) model: ModelUse,
}

impl RunReport {
    /// Of a program that was not started.
    fn refused(error: ProgramError) -> Self {
        Self {
            answer: RunAnswer::refused(error),
            contents: Vec::new(),
            text: None,
            model: ModelUse::default(),
        }
    }
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
        let upstreams = Arc::clone(broker.upstreams());
        Ok(Self {
            discovery: Arc::new(Discovery::new(catalog, Arc::clone(&upstreams))),
            broker,
            sandbox: Sandbox::new(sandbox_options(setup, &settings)?),
            lint: settings
                .is_lint_enabled
                .then(|| Lint::new(setup.environment.get("PATH").map_or("", String::as_str))),
            recipes,
            results: Arc::new(results),
            skills: Skills::new(&settings),
            compiler: Compiler::new(Arc::clone(&settings), state.store, upstreams),
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

    /// Runs a program and keeps it for `run_cached_code` if it worked.
    pub(crate) async fn execute(&self, language: Language, source: String, description: &str, behalf: &Behalf) -> RunReport {
        let mut report = self.run_program(language, source.clone(), Map::new(), behalf).await;
        if report.answer.success {
            self.keep(&mut report.answer, language, &source, description);
        }
        report
    }

    /// Runs a kept program with other values for its variables.
    pub(crate) async fn run_cached(&self, cache_id: &str, params: Map<String, Value>, behalf: &Behalf) -> RunReport {
        let recipe = match self.recipes.get(cache_id, SystemTime::now()) {
            Ok(recipe) => recipe,
            Err(error) => {
                let mut refused = program_error(ErrorKind::Argument, error.to_string());
                let unknown = CallError::new(CallErrorKind::Argument, error.to_string());
                self.broker.record_refusal(&behalf.run(None), "run_cached_code", &unknown);
                refused.hint = error.hint().map(str::to_owned);
                return RunReport::refused(refused);
            }
        };
        let language = if recipe.language == Language::TypeScript.as_str() {
            Language::TypeScript
        } else {
            Language::Python
        };
        if let Some(error) = self.changed_since(&recipe.functions, language) {
            return RunReport::refused(error);
        }
        let mut report = self.run_program(language, recipe.source, params, behalf).await;
        report.answer.cache_id = report.answer.success.then(|| cache_id.to_owned());
        report
    }

    /// What is another now of the functions that a program called.
    fn changed_since(&self, functions: &BTreeMap<String, String>, language: Language) -> Option<ProgramError> {
        let changes = functions
            .iter()
            .filter_map(|(name, was)| match self.discovery.signature(name, language) {
                Some(is) if is == *was => None,
                Some(is) => Some(format!("`{name}` was `{was}` and is `{is}`")),
                None => Some(format!("`{name}` is not there any more")),
            });
        let changes: Vec<String> = changes.take(CHANGES_TOLD).collect();
        if changes.is_empty() {
            return None;
        }
        let told = format!("functions of this program have changed: {}", changes.join("; "));
        let mut error = program_error(ErrorKind::Argument, told);
        error.hint = Some("look at them with `get_functions`, and run the whole program with `execute_code`".to_owned());
        Some(error)
    }

    /// Runs a program once.
    pub(crate) async fn run_program(&self, language: Language, source: String, params: Map<String, Value>, behalf: &Behalf) -> RunReport {
        if let Err(failure) = self.check_project(behalf).await {
            let mut refused = program_error(ErrorKind::Policy, failure.message);
            refused.hint = failure.hint;
            return RunReport::refused(refused);
        }
        if let (Some(lint), Language::Python) = (&self.lint, language)
            && let Some(fault) = lint.fault(&source).await
        {
            return RunReport::refused(fault);
        }
        let calls = RunCalls {
            broker: Arc::clone(&self.broker),
            discovery: Arc::clone(&self.discovery),
            results: Arc::clone(&self.results),
            model: Model::new(Arc::clone(&behalf.client), &self.settings.client, behalf.model),
            client: Arc::clone(&behalf.client),
            language,
            run: behalf.run(Some(&source)),
            groups: Mutex::default(),
            addresses: Addresses::default(),
            narrowed: behalf.narrowed.clone(),
        };
        let calls = Arc::new(calls);
        let program = Program {
            language,
            source,
            params,
            wall: behalf.narrowed.wall,
        };
        let record = self.broker.begin_run(&calls.run, language.as_str());
        let mut outcome = match self.broker.start_run(&calls.run).await {
            Ok(()) => self.sandbox.run(program, Arc::<RunCalls>::clone(&calls)).await,
            Err(error) => mce_sandbox::Outcome {
                result: Err(ProgramError {
                    hint: error.hint().map(str::to_owned),
                    ..program_error(ErrorKind::Busy, error.to_string())
                }),
                logs: String::new(),
                contents: Vec::new(),
                elapsed: Duration::ZERO,
            },
        };
        let groups = calls.groups();
        record.end(RunEnd {
            error: outcome.result.as_ref().err().map(|error| error.kind.as_str()),
            calls: groups.iter().map(|group| group.count).sum(),
            failed_calls: groups.iter().map(|group| group.failed).sum(),
        });
        let mut contents = std::mem::take(&mut outcome.contents);
        outcome.result = outcome.result.map(|data| blocks::take_blocks(data, &mut contents));
        RunReport {
            answer: RunAnswer::new(outcome, groups),
            contents,
            text: None,
            model: calls.model.used(),
        }
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

    fn keep(&self, answer: &mut RunAnswer, language: Language, source: &str, description: &str) {
        let called = answer.calls.iter().map(|group| group.function.as_str());
        let functions = called.filter_map(|name| Some((name.to_owned(), self.discovery.signature(name, language)?)));
        let recipe = NewRecipe {
            language: language.as_str(),
            source,
            description,
            functions: &functions.collect(),
        };
        // The run has happened: a recipe that cannot be kept must not make it look as if it had failed.
        match self.recipes.save(recipe, SystemTime::now()) {
            Ok(id) => {
                answer.next = Some(String::from(
                    "same task, other values: run_cached_code(cache_id, params={top-level variable: value})",
                ));
                answer.cache_id = Some(id);
            }
            Err(mce_broker::RecipeError::Disabled) => {}
            Err(error) => tracing::warn!("the program was not kept: {error}"),
        }
    }
}

fn program_error(kind: ErrorKind, message: String) -> ProgramError {
    ProgramError {
        kind,
        message,
        line: None,
        source: None,
        hint: None,
        status: None,
        body: None,
        function: None,
        traceback: None,
        also: Vec::new(),
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
