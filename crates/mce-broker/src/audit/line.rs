//! What makes a line one of a chain: its number and the hash of the line before it.

use serde::Deserialize;

/// A line's place in the chain.
#[derive(Debug, Deserialize)]
pub(super) struct Chained {
    /// Its number.
    pub(super) seq: u64,
    /// The SHA-256 of the line before it, without the line's end.
    pub(super) prev: String,
    /// What is recorded.
    #[serde(default)]
    pub(super) event: String,
    /// What is told of the log itself, where that is what is recorded.
    #[serde(default)]
    pub(super) what: String,
    /// The length of what was torn.
    pub(super) bytes: Option<usize>,
    /// The last line that was removed because of its age.
    pub(super) until: Option<u64>,
    /// How many lines could not be written; of a log that was replaced, the number of the line that was known.
    pub(super) lines: Option<u64>,
}

impl Chained {
    /// Whether it is the line after that one.
    pub(super) fn follows(&self, seq: u64, hash: &str) -> bool {
        seq.checked_add(1) == Some(self.seq) && self.prev == hash
    }

    /// Whether it notes this about the log.
    pub(super) fn notes(&self, what: &str) -> bool {
        self.event == "log" && self.what == what
    }
}

/// The place of a line, if it has one.
pub(super) fn chained(line: &[u8]) -> Option<Chained> {
    serde_json::from_slice(line).ok()
}
