//! Frames: a length (u32, little-endian) and that many bytes of JSON, in both directions. Pure.
//!
//! What a worker sends was written by hostile code. It is bounded in size before it is kept, in depth before it is
//! parsed, and has no field and no operation but those known here.

use std::borrow::Cow;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use crate::program::shortened;
use crate::{Content, HostCall, Naming, ProgramError, SearchBy, WrittenCall};

/// The deepest nesting of a frame. Readers of JSON stop at 128.
const DEPTH: usize = 120;

/// Bytes of the frame of a host call.
const CALL_BYTES: usize = 9 << 20;

/// Bytes of a frame with a value to keep: 16 MiB, and what is around it.
const SAVE_BYTES: usize = (16 << 20) + 4096;

/// Bytes of a log frame.
const LOG_BYTES: usize = 256 << 10;

/// Bytes of an error frame.
const ERROR_BYTES: usize = 2 << 20;

/// Bytes of the images of a result, in base64, and of the frame around it.
const CONTENT_BYTES: usize = 12 << 20;

/// Names in one request for descriptions.
const NAMES: usize = 500;

/// Calls whose arguments are looked at before a program starts.
const WRITTEN_CALLS: usize = 100;

/// Header fields of one request of a program's own.
const HEADERS: usize = 200;

/// A frame that a worker sent.
#[derive(Debug)]
pub enum WorkerFrame {
    /// The worker is locked in and waits for its program.
    Ready,
    /// Text that the program printed.
    Log(String),
    /// A host call.
    Call {
        /// Chosen by the worker; the answer carries it.
        id: u64,
        /// What it wants.
        call: HostCall,
    },
    /// The run is over and has a value.
    Result {
        /// JSON text.
        value: Box<RawValue>,
        /// Images.
        contents: Vec<Content>,
    },
    /// The run is over and has none.
    Error(Box<ProgramError>),
}

/// What is wrong with a frame.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FrameProblem {
    /// The length says more than any frame may have.
    #[error("a frame of {bytes} bytes was announced")]
    Length {
        /// As announced.
        bytes: usize,
    },
    /// Larger than a frame of this kind may be.
    #[error("a frame `{op}` has {bytes} bytes")]
    Size {
        /// The kind.
        op: &'static str,
        /// Its size.
        bytes: usize,
    },
    /// Nested too deep.
    #[error("a frame is nested deeper than {DEPTH} levels")]
    Depth,
    /// Not UTF-8, or a text with half a surrogate pair.
    #[error("a frame holds text that is no Unicode")]
    Text,
    /// Not the JSON of any frame.
    #[error("a frame is malformed: {reason}")]
    Shape {
        /// What the reader says.
        reason: String,
    },
}

/// Collects bytes and cuts them into frames.
#[derive(Debug)]
pub struct FrameBuffer {
    bytes: Vec<u8>,
    start: usize,
    limit_bytes: usize,
}

impl FrameBuffer {
    /// A buffer for a worker whose results may have `output_bytes`.
    pub fn new(output_bytes: usize) -> Self {
        Self {
            bytes: Vec::new(),
            start: 0,
            limit_bytes: CONTENT_BYTES.saturating_add(output_bytes).max(CALL_BYTES).max(SAVE_BYTES),
        }
    }

    /// Adds what was read.
    pub fn extend(&mut self, bytes: &[u8]) {
        if self.start > 0 {
            self.bytes.drain(..self.start);
            self.start = 0;
        }
        self.bytes.extend_from_slice(bytes);
    }

    /// The next whole frame.
    ///
    /// # Errors
    ///
    /// [`FrameProblem::Length`], as soon as the length is known.
    pub fn next_frame(&mut self) -> Result<Option<&[u8]>, FrameProblem> {
        let rest = self.bytes.get(self.start..).unwrap_or_default();
        let Some((head, body)) = rest.split_first_chunk::<4>() else {
            return Ok(None);
        };
        let size = u32::from_le_bytes(*head) as usize;
        if size > self.limit_bytes {
            return Err(FrameProblem::Length { bytes: size });
        }
        let Some(frame) = body.get(..size) else {
            return Ok(None);
        };
        self.start += 4 + size;
        Ok(Some(frame))
    }

    /// Some bytes wait for the rest of their frame.
    pub fn has_rest(&self) -> bool {
        self.start < self.bytes.len()
    }
}

