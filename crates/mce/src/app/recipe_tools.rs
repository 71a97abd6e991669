//! Saved recipes, read into the catalog: each becomes a function whose arguments are its inputs, in the form in which MCP servers list
//! their tools. The texts are read in the sandbox.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

use mce_broker::{SavedRecipe, SavedRecipes};
use mce_catalog::function::Effect;
use mce_catalog::openapi::{self, Skipped};
use mce_catalog::store::Source;
use mce_config::ServerSettings;
use mce_sandbox::{Input, Language, Outline};
use serde_json::{Map, Value, json};

use super::answer::millis;
use super::compile::{COMPILER, CompileOptions, Compiler, record, replace};
use super::documents::sha256;
use super::report::{ChangeLists, Counts};
use super::runs::language_named;
use super::views::location_of;
use crate::failure::Failure;

/// A recipe, and what its text says.
struct Read {
    recipe: SavedRecipe,
    outline: Outline,
    effect: Effect,
}

impl Compiler {
    /// The server of saved recipes, if there are any, or were.
    pub(super) fn recipe_server(&self) -> Option<&ServerSettings> {
        let server = self.settings.recipe_server.as_ref()?;
        let is_known = || {
            self.store
                .document(&location_of(server))
                .is_ok_and(|record| record.is_some_and(|record| record.operations > 0))
        };
        (!self.saved().all().is_empty() || is_known()).then_some(server)
    }

    fn saved(&self) -> SavedRecipes {
        SavedRecipes::new(self.settings.recipes.folder.clone())
    }

    /// Reads all recipes, if one of them is another than before, or uses functions that are.
    pub(super) async fn compile_recipes(&self, server: &ServerSettings, options: CompileOptions<'_>) -> Result<Counts, Failure> {
        let start = Instant::now();
        let key = location_of(server);
        let mut skipped = Vec::new();
        let mut recipes = Vec::new();
        for recipe in self.saved().all() {
            match recipe {
                Ok(recipe) => recipes.push(recipe),
                Err(error) => skipped.push(skip("", super::chain(&error))),
            }
        }
        let sources = self.sources(&recipes);
        let known = self.store.document(&key).map_err(Failure::internal)?;
        let known = known.filter(|record| record.compiler == COMPILER);
        if let Some(record) = known.as_ref().filter(|record| record.sources == sources && skipped.is_empty()) {
            return self.keep_tools(server, record, Vec::new());
        }
        let read = self.read_all(recipes, &mut skipped).await;
        let mut document = openapi::read_tools(read.iter().map(tool).collect());
        "Saved recipes".clone_into(&mut document.title);
        "Programs that a person has saved".clone_into(&mut document.description);
        let (good, bad) = std::mem::take(&mut document.functions)
            .into_iter()
            .partition(|function| function.python == function.operation);
        document.functions = good;
        let taken = "its name is a word of Python or TypeScript";
        skipped.extend(
            bad.iter()
                .map(|function: &mce_catalog::function::Function| skip(&function.operation, taken.to_owned())),
        );
        document.operations = document.functions.len() + skipped.len();
        document.skipped = skipped;
        let changes = known.map(|_| self.changes(&key, &document)).transpose()?;
        let record = record(&key, sources, &document, millis(start.elapsed()));
        if !options.is_dry_run {
            replace(&self.store, &record, &document)?;
        }
        let mut counts = Counts::new(record, document.functions.len());
        counts.changes = changes.map(ChangeLists::from);
        Ok(counts)
    }

    /// The files, and what the functions do that they are known to use.
    fn sources(&self, recipes: &[SavedRecipe]) -> Vec<Source> {
        let source = |location: String, text: &str| Source {
            location,
            sha256: sha256(text.as_bytes()),
            stamp: None,
        };
        let used: BTreeSet<&String> = recipes.iter().flat_map(|recipe| recipe.notes.uses.keys()).collect();
        let effects: Vec<_> = used
            .into_iter()
            .map(|name| format!("{name} {:?}", self.discovery.named(name)))
            .collect();
        let files = recipes
            .iter()
            .map(|recipe| source(recipe.file.to_string_lossy().into_owned(), &recipe.source));
        files.chain([source("effects".to_owned(), &effects.join("\n"))]).collect()
    }

