//! Numbers that the kernel keeps about a process, read from the host's `/proc`.

use std::io;
use std::os::unix::fs::MetadataExt as _;

use crate::jail_error::JailError;

/// Memory of a process as the kernel counts it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MemoryUse {
    /// Address space, in bytes.
    pub address_space_bytes: u64,
    /// Private writable memory, touched or not, in bytes.
    pub data_bytes: u64,
    /// Resident memory, shared pages included, in bytes.
    pub resident_bytes: u64,
}

impl MemoryUse {
    /// Memory of the process with this id on the host, as of now.
    ///
    /// # Errors
    ///
    /// [`JailError::State`] if there is none.
    pub fn of(pid: u32) -> Result<Self, JailError> {
        let failed = |source| JailError::State { pid, source };
        let status = fs_err::read_to_string(format!("/proc/{pid}/status")).map_err(failed)?;
        let bytes = |key: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(key)?.strip_suffix("kB"));
            let kib = line.and_then(|line| line.trim().parse::<u64>().ok());
            // A process that has ended and was not waited for has no memory.
            kib.map(|kib| kib * 1024)
                .ok_or_else(|| failed(io::Error::other("the process has ended")))
        };
        Ok(Self {
            address_space_bytes: bytes("VmSize:")?,
            data_bytes: bytes("VmData:")?,
            resident_bytes: bytes("VmRSS:")?,
        })
    }
}

/// How many tasks the user of this process has on the whole machine.
pub(crate) fn count_tasks(pid: u32) -> Result<u64, JailError> {
    let failed = |source| JailError::State { pid, source };
    let user = fs_err::metadata(format!("/proc/{pid}/task/{pid}")).map_err(failed)?.uid();
    let mut count = 0;
    for entry in fs_err::read_dir("/proc").map_err(failed)?.flatten() {
        let is_process = entry.file_name().to_string_lossy().bytes().all(|byte| byte.is_ascii_digit());
        if is_process && entry.metadata().is_ok_and(|metadata| metadata.uid() == user) {
            // A process may end while it is counted.
            count += fs_err::read_dir(entry.path().join("task")).map_or(0, |tasks| tasks.count() as u64);
        }
    }
    Ok(count)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_of_a_process_is_read() {
        let memory = MemoryUse::of(std::process::id()).unwrap();
        assert!(memory.address_space_bytes > memory.data_bytes);
        assert!(memory.address_space_bytes > memory.resident_bytes);
        assert!(memory.resident_bytes > 0);
    }

    #[test]
    fn a_process_that_is_not_there_is_an_error() {
        assert!(matches!(MemoryUse::of(u32::MAX), Err(JailError::State { pid: u32::MAX, .. })));
    }

    #[test]
    fn the_own_tasks_are_counted() {
        let (stop, wait) = std::sync::mpsc::channel::<()>();
        let thread = std::thread::spawn(move || wait.recv());
        assert!(count_tasks(std::process::id()).unwrap() >= 2);
        drop(stop);
        assert!(thread.join().unwrap().is_err());
    }
}
