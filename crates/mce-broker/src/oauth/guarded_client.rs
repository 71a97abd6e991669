//! The HTTP of logins. Hosts, redirects and documents that discovery finds are chosen by servers that nobody trusts: only public
//! hosts are reached, by https; what they say is bounded, redirects are followed within an origin only.

use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use mce_config::{ConnectionSettings, MIN_SECRET_BYTES, ServerSettings};
use oauth2::http::Response as HttpResponse;
use reqwest::header::AUTHORIZATION;
use reqwest::{Method, Request};
use rmcp::transport::auth::{OAuthHttpClient, OAuthHttpClientError, OAuthHttpClientFuture, OAuthHttpRequest};
use serde_json::Value;
use thiserror::Error;
use tokio::sync::OnceCell;
use url::form_urlencoded::byte_serialize;
use url::{Host, Url};

use crate::address::is_public;
use crate::allowed_hosts::AllowedHosts;
use crate::call::CallLimits;
use crate::http::{Http, RawAnswer};
use crate::pinned_resolver::PinnedResolver;
use crate::reach::{PrivateNames, is_loopback};
use crate::vault::Vault;

/// Bytes of a document or an answer.
const MAX_ANSWER_BYTES: usize = 256 << 10;
const CONNECT_TIME: Duration = Duration::from_secs(10);
const TOTAL_TIME: Duration = Duration::from_secs(20);
/// Characters of what a server says about an error.
const MAX_WORDS_CHARS: usize = 300;

/// Reaches what one MCP server's login needs.
#[derive(Debug)]
pub(super) struct GuardedClient {
    /// Directly; none is sent by it.
    plain: Http,
    way: Way,
    /// To the server's own host and to all others, who do not see the client's certificate. Made by the first request.
    http: OnceCell<(Http, Http)>,
    /// The MCP server, as a person configured it.
    server: Url,
    allowed: Arc<AllowedHosts>,
    /// MCP servers want to know what tokens are for (RFC 8707); authorization servers of others may refuse to hear it.
    names_resource: bool,
    // Held for one look.
    trouble: Mutex<Option<Trouble>>,
}

/// By what way places are reached.
#[derive(Debug)]
pub(crate) enum Way {
    /// By this one, whose secrets are filled in.
    Known(Box<ConnectionSettings>),
    /// By that of a server, whose secrets are read when they are needed.
    Of(Box<ServerSettings>, Arc<Vault>),
}

impl Way {
    async fn settings(&self) -> Result<ConnectionSettings, Trouble> {
        match self {
            Self::Known(way) => Ok((**way).clone()),
            Self::Of(server, _) if server.connection == ConnectionSettings::default() => Ok(ConnectionSettings::default()),
            Self::Of(server, vault) => {
                let filled = vault.filled(server).await;
                let filled = filled.map_err(|error| Trouble {
                    code: None,
                    words: error.to_string(),
                    may_pass: false,
                })?;
                Ok(filled.connection.clone())
            }
        }
    }
}

/// Why a request of a login did not work, in plain words.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{words}")]
pub(super) struct Trouble {
    /// `error` of OAuth, if it is one. (RFC 6749, 5.2)
    pub(super) code: Option<String>,
    pub(super) words: String,
    /// That it may work later: the other side could not be reached.
    pub(super) may_pass: bool,
}

impl GuardedClient {
    /// `allowed_domains` are hosts that may lead to private addresses, where the list names those, too.
    pub(super) fn new(server: Url, allowed_domains: &[String], way: Way) -> Self {
        let mut entries = allowed_domains.to_vec();
        if is_loopback(&server) {
            entries.push("localhost".to_owned());
        }
        let allowed = Arc::new(AllowedHosts::new(&entries));
        let limits = CallLimits {
            connect: CONNECT_TIME,
            total: TOTAL_TIME,
            answer_bytes: MAX_ANSWER_BYTES,
        };
        let resolver = PinnedResolver {
            allowed: Arc::clone(&allowed),
            private: Arc::new(PrivateNames::only(server.host_str())),
        };
        Self {
            plain: Http::for_programs(limits, resolver),
            way,
            http: OnceCell::new(),
            server,
            allowed,
            names_resource: true,
            trouble: Mutex::default(),
        }
    }

    /// One for the login of an API.
    pub(super) fn of_api(self) -> Self {
        Self {
            names_resource: false,
            ..self
        }
    }

    pub(super) const fn names_resource(&self) -> bool {
        self.names_resource
    }

    /// Sends what needs no more than the rules of this client.
    ///
    /// # Errors
    ///
    /// The trouble, which is remembered as well.
    pub(super) async fn send(&self, request: Request) -> Result<RawAnswer, Trouble> {
        let secrets = secrets_in(&request);
        let sent = self.checked(request).await;
        let trouble = match &sent {
            Ok(answer) => refusal(answer, &secrets),
            Err(trouble) => Some(trouble.clone()),
        };
        *self.trouble.lock().unwrap_or_else(PoisonError::into_inner) = trouble;
        sent
    }

