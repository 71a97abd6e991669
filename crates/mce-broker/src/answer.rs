//! What an API answered, as the program gets it: decided by status and by what the body is, not by what was promised.

use std::borrow::Cow;
use std::time::Duration;

use mce_catalog::function::{Effect, HttpTarget};
use reqwest::StatusCode;
use reqwest::header::{CONTENT_TYPE, HeaderMap, LOCATION};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::call_error::{CallError, CallErrorKind};
use crate::http::RawAnswer;
use crate::json_text::{MAX_DEPTH, is_shallow};
use crate::redact::Redactor;
use crate::stream::{Stream, items};

/// Bytes of an error's body that are kept.
const MAX_ERROR_BYTES: usize = 64 << 10;
/// Characters of a body that is not the JSON it says it is, in the error's message.
const MAX_EXCERPT_CHARS: usize = 500;
/// A longer address that an answer leads to is not told.
const MAX_LOCATION_BYTES: usize = 4 << 10;
/// Header fields that tell about pages, limits and places, besides those with `rate-limit`, `page` or `total` in them and
/// those that end in `location`.
const TELLING_FIELDS: [&str; 7] = [
    "content-disposition",
    "content-type",
    "etag",
    "last-modified",
    "link",
    "retry-after",
    "x-request-id",
];

/// A successful answer. No secret is in it.
#[derive(Debug)]
pub struct Answer {
    /// How often it was sent.
    pub attempts: u32,
    /// The function that was called, `server.function`.
    pub function: String,
    /// What calling it does.
    pub effect: Effect,
    /// The value.
    pub value: AnswerValue,
    /// The status, 200 to 299 or 304; `None` for a tool.
    pub status: Option<u16>,
    /// Header fields that tell about pages, limits and places, with lower-case names.
    pub headers: Vec<(String, String)>,
    /// The whole result of a tool, a JSON object with its content blocks, where it was asked for.
    pub result: Option<Box<RawValue>>,
    /// The shape of the value, of a tool that does not say what it answers with.
    pub shape: Option<Value>,
    /// From the start of the call to its end.
    pub elapsed: Duration,
}

/// The value of an answer.
#[derive(Debug)]
pub enum AnswerValue {
    /// JSON text that was checked and not changed, so that integers stay exact.
    Json(Box<RawValue>),
    /// A text.
    Text(String),
    /// Bytes.
    Bytes(Vec<u8>),
    /// No content: null.
    Empty,
}

impl AnswerValue {
    /// Its size in bytes.
    pub fn len(&self) -> usize {
        match self {
            Self::Json(text) => text.get().len(),
            Self::Text(text) => text.len(),
            Self::Bytes(bytes) => bytes.len(),
            Self::Empty => 0,
        }
    }

    /// Whether there is nothing.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// What an answer is read with.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reading<'a> {
    pub(crate) target: &'a HttpTarget,
    pub(crate) redactor: &'a Redactor,
}

/// The value of a 2xx or 304 answer.
///
/// # Errors
///
/// `Api` for any other status, `Output` for JSON that cannot be read.
pub(crate) fn read_value(answer: RawAnswer, reading: Reading<'_>) -> Result<AnswerValue, CallError> {
    match answer.status {
        204 | 205 | 304 => Ok(AnswerValue::Empty),
        200..=299 if reading.target.method == "HEAD" => Ok(AnswerValue::Empty),
        200..=299 => content(answer, reading),
        _ => Err(api_error(&answer, reading)),
    }
}

/// The header fields that a program may see.
pub(crate) fn telling_headers(headers: &HeaderMap, reading: Reading<'_>) -> Vec<(String, String)> {
    let has_word = |name: &str| ["ratelimit", "rate-limit", "page", "total"].iter().any(|word| name.contains(word));
    let is_telling = |name: &str| TELLING_FIELDS.contains(&name) || name.ends_with("location") || has_word(name);
    headers
        .iter()
        .filter(|(name, _)| is_telling(name.as_str()))
        .filter_map(|(name, value)| {
            let value = reading.redactor.text(value.to_str().ok()?).into_owned();
            Some((name.as_str().to_owned(), value))
        })
        .collect()
}

