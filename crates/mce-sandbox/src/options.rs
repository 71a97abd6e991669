//! How a sandbox is made: limits, pool, interpreter, layers. All values are meant values; nothing is read here.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use mce_jail::{Layers, WorkerLimits};

use crate::EngineError;

/// Limits of one run. A run that exceeds one ends with an error that names it; the next run works.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Wall-clock time from the start of the program to its end, host calls included. Default 30 s.
    pub wall: Duration,
    /// Processor time of all threads together. Default `None`: twice the wall-clock limit and two seconds, whole seconds.
    pub cpu: Option<Duration>,
    /// Memory of a worker beyond the bare interpreter, in mebibytes. Default 256.
    pub memory_mib: u32,
    /// Bytes of output and of the result, each. Default 1 MiB.
    pub output_bytes: usize,
    /// Bytes of a program's text. Default 64 KiB.
    pub code_bytes: usize,
    /// Bytes in the private `/tmp`, in mebibytes. Default 64.
    pub tmp_mib: u32,
    /// Host calls of one run. Default 1,000.
    pub host_calls: u32,
    /// Host calls of one run at the same time; more wait. Default 16.
    pub parallel_calls: u32,
    /// Threads and processes of a worker. Default 32.
    pub processes: u32,
    /// Open files of a worker. Default 64.
    pub open_files: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            wall: Duration::from_secs(30),
            cpu: None,
            memory_mib: 256,
            output_bytes: 1 << 20,
            code_bytes: 64 << 10,
            tmp_mib: 64,
            host_calls: 1000,
            parallel_calls: 16,
            processes: 32,
            open_files: 64,
        }
    }
}

/// An executable and the arguments that put it into a role, such as that of the jail's launcher.
#[derive(Debug, Clone)]
pub struct Launcher {
    /// An absolute path, usually that of the running program.
    pub program: PathBuf,
    /// Arguments before those of the role itself.
    pub arguments: Vec<String>,
}

/// How a sandbox is made.
#[derive(Debug, Clone)]
pub struct SandboxOptions {
    /// Limits of each run.
    pub limits: Limits,
    /// Fork servers live as long as the sandbox (`true`), or each run has a jail of its own.
    pub is_warm: bool,
    /// Workers kept ready for each fork server. Default 2.
    pub pool_size: usize,
    /// Runs at the same time. Default 16.
    pub concurrent_runs: usize,
    /// Runs that wait for a place. One more is answered with `busy`.
    pub queued_runs: usize,
    /// The interpreter: a path, or a name looked up in `PATH` of `environment`.
    pub python: String,
    /// Folders with further packages that programs may import, such as the `site-packages` of a virtual environment.
    pub python_libraries: Vec<PathBuf>,
    /// What finding the interpreter may see: `PATH`, `HOME`, `PYENV_*`. No worker sees any of it.
    pub environment: Vec<(String, String)>,
    /// The jail's launcher.
    pub launcher: Launcher,
    /// The executable that becomes the fork server for TypeScript by calling [`crate::typescript_fork_server_main`].
    pub typescript: Launcher,
    /// Layers that are switched off: `namespaces`, `landlock`, `seccomp`, `rlimits`.
    pub without_layers: Vec<String>,
    /// Errors carry the program's traceback.
    pub has_tracebacks: bool,
    /// Programs that use what cannot work in a jail are refused with advice before they start. It keeps nothing in.
    pub has_guard: bool,
}

impl SandboxOptions {
    /// The layers that remain.
    ///
    /// # Errors
    ///
    /// [`EngineError::Layer`] if one is named that does not exist.
    pub(crate) fn layers(&self) -> Result<Layers, EngineError> {
        Layers::without(self.without_layers.iter().map(String::as_str)).ok_or_else(|| EngineError::Layer {
            names: self.without_layers.join(", "),
        })
    }

    /// Processes and threads of all workers of a fork server together, and of itself.
    pub(crate) fn jail_processes(&self) -> u32 {
        let workers = u32::try_from(self.concurrent_runs.saturating_add(self.pool_size)).unwrap_or(u32::MAX);
        self.limits.processes.saturating_mul(workers).saturating_add(16)
    }

    pub(crate) fn jail_launcher(&self) -> mce_jail::Launcher {
        mce_jail::Launcher {
            program: self.launcher.program.clone(),
            arguments: self.launcher.arguments.iter().map(OsString::from).collect(),
        }
    }
}

impl Limits {
    /// Processor time in whole seconds, as the kernel counts it; at least one.
    pub(crate) fn cpu_seconds(&self) -> u32 {
        // The host's clock ends a run; this ends what burns several processors at once, or runs on without a host.
        let usual = || self.wall.saturating_add(Duration::from_secs(1)).saturating_mul(2);
        let seconds = self.cpu.unwrap_or_else(usual).as_secs().max(1);
        u32::try_from(seconds).unwrap_or(u32::MAX)
    }
}

/// What the kernel holds for one worker.
pub(crate) fn worker_limits(limits: &Limits) -> WorkerLimits {
    WorkerLimits {
        memory_mib: limits.memory_mib,
        cpu_seconds: limits.cpu_seconds(),
        threads: limits.processes,
        open_files: limits.open_files,
        tmp_mib: limits.tmp_mib,
        ..WorkerLimits::default()
    }
}