    async fn checked(&self, request: Request) -> Result<RawAnswer, Trouble> {
        self.check(request.url())?;
        let host = host_of(request.url());
        let is_read = *request.method() == Method::GET;
        let answer = self
            .http(request.url())
            .await?
            .send_for_document(request)
            .await
            .map_err(|error| Trouble {
                code: None,
                words: format!("`{host}`: {error}"),
                may_pass: true,
            })?;
        if !is_read && (300..400).contains(&answer.status) {
            return Err(Trouble {
                code: None,
                words: format!("`{host}` redirects a request that holds secrets"),
                may_pass: false,
            });
        }
        Ok(answer)
    }

    async fn http(&self, url: &Url) -> Result<&Http, Trouble> {
        let make = async || {
            let way = self.way.settings().await?;
            Ok::<_, Trouble>((self.plain.by_way(way.clone()), self.plain.by_way(way.without_client())))
        };
        let (own, other) = self.http.get_or_try_init(make).await?;
        Ok(if url.host() == self.server.host() { own } else { other })
    }

    /// What the last request met, if it did not work. Taken, so that it is told once.
    pub(super) fn trouble(&self) -> Option<Trouble> {
        self.trouble.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Whether this place may be reached: by https, and at a public host. The server that a person configured is reached as it
    /// is configured; what is on this machine may name what is on this machine.
    ///
    /// # Errors
    ///
    /// Why it may not.
    pub(super) fn check(&self, url: &Url) -> Result<(), Trouble> {
        let refused = |why: &str| Trouble {
            code: None,
            words: format!("`{}` may not be reached for a login: {why}", host_of(url)),
            may_pass: false,
        };
        let is_same_host = url.host() == self.server.host();
        let is_local = is_loopback(&self.server) && is_loopback(url);
        let is_secure = url.scheme() == "https" || url.scheme() == "http" && (is_local || is_same_host && self.server.scheme() == "http");
        if !is_secure {
            return Err(refused("it is not https"));
        }
        let literal: Option<IpAddr> = match url.host() {
            Some(Host::Ipv4(address)) => Some(address.into()),
            Some(Host::Ipv6(address)) => Some(address.into()),
            Some(Host::Domain(_)) => None,
            None => return Err(refused("it names no host")),
        };
        match literal {
            Some(address) if !(is_same_host || is_local || is_public(address) || self.allowed.may_lead_to("", address)) => {
                Err(refused("it is a private address"))
            }
            Some(_) | None => Ok(()),
        }
    }
}

impl OAuthHttpClient for GuardedClient {
    fn execute(&self, request: OAuthHttpRequest) -> OAuthHttpClientFuture<'_> {
        Box::pin(async move {
            let boxed = |error: Trouble| Box::new(error) as OAuthHttpClientError;
            let mut request = Request::try_from(request.request)?;
            if !self.names_resource {
                let form = request.body().and_then(reqwest::Body::as_bytes).map(without_resource);
                if let Some(form) = form {
                    *request.body_mut() = Some(form.into());
                }
            }
            let answer = self.send(request).await.map_err(boxed)?;
            let mut response = HttpResponse::new(answer.body);
            *response.status_mut() = oauth2::http::StatusCode::from_u16(answer.status)?;
            *response.headers_mut() = answer.headers;
            Ok(response)
        })
    }
}

/// What of a request must not be told, whoever says it again: the values of its form that are none of the protocol's words, and
/// what proves the client.
fn secrets_in(request: &Request) -> Vec<String> {
    const SECRET: [&str; 8] = [
        "client_assertion",
        "client_secret",
        "code",
        "code_verifier",
        "device_code",
        "password",
        "refresh_token",
        "token",
    ];
    let form = request.body().and_then(reqwest::Body::as_bytes).unwrap_or_default();
    let pairs = url::form_urlencoded::parse(form).filter(|(name, _)| SECRET.contains(&&**name));
    let mut secrets: Vec<String> = pairs.map(|(_, value)| value.into_owned()).collect();
    let proof = request.headers().get(AUTHORIZATION).and_then(|value| value.to_str().ok());
    secrets.extend(proof.and_then(|proof| Some(proof.split_once(' ')?.1.to_owned())));
    let encoded: Vec<String> = secrets.iter().map(|secret| byte_serialize(secret.as_bytes()).collect()).collect();
    secrets.extend(encoded);
    secrets.retain(|secret| secret.len() >= MIN_SECRET_BYTES);
    secrets
}

/// The pairs of a form without that of RFC 8707.
fn without_resource(form: &[u8]) -> Vec<u8> {
    let pairs = form.split(|byte| *byte == b'&').filter(|pair| !pair.starts_with(b"resource="));
    pairs.collect::<Vec<_>>().join(&b'&')
}

