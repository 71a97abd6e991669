//! Why the configuration could not be loaded.

use std::io;
use std::path::PathBuf;

use crate::{Place, Warning};

/// Why the configuration could not be loaded. No message holds a secret.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// A file that was named, or that exists, could not be read.
    #[error("failed to read `{}`", file.display())]
    ReadFile {
        /// The file.
        file: PathBuf,
        /// Why.
        #[source]
        cause: io::Error,
    },
    /// A file is larger than [`crate::MAX_FILE_BYTES`].
    #[error("`{}` has more than {limit} bytes", file.display())]
    FileSize {
        /// The file.
        file: PathBuf,
        /// The limit.
        limit: u64,
    },
    /// A file is not YAML, or a `.env` file has a line that is not an assignment.
    #[error("{place}: {message}")]
    Syntax {
        /// File and line.
        place: Place,
        /// What is wrong.
        message: String,
        /// What to do about it.
        hint: Option<&'static str>,
    },
    /// A value is not what its key or variable allows.
    #[error("{place}: expected {expected}, found {found}")]
    Value {
        /// Which value.
        place: Place,
        /// What is allowed.
        expected: String,
        /// What is there: the value in backticks, or what kind of thing it is if it may be secret.
        found: String,
    },
    /// A key that must be there is not.
    #[error("{place}: `{key}` is missing")]
    MissingKey {
        /// The mapping that lacks it.
        place: Place,
        /// The key.
        key: String,
        /// What to write.
        advice: String,
    },
    /// Keys that exclude each other are both there.
    #[error("{place}: `{first}` and `{second}` cannot both be given")]
    ConflictingKeys {
        /// The mapping that holds both.
        place: Place,
        /// One.
        first: String,
        /// The other.
        second: String,
    },
    /// Two servers of one file have the same name once normalised.
    #[error("{place}: servers `{first}` and `{second}` are both named `{name}` in code")]
    SameServerName {
        /// The second one.
        place: Box<Place>,
        /// As written.
        first: String,
        /// As written.
        second: String,
        /// After normalising.
        name: String,
    },
    /// A setting uses a `${VAR}` that nothing defines.
    #[error("{place}: variable `{variable}` is not defined")]
    UndefinedVariable {
        /// Which value.
        place: Place,
        /// The variable.
        variable: String,
    },
}

impl ConfigError {
    /// The same as a warning, for what must not be the end. `place` is for errors that have none.
    pub(crate) fn into_warning(self, place: Place) -> Warning {
        let hint = self.hint();
        let text = self.to_string();
        let place = match self {
            Self::Syntax { place, .. }
            | Self::Value { place, .. }
            | Self::MissingKey { place, .. }
            | Self::ConflictingKeys { place, .. }
            | Self::UndefinedVariable { place, .. } => place,
            Self::SameServerName { place, .. } => *place,
            Self::ReadFile { .. } | Self::FileSize { .. } => place,
        };
        let message = text.strip_prefix(&format!("{place}: ")).unwrap_or(&text).to_owned();
        Warning { place, message, hint }
    }

    /// What to do about it, where there is something to say.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::MissingKey { advice, .. } => Some(advice.clone()),
            Self::SameServerName { .. } => Some("rename one of them".to_owned()),
            Self::UndefinedVariable { variable, .. } => Some(format!(
                "set `{variable}` in the environment or in `.env`, or write `${{{variable}:-default}}`"
            )),
            Self::Syntax { hint, .. } => hint.map(str::to_owned),
            Self::ReadFile { .. } | Self::FileSize { .. } | Self::Value { .. } | Self::ConflictingKeys { .. } => None,
        }
    }
}
