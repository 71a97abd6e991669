//! Secrets and configured base URLs cut out of whatever comes back: an API may echo what it was sent.
//!
//! Searched for are the secrets, the values of variables in them and their parts, in any case, reversed, in hexadecimal and
//! in base64 at any place; and all of these with percent-encoding, backslash escapes or character references, wholly or
//! in part, twice over.

mod decoded;
mod json;
mod learned;
mod patterns;
mod places;
mod secrets;

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::Arc;

use mce_config::ServerSettings;
use serde::de::IgnoredAny;

pub(crate) use learned::Learned;
use patterns::{Cut, Patterns};

/// What stands where a secret was. Valid inside a JSON string.
pub(crate) const MARK: &str = "[redacted]";

/// Cuts out all configured secrets.
pub(crate) struct Redactor {
    patterns: Patterns,
}

impl Redactor {
    /// Of all servers, because one API may know another's secret.
    pub(crate) fn new(servers: &[ServerSettings]) -> Self {
        Self {
            patterns: Patterns::new(secret_forms(servers), &BTreeSet::new()),
        }
    }

    /// One that also cuts out the configured base URLs of all servers. Those of documents are public.
    pub(crate) fn with_places(servers: &[ServerSettings]) -> Self {
        let places = servers.iter().flat_map(places::forms).collect();
        Self {
            patterns: Patterns::new(secret_forms(servers), &places),
        }
    }

    /// The same; it also cuts out what becomes known later.
    pub(crate) fn learning(mut self, learned: &Arc<Learned>) -> Self {
        self.patterns.learned = Arc::clone(learned);
        self
    }

    /// A text without secrets; borrowed where there were none.
    pub(crate) fn text<'a>(&self, text: &'a str) -> Cow<'a, str> {
        without(text, &self.patterns.in_text(text.as_bytes()))
    }

    /// JSON text without secrets, which is JSON still; borrowed where there were none. The text must be valid.
    pub(crate) fn json<'a>(&self, text: &'a str) -> Cow<'a, str> {
        json::clean(&self.patterns, text)
    }

    /// JSON text if it is that, else any text, without secrets.
    pub(crate) fn json_or_text<'a>(&self, text: &'a str) -> Cow<'a, str> {
        if serde_json::from_str::<IgnoredAny>(text).is_ok() {
            self.json(text)
        } else {
            self.text(text)
        }
    }

    /// A body of unknown kind without secrets. JSON and text stay what they are; other bytes are searched for secrets alone.
    pub(crate) fn any(&self, body: Vec<u8>) -> Vec<u8> {
        match String::from_utf8(body) {
            Ok(text) => match self.json_or_text(&text) {
                Cow::Owned(text) => text.into_bytes(),
                Cow::Borrowed(_) => text.into_bytes(),
            },
            Err(e) => {
                let bytes = e.into_bytes();
                let cuts = self.patterns.in_binary(&bytes);
                if cuts.is_empty() { bytes } else { cut_out(&bytes, &cuts) }
            }
        }
    }
}

impl std::fmt::Debug for Redactor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Redactor(***)")
    }
}

fn secret_forms(servers: &[ServerSettings]) -> BTreeSet<String> {
    let secrets: BTreeSet<String> = servers.iter().flat_map(secrets::secrets_of).collect();
    secrets.iter().flat_map(|secret| secrets::forms(secret)).collect()
}

fn without<'a>(text: &'a str, cuts: &[Cut]) -> Cow<'a, str> {
    if cuts.is_empty() {
        return Cow::Borrowed(text);
    }
    let bytes = cut_out(text.as_bytes(), cuts);
    Cow::Owned(String::from_utf8(bytes).unwrap_or_else(|e| String::from_utf8_lossy(e.as_bytes()).into_owned()))
}

/// A mark where a secret was, nothing where a base URL was.
fn cut_out(bytes: &[u8], cuts: &[Cut]) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    for cut in cuts {
        out.extend_from_slice(bytes.get(at..cut.range.start).unwrap_or_default());
        out.extend_from_slice(if cut.is_secret { MARK.as_bytes() } else { b"" });
        at = cut.range.end;
    }
    out.extend_from_slice(bytes.get(at..).unwrap_or_default());
    out
}

#[cfg(test)]
mod tests;
