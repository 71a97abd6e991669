//! Secrets cut out of whatever comes back: an API may echo what it was sent.

#![expect(clippy::disallowed_methods, reason = "secrets are searched for here")]

use std::borrow::Cow;
use std::collections::BTreeSet;

use aho_corasick::{AhoCorasick, MatchKind};
use base64::Engine;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use mce_config::{Auth, Credential, Secret, ServerSettings};
use serde_json::Value;

use crate::base_url::BaseUrl;
use crate::request::encode;

/// What stands where a secret was. Valid inside a JSON string.
const MARK: &str = "[redacted]";
/// Shorter secrets would be found everywhere.
const MIN_BYTES: usize = 4;
/// In bytes that are no text, short secrets are found by chance.
const MIN_BYTES_IN_BINARY: usize = 8;

/// All forms of all configured secrets.
pub(crate) struct Redactor {
    in_text: Option<AhoCorasick>,
    in_binary: Option<AhoCorasick>,
}

impl Redactor {
    /// Of all servers, because one API may know another's secret.
    pub(crate) fn new(servers: &[ServerSettings]) -> Self {
        let secrets: BTreeSet<String> = servers.iter().flat_map(secrets_of).collect();
        let forms: BTreeSet<String> = secrets
            .iter()
            .filter(|secret| secret.len() >= MIN_BYTES)
            .flat_map(|secret| forms(secret))
            .collect();
        let long: Vec<_> = forms.iter().filter(|form| form.len() >= MIN_BYTES_IN_BINARY).cloned().collect();
        Self {
            in_text: searcher(forms),
            in_binary: searcher(long),
        }
    }

    /// A text without secrets; borrowed where there were none.
    pub(crate) fn text<'a>(&self, text: &'a str) -> Cow<'a, str> {
        match &self.in_text {
            Some(searcher) if searcher.is_match(text) => {
                let marks = vec![MARK; searcher.patterns_len()];
                Cow::Owned(searcher.replace_all(text, &marks))
            }
            Some(_) | None => Cow::Borrowed(text),
        }
    }

    /// JSON text without secrets, which is JSON still.
    pub(crate) fn json(&self, text: String) -> String {
        let Cow::Owned(redacted) = self.text(&text) else { return text };
        if serde_json::from_str::<serde::de::IgnoredAny>(&redacted).is_ok() {
            return redacted;
        }
        // A secret of digits was cut out of a number; now value by value.
        let mut value = serde_json::from_str(&text).unwrap_or_default();
        self.value(&mut value);
        value.to_string()
    }

    /// Bytes without secrets.
    pub(crate) fn bytes(&self, bytes: Vec<u8>) -> Vec<u8> {
        match &self.in_binary {
            Some(searcher) if searcher.is_match(&bytes) => {
                let marks = vec![MARK; searcher.patterns_len()];
                searcher.replace_all_bytes(&bytes, &marks)
            }
            Some(_) | None => bytes,
        }
    }

    /// A body of unknown kind without secrets. JSON and text stay what they are.
    pub(crate) fn any(&self, body: Vec<u8>) -> Vec<u8> {
        match String::from_utf8(body) {
            Ok(text) if serde_json::from_str::<serde::de::IgnoredAny>(&text).is_ok() => self.json(text).into_bytes(),
            Ok(text) => self.text(&text).into_owned().into_bytes(),
            Err(e) => self.bytes(e.into_bytes()),
        }
    }

    fn value(&self, value: &mut Value) {
        match value {
            Value::Null | Value::Bool(_) => {}
            Value::Number(number) => {
                if let Cow::Owned(text) = self.text(&number.to_string()) {
                    *value = Value::String(text);
                }
            }
            Value::String(text) => {
                if let Cow::Owned(redacted) = self.text(text) {
                    *text = redacted;
                }
            }
            Value::Array(items) => items.iter_mut().for_each(|item| self.value(item)),
            Value::Object(members) => {
                *members = std::mem::take(members)
                    .into_iter()
                    .map(|(key, mut member)| {
                        self.value(&mut member);
                        (self.text(&key).into_owned(), member)
                    })
                    .collect();
            }
        }
    }
}

