//! What `load` has to say besides the settings: each value with its source, and warnings.

use std::fmt;

use serde::Serialize;

use crate::{Place, Source};

/// The text that stands for a secret.
pub const MASK: &str = "***";

/// What `load` found on its way.
#[derive(Debug, Clone, Default)]
pub struct Report {
    /// Every setting and every value of a server, in a fixed order. Serialises to a list of `{key, value, source}`.
    pub shown: Vec<Shown>,
    /// Things a person should know; none of them keeps the settings from working.
    pub warnings: Vec<Warning>,
    /// Servers in files of other programs that are left out on purpose, such as the entry that starts this program.
    pub notes: Vec<Warning>,
}

/// One value as `mce config show` prints it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Shown {
    /// Such as `port` or `servers.shop.base_url`.
    pub key: String,
    /// Secrets, values of `${VAR}` and passwords in URLs are `***`. Empty: not set.
    pub value: String,
    /// Where it came from.
    pub source: Source,
}

/// Something that works, but probably not as its writer meant it. Holds no secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Warning {
    /// What it is about.
    pub place: Place,
    /// What is wrong.
    pub message: String,
    /// What to do about it.
    pub hint: Option<String>,
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.message)
    }
}