/// Reads one frame of a worker.
///
/// # Errors
///
/// Any [`FrameProblem`]: then the worker is not to be listened to any more.
pub fn parse(frame: &[u8], output_bytes: usize) -> Result<WorkerFrame, FrameProblem> {
    let text = std::str::from_utf8(frame).map_err(|_| FrameProblem::Text)?;
    check_text(frame)?;
    let wire: Wire<'_> = serde_json::from_str(text).map_err(shape)?;
    match &*wire.op {
        "ready" => Ok(WorkerFrame::Ready),
        "log" => {
            bounded("log", frame, LOG_BYTES)?;
            Ok(WorkerFrame::Log(required(wire.text, "text")?.into_owned()))
        }
        "result" => read_result(wire, output_bytes),
        "error" => {
            bounded("error", frame, ERROR_BYTES)?;
            let error: ProgramError = serde_json::from_str(required(wire.error, "error")?.get()).map_err(shape)?;
            Ok(WorkerFrame::Error(Box::new(error.bounded())))
        }
        "call" | "fetch" | "describe" | "check" | "servers" | "search" | "save" | "load" | "ask" => {
            bounded("call", frame, if wire.op == "save" { SAVE_BYTES } else { CALL_BYTES })?;
            Ok(WorkerFrame::Call {
                id: required(wire.id, "id")?,
                call: read_call(wire)?,
            })
        }
        _ => Err(FrameProblem::Shape {
            reason: "its `op` is unknown".to_owned(),
        }),
    }
}

/// One frame for a worker, with its length.
///
/// # Errors
///
/// [`FrameProblem::Length`] if it is longer than a length can say.
pub fn frame(body: &[u8]) -> Result<Vec<u8>, FrameProblem> {
    let size = u32::try_from(body.len()).map_err(|_| FrameProblem::Length { bytes: body.len() })?;
    let mut bytes = Vec::with_capacity(body.len() + 4);
    bytes.extend_from_slice(&size.to_le_bytes());
    bytes.extend_from_slice(body);
    Ok(bytes)
}

/// All fields that a frame may have; which of them, its `op` decides.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Wire<'a> {
    #[serde(borrow)]
    op: Cow<'a, str>,
    id: Option<u64>,
    function: Option<String>,
    naming: Option<Naming>,
    #[serde(borrow)]
    arguments: Option<&'a RawValue>,
    with_headers: Option<bool>,
    page: Option<String>,
    method: Option<String>,
    url: Option<String>,
    headers: Option<Vec<(String, String)>>,
    body: Option<String>,
    follow_redirects: Option<bool>,
    server: Option<String>,
    names: Option<Vec<String>>,
    calls: Option<Vec<WrittenCall>>,
    query: Option<String>,
    by: Option<SearchBy>,
    limit: Option<u32>,
    handle: Option<String>,
    #[serde(borrow)]
    text: Option<Cow<'a, str>>,
    #[serde(borrow, default, deserialize_with = "present")]
    value: Option<&'a RawValue>,
    contents: Option<Vec<WireContent>>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
}

/// A member that is there, also if it is `null`.
fn present<'de: 'a, 'a, D: Deserializer<'de>>(deserializer: D) -> Result<Option<&'a RawValue>, D::Error> {
    <&RawValue>::deserialize(deserializer).map(Some)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WireContent {
    mime_type: String,
    base64: String,
}

fn read_result(wire: Wire<'_>, output_bytes: usize) -> Result<WorkerFrame, FrameProblem> {
    let value = required(wire.value, "value")?;
    bounded("result", value.get().as_bytes(), output_bytes)?;
    let mut contents = Vec::new();
    for content in wire.contents.unwrap_or_default() {
        if content.mime_type.len() > 100 || !content.mime_type.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(FrameProblem::Shape {
                reason: "a content has no media type".to_owned(),
            });
        }
        let data = STANDARD.decode(content.base64).map_err(|_| FrameProblem::Shape {
            reason: "a content is no base64".to_owned(),
        })?;
        contents.push(Content {
            mime_type: content.mime_type,
            data,
        });
    }
    Ok(WorkerFrame::Result {
        value: value.to_owned(),
        contents,
    })
}

