//! The HTTP client: one pool for all servers, and one for requests of programs' own. TLS is verified by the system's roots, HTTP/2 is taken where offered, answers
//! are decompressed and bounded. No proxy is taken from the environment, nothing is sent twice.

#![expect(clippy::disallowed_methods, reason = "the one place where the client is made and secrets are sent")]

use std::error::Error;
use std::fmt::Write;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use mce_config::{ConnectionSettings, Secret};
use reqwest::header::{ACCEPT, CONTENT_LENGTH, CONTENT_TYPE, COOKIE, HeaderMap, HeaderName, HeaderValue, LOCATION};
use reqwest::redirect::Policy;
use reqwest::{Body, Client, ClientBuilder, Method, Request, Response, Url};

use crate::base_url::BaseUrl;
use crate::call::CallLimits;
use crate::call_error::{CallError, CallErrorKind};
use crate::connection::{build, proxy_host, proxy_trouble, silent_end, tls_trouble};
use crate::credential::Credentials;
use crate::pinned_resolver::{PinnedResolver, PrivateAddress};
use crate::request::RequestParts;

/// Redirects followed in a row.
pub(crate) const MAX_REDIRECTS: usize = 5;

/// An answer as it came, decompressed.
#[derive(Debug)]
pub(crate) struct RawAnswer {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Vec<u8>,
    /// It is a redirect that was not followed, because it leads to another host.
    pub(crate) is_off_host: bool,
    /// It is one that was not followed, because it leads out of the base URL and the credentials would go with it.
    pub(crate) is_off_base: bool,
}

/// The client and its limits.
#[derive(Debug)]
pub(crate) struct Http {
    // Made by the first call: reading the system's root certificates takes longer than the program may take to start.
    client: OnceLock<Result<Client, String>>,
    limits: CallLimits,
    /// Who answers, in the words of errors.
    peer: &'static str,
    /// What to do if a name leads into a private network.
    private_hint: &'static str,
    resolver: Arc<PinnedResolver>,
    way: ConnectionSettings,
}

impl Http {
    /// A client for the APIs of servers. It connects to what this resolver lets through; addresses in URLs are not resolved:
    /// the caller checks them.
    pub(crate) fn for_apis(limits: CallLimits, resolver: PinnedResolver) -> Self {
        Self {
            client: OnceLock::new(),
            limits,
            peer: "the API",
            private_hint: "if it is meant to be there, set `allow_private: true` at the server in `mce.yaml`",
            resolver: Arc::new(resolver),
            way: ConnectionSettings::default(),
        }
    }

    /// The same by another way.
    pub(crate) fn by_way(&self, way: ConnectionSettings) -> Self {
        Self {
            client: OnceLock::new(),
            limits: self.limits.clone(),
            peer: self.peer,
            private_hint: self.private_hint,
            resolver: Arc::new(self.resolver.with(proxy_host(&way))),
            way,
        }
    }

    /// A client for places that a program or another server names, likewise.
    pub(crate) fn for_programs(limits: CallLimits, resolver: PinnedResolver) -> Self {
        Self {
            peer: "the host",
            private_hint: "a private address is allowed by its own entry in `MCE_ALLOWED_DOMAINS`, beside the name's",
            ..Self::for_apis(limits, resolver)
        }
    }

    /// Sends a request and reads its answer.
    ///
    /// A redirect of a GET or HEAD to the same scheme, host and port is followed, at most five times, below the base URL if
    /// there are credentials; all others are answers like any other.
    ///
    /// # Errors
    ///
    /// `Timeout`, `Output` for an answer that is too large, `Api` without status if the API cannot be reached.
    pub(crate) async fn send(&self, request: Request, credentials: &Credentials) -> Result<RawAnswer, CallError> {
        self.send_proven(request, credentials, |_| {}).await
    }

