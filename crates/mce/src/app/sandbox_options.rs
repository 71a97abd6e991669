//! What the sandbox is made of, by the settings.

use std::path::PathBuf;

use mce_config::Settings;
use mce_sandbox::{Launcher, Limits, SandboxOptions};

use super::QUEUED_RUNS;
use crate::failure::Failure;
use crate::setup::Setup;

/// # Errors
///
/// A failure if the running program's file is not known.
pub(super) fn sandbox_options(setup: &Setup, settings: &Settings) -> Result<SandboxOptions, Failure> {
    let program: PathBuf = std::env::current_exe().map_err(Failure::internal)?;
    let is_for_finding_python = |name: &str| matches!(name, "PATH" | "HOME" | "LANG") || name.starts_with("PYENV_");
    let limits = &settings.limits;
    Ok(SandboxOptions {
        limits: Limits {
            wall: limits.wall,
            cpu: Some(limits.cpu),
            memory_mib: limits.memory_mib,
            output_bytes: limits.output_bytes,
            code_bytes: limits.code_bytes,
            tmp_mib: limits.tmp_mib,
            host_calls: limits.host_calls,
            parallel_calls: limits.parallel_calls,
            processes: limits.processes,
            open_files: limits.open_files,
        },
        is_warm: settings.sandbox.is_warm,
        pool_size: settings.sandbox.pool_size,
        concurrent_runs: settings.sandbox.concurrent_runs,
        queued_runs: QUEUED_RUNS,
        python: settings.sandbox.python.clone(),
        python_libraries: Vec::new(),
        environment: setup
            .environment
            .iter()
            .filter(|(name, _)| is_for_finding_python(name))
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect(),
        launcher: Launcher {
            program: program.clone(),
            arguments: vec![crate::JAIL_ROLE.to_owned()],
        },
        typescript: Launcher {
            program,
            arguments: vec![crate::TYPESCRIPT_ROLE.to_owned()],
        },
        without_layers: settings.sandbox.without_layers.clone(),
        has_tracebacks: settings.is_debug,
        has_guard: settings.sandbox.has_guard,
    })
}
