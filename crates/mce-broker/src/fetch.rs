//! Requests of programs' own, which belong to no function: to allowed hosts only, and without any credential of ours.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use mce_catalog::function::Effect;
use reqwest::header::{ACCEPT_ENCODING, AUTHORIZATION, COOKIE, HeaderMap};
use reqwest::{Body, Method, Request, Url};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use url::Host;

use crate::allowed_hosts::AllowedHosts;
use crate::call::Broker;
use crate::call_error::{CallError, CallErrorKind};
use crate::http::{MAX_REDIRECTS, RawAnswer, field_name, field_value, redirect};
use crate::policy::{self, Facts};
use crate::run_context::RunContext;
use crate::turns::health;
use crate::upstream::ClientRequests;

/// Bytes of a URL.
const MAX_URL_BYTES: usize = 16 << 10;
/// Characters of a host's name. (RFC 1035, 2.3.4)
const MAX_HOST_CHARS: usize = 253;
/// Bytes of all header fields of a request.
const MAX_HEADER_BYTES: usize = 64 << 10;
/// Bytes of a request's body.
const MAX_BODY_BYTES: usize = 6 << 20;
/// Fields of the connection, and what decides where the message ends or whom it is for. (RFC 9110, 7.6.1)
const OUR_FIELDS: [&str; 13] = [
    "connection",
    "content-length",
    "expect",
    "host",
    "http2-settings",
    "keep-alive",
    "proxy-authenticate",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// A request to send. Everything in it was written by hostile code.
#[derive(Debug, Clone)]
pub struct FetchRequest<'a> {
    /// What it belongs to.
    pub run: &'a RunContext,
    /// `GET`, `POST`, ...
    pub method: &'a str,
    /// Absolute; http or https; without user and password. At most 16 KiB.
    pub url: &'a str,
    /// Names and values, at most 64 KiB. None of them may be a field of the connection.
    pub headers: &'a [(String, String)],
    /// What is sent. At most 6 MiB.
    pub body: Option<Vec<u8>>,
    /// Who is asked where the policy says so.
    pub client: Option<&'a Arc<dyn ClientRequests>>,
    /// Redirects are followed, at most five; each leads to an allowed host.
    pub follows_redirects: bool,
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

impl Broker {
    /// Sends a request of a program's own to a host of `MCE_ALLOWED_DOMAINS`. No credential and no cookie is added.
    /// Dropping the future cancels it; the audit log then says so.
    ///
    /// # Errors
    ///
    /// `Argument` for what cannot be sent and `Policy` for what may not: then nothing was sent. A redirect to a host that
    /// is not allowed is `Api` with its status. Otherwise as [`Broker::call`].
    pub async fn fetch(&self, request: FetchRequest<'_>) -> Result<FetchAnswer, CallError> {
        let (run, client) = (request.run, request.client);
        let outcome = match Hop::first(request) {
            Ok((hop, follows_redirects)) => {
                let function = hop.function();
                let outcome = self.fetch_hops((run, client), hop, follows_redirects).await;
                outcome.map_err(|error| error.in_function(&function))
            }
            Err(error) => Err(error.in_function("fetch")),
        };
        outcome.map_err(|error| self.without_secrets(error))
    }

    async fn fetch_hops(&self, context: FetchContext<'_>, first: Hop, follows_redirects: bool) -> Result<FetchAnswer, CallError> {
        let mut left = self.options.limits.total;
        let function = first.function();
        let mut hop = first;
        let mut answer = self.fetch_hop(context, &hop, &mut left).await?;
        for _ in 0..MAX_REDIRECTS {
            let next = redirect(answer.status, &answer.headers, &hop.url).filter(|_| follows_redirects);
            let Some(next) = next else {
                return Ok(self.fetch_answer(function, &hop, answer));
            };
            hop = hop.redirected(answer.status, next);
            answer = self
                .fetch_hop(context, &hop, &mut left)
                .await
                .map_err(|error| after_redirect(error, answer.status))?;
        }
        match redirect(answer.status, &answer.headers, &hop.url).filter(|_| follows_redirects) {
            Some(_) => Err(self.fetch_http.too_many_redirects()),
            None => Ok(self.fetch_answer(function, &hop, answer)),
        }
    }

    /// One request. What it takes is taken from the time that is left; a person who is asked may think as long as they like.
    async fn fetch_hop(&self, (run, client): FetchContext<'_>, hop: &Hop, left: &mut Duration) -> Result<RawAnswer, CallError> {
        let function = hop.function();
        let refused = |error: &CallError| {
            if error.is_refusal() {
                self.audit.refuse(run, &function, error, error.decision());
            }
        };
        check_place(&self.allowed_hosts, &hop.url).inspect_err(refused)?;
        let facts = hop.facts(run);
        policy::check_fetch(&self.policy, &facts).inspect_err(refused)?;
        let mut permit = self.permit(&facts, client).await.inspect_err(refused)?;
        let started = Instant::now();
        let host = hop.url.authority();
        if let Err(error) = self.pace.fetch_turn(run, host, *left).await {
            self.audit.refuse(run, &function, &error, None);
            self.give_back(permit, &facts);
            return Err(error);
        }
        let decision = self.use_up(&mut permit, &facts).inspect_err(refused)?;
        let request = (hop.method.as_str(), hop.body.as_deref());
        let begun = self.audit.begin_fetch(run, &function, request, &decision).await;
        let intent = match begun {
            Ok(intent) => intent,
            Err(error) => {
                self.give_back(permit, &facts);
                return Err(error);
            }
        };
        let mut request = hop.request();
        *request.timeout_mut() = Some(left.saturating_sub(started.elapsed()));
        let outcome = self.fetch_http.send_once(request).await;
        *left = left.saturating_sub(started.elapsed());
        self.pace.note_fetch(host, health(&outcome));
        intent.end(outcome.as_ref().map(|answer| (Some(answer.status), answer.body.len())));
        outcome
    }

    fn fetch_answer(&self, function: String, hop: &Hop, answer: RawAnswer) -> FetchAnswer {
        // The length is wanted of an answer to HEAD.
        let is_shown = |name: &str| name == "content-length" || !OUR_FIELDS.contains(&name);
        let fields = answer.headers.iter().filter(|(name, _)| is_shown(name.as_str()));
        let text = |text: &str| self.redactor.text(text).into_owned();
        FetchAnswer {
            function,
            status: answer.status,
            url: text(hop.url.as_str()),
            headers: fields
                .map(|(name, value)| (name.as_str().to_owned(), text(&String::from_utf8_lossy(value.as_bytes()))))
                .collect(),
            body: self.redactor.any(answer.body),
        }
    }
}

/// What requests belong to, and who is asked.
type FetchContext<'a> = (&'a RunContext, Option<&'a Arc<dyn ClientRequests>>);

/// The arguments of a request that is only asked about.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Asked {
    url: String,
    method: Option<String>,
    #[serde(default)]
    headers: BTreeMap<String, String>,
    body: Option<Value>,
}

