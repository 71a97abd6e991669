//! The audit log: a JSON object per line. Each effect leaves an `intent` before and an `outcome` after, tied by `call`; each
//! run of a program a `started` and an `ended`; what is refused one `refused`. Lines about the log itself are `log`.

mod clock;
mod files;
mod head;
mod known_end;
mod line;
mod log;
mod masked;
mod questions;
mod read;
mod verify;

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use mce_catalog::function::{Effect, Function};
use mce_config::{AuditArguments, AuditSettings, AuditSync};
use serde_json::{Value, json};

pub use self::clock::rfc3339;
use self::log::Log;
pub(crate) use self::questions::Recorded;
pub use self::read::{AuditReader, is_under_way};
pub use self::verify::{AuditFault, AuditReport, verify_audit};
use crate::answer::Answer;
use crate::arguments::Arguments;
use crate::call::CallRequest;
use crate::call_error::{BrokerError, CallError, CallErrorKind};
use crate::fetch::FetchRequest;
use crate::hex::sha256_hex;
use crate::policy::Decision;
use crate::redact::Redactor;
use crate::run_context::RunContext;

/// Argument names written at most.
const MAX_NAMES: usize = 50;
/// Characters written of a function that may not exist.
const MAX_REFERENCE_CHARS: usize = 200;
/// Characters written of an error.
const MAX_ERROR_CHARS: usize = 2000;

/// This process in the numbers of calls: its id, and when it was first needed, since ids are used again.
static PROCESS: LazyLock<String> = LazyLock::new(|| {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    format!("{:x}-{:x}", std::process::id(), since.as_millis())
});
/// Calls of this process so far.
static CALLS: AtomicU64 = AtomicU64::new(0);

/// The log.
#[derive(Debug)]
pub(crate) struct Audit {
    log: Log,
    arguments: AuditArguments,
    sync: AuditSync,
    /// For arguments and for what errors say.
    redactor: Arc<Redactor>,
}

/// Something that has begun. Dropped without an end, it says that it was given up.
#[derive(Debug)]
pub(crate) struct Begun<'a> {
    audit: &'a Audit,
    record: Value,
    end_event: &'static str,
    is_recorded: bool,
    started: Instant,
    is_closed: bool,
}

/// A run that has begun.
#[derive(Debug)]
pub struct RunRecord<'a>(Begun<'a>);

/// How a run ended.
#[derive(Debug, Clone, Copy)]
pub struct RunEnd<'a> {
    /// The type of its error; none if it worked.
    pub error: Option<&'a str>,
    /// Calls that it made.
    pub calls: u32,
    /// Those of them that failed.
    pub failed_calls: u32,
}

impl Audit {
    /// Opens the log, or makes it, readable by its owner only. Its directory must exist. That it was there is known in the data
    /// directory, too.
    ///
    /// # Errors
    ///
    /// [`BrokerError::AuditLog`].
    pub(crate) fn open(settings: &AuditSettings, data_dir: &Path, redactor: Arc<Redactor>) -> Result<Self, BrokerError> {
        let log = Log::open(settings, data_dir).map_err(|source| BrokerError::AuditLog {
            path: settings.file.clone(),
            source,
        })?;
        Ok(Self {
            log,
            arguments: settings.arguments,
            sync: settings.sync,
            redactor,
        })
    }

