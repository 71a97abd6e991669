//! The fork server for TypeScript, as a role of the program itself: prepares a runtime once, then forks a sealed worker for
//! each run. It reads only what the host writes.
//!
//! On the control socket the host sends the configuration and, after the answer `R`, the seal plan, each as a length (u64)
//! and JSON; then one id (u64) with one descriptor for each worker that it wants. Answers are records of 16 bytes: kind,
//! status, id. `F` brings the worker's pid descriptor, `E` says why there is none, `X` how a worker ended (a wait status);
//! instead of `X` stands `C` if it had used much of its processor time, which matters only where it was killed.

use std::io::{self, Read as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::net::UnixStream;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;
use std::time::Duration;

use mce_jail::{ForkServer, SealPlan, control_socket, recv_with_fds, send_with_fds, wait_for_worker};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::guest::Guest;

/// The most bytes of a message of the host.
const MESSAGE_BYTES: u64 = 64 << 20;

/// The exit code of a worker that could not report; see `run_end`.
pub(super) const GUEST_FAILED: i32 = 70;

/// The first message of the host.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Configuration {
    /// What the program's objects may take, in bytes.
    pub(super) memory_bytes: usize,
    /// The processor time that a worker may use.
    pub(super) cpu_seconds: u32,
}

/// A worker that runs.
struct Running {
    pidfd: OwnedFd,
    pid: Pid,
    id: u64,
}

/// Serves until the host closes the control socket. To be called first in a process that the jail's launcher has started
/// as the fork server of [`crate::Language::TypeScript`].
pub fn typescript_fork_server_main() -> ExitCode {
    match serve() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // The host keeps the last line; if nobody reads it, the exit code must do.
            let _ = rustix::io::write(rustix::stdio::stderr(), format!("{error}\n").as_bytes());
            ExitCode::FAILURE
        }
    }
}

fn serve() -> io::Result<()> {
    let mut control = control_socket()?;
    let configuration: Configuration = message(&mut control)?;
    // The kernel holds the limit by counting ticks, which on a loaded machine may be far from the time that was used.
    let processor_limit = Duration::from_secs(configuration.cpu_seconds.into()) / 2;
    let guest = Guest::new(configuration.memory_bytes).map_err(io::Error::other)?;
    record(&control, b'R', 0, 0, None)?;
    // The memory limit in the plan starts from what is prepared by now.
    let plan: SealPlan = message(&mut control)?;
    let forks = ForkServer::new(plan)?;
    let mut running: Vec<Running> = Vec::new();
    loop {
        let (is_asked, ended) = wait(&control, &running)?;
        for index in ended.into_iter().rev() {
            report_end(&control, &running.swap_remove(index), processor_limit)?;
        }
        if is_asked && !fork(&control, &forks, guest, &mut running)? {
            return Ok(());
        }
    }
}

/// Whether the host has sent something, and which workers have ended.
fn wait(control: &UnixStream, running: &[Running]) -> io::Result<(bool, Vec<usize>)> {
    let mut fds = vec![PollFd::new(control, PollFlags::IN)];
    fds.extend(running.iter().map(|worker| PollFd::new(&worker.pidfd, PollFlags::IN)));
    loop {
        match poll(&mut fds, None) {
            Err(rustix::io::Errno::INTR) => {}
            result => break result.map(drop)?,
        }
    }
    let mut ready = fds.iter().map(|fd| !fd.revents().is_empty());
    let is_asked = ready.next().unwrap_or_default();
    Ok((
        is_asked,
        ready
            .enumerate()
            .filter(|(_, is_ready)| *is_ready)
            .map(|(index, _)| index)
            .collect(),
    ))
}

/// Makes a worker for the request that has arrived. False at the end.
fn fork(control: &UnixStream, forks: &ForkServer, guest: &Guest, running: &mut Vec<Running>) -> io::Result<bool> {
    let mut bytes = [0; 8];
    let (count, fds) = recv_with_fds(control, &mut bytes)?;
    let Some(frames) = fds.into_iter().next().filter(|_| count == bytes.len()) else {
        return Ok(false);
    };
    let id = u64::from_le_bytes(bytes);
    let forked = forks.fork(frames, |frames| {
        // A panic must not unwind into the code of the fork server.
        catch_unwind(AssertUnwindSafe(|| guest.serve(frames))).unwrap_or(GUEST_FAILED)
    });
    let pid = match forked {
        Ok(pid) => pid,
        Err(error) => {
            record(
                control,
                b'E',
                error.raw_os_error().unwrap_or(rustix::io::Errno::AGAIN.raw_os_error()),
                id,
                None,
            )?;
            return Ok(false);
        }
    };
    let pidfd = pidfd_open(pid, PidfdFlags::empty())?;
    record(control, b'F', 0, id, Some(&pidfd))?;
    running.push(Running { pidfd, pid, id });
    Ok(true)
}

fn report_end(control: &UnixStream, worker: &Running, processor_limit: Duration) -> io::Result<()> {
    let (status, processor) = wait_for_worker(worker.pid)?;
    let kind = if processor >= processor_limit { b'C' } else { b'X' };
    record(control, kind, status, worker.id, None)
}

fn record(control: &UnixStream, kind: u8, status: i32, id: u64, fd: Option<&OwnedFd>) -> io::Result<()> {
    let [a, b, c, d] = status.to_le_bytes();
    let bytes = [[kind, 0, 0, 0, a, b, c, d], id.to_le_bytes()].concat();
    let fds: Vec<_> = fd.map(|fd| fd.as_fd()).into_iter().collect();
    // Records are far smaller than the socket's buffer, which the host empties.
    if send_with_fds(control, &bytes, &fds)? == bytes.len() {
        Ok(())
    } else {
        Err(io::ErrorKind::WriteZero.into())
    }
}

fn message<T: DeserializeOwned>(control: &mut UnixStream) -> io::Result<T> {
    let mut length = [0; 8];
    control.read_exact(&mut length)?;
    let mut bytes = Vec::new();
    let length = u64::from_le_bytes(length);
    if length > MESSAGE_BYTES || control.take(length).read_to_end(&mut bytes)? as u64 != length {
        return Err(io::Error::other("the host's message is cut off or too long"));
    }
    Ok(serde_json::from_slice(&bytes)?)
}
