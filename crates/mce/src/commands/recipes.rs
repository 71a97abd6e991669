//! `mce recipes`: what is kept, and what a person keeps for good.

use std::process::ExitCode;

use mce_sandbox::Inputs;
use serde_json::json;
use serde_json::value::to_raw_value;

use super::exec::{language, read_source};
use super::run_report::{params, print_run};
use crate::app::{App, Behalf, ListedInput, ListedRecipe, SaveFrom, ShownRecipe};
use crate::cli::{RecipesArgs, RecipesCommand, RunRecipeArgs, SaveArgs};
use crate::failure::Failure;
use crate::setup::Setup;

pub(crate) async fn recipes(setup: &Setup, args: &RecipesArgs) -> Result<ExitCode, Failure> {
    let app = App::open(setup, setup.settings()?)?;
    let done = carry_out(setup, &app, &args.command).await;
    app.close().await;
    done
}

async fn carry_out(setup: &Setup, app: &App, command: &RecipesCommand) -> Result<ExitCode, Failure> {
    let terminal = setup.terminal;
    match command {
        RecipesCommand::List(args) => {
            let listed = app.list_recipes().await?;
            if args.json {
                terminal.json(&listed)?;
            } else {
                print_list(setup, &listed);
            }
        }
        RecipesCommand::Show(args) => {
            let shown = app.show_recipe(&args.name).await?;
            if args.json {
                terminal.json(&shown)?;
            } else {
                print_recipe(setup, &shown);
            }
        }
        RecipesCommand::Save(args) => save(setup, app, args).await?,
        RecipesCommand::Run(args) => return run(setup, app, args).await,
        RecipesCommand::Rm(args) => {
            let gone = app.remove_recipe(&args.name).await?;
            if args.json {
                terminal.json(&json!({"removed": gone}))?;
            } else {
                terminal.line(format!("removed {gone}"));
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}

async fn save(setup: &Setup, app: &App, args: &SaveArgs) -> Result<(), Failure> {
    let from = match (&args.id, &args.file) {
        (Some(id), _) => SaveFrom::Kept(id.clone()),
        (None, Some(file)) => SaveFrom::Text(language(args.language, file), read_source(file)?),
        (None, None) => SaveFrom::Itself,
    };
    let name = &args.name;
    let (file, problem) = app.save_recipe(name, from, args.replace).await?;
    let terminal = setup.terminal;
    if args.json {
        let mut saved = json!({"name": name, "function": format!("recipes.{name}"), "file": file});
        if let Some(problem) = problem {
            saved["problem"] = json!(problem);
        }
        return terminal.json(&saved);
    }
    terminal.line(format!("saved as {}", file.display()));
    match problem {
        Some(problem) => terminal.warning(&format!("it is no function: {problem}")),
        None => terminal.line(format!(
            "it is the function recipes.{name} now; `mce functions --show recipes.{name}` shows it"
        )),
    }
    Ok(())
}

async fn run(setup: &Setup, app: &App, args: &RunRecipeArgs) -> Result<ExitCode, Failure> {
    let mut values: Inputs = match &args.json {
        Some(text) => serde_json::from_str(text).map_err(|error| Failure::argument(format!("`--json` is no JSON object: {error}")))?,
        None => Inputs::new(),
    };
    values.extend(params(&args.params)?);
    if !args.params.is_empty() {
        let shown = app.show_recipe(&args.name).await?;
        as_texts(&mut values, &args.params, &shown.listed.params)?;
    }
    let report = app.run_recipe(&args.name, values, &Behalf::person_at(setup.terminal)).await?;
    print_run(setup.terminal, &report, args.json.is_some())
}

/// What was typed for a variable that takes a text alone is that text: `item=7` is no number there.
fn as_texts(values: &mut Inputs, typed: &[String], inputs: &[ListedInput]) -> Result<(), Failure> {
    for (name, text) in typed.iter().filter_map(|typed| typed.split_once('=')) {
        let takes_text = inputs.iter().any(|input| input.name == name && input.schema["type"] == "string");
        if let Some(value) = values.get_mut(name).filter(|value| takes_text && !value.get().starts_with('"')) {
            *value = to_raw_value(text).map_err(Failure::internal)?;
        }
    }
    Ok(())
}

fn print_list(setup: &Setup, listed: &[ListedRecipe]) {
    let terminal = setup.terminal;
    for recipe in listed {
        let name = recipe.name.as_deref().or(recipe.id.as_deref()).unwrap_or_default();
        let inputs: Vec<String> = recipe.params.iter().map(input).collect();
        let uses = recipe.uses.map_or_else(String::new, |uses| format!(", used {uses} times"));
        let about = format!("{}, {}{uses}", recipe.language, age(recipe.age_seconds));
        terminal.line(format!("{name}({})  {}", inputs.join(", "), terminal.faint(&about)));
        if let Some(line) = recipe.description.lines().find(|line| !line.trim().is_empty()) {
            terminal.line(format!("    {}", line.trim()));
        }
        if let Some(problem) = &recipe.problem {
            terminal.line(format!("    cannot be run: {problem}"));
        }
    }
    if listed.is_empty() {
        terminal.note("there are no recipes; `mce recipes save NAME FILE` makes one");
    }
}

fn print_recipe(setup: &Setup, shown: &ShownRecipe) {
    print_list(setup, std::slice::from_ref(&shown.listed));
    let terminal = setup.terminal;
    if let Some(file) = &shown.listed.file {
        terminal.line(format!("    {}", file.display()));
    }
    for signature in shown.functions.values() {
        terminal.line(format!("    uses {signature}"));
    }
    terminal.line(format!("\n{}", shown.source.trim_end()));
}

/// `month: integer = 5`
fn input(input: &ListedInput) -> String {
    let kind = input.schema.get("type").and_then(|kind| kind.as_str()).unwrap_or("any");
    let default = input
        .schema
        .get("default")
        .map_or_else(String::new, |default| format!(" = {default}"));
    format!("{}: {kind}{default}", input.name)
}

fn age(seconds: u64) -> String {
    match seconds {
        0..60 => format!("{seconds} s old"),
        60..3_600 => format!("{} min old", seconds / 60),
        3_600..172_800 => format!("{} h old", seconds / 3_600),
        _ => format!("{} days old", seconds / 86_400),
    }
}
