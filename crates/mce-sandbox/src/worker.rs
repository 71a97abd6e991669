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
    exit: oneshot::Receiver<i32>,
    /// Keeps the fork server of a cold run alive as long as its only worker.
    server: Arc<ForkServer>,
}

/// How a worker ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ending {
    /// By itself, with this status.
    Exited(i32),
    /// By a signal.
    Signalled(i32),
    /// It lived on without its socket and was killed.
    Killed,
    /// With its fork server.
    ServerGone,
}

impl Worker {
    pub(crate) const fn new(
        stream: UnixStream,
        buffer: FrameBuffer,
        pidfd: OwnedFd,
        exit: oneshot::Receiver<i32>,
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
            Ok(Ok(status)) => Ending::from_wait_status(status),
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
    /// As `waitpid(2)` reports it.
    const fn from_wait_status(status: i32) -> Self {
        match status & 0x7f {
            0 => Self::Exited((status >> 8) & 0xff),
            signal => Self::Signalled(signal),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wait_statuses_are_read_as_the_system_writes_them() {
        assert_eq!(Ending::from_wait_status(0x4600), Ending::Exited(70));
        assert_eq!(Ending::from_wait_status(9), Ending::Signalled(9));
        assert_eq!(Ending::from_wait_status(0x8b), Ending::Signalled(11));
    }
}
