//! Runs of programs: once, to be kept, and again with other values.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use mce_broker::{CallError, CallErrorKind, NewRecipe, RunContext, RunEnd};
use mce_sandbox::{Content, ErrorKind, Language, Outcome, Program, ProgramError};
use serde_json::{Map, Value};

use super::addresses::Addresses;
use super::answer::RunAnswer;
use super::behalf::Behalf;
use super::model::{Model, ModelUse};
use super::run_calls::RunCalls;
use super::{App, blocks};

/// Changed functions that an error tells.
const CHANGES_TOLD: usize = 3;

/// A finished run: the answer's JSON and further content blocks.
pub(crate) struct RunReport {
    pub(crate) answer: RunAnswer,
    pub(crate) contents: Vec<Content>,
    /// The value in another notation than JSON.
    pub(crate) text: Option<String>,
    /// How much of the client's language model was used.
    pub(crate) model: ModelUse,
}

impl RunReport {
    /// Of a program that was not started.
    fn refused(error: ProgramError) -> Self {
        Self {
            answer: RunAnswer::refused(error),
            contents: Vec::new(),
            text: None,
            model: ModelUse::default(),
        }
    }
}

impl App {
    /// Runs a program and keeps it for `run_cached_code` if it worked.
    pub(crate) async fn execute(&self, language: Language, source: String, description: &str, behalf: &Behalf) -> RunReport {
        let mut report = self.run_program(language, source.clone(), Map::new(), behalf).await;
        if report.answer.success {
            self.keep(&mut report.answer, language, &source, description);
        }
        report
    }

    /// Runs a kept program with other values for its variables.
    pub(crate) async fn run_cached(&self, cache_id: &str, params: Map<String, Value>, behalf: &Behalf) -> RunReport {
        let recipe = match self.recipes.get(cache_id, SystemTime::now()) {
            Ok(recipe) => recipe,
            Err(error) => {
                let mut refused = ProgramError::new(ErrorKind::Argument, error.to_string());
                let unknown = CallError::new(CallErrorKind::Argument, error.to_string());
                self.broker.record_refusal(&behalf.run(None), "run_cached_code", &unknown);
                refused.hint = error.hint().map(str::to_owned);
                return RunReport::refused(refused);
            }
        };
        let language = if recipe.language == Language::TypeScript.as_str() {
            Language::TypeScript
        } else {
            Language::Python
        };
        if let Some(error) = self.changed_since(&recipe.functions, language) {
            let changed = CallError::new(CallErrorKind::Argument, error.message.clone());
            self.broker.record_refusal(&behalf.run(None), "run_cached_code", &changed);
            return RunReport::refused(error);
        }
        let mut report = self.run_program(language, recipe.source, params, behalf).await;
        report.answer.cache_id = report.answer.success.then(|| cache_id.to_owned());
        report
    }

    /// What is another now of the functions that a program called.
    fn changed_since(&self, functions: &BTreeMap<String, String>, language: Language) -> Option<ProgramError> {
        let changes = functions
            .iter()
            .filter_map(|(name, was)| match self.discovery.signature(name, language) {
                Some(is) if is == *was => None,
                Some(is) => Some(format!("`{name}` was `{was}` and is `{is}`")),
                None => Some(format!("`{name}` is not there any more")),
            });
        let changes: Vec<String> = changes.take(CHANGES_TOLD).collect();
        if changes.is_empty() {
            return None;
        }
        let told = format!("functions of this program have changed: {}", changes.join("; "));
        let mut error = ProgramError::new(ErrorKind::Argument, told);
        error.hint = Some("look at them with `get_functions`, and run the whole program with `execute_code`".to_owned());
        Some(error)
    }

    /// Runs a program once. It is on record, also if it is refused before it starts.
    pub(crate) async fn run_program(&self, language: Language, source: String, params: Map<String, Value>, behalf: &Behalf) -> RunReport {
        let calls = Arc::new(RunCalls {
            broker: Arc::clone(&self.broker),
            discovery: Arc::clone(&self.discovery),
            results: Arc::clone(&self.results),
            model: Model::new(Arc::clone(&behalf.client), &self.settings.client, behalf.model),
            client: Arc::clone(&behalf.client),
            language,
            run: behalf.run(Some(&source)),
            groups: Mutex::default(),
            addresses: Addresses::default(),
            narrowed: behalf.narrowed.clone(),
        });
        let record = self.broker.begin_run(&calls.run, language.as_str());
        let mut outcome = match self.may_start(&calls.run, language, &source, behalf).await {
            Ok(()) => {
                let program = Program {
                    language,
                    source,
                    params,
                    wall: behalf.narrowed.wall,
                };
                self.sandbox.run(program, Arc::<RunCalls>::clone(&calls)).await
            }
            Err(error) => Outcome {
                result: Err(error),
                logs: String::new(),
                contents: Vec::new(),
                elapsed: Duration::ZERO,
            },
        };
        let groups = calls.groups();
        record.end(RunEnd {
            error: outcome.result.as_ref().err().map(|error| error.kind.as_str()),
            calls: groups.iter().map(|group| group.count).sum(),
            failed_calls: groups.iter().map(|group| group.failed).sum(),
        });
        let mut contents = std::mem::take(&mut outcome.contents);
        outcome.result = outcome.result.map(|data| blocks::take_blocks(data, &mut contents));
        RunReport {
            answer: RunAnswer::new(outcome, groups),
            contents,
            text: None,
            model: calls.model.used(),
        }
    }

    /// Whether the project may be served, the text passes the checkers, and the client has not run too much.
    async fn may_start(&self, run: &RunContext, language: Language, source: &str, behalf: &Behalf) -> Result<(), ProgramError> {
        self.check_project(behalf).await.map_err(|failure| ProgramError {
            hint: failure.hint,
            ..ProgramError::new(ErrorKind::Policy, failure.message)
        })?;
        if let Some(fault) = self.checkers.fault(language, source, self.discovery.catalog()).await {
            return Err(fault);
        }
        self.broker.start_run(run).await.map_err(|error| ProgramError {
            hint: error.hint().map(str::to_owned),
            ..ProgramError::new(ErrorKind::Busy, error.to_string())
        })
    }

    fn keep(&self, answer: &mut RunAnswer, language: Language, source: &str, description: &str) {
        let called = answer.calls.iter().map(|group| group.function.as_str());
        let functions = called.filter_map(|name| Some((name.to_owned(), self.discovery.signature(name, language)?)));
        let recipe = NewRecipe {
            language: language.as_str(),
            source,
            description,
            functions: &functions.collect(),
        };
        // The run has happened: a recipe that cannot be kept must not make it look as if it had failed.
        match self.recipes.save(recipe, SystemTime::now()) {
            Ok(id) => {
                answer.next = Some(String::from(
                    "same task, other values: run_cached_code(cache_id, params={top-level variable: value})",
                ));
                answer.cache_id = Some(id);
            }
            Err(mce_broker::RecipeError::Disabled) => {}
            Err(error) => tracing::warn!("the program was not kept: {error}"),
        }
    }
}
