//! Recipes as a person looks at them, keeps them and throws them away. Nothing that a model can call leads here.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::SystemTime;

use mce_broker::{Recipe, RecipeError, RecipeNotes, SavedRecipe, SavedRecipeError, SavedRecipes};
use mce_catalog::names::function_named;
use mce_config::RECIPES;
use mce_sandbox::{Input, Inputs, Language, Outline};
use serde::Serialize;
use serde_json::Value;

use super::compile::{CompileOptions, Sources};
use super::recipe_tools::{about, language_of};
use super::report::{Counts, Outcome};
use super::runs::language_named;
use super::{App, Behalf, IN_BACKGROUND, RunReport, run_calls};
use crate::failure::Failure;

/// Characters of an id that are enough if only one begins with them.
const MIN_ID: usize = 6;

/// A recipe, saved or kept for a while.
#[derive(Debug, Serialize)]
pub(crate) struct ListedRecipe {
    /// Of a saved one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) name: Option<String>,
    /// Of another one: its `cache_id`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) id: Option<String>,
    pub(crate) language: String,
    pub(crate) description: String,
    /// How often it was run again; not counted for saved ones.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) uses: Option<u64>,
    /// Since it was last written or kept.
    pub(crate) age_seconds: u64,
    pub(crate) params: Vec<ListedInput>,
    /// Of a saved one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) file: Option<PathBuf>,
    /// Why it cannot be run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) problem: Option<String>,
}

/// A variable whose value can be replaced.
#[derive(Debug, Serialize)]
pub(crate) struct ListedInput {
    pub(crate) name: String,
    pub(crate) required: bool,
    /// JSON Schema, with the default.
    pub(crate) schema: Value,
}

/// A recipe with its text.
#[derive(Debug, Serialize)]
pub(crate) struct ShownRecipe {
    #[serde(flatten)]
    pub(crate) listed: ListedRecipe,
    /// Functions that it uses, with their signatures as they were.
    pub(crate) functions: BTreeMap<String, String>,
    pub(crate) source: String,
}

/// What becomes a saved recipe.
pub(crate) enum SaveFrom {
    /// What is kept under this `cache_id`.
    Kept(String),
    /// A text.
    Text(Language, String),
    /// The recipe that is saved under this name: the signatures of what it uses are taken as they are now.
    Itself,
}

/// A recipe by its `cache_id` or its name.
enum Found {
    Kept(Box<Recipe>),
    Saved(Box<SavedRecipe>),
}

impl App {
    /// All recipes: saved ones by name, then others, the last used first.
    ///
    /// # Errors
    ///
    /// A failure if the store of recipes cannot be read.
    pub(crate) async fn list_recipes(&self) -> Result<Vec<ListedRecipe>, Failure> {
        let mut listed = Vec::new();
        for recipe in self.saved().all() {
            match recipe {
                Ok(recipe) => listed.push(self.listed(&Found::Saved(Box::new(recipe))).await),
                Err(error) => tracing::warn!("{}", super::chain(&error)),
            }
        }
        if self.settings.recipes.is_enabled {
            for recipe in self.recipes.list(SystemTime::now()).map_err(|error| store_failure(&error))? {
                listed.push(self.listed(&Found::Kept(Box::new(recipe))).await);
            }
        }
        Ok(listed)
    }

    /// One recipe with its text.
    ///
    /// # Errors
    ///
    /// A failure of type `argument` if there is none.
    pub(crate) async fn show_recipe(&self, name: &str) -> Result<ShownRecipe, Failure> {
        let found = self.find(name)?;
        let listed = self.listed(&found).await;
        Ok(match found {
            Found::Kept(recipe) => ShownRecipe {
                listed,
                functions: recipe.functions,
                source: recipe.source,
            },
            Found::Saved(recipe) => ShownRecipe {
                listed,
                functions: recipe.notes.uses,
                source: recipe.source,
            },
        })
    }

