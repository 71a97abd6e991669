//! `mce setup`: our entry in the files of clients.

use std::path::PathBuf;
use std::process::ExitCode;

use mce_config::{ClientFile, EntryChange, EntryError, EntryOutcome, Launch, LoadOptions};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, BufReader, Lines, Stdin};

use super::setup_python::setup_python;
use crate::at_terminal::is_there;
use crate::cli::SetupArgs;
use crate::failure::Failure;
use crate::replaced_file::replace;
use crate::setup::Setup;

/// What became of one file.
struct Done {
    outcome: EntryOutcome,
    surface: Option<String>,
    backup: Option<PathBuf>,
}

pub(crate) async fn setup(setup: &Setup, args: &SetupArgs) -> Result<ExitCode, Failure> {
    let options = setup.load_options();
    let mut report = Vec::new();
    if args.python {
        let (settings, _) = setup.load()?;
        let done = setup_python(setup, &settings, args.uninstall, args.dry_run)?;
        if !args.json {
            let (python, outcome) = (
                done["python"].as_str().unwrap_or_default(),
                done["outcome"].as_str().unwrap_or_default(),
            );
            setup.terminal.line(format!("python: {}{outcome} ({python})", would(args)));
        }
        report.push(done);
    }
    let is_python_alone = args.python && args.clients.is_empty() && !args.all;
    let files = if is_python_alone {
        Vec::new()
    } else {
        chosen(setup, args, mce_config::client_files(&options, args.project)).await?
    };
    // The configuration that these clients will use must be one.
    let common = if args.uninstall { Vec::new() } else { common_args(setup)? };
    let mut is_refused = false;
    for file in &files {
        let done = edit(&options, args, file, &common);
        is_refused |= done.is_err();
        report.push(told(args, file, &done));
        if !args.json {
            setup.terminal.line(sentence(args, file, &done));
        }
    }
    if args.json {
        setup.terminal.json(&report)?;
    } else if report.is_empty() {
        setup.terminal.note("nothing is to be done");
    }
    Ok(if is_refused { ExitCode::from(1) } else { ExitCode::SUCCESS })
}

/// The files of the clients that were named, or found and wanted.
async fn chosen(setup: &Setup, args: &SetupArgs, files: Vec<ClientFile>) -> Result<Vec<ClientFile>, Failure> {
    let has_file = |name: &String| files.iter().any(|file| file.client == *name);
    if let Some(unknown) = args.clients.iter().find(|name| !has_file(name)) {
        let known: Vec<_> = files.iter().map(|file| format!("`{}`", file.client)).collect();
        let is_known = mce_config::client_names().any(|name| name == unknown);
        let message = if is_known {
            format!("`{unknown}` has no file of a project")
        } else {
            format!("there is no client `{unknown}`")
        };
        return Err(Failure::argument(message).with_hint(format!("those with a file are {}", known.join(", "))));
    }
    if !args.clients.is_empty() {
        return Ok(files
            .into_iter()
            .filter(|file| args.clients.iter().any(|name| name == file.client))
            .collect());
    }
    let found: Vec<_> = files.into_iter().filter(|file| file.is_there).collect();
    if args.all || args.dry_run {
        return Ok(found);
    }
    if !is_there() || args.json {
        let names: Vec<_> = found.iter().map(|file| format!("`{}`", file.client)).collect();
        let hint = match names.as_slice() {
            [] => "no client is found; name one".to_owned(),
            _ => format!("name clients, or say `--all` for those that are found: {}", names.join(", ")),
        };
        return Err(Failure::argument("there is no terminal to ask at").with_hint(hint));
    }
    ask(setup, args, found).await
}

async fn ask(setup: &Setup, args: &SetupArgs, found: Vec<ClientFile>) -> Result<Vec<ClientFile>, Failure> {
    let mut answers: Lines<BufReader<Stdin>> = BufReader::new(tokio::io::stdin()).lines();
    let mut wanted = Vec::new();
    for file in found {
        let what = if args.uninstall {
            "Take our entry out of"
        } else {
            "Put our entry into"
        };
        setup
            .terminal
            .note(format!("{what} {} ({})? [y/N]", file.file.display(), file.client));
        let answer = answers.next_line().await.map_err(Failure::internal)?.unwrap_or_default();
        if matches!(answer.trim(), "y" | "Y" | "yes") {
            wanted.push(file);
        }
    }
    Ok(wanted)
}

