//! The writer of the log. All processes that share it write one file, one line at a time, under one lock; each line holds its
//! number and the hash of the line before it. Nothing that was written is changed, but a line of our own that the disk did not
//! take whole.

use std::cmp::Ordering;
use std::fmt::Write as _;
use std::io::Write as _;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use fs_err::os::unix::fs::OpenOptionsExt;
use fs_err::{File, OpenOptions};
use mce_config::AuditSettings;
use serde_json::{Value, json};

use super::clock;
use super::files;
use super::head::{Head, HeadFile, Locked};
use super::known_end::KnownEnd;
use super::line::{self, Chained};
use crate::hex::sha256_hex;

/// Bytes at the end of a file in which its last line is looked for.
const TAIL_BYTES: u64 = 1 << 20;
/// Between two notes of where the log ends.
const KNOWN_INTERVAL: Duration = Duration::from_secs(1);

/// The log, open.
#[derive(Debug)]
pub(super) struct Log {
    settings: AuditSettings,
    // Held while a line is written: the lock between processes is none between the threads of one.
    open: Mutex<Open>,
}

#[derive(Debug)]
struct Open {
    live: Arc<File>,
    head: HeadFile,
    /// Lines that could not be written, and whose effects went on.
    unrecorded: u64,
    known: KnownEnd,
    /// When that was written last.
    told: Option<Instant>,
}

impl Log {
    /// Opens the log, or makes it; readable by its owner only.
    ///
    /// # Errors
    ///
    /// The system's.
    pub(super) fn open(settings: &AuditSettings, data_dir: &Path) -> std::io::Result<Self> {
        let open = Open {
            live: Arc::new(open_live(settings)?),
            head: HeadFile::open(&files::head(&settings.file))?,
            unrecorded: 0,
            known: KnownEnd::new(data_dir, &settings.file),
            told: None,
        };
        Ok(Self {
            settings: settings.clone(),
            open: Mutex::new(open),
        })
    }

    /// Adds a record, and gives the file that it is in.
    ///
    /// # Errors
    ///
    /// The system's. Then nothing was written.
    pub(super) fn append(&self, record: &Value) -> std::io::Result<Arc<File>> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let open = &mut *open;
        if open.head.is_removed() {
            open.head = HeadFile::open(&files::head(&self.settings.file))?;
        }
        let lock = open.head.lock()?;
        let mut writer = Writer {
            settings: &self.settings,
            live: &mut open.live,
            lock,
            known: &open.known,
        };
        let mut head = writer.find_end()?;
        let is_told = open.told.is_some_and(|told| told.elapsed() < KNOWN_INTERVAL);
        if !is_told {
            writer.check_known(&mut head)?;
        }
        if open.unrecorded > 0 {
            writer.note(&mut head, "unrecorded", &json!({"lines": open.unrecorded}))?;
            tracing::warn!("the audit log can be written again; {} of its lines were lost", open.unrecorded);
            open.unrecorded = 0;
        }
        writer.write(&mut head, record)?;
        if !is_told {
            open.known.write(head.seq, &head.hash);
            open.told = Some(Instant::now());
        }
        Ok(Arc::clone(writer.live))
    }

    /// Notes that something happened without a record, which the log says as soon as it can be written.
    pub(super) fn count_unrecorded(&self, error: &std::io::Error) {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.unrecorded += 1;
        if open.unrecorded == 1 {
            tracing::error!(
                "the audit log cannot be written, so that functions that write are refused and what reads is not recorded: {error}"
            );
        }
    }
}

/// The log while it is locked.
struct Writer<'a> {
    settings: &'a AuditSettings,
    live: &'a mut Arc<File>,
    lock: Locked<'a>,
    known: &'a KnownEnd,
}