    /// The same; `prove` adds to each request, those that follow redirects too, what is valid for its place only.
    ///
    /// # Errors
    ///
    /// As [`Http::send`].
    pub(crate) async fn send_proven(
        &self,
        mut request: Request,
        credentials: &Credentials,
        prove: impl Fn(&mut Request),
    ) -> Result<RawAnswer, CallError> {
        let origin = request.url().origin();
        let is_head = *request.method() == Method::HEAD;
        let is_safe = is_head || *request.method() == Method::GET;
        for _ in 0..=MAX_REDIRECTS {
            let again = request.try_clone().filter(|_| is_safe);
            prove(&mut request);
            let response = self.execute(request).await?;
            let location = redirect(response.status().as_u16(), response.headers(), response.url());
            let is_off_host = location.as_ref().is_some_and(|location| location.origin() != origin);
            let may_go_to = |location: &Url| !is_off_host && credentials.may_go_to(location.path());
            let is_off_base = !is_off_host && location.as_ref().is_some_and(|location| !may_go_to(location));
            if let (Some(mut again), Some(location)) = (again, location.filter(may_go_to)) {
                *again.url_mut() = location;
                request = again;
                continue;
            }
            let answer = self.read(response, is_head).await?;
            return Ok(RawAnswer {
                is_off_host,
                is_off_base,
                ..answer
            });
        }
        Err(self.too_many_redirects())
    }

    /// Sends a request and reads its answer, also if that is a redirect.
    ///
    /// # Errors
    ///
    /// As [`Http::send`]; `Policy` if its resolver refuses all addresses.
    pub(crate) async fn send_once(&self, request: Request) -> Result<RawAnswer, CallError> {
        let is_head = *request.method() == Method::HEAD;
        let response = self.execute(request).await?;
        self.read(response, is_head).await
    }

    /// As [`Http::send_once`]; of a stream of events, which may never end, nothing is read.
    ///
    /// # Errors
    ///
    /// As [`Http::send_once`].
    pub(crate) async fn send_for_document(&self, request: Request) -> Result<RawAnswer, CallError> {
        let response = self.execute(request).await?;
        let is_stream = |value: &HeaderValue| value.as_bytes().starts_with(b"text/event-stream");
        let is_stream = response.headers().get(CONTENT_TYPE).is_some_and(is_stream);
        self.read(response, is_stream).await
    }

    async fn execute(&self, mut request: Request) -> Result<Response, CallError> {
        let client = self.client()?;
        request.timeout_mut().get_or_insert(self.limits.total);
        client.execute(request).await.map_err(|e| self.sending_fault(&e))
    }

    async fn read(&self, mut response: Response, is_head: bool) -> Result<RawAnswer, CallError> {
        let status = response.status().as_u16();
        // What has no body may still be labelled as compressed, and nothing is no compressed nothing.
        let body = if is_head || matches!(status, 204 | 304) {
            Vec::new()
        } else {
            self.read_body(&mut response).await?
        };
        Ok(RawAnswer {
            status,
            headers: std::mem::take(response.headers_mut()),
            body,
            is_off_host: false,
            is_off_base: false,
        })
    }

    fn client(&self) -> Result<&Client, CallError> {
        let made = self.client.get_or_init(|| client(self.limits.connect, &self.resolver, &self.way));
        made.as_ref()
            .map_err(|reason| CallError::new(CallErrorKind::Internal, format!("the HTTP client cannot be made: {reason}")))
    }

    async fn read_body(&self, response: &mut Response) -> Result<Vec<u8>, CallError> {
        let limit = self.limits.answer_bytes;
        let too_large = || {
            CallError::new(CallErrorKind::Output, format!("the answer is larger than {limit} bytes"))
                .with_hint("ask for less: a page, a filter, fewer fields")
        };
        let declared = response
            .headers()
            .get(CONTENT_LENGTH)
            .and_then(|length| length.to_str().ok()?.parse::<usize>().ok());
        if declared.is_some_and(|length| length > limit) {
            return Err(too_large());
        }
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(|e| self.sending_fault(&e))? {
            if body.len() + chunk.len() > limit {
                return Err(too_large());
            }
            body.extend_from_slice(&chunk);
        }
        Ok(body)
    }

