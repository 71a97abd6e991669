//! The secrets of a server and the forms in which an API may give them back.

#![expect(clippy::disallowed_methods, reason = "secrets are searched for here")]

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD};
use mce_config::{Auth, Credential, MIN_SECRET_BYTES, Origin, Secret, ServerSettings, is_secret_header, is_secret_variable};
use percent_encoding::percent_decode_str;
use reqwest::Url;

use super::patterns::MIN_BYTES_IN_BINARY;
use crate::base_url::BaseUrl;
use crate::hex::hex;

/// A part of a secret that nobody marked as such must be longer than most words.
const MIN_PIECE_BYTES: usize = 8;
/// Shorter base64 is found by chance in other base64.
const MIN_BASE64_BYTES: usize = 6;

/// The secrets of a server, and their parts that are secret by themselves.
pub(super) fn secrets_of(server: &ServerSettings) -> Vec<String> {
    let mut secrets = Secrets::default();
    match &server.auth {
        Auth::None => {}
        Auth::Static { value } => secrets.add_header(value),
        Auth::Jwt { token } => secrets.add_header(token),
        Auth::Basic { username, password } => secrets.add_basic(username, password),
        Auth::OAuth2 { client_secret, .. } | Auth::Keycloak { client_secret, .. } => secrets.add(client_secret),
        Auth::Session(session) => secrets.add(&session.password),
    }
    for credential in server.credentials.values() {
        match credential {
            Credential::Token(token) => {
                secrets.add_header(token);
                // For scheme `basic` it is `user:password`.
                secrets.add_piece(token.expose().split_once(':').map(|(_, password)| password));
            }
            Credential::Basic { username, password } => secrets.add_basic(username, password),
            Credential::Client { client_secret, .. } => secrets.add(client_secret),
        }
    }
    for (name, value) in &server.extra_headers {
        if is_secret_header(name, value) {
            secrets.add_header(value);
        }
    }
    for secret in server.upstream.oauth.client_secret.iter().chain(&server.connection.client_key) {
        secrets.add(secret);
    }
    if let Some(proxy) = server.connection.proxy.as_ref().filter(|proxy| proxy.expose().contains('@')) {
        secrets.add_piece(proxy.expose().rsplit_once('@').and_then(|(user, _)| Some(user.rsplit_once(':')?.1)));
        if let Ok(url) = proxy.expose().parse::<Url>()
            && let Some(password) = url.password()
        {
            let plain = |text: &str| percent_decode_str(text).decode_utf8_lossy().into_owned();
            // As the proxy gets it.
            secrets.add_basic(&plain(url.username()), &Secret::new(plain(password)));
        }
        secrets.add(proxy);
    }
    if let Origin::McpStdio(child) = &server.origin {
        for (name, value) in &child.env {
            if is_secret_variable(name, value) {
                secrets.add(value);
            }
        }
        secrets.add_arguments(&child.args);
    }
    let url = match &server.origin {
        Origin::McpHttp(http) => Some(http.url.as_str()),
        Origin::McpStdio(_) | Origin::OpenApi(_) | Origin::Recipes(_) => server.base_url.as_deref(),
    };
    let base = url.and_then(BaseUrl::parse);
    if let (Some(query), Origin::McpHttp(_)) = (base.as_ref().and_then(|base| base.query.as_deref()), &server.origin) {
        for pair in query.split('&') {
            secrets.add_piece(pair.split_once('=').map(|(_, value)| value));
        }
    }
    if let Some(authorization) = base.and_then(|base| base.authorization) {
        secrets.add_header(&authorization);
    }
    secrets.0.retain(|secret| secret.len() >= MIN_SECRET_BYTES);
    secrets.0
}

#[derive(Default)]
struct Secrets(Vec<String>);

