//! `mce functions`: what there is, or what the model sees of one function.

use std::process::ExitCode;

use serde_json::Value;

use crate::app::{App, Wanted};
use crate::cli::{FunctionsArgs, LanguageArg};
use crate::failure::Failure;
use crate::setup::Setup;
use crate::tokens;

pub(crate) fn functions(setup: &Setup, args: &FunctionsArgs) -> Result<ExitCode, Failure> {
    let app = App::open(setup, setup.settings()?)?;
    if let Some(name) = &args.show {
        return show(setup, &app, name, args);
    }
    let functions = app.discovery().list_functions(args.server.as_deref())?;
    let terminal = setup.terminal;
    if args.json {
        terminal.json(&functions)?;
        return Ok(ExitCode::SUCCESS);
    }
    for function in &functions {
        let about = terminal.faint(&format!("{}  {}", function.operation, function.effect.as_str()));
        terminal.line(format!("{}.{}  {about}", function.server, function.function));
    }
    if functions.is_empty() {
        terminal.note("there are no functions; `mce compile` makes them");
    }
    Ok(ExitCode::SUCCESS)
}

fn show(setup: &Setup, app: &App, name: &str, args: &FunctionsArgs) -> Result<ExitCode, Failure> {
    let (server, function) = name
        .split_once(['.', ':'])
        .ok_or_else(|| Failure::argument(format!("`{name}` is not of the form `SERVER.FUNCTION`")))?;
    let language = match args.language {
        LanguageArg::Python => mce_sandbox::Language::Python,
        LanguageArg::Typescript => mce_sandbox::Language::TypeScript,
    };
    let wanted = Wanted {
        server: server.to_owned(),
        function: function.to_owned(),
        types: args.types.clone(),
    };
    let answer = app.discovery().get_functions(&[wanted], language)?;
    let card = answer.pointer("/functions/0").unwrap_or(&Value::Null);
    let text_of = |key: &str| card.get(key).and_then(Value::as_str);
    if let Some(message) = text_of("error") {
        let kind = match text_of("error_type") {
            Some("policy") => "policy",
            Some("internal") => "internal",
            Some(_) | None => "argument",
        };
        return Err(Failure::new(kind, message).with_hint(text_of("hint").unwrap_or_default()));
    }
    for (key, value) in card.as_object().into_iter().flatten() {
        setup.terminal.heading(key);
        let text = value
            .as_str()
            .map_or_else(|| serde_json::to_string_pretty(value).unwrap_or_default(), str::to_owned);
        setup.terminal.line(text);
    }
    setup
        .terminal
        .line(format!("\n{} tokens as the model gets it", tokens::count(&answer.to_string())));
    Ok(ExitCode::SUCCESS)
}