fn read_call(wire: Wire<'_>) -> Result<HostCall, FrameProblem> {
    match &*wire.op {
        "call" => Ok(HostCall::Call {
            function: required(wire.function, "function")?,
            naming: required(wire.naming, "naming")?,
            arguments: read_arguments(wire.arguments)?,
            with_headers: wire.with_headers.unwrap_or_default(),
            page: wire.page,
        }),
        "ask" => Ok(HostCall::Ask {
            request: read_arguments(wire.arguments)?,
        }),
        "fetch" => read_fetch(wire),
        "describe" => {
            let names = wire.names.unwrap_or_default();
            if names.len() > NAMES {
                return Err(FrameProblem::Shape {
                    reason: format!("more than {NAMES} names are asked for"),
                });
            }
            Ok(HostCall::Describe {
                server: required(wire.server, "server")?,
                names,
            })
        }
        "check" => {
            let calls = required(wire.calls, "calls")?;
            if calls.len() > WRITTEN_CALLS {
                return Err(FrameProblem::Shape {
                    reason: format!("more than {WRITTEN_CALLS} calls are to be checked"),
                });
            }
            Ok(HostCall::Check { calls })
        }
        "search" => Ok(HostCall::Search {
            query: required(wire.query, "query")?,
            by: wire.by.unwrap_or_default(),
            server: wire.server,
            limit: wire.limit,
        }),
        "save" => Ok(HostCall::Save {
            value: required(wire.value, "value")?.to_owned(),
        }),
        "load" => Ok(HostCall::Load {
            id: required(wire.handle, "handle")?,
        }),
        _ => Ok(HostCall::Servers {}),
    }
}

fn read_arguments(arguments: Option<&RawValue>) -> Result<Box<RawValue>, FrameProblem> {
    let arguments = required(arguments, "arguments")?;
    if arguments.get().starts_with('{') {
        Ok(arguments.to_owned())
    } else {
        Err(FrameProblem::Shape {
            reason: "`arguments` is no object".to_owned(),
        })
    }
}

fn read_fetch(wire: Wire<'_>) -> Result<HostCall, FrameProblem> {
    let headers = wire.headers.unwrap_or_default();
    if headers.len() > HEADERS {
        return Err(FrameProblem::Shape {
            reason: format!("more than {HEADERS} header fields are sent"),
        });
    }
    let body = wire.body.map(|body| STANDARD.decode(body)).transpose();
    Ok(HostCall::Fetch {
        method: required(wire.method, "method")?,
        url: required(wire.url, "url")?,
        headers,
        body: body.map_err(|_| FrameProblem::Shape {
            reason: "`body` is no base64".to_owned(),
        })?,
        follow_redirects: wire.follow_redirects.unwrap_or(true),
    })
}

