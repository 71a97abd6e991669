//! The append-only audit log: a JSON object per line. Each call that is sent leaves an `intent` before and an `outcome`
//! after, tied by `call`; a call that policy refuses leaves one `refused`.

use std::hash::{BuildHasher, RandomState};
use std::io::Write;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use fs_err::OpenOptions;
use fs_err::os::unix::fs::OpenOptionsExt;
use mce_catalog::function::Function;
use serde_json::{Value, json};

use crate::arguments::Arguments;
use crate::call::CallRequest;
use crate::call_error::{BrokerError, CallError, CallErrorKind};
use crate::fetch::FetchRequest;
use crate::hex::sha256_hex;
use crate::run_context::RunContext;

/// Argument names written at most.
const MAX_NAMES: usize = 50;
/// Characters written of a function that may not exist.
const MAX_REFERENCE_CHARS: usize = 200;

/// The log.
#[derive(Debug)]
pub(crate) struct Audit {
    // One line is one write, so that lines of several processes do not mix; the lock keeps this process's lines whole
    // where the system writes only a part.
    file: Mutex<fs_err::File>,
    process: u64,
    count: AtomicU64,
}

/// A call whose intent is written. Dropped without an outcome, it says that the call was given up.
#[derive(Debug)]
pub(crate) struct OpenCall<'a> {
    audit: &'a Audit,
    record: Value,
    started: Instant,
    is_closed: bool,
}

impl Audit {
    /// Opens the log for appending; a new one is readable by its owner only.
    ///
    /// # Errors
    ///
    /// [`BrokerError::AuditLog`].
    pub(crate) fn open(path: &Path) -> Result<Self, BrokerError> {
        let file = OpenOptions::new().create(true).append(true).mode(0o600).open(path);
        let file = file.map_err(|source| BrokerError::AuditLog {
            path: path.to_owned(),
            source,
        })?;
        Ok(Self {
            file: Mutex::new(file),
            process: RandomState::new().hash_one(std::process::id()),
            count: AtomicU64::new(0),
        })
    }

    /// Writes the intent of a call, before anything is sent.
    ///
    /// # Errors
    ///
    /// `Policy`, because nothing may happen without a record.
    pub(crate) fn begin(
        &self,
        request: CallRequest<'_>,
        function: &Function,
        arguments: &Arguments<'_>,
    ) -> Result<OpenCall<'_>, CallError> {
        let mut record = self.record("intent", request.run, &format!("{}.{}", function.server, function.python));
        set(&mut record, "operation", json!(function.operation));
        let names = arguments.parameters.iter().map(|argument| argument.parameter.key.as_str());
        let more = arguments.more.iter().map(|(name, _)| name.as_str());
        let body = arguments.body.as_ref().map(|_| "body");
        let names: Vec<_> = names.chain(body).chain(more).take(MAX_NAMES).collect();
        set(&mut record, "arguments", json!(names));
        set(&mut record, "arguments_sha256", json!(sha256_hex(request.arguments.get())));
        if let Some(page) = request.page {
            set(&mut record, "page_sha256", json!(sha256_hex(page)));
        }
        set(&mut record, "effect", json!(function.effect.as_str()));
        self.open_call(record)
    }

    /// Writes the intent of a request of a program's own: method and host, never path and query.
    ///
    /// # Errors
    ///
    /// `Policy`, because nothing may happen without a record.
    pub(crate) fn begin_fetch(
        &self,
        run: &RunContext,
        function: &str,
        method: &str,
        body: Option<&[u8]>,
    ) -> Result<OpenCall<'_>, CallError> {
        let mut record = self.record("intent", run, function);
        set(&mut record, "operation", json!(method));
        if let Some(body) = body {
            set(&mut record, "body_sha256", json!(sha256_hex(body)));
        }
        set(&mut record, "effect", json!(FetchRequest::effect(method).as_str()));
        self.open_call(record)
    }

    /// Writes the intent of a login at a server.
    ///
    /// # Errors
    ///
    /// `Policy`, because nothing may happen without a record.
    pub(crate) fn begin_login(&self, run: &RunContext, server: &str) -> Result<OpenCall<'_>, CallError> {
        let mut record = self.record("intent", run, server);
        set(&mut record, "operation", json!("login"));
        self.open_call(record)
    }

    fn open_call(&self, record: Value) -> Result<OpenCall<'_>, CallError> {
        self.write(&record).map_err(|e| {
            CallError::policy("the call was not made, because the audit log cannot be written").with_internal(format!("audit log: {e}"))
        })?;
        Ok(OpenCall {
            audit: self,
            record,
            started: Instant::now(),
            is_closed: false,
        })
    }

    /// Notes that a call was refused. A log that cannot be written changes nothing here: nothing happened.
    pub(crate) fn refuse(&self, run: &RunContext, reference: &str, error: &CallError) {
        let reference: String = reference.chars().take(MAX_REFERENCE_CHARS).collect();
        let mut record = self.record("refused", run, &reference);
        set(
            &mut record,
            "error",
            json!({"type": error.kind.as_str(), "message": error.internal()}),
        );
        if let Err(e) = self.write(&record) {
            tracing::error!("failed to write the audit log: {e}");
        }
    }

    fn record(&self, event: &str, run: &RunContext, function: &str) -> Value {
        let number = self.count.fetch_add(1, Ordering::Relaxed);
        json!({
            "time": rfc3339(SystemTime::now()),
            "event": event,
            "call": format!("{:016x}-{number}", self.process),
            "run": run.id,
            "asker": run.asker.as_str(),
            "function": function,
        })
    }

    fn write(&self, record: &Value) -> std::io::Result<()> {
        let mut line = record.to_string();
        line.push('\n');
        self.file.lock().unwrap_or_else(PoisonError::into_inner).write_all(line.as_bytes())
    }
}

