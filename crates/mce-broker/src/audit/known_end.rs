//! Where the log was known to end, in a file apart from the log's own ones: it tells that all of those are gone, which would else
//! look like a log that was never begun. Behind the end by a second at most while lines are written.

use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use fs_err::OpenOptions;
use fs_err::os::unix::fs::OpenOptionsExt;

use super::head::NO_LINE;

/// Its name in the data directory.
const FILE_NAME: &str = "log.known";

/// The file.
#[derive(Debug)]
pub(super) struct KnownEnd {
    file: PathBuf,
    log: PathBuf,
}

impl KnownEnd {
    /// Of the log with this live file.
    pub(super) fn new(data_dir: &Path, log: &Path) -> Self {
        Self {
            file: data_dir.join(FILE_NAME),
            log: log.to_owned(),
        }
    }

    /// The number and the hash of a line that was written; none if nothing is known of this log.
    pub(super) fn read(&self) -> Option<(u64, String)> {
        let text = fs_err::read_to_string(&self.file).ok()?;
        let mut words = text.trim_end().splitn(3, ' ');
        let (seq, hash, log) = (words.next()?, words.next()?, words.next()?);
        let is_this = Path::new(log) == self.log && hash.len() == NO_LINE.len();
        Some((seq.trim_start_matches('0').parse().ok()?, hash.to_owned())).filter(|_| is_this)
    }

    /// Keeps the number and the hash of a line. The log must be locked.
    pub(super) fn write(&self, seq: u64, hash: &str) {
        let text = format!("{seq:020} {hash} {}\n", self.log.display());
        let mut options = OpenOptions::new();
        let file = options.create(true).truncate(false).write(true).mode(0o600).open(&self.file);
        let written = file.and_then(|file| {
            file.file().write_all_at(text.as_bytes(), 0)?;
            file.set_len(text.len() as u64)
        });
        if let Err(error) = written {
            tracing::debug!("the end of the audit log is not kept apart from it: {error}");
        }
    }
}
