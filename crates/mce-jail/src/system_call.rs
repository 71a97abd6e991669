//! System calls that no library wraps.

use std::io;

use libc::c_long;

/// Makes all descriptors from `first` on close when a program is executed.
pub(crate) fn close_on_exec_from(first: u32) -> io::Result<()> {
    // SAFETY: close_range(2) takes three numbers and touches no memory of ours; with CLOSE_RANGE_CLOEXEC it closes
    // nothing, so that no owner of a descriptor is surprised.
    let value = unsafe { libc::syscall(libc::SYS_close_range, first, u32::MAX, libc::CLOSE_RANGE_CLOEXEC) };
    check(value).map(drop)
}

/// Turns the result of a system call into an error if it is negative.
fn check(value: c_long) -> io::Result<c_long> {
    if value < 0 { Err(io::Error::last_os_error()) } else { Ok(value) }
}