/// One request on the way to an answer.
pub(crate) struct Hop {
    method: Method,
    url: Url,
    headers: HeaderMap,
    body: Option<Vec<u8>>,
}

impl Hop {
    /// The first request, and whether redirects are followed.
    fn first(request: FetchRequest<'_>) -> Result<(Self, bool), CallError> {
        if request.body.as_ref().is_some_and(|body| body.len() > MAX_BODY_BYTES) {
            return Err(CallError::argument(format!("the body is larger than {MAX_BODY_BYTES} bytes")));
        }
        let hop = Self {
            method: method(request.method)?,
            url: address(request.url)?,
            headers: fields(request.headers)?,
            body: request.body,
        };
        Ok((hop, request.follows_redirects))
    }

    /// The request that follows a redirect. (Fetch, HTTP-redirect fetch; RFC 9110, 15.4)
    fn redirected(mut self, status: u16, url: Url) -> Self {
        let is_post = self.method == Method::POST;
        let becomes_get = status == 303 && self.method != Method::HEAD || matches!(status, 301 | 302) && is_post;
        if becomes_get {
            self.method = Method::GET;
            self.body = None;
            for field in ["content-type", "content-encoding", "content-language", "content-location"] {
                self.headers.remove(field);
            }
        }
        // What a program sends to one place is not for another.
        if url.origin() != self.url.origin() {
            self.headers.remove(AUTHORIZATION);
            self.headers.remove(COOKIE);
        }
        Self { url, ..self }
    }

