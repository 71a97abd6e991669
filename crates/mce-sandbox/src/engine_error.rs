//! Faults of an engine itself: no interpreter, no jail, a fork server that ended.

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
        /// What to do about it; empty if nothing more is known than `mce doctor` says.
        advice: String,
    },
    /// A fork server ended or answered wrongly.
    #[error("the fork server ended: {reason}")]
    ForkServer {
        /// What it said last, or how it ended.
        reason: String,
    },
    /// The options name a layer that does not exist.
    #[error("there is no layer with one of the names `{names}`")]
    Layer {
        /// As configured.
        names: String,
    },
    /// The sandbox was stopped.
    #[error("the sandbox has been stopped")]
    Stopped,
}

impl EngineError {
    /// What to do about it.
    pub fn hint(&self) -> Option<&str> {
        match self {
            Self::Interpreter { .. } => Some("install Python 3.10 or newer, or set `MCE_PYTHON` to its path"),
            Self::Jail { advice, .. } if !advice.is_empty() => Some(advice),
            Self::Jail { .. } => Some("`mce doctor` shows which layers of the jail this machine offers"),
            Self::ForkServer { .. } => Some("run it again; the fork server is replaced"),
            Self::Layer { .. } => Some("the layers are `namespaces`, `landlock`, `seccomp` and `rlimits`"),
            Self::Stopped => None,
        }
    }
}
