//! The host's side of one run: each host call goes to the broker or the catalog, and calls are counted for the answer.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use mce_broker::{
    Answer, AnswerValue, Broker, CallError, CallErrorKind, CallRequest, Caller, ClientRequests, FetchRequest, ResultError, Results,
    RunContext,
};
use mce_catalog::function::Effect;
use mce_sandbox::{BoxFuture, CallFailure, HostCall, HostCalls, HostValue, Language, Naming};
use serde::{Deserialize, Serialize};
use serde_json::value::{RawValue, to_raw_value};

use super::addresses::Addresses;
use super::answer::{CallGroup, millis};
use super::discovery::Discovery;
use super::model::Model;
use super::narrowed::Narrowed;
use crate::failure::Failure;

/// What questions to a language model are called among the calls.
pub(crate) const MODEL: &str = "llm";

/// Host calls of one run.
pub(crate) struct RunCalls {
    pub(super) broker: Arc<Broker>,
    pub(super) discovery: Arc<Discovery>,
    pub(super) results: Arc<Results>,
    pub(super) model: Model,
    /// For whom the program runs.
    pub(super) client: Arc<dyn ClientRequests>,
    pub(super) language: Language,
    pub(super) run: RunContext,
    // Held only while a finished call is counted.
    pub(super) groups: Mutex<Vec<CallGroup>>,
    pub(super) addresses: Addresses,
    pub(super) narrowed: Narrowed,
}

impl RunCalls {
    /// What was called so far, in the order of first calls.
    pub(crate) fn groups(&self) -> Vec<CallGroup> {
        self.groups.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    async fn call_function(
        &self,
        function: &str,
        naming: Naming,
        arguments: &RawValue,
        with_headers: bool,
        page: Option<&str>,
    ) -> Result<HostValue, CallFailure> {
        self.narrowed.check_function(&self.discovery, function)?;
        let request = CallRequest {
            run: &self.run,
            caller: caller(self.language),
            naming: broker_naming(naming),
            function,
            arguments,
            with_content: with_headers,
            page,
            client: Some(&self.client),
        };
        if page.is_some_and(|address| !self.addresses.has(function, address)) {
            let failure = Failure::new("policy", format!("no answer of `{function}` gave this address of a further page"));
            return Err(failure.with_hint("only `paginate` follows addresses").into());
        }
        let start = Instant::now();
        // Whatever may have reached the API is told, so that nobody repeats a write without knowing.
        let told = |end: End| {
            let (name, effect) = self
                .discovery
                .named(function)
                .unwrap_or_else(|| (function.to_owned(), Effect::Write));
            self.count(&name, effect, start, end);
        };
        let lost = || told(End::Unknown);
        let unfinished = Unfinished::new(&lost);
        let result = self.broker.call(request).await;
        unfinished.finish();
        match &result {
            Ok(answer) => self.count(&answer.function, answer.effect, start, End::Good),
            Err(error) if may_have_been_sent(&error.kind) => told(End::Failed),
            Err(_) => {}
        }
        let answer = result.map_err(call_failure)?;
        if let Some(shape) = &answer.shape {
            self.discovery.observe(&answer.function, shape);
        }
        if with_headers {
            self.addresses.keep(&answer);
            answer_with_headers(answer)
        } else {
            host_value(answer.value)
        }
    }

    async fn fetch(&self, mut request: FetchRequest<'_>) -> Result<HostValue, CallFailure> {
        self.narrowed.check_host(request.url)?;
        // A redirect may lead to a host that the run may not fetch from.
        request.follows_redirects &= self.narrowed.hosts.is_none();
        let effect = FetchRequest::effect(request.method);
        let start = Instant::now();
        let lost = || self.count("fetch", effect, start, End::Unknown);
        let unfinished = Unfinished::new(&lost);
        let result = self.broker.fetch(request).await;
        unfinished.finish();
        match &result {
            Ok(answer) => self.count(&answer.function, effect, start, End::Good),
            Err(error) if may_have_been_sent(&error.kind) => {
                self.count(error.function.as_deref().unwrap_or("fetch"), effect, start, End::Failed);
            }
            Err(_) => {}
        }
        let answer = result.map_err(call_failure)?;
        json(&Fetched {
            status: answer.status,
            url: answer.url,
            headers: answer.headers,
            body: STANDARD.encode(answer.body),
        })
    }

    async fn ask(&self, request: &RawValue) -> Result<HostValue, CallFailure> {
        let start = Instant::now();
        let lost = || self.count(MODEL, Effect::Read, start, End::Unknown);
        let unfinished = Unfinished::new(&lost);
        let result = self.model.ask(request).await;
        unfinished.finish();
        match result {
            Ok(text) => {
                self.count(MODEL, Effect::Read, start, End::Good);
                json(&text)
            }
            Err(failure) => {
                if failure.kind == "tool" {
                    self.count(MODEL, Effect::Read, start, End::Failed);
                }
                Err(failure.into())
            }
        }
    }

    async fn save(&self, value: &RawValue) -> Result<HostValue, CallFailure> {
        let value = self.broker.redacted(value.get()).into_owned();
        let id = self.with_results(move |results| results.save(&value, SystemTime::now())).await?;
        json(&id)
    }

    async fn load(&self, id: String) -> Result<HostValue, CallFailure> {
        let value = self.with_results(move |results| results.load(&id, SystemTime::now())).await?;
        Ok(HostValue::Json(RawValue::from_string(value).map_err(Failure::internal)?))
    }

    /// Large values take the store some milliseconds, in which other runs must go on.
    async fn with_results<T: Send + 'static>(
        &self,
        action: impl FnOnce(&Results) -> Result<T, ResultError> + Send + 'static,
    ) -> Result<T, CallFailure> {
        let results = Arc::clone(&self.results);
        let done = tokio::task::spawn_blocking(move || action(&results)).await;
        done.map_err(Failure::internal)?.map_err(|error| {
            let kind = match error {
                ResultError::TooLarge { .. } | ResultError::Unknown { .. } => "argument",
                ResultError::Id { .. } | ResultError::Store { .. } => "internal",
            };
            Failure::new(kind, error.to_string())
                .with_hint(error.hint().unwrap_or_default())
                .into()
        })
    }

