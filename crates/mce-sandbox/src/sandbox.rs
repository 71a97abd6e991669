//! The sandbox: where a run enters, waits for a place, and ends with an [`Outcome`].

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use mce_jail::{LayerStatus, Layers};

use crate::lane::Lane;
use crate::places::{Full, Places};
use crate::pool::Engine;
use crate::python::{Preload, Python, PythonEngine};
use crate::run::Manner;
use crate::run_end;
use crate::typescript::TypeScriptEngine;
use crate::worker::Worker;
use crate::{
    BoxFuture, CallFailure, EngineError, ErrorKind, HostCall, HostCalls, HostValue, Inputs, Language, Outcome, Outline, Program,
    ProgramError, SandboxOptions, run,
};

/// After so many failures in a row the fork server with data libraries is not tried again.
const DATA_FAULTS: u32 = 3;

/// Engines of all languages behind one queue. Cheap to make; nothing starts before [`Sandbox::start`] or the first run.
pub struct Sandbox {
    options: Arc<SandboxOptions>,
    places: Places,
    python: Arc<Python>,
    /// Programs of the standard library and of servers.
    python_bare: Lane,
    /// Programs that import data libraries.
    python_data: Lane,
    typescript: Lane,
    /// How often in a row the fork server with data libraries gave no worker.
    data_faults: AtomicU32,
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

/// Where a program runs, and what for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// In a place of its own.
    Own,
    /// In the place of the program that waits for it.
    OfCaller,
    /// In a place of its own, to be read only; checked against the catalog, or not.
    ForOutline { is_checked: bool },
}

/// The host's side of what makes no calls.
struct NoCalls;