/// Kinds of content, by media type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Content {
    Json,
    /// Items one after the other.
    Stream(Stream),
    Text,
    Binary,
}

fn content(answer: RawAnswer, reading: Reading<'_>) -> Result<AnswerValue, CallError> {
    let content_type = content_type(&answer.headers);
    let kind = content_type.as_deref().map(content_kind);
    let is_blank = answer.body.is_empty();
    match kind {
        Some(Content::Stream(stream)) => streamed(stream, &decoded(&answer.body, content_type.as_deref()), reading),
        Some(Content::Binary) if is_blank => Ok(AnswerValue::Bytes(Vec::new())),
        Some(Content::Text) if is_blank && !promises_json(reading.target) => Ok(AnswerValue::Text(String::new())),
        _ if is_blank => Ok(AnswerValue::Empty),
        Some(Content::Json) => json(&decoded(&answer.body, content_type.as_deref()), reading),
        // Servers that promise JSON and label it otherwise, or not at all, are common.
        _ if may_be_json(content_type.as_deref(), reading.target) && is_json(&answer.body) => json(&decoded(&answer.body, None), reading),
        Some(Content::Text) => Ok(AnswerValue::Text(
            reading
                .redactor
                .json_or_text(&decoded(&answer.body, content_type.as_deref()))
                .into_owned(),
        )),
        Some(Content::Binary) => Ok(AnswerValue::Bytes(reading.redactor.any(answer.body))),
        None => Ok(match String::from_utf8(answer.body) {
            Ok(text) => AnswerValue::Text(reading.redactor.json_or_text(&text).into_owned()),
            Err(e) => AnswerValue::Bytes(reading.redactor.any(e.into_bytes())),
        }),
    }
}

/// A list of the items. What calls itself a stream and is none is what it is.
fn streamed(stream: Stream, text: &str, reading: Reading<'_>) -> Result<AnswerValue, CallError> {
    match items(stream, text, reading.target.event_item) {
        Some(list) => json(&list, reading),
        None if is_json(text.as_bytes()) => json(text, reading),
        None => Ok(AnswerValue::Text(reading.redactor.json_or_text(text).into_owned())),
    }
}

fn json(text: &str, reading: Reading<'_>) -> Result<AnswerValue, CallError> {
    if text.trim().is_empty() {
        return Ok(AnswerValue::Empty);
    }
    if !is_shallow(text, MAX_DEPTH) {
        return Err(CallError::new(
            CallErrorKind::Output,
            format!("the answer's JSON is nested more than {MAX_DEPTH} levels deep"),
        ));
    }
    let not_json = |e| {
        // Cut after the secrets were cut out, so that no part of one is left at the end.
        let start = excerpt(&reading.redactor.text(text));
        CallError::new(
            CallErrorKind::Output,
            format!("the answer says that it is JSON and is not ({e}): {start}"),
        )
    };
    let value: &RawValue = match serde_json::from_str(text) {
        Ok(value) => value,
        // Some label as JSON what is one value in each line.
        Err(e) => match items(Stream::Lines, text, reading.target.event_item) {
            Some(list) => return json(&list, reading),
            None => return Err(not_json(e)),
        },
    };
    let clean = match reading.redactor.json(value.get()) {
        Cow::Borrowed(_) => value.to_owned(),
        Cow::Owned(clean) => RawValue::from_string(clean).map_err(not_json)?,
    };
    Ok(AnswerValue::Json(clean))
}

fn content_type(headers: &HeaderMap) -> Option<String> {
    let value = headers.get(CONTENT_TYPE)?.to_str().ok()?.trim();
    (!value.is_empty()).then(|| value.to_owned())
}

