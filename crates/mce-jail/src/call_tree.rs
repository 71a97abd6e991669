//! Lays a filter out as a search tree over the numbers of system calls.
//!
//! When a filter is installed, the kernel tries it out for each number it knows, and later it runs at each call that the
//! outcome of that trial did not settle. A list of comparisons, which is what `seccompiler` makes of a whole filter,
//! takes 0.5 ms to install; the tree a tenth of that, and each worker installs it anew. The checks of arguments are still
//! compiled by `seccompiler`.

use std::collections::BTreeMap;

use seccompiler::{BpfProgram, SeccompRule, sock_filter};

// Codes of `linux/bpf_common.h`.
const LOAD: u16 = 0x20;
const JUMP: u16 = 0x05;
const JUMP_IF_EQUAL: u16 = 0x15;
const JUMP_IF_AT_LEAST: u16 = 0x35;
const RETURN: u16 = 0x06;

// Offsets in `struct seccomp_data`.
const NUMBER: u32 = 0;
const ARCHITECTURE: u32 = 4;

/// The value of `linux/audit.h` for this architecture.
#[cfg(target_arch = "x86_64")]
const OWN_ARCHITECTURE: u32 = 0xc000_003e;
#[cfg(target_arch = "aarch64")]
const OWN_ARCHITECTURE: u32 = 0xc000_00b7;

/// What happens to a system call.
#[derive(Debug, Clone)]
pub(crate) enum Verdict {
    /// It is made.
    Allow,
    /// It fails with this error.
    Refuse(i32),
    /// It is made if one of the rules matches, else it fails with `EPERM`.
    Check(Vec<SeccompRule>),
}

/// Compiles verdicts by number into a program. All other numbers are refused with `EPERM`.
pub(crate) fn compile_tree(verdicts: BTreeMap<u32, Verdict>) -> BpfProgram {
    let mut program = vec![
        instruction(LOAD, 0, ARCHITECTURE),
        sock_filter {
            code: JUMP_IF_EQUAL,
            jt: 1,
            jf: 0,
            k: OWN_ARCHITECTURE,
        },
        instruction(RETURN, 0, libc::SECCOMP_RET_KILL_PROCESS),
        instruction(LOAD, 0, NUMBER),
    ];
    program.extend(tree(&spans(verdicts)));
    program
}

/// A verdict for all numbers from here up to the next span.
struct Span {
    start: u32,
    code: BpfProgram,
    is_plain: bool,
}

/// Numbers without a gap: neighbours with the same plain verdict become one span.
fn spans(verdicts: BTreeMap<u32, Verdict>) -> Vec<Span> {
    let mut spans: Vec<Span> = Vec::new();
    let mut add = |start, verdict| {
        let is_plain = !matches!(verdict, Verdict::Check(_));
        let code = leaf(verdict);
        if !spans.last().is_some_and(|last| last.is_plain && is_plain && last.code == code) {
            spans.push(Span { start, code, is_plain });
        }
    };
    let mut next = 0;
    for (number, verdict) in verdicts {
        if number > next {
            add(next, Verdict::Refuse(libc::EPERM));
        }
        add(number, verdict);
        next = number.saturating_add(1);
    }
    add(next, Verdict::Refuse(libc::EPERM));
    spans
}

fn leaf(verdict: Verdict) -> BpfProgram {
    let allow = instruction(RETURN, 0, libc::SECCOMP_RET_ALLOW);
    let refuse = |errno: i32| instruction(RETURN, 0, libc::SECCOMP_RET_ERRNO | errno.unsigned_abs());
    match verdict {
        Verdict::Allow => vec![allow],
        Verdict::Refuse(errno) => vec![refuse(errno)],
        Verdict::Check(rules) => {
            // A rule that does not match jumps over the instruction behind it.
            let rules = rules
                .into_iter()
                .flat_map(|rule| [BpfProgram::from(rule), vec![allow.clone()]].concat());
            rules.chain([refuse(libc::EPERM)]).collect()
        }
    }
}