    fn count(&self, function: &str, effect: Effect, start: Instant, end: End) {
        let failed = u32::from(end != End::Good);
        let unfinished = u32::from(end == End::Unknown);
        let mut groups = self.groups.lock().unwrap_or_else(PoisonError::into_inner);
        let ms = millis(start.elapsed());
        // A host may be read from and written to, which stays apart.
        if let Some(group) = groups.iter_mut().find(|group| group.function == function && group.effect == effect) {
            group.count += 1;
            group.ms += ms;
            group.failed += failed;
            group.unfinished += unfinished;
        } else {
            groups.push(CallGroup {
                function: function.to_owned(),
                count: 1,
                ms,
                failed,
                unfinished,
                effect,
            });
        }
    }
}

impl HostCalls for RunCalls {
    fn call(&self, call: HostCall) -> BoxFuture<'_, Result<HostValue, CallFailure>> {
        Box::pin(async move {
            match call {
                HostCall::Call {
                    function,
                    naming,
                    arguments,
                    with_headers,
                    page,
                } => {
                    self.call_function(&function, naming, &arguments, with_headers, page.as_deref())
                        .await
                }
                HostCall::Fetch {
                    method,
                    url,
                    headers,
                    body,
                    follow_redirects,
                } => {
                    self.fetch(FetchRequest {
                        run: &self.run,
                        method: &method,
                        url: &url,
                        headers: &headers,
                        body,
                        client: Some(&self.client),
                        follows_redirects: follow_redirects,
                    })
                    .await
                }
                HostCall::Describe { server, names } => json(&self.discovery.describe(&server, &names, self.language)?),
                HostCall::Servers {} => json(&self.discovery.server_names()),
                HostCall::Save { value } => self.save(&value).await,
                HostCall::Load { id } => self.load(id).await,
                HostCall::Ask { request } => self.ask(&request).await,
                HostCall::Search { query, by, server, limit } => {
                    json(&self.discovery.tool_schemas(&query, by, server.as_deref(), limit)?)
                }
            }
        })
    }

    fn waited(&self) -> Duration {
        self.client.waited()
    }

    fn servers(&self) -> Option<Vec<String>> {
        Some(self.discovery.server_names())
    }
}

