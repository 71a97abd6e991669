//! What is done and recorded for a run besides calls: its beginning and end, questions to its client, requests that are passed on.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use crate::audit::{Recorded, RunRecord};
use crate::call::Broker;
use crate::call_error::CallError;
use crate::run_context::RunContext;
use crate::tool::upstream_failure;
use crate::upstream::{ClientRequests, Passed, UpstreamError};

impl Broker {
    /// Writes to the audit log that a program of this run starts. Dropped without an end, it says that nobody waited for that.
    pub fn begin_run(&self, run: &RunContext, language: &str) -> RunRecord<'_> {
        self.audit.begin_run(run, language)
    }

    /// Writes to the audit log that something was refused before it became a call or a run.
    pub fn record_refusal(&self, run: &RunContext, reference: &str, error: &CallError) {
        self.audit.refuse(run, reference, error, None);
    }

    /// The client, with a record of each question that it is asked for this run.
    pub fn recorded_client(&self, run: &RunContext, client: Arc<dyn ClientRequests>) -> Arc<dyn ClientRequests> {
        Arc::new(Recorded {
            audit: Arc::clone(&self.audit),
            run: run.clone(),
            client,
        })
    }

    /// The result of a request that is passed on to an MCP server, as that wrote it. It is on record.
    ///
    /// # Errors
    ///
    /// As [`Upstreams::pass`].
    pub async fn pass(&self, run: &RunContext, server: &str, passed: Passed, params: Map<String, Value>) -> Result<Value, UpstreamError> {
        let begun = self
            .audit
            .begin_other(run, server, passed.method(), Some(&json!(params).to_string()));
        let outcome = self.upstreams.pass(server, passed, params).await;
        let error = outcome.as_ref().err().map(|error| self.without_secrets(upstream_failure(error)));
        begun.end(match (&outcome, &error) {
            (Ok(result), None) => Ok((None, result.to_string().len())),
            (Err(_), Some(error)) => Err(error),
            _ => Ok((None, 0)),
        });
        outcome
    }

    /// Whether a client may start a program now.
    ///
    /// # Errors
    ///
    /// `Busy`, with the time after which it may.
    pub async fn start_run(&self, run: &RunContext) -> Result<(), CallError> {
        self.pace.start_run(run).await
    }
}
