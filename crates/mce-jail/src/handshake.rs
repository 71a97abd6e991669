//! What the host and its launcher say to each other: the specification one way, a report the other.

use std::io::{self, Read as _, Write as _};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::descriptors::{recv_with_fds, send_with_fds};
use crate::layers::Layers;

/// The most bytes of a message. Files that are placed in the jail are the largest part of one.
const MAX_BYTES: usize = 64 << 20;

/// What the launcher has to tell.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Report {
    /// The program runs. Its pidfd comes with the message.
    Stands(Standing),
    /// A step failed.
    Failed(Failure),
    /// The layers that work here do not suffice.
    BelowMinimum {
        /// Which, and why.
        missing: String,
        /// What to do.
        fix: String,
    },
}

/// A jail that stands.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Standing {
    /// The program's process id on the host.
    pub(crate) pid: u32,
    /// Layers that are on.
    pub(crate) layers: Layers,
    /// The jail has a user namespace of its own, so that its workers can have one, too.
    pub(crate) has_user_namespace: bool,
    /// What `{root}` stands for.
    pub(crate) root: String,
    /// Why layers are off.
    pub(crate) notes: Vec<String>,
}

/// A step that failed.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Failure {
    /// What was tried, as a verb.
    pub(crate) step: String,
    /// What the system said.
    pub(crate) cause: String,
    /// Its number.
    pub(crate) errno: Option<i32>,
    /// The machine does not let this process have namespaces; the jail may still be closed by other layers.
    pub(crate) is_refusal: bool,
}

impl Failure {
    /// Marks a failure of namespaces or mounts as a refusal, if the system does not permit the step or does not know it.
    /// Other errors, such as a missing file, are faults of the specification.
    pub(crate) fn or_refusal(self) -> Self {
        let refusals = [libc::EPERM, libc::EACCES, libc::ENOSYS, libc::ENOSPC, libc::EUSERS, libc::EINVAL];
        Self {
            is_refusal: self.errno.is_some_and(|errno| refusals.contains(&errno)),
            ..self
        }
    }
}

/// Names the step that an error belongs to.
pub(crate) trait DuringStep<T> {
    /// `step` is a verb with its object: "mount `/tmp`".
    fn during(self, step: impl FnOnce() -> String) -> Result<T, Failure>;
}

impl<T, E: Into<io::Error>> DuringStep<T> for Result<T, E> {
    fn during(self, step: impl FnOnce() -> String) -> Result<T, Failure> {
        self.map_err(|error| {
            let error = error.into();
            Failure {
                step: step(),
                cause: error.to_string(),
                errno: error.raw_os_error(),
                is_refusal: false,
            }
        })
    }
}

/// Sends a message with descriptors: its length in four bytes, then JSON.
pub(crate) fn send<T: Serialize>(mut socket: &UnixStream, message: &T, fds: &[BorrowedFd<'_>]) -> io::Result<()> {
    let text = serde_json::to_vec(message)?;
    let length = u32::try_from(text.len()).map_err(io::Error::other)?.to_le_bytes();
    // Four bytes always fit, so that they are sent whole, and the descriptors with them.
    if send_with_fds(socket.as_fd(), &length, fds)? != length.len() {
        return Err(io::ErrorKind::WriteZero.into());
    }
    socket.write_all(&text)
}

/// Receives what [`send`] sent.
pub(crate) fn receive<T: DeserializeOwned>(mut socket: &UnixStream) -> io::Result<(T, Vec<OwnedFd>)> {
    let mut length = [0; 4];
    let (count, fds) = recv_with_fds(socket.as_fd(), &mut length)?;
    if count != length.len() {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    let length = usize::try_from(u32::from_le_bytes(length)).map_err(io::Error::other)?;
    if length > MAX_BYTES {
        return Err(io::Error::other("the message is too long"));
    }
    let mut text = vec![0; length];
    socket.read_exact(&mut text)?;
    Ok((serde_json::from_slice(&text)?, fds))
}
