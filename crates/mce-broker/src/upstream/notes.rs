//! What a server said beside the protocol: the last lines of its stderr, and of what it printed where only messages belong.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use crate::redact::Redactor;

/// Lines kept per server.
const MAX_LINES: usize = 40;
/// Characters kept per line.
const MAX_LINE_CHARS: usize = 400;
/// Bytes read per line: more than are kept, so that no secret is cut before it is seen.
pub(super) const MAX_LINE_BYTES: usize = 16 << 10;

/// The last lines of one server, over all its processes.
#[derive(Debug)]
pub(super) struct Notes {
    redactor: Arc<Redactor>,
    // Held for one push or one copy.
    lines: Mutex<VecDeque<String>>,
}

impl Notes {
    /// None yet. What is added is kept without secrets and places of the settings.
    pub(super) fn new(redactor: &Arc<Redactor>) -> Self {
        Self {
            redactor: Arc::clone(redactor),
            lines: Mutex::default(),
        }
    }

    /// Keeps a line and writes it to the log.
    pub(super) fn add(&self, server: &str, from: &str, line: &[u8]) {
        let line = String::from_utf8_lossy(line.get(..MAX_LINE_BYTES).unwrap_or(line));
        let text: String = self
            .redactor
            .text(&line)
            .chars()
            .take(MAX_LINE_CHARS)
            .map(|c| if c.is_control() { ' ' } else { c })
            .collect();
        let text = text.trim_end();
        if text.is_empty() {
            return;
        }
        tracing::debug!(server, from, line = text, "an MCP server printed");
        let mut lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        if lines.len() == MAX_LINES {
            lines.pop_front();
        }
        lines.push_back(text.to_owned());
    }

    /// A copy, oldest first.
    pub(super) fn lines(&self) -> Vec<String> {
        let lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        lines.iter().cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_lines_are_kept_without_control_characters() {
        let notes = Notes::new(&Arc::new(Redactor::new(&[])));
        for number in 0..100 {
            notes.add("s", "stderr", format!("\u{1b}[31mline {number}\r").as_bytes());
        }
        notes.add("s", "stderr", &[b'x'; 5000]);
        let lines = notes.lines();
        assert_eq!(lines.len(), MAX_LINES);
        assert_eq!(lines[MAX_LINES - 2], " [31mline 99");
        assert_eq!(lines.last().unwrap().len(), MAX_LINE_CHARS);
    }
}