impl Writer<'_> {
    /// Where the next line goes. What others did to the file meanwhile is found and noted.
    fn find_end(&mut self) -> std::io::Result<Head> {
        self.follow_name()?;
        let bytes = self.live.metadata()?.len();
        match self.lock.read() {
            Some(head) if head.bytes == bytes => Ok(head),
            // Written by a process that ended before it could write the head.
            Some(head) if head.bytes < bytes => self.take_in(head, bytes),
            // The process that began this file ended before it could write the head.
            Some(head)
                if bytes == 0
                    && files::all_full(&self.settings.file)?
                        .last()
                        .is_some_and(|full| full.first == head.first) =>
            {
                Ok(Head {
                    bytes: 0,
                    first: head.seq + 1,
                    day: clock::day(SystemTime::now(), 0),
                    ..head
                })
            }
            Some(mut head) => {
                tracing::error!(
                    "the audit log `{}` was cut or replaced by somebody else",
                    self.settings.file.display()
                );
                let expected = std::mem::replace(&mut head.bytes, bytes);
                if bytes == 0 {
                    head.first = head.seq + 1;
                    head.day = clock::day(SystemTime::now(), 0);
                } else {
                    self.end_torn_line(&mut head)?;
                }
                self.note(&mut head, "missing", &json!({"bytes": bytes, "expected": expected}))?;
                Ok(head)
            }
            None => self.begin(bytes),
        }
    }

    /// Notes that another log was put in the place of the one that is known, before what is known is forgotten for it.
    fn check_known(&mut self, head: &mut Head) -> std::io::Result<()> {
        let Some((seq, hash)) = self.known.read() else { return Ok(()) };
        let is_other = match seq.cmp(&head.seq) {
            Ordering::Greater => true,
            Ordering::Equal => hash != head.hash,
            Ordering::Less => self.hash_of(seq, head.bytes)?.is_some_and(|found| found != hash),
        };
        if !is_other {
            return Ok(());
        }
        let log = self.settings.file.display();
        tracing::error!("another log was put in the place of the audit log `{log}`: its line {seq} is gone or another");
        self.note(head, "replaced", &json!({"lines": seq}))
    }

    /// The hash of a line near the end of the live file.
    fn hash_of(&self, seq: u64, bytes: u64) -> std::io::Result<Option<String>> {
        let tail = read_range(self.live, bytes.saturating_sub(TAIL_BYTES), bytes)?;
        let known = tail
            .rsplit(|byte| *byte == b'\n')
            .filter_map(|line| Some((line::chained(line)?.seq, line)));
        let mut from_there = known.skip_while(|(other, _)| *other > seq);
        Ok(from_there
            .next()
            .filter(|(other, _)| *other == seq)
            .map(|(_, line)| sha256_hex(line)))
    }

    /// Opens the live file anew if its name leads elsewhere: another process began a new one, or somebody removed it.
    fn follow_name(&mut self) -> std::io::Result<()> {
        let named = std::fs::metadata(&self.settings.file).ok();
        let own = self.live.metadata()?;
        if named.is_none_or(|named| (named.dev(), named.ino()) != (own.dev(), own.ino())) {
            *self.live = Arc::new(open_live(self.settings)?);
        }
        Ok(())
    }

    /// The end of a log that has no head.
    fn begin(&mut self, bytes: u64) -> std::io::Result<Head> {
        let mut head = Head::empty(clock::day(SystemTime::now(), 0));
        let full = files::all_full(&self.settings.file)?;
        if bytes == 0 && full.is_empty() {
            // There was a log: the new one goes on where that was known to end, so that nobody takes it for the first.
            if let Some((seq, hash)) = self.known.read() {
                tracing::error!("the audit log `{}` was removed by somebody else", self.settings.file.display());
                (head.seq, head.hash, head.first) = (seq, hash, seq + 1);
                self.note(&mut head, "missing", &json!({"lines": seq}))?;
            }
            return Ok(head);
        }
        let last = last_line(self.live)?;
        match &last {
            // Files of before are followed by a new one.
            None if bytes == 0 => {
                if let Some((line, chained)) = full.last().map(|file| last_chained(&file.path)).transpose()?.flatten() {
                    head.seq = chained.seq;
                    head.hash = sha256_hex(&line);
                    head.first = chained.seq + 1;
                }
            }
            Some(line) => {
                head.hash = sha256_hex(line);
                if let Some(chained) = line::chained(line) {
                    head.seq = chained.seq;
                }
                head.first = first_seq(self.live)?.unwrap_or(head.seq + 1);
            }
            None => {}
        }
        head.bytes = bytes;
        self.end_torn_line(&mut head)?;
        if head.seq > 0 {
            self.note(&mut head, "no_head", &json!({}))?;
        }
        Ok(head)
    }

    /// Takes in lines behind the head that are of the chain, and ends one that was not written whole.
    fn take_in(&mut self, mut head: Head, bytes: u64) -> std::io::Result<Head> {
        let more = read_range(self.live, head.bytes, bytes)?;
        for line in more.split_inclusive(|byte| *byte == b'\n') {
            let Some(line) = line.strip_suffix(b"\n") else { continue };
            if let Some(chained) = line::chained(line).filter(|chained| chained.follows(head.seq, &head.hash)) {
                head.seq = chained.seq;
                head.hash = sha256_hex(line);
            }
        }
        head.bytes = bytes;
        self.end_torn_line(&mut head)?;
        Ok(head)
    }

    /// Ends a line that was not written whole, so that the next one does not become part of it, and notes its length.
    fn end_torn_line(&mut self, head: &mut Head) -> std::io::Result<()> {
        let tail = read_range(self.live, head.bytes.saturating_sub(TAIL_BYTES), head.bytes)?;
        let torn = tail.rsplit(|byte| *byte == b'\n').next().unwrap_or_default();
        if torn.is_empty() {
            return Ok(());
        }
        self.live.file().write_all(b"\n")?;
        head.bytes += 1;
        self.note(head, "torn", &json!({"bytes": torn.len()}))
    }

    /// Adds a record about the log itself.
    fn note(&mut self, head: &mut Head, what: &str, more: &Value) -> std::io::Result<()> {
        let mut record = json!({"time": clock::rfc3339(SystemTime::now()), "event": "log", "what": what});
        if let (Some(record), Some(more)) = (record.as_object_mut(), more.as_object()) {
            record.extend(more.clone());
        }
        self.write_line(head, &record)
    }

    /// Adds a record, in a new file if the live one is full or of another day.
    fn write(&mut self, head: &mut Head, record: &Value) -> std::io::Result<()> {
        let now = SystemTime::now();
        let day = clock::day(now, 0);
        if head.bytes > 0 && (head.day != day || head.bytes >= self.settings.max_bytes) {
            self.begin_file(head, day)?;
            if let Some(until) = self.forget_old(now, head.seq) {
                self.note(head, "forgotten", &json!({"until": until}))?;
            }
        }
        self.write_line(head, record)
    }

    fn begin_file(&mut self, head: &mut Head, day: String) -> std::io::Result<()> {
        fs_err::rename(&self.settings.file, files::full(&self.settings.file, &head.day, head.first))?;
        head.bytes = 0;
        head.first = head.seq + 1;
        head.day = day;
        // Before the new file exists: whoever finds none knows then that none is missing.
        self.lock.write(head)?;
        *self.live = Arc::new(open_live(self.settings)?);
        Ok(())
    }

    /// Removes files that have been kept long enough. Gives the number of the last line that is gone, if any is.
    fn forget_old(&self, now: SystemTime, last: u64) -> Option<u64> {
        let oldest = clock::day(now, self.settings.keep_days.into());
        let full = files::all_full(&self.settings.file).ok()?;
        let mut removed = full.iter().take_while(|file| {
            let removing = (file.day < oldest).then(|| fs_err::remove_file(&file.path));
            if let Some(Err(error)) = &removing {
                tracing::warn!("an old file of the audit log cannot be removed: {error}");
            }
            matches!(removing, Some(Ok(())))
        });
        let count = removed.by_ref().count();
        let next = full.get(count).map(|file| file.first.saturating_sub(1));
        (count > 0).then(|| next.unwrap_or(last))
    }

    fn write_line(&mut self, head: &mut Head, record: &Value) -> std::io::Result<()> {
        let record = record.to_string();
        let mut line = String::with_capacity(record.len() + 100);
        let _ = write!(line, "{{\"seq\":{},\"prev\":\"{}\",", head.seq + 1, head.hash);
        line.push_str(record.strip_prefix('{').unwrap_or_default());
        let hash = sha256_hex(&line);
        line.push('\n');
        // A line that the disk took in part only is taken back.
        if let Err(error) = self.live.file().write_all(line.as_bytes()) {
            let _ = self.live.file().set_len(head.bytes);
            return Err(error);
        }
        head.seq += 1;
        head.hash = hash;
        head.bytes += line.len() as u64;
        // If this fails, whoever writes next finds the line behind the head.
        if let Err(error) = self.lock.write(head) {
            tracing::debug!("the head of the audit log cannot be written: {error}");
        }
        Ok(())
    }
}

