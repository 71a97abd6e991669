//! `audit.head`: where the log ends. It is what processes that share the log lock, and what tells that lines at its end are
//! missing, which no chain can.

use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use fs_err::os::unix::fs::OpenOptionsExt;
use fs_err::{File, OpenOptions};
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

use super::files;

/// Always written whole, so that a process that is killed leaves the old text or the new one.
const BYTES: usize = 160;
/// How long one waits for other processes, which hold the lock for some microseconds.
const PATIENCE: Duration = Duration::from_secs(2);
/// Between two looks at a lock that is held.
const PAUSE: Duration = Duration::from_micros(50);
/// What the first line of all has as the hash of the line before it.
pub(super) const NO_LINE: &str = "0000000000000000000000000000000000000000000000000000000000000000";

/// The end of the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Head {
    /// The number of the last line; 0 before the first.
    pub(super) seq: u64,
    /// Its SHA-256, without the line's end.
    pub(super) hash: String,
    /// Bytes of the live file.
    pub(super) bytes: u64,
    /// The number of the live file's first line.
    pub(super) first: u64,
    /// The day of that line.
    pub(super) day: String,
}

impl Head {
    /// Of a log without lines.
    pub(super) fn empty(day: String) -> Self {
        Self {
            seq: 0,
            hash: NO_LINE.to_owned(),
            bytes: 0,
            first: 1,
            day,
        }
    }

    fn read(text: &str) -> Option<Self> {
        let mut words = text.split_whitespace();
        let mut word = || words.next();
        let head = Self {
            seq: word()?.parse().ok()?,
            hash: word()?.to_owned(),
            bytes: word()?.parse().ok()?,
            first: word()?.parse().ok()?,
            day: word()?.to_owned(),
        };
        let is_whole = head.hash.len() == NO_LINE.len() && files::is_day(&head.day) && word() == Some("end");
        is_whole.then_some(head)
    }

    fn text(&self) -> String {
        let text = format!("{} {} {} {} {} end", self.seq, self.hash, self.bytes, self.first, self.day);
        format!("{text:<width$}\n", width = BYTES - 1)
    }
}

/// The file, open.
#[derive(Debug)]
pub(super) struct HeadFile(File);

/// The log belongs to this process until this is dropped.
#[derive(Debug)]
pub(super) struct Locked<'a>(&'a File);

impl HeadFile {
    /// Opens the file, or makes it.
    ///
    /// # Errors
    ///
    /// The system's.
    pub(super) fn open(path: &Path) -> std::io::Result<Self> {
        OpenOptions::new()
            .create(true)
            .truncate(false)
            .read(true)
            .write(true)
            .mode(0o600)
            .open(path)
            .map(Self)
    }

    /// Opens the file, if there is one, to read it and to lock it.
    ///
    /// # Errors
    ///
    /// The system's.
    pub(super) fn open_to_read(path: &Path) -> std::io::Result<Self> {
        File::open(path).map(Self)
    }

    /// Whether somebody removed it, so that others would lock another one.
    pub(super) fn is_removed(&self) -> bool {
        self.0.metadata().is_ok_and(|facts| facts.nlink() == 0)
    }

    /// Locks the log for this process. Unlocked explicitly: a child that is being started shares the open file for a moment.
    ///
    /// # Errors
    ///
    /// `TimedOut` if another process does not give it up, else the system's.
    pub(super) fn lock(&self) -> std::io::Result<Locked<'_>> {
        let started = Instant::now();
        loop {
            match flock(&self.0, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => return Ok(Locked(&self.0)),
                Err(Errno::WOULDBLOCK) if started.elapsed() < PATIENCE => thread::sleep(PAUSE),
                Err(Errno::WOULDBLOCK) => {
                    return Err(std::io::Error::new(std::io::ErrorKind::TimedOut, "another process keeps it locked"));
                }
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
}

impl Locked<'_> {
    /// What the file says; none if that is nothing that this program wrote.
    pub(super) fn read(&self) -> Option<Head> {
        let mut text = [0; BYTES];
        self.0.file().read_exact_at(&mut text, 0).ok()?;
        Head::read(std::str::from_utf8(&text).ok()?)
    }

    pub(super) fn write(&self, head: &Head) -> std::io::Result<()> {
        self.0.file().write_all_at(head.text().as_bytes(), 0)
    }
}

impl Drop for Locked<'_> {
    fn drop(&mut self) {
        let _ = flock(self.0, FlockOperation::Unlock);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_is_read_as_it_was_written_and_nothing_else_is_taken_for_one() {
        let head = Head {
            seq: u64::MAX,
            bytes: u64::MAX,
            first: u64::MAX,
            ..Head::empty("2026-01-31".to_owned())
        };
        let text = head.text();
        assert_eq!(text.len(), BYTES);
        assert_eq!(Head::read(&text), Some(head));
        for wrong in ["", "1 2 3", "{}", &text.replace(" end", ""), &text.replace("2026-01", "2026/01")] {
            assert_eq!(Head::read(wrong), None, "{wrong}");
        }
    }
}
