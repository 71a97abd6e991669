//! Forking sealed workers, for a fork server in Rust. The counterpart in Python is `guest/seal.py`.

use std::io;
use std::os::fd::{AsFd as _, BorrowedFd, FromRawFd as _, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rustix::fs::{Mode, OFlags, openat};
use rustix::process::{DumpableBehavior, Pid, getpid, set_dumpable_behavior};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

use crate::seal_plan::{Argument, Buffer, SealPlan, Step, Value};
use crate::spec::{CONTROL_FD, PROC_FD};
use crate::system_call::{self, Side, duplicate_process, place_descriptor, unshare};

/// The exit code of a worker that could not be locked in. It has said why on descriptor 2.
const NOT_SEALED: i32 = 125;

/// The control socket of the program that is a jail's first process.
///
/// # Errors
///
/// If it was taken before, or descriptor [`CONTROL_FD`] is no socket, so that this process is no jail's first one.
pub fn control_socket() -> io::Result<UnixStream> {
    static IS_TAKEN: AtomicBool = AtomicBool::new(false);
    if IS_TAKEN.swap(true, Ordering::SeqCst) {
        return Err(io::ErrorKind::AlreadyExists.into());
    }
    // SAFETY: it is open from the start of a program that the launcher has started, which alone knows the number; should it
    // not be, the call below fails. It is taken once.
    let socket = unsafe { OwnedFd::from_raw_fd(CONTROL_FD) };
    rustix::net::sockopt::socket_type(&socket)?;
    Ok(UnixStream::from(socket))
}

/// Waits for a worker that has ended, or until it has. Gives its wait status and the processor time that it has used.
///
/// # Errors
///
/// If it is no child of this process.
pub fn wait_for_worker(worker: Pid) -> io::Result<(i32, Duration)> {
    system_call::wait_for(worker)
}

/// The part of a fork server that makes workers. The process must have a single thread, and its control socket is
/// descriptor [`CONTROL_FD`], whose number the frame socket has in a worker.
#[derive(Debug)]
pub struct ForkServer {
    plan: SealPlan,
    /// The fork server's own PID namespace, to come back to after each fork.
    own_pids: Option<OwnedFd>,
}

/// Why a worker is not locked in.
#[derive(Debug, thiserror::Error)]
#[error("failed to {step}")]
struct SealError {
    step: String,
    source: io::Error,
}

impl ForkServer {
    /// Prepares for forks. To be called in the jail's first process, which can then no longer be traced by others of its
    /// user.
    ///
    /// # Errors
    ///
    /// If the own PID namespace cannot be opened.
    pub fn new(plan: SealPlan) -> io::Result<Self> {
        let own_pids = plan.isolates_pids.then(|| {
            // SAFETY: a plan that isolates process ids is made only for a jail with namespaces, whose program has this
            // descriptor from its start; nobody in it owns the number.
            let proc = unsafe { BorrowedFd::borrow_raw(PROC_FD) };
            openat(proc, "self/ns/pid", OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())
        });
        let own_pids = own_pids.transpose()?;
        set_dumpable_behavior(DumpableBehavior::NotDumpable)?;
        Ok(Self { plan, own_pids })
    }

    /// Forks a worker whose only socket is `frame`, locks it in and lets it do its `work`, whose result is the worker's exit
    /// code. Returns the worker's process id, for which the fork server has to wait.
    ///
    /// # Errors
    ///
    /// If there is no worker. The fork server must then end: it may be unable to fork again.
    pub fn fork(&self, frame: OwnedFd, work: impl FnOnce(OwnedFd) -> i32) -> io::Result<Pid> {
        if self.own_pids.is_some() {
            unshare(libc::CLONE_NEWPID)?;
        }
        let side = duplicate_process(0);
        if let Ok(Side::Child) = side {
            self.work(frame, work)
        }
        if let Some(own_pids) = &self.own_pids {
            move_into_link_name_space(own_pids.as_fd(), Some(LinkNameSpaceType::ProcessID))?;
        }
        match side? {
            Side::Child => Err(io::ErrorKind::Unsupported.into()),
            Side::Parent(pid) => Ok(pid),
        }
    }

    /// The whole of a worker. It never returns into the code of the fork server, whose values must not be dropped here:
    /// their descriptors are closed by the plan.
    fn work(&self, frame: OwnedFd, work: impl FnOnce(OwnedFd) -> i32) -> ! {
        let placed = place_descriptor(frame, CONTROL_FD).map_err(|source| SealError {
            step: "place the frame socket".to_owned(),
            source,
        });
        if let Err(error) = placed.and_then(|()| apply(&self.plan)) {
            // If descriptor 2 is closed, the exit code must do.
            let _ = rustix::io::write(rustix::stdio::stderr(), format!("{error}: {}\n", error.source).as_bytes());
            std::process::exit(NOT_SEALED)
        }
        // SAFETY: the frame socket was placed at this number above, in this process, and nobody else owns it: what the
        // fork server had there is another process's.
        let frame = unsafe { OwnedFd::from_raw_fd(CONTROL_FD) };
        std::process::exit(work(frame))
    }
}

/// Locks the calling process in.
fn apply(plan: &SealPlan) -> Result<(), SealError> {
    let mut results = Vec::with_capacity(plan.steps.len());
    for step in &plan.steps {
        match make(step, &results) {
            Ok(value) => results.push(value),
            Err(source) if step.is_fatal => {
                return Err(SealError {
                    step: step.name.clone(),
                    source,
                });
            }
            Err(_) => results.push(-1),
        }
    }
    Ok(())
}

fn make(step: &Step, results: &[i64]) -> io::Result<i64> {
    let mut memory = Memory {
        buffers: Vec::new(),
        results,
    };
    let mut arguments = [0; 6];
    for (place, argument) in arguments.iter_mut().zip(&step.arguments) {
        *place = match argument {
            Argument::Number(number) => *number,
            Argument::Result(index) => memory.result(*index)?,
            Argument::Buffer(buffer) => memory.add(buffer)?,
        };
    }
    // SAFETY: plans are made by this crate and come over the control socket, which only the host writes to. Each address
    // in them is that of a buffer that lives in `memory` until after the call and is as long as the call expects. The
    // descriptors that they close, all from 4 on, are those of the fork server, of which a worker uses none.
    let value = unsafe { system_call::any(step.number, arguments) };
    drop(memory);
    value
}

/// Buffers of one step.
struct Memory<'a> {
    /// They stay where they are, whatever happens to this list.
    buffers: Vec<Box<[u8]>>,
    results: &'a [i64],
}

