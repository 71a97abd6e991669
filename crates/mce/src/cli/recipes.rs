//! `mce recipes` as typed.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::{JsonArgs, LanguageArg};

#[derive(Debug, Args)]
pub(crate) struct RecipesArgs {
    #[command(subcommand)]
    pub(crate) command: RecipesCommand,
}

impl RecipesArgs {
    /// Whether a program reads what is printed.
    pub(crate) const fn is_json(&self) -> bool {
        match &self.command {
            RecipesCommand::List(args) => args.json,
            RecipesCommand::Show(args) | RecipesCommand::Rm(args) => args.json,
            RecipesCommand::Save(args) => args.json,
            RecipesCommand::Run(args) => args.json.is_some(),
        }
    }
}

#[derive(Debug, Subcommand)]
pub(crate) enum RecipesCommand {
    /// List saved recipes, and programs that are kept for a while
    List(JsonArgs),
    /// Show a recipe with its text
    Show(RecipeArgs),
    /// Save a program for good: it becomes the function `recipes.NAME`
    Save(SaveArgs),
    /// Run a recipe
    Run(RunRecipeArgs),
    /// Remove a saved recipe, or forget one that is kept for a while
    Rm(RecipeArgs),
}

#[derive(Debug, Args)]
pub(crate) struct RecipeArgs {
    /// The name of a saved recipe, or a `cache_id`
    #[arg(value_name = "ID_OR_NAME")]
    pub(crate) name: String,
    /// Print one JSON value
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct SaveArgs {
    /// Its name, which is that of its file and of the function
    pub(crate) name: String,
    /// The program; without it and `--id`, the recipe of this name takes the functions that it uses as they are now
    #[arg(conflicts_with = "id")]
    pub(crate) file: Option<PathBuf>,
    /// The `cache_id` of the program
    #[arg(long, value_name = "CACHE_ID")]
    pub(crate) id: Option<String>,
    /// The program's language; by default that of the file's name, else Python
    #[arg(long, value_enum, requires = "file")]
    pub(crate) language: Option<LanguageArg>,
    /// Write it in place of one that has the name
    #[arg(long)]
    pub(crate) replace: bool,
    /// Print one JSON value
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct RunRecipeArgs {
    /// The name of a saved recipe, or a `cache_id`
    #[arg(value_name = "ID_OR_NAME")]
    pub(crate) name: String,
    /// A variable's value, as JSON, else a text
    #[arg(long = "param", value_name = "NAME=VALUE")]
    pub(crate) params: Vec<String>,
    /// Print one JSON value; with an object, its members are values of variables
    #[arg(long, value_name = "OBJECT", num_args = 0..=1, default_missing_value = "{}")]
    pub(crate) json: Option<String>,
}
