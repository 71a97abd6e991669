//! A worker seen from the host: its frame socket, its pidfd, and how it ended. Dropping it kills it.

use std::os::fd::{AsFd as _, OwnedFd};
use std::sync::Arc;
use std::time::Duration;

use tokio::net::UnixStream;
use tokio::sync::oneshot;
use tokio::sync::oneshot::error::TryRecvError;

use crate::Limits;
use crate::fork_server::ForkServer;
use crate::frames::FrameBuffer;
use crate::watch::Watch;

/// How long a worker that has closed its socket may take to be gone.
const END_PATIENCE: Duration = Duration::from_millis(200);

/// A process that is locked in and runs one program.
#[derive(Debug)]
pub(crate) struct Worker {
    /// Frames.
    pub(crate) stream: UnixStream,
    /// What has been read of them.
    pub(crate) buffer: FrameBuffer,
    pidfd: OwnedFd,
    exit: oneshot::Receiver<Exit>,
    /// Keeps the fork server of a cold run alive as long as its only worker.
    server: Arc<ForkServer>,
}

/// What a fork server reports of a worker that has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Exit {
    /// As `waitpid(2)` gives it.
    pub(crate) status: i32,
    /// What it had used up by then.
    pub(crate) spent: Option<Spent>,
}

/// A limit that the kernel holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Spent {
    /// Nearly all the memory that it may have.
    Memory,
    /// All its processor time.
    Processor,
}

/// How a worker ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ending {
    /// By itself, with this status.
    Exited(i32),
    /// By a signal.
    Signalled(i32),
    /// By a limit that the kernel holds.
    Spent(Spent),
    /// It lived on without its socket and was killed.
    Killed,
    /// With its fork server.
    ServerGone,
}

impl Worker {
    /// It has a folder of its own to write to. Without namespaces there is none.
    pub(crate) fn has_own_folder(&self) -> bool {
        self.server.layers().namespaces
    }

    pub(crate) const fn new(
        stream: UnixStream,
        buffer: FrameBuffer,
        pidfd: OwnedFd,
        exit: oneshot::Receiver<Exit>,
        server: Arc<ForkServer>,
    ) -> Self {
        Self {
            stream,
            buffer,
            pidfd,
            exit,
            server,
        }
    }

    /// What the host must watch because the kernel does not.
    pub(crate) fn watch(&self, limits: &Limits) -> Option<Watch> {
        if self.server.layers().rlimits {
            None
        } else {
            Watch::start(self.pidfd.as_fd(), limits)
        }
    }

    /// It has not ended.
    pub(crate) fn is_alive(&mut self) -> bool {
        self.exit.try_recv() == Err(TryRecvError::Empty)
    }

    /// How it ended, after its socket was closed. Kills it if it lives on.
    pub(crate) async fn ending(&mut self) -> Ending {
        match tokio::time::timeout(END_PATIENCE, &mut self.exit).await {
            Ok(Ok(exit)) => Ending::of(exit),
            Ok(Err(_)) => Ending::ServerGone,
            Err(_) => Ending::Killed,
        }
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        // The only failure is that it cannot be signalled because it is gone.
        if let Err(error) = mce_jail::kill_process(&self.pidfd) {
            tracing::warn!(target: "mce_sandbox", %error, "a worker could not be killed");
        }
    }
}

impl Ending {
    const fn of(Exit { status, spent }: Exit) -> Self {
        match (status & 0x7f, spent) {
            (0, _) => Self::Exited((status >> 8) & 0xff),
            // The kernel's last word, at the hard limit; the first process of a namespace ignores the one before.
            (9, Some(Spent::Processor)) | (24, _) => Self::Spent(Spent::Processor),
            // Only the kernel sends it, for memory.
            (9, _) => Self::Spent(Spent::Memory),
            // Native code that gets no memory aborts, or writes to where it should be.
            (6 | 11, Some(Spent::Memory)) => Self::Spent(Spent::Memory),
            (signal, _) => Self::Signalled(signal),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wait_statuses_are_read_as_the_system_writes_them_and_as_what_was_spent() {
        let (memory, processor) = (Some(Spent::Memory), Some(Spent::Processor));
        for (status, spent, ending) in [
            (0x4600, None, Ending::Exited(70)),
            (0x4600, memory, Ending::Exited(70)),
            (9, None, Ending::Spent(Spent::Memory)),
            (9, processor, Ending::Spent(Spent::Processor)),
            (24, None, Ending::Spent(Spent::Processor)),
            (0x8b, None, Ending::Signalled(11)),
            (0x8b, memory, Ending::Spent(Spent::Memory)),
            (6, memory, Ending::Spent(Spent::Memory)),
            (6, processor, Ending::Signalled(6)),
            (31, memory, Ending::Signalled(31)),
        ] {
            assert_eq!(Ending::of(Exit { status, spent }), ending, "{status:#x} {spent:?}");
        }
    }
}