impl HostCalls for NoCalls {
    fn call(&self, _: HostCall) -> BoxFuture<'_, Result<HostValue, CallFailure>> {
        Box::pin(async {
            Err(CallFailure {
                kind: "internal",
                message: "nothing is called here".to_owned(),
                function: None,
                status: None,
                body: None,
                hint: None,
            })
        })
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
        let python = Arc::new(Python::new(Arc::clone(&options)));
        let lane = |engine| Lane::new(engine, options.is_warm, options.pool_size);
        let python_lane = |preload| lane(Arc::new(PythonEngine::new(Arc::clone(&python), preload)) as Arc<dyn Engine>);
        Self {
            places,
            python_bare: python_lane(Preload::Nothing),
            python_data: python_lane(Preload::DataLibraries),
            typescript: lane(Arc::new(TypeScriptEngine::new(Arc::clone(&options)))),
            python,
            options,
            data_faults: AtomicU32::new(0),
            is_stopped: AtomicBool::new(false),
        }
    }

    /// Finds the interpreter, starts the fork servers of bare Python and of TypeScript and fills their pools, if the sandbox
    /// is warm; else only finds the interpreter.
    ///
    /// # Errors
    ///
    /// Any [`EngineError`]; a later run tries again.
    pub async fn start(&self) -> Result<(), EngineError> {
        if !self.options.without_layers.is_empty() {
            let layers = self.options.without_layers.join(", ");
            tracing::warn!(target: "mce_sandbox", %layers, "layers of the jail are switched off by configuration");
        }
        if self.options.is_warm {
            let (python, typescript) = tokio::join!(self.python_bare.warm(), self.typescript.warm());
            python.and(typescript).map(drop)
        } else {
            self.python.facts().await.map(drop)
        }
    }

    /// Runs one program to its end. Faults of the engine are errors of type `internal` in the outcome; a full queue is
    /// one of type `busy`. Dropping the future kills the worker and drops its host calls.
    pub async fn run(&self, program: Program, calls: Arc<dyn HostCalls>) -> Outcome {
        self.run_at(Place::Own, program, calls).await
    }

    /// As [`Sandbox::run`], for a program that another one waits for, in whose place it runs: it never waits for one itself.
    /// How many such there are at the same time is the caller's to bound.
    pub async fn run_within(&self, program: Program, calls: Arc<dyn HostCalls>) -> Outcome {
        self.run_at(Place::OfCaller, program, calls).await
    }

    /// What a program's text says about itself. Nothing of it is run.
    ///
    /// # Errors
    ///
    /// [`ProgramError`] if it is no program, or cannot be read.
    pub async fn outline(&self, language: Language, source: &str) -> Result<Outline, ProgramError> {
        let at = Place::ForOutline { is_checked: false };
        self.outline_at(at, language, source, Arc::new(NoCalls)).await
    }

    /// The same of a program that is to be run: refuses it for what it would be refused for before it starts.
    ///
    /// # Errors
    ///
    /// [`ProgramError`] if it is no program, or cannot be read, or may not start. Only descriptions are asked for by `calls`.
    pub async fn checked_outline(&self, language: Language, source: &str, calls: Arc<dyn HostCalls>) -> Result<Outline, ProgramError> {
        self.outline_at(Place::ForOutline { is_checked: true }, language, source, calls)
            .await
    }

    async fn outline_at(&self, at: Place, language: Language, source: &str, calls: Arc<dyn HostCalls>) -> Result<Outline, ProgramError> {
        let program = Program {
            language,
            source: source.to_owned(),
            params: Inputs::new(),
            has_all_params: false,
            wall: None,
        };
        let outcome = self.run_at(at, program, calls).await;
        let unreadable = |error: serde_json::Error| ProgramError::new(ErrorKind::Internal, error.to_string());
        serde_json::from_str(outcome.result?.get()).map_err(unreadable)
    }

    async fn run_at(&self, at: Place, program: Program, calls: Arc<dyn HostCalls>) -> Outcome {
        let limit = self.options.limits.code_bytes;
        if program.source.len() > limit {
            let message = format!("the program has {} bytes, and the limit is {limit}", program.source.len());
            return refused(
                ProgramError::new(ErrorKind::Argument, message).with_hint("read data with functions instead of writing it into code"),
            );
        }
        let place = match at {
            Place::Own | Place::ForOutline { .. } => match self.places.enter().await {
                Ok(place) => Some(place),
                Err(full) => return refused(busy(full)),
            },
            Place::OfCaller => None,
        };
        let worker = match self.worker(&program).await {
            Ok(worker) => worker,
            Err(fault) => return refused(run_end::engine(&fault)),
        };
        let manner = Manner {
            has_tracebacks: self.options.has_tracebacks,
            has_guard: self.options.has_guard,
            has_outline: matches!(at, Place::ForOutline { .. }),
            has_check: at == Place::ForOutline { is_checked: true },
        };
        let outcome = run::run(worker, &program, &*calls, &self.options.limits, manner).await;
        if at == Place::Own {
            self.places.learn(outcome.elapsed);
        }
        drop(place);
        outcome
    }

    /// Ends all fork servers and workers and waits until they are gone. Runs under way and later ones end with `internal`.
    pub async fn stop(&self) {
        self.is_stopped.store(true, Ordering::SeqCst);
        self.python_bare.stop().await;
        self.python_data.stop().await;
        self.typescript.stop().await;
    }

    /// The interpreter and its data libraries. Asks the interpreter once and starts nothing in a jail.
    ///
    /// # Errors
    ///
    /// [`EngineError::Interpreter`] if there is none that can be used.
    pub async fn python(&self) -> Result<PythonFacts, EngineError> {
        self.python.facts().await
    }

    /// The process id of the bare fork server of Python, which this starts if none runs.
    ///
    /// # Errors
    ///
    /// Why none can be had.
    pub async fn server(&self) -> Result<u32, EngineError> {
        self.python_bare.warm().await.map(|server| server.pid())
    }

    /// What this sandbox would use. Starts a fork server, and gets a worker, to know it.
    pub async fn inspect(&self) -> SandboxFacts {
        let python = self.python.facts().await;
        let started = self.python_bare.warm().await;
        let on = started.as_ref().ok().map(|server| (server.layers(), server.notes()));
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

    async fn worker(&self, program: &Program) -> Result<Worker, EngineError> {
        if self.is_stopped.load(Ordering::SeqCst) {
            return Err(EngineError::Stopped);
        }
        match program.language {
            Language::Python if self.python.wants_data_libraries(&program.source).await => self.data_worker().await,
            Language::Python => self.python_bare.worker().await,
            Language::TypeScript => self.typescript.worker().await,
        }
    }

    /// A worker that has imported the data libraries. Where their fork server fails, as with a broken library, a bare one does:
    /// the program then imports them itself, or learns why it cannot.
    async fn data_worker(&self) -> Result<Worker, EngineError> {
        if self.data_faults.load(Ordering::Relaxed) < DATA_FAULTS {
            match self.python_data.worker().await {
                Ok(worker) => {
                    self.data_faults.store(0, Ordering::Relaxed);
                    return Ok(worker);
                }
                Err(EngineError::Stopped) => return Err(EngineError::Stopped),
                Err(error) => {
                    tracing::warn!(target: "mce_sandbox", %error, "data libraries cannot be imported ahead");
                    self.data_faults.fetch_add(1, Ordering::Relaxed);
                }
            }
        }
        self.python_bare.worker().await
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
    ProgramError::new(ErrorKind::Busy, message).with_hint(format!("try again in {} s", wait.as_secs().max(1)))
}

/// What a probe found, corrected by what the running jail says of itself.
fn layer_fact(status: LayerStatus, on: Option<(Layers, &[String])>, without: &[String]) -> LayerFact {
    let LayerStatus { name, is_on, detail, fix } = status;
    let fact = |is_on, detail, fix| LayerFact {
        name: name.to_owned(),
        is_on,
        detail,
        fix,
    };
    if without.iter().any(|off| off == name) {
        return fact(false, told("switched off by configuration", meaning(name)), String::new());
    }
    let Some((layers, notes)) = on else {
        return fact(is_on, detail, fix);
    };
    let is_in_jail = match name {
        "namespaces" => layers.namespaces,
        "landlock" => layers.landlock,
        "seccomp" => layers.seccomp,
        "rlimits" => layers.rlimits,
        _ => is_on,
    };
    let reason = notes.iter().find_map(|note| note.strip_prefix(name)?.strip_prefix(": "));
    match (is_in_jail, reason) {
        (false, reason) => fact(false, told(reason.unwrap_or(&detail), meaning(name)), fix),
        (is_in_jail, _) => fact(is_in_jail, detail, fix),
    }
}

/// What a layer that is off means for programs.
fn meaning(layer: &str) -> &'static str {
    match layer {
        "namespaces" => "programs have no folder to write to, `/tmp` neither",
        "landlock" => "",
        "seccomp" => {
            "programs have one thread, and can make `netlink` and `vsock` sockets and use key rings, `userfaultfd` and `perf_event_open`"
        }
        "rlimits" => "the host watches memory and threads of programs, and kills those that take too much",
        _ => "",
    }
}

