//! The grant of client credentials. (RFC 6749, section 4.4)

#![expect(clippy::disallowed_methods, reason = "the client's secret is sent here")]

use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use mce_config::{Secret, ServerSettings, TokenPlace};
use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderValue};
use reqwest::{Body, Method, Request, Url};
use serde::Deserialize;

use super::{Granted, Login, LoginWith, failed, refused, unreachable};
use crate::call_error::CallError;
use crate::http::{Http, RawAnswer};
use crate::oauth::{provider_url, token_endpoint};
use crate::request::encode;

/// How long a token is taken to last whose endpoint does not say. (RFC 6749, section 5.1: `expires_in` is recommended.)
const UNTOLD: Duration = Duration::from_mins(5);
/// A token that says it lasts longer is asked for anew.
const LONGEST: Duration = Duration::from_hours(24);

/// Where a token is asked for.
#[derive(Debug, Clone)]
pub(crate) enum TokenAt {
    /// At this endpoint.
    Url(String),
    /// Where an `OpenID` provider says at this URL.
    Provider {
        /// Of what it publishes.
        url: Box<Url>,
        /// A person named the provider, so that its word counts; else the endpoint has to be at the same place.
        is_trusted: bool,
    },
}

impl TokenAt {
    /// What a person wrote down.
    pub(crate) fn of(place: &TokenPlace) -> Self {
        match place {
            TokenPlace::Url(url) => Self::Url(url.clone()),
            TokenPlace::Issuer(issuer) => match provider_url(issuer) {
                Some(url) => Self::Provider {
                    url: Box::new(url),
                    is_trusted: true,
                },
                // It was checked to be a URL when it was read; what is none is refused when it is sent to.
                None => Self::Url(issuer.clone()),
            },
        }
    }

    /// The endpoint.
    async fn endpoint(&self, server: &ServerSettings, with: LoginWith<'_>) -> Result<String, CallError> {
        let (url, is_trusted) = match self {
            Self::Url(url) => return Ok(url.clone()),
            Self::Provider { url, is_trusted } => (url, is_trusted),
        };
        let name = &server.name;
        let unknown = |reason: String| {
            let message = format!("where a client of `{name}` gets tokens cannot be found out: {reason}");
            failed(name, url.as_str(), message)
        };
        let found = token_endpoint(url, &server.connection, with.allowed_domains)
            .await
            .map_err(unknown)?;
        if *is_trusted || Url::parse(&found).is_ok_and(|found| found.origin() == url.origin()) {
            return Ok(found);
        }
        Err(
            unknown("the provider that the document names sends secrets to another place".to_owned())
                .with_hint("set `token_url` or `issuer` of its credentials, if that is right"),
        )
    }
}

/// Whom a token is asked of, and who asks.
#[derive(Debug, Clone)]
pub(crate) struct ClientLogin {
    pub(crate) at: TokenAt,
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

pub(super) async fn log_in(settings: &ServerSettings, request: &ClientLogin, with: LoginWith<'_>) -> Result<Login, CallError> {
    let (server, http) = (settings.name.as_str(), with.http);
    let url = request.at.endpoint(settings, with).await?;
    let mut answer = ask((server, &url), request, http, true).await?;
    // The secret in a header is what every endpoint must take (section 2.3.1); some take it in the body only.
    if !is_success(&answer) && is_unknown_client(&answer) {
        answer = ask((server, &url), request, http, false).await?;
    }
    if !is_success(&answer) {
        return Err(refused(server, &url, &answer));
    }
    let Ok(token) = serde_json::from_slice::<TokenAnswer>(&answer.body) else {
        let message = format!("the login of `{server}` answered with status {} and no token", answer.status);
        return Err(failed(server, &url, message));
    };
    let kind = token.token_type.as_deref().unwrap_or("Bearer");
    let value = Secret::with_parts(format!("{} {}", scheme(kind), token.access_token), vec![token.access_token.clone()]);
    if token.access_token.is_empty() || !value.is_header_value() {
        return Err(failed(
            server,
            &url,
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

async fn ask((server, place): (&str, &str), request: &ClientLogin, http: &Http, is_in_header: bool) -> Result<RawAnswer, CallError> {
    let url = Url::parse(place).map_err(|_| failed(server, place, format!("the token URL of `{server}` is no URL")))?;
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
    http.send_once(message).await.map_err(|error| unreachable(server, place, &error))
}

fn is_success(answer: &RawAnswer) -> bool {
    (200..300).contains(&answer.status)
}

fn is_unknown_client(answer: &RawAnswer) -> bool {
    let told = serde_json::from_slice::<TokenError>(&answer.body);
    answer.status == 401
        || told.is_ok_and(|told| matches!(told.error.as_str(), "invalid_client" | "invalid_request" | "unauthorized_client"))
}
