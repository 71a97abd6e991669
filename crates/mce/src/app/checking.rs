//! Programs that are checked and not run: they are refused for what they would be refused for before they start.

use std::sync::Arc;

use mce_broker::Broker;
use mce_sandbox::{BoxFuture, CallFailure, HostCall, HostCalls, HostValue, Language, Outline, ProgramError};

use super::App;
use super::discovery::Discovery;
use super::run_calls::{json, written_faults};
use crate::failure::Failure;

/// The host's side of a program that is not run: functions are described, and nothing is called.
struct Described {
    discovery: Arc<Discovery>,
    broker: Arc<Broker>,
    language: Language,
}

impl HostCalls for Described {
    fn call(&self, call: HostCall) -> BoxFuture<'_, Result<HostValue, CallFailure>> {
        Box::pin(async move {
            match call {
                HostCall::Describe { server, names } => json(&self.discovery.describe(&server, &names, self.language)?),
                HostCall::Check { calls } => json(&written_faults(&self.broker, self.language, &calls)),
                HostCall::Servers {} => json(&self.discovery.server_names()),
                HostCall::Call { .. }
                | HostCall::Fetch { .. }
                | HostCall::Search { .. }
                | HostCall::Save { .. }
                | HostCall::Load { .. }
                | HostCall::Ask { .. } => Err(Failure::internal("nothing is called by a program that is only checked").into()),
            }
        })
    }

    fn servers(&self) -> Option<Vec<String>> {
        Some(self.discovery.server_names())
    }
}

impl App {
    /// What a program's text says about itself, if the program may start.
    ///
    /// # Errors
    ///
    /// A failure of type `syntax` or `argument`, or of the type that a run would have.
    pub(super) async fn checked_outline(&self, language: Language, source: &str) -> Result<Outline, Failure> {
        let calls = Described {
            discovery: Arc::clone(&self.discovery),
            broker: Arc::clone(&self.broker),
            language,
        };
        let outline = self.sandbox.checked_outline(language, source, Arc::new(calls)).await;
        let outline = outline.map_err(|error| whole(&error))?;
        match self.runner.checkers.fault(language, source, self.discovery.catalog()).await {
            Some(fault) => Err(whole(&fault)),
            None => Ok(outline),
        }
    }
}

/// An error of a program with all that was found.
fn whole(error: &ProgramError) -> Failure {
    let at = |line: Option<u32>, message: &str| line.map_or_else(|| message.to_owned(), |line| format!("line {line}: {message}"));
    let others = error.also.iter().map(|finding| at(finding.line, &finding.message));
    let all: Vec<String> = std::iter::once(at(error.line, &error.message)).chain(others).collect();
    Failure::new(error.kind.as_str(), all.join("; ")).with_hint(error.hint.clone().unwrap_or_default())
}
