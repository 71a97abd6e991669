//! Tells when the client has closed its end: then nobody waits for answers any more.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, ReadBuf};
use tokio::sync::watch;

/// A reader that reports its end.
#[derive(Debug)]
pub(crate) struct EndOfInput<R> {
    reader: R,
    has_ended: watch::Sender<bool>,
}

impl<R> EndOfInput<R> {
    /// Sets `has_ended` when `reader` has nothing more, or fails.
    pub(crate) fn new(reader: R, has_ended: watch::Sender<bool>) -> Self {
        Self { reader, has_ended }
    }
}

impl<R: AsyncRead + Unpin> AsyncRead for EndOfInput<R> {
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let (before, has_room) = (buffer.filled().len(), buffer.remaining() > 0);
        let result = Pin::new(&mut self.reader).poll_read(context, buffer);
        let has_ended = match &result {
            Poll::Ready(Ok(())) => has_room && buffer.filled().len() == before,
            Poll::Ready(Err(_)) => true,
            Poll::Pending => false,
        };
        if has_ended {
            let _ = self.has_ended.send_replace(true);
        }
        result
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncReadExt;

    use super::*;

    #[tokio::test]
    async fn the_end_is_told_once_everything_was_read() {
        let (sender, receiver) = watch::channel(false);
        let mut reader = EndOfInput::new(&b"ab"[..], sender);
        let mut byte = [0];
        reader.read_exact(&mut byte).await.unwrap();
        assert!(!*receiver.borrow());
        let mut rest = Vec::new();
        reader.read_to_end(&mut rest).await.unwrap();
        assert_eq!((rest, *receiver.borrow()), (b"b".to_vec(), true));
    }
}
