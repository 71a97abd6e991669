//! Everything that the commands print. Colours only on a terminal and without `NO_COLOR`.

use std::io::{self, ErrorKind, IsTerminal, Write};
use std::sync::atomic::{AtomicBool, Ordering};

use serde::Serialize;

use crate::failure::Failure;

static LOST_OUTPUT: AtomicBool = AtomicBool::new(false);

/// Whether something that was to be printed could not be written.
pub(crate) fn lost_output() -> bool {
    LOST_OUTPUT.load(Ordering::Relaxed)
}

/// Where and how to print.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Terminal {
    is_colour_out: bool,
    is_colour_err: bool,
    is_terminal_err: bool,
}

impl Terminal {
    pub(crate) fn new(has_no_color: bool) -> Self {
        let is_terminal_err = io::stderr().is_terminal();
        Self {
            is_colour_out: !has_no_color && io::stdout().is_terminal(),
            is_colour_err: !has_no_color && is_terminal_err,
            is_terminal_err,
        }
    }

    /// Whether a person watches standard error.
    pub(crate) fn is_watched(self) -> bool {
        self.is_terminal_err
    }

    #[expect(clippy::unused_self, reason = "whoever prints has been handed the terminal")]
    /// One line on standard output. A reader that has left is no failure; a full disk is, see [`lost_output`].
    pub(crate) fn line(self, text: impl AsRef<str>) {
        if let Err(error) = writeln!(io::stdout().lock(), "{}", text.as_ref())
            && error.kind() != ErrorKind::BrokenPipe
        {
            LOST_OUTPUT.store(true, Ordering::Relaxed);
        }
    }

    /// One JSON value on standard output.
    pub(crate) fn json(self, value: &impl Serialize) -> Result<(), Failure> {
        let text = serde_json::to_string(value).map_err(Failure::internal)?;
        self.line(text);
        Ok(())
    }

    /// A heading on standard output.
    pub(crate) fn heading(self, text: &str) {
        self.line(format!("\n{}", paint(self.is_colour_out, "1;36", text)));
    }

    /// Fainter text for standard output.
    pub(crate) fn faint(self, text: &str) -> String {
        paint(self.is_colour_out, "2", text)
    }

    /// Green or red text for standard output.
    pub(crate) fn verdict(self, is_good: bool, text: &str) -> String {
        paint(self.is_colour_out, if is_good { "32" } else { "31" }, text)
    }

    #[expect(clippy::unused_self, reason = "whoever prints has been handed the terminal")]
    /// One line on standard error.
    pub(crate) fn note(self, text: impl AsRef<str>) {
        let _ = writeln!(io::stderr().lock(), "{}", text.as_ref());
    }

    /// A warning on standard error.
    pub(crate) fn warning(self, text: &str) {
        self.note(format!("{} {text}", paint(self.is_colour_err, "33", "warning:")));
    }

    /// A failure on standard error: as JSON for programs, else as text with its hint last.
    pub(crate) fn failure(self, failure: &Failure, is_json: bool) {
        if is_json {
            self.note(failure.to_json().to_string());
            return;
        }
        self.note(format!("{} {failure}", paint(self.is_colour_err, "31", "error:")));
        if let Some(body) = &failure.body {
            self.note(format!("  the API said: {body}"));
        }
        if let Some(hint) = &failure.hint {
            self.note(format!("{} {hint}", paint(self.is_colour_err, "36", "hint:")));
        }
    }
}

fn paint(is_on: bool, code: &str, text: &str) -> String {
    if is_on {
        format!("\u{1b}[{code}m{text}\u{1b}[0m")
    } else {
        text.to_owned()
    }
}