/// Depth and surrogates, before anything recursive or lenient reads the text.
fn check_text(bytes: &[u8]) -> Result<(), FrameProblem> {
    let mut depth = 0_usize;
    let mut rest = bytes;
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        match byte {
            b'"' => rest = after_string(rest)?,
            b'[' | b'{' => {
                depth += 1;
                if depth > DEPTH {
                    return Err(FrameProblem::Depth);
                }
            }
            b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    Ok(())
}

/// What follows the string that has just begun.
fn after_string(mut rest: &[u8]) -> Result<&[u8], FrameProblem> {
    loop {
        match rest {
            [] => return Ok(rest),
            [b'"', after @ ..] => return Ok(after),
            [b'\\', b'u', after @ ..] => rest = after_unicode_escape(after)?,
            [b'\\', _, after @ ..] | [_, after @ ..] => rest = after,
        }
    }
}

fn after_unicode_escape(rest: &[u8]) -> Result<&[u8], FrameProblem> {
    let Some((first, after)) = rest.split_first_chunk::<4>() else {
        return Ok(rest);
    };
    match hex(*first) {
        Some(0xDC00..=0xDFFF) => Err(FrameProblem::Text),
        Some(0xD800..=0xDBFF) => match after {
            [b'\\', b'u', a, b, c, d, after @ ..] if matches!(hex([*a, *b, *c, *d]), Some(0xDC00..=0xDFFF)) => Ok(after),
            _ => Err(FrameProblem::Text),
        },
        _ => Ok(after),
    }
}

fn hex(digits: [u8; 4]) -> Option<u32> {
    digits
        .iter()
        .try_fold(0, |sum, &digit| Some(sum * 16 + char::from(digit).to_digit(16)?))
}

fn required<T>(field: Option<T>, name: &str) -> Result<T, FrameProblem> {
    field.ok_or_else(|| FrameProblem::Shape {
        reason: format!("it has no `{name}`"),
    })
}

fn bounded(op: &'static str, bytes: &[u8], limit: usize) -> Result<(), FrameProblem> {
    if bytes.len() > limit {
        Err(FrameProblem::Size { op, bytes: bytes.len() })
    } else {
        Ok(())
    }
}

#[expect(clippy::needless_pass_by_value, reason = "by value it fits `map_err`")]
fn shape(error: serde_json::Error) -> FrameProblem {
    // The reader's words may repeat what the program wrote, so they are bounded.
    FrameProblem::Shape {
        reason: shortened(error.to_string(), 200),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem_of(text: &str) -> FrameProblem {
        parse(text.as_bytes(), 1000).unwrap_err()
    }

    #[test]
    fn bytes_are_cut_into_frames_wherever_they_were_split() {
        let sent = [frame(b"{}").unwrap(), frame(b"").unwrap(), frame(b"[1,2]").unwrap()].concat();
        for split in 0..sent.len() {
            let mut buffer = FrameBuffer::new(0);
            let mut found = Vec::new();
            for part in [&sent[..split], &sent[split..]] {
                buffer.extend(part);
                while let Some(frame) = buffer.next_frame().unwrap() {
                    found.push(frame.to_vec());
                }
            }
            assert_eq!(found, [b"{}".to_vec(), b"".to_vec(), b"[1,2]".to_vec()], "split at {split}");
            assert!(!buffer.has_rest());
        }
    }

    #[test]
    fn a_length_beyond_every_limit_is_refused_before_anything_is_kept() {
        let mut buffer = FrameBuffer::new(0);
        buffer.extend(&u32::MAX.to_le_bytes());
        assert_eq!(buffer.next_frame().unwrap_err(), FrameProblem::Length { bytes: u32::MAX as usize });
    }

    #[test]
    fn so_many_calls_are_checked_at_once_and_no_more() {
        let of = |count: usize| {
            let calls = vec![r#"{"function":"demo.get","arguments":{"id":1},"unknown":["/id"]}"#; count].join(",");
            parse(format!(r#"{{"id":7,"op":"check","calls":[{calls}]}}"#).as_bytes(), 1000)
        };
        let Ok(WorkerFrame::Call {
            call: HostCall::Check { calls },
            ..
        }) = of(WRITTEN_CALLS)
        else {
            panic!("{:?}", of(WRITTEN_CALLS))
        };
        assert_eq!(
            (calls.len(), calls[99].arguments.get(), calls[99].unknown.as_slice()),
            (100, r#"{"id":1}"#, &["/id".to_owned()][..])
        );
        let refused = of(WRITTEN_CALLS + 1).unwrap_err();
        assert!(refused.to_string().contains("more than 100 calls"), "{refused}");
    }

    #[test]
    fn a_call_keeps_its_arguments_as_they_were_written() {
        let text = r#"{"id":7,"op":"call","function":"demo.get","naming":"language","arguments":{"id": 123456789012345678901234567890}}"#;
        let WorkerFrame::Call {
            id: 7,
            call:
                HostCall::Call {
                    function,
                    naming: Naming::Language,
                    arguments,
                    with_headers: false,
                    page: None,
                },
        } = parse(text.as_bytes(), 1000).unwrap()
        else {
            panic!("no call")
        };
        assert_eq!(function, "demo.get");
        assert_eq!(arguments.get(), r#"{"id": 123456789012345678901234567890}"#);
    }

    #[test]
    fn a_request_of_its_own_has_header_fields_and_a_body_of_bytes() {
        let text = r#"{"op":"fetch","id":1,"method":"PUT","url":"http://a/","headers":[["A","b"],["A","c"]],"body":"AP8="}"#;
        let WorkerFrame::Call {
            id: 1,
            call:
                HostCall::Fetch {
                    method,
                    url,
                    headers,
                    body,
                    follow_redirects: true,
                },
        } = parse(text.as_bytes(), 1000).unwrap()
        else {
            panic!("no fetch")
        };
        let pair = |value: &str| ("A".to_owned(), value.to_owned());
        assert_eq!((method.as_str(), url.as_str()), ("PUT", "http://a/"));
        assert_eq!((headers, body), (vec![pair("b"), pair("c")], Some(vec![0, 255])));
        let many = format!(
            r#"{{"op":"fetch","id":1,"method":"GET","url":"http://a","headers":[{}]}}"#,
            [r#"["a","b"]"#; 201].join(",")
        );
        assert!(matches!(problem_of(&many), FrameProblem::Shape { .. }));
    }

    #[test]
    fn what_is_no_frame_is_refused() {
        for text in [
            "",
            "null",
            "{}",
            r#"{"op":"exec"}"#,
            r#"{"op":"log"}"#,
            r#"{"op":"log","text":5}"#,
            r#"{"op":"log","text":"a","more":1}"#,
            r#"{"op":"call","id":-1,"function":"f","naming":"language","arguments":{}}"#,
            r#"{"op":"call","id":1.5,"function":"f","naming":"language","arguments":{}}"#,
            r#"{"op":"call","id":18446744073709551616,"function":"f","naming":"language","arguments":{}}"#,
            r#"{"op":"call","function":"f","naming":"language","arguments":{}}"#,
            r#"{"op":"call","id":1,"function":"f","naming":"language","arguments":[]}"#,
            r#"{"op":"call","id":1,"function":"f","naming":"other","arguments":{}}"#,
            r#"{"op":"fetch","id":1,"method":"GET"}"#,
            r#"{"op":"save","id":1}"#,
            r#"{"op":"load","id":1,"handle":7}"#,
            r#"{"op":"fetch","id":1,"method":"GET","url":"http://a","body":"!"}"#,
            r#"{"op":"fetch","id":1,"method":"GET","url":"http://a","headers":[["a"]]}"#,
            r#"{"op":"result"}"#,
            r#"{"op":"result","value":1,"contents":[{"mime_type":"image/png","base64":"!"}]}"#,
            r#"{"op":"result","value":1} {"op":"log","text":""}"#,
            r#"{"op":"error","error":{"type":"fatal","message":""}}"#,
        ] {
            assert!(matches!(problem_of(text), FrameProblem::Shape { .. }), "{text}");
        }
    }

    #[test]
    fn nesting_is_bounded_without_using_the_stack() {
        let deep = format!(r#"{{"op":"result","value":{}1{}}}"#, "[".repeat(1_000_000), "]".repeat(1_000_000));
        assert_eq!(problem_of(&deep), FrameProblem::Depth);
        assert!(parse(br#"{"op":"result","value":"[[[[\"[["}"#, 1000).is_ok());
    }

    #[test]
    fn half_a_surrogate_pair_is_refused_in_values_too() {
        for text in [r"\ud800", r"\udc00", r"\ud800\u0041", r"\ud800\ud800", r"\uD83D"] {
            assert_eq!(
                problem_of(&format!(r#"{{"op":"result","value":"{text}"}}"#)),
                FrameProblem::Text,
                "{text}"
            );
        }
        assert!(parse(br#"{"op":"result","value":"\ud83d\ude00 \\ud800"}"#, 1000).is_ok());
        assert_eq!(parse(b"{\"op\":\"log\",\"text\":\"\xff\"}", 1000).unwrap_err(), FrameProblem::Text);
    }

    #[test]
    fn each_kind_of_frame_has_its_own_size() {
        let value = format!(r#"{{"op":"result","value":"{}"}}"#, "x".repeat(1000));
        assert_eq!(problem_of(&value), FrameProblem::Size { op: "result", bytes: 1002 });
        let log = format!(r#"{{"op":"log","text":"{}"}}"#, "x".repeat(LOG_BYTES));
        assert!(matches!(problem_of(&log), FrameProblem::Size { op: "log", .. }));
    }

    #[test]
    fn texts_of_an_error_are_cut_at_a_boundary() {
        let text = format!(
            r#"{{"op":"error","error":{{"type":"exception","message":"{}"}}}}"#,
            "é".repeat(9000)
        );
        let WorkerFrame::Error(error) = parse(text.as_bytes(), 1000).unwrap() else {
            panic!("no error")
        };
        assert_eq!(error.message, "é".repeat(2048));
    }
}
