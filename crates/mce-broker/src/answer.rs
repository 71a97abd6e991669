//! What an API answered, as the program gets it.

use std::time::Duration;

use mce_catalog::function::Effect;
use serde_json::value::RawValue;

/// A successful answer. No secret is in it.
#[derive(Debug)]
pub struct Answer {
    /// The function that was called, `server.function`.
    pub function: String,
    /// What calling it does.
    pub effect: Effect,
    /// The value.
    pub value: AnswerValue,
    /// The status, 200 to 299 or 304.
    pub status: u16,
    /// Header fields that tell about pages, limits and places, with lower-case names.
    pub headers: Vec<(String, String)>,
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
