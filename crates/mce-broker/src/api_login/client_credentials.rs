//! The grant of client credentials. (RFC 6749, section 4.4)

#![expect(clippy::disallowed_methods, reason = "the client's secret is sent here")]

use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use mce_config::Secret;
use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderValue};
use reqwest::{Body, Method, Request, Url};
use serde::Deserialize;

use super::{Granted, Login, failed, refused, unreachable};
use crate::call_error::CallError;
use crate::http::{Http, RawAnswer};
use crate::request::encode;

/// How long a token is taken to last whose endpoint does not say. (RFC 6749, section 5.1: `expires_in` is recommended.)
const UNTOLD: Duration = Duration::from_mins(5);
/// A token that says it lasts longer is asked for anew.
const LONGEST: Duration = Duration::from_hours(24);

/// Whom a token is asked of, and who asks.
#[derive(Debug, Clone)]
pub(crate) struct ClientLogin {
    pub(crate) url: String,
    pub(crate) client_id: String,
    pub(crate) client_secret: Secret,
    /// Empty: none is asked for.
    pub(crate) scope: String,
}

/// RFC 6749, section 5.1.
#[derive(Deserialize)]
struct TokenAnswer {
    access_token: String,
    token_type: Option<String>,
    expires_in: Option<serde_json::Value>,
}

/// RFC 6749, section 5.2.
#[derive(Deserialize)]
struct TokenError {
    error: String,
}

pub(super) async fn log_in(server: &str, request: &ClientLogin, http: &Http) -> Result<Login, CallError> {
    let mut answer = ask(server, request, http, true).await?;
    // The secret in a header is what every endpoint must take (section 2.3.1); some take it in the body only.
    if !is_success(&answer) && is_unknown_client(&answer) {
        answer = ask(server, request, http, false).await?;
    }
    if !is_success(&answer) {
        return Err(refused(server, &request.url, &answer));
    }
    let Ok(token) = serde_json::from_slice::<TokenAnswer>(&answer.body) else {
        let message = format!("the login of `{server}` answered with status {} and no token", answer.status);
        return Err(failed(server, &request.url, message));
    };
    let kind = token.token_type.as_deref().unwrap_or("Bearer");
    let value = Secret::with_parts(format!("{} {}", scheme(kind), token.access_token), vec![token.access_token.clone()]);
    if token.access_token.is_empty() || !value.is_header_value() {
        return Err(failed(
            server,
            &request.url,
            format!("the login of `{server}` gave a token that cannot be sent"),
        ));
    }
    let seconds = token
        .expires_in
        .as_ref()
        .and_then(|value| value.as_f64().or_else(|| value.as_str()?.parse().ok()));
    let lasts = seconds
        .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
        .unwrap_or(UNTOLD);
    Ok(Login::new(Granted::Authorization(value), lasts.min(LONGEST)))
}

/// `bearer` is how many endpoints write it, and `Bearer` what many APIs ask for.
fn scheme(kind: &str) -> &str {
    if kind.eq_ignore_ascii_case("bearer") { "Bearer" } else { kind }
}

async fn ask(server: &str, request: &ClientLogin, http: &Http, is_in_header: bool) -> Result<RawAnswer, CallError> {
    let url = Url::parse(&request.url).map_err(|_| failed(server, &request.url, format!("the token URL of `{server}` is no URL")))?;
    let (id, secret) = (encode(&request.client_id), encode(request.client_secret.expose()));
    let mut form = vec!["grant_type=client_credentials".to_owned()];
    if !request.scope.is_empty() {
        form.push(format!("scope={}", encode(&request.scope)));
    }
    if !is_in_header {
        form.push(format!("client_id={id}"));
        form.push(format!("client_secret={secret}"));
    }
    let mut message = Request::new(Method::POST, url);
    let headers = message.headers_mut();
    headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/x-www-form-urlencoded"));
    if is_in_header && let Ok(mut value) = HeaderValue::from_str(&format!("Basic {}", STANDARD.encode(format!("{id}:{secret}")))) {
        value.set_sensitive(true);
        headers.insert(AUTHORIZATION, value);
    }
    *message.body_mut() = Some(Body::from(form.join("&")));
    http.send_once(message)
        .await
        .map_err(|error| unreachable(server, &request.url, &error))
}

fn is_success(answer: &RawAnswer) -> bool {
    (200..300).contains(&answer.status)
}

fn is_unknown_client(answer: &RawAnswer) -> bool {
    let told = serde_json::from_slice::<TokenError>(&answer.body);
    answer.status == 401
        || told.is_ok_and(|told| matches!(told.error.as_str(), "invalid_client" | "invalid_request" | "unauthorized_client"))
}
