//! What runs programs: those of clients, each in a place of its own, and recipes that these call, in the place of the caller.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicU32;
use std::time::Duration;

use mce_broker::{Broker, CallError, CallErrorKind, Results, RunEnd, SavedRecipes};
use mce_catalog::lookup::LookupError;
use mce_catalog::visibility::Hiding;
use mce_config::Settings;
use mce_sandbox::{ErrorKind, Inputs, Language, Outcome, Program, ProgramError, Sandbox};
use tokio::sync::Mutex;

use super::Behalf;
use super::addresses::Addresses;
use super::answer::CallGroup;
use super::checkers::Checkers;
use super::discovery::Discovery;
use super::model::{Model, ModelUse};
use super::run_calls::{RunCalls, Whole};
use crate::failure::Failure;

/// Changed functions that an error tells.
const CHANGES_TOLD: usize = 3;

/// What programs need to run.
pub(super) struct Runner {
    pub(super) settings: Arc<Settings>,
    pub(super) broker: Arc<Broker>,
    pub(super) discovery: Arc<Discovery>,
    pub(super) results: Arc<Results>,
    pub(super) sandbox: Arc<Sandbox>,
    pub(super) saved: SavedRecipes,
    pub(super) checkers: Checkers,
}

/// A program to run.
pub(super) struct ToRun {
    pub(super) language: Language,
    pub(super) source: String,
    pub(super) params: Inputs,
    /// Variables that the text gives no value must be among them.
    pub(super) has_all_params: bool,
    /// Whether it may be run, as far as that is known already.
    pub(super) leave: Result<(), ProgramError>,
}

/// How it ended.
pub(super) struct Ran {
    pub(super) outcome: Outcome,
    pub(super) groups: Vec<CallGroup>,
    pub(super) model: ModelUse,
}

impl Runner {
    /// Runs a program once. It is on record, also if it is refused before it starts.
    pub(super) async fn run(self: &Arc<Self>, program: ToRun, behalf: &Behalf) -> Ran {
        self.run_as(program, behalf, Vec::new()).await
    }

    /// As [`Runner::run`], for the recipe that the last of `within` names.
    pub(super) async fn run_as(self: &Arc<Self>, program: ToRun, behalf: &Behalf, within: Vec<String>) -> Ran {
        let calls = RunCalls {
            runner: Arc::clone(self),
            behalf: behalf.clone(),
            language: program.language,
            run: behalf.run(Some(&program.source)),
            groups: Arc::default(),
            addresses: Addresses::default(),
            printed: std::sync::Mutex::default(),
            whole: Arc::new(Whole {
                model: Model::new(Arc::clone(&behalf.client), &self.settings.client, behalf.model),
                calls: AtomicU32::new(0),
            }),
            within,
            is_outermost: true,
            turn: Mutex::default(),
        };
        self.run_with(program, Arc::new(calls)).await
    }

    pub(super) async fn run_with(&self, program: ToRun, calls: Arc<RunCalls>) -> Ran {
        let record = self.broker.begin_run(&calls.run, program.language.as_str());
        let mut leave = program.leave;
        if leave.is_ok() {
            leave = self.may_start(&calls, program.language, &program.source).await;
        }
        let outcome = match leave {
            Ok(()) => {
                let whole = Program {
                    language: program.language,
                    source: program.source,
                    params: program.params,
                    has_all_params: program.has_all_params,
                    wall: calls.behalf.narrowed.wall,
                };
                let host_calls = Arc::<RunCalls>::clone(&calls);
                if calls.is_outermost {
                    self.sandbox.run(whole, host_calls).await
                } else {
                    self.sandbox.run_within(whole, host_calls).await
                }
            }
            Err(error) => Outcome {
                result: Err(error),
                logs: String::new(),
                contents: Vec::new(),
                elapsed: Duration::ZERO,
            },
        };
        let groups = calls.groups.so_far();
        record.end(RunEnd {
            error: outcome.result.as_ref().err().map(|error| error.kind.as_str()),
            calls: groups.iter().map(|group| group.count).sum(),
            failed_calls: groups.iter().map(|group| group.failed).sum(),
        });
        Ran {
            outcome,
            groups,
            model: calls.whole.model.used(),
        }
    }

    /// Whether the text passes the checkers, and the client has not run too much.
    async fn may_start(&self, calls: &RunCalls, language: Language, source: &str) -> Result<(), ProgramError> {
        if let Some(fault) = self.checkers.fault(language, source, self.discovery.catalog()).await {
            return Err(fault);
        }
        if !calls.is_outermost {
            return Ok(());
        }
        self.broker.start_run(&calls.run).await.map_err(|error| ProgramError {
            hint: error.hint().map(str::to_owned),
            ..ProgramError::new(ErrorKind::Busy, error.to_string())
        })
    }

    /// Whether the functions that a program called may be used, and are what they were.
    ///
    /// # Errors
    ///
    /// `Policy` for what is hidden; `Argument`, with this hint, for what is another now.
    pub(super) fn check_used(&self, functions: &BTreeMap<String, String>, language: Language, hint: &str) -> Result<(), CallError> {
        let (mut hidden, mut changed) = (Vec::new(), Vec::new());
        for (name, was) in functions {
            match self.discovery.signature(name, language) {
                Ok(is) if is == *was => {}
                Ok(is) => changed.push(format!("`{name}` was `{was}` and is `{is}`")),
                Err(LookupError::Hidden {
                    hiding: Hiding::ReadOnly,
                    effect,
                    ..
                }) if self.settings.policy.is_read_only => {
                    let effect = effect.as_str();
                    hidden.push(format!("`{name}` is hidden: everything is read-only, and it is `{effect}`"));
                }
                Err(error @ (LookupError::Hidden { .. } | LookupError::Misfit { .. })) => hidden.push(error.to_string()),
                Err(_) => changed.push(format!("`{name}` is not there any more")),
            }
        }
        let told = |told: &[String]| told.iter().take(CHANGES_TOLD).cloned().collect::<Vec<_>>().join("; ");
        if !hidden.is_empty() {
            let message = format!("functions of this program may not be used: {}", told(&hidden));
            let hint = "only a person can change that, in the configuration";
            return Err(CallError::new(CallErrorKind::Policy, message).with_hint(hint));
        }
        if !changed.is_empty() {
            let message = format!("functions of this program have changed: {}", told(&changed));
            return Err(CallError::new(CallErrorKind::Argument, message).with_hint(hint));
        }
        Ok(())
    }
}

/// A failure as a reason not to run a program.
pub(super) fn refusal(failure: Failure) -> ProgramError {
    ProgramError {
        hint: failure.hint,
        ..ProgramError::new(ErrorKind::Policy, failure.message)
    }
}
