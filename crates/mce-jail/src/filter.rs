//! The list of system calls that a worker may make. All others fail with `EPERM`, so that a program sees an error that it
//! can report, and the run ends in an orderly way.
//!
//! Numbers of another architecture end the process; numbers of the x32 interface are not in the list.

use std::collections::BTreeMap;

use seccompiler::{SeccompCmpArgLen as Length, SeccompCmpOp as Is, SeccompCondition, SeccompRule};

use crate::allowed_calls::ALLOWED;
use crate::call_tree::{Verdict, compile_tree};

/// Stands for the worker's own process id in rules; the worker puts the right one in. No other number in the filter is
/// equal to it, which the tests check.
const OWN_PID: u64 = 0x4d43_4550;

/// A filter as bytes of `struct sock_filter`.
#[derive(Debug)]
pub(crate) struct Filter {
    pub(crate) bytes: Vec<u8>,
    /// Instructions.
    pub(crate) length: usize,
    /// Offsets in `bytes` of four bytes each where the worker's own process id belongs.
    pub(crate) own_pid_at: Vec<usize>,
}

/// Bytes of one instruction: a code (2), two jumps (1 each) and a number (4).
const INSTRUCTION: usize = 8;

/// Compiles the filter for this machine's architecture.
pub(crate) fn compile_filter() -> Result<Filter, seccompiler::BackendError> {
    let allowed = ALLOWED.iter().flat_map(|group| group.calls).map(|call| (*call, Verdict::Allow));
    let checked = conditional()?.into_iter().map(|(call, rules)| (call, Verdict::Check(rules)));
    // Its flags lie in memory, where a filter cannot see them. C libraries fall back to `clone` on this error only.
    let unknown = [(libc::SYS_clone3, Verdict::Refuse(libc::ENOSYS))];
    // Numbers of system calls are small and positive.
    let by_number = |(call, verdict)| Some((u32::try_from(call).ok()?, verdict));
    let program = compile_tree(
        allowed
            .chain(checked)
            .chain(unknown)
            .filter_map(by_number)
            .collect::<BTreeMap<_, _>>(),
    );
    let mut filter = Filter {
        bytes: Vec::with_capacity(program.len() * INSTRUCTION),
        length: program.len(),
        own_pid_at: Vec::new(),
    };
    for (index, instruction) in program.iter().enumerate() {
        if u64::from(instruction.k) == OWN_PID {
            filter.own_pid_at.push(index * INSTRUCTION + 4);
        }
        filter.bytes.extend(instruction.code.to_ne_bytes());
        filter.bytes.extend([instruction.jt, instruction.jf]);
        filter.bytes.extend(instruction.k.to_ne_bytes());
    }
    Ok(filter)
}

type Rules = (i64, Vec<SeccompRule>);

/// Calls that are allowed with some arguments only.
fn conditional() -> Result<Vec<Rules>, seccompiler::BackendError> {
    let rules = [
        (libc::SYS_clone, one_of([all([thread_only()?])?])),
        (libc::SYS_mmap, mappings()?),
        (libc::SYS_mprotect, protections()?),
        // The event loop of asyncio wakes itself through a pair. It leads nowhere.
        (
            libc::SYS_socketpair,
            one_of([all([equals(0, libc::AF_UNIX.unsigned_abs().into())?])?]),
        ),
        // Only on connected sockets, such as the frame socket: without an address.
        (
            libc::SYS_sendto,
            one_of([all([SeccompCondition::new(4, Length::Qword, Is::Eq, 0)?])?]),
        ),
        // Signals to itself. `abort` and `raise` need them.
        (libc::SYS_kill, any_of(0, &[OWN_PID])?),
        (libc::SYS_tkill, any_of(0, &[OWN_PID])?),
        (libc::SYS_tgkill, any_of(0, &[OWN_PID])?),
        // Limits can be read, not set.
        (libc::SYS_prlimit64, limits()?),
        (
            libc::SYS_prctl,
            any_of(
                0,
                &[libc::PR_SET_NAME, libc::PR_GET_NAME, libc::PR_GET_DUMPABLE, libc::PR_SET_VMA].map(bits),
            )?,
        ),
        (libc::SYS_fcntl, any_of(1, &FCNTL.map(bits))?),
        (
            libc::SYS_ioctl,
            any_of(
                1,
                &[
                    libc::FIOCLEX,
                    libc::FIONCLEX,
                    libc::FIONREAD,
                    libc::FIONBIO,
                    libc::TCGETS,
                    libc::TIOCGWINSZ,
                ],
            )?,
        ),
        // Named pipes. Everything else that this call makes is a device or a socket.
        (libc::SYS_mknodat, one_of([all([kind_is_fifo(2)?])?])),
        #[cfg(target_arch = "x86_64")]
        (libc::SYS_mknod, one_of([all([kind_is_fifo(1)?])?])),
    ];
    Ok(rules.into())
}