impl std::fmt::Debug for Redactor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Redactor(***)")
    }
}

fn searcher(forms: impl IntoIterator<Item = String>) -> Option<AhoCorasick> {
    let forms: Vec<_> = forms.into_iter().collect();
    if forms.is_empty() {
        return None;
    }
    // The longest form first, so that no end of a secret is left over. Fails only beyond billions of bytes.
    AhoCorasick::builder().match_kind(MatchKind::LeftmostLongest).build(forms).ok()
}

/// The secrets of a server, and their parts that are secret by themselves.
fn secrets_of(server: &ServerSettings) -> Vec<String> {
    let mut secrets = Vec::new();
    let mut add = |secret: &Secret| {
        let text = secret.expose().trim();
        secrets.push(text.to_owned());
        // `Bearer x`: the token counts alone.
        if let Some((_, token)) = text.split_once(' ') {
            secrets.push(token.trim().to_owned());
        }
    };
    match &server.auth {
        Auth::None => {}
        Auth::Static { value } => add(value),
        Auth::Jwt { token } => add(token),
        Auth::Basic { username, password } => add_basic(&mut add, username, password),
        Auth::OAuth2 { client_secret, .. } | Auth::Keycloak { client_secret, .. } => add(client_secret),
        Auth::Session(session) => add(&session.password),
    }
    for credential in server.credentials.values() {
        match credential {
            Credential::Token(token) => add(token),
            Credential::Basic { username, password } => add_basic(&mut add, username, password),
        }
    }
    for (name, value) in &server.extra_headers {
        if is_secret_header(name, value.expose()) {
            add(value);
        }
    }
    if let Some(authorization) = server
        .base_url
        .as_deref()
        .and_then(BaseUrl::parse)
        .and_then(|base| base.authorization)
    {
        add(&authorization);
    }
    secrets
}

fn add_basic(add: &mut impl FnMut(&Secret), username: &str, password: &Secret) {
    add(password);
    let pair = format!("{username}:{}", password.expose());
    add(&Secret::new(STANDARD.encode(&pair)));
    add(&Secret::new(pair));
}

/// Version numbers, dates and media types are common as extra headers and in answers; they are no secrets.
fn is_secret_header(name: &str, value: &str) -> bool {
    const WORDS: [&str; 10] = [
        "auth",
        "key",
        "token",
        "secret",
        "cookie",
        "session",
        "password",
        "credential",
        "signature",
        "sid",
    ];
    let name = name.to_ascii_lowercase();
    let has_word = WORDS.iter().any(|word| name.contains(word));
    let is_random = value.len() >= 16 && !value.contains(['/', ' ', ',']) && value.bytes().any(|byte| byte.is_ascii_digit());
    has_word || is_random
}

/// The forms in which an API may give a text back.
fn forms(secret: &str) -> Vec<String> {
    let json = Value::from(secret).to_string();
    let json = json.trim_matches('"').to_owned();
    let ascii: String = json
        .chars()
        .map(|c| if c.is_ascii() { c.to_string() } else { escaped(c) })
        .collect();
    let mut forms = vec![
        secret.to_owned(),
        json.replace('/', "\\/"),
        json,
        ascii,
        encode(secret),
        encode(secret).replace("%20", "+"),
        STANDARD_NO_PAD.encode(secret),
        URL_SAFE_NO_PAD.encode(secret),
    ];
    forms.retain(|form| form.len() >= MIN_BYTES);
    forms
}

/// `\uXXXX`, as a pair beyond the basic plane. (RFC 8259, section 7)
fn escaped(c: char) -> String {
    let mut units = [0; 2];
    let units: Vec<_> = c.encode_utf16(&mut units).iter().map(|unit| format!("\\u{unit:04x}")).collect();
    units.concat()
}
