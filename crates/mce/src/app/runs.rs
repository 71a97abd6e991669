//! Runs of programs: once, to be kept, and again with other values.

use std::time::SystemTime;

use mce_broker::{CallError, CallErrorKind, NewRecipe};
use mce_sandbox::{Content, ErrorKind, Inputs, Language, ProgramError};

use super::answer::RunAnswer;
use super::behalf::Behalf;
use super::model::ModelUse;
use super::runner::{Ran, ToRun, refusal};
use super::{App, blocks};

/// A finished run: the answer's JSON and further content blocks.
pub(crate) struct RunReport {
    /// That of the program.
    pub(crate) language: Language,
    pub(crate) answer: RunAnswer,
    pub(crate) contents: Vec<Content>,
    /// The value in another notation than JSON.
    pub(crate) text: Option<String>,
    /// How much of the client's language model was used.
    pub(crate) model: ModelUse,
}

impl RunReport {
    /// Of a program that was not started.
    fn refused(language: Language, error: ProgramError) -> Self {
        Self {
            language,
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
        let mut report = self.run_program(language, source.clone(), Inputs::new(), behalf).await;
        if report.answer.success {
            self.keep(&mut report.answer, language, &source, description);
        }
        report
    }

    /// Runs a kept program with other values for its variables.
    pub(crate) async fn run_cached(&self, cache_id: &str, params: Inputs, behalf: &Behalf) -> RunReport {
        let recipe = match self.recipes.get(cache_id, SystemTime::now()) {
            Ok(recipe) => recipe,
            Err(error) => {
                let mut refused = ProgramError::new(ErrorKind::Argument, error.to_string());
                let unknown = CallError::new(CallErrorKind::Argument, error.to_string());
                self.broker.record_refusal(&behalf.run(None), "run_cached_code", &unknown);
                refused.hint = error.hint().map(str::to_owned);
                return RunReport::refused(Language::Python, refused);
            }
        };
        let language = language_named(&recipe.language);
        let hint = "look at them with `get_functions`, and run the whole program with `execute_code`";
        if let Err(unusable) = self.runner.check_used(&recipe.functions, language, hint) {
            self.broker.record_refusal(&behalf.run(None), "run_cached_code", &unusable);
            let is_policy = unusable.kind == CallErrorKind::Policy;
            let mut refused = ProgramError::new(
                if is_policy { ErrorKind::Policy } else { ErrorKind::Argument },
                unusable.to_string(),
            );
            refused.hint = unusable.hint().map(str::to_owned);
            return RunReport::refused(language, refused);
        }
        let mut report = self.run_with_all(language, recipe.source, params, behalf).await;
        report.answer.cache_id = report.answer.success.then(|| cache_id.to_owned());
        report
    }

    /// Runs a program once. It is on record, also if it is refused before it starts.
    pub(crate) async fn run_program(&self, language: Language, source: String, params: Inputs, behalf: &Behalf) -> RunReport {
        let program = ToRun {
            language,
            source,
            params,
            has_all_params: false,
            leave: Ok(()),
        };
        self.run_to_run(program, behalf).await
    }

    /// The same of a recipe: variables that its text gives no value must be given one.
    pub(super) async fn run_with_all(&self, language: Language, source: String, params: Inputs, behalf: &Behalf) -> RunReport {
        let program = ToRun {
            language,
            source,
            params,
            has_all_params: true,
            leave: Ok(()),
        };
        self.run_to_run(program, behalf).await
    }

    async fn run_to_run(&self, program: ToRun, behalf: &Behalf) -> RunReport {
        let language = program.language;
        let program = ToRun {
            leave: self.check_project(behalf).await.map_err(refusal),
            ..program
        };
        let Ran {
            mut outcome,
            groups,
            model,
        } = self.runner.run(program, behalf).await;
        let mut contents = std::mem::take(&mut outcome.contents);
        outcome.result = outcome.result.map(|data| blocks::take_blocks(data, &mut contents));
        RunReport {
            language,
            answer: RunAnswer::new(outcome, groups),
            contents,
            text: None,
            model,
        }
    }

    fn keep(&self, answer: &mut RunAnswer, language: Language, source: &str, description: &str) {
        let called = answer.calls.iter().map(|group| group.function.as_str());
        let functions = called.filter_map(|name| Some((name.to_owned(), self.discovery.signature(name, language).ok()?)));
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

/// A language by the word that is kept.
pub(super) fn language_named(word: &str) -> Language {
    if word == Language::TypeScript.as_str() {
        Language::TypeScript
    } else {
        Language::Python
    }
}
