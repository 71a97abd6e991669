//! The host's side of one run: each host call goes to the broker or the catalog, and calls are counted for the answer.

use std::fmt;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use mce_broker::{
    Answer, AnswerValue, Broker, CallError, CallErrorKind, CallRequest, Caller, FetchRequest, ResultError, Results, RunContext,
};
use mce_catalog::function::Effect;
use mce_sandbox::{BoxFuture, CallFailure, HostCall, HostCalls, HostValue, Language, Naming, WrittenCall};
use serde::{Deserialize, Serialize};
use serde_json::value::{RawValue, to_raw_value};
use tokio::sync::Mutex;

use super::Behalf;
use super::addresses::Addresses;
use super::call_groups::{CallGroups, End, Unfinished};
use super::model::Model;
use super::runner::Runner;
use crate::failure::Failure;

/// What questions to a language model are called among the calls.
pub(crate) const MODEL: &str = "llm";

/// Host calls of one run.
pub(crate) struct RunCalls {
    pub(super) runner: Arc<Runner>,
    /// For whom the program runs.
    pub(super) behalf: Behalf,
    pub(super) language: Language,
    pub(super) run: RunContext,
    pub(super) groups: Arc<CallGroups>,
    pub(super) addresses: Addresses,
    /// What recipes that it has called have printed, until it stands in its log. The lock is held while a text is added or taken.
    pub(super) printed: std::sync::Mutex<String>,
    pub(super) whole: Arc<Whole>,
    /// The recipes within which it runs, the outermost first; the last one is itself.
    pub(super) within: Vec<String>,
    /// No program called it.
    pub(super) is_outermost: bool,
    /// Recipes that it calls run one after the other: all of them are in its one place.
    pub(super) turn: Mutex<()>,
}

/// What a program and the recipes within it have together.
#[derive(Debug)]
pub(super) struct Whole {
    pub(super) model: Model,
    /// Host calls so far.
    pub(super) calls: AtomicU32,
}

impl fmt::Debug for RunCalls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RunCalls").field("run", &self.run).finish_non_exhaustive()
    }
}

impl RunCalls {
    /// Counts a host call.
    ///
    /// # Errors
    ///
    /// A failure of type `policy` if the program and the recipes within it have made all that one run may make.
    fn spend(&self) -> Result<(), Failure> {
        let limit = self.runner.settings.limits.host_calls;
        if self.whole.calls.fetch_add(1, Ordering::Relaxed) < limit {
            return Ok(());
        }
        Err(Failure::new(
            "policy",
            format!("the program has made the {limit} calls that one run may make"),
        ))
    }

    async fn call_function(
        &self,
        function: &str,
        naming: Naming,
        arguments: &RawValue,
        with_headers: bool,
        page: Option<&str>,
    ) -> Result<HostValue, CallFailure> {
        self.behalf.narrowed.check_function(&self.runner.discovery, function)?;
        let request = CallRequest {
            run: &self.run,
            caller: caller(self.language),
            naming: broker_naming(naming),
            function,
            arguments,
            with_content: with_headers,
            page,
            client: Some(&self.behalf.client),
            recipes: Some(self),
        };
        if page.is_some_and(|address| !self.addresses.has(function, address)) {
            let failure = Failure::new("policy", format!("no answer of `{function}` gave this address of a further page"));
            return Err(failure.with_hint("only `paginate` follows addresses").into());
        }
        let start = Instant::now();
        // Whatever may have reached the API is told, so that nobody repeats a write without knowing.
        let told = |end: End| {
            let (name, effect) = self
                .runner
                .discovery
                .named(function)
                .unwrap_or_else(|| (function.to_owned(), Effect::Write));
            self.groups.count(&name, effect, start, end);
        };
        let lost = || told(End::Unknown);
        let unfinished = Unfinished::new(&lost);
        let result = self.runner.broker.call(request).await;
        unfinished.finish();
        match &result {
            Ok(answer) => self.groups.count(&answer.function, answer.effect, start, End::Good),
            Err(error) if may_have_been_sent(&error.kind) => told(End::Failed),
            Err(_) => {}
        }
        let answer = result.map_err(|error| call_failure(self.with_calls_before(error)))?;
        if let Some(shape) = &answer.shape {
            self.runner.discovery.observe(&answer.function, shape);
        }
        if with_headers {
            self.addresses.keep(&answer);
            answer_with_headers(answer)
        } else {
            host_value(answer.value)
        }
    }

