//! Checks the chain of the log: each line's number and hash, across files, and that the log ends where its head says.

use std::fmt;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

use fs_err::File;
use serde::Serialize;

use super::files;
use super::head::{HeadFile, NO_LINE};
use super::known_end::KnownEnd;
use super::line::{self, Chained};
use crate::hex::sha256_hex;

/// Faults that are told.
const MAX_FAULTS: usize = 20;

/// What a check of the log found.
#[derive(Debug, Default, Serialize)]
pub struct AuditReport {
    /// Files that were read.
    pub files: usize,
    /// Lines of the chain.
    pub lines: u64,
    /// The number of the first line that is kept; 0 without any.
    pub first: u64,
    /// The number of the last one.
    pub last: u64,
    /// Lines from before there was a chain, which tell nothing about themselves.
    pub unchained: u64,
    /// Lines that a process did not write whole because it was killed or the disk was full.
    pub torn: u64,
    /// Lines that could not be written, as the log says itself.
    pub unrecorded: u64,
    /// What is not as it was written; the first twenty.
    pub faults: Vec<AuditFault>,
}

/// A place of the log that is not as it was written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AuditFault {
    /// The file.
    pub file: PathBuf,
    /// Its line, counted from 1; none if it is about the file's end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
    /// What is wrong there.
    pub what: String,
}

impl fmt::Display for AuditFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "{}:{line}: {}", self.file.display(), self.what),
            None => write!(f, "{}: {}", self.file.display(), self.what),
        }
    }
}

/// Checks the log whose live file this is, also against what is known of it in the data directory. What is written meanwhile is
/// not looked at.
///
/// # Errors
///
/// The system's, if a file cannot be read.
pub fn verify_audit(live: &Path, data_dir: &Path) -> std::io::Result<AuditReport> {
    let head_path = files::head(live);
    let mut check = Check {
        known: KnownEnd::new(data_dir, live).read(),
        ..Check::default()
    };
    if !live.exists() && !head_path.exists() {
        check.check_known(live);
        return Ok(check.report);
    }
    // Files and head as they are at one moment.
    let head_file = HeadFile::open_to_read(&head_path).ok();
    let lock = head_file.as_ref().map(HeadFile::lock).transpose()?;
    let head = lock.as_ref().and_then(super::head::Locked::read);
    let full = files::all_full(live)?;
    let open = File::open(live).ok();
    let bytes = open.as_ref().map(File::metadata).transpose()?.map_or(0, |facts| facts.len());
    drop(lock);
    for file in &full {
        check.read_file(&file.path, File::open(&file.path)?, u64::MAX)?;
    }
    if let Some(open) = open {
        check.read_file(live, open, bytes)?;
    }
    let end = head.map(|head| (head.seq, head.hash));
    check.check_ends(live, &head_path, end);
    check.check_known(live);
    Ok(check.report)
}

/// The line that was read last.
#[derive(Debug)]
struct Last {
    seq: u64,
    hash: String,
    file: PathBuf,
    line: u64,
}

#[derive(Debug, Default)]
struct Check {
    report: AuditReport,
    last: Option<Last>,
    /// The hash of the last line before there was a chain.
    before: Option<String>,
    /// Places and lengths of lines that are none, until a line says that they were torn.
    unread: Vec<(AuditFault, usize)>,
    /// The last line that was removed because of its age.
    forgotten: u64,
    /// The number and the hash of a line that was written, from elsewhere.
    known: Option<(u64, String)>,
    /// That this line is another.
    replaced: Option<AuditFault>,
}

impl Check {
    fn read_file(&mut self, path: &Path, file: File, bytes: u64) -> std::io::Result<()> {
        self.report.files += 1;
        let mut reader = BufReader::new(std::io::Read::take(file, bytes));
        let mut text = Vec::new();
        for number in 1.. {
            text.clear();
            if reader.read_until(b'\n', &mut text)? == 0 {
                break;
            }
            match text.strip_suffix(b"\n") {
                Some(line) => self.read_line(path, number, line),
                // It is ended by whoever writes next.
                None => self.report.torn += 1,
            }
        }
        Ok(())
    }

