//! Reads the log for people: its records in the order in which they were written, also while others write.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use fs_err::File;
use rustix::param::clock_ticks_per_second;
use serde_json::Value;

use super::files;

/// A process needs the first number of a call so long after its start, at least.
const START_MARGIN: Duration = Duration::from_secs(2);

/// Reads records from the oldest to the newest. What is no record is left out; `verify_audit` tells of it.
#[derive(Debug)]
pub struct AuditReader {
    live: PathBuf,
    /// Files to read, the live one last.
    waiting: VecDeque<File>,
    open: Option<BufReader<File>>,
    /// The start of a line whose end is not written yet.
    part: Vec<u8>,
}

impl AuditReader {
    /// Of all files of the log whose live file this is.
    ///
    /// # Errors
    ///
    /// The system's.
    pub fn open(live: &Path) -> std::io::Result<Self> {
        // First, since it may get another name meanwhile.
        let open = File::open(live).ok();
        let number = |file: &File| file.metadata().map(|facts| facts.ino()).unwrap_or_default();
        let full = if open.is_some() { files::all_full(live)? } else { Vec::new() };
        let full = full.iter().filter_map(|file| File::open(&file.path).ok());
        let full = full.filter(|file| open.as_ref().is_some_and(|open| number(open) != number(file)));
        Ok(Self {
            live: live.to_owned(),
            waiting: full
                .collect::<Vec<_>>()
                .into_iter()
                .chain(open.iter().filter_map(|open| open.try_clone().ok()))
                .collect(),
            open: None,
            part: Vec::new(),
        })
    }

    /// The next record; none if it is not written yet.
    ///
    /// # Errors
    ///
    /// The system's.
    pub fn next_record(&mut self) -> std::io::Result<Option<Value>> {
        loop {
            let Some(reader) = &mut self.open else {
                let next = self.waiting.pop_front().or_else(|| File::open(&self.live).ok());
                let Some(next) = next else { return Ok(None) };
                self.open = Some(BufReader::new(next));
                continue;
            };
            // Known before its end is: what is not the live file any more gets no more lines.
            let is_over = !is_same(reader.get_ref(), &self.live);
            let has_more = reader.read_until(b'\n', &mut self.part)? > 0;
            if has_more && self.part.ends_with(b"\n") {
                if let Ok(record @ Value::Object(_)) = serde_json::from_slice(&std::mem::take(&mut self.part)) {
                    return Ok(Some(record));
                }
            } else if is_over {
                self.part.clear();
                self.open = None;
            } else {
                return Ok(None);
            }
        }
    }
}

fn is_same(file: &File, path: &Path) -> bool {
    let numbers = |facts: std::fs::Metadata| (facts.dev(), facts.ino());
    let named = std::fs::metadata(path).ok().map(numbers);
    named.is_some() && file.metadata().ok().map(numbers) == named
}

/// Whether the process that wrote this number of a call runs still; none where that cannot be known.
pub fn is_under_way(call: &str) -> Option<bool> {
    let mut parts = call.split('-').map(|part| u64::from_str_radix(part, 16));
    let (process, since) = (parts.next()?.ok()?, Duration::from_millis(parts.next()?.ok()?));
    let machine = fs_err::read_to_string("/proc/stat").ok()?;
    let Ok(facts) = fs_err::read_to_string(format!("/proc/{process}/stat")) else {
        return Some(false);
    };
    // Its start since the machine's, behind the name in parentheses, which may hold anything. (proc_pid_stat(5))
    let ticks: u64 = facts.rsplit(')').next()?.split_whitespace().nth(19)?.parse().ok()?;
    let boot = machine.lines().find_map(|line| line.strip_prefix("btime ")?.trim().parse().ok())?;
    let start = Duration::from_secs(boot) + Duration::from_millis(ticks.saturating_mul(1000) / clock_ticks_per_second().max(1));
    // A number of before is given to another process again.
    Some(start <= since + START_MARGIN)
}

#[cfg(test)]
mod tests {
    use super::super::PROCESS;
    use super::*;

    #[test]
    fn a_call_of_this_process_is_under_way_and_one_of_a_process_of_before_is_not() {
        assert_eq!(is_under_way(&format!("{}-1", *PROCESS)), Some(true));
        // This process's number, but before it was started.
        assert_eq!(is_under_way(&format!("{:x}-1-1", std::process::id())), Some(false));
        assert_eq!(is_under_way("7fffffff-1-1"), Some(false));
        assert_eq!(is_under_way("forged"), None);
    }
}
