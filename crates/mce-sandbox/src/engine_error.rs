//! Faults of an engine itself: no interpreter, no jail, a fork server that ended.

use std::path::PathBuf;

/// Why an engine cannot run programs.
#[derive(Debug, Clone, thiserror::Error)]
pub enum EngineError {
    /// The configured interpreter cannot be used.
    #[error("python `{python}` cannot be used: {reason}")]
    Interpreter {
        /// As configured.
        python: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A jail could not be made.
    #[error("the jail could not be made: {reason}")]
    Jail {
        /// What failed.
        reason: String,
    },
    /// A fork server ended or answered wrongly.
    #[error("the fork server ended: {reason}")]
    ForkServer {
        /// What it said last, or how it ended.
        reason: String,
    },
    /// A file that the guest needs could not be written.
    #[error("failed to write `{path}`: {reason}")]
    Guest {
        /// The file.
        path: PathBuf,
        /// What failed.
        reason: String,
    },
    /// No engine of this language is built in.
    #[error("there is no engine for `{language}`")]
    Language {
        /// `typescript`, for now.
        language: &'static str,
    },
    /// The sandbox was stopped.
    #[error("the sandbox has been stopped")]
    Stopped,
}

impl EngineError {
    /// What to do about it.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Interpreter { .. } => Some("install Python 3.10 or newer, or set `MCE_PYTHON` to its path"),
            Self::Jail { .. } => Some("`mce doctor` shows which layers of the jail this machine offers"),
            Self::ForkServer { .. } => Some("run it again; the fork server is replaced"),
            Self::Guest { .. } => Some("check that the folder for temporary files can be written"),
            Self::Language { .. } => Some("use `python`"),
            Self::Stopped => None,
        }
    }
}