    /// Writes the intent of a call, before anything is sent.
    ///
    /// # Errors
    ///
    /// `Policy` for what writes, because that may not happen without a record.
    pub(crate) async fn begin(
        &self,
        request: CallRequest<'_>,
        function: &Function,
        arguments: &Arguments<'_>,
        decision: &Decision,
    ) -> Result<Begun<'_>, CallError> {
        let mut record = self.record("intent", request.run, &format!("{}.{}", function.server, function.python));
        set(&mut record, "operation", json!(function.operation));
        set_decision(&mut record, decision);
        if self.arguments == AuditArguments::Names {
            set(&mut record, "arguments", names(arguments));
        }
        self.set_asked(&mut record, request);
        self.effect(record, function.effect).await
    }

    /// What a call asks for, as far as that is kept.
    fn set_asked(&self, record: &mut Value, request: CallRequest<'_>) {
        if self.arguments == AuditArguments::Masked {
            set(record, "arguments", masked::masked(request.arguments, &self.redactor));
        }
        set(record, "arguments_sha256", json!(sha256_hex(request.arguments.get())));
        if let Some(page) = request.page {
            set(record, "page_sha256", json!(sha256_hex(page)));
        }
    }

    /// Writes the intent of a request of a program's own: method and host, never path and query.
    ///
    /// # Errors
    ///
    /// As [`Audit::begin`].
    pub(crate) async fn begin_fetch(
        &self,
        run: &RunContext,
        function: &str,
        (method, body): (&str, Option<&[u8]>),
        decision: &Decision,
    ) -> Result<Begun<'_>, CallError> {
        let mut record = self.record("intent", run, function);
        set(&mut record, "operation", json!(method));
        if let Some(body) = body {
            set(&mut record, "body_sha256", json!(sha256_hex(body)));
        }
        set_decision(&mut record, decision);
        self.effect(record, FetchRequest::effect(method)).await
    }

    /// Writes the intent of something that changes nothing of a server: a login, a request that is passed on to an MCP server, a
    /// question to the client. `asked` is what is hashed of it.
    pub(crate) fn begin_other(&self, run: &RunContext, function: &str, operation: &str, asked: Option<&str>) -> Begun<'_> {
        let mut record = self.record("intent", run, function);
        set(&mut record, "operation", json!(operation));
        if let Some(asked) = asked {
            set(&mut record, "arguments_sha256", json!(sha256_hex(asked)));
        }
        let written = self.log.append(&record);
        self.begun(record, written.map(drop), "outcome")
    }

    /// Writes that a program of a run starts, or is looked at whether it may.
    pub(crate) fn begin_run(&self, run: &RunContext, language: &str) -> RunRecord<'_> {
        let mut record = self.record("started", run, "");
        // A run is known by its own number; who runs it is told all the same.
        remove(&mut record, &["call", "function"]);
        set(&mut record, "process", json!(*PROCESS));
        set(&mut record, "language", json!(language));
        let written = self.log.append(&record);
        RunRecord(self.begun(record, written.map(drop), "ended"))
    }

    /// Notes that something was refused. A log that cannot be written changes nothing here: nothing happened.
    pub(crate) fn refuse(&self, run: &RunContext, reference: &str, error: &CallError, decision: Option<&Decision>) {
        self.append(&self.refusal(run, reference, error, decision));
    }

    /// Notes that a call of a function was refused.
    pub(crate) fn refuse_call(&self, request: CallRequest<'_>, function: &Function, error: &CallError) {
        let name = format!("{}.{}", function.server, function.python);
        let mut record = self.refusal(request.run, &name, error, error.decision());
        set(&mut record, "operation", json!(function.operation));
        set(&mut record, "effect", json!(function.effect.as_str()));
        self.set_asked(&mut record, request);
        self.append(&record);
    }

    fn refusal(&self, run: &RunContext, reference: &str, error: &CallError, decision: Option<&Decision>) -> Value {
        let reference: String = reference.chars().take(MAX_REFERENCE_CHARS).collect();
        let mut record = self.record("refused", run, &reference);
        if let Some(decision) = decision {
            set_decision(&mut record, decision);
        }
        set(&mut record, "error", self.error_of(error));
        record
    }

    async fn effect(&self, mut record: Value, effect: Effect) -> Result<Begun<'_>, CallError> {
        set(&mut record, "effect", json!(effect.as_str()));
        let refused = |error: &std::io::Error| {
            CallError::policy("the call was not made, because the audit log cannot be written")
                .with_hint("functions that read go on; the person who runs mce has to make room on the disk, or to mend what its log says")
                .with_internal(format!("audit log: {error}"))
        };
        let file = match self.log.append(&record) {
            Err(error) if effect != Effect::Read => return Err(refused(&error)),
            Err(error) => return Ok(self.begun(record, Err(error), "outcome")),
            Ok(file) => file,
        };
        // Before anything is waited for: a run that ends meanwhile has its outcome, too.
        let begun = self.begun(record, Ok(()), "outcome");
        if self.syncs(effect) {
            let synced = tokio::task::spawn_blocking(move || file.sync_data()).await;
            match synced.unwrap_or_else(|error| Err(std::io::Error::other(error))) {
                Err(error) if effect != Effect::Read => {
                    let error = refused(&error);
                    begun.end(Err(&error));
                    return Err(error.on_record());
                }
                Err(error) => tracing::error!("the audit log may be lost when the machine stops: {error}"),
                Ok(()) => {}
            }
        }
        Ok(begun)
    }

    fn syncs(&self, effect: Effect) -> bool {
        match self.sync {
            AuditSync::Never => false,
            AuditSync::Write => effect != Effect::Read,
            AuditSync::Always => true,
        }
    }

    fn begun(&self, record: Value, written: std::io::Result<()>, end_event: &'static str) -> Begun<'_> {
        Begun {
            audit: self,
            record,
            end_event,
            is_recorded: written.inspect_err(|error| self.log.count_unrecorded(error)).is_ok(),
            started: Instant::now(),
            is_closed: false,
        }
    }

    fn append(&self, record: &Value) {
        match self.log.append(record) {
            Ok(file) if self.sync == AuditSync::Always => {
                if let Err(error) = file.sync_data() {
                    tracing::error!("the audit log may be lost when the machine stops: {error}");
                }
            }
            Ok(_) => {}
            Err(error) => self.log.count_unrecorded(&error),
        }
    }

    /// The internal text, without secrets and base URLs.
    fn error_of(&self, error: &CallError) -> Value {
        let message: String = error.internal().chars().take(MAX_ERROR_CHARS).collect();
        json!({"type": error.kind.as_str(), "message": self.redactor.text(&message)})
    }

    fn record(&self, event: &str, run: &RunContext, function: &str) -> Value {
        let number = CALLS.fetch_add(1, Ordering::Relaxed);
        let mut record = json!({
            "time": rfc3339(SystemTime::now()),
            "event": event,
            "call": format!("{}-{number:x}", *PROCESS),
            "run": run.id,
            "asker": run.asker.as_str(),
        });
        let facts = [
            ("client", &run.client),
            ("code_sha256", &run.code_sha256),
            ("correlation", &run.correlation),
        ];
        for (key, value) in facts {
            if let Some(value) = value {
                set(&mut record, key, json!(self.redactor.text(value)));
            }
        }
        set(&mut record, "function", json!(function));
        record
    }
}