impl Secrets {
    /// A secret, and the values of variables in it. One that is not whole yet is no secret.
    fn add(&mut self, secret: &Secret) {
        if secret.sources().next().is_some() {
            return;
        }
        self.0.push(secret.expose().trim().to_owned());
        self.0.extend(secret.expose_parts().iter().map(|part| part.trim().to_owned()));
    }

    fn add_piece(&mut self, piece: Option<&str>) {
        self.0.extend(
            piece
                .map(str::trim)
                .filter(|piece| piece.len() >= MIN_PIECE_BYTES)
                .map(str::to_owned),
        );
    }

    /// Arguments of a command: `--token=x`, `--token x`, and values that look random or are URLs with a password.
    fn add_arguments(&mut self, args: &[String]) {
        let mut option = "";
        for arg in args {
            let (name, value) = match arg.split_once('=').filter(|_| arg.starts_with('-')) {
                Some(pair) => pair,
                None => (option, arg.as_str()),
            };
            option = if arg.starts_with('-') && !arg.contains('=') { arg } else { "" };
            if value != option && is_secret_variable(name, &Secret::new(value)) {
                self.add_piece(Some(value));
                let password = value
                    .split_once("://")
                    .and_then(|(_, rest)| rest.split_once('@')?.0.split_once(':'));
                self.add_piece(password.map(|(_, password)| password));
            }
        }
    }

    fn add_basic(&mut self, username: &str, password: &Secret) {
        if password.sources().next().is_some() {
            return;
        }
        self.add(password);
        let pair = format!("{username}:{}", password.expose());
        self.0.extend([STANDARD.encode(&pair), pair]);
    }

    /// The value of a header field: what stands after its scheme is secret alone, and so are the values in it.
    fn add_header(&mut self, value: &Secret) {
        if value.sources().next().is_some() {
            return;
        }
        self.add(value);
        let text = value.expose().trim();
        if let Some((scheme, rest)) = text.split_once(' ') {
            self.0.push(rest.trim().to_owned());
            let pair = STANDARD.decode(rest.trim()).ok().filter(|_| scheme.eq_ignore_ascii_case("basic"));
            if let Some(pair) = pair.and_then(|pair| String::from_utf8(pair).ok()) {
                self.0.extend(pair.split_once(':').map(|(_, password)| password.to_owned()));
                self.0.push(pair);
            }
        }
        // `Token token="x"`, `a=x; b=y`.
        for assignment in text.split([' ', ',', ';']) {
            let value = assignment.split_once('=').map(|(_, value)| value.trim_matches(['"', '\'']));
            self.add_piece(value.filter(|value| value.bytes().any(|byte| byte.is_ascii_digit())));
        }
    }
}

/// The forms in which a secret is searched for, besides escapes, which are read before the search.
pub(super) fn forms(secret: &str) -> Vec<String> {
    let mut forms = vec![secret.to_owned(), secret.replace(' ', "+")];
    if !secret.is_ascii() {
        // Many servers read header fields as Latin-1.
        forms.push(secret.bytes().map(char::from).collect());
    }
    let long_forms = [secret.chars().rev().collect(), hex(secret.as_bytes())];
    forms.extend(long_forms.into_iter().filter(|form| form.len() >= MIN_BYTES_IN_BINARY));
    let base64 = (0..3)
        .map(|shift| base64_core(secret, shift))
        .chain([STANDARD_NO_PAD.encode(secret)]);
    for form in base64.filter(|form| form.len() >= MIN_BASE64_BYTES) {
        forms.push(form.replace('+', "-").replace('/', "_"));
        forms.push(form);
    }
    forms
}

/// The characters of base64 that a text alone decides, where so many bytes (modulo three) stand before it.
fn base64_core(secret: &str, shift: usize) -> String {
    let mut padded = vec![0; shift];
    padded.extend_from_slice(secret.as_bytes());
    let encoded = STANDARD.encode(&padded);
    let skipped = [0, 2, 3].get(shift).copied().unwrap_or_default();
    encoded.get(skipped..padded.len() * 8 / 6).unwrap_or_default().to_owned()
}