/// The error of OAuth that an answer is, or that it is an error of another kind. (RFC 6749, 5.2; RFC 7591, 3.2.2)
///
/// `secrets` are left out of its words.
fn refusal(answer: &RawAnswer, secrets: &[String]) -> Option<Trouble> {
    if answer.status < 400 {
        return None;
    }
    let said: Option<Value> = serde_json::from_slice(&answer.body).ok();
    // Before it is cut: half of one would not be found.
    let without = |text: &str| {
        secrets
            .iter()
            .fold(text.to_owned(), |text, secret| text.replace(secret.as_str(), "[redacted]"))
    };
    let told = |text: &str| plain(&without(text));
    let text = |name: &str| said.as_ref()?.get(name)?.as_str().map(told).filter(|text| !text.is_empty());
    let code = text("error");
    let words = match (&code, text("error_description")) {
        (Some(code), Some(description)) => format!("`{code}`: {description}"),
        (Some(code), None) => format!("`{code}`"),
        (None, _) => format!("status {}", answer.status),
    };
    Some(Trouble {
        code,
        words,
        may_pass: answer.status >= 500,
    })
}

/// A text of a server, in one line, fit for a terminal.
pub(super) fn plain(text: &str) -> String {
    let kept = text.chars().map(|c| if c.is_control() { ' ' } else { c });
    kept.take(MAX_WORDS_CHARS).collect::<String>().trim().to_owned()
}

/// The host, with its port, as people know a place.
pub(super) fn host_of(url: &Url) -> String {
    match (url.host_str(), url.port()) {
        (Some(host), Some(port)) => format!("{host}:{port}"),
        (Some(host), None) => host.to_owned(),
        (None, _) => plain(url.scheme()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(server: &str, allowed: &[&str], url: &str) -> bool {
        let allowed: Vec<String> = allowed.iter().map(|&entry| entry.to_owned()).collect();
        let client = GuardedClient::new(server.parse().unwrap(), &allowed, Way::Known(Box::default()));
        client.check(&url.parse().unwrap()).is_ok()
    }

    #[test]
    fn places_that_servers_name_are_public_and_secure() {
        let public = "https://mcp.example.com/mcp";
        for (server, url, expected) in [
            (public, "https://auth.example.com/token", true),
            (public, "https://1.1.1.1/token", true),
            (public, "http://auth.example.com/token", false),
            (public, "http://mcp.example.com/token", false),
            (public, "https://10.0.0.9/token", false),
            (public, "https://169.254.169.254/token", false),
            (public, "https://[::1]/token", false),
            (public, "http://127.0.0.1:1/token", false),
            (public, "file:///etc/passwd", false),
            (public, "javascript:alert(1)", false),
            ("http://127.0.0.1:3000/mcp", "http://127.0.0.1:4000/token", true),
            ("http://127.0.0.1:3000/mcp", "http://localhost:4000/token", true),
            ("http://localhost:3000/mcp", "http://127.0.0.1:4000/token", true),
            ("http://127.0.0.1:3000/mcp", "http://auth.example.com/token", false),
            ("http://127.0.0.1:3000/mcp", "http://10.0.0.9/token", false),
            ("http://127.0.0.1:3000/mcp", "https://10.0.0.9/token", false),
            ("http://intranet/mcp", "http://intranet:8080/token", true),
            ("http://10.0.0.4/mcp", "http://10.0.0.4/token", true),
            ("http://10.0.0.4/mcp", "https://10.0.0.9/token", false),
        ] {
            assert_eq!(check(server, &[], url), expected, "{server} {url}");
        }
        assert!(check(public, &["10.0.0.9"], "https://10.0.0.9/token"));
    }

    fn answer(status: u16, body: &str) -> RawAnswer {
        RawAnswer {
            status,
            headers: reqwest::header::HeaderMap::new(),
            body: body.as_bytes().to_vec(),
            is_off_host: false,
            is_off_base: false,
        }
    }

    #[test]
    fn what_a_server_says_again_of_a_request_is_not_told() {
        let mut request = Request::new(Method::POST, "https://a.example/token".parse().unwrap());
        let form = "grant_type=authorization_code&code=c0de%2B1&code_verifier=ver1fier&redirect_uri=http%3A%2F%2F127.0.0.1";
        *request.body_mut() = Some(form.into());
        request.headers_mut().insert(AUTHORIZATION, "Basic bWU6czNjcmV0".parse().unwrap());
        let description = format!("{form}; c0de+1; Basic bWU6czNjcmV0");
        let body = serde_json::json!({"error": "bad", "error_description": description}).to_string();
        assert_eq!(
            refusal(&answer(400, &body), &secrets_in(&request)).unwrap().words,
            "`bad`: grant_type=authorization_code&code=[redacted]&code_verifier=[redacted]&redirect_uri=http%3A%2F%2F127.0.0.1; \
             [redacted]; Basic [redacted]"
        );
    }

    #[test]
    fn what_a_server_says_is_one_short_line() {
        let said = refusal(
            &answer(400, r#"{"error": "invalid_grant", "error_description": "gone\u001b[2J\nfor good"}"#),
            &[],
        )
        .unwrap();
        assert_eq!(said.code.as_deref(), Some("invalid_grant"));
        assert_eq!(said.words, "`invalid_grant`: gone [2J for good");
        assert_eq!(refusal(&answer(502, "<html>"), &[]).unwrap().words, "status 502");
        assert!(refusal(&answer(200, r#"{"error": "x"}"#), &[]).is_none());
        assert_eq!(plain(&"x".repeat(1000)).len(), MAX_WORDS_CHARS);
    }
}