    async fn read_all(&self, recipes: Vec<SavedRecipe>, skipped: &mut Vec<Skipped>) -> Vec<Read> {
        let mut read = Vec::new();
        for recipe in recipes {
            match self.sandbox.outline(language_of(&recipe), &recipe.source).await {
                Ok(outline) => read.push(Read {
                    effect: self.own_effect(&recipe, &outline),
                    recipe,
                    outline,
                }),
                Err(error) => {
                    let place = error.line.map_or_else(String::new, |line| format!("line {line}: "));
                    skipped.push(skip(&recipe.name, format!("{place}{}", error.message)));
                }
            }
        }
        // A recipe does what those do that it calls.
        for _ in 0..read.len() {
            let effects: BTreeMap<String, Effect> = read.iter().map(|read| (plain(&read.recipe.name), read.effect)).collect();
            for one in &mut read {
                let used = one.outline.functions.iter().chain(one.recipe.notes.uses.keys());
                let called = used.filter_map(|name| name.strip_prefix("recipes."));
                let effect = called
                    .map(|name| effects.get(&plain(name)).copied().unwrap_or(Effect::Write))
                    .fold(one.effect, stronger);
                one.effect = effect;
            }
        }
        read
    }

    /// The strongest effect of the functions that a program uses. What is not known changes something.
    fn own_effect(&self, recipe: &SavedRecipe, outline: &Outline) -> Effect {
        let least = if outline.open { Effect::Write } else { Effect::Read };
        let used = outline.functions.iter().chain(recipe.notes.uses.keys());
        let used = used.filter(|name| !name.starts_with("recipes."));
        let effect = |name: &String| self.discovery.named(name).map_or(Effect::Write, |(_, effect)| effect);
        used.map(effect).fold(least, stronger)
    }
}

/// What a recipe is written in.
pub(super) fn language_of(recipe: &SavedRecipe) -> Language {
    language_named(recipe.language)
}

/// What a recipe does, in its own words, else in those of who ran it.
pub(super) fn about(recipe: &SavedRecipe, outline: &Outline) -> String {
    let texts = [outline.about.clone(), recipe.comment(), recipe.notes.description.clone()];
    texts.into_iter().find(|text| !text.trim().is_empty()).unwrap_or_default()
}

fn skip(name: &str, reason: String) -> Skipped {
    Skipped {
        operation: name.to_owned(),
        pointer: String::new(),
        reason,
    }
}

/// A name as it is in each language, without what they write differently.
fn plain(name: &str) -> String {
    name.replace('_', "").to_lowercase()
}

fn stronger(one: Effect, other: Effect) -> Effect {
    let rank = |effect| match effect {
        Effect::Read => 0,
        Effect::Write => 1,
        Effect::Destructive => 2,
    };
    if rank(other) > rank(one) { other } else { one }
}

/// A recipe as an MCP server would list it.
fn tool(read: &Read) -> Value {
    let inputs = &read.outline.inputs;
    let properties: Map<String, Value> = inputs.iter().map(|input| (input.name.clone(), input.schema.clone())).collect();
    let required: Vec<&String> = inputs
        .iter()
        .filter(|input| input.required)
        .map(|Input { name, .. }| name)
        .collect();
    json!({
        "name": read.recipe.name,
        "description": about(&read.recipe, &read.outline),
        "inputSchema": {"type": "object", "properties": properties, "required": required, "additionalProperties": false},
        "annotations": {"readOnlyHint": read.effect == Effect::Read, "destructiveHint": read.effect == Effect::Destructive},
    })
}