/// What says which configuration is used, for whatever directory a client starts us in.
fn common_args(setup: &Setup) -> Result<Vec<String>, Failure> {
    let (settings, _) = setup.load()?;
    let files = [("--config", &settings.config_file), ("--env-file", &settings.env_file)];
    let args = files
        .into_iter()
        .filter_map(|(option, file)| Some([option.to_owned(), file.as_ref()?.display().to_string()]));
    Ok(args.flatten().collect())
}

fn edit(options: &LoadOptions, args: &SetupArgs, file: &ClientFile, common: &[String]) -> Result<Done, Failure> {
    let refused = |error: EntryError| Failure::new("config", format!("`{}`: {error}", file.file.display())).with_hint(hint(&error));
    let old = mce_config::read_client_file(&file.file).map_err(refused)?;
    let text = old.as_deref().unwrap_or_default();
    let surface = (!args.uninstall).then(|| surface(args, file, text));
    let change = match &surface {
        Some(surface) => EntryChange::Put(launch(surface, common)?),
        None => EntryChange::Remove,
    };
    let edited = mce_config::edit_entry(options, file, text, &change).map_err(refused)?;
    let is_written = edited.outcome != EntryOutcome::Unchanged && !args.dry_run;
    let backup = if is_written {
        let replaced = replace(&file.file, old.as_deref(), &edited.text);
        replaced.map_err(|error| Failure::new("config", format!("`{}`: {error}", file.file.display())))?
    } else {
        None
    };
    Ok(Done {
        outcome: edited.outcome,
        surface,
        backup,
    })
}

/// A client that runs code over tools by itself needs no second layer of it.
fn surface(args: &SetupArgs, file: &ClientFile, text: &str) -> String {
    let fitting = if mce_config::has_own_code_mode(file, text) {
        "direct"
    } else {
        "auto"
    };
    args.surface.clone().unwrap_or_else(|| fitting.to_owned())
}

fn launch(surface: &str, common: &[String]) -> Result<Launch, Failure> {
    let program = std::env::current_exe().map_err(Failure::internal)?;
    let mut args = ["serve", "--surface", surface].map(str::to_owned).to_vec();
    args.extend_from_slice(common);
    Ok(Launch {
        command: program.display().to_string(),
        args,
    })
}

fn hint(error: &EntryError) -> &'static str {
    match error {
        EntryError::Read(_) => "",
        EntryError::Syntax { .. } | EntryError::NoMapping { .. } => "the file is left as it is; mend it and try again",
        EntryError::Taken { .. } => "the file is left as it is; give that entry another name",
        EntryError::Form => "the file is left as it is; add the entry that `mce compile` prints by hand",
    }
}

fn told(args: &SetupArgs, file: &ClientFile, done: &Result<Done, Failure>) -> Value {
    let mut told = json!({"client": file.client, "file": file.file, "dry_run": args.dry_run});
    match done {
        Ok(done) => {
            told["outcome"] = json!(word(done.outcome));
            told["surface"] = json!(done.surface);
            told["backup"] = json!(done.backup);
        }
        Err(failure) => {
            told["outcome"] = json!("refused");
            told["error"] = failure.to_json()["error"].clone();
        }
    }
    told
}

fn sentence(args: &SetupArgs, file: &ClientFile, done: &Result<Done, Failure>) -> String {
    match done {
        Ok(done) => {
            let would = would(args);
            let surface = done
                .surface
                .as_ref()
                .map(|surface| format!(", surface `{surface}`"))
                .unwrap_or_default();
            let backup = done
                .backup
                .as_ref()
                .map(|file| format!("; as it was before: {}", file.display()))
                .unwrap_or_default();
            format!(
                "{}: {would}{}{surface} ({}{backup})",
                file.client,
                word(done.outcome),
                file.file.display()
            )
        }
        Err(failure) => {
            let hint = failure.hint.as_ref().map(|hint| format!("\n  hint: {hint}")).unwrap_or_default();
            format!("{}: refused: {}{hint}", file.client, failure.message)
        }
    }
}

const fn would(args: &SetupArgs) -> &'static str {
    if args.dry_run { "would be " } else { "" }
}

const fn word(outcome: EntryOutcome) -> &'static str {
    match outcome {
        EntryOutcome::Added => "added",
        EntryOutcome::Changed => "changed",
        EntryOutcome::Removed => "removed",
        EntryOutcome::Unchanged => "unchanged",
    }
}