pub(crate) fn caller(language: Language) -> Caller {
    match language {
        Language::Python => Caller::Python,
        Language::TypeScript => Caller::TypeScript,
    }
}

fn broker_naming(naming: Naming) -> mce_broker::Naming {
    match naming {
        Naming::Language => mce_broker::Naming::Language,
        Naming::Original => mce_broker::Naming::Original,
    }
}

fn host_value(value: AnswerValue) -> Result<HostValue, CallFailure> {
    match value {
        AnswerValue::Json(json) => Ok(HostValue::Json(json)),
        AnswerValue::Text(text) => json(&text),
        AnswerValue::Bytes(bytes) => Ok(HostValue::Bytes(bytes)),
        AnswerValue::Empty => json(&()),
    }
}

/// The object that [`HostCall::Call`] with `with_headers` is answered by.
#[derive(Serialize)]
struct AnswerWithHeaders {
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<u16>,
    headers: Vec<(String, String)>,
    /// Blocks of a tool.
    #[serde(skip_serializing_if = "Option::is_none")]
    content: Option<Box<RawValue>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    value: Option<Box<RawValue>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    base64: Option<String>,
}

fn answer_with_headers(answer: Answer) -> Result<HostValue, CallFailure> {
    let (value, base64) = match host_value(answer.value)? {
        HostValue::Json(value) => (Some(value), None),
        HostValue::Bytes(bytes) => (None, Some(STANDARD.encode(bytes))),
    };
    json(&AnswerWithHeaders {
        status: answer.status,
        headers: answer.headers,
        content: answer.result.as_deref().and_then(blocks_of),
        value,
        base64,
    })
}

/// The content blocks of a tool's result.
fn blocks_of(result: &RawValue) -> Option<Box<RawValue>> {
    #[derive(Deserialize)]
    struct Blocks {
        content: Box<RawValue>,
    }
    serde_json::from_str::<Blocks>(result.get()).ok().map(|blocks| blocks.content)
}

/// The object that [`HostCall::Fetch`] is answered by.
#[derive(Serialize)]
struct Fetched {
    status: u16,
    url: String,
    headers: Vec<(String, String)>,
    body: String,
}

#[expect(clippy::needless_pass_by_value, reason = "by value it fits `map_err`")]
fn call_failure(error: CallError) -> CallFailure {
    CallFailure {
        function: error.function.clone(),
        ..failure_of(&error).into()
    }
}

/// How a call ended, as far as its run knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Good,
    Failed,
    /// The run ended first.
    Unknown,
}

/// A call under way. Where the run ends before the call does, the call is dropped, and this tells that it was made.
struct Unfinished<'a> {
    lost: Option<&'a (dyn Fn() + Sync)>,
}

impl<'a> Unfinished<'a> {
    fn new(lost: &'a (dyn Fn() + Sync)) -> Self {
        Self { lost: Some(lost) }
    }

    fn finish(mut self) {
        self.lost = None;
    }
}

impl Drop for Unfinished<'_> {
    fn drop(&mut self) {
        if let Some(lost) = self.lost {
            lost();
        }
    }
}

fn may_have_been_sent(kind: &CallErrorKind) -> bool {
    match kind {
        CallErrorKind::Api { .. } | CallErrorKind::Timeout | CallErrorKind::Output => true,
        CallErrorKind::Tool { may_have_effects } => *may_have_effects,
        CallErrorKind::Argument | CallErrorKind::Policy | CallErrorKind::Approval | CallErrorKind::Busy | CallErrorKind::Internal => false,
    }
}

/// A call's failure as commands and promoted tools tell it.
pub(crate) fn failure_of(error: &CallError) -> Failure {
    let mut failure = Failure::new(error.kind.as_str(), error.to_string()).with_hint(error.hint().unwrap_or_default());
    failure.status = error.status();
    failure.body = error.body().cloned();
    failure
}

impl From<Failure> for CallFailure {
    fn from(failure: Failure) -> Self {
        Self {
            kind: failure.kind,
            message: failure.message,
            function: None,
            status: failure.status,
            body: failure.body,
            hint: failure.hint,
        }
    }
}

fn json(value: &impl Serialize) -> Result<HostValue, CallFailure> {
    let value = to_raw_value(value).map_err(Failure::internal)?;
    Ok(HostValue::Json(value))
}
