//! Lines of a stream that nobody trusts: each is bounded, the rest of a longer one is dropped.

use std::io;

use tokio::io::{AsyncBufReadExt as _, AsyncRead, BufReader};

/// Bytes kept from the end of a line that is too long.
const TAIL_BYTES: usize = 256;

/// A line, without its end.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Line {
    /// All of it.
    Whole(Vec<u8>),
    /// Its first and its last bytes; what was between them is gone.
    Cut {
        /// The first bytes, as many as a line may have.
        head: Vec<u8>,
        /// The last bytes, at most 256.
        tail: Vec<u8>,
    },
}

/// Reads lines of at most `limit` bytes.
#[derive(Debug)]
pub(super) struct BoundedLines<R> {
    reader: BufReader<R>,
    limit: usize,
    line: Vec<u8>,
    tail: Option<Vec<u8>>,
}

impl<R: AsyncRead + Unpin> BoundedLines<R> {
    pub(super) fn new(reader: R, limit: usize) -> Self {
        Self {
            reader: BufReader::with_capacity(64 << 10, reader),
            limit,
            line: Vec::new(),
            tail: None,
        }
    }

    /// The next line; `None` at the end of the stream. What follows the last line end is a line only if `takes_rest`.
    ///
    /// May be dropped and called again at any time: what was read is kept.
    ///
    /// # Errors
    ///
    /// Those of the stream.
    pub(super) async fn next(&mut self, takes_rest: bool) -> io::Result<Option<Line>> {
        loop {
            // Nothing is awaited between this and `consume`, so that no byte is lost or read twice.
            let available = self.reader.fill_buf().await?;
            if available.is_empty() {
                let has_rest = takes_rest && !(self.line.is_empty() && self.tail.is_none());
                return Ok(has_rest.then(|| self.take()));
            }
            let end = available.iter().position(|&byte| byte == b'\n');
            let used = end.map_or(available.len(), |end| end + 1);
            let part = available.get(..end.unwrap_or(used)).unwrap_or_default();
            let room = self.limit.saturating_sub(self.line.len());
            if part.len() <= room && self.tail.is_none() {
                self.line.extend_from_slice(part);
            } else {
                let (kept, rest) = part.split_at(room.min(part.len()));
                self.line.extend_from_slice(kept);
                let tail = self.tail.get_or_insert_default();
                tail.extend_from_slice(rest.get(rest.len().saturating_sub(TAIL_BYTES)..).unwrap_or_default());
                tail.drain(..tail.len().saturating_sub(TAIL_BYTES));
            }
            self.reader.consume(used);
            if end.is_some() {
                return Ok(Some(self.take()));
            }
        }
    }

    fn take(&mut self) -> Line {
        let mut head = std::mem::take(&mut self.line);
        if let Some(tail) = self.tail.take() {
            return Line::Cut { head, tail };
        }
        if head.last() == Some(&b'\r') {
            head.pop();
        }
        Line::Whole(head)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn lines(text: &[u8], limit: usize, takes_rest: bool) -> Vec<Line> {
        let mut lines = BoundedLines::new(text, limit);
        let mut found = Vec::new();
        while let Some(line) = lines.next(takes_rest).await.unwrap() {
            found.push(line);
        }
        found
    }

    fn whole(text: &str) -> Line {
        Line::Whole(text.into())
    }

    #[tokio::test]
    async fn a_line_that_is_too_long_keeps_its_ends_and_spoils_no_other() {
        let text = format!("ab\r\n{}xyz\n\ncd", "a".repeat(1000));
        let Line::Cut { head, tail } = lines(text.as_bytes(), 4, false).await.swap_remove(1) else {
            panic!("not cut");
        };
        assert_eq!((head.as_slice(), tail.len()), (&b"aaaa"[..], TAIL_BYTES));
        assert!(tail.ends_with(b"axyz"));
        let others: Vec<Line> = lines(text.as_bytes(), 4, false)
            .await
            .into_iter()
            .filter(|line| matches!(line, Line::Whole(_)))
            .collect();
        assert_eq!(others, [whole("ab"), whole("")]);
    }

    #[tokio::test]
    async fn what_follows_the_last_line_end_is_a_line_only_where_asked() {
        assert_eq!(lines(b"a\nb", 9, false).await, [whole("a")]);
        assert_eq!(lines(b"a\nb", 9, true).await, [whole("a"), whole("b")]);
    }
}