impl OpenCall<'_> {
    /// Writes the outcome: the status, if it has one, and the bytes of the answer, or the error.
    pub(crate) fn end(mut self, outcome: Result<(Option<u16>, usize), &CallError>) {
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
                self.set("error", json!({"type": error.kind.as_str(), "message": error.internal()}));
            }
        }
        self.close();
    }

    fn set(&mut self, key: &str, value: Value) {
        set(&mut self.record, key, value);
    }

    fn close(&mut self) {
        self.is_closed = true;
        for key in ["arguments", "arguments_sha256", "page_sha256", "body_sha256", "effect"] {
            self.record.as_object_mut().map(|record| record.remove(key));
        }
        self.set("event", json!("outcome"));
        self.set("time", json!(rfc3339(SystemTime::now())));
        self.set("ms", json!(u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX)));
        if let Err(e) = self.audit.write(&self.record) {
            tracing::error!("failed to write the audit log: {e}");
        }
    }
}

impl Drop for OpenCall<'_> {
    fn drop(&mut self) {
        if !self.is_closed {
            self.set("ok", json!(false));
            self.set(
                "error",
                json!({"type": "cancelled", "message": "the run ended before the call did"}),
            );
            self.close();
        }
    }
}

fn set(record: &mut Value, key: &str, value: Value) {
    if let Value::Object(members) = record {
        members.insert(key.to_owned(), value);
    }
}

/// `2026-01-31T12:00:00.000Z`. (RFC 3339)
fn rfc3339(time: SystemTime) -> String {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    let (days, second) = (since.as_secs() / 86_400, since.as_secs() % 86_400);
    // Years start in March, so that the leap day is the last of its year: eras of 400 years, 146,097 days each.
    let shifted = days + 719_468;
    let (era, day_of_era) = (shifted / 146_097, shifted % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 {
        month_from_march + 3
    } else {
        month_from_march - 9
    };
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    let (hour, minute, second, millisecond) = (second / 3_600, second / 60 % 60, second % 60, since.subsec_millis());
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{millisecond:03}Z")
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn times_are_those_of_the_calendar() {
        for (seconds, text) in [
            (0, "1970-01-01T00:00:00.000Z"),
            (951_782_399, "2000-02-28T23:59:59.000Z"),
            (951_782_400, "2000-02-29T00:00:00.000Z"),
            (1_772_323_200, "2026-03-01T00:00:00.000Z"),
            (4_102_444_799, "2099-12-31T23:59:59.000Z"),
        ] {
            assert_eq!(rfc3339(UNIX_EPOCH + Duration::from_secs(seconds)), text);
        }
    }
}