    /// Saves a recipe and reads it into the catalog. Gives its file, and why it is no function, if it is none.
    ///
    /// # Errors
    ///
    /// A failure of type `argument` or `syntax` if it cannot be saved like this.
    pub(crate) async fn save_recipe(&self, name: &str, from: SaveFrom, replaces: bool) -> Result<(PathBuf, Option<String>), Failure> {
        if self.settings.recipe_server.is_none() {
            let told = format!("a configured server has the name `{RECIPES}`, by which saved recipes are called");
            return Err(Failure::new("config", told).with_hint("give the server another name"));
        }
        if !matches!(from, SaveFrom::Itself) {
            self.check_name(name)?;
        }
        let (language, text, description, called, replaces) = match from {
            SaveFrom::Kept(id) => {
                let kept = self.kept(&id)?;
                (
                    language_named(&kept.language),
                    kept.source,
                    kept.description,
                    kept.functions,
                    replaces,
                )
            }
            SaveFrom::Text(language, text) => (language, text, String::new(), BTreeMap::new(), replaces),
            SaveFrom::Itself => {
                let recipe = self.saved().get(name).map_err(|error| saved_failure(&error))?;
                (
                    language_of(&recipe),
                    recipe.source,
                    recipe.notes.description,
                    recipe.notes.uses,
                    true,
                )
            }
        };
        let outline = self.checked_outline(language, &text).await?;
        let named = called.into_keys().chain(outline.functions);
        let named = named.filter_map(|reference| Some(self.discovery.named(&reference)?.0));
        let uses = named.filter_map(|name| Some((name.clone(), self.discovery.signature(&name, language).ok()?)));
        let notes = RecipeNotes {
            description,
            uses: uses.collect(),
        };
        let saved = self.saved().save(name, (language.as_str(), &text), &notes, replaces);
        let file = saved.map_err(|error| saved_failure(&error))?;
        let counts = self.read_recipes().await?;
        let problem = counts.skipped.into_iter().find(|skipped| skipped.operation == name);
        Ok((file, problem.map(|problem| problem.reason)))
    }

    /// Removes a saved recipe, or forgets one that was kept. Says what is gone.
    ///
    /// # Errors
    ///
    /// A failure of type `argument` if there is none.
    pub(crate) async fn remove_recipe(&self, name: &str) -> Result<String, Failure> {
        match self.saved().remove(name) {
            Ok(file) => {
                self.read_recipes().await?;
                Ok(file.display().to_string())
            }
            Err(SavedRecipeError::Unknown { .. }) => {
                let id = self.kept(name)?.id;
                self.recipes.remove(&id).map_err(|error| store_failure(&error))?;
                Ok(id)
            }
            Err(error) => Err(saved_failure(&error)),
        }
    }

    /// Runs a recipe with other values for its variables.
    ///
    /// # Errors
    ///
    /// A failure of type `argument` if there is none, or what it uses has changed.
    pub(crate) async fn run_recipe(&self, name: &str, params: Inputs, behalf: &Behalf) -> Result<RunReport, Failure> {
        let recipe = match self.find(name)? {
            Found::Kept(kept) => return Ok(self.run_cached(&kept.id, params, behalf).await),
            Found::Saved(recipe) => recipe,
        };
        let language = language_of(&recipe);
        let hint = format!("if the recipe is right still, `mce recipes save {name}` takes them as they are");
        let used = self.runner.check_used(&recipe.notes.uses, language, &hint);
        used.map_err(|error| run_calls::failure_of(&error))?;
        Ok(self.run_with_all(language, recipe.source, params, behalf).await)
    }

    fn saved(&self) -> &SavedRecipes {
        &self.runner.saved
    }

    /// The program that is kept under this id, or under the only one that begins like this.
    fn kept(&self, id: &str) -> Result<Recipe, Failure> {
        let listed = self.recipes.list(SystemTime::now()).map_err(|error| store_failure(&error))?;
        let mut found: Vec<Recipe> = listed.into_iter().filter(|recipe| recipe.id.starts_with(id)).collect();
        let shown: String = id.chars().take(100).collect();
        match found.len() {
            0 => Err(Failure::argument(RecipeError::Unknown { id: shown }.to_string()).with_hint("`mce recipes list` shows all")),
            _ if id.len() < MIN_ID => {
                let told = format!("`{shown}` is too short for an id");
                Err(Failure::argument(told).with_hint(format!("give at least {MIN_ID} characters; `mce recipes list` shows all")))
            }
            1 => Ok(found.remove(0)),
            _ => {
                let ids: Vec<String> = found.iter().map(|recipe| format!("`{}`", recipe.id)).collect();
                let told = format!("several ids begin with `{shown}`: {}", ids.join(", "));
                Err(Failure::argument(told).with_hint("give more of the one that is meant"))
            }
        }
    }

