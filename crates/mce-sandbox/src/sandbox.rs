//! The sandbox: where a run enters, waits for a place, and ends with an [`Outcome`].

use std::path::PathBuf;
use std::sync::Arc;

use crate::{EngineError, HostCalls, Outcome, Program, SandboxOptions};

/// Engines of all languages behind one queue. Cheap to make; nothing starts before [`Sandbox::start`] or the first run.
#[derive(Debug)]
pub struct Sandbox {
    options: SandboxOptions,
}

/// What `doctor` needs to know about a sandbox.
#[derive(Debug)]
pub struct SandboxFacts {
    /// The interpreter that was found, or why none.
    pub python: Result<PythonFacts, EngineError>,
    /// Each layer of the jail: name, whether it is on, and why not or what it does.
    pub layers: Vec<LayerFact>,
    /// The fork server starts and a worker can be had, or why not.
    pub jail: Result<(), EngineError>,
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
    /// Why it is off, or what it holds.
    pub detail: String,
}

impl Sandbox {
    /// A sandbox that has started nothing yet.
    pub fn new(options: SandboxOptions) -> Self {
        Self { options }
    }

    /// Finds the interpreter, starts the fork server and fills the pool, if the sandbox is warm.
    ///
    /// # Errors
    ///
    /// Any [`EngineError`]; a later run tries again.
    pub async fn start(&self) -> Result<(), EngineError> {
        Ok(())
    }

    /// Runs one program to its end. Faults of the engine are errors of type `internal` in the outcome; a full queue is
    /// one of type `busy`. Dropping the future kills the worker and drops its host calls.
    pub async fn run(&self, program: Program, calls: Arc<dyn HostCalls>) -> Outcome {
        drop((program, calls, &self.options));
        std::future::pending().await
    }

    /// Ends all fork servers and workers and waits until they are gone. Later runs end with `internal`.
    pub async fn stop(&self) {}

    /// What this sandbox would use. Starts what it needs to know it.
    pub async fn inspect(&self) -> SandboxFacts {
        SandboxFacts {
            python: Err(EngineError::Stopped),
            layers: Vec::new(),
            jail: Err(EngineError::Stopped),
        }
    }
}