    fn read_line(&mut self, path: &Path, number: u64, text: &[u8]) {
        let fault = |what: String| AuditFault {
            file: path.to_owned(),
            line: Some(number),
            what,
        };
        let Some(chained) = line::chained(text) else {
            // Another program may have written here, before there was a chain.
            if self.last.is_none() && serde_json::from_slice::<serde::de::IgnoredAny>(text).is_ok() {
                self.report.unchained += 1;
                self.before = Some(sha256_hex(text));
            } else {
                self.unread.push((fault("it is no line of this log".to_owned()), text.len()));
            }
            return;
        };
        self.judge_unread(&chained);
        self.report.lines += 1;
        if chained.notes("unrecorded") {
            self.report.unrecorded += chained.lines.unwrap_or_default();
        }
        if chained.notes("no_head") && chained.seq > 1 {
            self.add(fault(
                "the head was missing when this was written: lines before it may have been cut off".to_owned(),
            ));
        }
        if chained.notes("replaced") {
            let what = "another log was put in the place of this one before this was written";
            let known = chained.lines.unwrap_or_default();
            self.add(fault(format!("{what}: line {known}, which was known, is gone or another")));
        }
        if chained.notes("forgotten") {
            self.forgotten = self.forgotten.max(chained.until.unwrap_or_default());
        }
        self.check_place(&chained, fault);
        let hash = sha256_hex(text);
        if self
            .known
            .as_ref()
            .is_some_and(|(seq, known)| *seq == chained.seq && *known != hash)
        {
            let what = "another line of this number was written: the log was begun anew, or made anew";
            self.replaced = Some(fault(what.to_owned()));
        }
        self.last = Some(Last {
            seq: chained.seq,
            hash,
            file: path.to_owned(),
            line: number,
        });
    }

    fn check_place(&mut self, chained: &Chained, fault: impl Fn(String) -> AuditFault) {
        let Some(last) = &self.last else {
            self.report.first = chained.seq;
            let before = self.before.as_deref().unwrap_or(NO_LINE);
            if chained.seq == 1 && chained.prev != before {
                self.add(fault("what was before it was changed or removed".to_owned()));
            }
            return;
        };
        if chained.follows(last.seq, &last.hash) {
            return;
        }
        let found = match chained.seq.checked_sub(last.seq) {
            Some(1) => AuditFault {
                file: last.file.clone(),
                line: Some(last.line),
                what: format!("line {} of the log was changed", last.seq),
            },
            Some(2..) => fault(format!(
                "lines {} to {} of the log are missing before it",
                last.seq + 1,
                chained.seq - 1
            )),
            Some(0) | None => fault(format!("it is line {} of the log and stands after line {}", chained.seq, last.seq)),
        };
        self.add(found);
    }

    /// Lines that are none are no fault if this line says that the one before it was torn.
    fn judge_unread(&mut self, next: &Chained) {
        let mut unread = std::mem::take(&mut self.unread);
        let is_torn = unread
            .last()
            .is_some_and(|(_, bytes)| next.notes("torn") && next.bytes == Some(*bytes));
        if is_torn {
            unread.pop();
            self.report.torn += 1;
        }
        for (fault, _) in unread {
            self.add(fault);
        }
    }

    fn check_ends(&mut self, live: &Path, head_path: &Path, end: Option<(u64, String)>) {
        for (fault, _) in std::mem::take(&mut self.unread) {
            self.add(fault);
        }
        let fault = |file: &Path, what: String| AuditFault {
            file: file.to_owned(),
            line: None,
            what,
        };
        if self.report.first > self.forgotten + 1 {
            self.add(fault(live, format!("lines 1 to {} of the log are missing", self.report.first - 1)));
        }
        let (seq, hash) = self.last.as_ref().map_or((0, ""), |last| (last.seq, last.hash.as_str()));
        self.report.last = seq;
        let found = match end {
            None if seq > 0 => fault(
                head_path,
                "it is missing or damaged, so that nobody can tell whether the log's last lines are there".to_owned(),
            ),
            Some((expected, _)) if expected > seq => fault(live, format!("lines {} to {expected} of the log are missing", seq + 1)),
            Some((expected, expected_hash)) if expected == seq && seq > 0 && expected_hash != hash => {
                fault(live, format!("line {seq} of the log, the last one, was changed"))
            }
            // Lines after that are of a process that was killed before it could write the head.
            Some(_) | None => return,
        };
        self.add(found);
    }

    /// What is known of lines that were written, where nothing else tells that they are gone or others.
    fn check_known(&mut self, live: &Path) {
        let missing = self
            .known
            .take()
            .filter(|(seq, _)| *seq > self.report.last)
            .map(|(seq, _)| AuditFault {
                file: live.to_owned(),
                line: None,
                what: format!("lines {} to {seq} of the log are missing", self.report.last + 1),
            });
        let found = missing.or(self.replaced.take());
        self.report.faults.extend(found.filter(|_| self.report.faults.is_empty()));
    }

    fn add(&mut self, fault: AuditFault) {
        if self.report.faults.len() < MAX_FAULTS {
            self.report.faults.push(fault);
        }
    }
}
