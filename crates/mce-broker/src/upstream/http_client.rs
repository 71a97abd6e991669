//! HTTP as MCP servers are spoken to over it: one request at a time, with the credential, its answer bounded. Redirects are
//! followed within the origin only, so that no credential reaches another.

use std::fmt;
use std::sync::Arc;

use mce_config::{ConnectionSettings, Secret};
use reqwest::header::{CONTENT_TYPE, HeaderMap, WWW_AUTHENTICATE};
use reqwest::{Client, Method, Response, StatusCode, Url};
use rmcp::model::ServerJsonRpcMessage;
use thiserror::Error;
use tokio::sync::watch;

use super::raw_answers::RawAnswers;
use crate::connection::{proxy_trouble, tls_trouble};
use crate::http::{MAX_REDIRECTS, chain, private_address, redirect};
use crate::oauth::{LoginNeed, Session};

pub(super) const JSON: &str = "application/json";

/// Why a request got no answer of the protocol.
#[derive(Debug, Clone, Error, PartialEq, Eq)]
pub(super) enum HttpFault {
    /// There was no connection, so nothing was sent.
    #[error("no connection: {0}")]
    Unreachable(String),
    /// There was no connection because of the proxy: what is wrong with it, and where it is from.
    #[error("no connection: {0}; {1}")]
    Proxy(String, String),
    /// The name leads into a private network.
    #[error("{0}")]
    Private(String),
    /// The connection broke.
    #[error("the connection broke: {0}")]
    Broken(String),
    /// It wants a credential, or another one.
    #[error("not authorized")]
    Unauthorized(LoginNeed),
    /// Another status than was expected.
    #[error("status {0}")]
    Status(u16),
    /// It sends elsewhere.
    #[error("redirected to another origin")]
    Redirected,
}

/// One server, as reached over HTTP.
#[derive(Clone)]
pub(super) struct HttpClient {
    pub(super) client: Client,
    /// The way that the client goes.
    pub(super) way: Arc<ConnectionSettings>,
    /// Credential and configured fields.
    pub(super) headers: HeaderMap,
    /// The login whose token is sent.
    pub(super) session: Option<Arc<Session>>,
    /// Whether the stream for what the server says unasked was asked for.
    pub(super) is_listening: Arc<watch::Sender<bool>>,
    pub(super) answers: Arc<RawAnswers>,
    /// The largest message, in bytes.
    pub(super) message_bytes: usize,
}

/// A request, which may have to be sent again.
struct Outgoing {
    method: Method,
    headers: HeaderMap,
    body: Option<Vec<u8>>,
}

impl fmt::Debug for HttpClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("HttpClient")
    }
}

impl HttpClient {
    /// Sends a request with the token of the login, if there is one. If the server does not take it, it has not done anything
    /// either: the request is sent once more, with a new one.
    pub(super) async fn send(&self, method: Method, url: &str, headers: HeaderMap, body: Option<Vec<u8>>) -> Result<Response, HttpFault> {
        let request = Outgoing { method, headers, body };
        let token = match &self.session {
            Some(session) => session.token().await.map_err(HttpFault::Unauthorized)?,
            None => None,
        };
        let response = self.send_with(&request, url, token.as_ref()).await?;
        match (&self.session, token) {
            (Some(session), Some(token)) if response.status() == StatusCode::UNAUTHORIZED => {
                let token = session.renewed(&token).await.map_err(HttpFault::Unauthorized)?;
                let response = self.send_with(&request, url, Some(&token)).await?;
                self.checked(response, true).await
            }
            (_, token) => self.checked(response, token.is_some()).await,
        }
    }

    /// Follows redirects within its origin, those of other methods than GET only if they keep the method.
    async fn send_with(&self, outgoing: &Outgoing, url: &str, token: Option<&Secret>) -> Result<Response, HttpFault> {
        let mut url: Url = url
            .parse()
            .map_err(|_| HttpFault::Unreachable("the URL cannot be read".to_owned()))?;
        let origin = url.origin();
        for _ in 0..=MAX_REDIRECTS {
            let mut request = self
                .client
                .request(outgoing.method.clone(), url.clone())
                .headers(self.headers.clone());
            // After the configured ones: these are the protocol's own.
            request = request.headers(outgoing.headers.clone());
            if let Some(body) = &outgoing.body {
                request = request.header(CONTENT_TYPE, JSON).body(body.clone());
            }
            #[expect(clippy::disallowed_methods, reason = "this is where the token of a login is meant to go")]
            if let Some(token) = token {
                request = request.bearer_auth(token.expose());
            }
            let response = request.send().await.map_err(|error| fault(&error, &self.way))?;
            let status = response.status();
            if !status.is_redirection() || status == StatusCode::NOT_MODIFIED {
                return Ok(response);
            }
            let location = redirect(status.as_u16(), response.headers(), response.url());
            let keeps_method = outgoing.method == Method::GET || matches!(status.as_u16(), 307 | 308);
            url = location
                .filter(|to| keeps_method && to.origin() == origin)
                .ok_or(HttpFault::Redirected)?;
        }
        Err(HttpFault::Redirected)
    }

    /// Credentials that are missing or not enough are told apart from all other statuses.
    async fn checked(&self, response: Response, was_sent: bool) -> Result<Response, HttpFault> {
        let status = response.status();
        let is_refused =
            status == StatusCode::UNAUTHORIZED || status == StatusCode::FORBIDDEN && response.headers().contains_key(WWW_AUTHENTICATE);
        if !is_refused {
            return Ok(response);
        }
        Err(HttpFault::Unauthorized(match &self.session {
            Some(session) => session.need(status.as_u16(), response.headers(), was_sent).await,
            None if self.headers.is_empty() => LoginNeed::Credential,
            None => LoginNeed::Configured,
        }))
    }

    pub(super) async fn body(&self, mut response: Response, limit: usize) -> Result<Option<Vec<u8>>, HttpFault> {
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(|error| fault(&error, &self.way))? {
            if body.len() + chunk.len() > limit {
                return Ok(None);
            }
            body.extend_from_slice(&chunk);
        }
        Ok(Some(body))
    }

    /// What the service gets to read of a message.
    pub(super) fn read(&self, text: &[u8]) -> Result<ServerJsonRpcMessage, serde_json::Error> {
        let message = match self.answers.keep(serde_json::from_slice(text)?, text.len()) {
            Ok(kept) => return Ok(kept),
            Err(message) => message,
        };
        serde_json::from_value(message)
    }
}

pub(super) fn fault(error: &reqwest::Error, way: &ConnectionSettings) -> HttpFault {
    let is_of_tls = tls_trouble(&chain(error)).is_some();
    if let Some(private) = private_address(error) {
        HttpFault::Private(private.to_string())
    } else if let Some((what, hint)) = proxy_trouble(way, error).filter(|_| !is_of_tls) {
        HttpFault::Proxy(what, hint)
    } else if error.is_connect() || error.is_builder() {
        HttpFault::Unreachable(chain(error))
    } else {
        HttpFault::Broken(chain(error))
    }
}