fn tree(spans: &[Span]) -> BpfProgram {
    let (lower, upper) = spans.split_at(spans.len() / 2);
    match (lower, upper) {
        ([], [one]) => one.code.clone(),
        (_, [first, ..]) => {
            let lower = tree(lower);
            // Only an unconditional jump reaches over any distance.
            let over = instruction(JUMP, 0, u32::try_from(lower.len()).unwrap_or(u32::MAX));
            let compare = instruction(JUMP_IF_AT_LEAST, 1, first.start);
            [vec![compare, over], lower, tree(upper)].concat()
        }
        (_, []) => Vec::new(),
    }
}

fn instruction(code: u16, jf: u8, k: u32) -> sock_filter {
    sock_filter { code, jt: 0, jf, k }
}

#[cfg(test)]
mod tests {
    use super::*;
    use seccompiler::{SeccompCmpArgLen, SeccompCmpOp, SeccompCondition};

    /// Runs a program as the kernel does: loads of 32 bits, comparisons, jumps, the outcome.
    fn run(program: &[sock_filter], number: u32, first_argument: u64) -> u32 {
        let (mut at, mut loaded) = (0, 0);
        loop {
            let sock_filter { code, jt, jf, k } = program[at].clone();
            at += 1;
            let mut branch = |is_true: bool| at += usize::from(if is_true { jt } else { jf });
            match code {
                LOAD => {
                    loaded = match k {
                        NUMBER => number,
                        ARCHITECTURE => OWN_ARCHITECTURE,
                        16 => u32::try_from(first_argument & 0xffff_ffff).unwrap(),
                        20 => u32::try_from(first_argument >> 32).unwrap(),
                        other => panic!("load of {other}"),
                    }
                }
                JUMP => at += usize::try_from(k).unwrap(),
                JUMP_IF_EQUAL => branch(loaded == k),
                JUMP_IF_AT_LEAST => branch(loaded >= k),
                RETURN => return k,
                other => panic!("code {other}"),
            }
        }
    }

    fn program() -> BpfProgram {
        let is_seven = SeccompCondition::new(0, SeccompCmpArgLen::Qword, SeccompCmpOp::Eq, 7).unwrap();
        let is_nine = SeccompCondition::new(0, SeccompCmpArgLen::Qword, SeccompCmpOp::Eq, 9).unwrap();
        let rules = [is_seven, is_nine].map(|condition| SeccompRule::new(vec![condition]).unwrap());
        compile_tree(BTreeMap::from([
            (3, Verdict::Allow),
            (4, Verdict::Allow),
            (6, Verdict::Check(rules.to_vec())),
            (7, Verdict::Refuse(libc::ENOSYS)),
            (400, Verdict::Allow),
        ]))
    }

    #[test]
    fn each_number_gets_its_verdict() {
        let program = program();
        for number in 0..500 {
            let expected = match number {
                3 | 4 | 400 => libc::SECCOMP_RET_ALLOW,
                7 => libc::SECCOMP_RET_ERRNO | libc::ENOSYS.unsigned_abs(),
                _ => libc::SECCOMP_RET_ERRNO | libc::EPERM.unsigned_abs(),
            };
            assert_eq!(run(&program, number, 0), expected, "{number}");
        }
    }

    #[test]
    fn numbers_of_the_x32_interface_are_refused() {
        let refused = libc::SECCOMP_RET_ERRNO | libc::EPERM.unsigned_abs();
        assert_eq!(run(&program(), 3 | 0x4000_0000, 0), refused);
        assert_eq!(run(&program(), u32::MAX, 0), refused);
    }

    #[test]
    fn a_checked_call_is_allowed_if_any_rule_matches_the_whole_argument() {
        let program = program();
        for (argument, is_allowed) in [(7, true), (9, true), (8, false), (7 | 1 << 40, false)] {
            assert_eq!(run(&program, 6, argument) == libc::SECCOMP_RET_ALLOW, is_allowed, "{argument}");
        }
    }
}
