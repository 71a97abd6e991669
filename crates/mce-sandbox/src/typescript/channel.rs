//! The worker's end of the frame socket. While it waits to write it reads, so that the host and it never wait for each other.

use std::io::{self, Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use crate::frames::{self, FrameBuffer};

const READ_BYTES: usize = 64 << 10;

/// Frames out and in.
pub(super) struct Channel {
    stream: UnixStream,
    buffer: FrameBuffer,
}

impl Channel {
    /// Takes the socket over.
    pub(super) fn open(socket: OwnedFd) -> io::Result<Self> {
        let stream = UnixStream::from(socket);
        stream.set_nonblocking(true)?;
        Ok(Self {
            stream,
            // The host is trusted: its answers are bounded by itself.
            buffer: FrameBuffer::new(usize::MAX),
        })
    }

    /// Sends one frame.
    ///
    /// # Errors
    ///
    /// If the host has closed the run.
    pub(super) fn send(&mut self, body: &[u8]) -> io::Result<()> {
        let bytes = frames::frame(body).map_err(io::Error::other)?;
        let mut rest = bytes.as_slice();
        while !rest.is_empty() {
            match self.stream.write(rest) {
                Ok(count) => rest = rest.get(count..).unwrap_or_default(),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    if self.poll(PollFlags::IN | PollFlags::OUT, None)?.contains(PollFlags::IN) {
                        self.read()?;
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// A frame that has arrived already.
    pub(super) fn arrived(&mut self) -> io::Result<Option<String>> {
        let frame = self.buffer.next_frame().map_err(io::Error::other)?;
        frame
            .map(|frame| String::from_utf8(frame.to_vec()).map_err(io::Error::other))
            .transpose()
    }

    /// The next frame; waits for it.
    ///
    /// # Errors
    ///
    /// If the host has closed the run.
    pub(super) fn receive(&mut self) -> io::Result<String> {
        loop {
            if let Some(frame) = self.arrived()? {
                return Ok(frame);
            }
            self.wait(None)?;
        }
    }

    /// Waits until something arrives, at most for `patience`.
    ///
    /// # Errors
    ///
    /// If the host has closed the run.
    pub(super) fn wait(&mut self, patience: Option<Duration>) -> io::Result<()> {
        if self.poll(PollFlags::IN, patience)?.is_empty() {
            return Ok(());
        }
        self.read()
    }

    fn poll(&self, flags: PollFlags, patience: Option<Duration>) -> io::Result<PollFlags> {
        let patience = patience.map(|patience| Timespec {
            tv_sec: i64::try_from(patience.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: patience.subsec_nanos().into(),
        });
        let mut fds = [PollFd::new(&self.stream, flags)];
        match poll(&mut fds, patience.as_ref()) {
            Ok(_) => {}
            Err(Errno::INTR) => return Ok(PollFlags::empty()),
            Err(error) => return Err(error.into()),
        }
        Ok(fds.first().map_or(PollFlags::empty(), PollFd::revents))
    }

    fn read(&mut self) -> io::Result<()> {
        let mut bytes = vec![0; READ_BYTES];
        match self.stream.read(&mut bytes) {
            Ok(0) => Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(count) => {
                self.buffer.extend(bytes.get(..count).unwrap_or_default());
                Ok(())
            }
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => Ok(()),
            Err(error) => Err(error),
        }
    }
}
