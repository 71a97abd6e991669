//! How long a person was waited for.

use std::time::{Duration, Instant};

/// Time in which at least one question waited.
#[derive(Debug, Default)]
pub(crate) struct WaitingClock {
    waiting: u32,
    since: Option<Instant>,
    total: Duration,
}

impl WaitingClock {
    /// A question waits.
    pub(crate) fn start(&mut self) {
        self.waiting += 1;
        self.since.get_or_insert_with(Instant::now);
    }

    /// It does not any more.
    pub(crate) fn stop(&mut self) {
        self.waiting -= 1;
        if self.waiting == 0 {
            self.total = self.read();
            self.since = None;
        }
    }

    /// All the time so far.
    pub(crate) fn read(&self) -> Duration {
        self.total + self.since.map(|since| since.elapsed()).unwrap_or_default()
    }
}
