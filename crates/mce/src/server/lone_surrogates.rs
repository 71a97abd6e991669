//! Half of a character in a message: JSON allows the escape of a lone surrogate, and texts here cannot hold it. Such a message
//! would be dropped as no JSON, and its sender would wait for ever; so the half becomes U+FFFD before the message is read.

use super::changed_reader::{Change, ChangedReader};

/// The longest part that must be seen whole: two escapes.
const PAIR: usize = 12;

/// A reader of JSON in which lone surrogates are replaced. All other bytes pass as they are.
pub(crate) type WithoutLoneSurrogates<R> = ChangedReader<R, Mending>;

/// Bytes that were read and not looked at as a whole: at most the start of a pair.
#[derive(Debug, Default)]
pub(crate) struct Mending(Vec<u8>);

impl Change for Mending {
    fn change(&mut self, bytes: &[u8], is_end: bool, out: &mut Vec<u8>) {
        self.0.extend_from_slice(bytes);
        let seen = mend(&mut self.0, is_end);
        out.extend(self.0.drain(..seen));
    }
}

/// Replaces lone surrogates, and gives how many bytes have been looked at. What may be the start of a pair waits for the rest,
/// unless this `is_all`.
fn mend(bytes: &mut [u8], is_all: bool) -> usize {
    let mut at = 0;
    while let Some(found) = bytes.get(at..).and_then(|rest| rest.iter().position(|byte| *byte == b'\\')) {
        at += found;
        let rest = bytes.get(at..).unwrap_or_default();
        // A message ends with its line, so that nothing after that belongs to an escape.
        let is_whole = is_all || rest.len() >= PAIR || rest.contains(&b'\n');
        let (step, is_lone) = match (surrogate(rest), rest.get(6..).and_then(surrogate)) {
            (Some(Half::High), Some(Half::Low)) => (PAIR, false),
            (Some(Half::High), _) if !is_whole => return at,
            (Some(_), _) => (6, true),
            (None, _) if rest.len() < 6 && !is_whole => return at,
            (None, _) => (2, false),
        };
        if is_lone && let Some(escape) = bytes.get_mut(at..at + 6) {
            escape.copy_from_slice(b"\\ufffd");
        }
        at += step;
    }
    bytes.len()
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Half {
    High,
    Low,
}

/// The half of a character whose escape stands at the start. (RFC 8259, 7)
fn surrogate(bytes: &[u8]) -> Option<Half> {
    let digits = bytes.strip_prefix(b"\\u")?.get(..4)?;
    let unit = u16::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?;
    match unit {
        0xD800..=0xDBFF => Some(Half::High),
        0xDC00..=0xDFFF => Some(Half::Low),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::pin::Pin;
    use std::task::{Context, Poll};

    use tokio::io::{AsyncRead, AsyncReadExt, ReadBuf};

    use super::*;

    /// Gives one byte at a time.
    struct Slow<'a>(&'a [u8]);

    impl AsyncRead for Slow<'_> {
        fn poll_read(mut self: Pin<&mut Self>, _: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
            if let Some((first, rest)) = self.0.split_first() {
                buffer.put_slice(&[*first]);
                self.0 = rest;
            }
            Poll::Ready(Ok(()))
        }
    }

    async fn check(text: &str, expected: &str) {
        let mut whole = String::new();
        WithoutLoneSurrogates::new(text.as_bytes())
            .read_to_string(&mut whole)
            .await
            .unwrap();
        assert_eq!(whole, expected);
        let mut slow = String::new();
        WithoutLoneSurrogates::new(Slow(text.as_bytes()))
            .read_to_string(&mut slow)
            .await
            .unwrap();
        assert_eq!(slow, expected, "byte by byte");
    }

    #[tokio::test]
    async fn only_lone_surrogates_are_replaced() {
        check(r#"{"a":"\ud83d\ude00 \u00e9 \n"}"#, r#"{"a":"\ud83d\ude00 \u00e9 \n"}"#).await;
        check(r#""\ud83d""#, r#""\ufffd""#).await;
        check(r#""\uDC00x""#, r#""\ufffdx""#).await;
        check(r#""\ud83d\ud83d\ude00""#, r#""\ufffd\ud83d\ude00""#).await;
        check(r#""\ud83d\n""#, r#""\ufffd\n""#).await;
        check(r#""\\ud83d""#, r#""\\ud83d""#).await;
        check(r#""\\\ud83d""#, r#""\\\ufffd""#).await;
        check("\"\\ud83d\"\n\"\\u12\n\\", "\"\\ufffd\"\n\"\\u12\n\\").await;
        check(r"\ud83", r"\ud83").await;
        check("", "").await;
    }
}
