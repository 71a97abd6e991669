//! Memory and threads of a worker, watched by the host where the kernel does not hold them: with resource limits off.

use std::os::fd::{AsRawFd as _, BorrowedFd};
use std::time::Duration;

use crate::Limits;

/// How often a worker is looked at. It cannot take much memory in that time.
pub(crate) const INTERVAL: Duration = Duration::from_millis(10);

const KIB_OF_MIB: u64 = 1024;

/// What a worker has too much of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Excess {
    /// Memory.
    Memory,
    /// Threads.
    Threads,
}

/// One worker under watch.
#[derive(Debug)]
pub(crate) struct Watch {
    status_file: String,
    memory_kib: u64,
    threads: u64,
}

impl Watch {
    /// Starts from what the worker has now. `None` if it is gone or `/proc` is not mounted.
    pub(crate) fn start(pidfd: BorrowedFd<'_>, limits: &Limits) -> Option<Self> {
        let info = fs_err::read_to_string(format!("/proc/self/fdinfo/{}", pidfd.as_raw_fd())).ok()?;
        let status_file = format!("/proc/{}/status", number(&info, "Pid:")?);
        let base = number(&fs_err::read_to_string(&status_file).ok()?, "RssAnon:")?;
        let memory_kib = base + u64::from(limits.memory_mib) * KIB_OF_MIB;
        Some(Self {
            status_file,
            memory_kib,
            threads: limits.processes.into(),
        })
    }

    /// Looks once. A worker that is gone has no excess.
    pub(crate) fn excess(&self) -> Option<Excess> {
        let status = fs_err::read_to_string(&self.status_file).ok()?;
        if number(&status, "RssAnon:")? > self.memory_kib {
            return Some(Excess::Memory);
        }
        (number(&status, "Threads:")? > self.threads).then_some(Excess::Threads)
    }
}

/// The number after a key at the beginning of a line.
fn number(text: &str, key: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(key))?;
    line.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_from_files_of_the_kernel() {
        let text = "Name:\tx Threads:\nThreads:\t12\nRssAnon:\t   345 kB\n";
        assert_eq!(number(text, "Threads:"), Some(12));
        assert_eq!(number(text, "RssAnon:"), Some(345));
        assert_eq!(number(text, "Pid:"), None);
    }
}
