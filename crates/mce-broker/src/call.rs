//! One call of a function, from its arguments to its answer.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use mce_config::Settings;
use serde_json::value::RawValue;

use crate::answer::Answer;
use crate::call_error::{BrokerError, CallError, CallErrorKind};
use crate::function_source::FunctionSource;

/// What a broker is made of.
pub struct BrokerOptions {
    /// Servers with their credentials and policies.
    pub settings: Arc<Settings>,
    /// Where functions are looked up.
    pub functions: Arc<dyn FunctionSource>,
    /// The audit log; made if it does not exist, readable by its owner only.
    pub audit_file: PathBuf,
    /// Limits of each call.
    pub limits: CallLimits,
}

/// Limits of one call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallLimits {
    /// Until a connection stands. Default 10 s.
    pub connect: Duration,
    /// From sending to the last byte of the answer. Default 30 s.
    pub total: Duration,
    /// Bytes of an answer, decompressed. Default 16 MiB.
    pub answer_bytes: usize,
}

impl Default for CallLimits {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(10),
            total: Duration::from_secs(30),
            answer_bytes: 16 << 20,
        }
    }
}

/// Whose names apply to functions and arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Caller {
    /// Identifiers of Python.
    Python,
    /// Identifiers of TypeScript.
    TypeScript,
}

/// Which names of arguments win where two meet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Naming {
    /// The caller's language's, then those of the document.
    Language,
    /// Those of the document, then the language's.
    Original,
}

/// A call to make.
#[derive(Debug, Clone, Copy)]
pub struct CallRequest<'a> {
    /// The run that it belongs to, for the audit log.
    pub run: &'a str,
    /// Whose names apply.
    pub caller: Caller,
    /// Which names of arguments win.
    pub naming: Naming,
    /// `server.function`, `server:METHOD /path` or `mcp__server__function`.
    pub function: &'a str,
    /// An object of arguments by name; the request body is `body`.
    pub arguments: &'a RawValue,
}

impl std::fmt::Debug for BrokerOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("BrokerOptions")
            .field("audit_file", &self.audit_file)
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}

/// Performs calls. Cheap to share; one for the process.
#[derive(Debug)]
pub struct Broker {
    options: BrokerOptions,
}

impl Broker {
    /// Makes a broker.
    ///
    /// # Errors
    ///
    /// [`BrokerError`] if the HTTP client or the audit log cannot be had.
    pub fn new(options: BrokerOptions) -> Result<Self, BrokerError> {
        Ok(Self { options })
    }

    /// Calls a function. Dropping the future cancels the call; the audit log then says so.
    ///
    /// # Errors
    ///
    /// [`CallError`], whose kind tells whether anything was sent.
    pub async fn call(&self, request: CallRequest<'_>) -> Result<Answer, CallError> {
        let _ = self
            .options
            .functions
            .find(request.function, request.caller)
            .map_err(|unknown| CallError::argument(unknown.message).with_hint(unknown.hint.unwrap_or_default()))?;
        Err(CallError::new(CallErrorKind::Internal, "calls are not carried out by this build"))
    }
}
