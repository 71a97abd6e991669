//! Integers of more than 64 bits in messages. Readers of JSON round them; so they travel through those as texts with a sign of ours
//! before them, and become numbers again where arguments are passed on.

use axum::body::{Body, to_bytes};
use axum::extract::Request;
use axum::http::header::CONTENT_LENGTH;
use axum::middleware::Next;
use axum::response::Response;
use serde::Serialize;
use serde_json::value::RawValue;

use super::changed_reader::{Change, ChangedReader};

/// Digits of a number; a longer one stays as it is.
const MAX_DIGITS: usize = 1_000;
/// What such a text begins with: a character that means nothing to anybody else.
const SIGN: char = '\u{e000}';

/// A reader of JSON in which long integers are texts. All other bytes pass as they are.
pub(crate) type LongIntegersAsTexts<R> = ChangedReader<R, Scanner>;

impl Change for Scanner {
    fn change(&mut self, bytes: &[u8], is_end: bool, out: &mut Vec<u8>) {
        self.scan(bytes, out);
        if is_end {
            self.end_number(out);
        }
    }
}

/// The same for the body of a request over HTTP, which has at most `limit` bytes; a longer one is refused by who reads it next.
pub(super) async fn in_body(limit: usize, request: Request, next: Next) -> Response {
    let (mut parts, body) = request.into_parts();
    let Ok(bytes) = to_bytes(body, limit).await else {
        return next.run(Request::from_parts(parts, Body::from(vec![b' '; limit + 1]))).await;
    };
    let (mut scanner, mut changed) = (Scanner::default(), Vec::with_capacity(bytes.len()));
    scanner.change(&bytes, true, &mut changed);
    parts.headers.remove(CONTENT_LENGTH);
    next.run(Request::from_parts(parts, Body::from(changed))).await
}

/// A value as JSON text in which such texts are numbers again.
///
/// # Errors
///
/// If the value cannot be written as JSON.
pub(super) fn to_exact(value: &impl Serialize) -> serde_json::Result<Box<RawValue>> {
    let text = serde_json::to_string(value)?;
    let begin = format!("\"{SIGN}");
    let mut parts = text.split(&begin);
    let mut exact = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        match part.split_once('"') {
            Some((digits, rest)) if is_integer(digits.as_bytes()) => exact.extend([digits, rest]),
            _ => exact.extend([&begin, part]),
        }
    }
    RawValue::from_string(exact)
}

fn is_integer(text: &[u8]) -> bool {
    let digits = text.strip_prefix(b"-").unwrap_or(text);
    !digits.is_empty() && digits.iter().all(u8::is_ascii_digit) && (digits.len() == 1 || !digits.starts_with(b"0"))
}

/// Where in a text of JSON a reader is.
#[derive(Debug, Default)]
pub(crate) struct Scanner {
    is_in_text: bool,
    is_escaped: bool,
    /// The number that is being read.
    number: Vec<u8>,
}

impl Scanner {
    fn scan(&mut self, bytes: &[u8], out: &mut Vec<u8>) {
        for &byte in bytes {
            if self.is_in_text {
                out.push(byte);
                // A message ends with its line.
                self.is_in_text = (byte != b'"' || self.is_escaped) && byte != b'\n';
                self.is_escaped = byte == b'\\' && !self.is_escaped;
                continue;
            }
            let goes_on = matches!(byte, b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E');
            let begins = matches!(byte, b'0'..=b'9' | b'-');
            if goes_on && (begins || !self.number.is_empty()) && self.number.len() < MAX_DIGITS {
                self.number.push(byte);
                continue;
            }
            self.end_number(out);
            out.push(byte);
            self.is_in_text = byte == b'"';
            self.is_escaped = false;
        }
    }

    fn end_number(&mut self, out: &mut Vec<u8>) {
        let fits = || {
            let text = std::str::from_utf8(&self.number).unwrap_or_default();
            text.parse::<i64>().is_ok() || text.parse::<u64>().is_ok()
        };
        if is_integer(&self.number) && !fits() {
            out.push(b'"');
            out.extend(SIGN.encode_utf8(&mut [0; 4]).bytes());
            out.append(&mut self.number);
            out.push(b'"');
        } else {
            out.append(&mut self.number);
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;
    use tokio::io::AsyncReadExt as _;

    use super::*;

    #[tokio::test]
    async fn long_integers_come_through_and_all_else_stays() {
        for text in [
            r#"{"a":123456789012345678901234567890,"b":[-98765432109876543210987,1.5e30,18446744073709551615,-9223372036854775808]}"#,
            r#"{"a":"123456789012345678901234567890","b\"":"\\","c":0}"#,
            "18446744073709551616",
            r#"["\"",36893488147419103232,true,null]"#,
        ] {
            let mut read = String::new();
            LongIntegersAsTexts::new(text.as_bytes()).read_to_string(&mut read).await.unwrap();
            let value: Value = serde_json::from_str(&read).unwrap();
            let exact = to_exact(&value).unwrap();
            let plain = text.replace("1.5e30", "1.5e+30");
            assert_eq!(exact.get(), plain, "{read}");
        }
        let short = r#"{"id":1,"a":"x 123456789012345678901234567890 y","n":[-1.25,1e5]}"#;
        let mut read = String::new();
        LongIntegersAsTexts::new(short.as_bytes()).read_to_string(&mut read).await.unwrap();
        assert_eq!(read, short);
    }

    #[test]
    fn a_text_that_only_looks_like_it_stays_a_text() {
        for text in ["x", "", "-", "01", "1\u{e000}"] {
            let value = Value::from(format!("{SIGN}{text}"));
            assert_eq!(serde_json::from_str::<Value>(to_exact(&value).unwrap().get()).unwrap(), value);
        }
    }
}