/// Commands on descriptors that touch nobody else: no leases, no owners to be signalled, no sizes of pipes.
const FCNTL: [i32; 13] = [
    libc::F_DUPFD,
    libc::F_DUPFD_CLOEXEC,
    libc::F_GETFD,
    libc::F_SETFD,
    libc::F_GETFL,
    libc::F_SETFL,
    libc::F_GETLK,
    libc::F_SETLK,
    libc::F_SETLKW,
    libc::F_OFD_GETLK,
    libc::F_OFD_SETLK,
    libc::F_OFD_SETLKW,
    libc::F_GETPIPE_SZ,
];

/// A new thread, not a new process, and no new namespace.
fn thread_only() -> Result<SeccompCondition, seccompiler::BackendError> {
    const NEW_NAMESPACES: i32 = libc::CLONE_NEWNS
        | libc::CLONE_NEWCGROUP
        | libc::CLONE_NEWUTS
        | libc::CLONE_NEWIPC
        | libc::CLONE_NEWUSER
        | libc::CLONE_NEWPID
        | libc::CLONE_NEWNET;
    let mask = bits(libc::CLONE_THREAD | libc::CLONE_PTRACE | NEW_NAMESPACES);
    SeccompCondition::new(0, Length::Dword, Is::MaskedEq(mask), bits(libc::CLONE_THREAD))
}

/// Memory that the limit on data counts: private, or of a file, which the size of `/tmp` bounds. Never writable and
/// executable at once.
fn mappings() -> Result<Vec<SeccompRule>, seccompiler::BackendError> {
    let uncounted = libc::MAP_GROWSDOWN | libc::MAP_HUGETLB;
    let file = (uncounted | libc::MAP_ANONYMOUS, 0);
    let private = (uncounted | libc::MAP_ANONYMOUS | libc::MAP_SHARED, libc::MAP_ANONYMOUS);
    let mut rules = Vec::new();
    for protection in [0, libc::PROT_WRITE, libc::PROT_EXEC] {
        for (mask, flags) in [file, private] {
            let flags = SeccompCondition::new(3, Length::Dword, Is::MaskedEq(bits(mask)), bits(flags))?;
            rules.push(all([protects(protection)?, flags])?);
        }
    }
    Ok(rules)
}

fn protections() -> Result<Vec<SeccompRule>, seccompiler::BackendError> {
    [0, libc::PROT_WRITE, libc::PROT_EXEC]
        .into_iter()
        .map(|protection| all([protects(protection)?]))
        .collect()
}

fn protects(protection: i32) -> Result<SeccompCondition, seccompiler::BackendError> {
    // PROT_GROWSDOWN would turn data into stack, which has no common limit.
    let mask = bits(libc::PROT_WRITE | libc::PROT_EXEC | libc::PROT_GROWSDOWN);
    SeccompCondition::new(2, Length::Dword, Is::MaskedEq(mask), bits(protection))
}

fn limits() -> Result<Vec<SeccompRule>, seccompiler::BackendError> {
    [0, OWN_PID]
        .into_iter()
        .map(|pid| all([equals(0, pid)?, SeccompCondition::new(2, Length::Qword, Is::Eq, 0)?]))
        .collect()
}

fn kind_is_fifo(argument: u8) -> Result<SeccompCondition, seccompiler::BackendError> {
    SeccompCondition::new(argument, Length::Dword, Is::MaskedEq(libc::S_IFMT.into()), libc::S_IFIFO.into())
}

fn equals(argument: u8, value: u64) -> Result<SeccompCondition, seccompiler::BackendError> {
    SeccompCondition::new(argument, Length::Dword, Is::Eq, value)
}

fn any_of(argument: u8, values: &[u64]) -> Result<Vec<SeccompRule>, seccompiler::BackendError> {
    values.iter().map(|value| all([equals(argument, *value)?])).collect()
}

fn all<const N: usize>(conditions: [SeccompCondition; N]) -> Result<SeccompRule, seccompiler::BackendError> {
    SeccompRule::new(conditions.into())
}

fn one_of<const N: usize>(rules: [SeccompRule; N]) -> Vec<SeccompRule> {
    rules.into()
}

/// The bits of a C constant, as the filter sees them in an argument.
fn bits(value: i32) -> u64 {
    value.cast_unsigned().into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn the_own_pid_is_filled_in_where_a_rule_asks_for_it_and_nowhere_else() {
        let filter = compile_filter().unwrap();
        // `kill`, `tkill`, `tgkill` and `prlimit64`.
        assert_eq!(filter.own_pid_at.len(), 4);
        for offset in filter.own_pid_at {
            assert_eq!(filter.bytes[offset..offset + 4], u32::try_from(OWN_PID).unwrap().to_ne_bytes());
        }
    }

    #[test]
    fn the_filter_is_not_longer_than_the_kernel_takes() {
        assert!(compile_filter().unwrap().length <= 4096);
    }

    #[test]
    fn no_call_is_both_allowed_and_checked_or_listed_twice() {
        let checked = conditional().unwrap().into_iter().map(|(call, _)| call);
        let mut seen = BTreeSet::new();
        for call in ALLOWED.iter().flat_map(|group| group.calls.iter().copied()).chain(checked) {
            assert!(seen.insert(call), "{call}");
        }
    }
}