    /// A call that waits for a person is made again, by the same program as a rule.
    fn with_calls_before(&self, error: CallError) -> CallError {
        if error.kind != CallErrorKind::Approval || !self.groups.has_written() {
            return error;
        }
        let hint = error.hint().unwrap_or_default().to_owned();
        error.with_hint(format!("calls before this one were made: do not repeat those that write; {hint}"))
    }

    async fn fetch(&self, mut request: FetchRequest<'_>) -> Result<HostValue, CallFailure> {
        self.behalf.narrowed.check_host(request.url)?;
        // A redirect may lead to a host that the run may not fetch from.
        request.follows_redirects &= self.behalf.narrowed.hosts.is_none();
        let effect = FetchRequest::effect(request.method);
        let start = Instant::now();
        let lost = || self.groups.count("fetch", effect, start, End::Unknown);
        let unfinished = Unfinished::new(&lost);
        let result = self.runner.broker.fetch(request).await;
        unfinished.finish();
        match &result {
            Ok(answer) => self.groups.count(&answer.function, effect, start, End::Good),
            Err(error) if may_have_been_sent(&error.kind) => {
                self.groups
                    .count(error.function.as_deref().unwrap_or("fetch"), effect, start, End::Failed);
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
        let lost = || self.groups.count(MODEL, Effect::Read, start, End::Unknown);
        let unfinished = Unfinished::new(&lost);
        let result = self.whole.model.ask(request).await;
        unfinished.finish();
        match result {
            Ok(text) => {
                self.groups.count(MODEL, Effect::Read, start, End::Good);
                json(&text)
            }
            Err(failure) => {
                if failure.kind == "tool" {
                    self.groups.count(MODEL, Effect::Read, start, End::Failed);
                }
                Err(failure.into())
            }
        }
    }

    async fn save(&self, value: &RawValue) -> Result<HostValue, CallFailure> {
        let value = self.runner.broker.redacted(value.get()).into_owned();
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
        let results = Arc::clone(&self.runner.results);
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
}

impl HostCalls for RunCalls {
    fn call(&self, call: HostCall) -> BoxFuture<'_, Result<HostValue, CallFailure>> {
        Box::pin(async move {
            if !matches!(call, HostCall::Describe { .. } | HostCall::Check { .. } | HostCall::Servers {}) {
                self.spend()?;
            }
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
                        client: Some(&self.behalf.client),
                        follows_redirects: follow_redirects,
                    })
                    .await
                }
                HostCall::Describe { server, names } => json(&self.runner.discovery.describe(&server, &names, self.language)?),
                HostCall::Check { calls } => json(&written_faults(&self.runner.broker, self.language, &calls)),
                HostCall::Servers {} => json(&self.runner.discovery.server_names()),
                HostCall::Save { value } => self.save(&value).await,
                HostCall::Load { id } => self.load(id).await,
                HostCall::Ask { request } => self.ask(&request).await,
                HostCall::Search { query, by, server, limit } => {
                    json(&self.runner.discovery.tool_schemas(&query, by, server.as_deref(), limit)?)
                }
            }
        })
    }

    fn printed(&self) -> String {
        std::mem::take(&mut *self.printed.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn waited(&self) -> Duration {
        self.behalf.client.waited()
    }

    fn servers(&self) -> Option<Vec<String>> {
        Some(self.runner.discovery.server_names())
    }
}

/// What is certainly wrong with each of these calls.
pub(super) fn written_faults(broker: &Broker, language: Language, calls: &[WrittenCall]) -> Vec<Vec<String>> {
    let faults = |call: &WrittenCall| {
        broker.written_faults(mce_broker::WrittenCall {
            function: &call.function,
            caller: caller(language),
            arguments: &call.arguments,
            unknown: &call.unknown,
        })
    };
    calls.iter().map(faults).collect()
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

pub(super) fn json(value: &impl Serialize) -> Result<HostValue, CallFailure> {
    let value = to_raw_value(value).map_err(Failure::internal)?;
    Ok(HostValue::Json(value))
}