fn essence(media_type: &str) -> String {
    media_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

fn content_kind(content_type: &str) -> Content {
    let essence = essence(content_type);
    let subtype = essence.split_once('/').map_or("", |(_, subtype)| subtype);
    let is_lines = ["ndjson", "jsonl", "stream+json"].iter().any(|word| subtype.contains(word));
    let is_text = essence.starts_with("text/")
        || ["xml", "yaml", "javascript", "csv", "sql", "x-www-form-urlencoded", "graphql"]
            .iter()
            .any(|word| subtype.ends_with(word));
    if essence == "text/event-stream" {
        Content::Stream(Stream::Events)
    } else if subtype == "json-seq" || subtype.ends_with("+json-seq") {
        Content::Stream(Stream::Sequence)
    } else if is_lines {
        Content::Stream(Stream::Lines)
    } else if subtype == "json" || subtype.ends_with("+json") || essence == "text/json" {
        Content::Json
    } else if is_text {
        Content::Text
    } else {
        Content::Binary
    }
}

fn promises_json(target: &HttpTarget) -> bool {
    target
        .accepts
        .iter()
        .any(|media_type| content_kind(media_type) == Content::Json || media_type == "*/*")
}

/// Whether content of this type, which is not called JSON, may be JSON: the document promises that and not this type.
fn may_be_json(content_type: Option<&str>, target: &HttpTarget) -> bool {
    let is_promised = |content_type: &str| target.accepts.iter().any(|media_type| essence(media_type) == essence(content_type));
    match content_type {
        Some(content_type) => promises_json(target) && !is_promised(content_type),
        None => promises_json(target) || target.accepts.is_empty(),
    }
}

fn is_json(body: &[u8]) -> bool {
    serde_json::from_slice::<serde::de::IgnoredAny>(body.strip_prefix(b"\xef\xbb\xbf").unwrap_or(body)).is_ok()
}

/// The body as text, in the charset that the type names; UTF-8 otherwise. A byte order mark is dropped.
fn decoded<'a>(body: &'a [u8], content_type: Option<&str>) -> Cow<'a, str> {
    let charset = content_type.and_then(crate::charset::named).unwrap_or(encoding_rs::UTF_8);
    charset.decode(body).0
}

fn api_error(answer: &RawAnswer, reading: Reading<'_>) -> CallError {
    let status = answer.status;
    let reason = StatusCode::from_u16(status)
        .ok()
        .and_then(|status| status.canonical_reason())
        .unwrap_or_default();
    let text = decoded(&answer.body, content_type(&answer.headers).as_deref());
    let mut text = reading.redactor.json_or_text(&text).into_owned();
    text.truncate(text.floor_char_boundary(MAX_ERROR_BYTES));
    let mut message = format!("the API answered {status} {reason}").trim_end().to_owned();
    if answer.is_off_host {
        message.push_str(", a redirect to another host, which is not followed");
    } else if answer.is_off_base {
        message.push_str(", a redirect out of the base URL, which is not followed: the credentials would go there");
    }
    let body = (!text.is_empty()).then(|| Box::new(serde_json::from_str(&text).unwrap_or(Value::String(text))));
    let error = CallError::new(
        CallErrorKind::Api {
            status: Some(status),
            body,
        },
        message,
    );
    match answer.headers.get(LOCATION).and_then(|location| location.to_str().ok()) {
        // Downloads are often such redirects, with all that is needed in the address.
        Some(location) if answer.is_off_host && location.len() <= MAX_LOCATION_BYTES => {
            let location = reading.redactor.text(location);
            error.with_hint(format!(
                "it leads to `{location}`; `fetch` reads that if `MCE_ALLOWED_DOMAINS` names its host"
            ))
        }
        Some(_) | None => error,
    }
}

fn excerpt(text: &str) -> String {
    let text = text.trim();
    let mut kept: String = text.chars().take(MAX_EXCERPT_CHARS).collect();
    if kept.len() < text.len() {
        kept.push('…');
    }
    kept
}
