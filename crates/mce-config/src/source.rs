//! Where a value came from, and where in its file it stands.

use std::fmt;
use std::path::PathBuf;

use serde::{Serialize, Serializer};

/// Where a value came from. `Display` is what `mce config show` prints.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// Nobody set it. Shown as `default`.
    Default,
    /// An argument of the command. Shown as `argument --port`.
    Argument {
        /// With its hyphens.
        flag: String,
    },
    /// A variable of the process environment. Shown as `environment MCE_PORT`.
    Environment {
        /// Its name.
        variable: String,
    },
    /// A variable of the `.env` file. Shown as `.env:MCE_PORT`.
    DotEnv {
        /// `.env` for the one that was found, else its path.
        file: PathBuf,
        /// Its name.
        variable: String,
    },
    /// A key of a configuration file. Shown as `/abs/mce.yaml: servers.shop.base_url`.
    File {
        /// An absolute path.
        file: PathBuf,
        /// Dotted; empty for the file as a whole.
        key: String,
    },
}

impl Source {
    /// The variable that holds the value.
    pub(crate) fn variable(&self) -> Option<&str> {
        match self {
            Self::Environment { variable } | Self::DotEnv { variable, .. } => Some(variable),
            Self::Default | Self::Argument { .. } | Self::File { .. } => None,
        }
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::Argument { flag } => write!(f, "argument {flag}"),
            Self::Environment { variable } => write!(f, "environment {variable}"),
            Self::DotEnv { file, variable } => write!(f, "{}:{variable}", file.display()),
            Self::File { file, key } if key.is_empty() => write!(f, "{}", file.display()),
            Self::File { file, key } => write!(f, "{}: {key}", file.display()),
        }
    }
}

impl Serialize for Source {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// Where a server's entry stands.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EntrySource {
    /// The program whose file it is, such as `claude-code`, or `MCP_CONFIG_PATH` for a file which that variable names. `None`:
    /// it is a file of ours.
    pub client: Option<&'static str>,
    /// The file, absolute.
    pub file: Option<PathBuf>,
    /// Further files that have the same server.
    pub also: Vec<PathBuf>,
}

impl EntrySource {
    /// Whether it was found in a file of another program. What is wrong with such a server is told, but is no failure.
    pub fn is_discovered(&self) -> bool {
        self.client.is_some()
    }
}

/// A source and, where it is known, the line in its file. Shown as `/abs/mce.yaml:12: servers.shop.base_url`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// Which value.
    pub source: Source,
    /// The line, from 1.
    pub line: Option<u64>,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.source, self.line) {
            (Source::File { file, key }, Some(line)) if key.is_empty() => write!(f, "{}:{line}", file.display()),
            (Source::File { file, key }, Some(line)) => write!(f, "{}:{line}: {key}", file.display()),
            (source, _) => source.fmt(f),
        }
    }
}

impl Place {
    /// The place of a key or an index below this one; that of a variable stays the variable. Line 0 is none.
    pub(crate) fn child(&self, key: &str, line: u64) -> Self {
        let source = match &self.source {
            Source::File { file, key: parent } => Source::File {
                file: file.clone(),
                key: if parent.is_empty() {
                    key.to_owned()
                } else {
                    format!("{parent}.{key}")
                },
            },
            other @ (Source::Default | Source::Argument { .. } | Source::Environment { .. } | Source::DotEnv { .. }) => other.clone(),
        };
        Self {
            source,
            line: (line > 0).then_some(line),
        }
    }
}
