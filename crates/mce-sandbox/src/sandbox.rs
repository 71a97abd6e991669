//! The sandbox: where a run enters, waits for a place, and ends with an [`Outcome`].

use std::fmt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use mce_jail::{LayerStatus, Layers};

use crate::places::{Full, Places};
use crate::pool::{Engine, Pool};
use crate::python::PythonEngine;
use crate::run_end::{self, error};
use crate::worker::Worker;
use crate::{EngineError, ErrorKind, HostCalls, Language, Outcome, Program, ProgramError, SandboxOptions, run};

/// Engines of all languages behind one queue. Cheap to make; nothing starts before [`Sandbox::start`] or the first run.
pub struct Sandbox {
    options: Arc<SandboxOptions>,
    places: Places,
    python: Arc<PythonEngine>,
    pool: OnceLock<Pool>,
    is_stopped: AtomicBool,
}

impl fmt::Debug for Sandbox {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Sandbox")
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}

/// What `doctor` needs to know about a sandbox.
#[derive(Debug)]
pub struct SandboxFacts {
    /// The interpreter that was found, or why none.
    pub python: Result<PythonFacts, EngineError>,
    /// Each layer of the jail: name, whether it is on, and why not or what it does.
    pub layers: Vec<LayerFact>,
    /// The fork server starts and a worker can be had, or why not. The value is the fork server's process id.
    pub jail: Result<u32, EngineError>,
}

/// A usable interpreter.
#[derive(Debug, Clone)]
pub struct PythonFacts {
    /// The real executable.
    pub executable: PathBuf,
    /// Such as `3.11.7`.
    pub version: String,
    /// Data libraries that programs can import, with their versions.
    pub libraries: Vec<(String, String)>,
}

/// One layer of the jail on this machine.
#[derive(Debug, Clone)]
pub struct LayerFact {
    /// `namespaces`, `landlock`, `seccomp`, `rlimits`.
    pub name: String,
    /// It is on.
    pub is_on: bool,
    /// Why it is off, or what was found.
    pub detail: String,
    /// What to do to get it; empty if it is on or switched off.
    pub fix: String,
}

impl Sandbox {
    /// A sandbox that has started nothing yet.
    pub fn new(options: SandboxOptions) -> Self {
        let places = Places::new(options.concurrent_runs, options.queued_runs);
        let options = Arc::new(options);
        let python = Arc::new(PythonEngine::new(Arc::clone(&options)));
        Self {
            options,
            places,
            python,
            pool: OnceLock::new(),
            is_stopped: AtomicBool::new(false),
        }
    }

    /// Finds the interpreter, starts the fork server and fills the pool, if the sandbox is warm; else only finds the
    /// interpreter.
    ///
    /// # Errors
    ///
    /// Any [`EngineError`]; a later run tries again.
    pub async fn start(&self) -> Result<(), EngineError> {
        if self.options.is_warm {
            self.pool()?.warm().await.map(drop)
        } else {
            self.python.facts().await.map(drop)
        }
    }

    /// Runs one program to its end. Faults of the engine are errors of type `internal` in the outcome; a full queue is
    /// one of type `busy`. Dropping the future kills the worker and drops its host calls.
    pub async fn run(&self, program: Program, calls: Arc<dyn HostCalls>) -> Outcome {
        let limit = self.options.limits.code_bytes;
        if program.source.len() > limit {
            let message = format!("the program has {} bytes, and the limit is {limit}", program.source.len());
            return refused(error(ErrorKind::Argument, message).with_hint("read data with functions instead of writing it into code"));
        }
        let place = match self.places.enter().await {
            Ok(place) => place,
            Err(full) => return refused(busy(full)),
        };
        let worker = match self.worker(program.language).await {
            Ok(worker) => worker,
            Err(fault) => return refused(run_end::engine(&fault)),
        };
        let outcome = run::run(worker, &program, &*calls, &self.options.limits, self.options.has_tracebacks).await;
        self.places.learn(outcome.elapsed);
        drop(place);
        outcome
    }

    /// Ends all fork servers and workers and waits until they are gone. Runs under way and later ones end with `internal`.
    pub async fn stop(&self) {
        self.is_stopped.store(true, Ordering::SeqCst);
        if let Some(pool) = self.pool.get() {
            pool.stop().await;
        }
    }

    /// What this sandbox would use. Starts a fork server, and gets a worker, to know it.
    pub async fn inspect(&self) -> SandboxFacts {
        let python = self.python.facts().await;
        let started = match self.pool() {
            Ok(pool) => pool.warm().await,
            Err(fault) => Err(fault),
        };
        let on = started.as_ref().ok().map(|server| server.layers());
        let probed = tokio::task::spawn_blocking(mce_jail::probe).await.unwrap_or_default();
        let layers = probed
            .into_iter()
            .map(|status| layer_fact(status, on, &self.options.without_layers))
            .collect();
        let jail = match started {
            Ok(server) => server.fork().await.map(|_| server.pid()),
            Err(fault) => Err(fault),
        };
        SandboxFacts { python, layers, jail }
    }

    async fn worker(&self, language: Language) -> Result<Worker, EngineError> {
        match language {
            Language::Python if self.options.is_warm => self.pool()?.take().await,
            Language::Python if self.is_stopped.load(Ordering::SeqCst) => Err(EngineError::Stopped),
            // The worker holds the only handle to its fork server and ends it with itself.
            Language::Python => self.python.start().await?.fork().await,
            Language::TypeScript => Err(EngineError::Language {
                language: language.as_str(),
            }),
        }
    }

    /// The pool starts with its first use, because it needs a runtime.
    fn pool(&self) -> Result<&Pool, EngineError> {
        if self.is_stopped.load(Ordering::SeqCst) {
            return Err(EngineError::Stopped);
        }
        Ok(self
            .pool
            .get_or_init(|| Pool::new(Arc::clone(&self.python) as Arc<dyn Engine>, self.options.pool_size)))
    }
}

fn refused(error: ProgramError) -> Outcome {
    Outcome {
        result: Err(error),
        logs: String::new(),
        contents: Vec::new(),
        elapsed: Duration::ZERO,
    }
}

fn busy(full: Full) -> ProgramError {
    let Full { count, queue, wait } = full;
    let message = format!("{count} programs run and {queue} wait, which is all that may");
    error(ErrorKind::Busy, message).with_hint(&format!("try again in {} s", wait.as_secs().max(1)))
}

fn layer_fact(status: LayerStatus, on: Option<Layers>, without: &[String]) -> LayerFact {
    let LayerStatus { name, is_on, detail, fix } = status;
    if without.iter().any(|off| off == name) {
        return LayerFact {
            name: name.to_owned(),
            is_on: false,
            detail: "switched off by configuration".to_owned(),
            fix: String::new(),
        };
    }
    let is_on = on.map_or(is_on, |layers| match name {
        "namespaces" => layers.namespaces,
        "landlock" => layers.landlock,
        "seccomp" => layers.seccomp,
        "rlimits" => layers.rlimits,
        _ => is_on,
    });
    LayerFact {
        name: name.to_owned(),
        is_on,
        detail,
        fix,
    }
}
