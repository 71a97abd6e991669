//! How a run ends, in words for the model: each limit names itself, and a crash says what crashed.

use std::time::Duration;

use serde_json::value::RawValue;

use crate::frames::FrameProblem;
use crate::watch::Excess;
use crate::worker::{Ending, Spent};
use crate::{Content, EngineError, ErrorKind, Language, Limits, ProgramError};

/// The exit status by which a guest says that it could not report.
const GUEST_FAILED: i32 = 70;

/// The first thing that ended a run.
pub(crate) enum RunEnd {
    /// The program has a value.
    Value { value: Box<RawValue>, contents: Vec<Content> },
    /// The guest reported an error.
    Error(Box<ProgramError>),
    /// The worker closed its socket, perhaps in the middle of a frame.
    Closed { in_frame: bool },
    /// The wall-clock limit.
    Timeout,
    /// The output limit, by prints or by the value.
    Output,
    /// Far too many host calls.
    Calls,
    /// Memory or threads, where the host watches them.
    Excess(Excess),
    /// The worker sent what no guest sends.
    Protocol(FrameProblem),
}

/// The wall-clock limit was reached.
pub(crate) fn timeout(wall: Duration, language: Language) -> ProgramError {
    let hint = match language {
        Language::Python => "do less in one run, or call functions at the same time (`<server>.aio`, `parallel`)",
        Language::TypeScript => "do less in one run, or call functions at the same time (`Promise.all`)",
    };
    ProgramError::new(
        ErrorKind::Timeout,
        format!("the program ran longer than its limit of {} s", wall.as_secs_f64()),
    )
    .with_hint(hint)
}

/// Too much output.
pub(crate) fn output(output_bytes: usize) -> ProgramError {
    let hint = "print and return less: a summary, or only the fields that are needed";
    ProgramError::new(
        ErrorKind::Output,
        format!("the program's output is larger than its limit of {output_bytes} bytes"),
    )
    .with_hint(hint)
}

/// Too many host calls.
pub(crate) fn calls(host_calls: u32) -> ProgramError {
    let plural = if host_calls == 1 { "call" } else { "calls" };
    ProgramError::new(
        ErrorKind::Policy,
        format!("the program has made the {host_calls} {plural} that one run may make"),
    )
}

/// Too much memory.
pub(crate) fn memory(memory_mib: u32) -> ProgramError {
    ProgramError::new(
        ErrorKind::Memory,
        format!("the program needs more memory than its limit of {memory_mib} MiB"),
    )
    .with_hint("work on smaller pieces, or keep less at once")
}

/// Too much processor time.
fn processor(cpu_seconds: u32) -> ProgramError {
    ProgramError::new(
        ErrorKind::Timeout,
        format!("the program used more processor time than its limit of {cpu_seconds} s"),
    )
    .with_hint("do less in one run")
}

/// What the guest says of an error, with the limits and the lack of a folder that only the host knows.
pub(crate) fn told(error: ProgramError, limits: &Limits, has_own_folder: bool) -> ProgramError {
    if error.kind == ErrorKind::Memory {
        let message = memory(limits.memory_mib).message;
        return ProgramError { message, ..error };
    }
    let is_refused = || {
        ["Permission denied", "No usable temporary directory"]
            .iter()
            .any(|text| error.message.contains(text))
    };
    if !has_own_folder && error.kind == ErrorKind::Exception && is_refused() {
        return error.with_hint(
            "programs have no folder to write to here, `/tmp` neither, because the jail has no namespaces (`mce doctor` says why); \
             keep data in memory",
        );
    }
    error
}

/// Too much of what the host watches.
pub(crate) fn excess(excess: Excess, limits: &Limits) -> ProgramError {
    match excess {
        Excess::Memory => memory(limits.memory_mib),
        Excess::Threads => ProgramError::new(ErrorKind::Exception, "the limit on threads and processes is reached".to_owned()),
    }
}

/// A frame that no guest sends: the program wrote to the frame socket itself.
pub(crate) fn protocol(problem: &FrameProblem) -> ProgramError {
    ProgramError::new(
        ErrorKind::Internal,
        format!("the program broke the connection to its host: {problem}"),
    )
    .with_hint("a program must leave the descriptors that it did not open alone")
}

/// The worker ended without a result.
pub(crate) fn closed(ending: Ending, in_frame: bool, limits: &Limits) -> ProgramError {
    let when = if in_frame {
        "in the middle of a message"
    } else {
        "before it had a result"
    };
    match ending {
        Ending::Exited(GUEST_FAILED) => ProgramError::new(ErrorKind::Exception, format!("the program's process failed {when}")),
        Ending::Exited(status) => ProgramError::new(
            ErrorKind::Exception,
            format!("the program ended its process with status {status} {when}"),
        )
        .with_hint("end with a value in `result` instead"),
        Ending::Killed => ProgramError::new(
            ErrorKind::Exception,
            format!("the program closed the connection to its host {when}"),
        ),
        Ending::ServerGone => ProgramError::new(ErrorKind::Internal, "the fork server ended while the program ran".to_owned())
            .with_hint("run it again; the fork server is replaced"),
        Ending::Spent(Spent::Memory) => memory(limits.memory_mib),
        Ending::Spent(Spent::Processor) => processor(limits.cpu_seconds()),
        Ending::Signalled(signal) => signalled(signal),
    }
}

/// A fault of the engine.
pub(crate) fn engine(fault: &EngineError) -> ProgramError {
    let error = ProgramError::new(ErrorKind::Internal, fault.to_string());
    match fault.hint() {
        Some(hint) => error.with_hint(hint),
        None => error,
    }
}

fn signalled(signal: i32) -> ProgramError {
    let (kind, message, hint) = match signal {
        25 => (
            ErrorKind::Exception,
            "the program wrote a file larger than the limit of /tmp allows",
            "write less",
        ),
        31 => (
            ErrorKind::Policy,
            "the program made a system call that is not allowed",
            "use functions of servers instead",
        ),
        _ => {
            let message = format!("the program crashed its interpreter ({})", name_of(signal));
            return ProgramError::new(ErrorKind::Exception, message).with_hint("look for endless recursion and for calls into native code");
        }
    };
    ProgramError::new(kind, message.to_owned()).with_hint(hint)
}

fn name_of(signal: i32) -> String {
    match signal {
        4 => "SIGILL".to_owned(),
        6 => "SIGABRT".to_owned(),
        7 => "SIGBUS".to_owned(),
        8 => "SIGFPE".to_owned(),
        11 => "SIGSEGV".to_owned(),
        15 => "SIGTERM".to_owned(),
        _ => format!("signal {signal}"),
    }
}