impl Begun<'_> {
    /// Writes the outcome: the status, if it has one, and the bytes of the answer, or the error.
    pub(crate) fn end(mut self, outcome: Result<(Option<u16>, usize), &CallError>) {
        self.set_attempts(outcome.err().map_or(1, CallError::attempts));
        match outcome {
            Ok((status, bytes)) => {
                self.set("ok", json!(true));
                if let Some(status) = status {
                    self.set("status", json!(status));
                }
                self.set("bytes", json!(bytes));
            }
            Err(error) => {
                self.set("ok", json!(false));
                if let CallErrorKind::Api { status: Some(status), .. } = error.kind {
                    self.set("status", json!(status));
                }
                let told = self.audit.error_of(error);
                self.set("error", told);
            }
        }
        self.close();
    }

    /// Writes the outcome of a call.
    pub(crate) fn end_call(mut self, outcome: Result<&Answer, &CallError>) {
        self.set_attempts(outcome.map_or(1, |answer| answer.attempts));
        self.end(outcome.map(|answer| (answer.status, answer.value.len())));
    }

    fn set_attempts(&mut self, attempts: u32) {
        if attempts > 1 {
            self.set("attempts", json!(attempts));
        }
    }

    fn set(&mut self, key: &str, value: Value) {
        set(&mut self.record, key, value);
    }

    fn close(&mut self) {
        self.is_closed = true;
        let told_before = [
            "arguments",
            "arguments_sha256",
            "page_sha256",
            "body_sha256",
            "effect",
            "decision",
            "rule",
            "approval",
            "client",
            "code_sha256",
            "correlation",
        ];
        remove(&mut self.record, &told_before);
        self.set("event", json!(self.end_event));
        self.set("time", json!(rfc3339(SystemTime::now())));
        self.set("ms", json!(u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX)));
        // The end of what is not on record would be a riddle.
        if self.is_recorded {
            self.audit.append(&self.record);
        }
    }
}

impl Drop for Begun<'_> {
    fn drop(&mut self) {
        if !self.is_closed {
            self.set("ok", json!(false));
            let message = if self.end_event == "ended" {
                "nobody waited for its end"
            } else {
                "the run ended before the call did"
            };
            self.set("error", json!({"type": "cancelled", "message": message}));
            self.close();
        }
    }
}

impl RunRecord<'_> {
    /// Writes how the run ended.
    pub fn end(mut self, end: RunEnd<'_>) {
        self.0.set("ok", json!(end.error.is_none()));
        if let Some(kind) = end.error {
            self.0.set("error", json!({"type": kind}));
        }
        self.0.set("calls", json!(end.calls));
        if end.failed_calls > 0 {
            self.0.set("failed_calls", json!(end.failed_calls));
        }
        self.0.close();
    }
}

/// The names of the arguments, of which the configuration may have filled in some.
fn names(arguments: &Arguments<'_>) -> Value {
    let names = arguments.parameters.iter().map(|argument| argument.parameter.key.as_str());
    let more = arguments.more.iter().map(|(name, _)| name.as_str());
    let body = arguments.body.as_ref().map(|_| "body");
    json!(names.chain(body).chain(more).take(MAX_NAMES).collect::<Vec<_>>())
}

/// By which rule, and whether a person allowed it.
fn set_decision(record: &mut Value, decision: &Decision) {
    set(record, "decision", json!(decision.as_str()));
    set(record, "rule", json!(decision.rule));
    if let Some(approval) = &decision.approval {
        set(record, "approval", json!(approval));
    }
}

fn set(record: &mut Value, key: &str, value: Value) {
    if let Value::Object(members) = record {
        members.insert(key.to_owned(), value);
    }
}

fn remove(record: &mut Value, keys: &[&str]) {
    if let Value::Object(members) = record {
        members.retain(|key, _| !keys.contains(&key.as_str()));
    }
}

#[cfg(test)]
mod tests;
