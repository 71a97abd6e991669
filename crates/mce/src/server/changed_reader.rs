//! A reader whose bytes are changed on their way.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, ReadBuf};

/// Bytes that are read at a time.
const CHUNK: usize = 16 << 10;

/// What changes them.
pub(crate) trait Change {
    /// Adds to `out` what becomes of the next bytes; some may wait for those after them, unless it `is_end`.
    fn change(&mut self, bytes: &[u8], is_end: bool, out: &mut Vec<u8>);
}

/// The reader.
#[derive(Debug)]
pub(crate) struct ChangedReader<R, C> {
    reader: R,
    change: C,
    /// Changed.
    ready: Vec<u8>,
    /// Of these, given away already.
    given: usize,
    chunk: Box<[u8]>,
}

impl<R, C: Default> ChangedReader<R, C> {
    pub(crate) fn new(reader: R) -> Self {
        Self::with(reader, C::default())
    }
}

impl<R, C> ChangedReader<R, C> {
    pub(crate) fn with(reader: R, change: C) -> Self {
        Self {
            reader,
            change,
            ready: Vec::new(),
            given: 0,
            chunk: vec![0; CHUNK].into_boxed_slice(),
        }
    }
}

impl<R: AsyncRead + Unpin, C: Change + Unpin> AsyncRead for ChangedReader<R, C> {
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = &mut *self;
        while this.given >= this.ready.len() {
            this.ready.clear();
            this.given = 0;
            let mut read = ReadBuf::new(&mut this.chunk);
            ready!(Pin::new(&mut this.reader).poll_read(context, &mut read))?;
            let is_end = read.filled().is_empty();
            this.change.change(read.filled(), is_end, &mut this.ready);
            if is_end && this.ready.is_empty() {
                return Poll::Ready(Ok(()));
            }
        }
        let rest = this.ready.get(this.given..).unwrap_or_default();
        let part = rest.get(..rest.len().min(buffer.remaining())).unwrap_or_default();
        buffer.put_slice(part);
        this.given += part.len();
        Poll::Ready(Ok(()))
    }
}
