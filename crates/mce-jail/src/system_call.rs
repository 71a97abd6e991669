//! System calls that no library wraps, each behind a function that is safe to call.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd as _, BorrowedFd};
use std::time::Duration;

use libc::{c_int, c_long, c_uint};

/// What [`duplicate_process`] returns.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Side {
    /// In the new process.
    Child,
    /// In the process that called, with the new one's id.
    Parent(rustix::process::Pid),
}

/// Forks the calling process; the child is in new namespaces of the given kinds (`CLONE_NEW*`).
///
/// Only for processes with a single thread: in the child of any other one, locks may be held for ever.
pub(crate) fn duplicate_process(new_namespaces: c_int) -> io::Result<Side> {
    let flags = c_long::from(new_namespaces | libc::SIGCHLD);
    // SAFETY: without CLONE_VM and with no stack clone(2) is a fork: the child has a copy of all memory, so nothing is
    // shared with it. The only caller is the launcher, which has a single thread, so no lock is held by another one. All
    // arguments but the flags are null, which both orders of arguments (x86_64, aarch64) read as "not used".
    let value = unsafe { libc::syscall(libc::SYS_clone, flags, 0_usize, 0_usize, 0_usize, 0_usize) };
    let pid = i32::try_from(check(value)?).map_err(io::Error::other)?;
    Ok(rustix::process::Pid::from_raw(pid).map_or(Side::Child, Side::Parent))
}

/// Waits for a child and takes its end: its wait status, and the processor time of it and its own children.
pub(crate) fn wait_for(pid: rustix::process::Pid) -> io::Result<(i32, Duration)> {
    let mut status: c_int = 0;
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    loop {
        // SAFETY: wait4(2) writes one `int` and one `struct rusage`; both live through the call.
        let value = unsafe { libc::wait4(pid.as_raw_nonzero().get(), &raw mut status, 0, usage.as_mut_ptr()) };
        match check(value.into()) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            result => break result.map(drop)?,
        }
    }
    // SAFETY: it was zeroed, and every pattern of bits is a value of these numbers.
    let usage = unsafe { usage.assume_init() };
    let time = |time: libc::timeval| {
        let microseconds = Duration::from_micros(u64::try_from(time.tv_usec).unwrap_or_default());
        Duration::from_secs(u64::try_from(time.tv_sec).unwrap_or_default()) + microseconds
    };
    Ok((status, time(usage.ru_utime) + time(usage.ru_stime)))
}

/// Moves the calling thread to new namespaces of the given kinds (`CLONE_NEW*`); for PID namespaces, its next children.
pub(crate) fn unshare(new_namespaces: c_int) -> io::Result<()> {
    // SAFETY: unshare(2) takes one number and touches no memory of ours. The flags that would separate descriptors or
    // directories of threads are not among the kinds of namespaces.
    let value = unsafe { libc::unshare(new_namespaces) };
    check(value.into()).map(drop)
}

/// Gives the calling process a session key ring of its own that nobody may use, not even who holds it. An error where the
/// kernel has no key rings, or another filter refuses them to this process.
pub(crate) fn enter_empty_key_ring() -> io::Result<()> {
    const JOIN_SESSION_KEYRING: c_long = 1;
    const SET_PERMISSIONS: c_long = 5;
    const SESSION_KEYRING: c_long = -3;
    // SAFETY: keyctl(2) takes numbers here and a null pointer for "no name", and touches no memory of ours.
    check(unsafe { libc::syscall(libc::SYS_keyctl, JOIN_SESSION_KEYRING, 0_usize) })?;
    // SAFETY: as above; the numbers are a key ring and no permissions.
    let value = unsafe { libc::syscall(libc::SYS_keyctl, SET_PERMISSIONS, SESSION_KEYRING, 0) };
    check(value).map(drop)
}

/// Makes all descriptors from `first` on close when a program is executed.
pub(crate) fn close_on_exec_from(first: u32) -> io::Result<()> {
    // SAFETY: close_range(2) takes three numbers and touches no memory of ours; with CLOSE_RANGE_CLOEXEC it closes
    // nothing now, so that no owner of a descriptor is surprised.
    let value = unsafe { libc::syscall(libc::SYS_close_range, first, c_uint::MAX, libc::CLOSE_RANGE_CLOEXEC) };
    check(value).map(drop)
}

/// Gives `fd` a second number, open in the program that is executed next.
///
/// The caller makes sure that nobody owns `number`.
pub(crate) fn place_descriptor(fd: impl AsFd, number: i32) -> io::Result<()> {
    // SAFETY: dup2(2) takes two numbers and touches no memory of ours. The launcher calls it right before exec, after it
    // has moved all descriptors that it owns above every `number` it places.
    let value = unsafe { libc::dup2(fd.as_fd().as_raw_fd(), number) };
    check(value.into()).map(drop)
}

/// Sets attributes (`MOUNT_ATTR_*`) of a mount, given by any descriptor in it, and of all mounts below if `is_recursive`.
pub(crate) fn set_mount_attributes(mount: BorrowedFd<'_>, attributes: u64, is_recursive: bool) -> io::Result<()> {
    let attr = libc::mount_attr {
        attr_set: attributes,
        attr_clr: 0,
        propagation: 0,
        userns_fd: 0,
    };
    let flags = libc::AT_EMPTY_PATH | if is_recursive { libc::AT_RECURSIVE } else { 0 };
    // SAFETY: the path is a constant that ends in a zero byte; `attr` is a `struct mount_attr` that lives through the
    // call, and its size is the one that is passed. mount_setattr(2) only reads both.
    let value = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            mount.as_raw_fd(),
            c"".as_ptr(),
            flags,
            &raw const attr,
            size_of::<libc::mount_attr>(),
        )
    };
    check(value).map(drop)
}

/// The version of Landlock's interface that the kernel offers; an error where it has none.
pub(crate) fn landlock_version() -> io::Result<u32> {
    const CREATE_RULESET_VERSION: c_uint = 1;
    // SAFETY: with no attributes, size 0 and this flag landlock_create_ruleset(2) returns a number and does nothing else.
    let value = unsafe {
        libc::syscall(
            libc::SYS_landlock_create_ruleset,
            std::ptr::null::<u8>(),
            0_usize,
            CREATE_RULESET_VERSION,
        )
    };
    u32::try_from(check(value)?).map_err(io::Error::other)
}

/// Asks whether the kernel filters system calls and can refuse one with an error.
pub(crate) fn has_seccomp_filters() -> io::Result<()> {
    let action: u32 = libc::SECCOMP_RET_ERRNO;
    // SAFETY: seccomp(2) with SECCOMP_GET_ACTION_AVAIL reads one `u32`, which lives through the call.
    let value = unsafe { libc::syscall(libc::SYS_seccomp, libc::SECCOMP_GET_ACTION_AVAIL, 0, &raw const action) };
    check(value).map(drop)
}

/// Makes any system call.
///
/// # Safety
///
/// Arguments that the call takes for addresses must be valid for what it does with them, and what it does to the process
/// (closing descriptors, unmapping memory) must not surprise the owner of anything.
pub(crate) unsafe fn any(number: c_long, arguments: [i64; 6]) -> io::Result<i64> {
    let [first, second, third, fourth, fifth, sixth] = arguments;
    // SAFETY: the caller's promise.
    let value = unsafe { libc::syscall(number, first, second, third, fourth, fifth, sixth) };
    check(value)
}

/// Turns the result of a system call into an error if it is negative.
fn check(value: c_long) -> io::Result<c_long> {
    if value < 0 { Err(io::Error::last_os_error()) } else { Ok(value) }
}