    pub(crate) fn too_many_redirects(&self) -> CallError {
        CallError::new(
            CallErrorKind::Api { status: None, body: None },
            format!("{} redirected more than {MAX_REDIRECTS} times", self.peer),
        )
    }

    fn sending_fault(&self, error: &reqwest::Error) -> CallError {
        if let Some(private) = private_address(error) {
            return CallError::policy(format!("`{}` leads to a private address", private.name))
                .with_hint(self.private_hint)
                .with_internal(private.to_string());
        }
        let peer = self.peer;
        let causes = chain(error);
        let owned = |(what, hint): (&str, &str)| (what.to_owned(), hint.to_owned());
        let trouble = tls_trouble(&causes)
            .map(owned)
            .or_else(|| proxy_trouble(&self.way, error))
            .or_else(|| silent_end(error).filter(|_| !error.is_timeout()).map(owned));
        let (kind, message) = if let Some((what, hint)) = trouble {
            let kind = CallErrorKind::Api { status: None, body: None };
            let message = format!("{peer} cannot be reached: {what}");
            let internal = format!("{message}: {causes}");
            return CallError::new(kind, message).with_hint(hint).with_internal(internal);
        } else if error.is_timeout() {
            (CallErrorKind::Timeout, format!("{peer} did not answer in time"))
        } else if error.is_connect() {
            (CallErrorKind::Api { status: None, body: None }, format!("{peer} cannot be reached"))
        } else if error.is_builder() {
            (CallErrorKind::Argument, "the request cannot be sent".to_owned())
        } else {
            (
                CallErrorKind::Api { status: None, body: None },
                format!("the connection to {peer} broke"),
            )
        };
        let internal = format!("{message}: {causes}");
        CallError::new(kind, message).with_internal(internal)
    }
}

/// The private address that a request was not sent to.
pub(crate) fn private_address(error: &reqwest::Error) -> Option<&PrivateAddress> {
    let mut causes = std::iter::successors(error.source(), |cause| (*cause).source());
    causes.find_map(|cause| cause.downcast_ref::<PrivateAddress>())
}

/// The place that a redirect leads to, if the answer from this place is one.
pub(crate) fn redirect(status: u16, headers: &HeaderMap, from: &Url) -> Option<Url> {
    if !matches!(status, 301 | 302 | 303 | 307 | 308) {
        return None;
    }
    let location = headers.get(LOCATION)?.to_str().ok()?;
    let mut url = from.join(location).ok()?;
    url.set_username("").and_then(|()| url.set_password(None)).ok()?;
    Some(url)
}

/// The whole request, so that what cannot be sent is known before the intent is written.
///
/// # Errors
///
/// `Argument`, naming what cannot be sent.
pub(crate) fn assemble(base: &BaseUrl, parts: RequestParts, credentials: &Credentials) -> Result<Request, CallError> {
    let method = Method::from_bytes(parts.method.as_bytes())
        .ok()
        .filter(|method| *method != Method::CONNECT);
    let method = method.ok_or_else(|| CallError::argument(format!("`{}` is no method that can be sent", parts.method)))?;
    let mut request = Request::new(method, target(base, &parts, credentials)?);
    let headers = fields(&parts, credentials, base)?;
    *request.headers_mut() = headers;
    *request.body_mut() = parts.body.map(|body| Body::from(body.bytes));
    Ok(request)
}

