//! Requests of programs' own, which belong to no function.

use mce_catalog::function::Effect;

use crate::call::Broker;
use crate::call_error::CallError;

/// A request to send. Everything in it was written by hostile code.
#[derive(Debug, Clone)]
pub struct FetchRequest<'a> {
    /// The run that it belongs to, for the audit log.
    pub run: &'a str,
    /// `GET`, `POST`, ...
    pub method: &'a str,
    /// Absolute; http or https.
    pub url: &'a str,
    /// Names and values. None of them may be a field of the connection.
    pub headers: &'a [(String, String)],
    /// What is sent.
    pub body: Option<Vec<u8>>,
}

impl FetchRequest<'_> {
    /// What a request with this method does: `GET`, `HEAD` and `OPTIONS` read, `DELETE` destroys, all others write.
    pub fn effect(method: &str) -> Effect {
        match method.to_ascii_uppercase().as_str() {
            "GET" | "HEAD" | "OPTIONS" => Effect::Read,
            "DELETE" => Effect::Destructive,
            _ => Effect::Write,
        }
    }
}

/// The answer to a [`FetchRequest`], whatever its status. No configured secret is in it.
#[derive(Debug)]
pub struct FetchAnswer {
    /// What was done, as a function: `fetch:HOST`.
    pub function: String,
    /// The status.
    pub status: u16,
    /// Where the answer came from, after redirects.
    pub url: String,
    /// Names in lower case, and values.
    pub headers: Vec<(String, String)>,
    /// Decompressed.
    pub body: Vec<u8>,
}

impl Broker {
    /// Sends a request of a program's own.
    ///
    /// # Errors
    ///
    /// `Policy`, always.
    #[expect(clippy::unused_async, reason = "what it will be")]
    pub async fn fetch(&self, request: FetchRequest<'_>) -> Result<FetchAnswer, CallError> {
        let error = CallError::policy("programs may not fetch yet");
        self.refuse(request.run, "fetch", &error);
        Err(error)
    }
}