fn open_live(settings: &AuditSettings) -> std::io::Result<File> {
    let mut options = OpenOptions::new();
    options.create(true).read(true).append(true).mode(0o600).open(&settings.file)
}

fn read_range(file: &File, start: u64, end: u64) -> std::io::Result<Vec<u8>> {
    let mut bytes = vec![0; usize::try_from(end.saturating_sub(start)).unwrap_or_default()];
    // What is no plain file has no bytes to read.
    file.file().read_exact_at(&mut bytes, start)?;
    Ok(bytes)
}

/// The last whole line of a file.
fn last_line(file: &File) -> std::io::Result<Option<Vec<u8>>> {
    let bytes = file.metadata()?.len();
    let tail = read_range(file, bytes.saturating_sub(TAIL_BYTES), bytes)?;
    let mut lines = tail.rsplit(|byte| *byte == b'\n').skip(1);
    Ok(lines.next().filter(|line| !line.is_empty()).map(<[u8]>::to_vec))
}

fn last_chained(path: &Path) -> std::io::Result<Option<(Vec<u8>, Chained)>> {
    let line = last_line(&File::open(path)?)?;
    Ok(line.and_then(|line| line::chained(&line).map(|chained| (line, chained))))
}

/// The number of the first line of a file, if it has one.
fn first_seq(file: &File) -> std::io::Result<Option<u64>> {
    let bytes = file.metadata()?.len().min(TAIL_BYTES);
    let start = read_range(file, 0, bytes)?;
    let line = start.split(|byte| *byte == b'\n').next().unwrap_or_default();
    Ok(line::chained(line).map(|chained| chained.seq))
}