/// The URL, of which every byte is as it was built: what was checked is what is sent.
fn target(base: &BaseUrl, parts: &RequestParts, credentials: &Credentials) -> Result<Url, CallError> {
    let path = format!("{}{}", base.path, parts.path);
    let secret = credentials.query.iter().map(Secret::expose);
    let pairs = base
        .query
        .as_deref()
        .into_iter()
        .chain(parts.query.iter().map(String::as_str))
        .chain(secret);
    let query = pairs.collect::<Vec<_>>().join("&");
    let mut url = base.origin.clone();
    url.set_path(&path);
    url.set_query((!query.is_empty()).then_some(&query));
    if url.path() == path && url.query().unwrap_or_default() == query {
        return Ok(url);
    }
    Err(CallError::argument(
        "the path of this request cannot be sent as it is: URL rules would change it",
    ))
}

fn fields(parts: &RequestParts, credentials: &Credentials, base: &BaseUrl) -> Result<HeaderMap, CallError> {
    let mut fields = HeaderMap::new();
    for (name, value) in &parts.headers {
        fields.insert(field_name(name)?, field_value(name, value)?);
    }
    if let Some(body) = &parts.body {
        fields.insert(CONTENT_TYPE, field_value("content-type", &body.content_type)?);
    }
    fields.insert(ACCEPT, field_value("accept", &parts.accept)?);
    let mut cookies: Vec<&str> = parts.cookies.iter().map(String::as_str).collect();
    cookies.extend(credentials.cookies.iter().map(Secret::expose));
    let own = base.authorization.iter().map(|value| ("authorization", value));
    for (name, value) in own.chain(credentials.headers.iter().map(|(name, value)| (name.as_str(), value))) {
        if name.eq_ignore_ascii_case("cookie") {
            cookies.push(value.expose());
            continue;
        }
        let mut secret = field_value(name, value.expose())?;
        secret.set_sensitive(true);
        fields.insert(field_name(name)?, secret);
    }
    if !cookies.is_empty() {
        let mut value = field_value("cookie", &cookies.join("; "))?;
        value.set_sensitive(true);
        fields.insert(COOKIE, value);
    }
    Ok(fields)
}

pub(crate) fn field_name(name: &str) -> Result<HeaderName, CallError> {
    name.parse()
        .map_err(|_| CallError::argument(format!("`{name}` is no name of a header field")))
}

pub(crate) fn field_value(name: &str, value: &str) -> Result<HeaderValue, CallError> {
    HeaderValue::from_bytes(value.as_bytes()).map_err(|_| CallError::argument(format!("the value of header field `{name}` cannot be sent")))
}

/// A client without a limit of time of its own, for connections that last: to MCP servers.
///
/// # Errors
///
/// If the system's root certificates cannot be read, say.
pub(crate) fn lasting_client(connect: Duration, resolver: &Arc<PinnedResolver>, way: &ConnectionSettings) -> Result<Client, String> {
    client(connect, &Arc::new(resolver.with(proxy_host(way))), way)
}

fn client(connect: Duration, resolver: &Arc<PinnedResolver>, way: &ConnectionSettings) -> Result<Client, String> {
    build(|| builder(connect).dns_resolver(Arc::clone(resolver)), way)
}

/// What all clients have in common: they go where they are told, directly, and follow nothing by themselves.
fn builder(connect: Duration) -> ClientBuilder {
    install_crypto();
    Client::builder()
        .user_agent(concat!("mce/", env!("CARGO_PKG_VERSION")))
        .redirect(Policy::none())
        .no_proxy()
        .referer(false)
        .connect_timeout(connect)
}

/// Makes the process's cryptography that of `ring`.
pub(crate) fn install_crypto() {
    // Fails only if a provider is installed already, which is as good.
    let _ = rustls::crypto::ring::default_provider().install_default();
}

/// An error and its causes. The URL, whose query may hold a key, is only in reqwest's own text, which is left out.
pub(crate) fn chain(error: &reqwest::Error) -> String {
    let mut text = String::new();
    let mut cause = error.source();
    while let Some(error) = cause {
        let _ = write!(text, "{}{error}", if text.is_empty() { "" } else { ": " });
        cause = error.source();
    }
    text
}
