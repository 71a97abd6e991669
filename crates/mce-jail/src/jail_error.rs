//! Why a jail could not be made.

use std::io;
use std::path::PathBuf;

/// Why a jail could not be made, or a worker not sealed.
#[derive(Debug, thiserror::Error)]
pub enum JailError {
    /// The launcher could not be started, or could not be talked to.
    #[error("failed to start the launcher `{}`", program.display())]
    Launcher {
        /// The launcher's path.
        program: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// The launcher ended, or took too long, before the jail stood.
    #[error("the launcher of the jail ended before the jail stood: {detail}")]
    LauncherEnded {
        /// What is known about its end.
        detail: String,
    },
    /// A step of the launcher failed.
    #[error("failed to {step}: {cause}")]
    Step {
        /// What was tried, as a verb.
        step: String,
        /// What the system said.
        cause: String,
        /// The number of the system's error, where it was one.
        errno: Option<i32>,
    },
    /// The specification cannot be carried out.
    #[error("invalid jail: {detail}")]
    InvalidSpec {
        /// What is wrong with it.
        detail: String,
    },
    /// The layers that work here do not add up to the minimum.
    #[error("the jail cannot be closed on this machine: {missing}")]
    BelowMinimum {
        /// Which layer is missing, and why.
        missing: String,
        /// What to do about it.
        fix: String,
    },
    /// The jailed process could not be asked for its state.
    #[error("failed to read the state of process {pid}")]
    State {
        /// Its number on the host.
        pid: u32,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// A seal plan could not be made.
    #[error("failed to make the seal plan: {detail}")]
    Plan {
        /// What went wrong.
        detail: String,
    },
}

impl JailError {
    /// What to do about it, one sentence each.
    pub fn hints(&self) -> Vec<String> {
        match self {
            Self::BelowMinimum { fix, .. } => vec![fix.clone()],
            Self::Launcher { .. }
            | Self::LauncherEnded { .. }
            | Self::Step { .. }
            | Self::InvalidSpec { .. }
            | Self::State { .. }
            | Self::Plan { .. } => vec!["run `mce doctor` to see which layers of the jail this machine has".to_owned()],
        }
    }
}