    /// Refuses names that are no function's in both languages, with one that is and is free.
    fn check_name(&self, name: &str) -> Result<(), Failure> {
        let is_plain = |name: &str| {
            let made = function_named(name);
            made.python == name && !made.typescript.ends_with('_') && name.starts_with(|first: char| first.is_ascii_lowercase())
        };
        if is_plain(name) {
            return Ok(());
        }
        let made = function_named(name).python;
        let why = match made.strip_suffix('_') {
            Some(plain) if plain == name => "it is a word of Python, or one that programs need",
            Some(_) | None if made == name => "it is a word of TypeScript, or one that programs need",
            Some(_) | None => "it is no plain name",
        };
        let told = format!(
            "`{}` cannot be the name of a recipe: {why}",
            name.chars().take(100).collect::<String>()
        );
        let free = |name: &String| is_plain(name) && matches!(self.saved().get(name), Err(SavedRecipeError::Unknown { .. }));
        let word = made.trim_matches('_');
        let others = (2..100).map(|number| format!("{word}_recipe_{number}"));
        let mut names = [word.to_owned(), format!("{word}_recipe")].into_iter().chain(others);
        let hint = names.find(free).map(|name| format!("`{name}` is free"));
        Err(Failure::argument(told).with_hint(hint.unwrap_or_default()))
    }

    fn find(&self, name: &str) -> Result<Found, Failure> {
        match self.saved().get(name) {
            Ok(recipe) => Ok(Found::Saved(Box::new(recipe))),
            Err(SavedRecipeError::Unknown { .. }) => self.kept(name).map(|recipe| Found::Kept(Box::new(recipe))),
            Err(error) => Err(saved_failure(&error)),
        }
    }

    /// Reads the saved recipes into the catalog.
    async fn read_recipes(&self) -> Result<Counts, Failure> {
        let options = CompileOptions {
            only: Some(RECIPES),
            sources: Sources::Documents,
            ..IN_BACKGROUND
        };
        let reports = self.compiler.compile(options, &|_| {}).await?;
        match reports.into_iter().next().map(|report| report.outcome) {
            Some(Outcome::Compiled(counts)) => Ok(counts),
            Some(Outcome::Refused(refusal)) => Err(refusal.0),
            None => Err(Failure::internal("the saved recipes were not read")),
        }
    }

    async fn listed(&self, found: &Found) -> ListedRecipe {
        let (language, source) = match found {
            Found::Kept(recipe) => (language_named(&recipe.language), &recipe.source),
            Found::Saved(recipe) => (language_of(recipe), &recipe.source),
        };
        let (outline, problem) = match self.sandbox.outline(language, source).await {
            Ok(outline) => (outline, None),
            Err(error) => (Outline::default(), Some(error.message)),
        };
        let since = |time: SystemTime| SystemTime::now().duration_since(time).map_or(0, |age| age.as_secs());
        let listed = ListedRecipe {
            name: None,
            id: None,
            language: language.as_str().to_owned(),
            description: String::new(),
            uses: None,
            age_seconds: 0,
            problem,
            file: None,
            params: outline.inputs.iter().cloned().map(listed_input).collect(),
        };
        match found {
            Found::Kept(recipe) => ListedRecipe {
                id: Some(recipe.id.clone()),
                description: recipe.description.clone(),
                uses: Some(recipe.uses),
                age_seconds: since(recipe.created),
                ..listed
            },
            Found::Saved(recipe) => ListedRecipe {
                name: Some(recipe.name.clone()),
                description: about(recipe, &outline),
                age_seconds: since(recipe.changed),
                file: Some(recipe.file.clone()),
                problem: listed.problem.or_else(|| {
                    let used = self.runner.check_used(&recipe.notes.uses, language, "");
                    used.err().map(|error| error.to_string())
                }),
                ..listed
            },
        }
    }
}

fn listed_input(input: Input) -> ListedInput {
    let Input { name, schema, required } = input;
    ListedInput { name, required, schema }
}

fn saved_failure(error: &SavedRecipeError) -> Failure {
    Failure::argument(super::chain(error)).with_hint(error.hint().unwrap_or_default())
}

fn store_failure(error: &RecipeError) -> Failure {
    Failure::internal(super::chain(error))
}