fn told(reason: &str, meaning: &str) -> String {
    if meaning.is_empty() {
        reason.to_owned()
    } else {
        format!("{reason}; {meaning}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_layer_that_is_off_in_the_jail_is_told_whatever_a_probe_found() {
        let probed = || LayerStatus {
            name: "seccomp",
            is_on: true,
            detail: "found".to_owned(),
            fix: String::new(),
        };
        let off = Layers {
            seccomp: false,
            ..Layers::ALL
        };
        let notes = ["landlock: other".to_owned(), "seccomp: why".to_owned()];
        for (on, without, expected) in [
            (None, &[][..], (true, "found")),
            (Some((Layers::ALL, &[][..])), &[], (true, "found")),
            (
                Some((off, &notes[..])),
                &[],
                (
                    false,
                    "why; programs have one thread, and can make `netlink` and `vsock` sockets and use key rings, `userfaultfd` and `perf_event_open`",
                ),
            ),
            (
                Some((off, &[])),
                &["seccomp".to_owned()],
                (
                    false,
                    "switched off by configuration; programs have one thread, and can make `netlink` and `vsock` sockets and use key rings, `userfaultfd` and `perf_event_open`",
                ),
            ),
        ] {
            let fact = layer_fact(probed(), on, without);
            assert_eq!((fact.is_on, fact.detail.as_str()), expected);
        }
    }
}