    /// A request as somebody asks about it: `url`, and perhaps `method`, `headers` and `body`.
    pub(crate) fn explained(arguments: &RawValue) -> Result<Self, CallError> {
        let asked: Asked = serde_json::from_str(arguments.get()).map_err(|error| {
            CallError::argument(format!("these are no arguments of `fetch`: {error}"))
                .with_hint(r#"give `{"url": "https://…", "method": "POST", "headers": {}, "body": "…"}`; `url` alone will do"#)
        })?;
        Ok(Self {
            method: method(asked.method.as_deref().unwrap_or("GET"))?,
            url: address(&asked.url)?,
            headers: fields(&asked.headers.into_iter().collect::<Vec<_>>())?,
            body: asked.body.map(|body| match body {
                Value::String(text) => text.into_bytes(),
                other => other.to_string().into_bytes(),
            }),
        })
    }

    /// Whether programs may reach the place.
    pub(crate) fn check_place(&self, allowed: &AllowedHosts) -> Result<(), CallError> {
        check_place(allowed, &self.url)
    }

    pub(crate) fn facts<'a>(&'a self, run: &'a RunContext) -> Facts<'a> {
        let effect = FetchRequest::effect(self.method.as_str());
        let method = (self.method.as_str(), effect);
        Facts::of_fetch(run, method, self.url.as_str(), &self.headers, self.body.as_deref())
    }

    fn function(&self) -> String {
        format!("fetch:{}", self.url.host_str().unwrap_or_default())
    }

    fn request(&self) -> Request {
        let mut request = Request::new(self.method.clone(), self.url.clone());
        self.headers.clone_into(request.headers_mut());
        *request.body_mut() = self.body.clone().map(Body::from);
        request
    }
}

fn method(text: &str) -> Result<Method, CallError> {
    let known = Method::from_bytes(text.to_ascii_uppercase().as_bytes()).ok();
    known
        .filter(|method| text.len() <= 32 && !matches!(method.as_str(), "CONNECT" | "TRACE" | "TRACK"))
        .ok_or_else(|| CallError::argument(format!("`{}` is no method that can be sent", shown(text))))
}

/// The place. Reading a URL drops line ends and mends much else, so what looks wrong is refused before.
fn address(text: &str) -> Result<Url, CallError> {
    let is_clean = text.len() <= MAX_URL_BYTES && !text.contains(|c: char| c.is_control() || c == ' ' || c == '\\');
    let parsed = Url::parse(text).ok().filter(|_| is_clean);
    let mut url = parsed.ok_or_else(|| CallError::argument(format!("`{}` is no absolute URL", shown(text))))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(CallError::policy(format!("`{}` is no http or https URL", shown(text))));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(CallError::argument("a URL that is fetched has no user and no password").with_hint("send a header `Authorization`"));
    }
    if url.host_str().is_none_or(|host| host.is_empty() || host.len() > MAX_HOST_CHARS) {
        return Err(CallError::argument(format!("`{}` has no host", shown(text))));
    }
    url.set_fragment(None);
    Ok(url)
}

fn fields(headers: &[(String, String)]) -> Result<HeaderMap, CallError> {
    if headers.iter().map(|(name, value)| name.len() + value.len()).sum::<usize>() > MAX_HEADER_BYTES {
        return Err(CallError::argument(format!(
            "the header fields are larger than {MAX_HEADER_BYTES} bytes"
        )));
    }
    let mut fields = HeaderMap::new();
    for (name, value) in headers {
        let known = field_name(name)?;
        if OUR_FIELDS.contains(&known.as_str()) {
            return Err(
                CallError::argument(format!("header field `{known}` is not a program's to send")).with_hint(format!("leave out `{known}`"))
            );
        }
        // Answers are decompressed here, so here is said how they may be compressed.
        if known != ACCEPT_ENCODING {
            fields.append(known, field_value(name, value)?);
        }
    }
    Ok(fields)
}

fn check_place(allowed: &AllowedHosts, url: &Url) -> Result<(), CallError> {
    if url.host().is_some_and(|host| allowed.contains(&host, url.port_or_known_default())) {
        return Ok(());
    }
    let host = url.host_str().unwrap_or_default();
    let hint = match url.host() {
        Some(Host::Domain(_)) | None => format!("add `{host}` to `MCE_ALLOWED_DOMAINS`, or call a function of a server"),
        Some(Host::Ipv4(_) | Host::Ipv6(_)) => "an address is allowed by its own entry in `MCE_ALLOWED_DOMAINS`".to_owned(),
    };
    Err(CallError::policy(format!("`{host}` is not among the allowed domains")).with_hint(hint))
}

/// The first request was sent, so the run's list of calls has to tell of it.
fn after_redirect(mut error: CallError, status: u16) -> CallError {
    if error.is_refusal() {
        error.message = format!(
            "the answer with status {status} redirects to where programs may not go: {}",
            error.message
        );
        error.kind = CallErrorKind::Api {
            status: Some(status),
            body: None,
        };
    }
    error
}

/// The start of a text, for a message.
fn shown(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).take(200).collect()
}