impl Memory<'_> {
    fn result(&self, index: usize) -> io::Result<i64> {
        self.results.get(index).copied().ok_or_else(|| io::ErrorKind::InvalidInput.into())
    }

    /// Keeps a copy of a buffer, with its patches, and returns its address.
    fn add(&mut self, buffer: &Buffer) -> io::Result<i64> {
        let mut bytes = buffer.bytes.clone().into_boxed_slice();
        for patch in &buffer.patches {
            let value = match &patch.value {
                Value::Result(index) => self.result(*index)?,
                Value::Pointer(buffer) => self.add(buffer)?,
                Value::OwnPid => getpid().as_raw_nonzero().get().into(),
            };
            let place = patch
                .offset
                .checked_add(patch.size)
                .and_then(|end| bytes.get_mut(patch.offset..end));
            let value = match patch.size {
                4 => i32::try_from(value).map_err(io::Error::other)?.to_ne_bytes().to_vec(),
                _ => value.to_ne_bytes().to_vec(),
            };
            match place {
                Some(place) if place.len() == value.len() => place.copy_from_slice(&value),
                Some(_) | None => return Err(io::ErrorKind::InvalidInput.into()),
            }
        }
        let address = bytes.as_ptr().expose_provenance();
        self.buffers.push(bytes);
        Ok(address.cast_signed() as i64)
    }
}
