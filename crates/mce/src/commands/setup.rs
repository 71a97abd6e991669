//! `mce setup`: our entry in the files of clients.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use mce_config::{ClientFile, EntryChange, EntryError, EntryOutcome, Launch, LoadOptions, Settings};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, BufReader, Lines, Stdin};

use super::compile::locations;
use super::setup_python::setup_python;
use crate::at_terminal::is_there;
use crate::cli::SetupArgs;
use crate::failure::Failure;
use crate::replaced_file::{check_replaceable, is_made, remove_made, replace};
use crate::setup::Setup;

/// What became of one file.
struct Done {
    outcome: EntryOutcome,
    surface: Option<String>,
    backup: Option<PathBuf>,
    /// Entries that start us through another program.
    left: Vec<String>,
    /// Entries that start us in parts of the file that are not edited.
    elsewhere: Vec<String>,
    /// What a changed entry has started, and starts now.
    commands: Option<[Vec<String>; 2]>,
    /// The file was made by us and held nothing else: it goes, too.
    is_file_removed: bool,
}

/// What all entries have in common.
struct Common {
    program: String,
    /// What says which configuration is used, for whatever directory a client starts us in,
    args: Vec<String>,
    /// and environment.
    environment: Vec<(String, String)>,
}

/// Where the files of clients are kept as they were, in the data directory: beside them a repository might take them in.
const COPIES: &str = "before-setup";

pub(crate) async fn setup(setup: &Setup, args: &SetupArgs) -> Result<ExitCode, Failure> {
    let options = setup.load_options();
    // Nothing is done before it is known that all can be.
    let is_python_alone = args.python && args.clients.is_empty() && !args.all;
    let files = if is_python_alone {
        Vec::new()
    } else {
        chosen(setup, args, mce_config::client_files(&options, args.project)).await?
    };
    let loaded = setup.load();
    let copies = loaded.as_ref().ok().map(|(settings, _)| settings.data_dir.join(COPIES));
    let mut report = Vec::new();
    let common = if args.uninstall && !args.python {
        None
    } else {
        // The configuration that these clients will use must be one.
        let loaded = loaded?;
        let common = (!args.uninstall && !files.is_empty())
            .then(|| common(setup, &loaded.0))
            .transpose()?;
        if args.python {
            let done = setup_python(setup, &loaded, args.uninstall, args.dry_run)?;
            tell_python(setup, args, &done);
            report.push(done);
        }
        common
    };
    let mut is_refused = false;
    for file in &files {
        let done = edit(&options, args, file, common.as_ref(), copies.as_deref());
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

fn tell_python(setup: &Setup, args: &SetupArgs, done: &Value) {
    if args.json {
        return;
    }
    let text = |key: &str| done[key].as_str().unwrap_or_default();
    setup
        .terminal
        .line(format!("python: {}{} ({})", would(args), text("outcome"), text("python")));
    if done["used_instead"].is_string() {
        setup
            .terminal
            .note(format!("  programs use `{}`, which is configured", text("used_instead")));
    }
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

fn common(setup: &Setup, settings: &Settings) -> Result<Common, Failure> {
    let files = [("--config", &settings.config_file), ("--env-file", &settings.env_file)];
    let args = files
        .into_iter()
        .filter_map(|(option, file)| Some([option.to_owned(), file.as_ref()?.display().to_string()]));
    let running = std::env::current_exe().map_err(Failure::internal)?;
    let program = lasting(&running, setup.environment.get("PATH").map(String::as_str))?;
    Ok(Common {
        program: program.display().to_string(),
        args: args.flatten().collect(),
        environment: locations(settings),
    })
}

/// The path that starts this program also after an update: that of its name in `PATH`, which is often a link to a file of one version.
fn lasting(running: &Path, path: Option<&str>) -> Result<PathBuf, Failure> {
    let own = fs_err::canonicalize(running).map_err(|_| {
        let message = format!("this program's file is gone: `{}`", running.display());
        Failure::new("config", message).with_hint("it was updated or removed meanwhile; run `mce setup` of the one that is there now")
    })?;
    let folders = path.map(std::env::split_paths).into_iter().flatten();
    let named = folders
        .filter(|folder| folder.is_absolute())
        .map(|folder| folder.join("mce"))
        .find(|file| file.is_file());
    Ok(named
        .filter(|file| fs_err::canonicalize(file).is_ok_and(|file| file == own))
        .unwrap_or(own))
}

fn edit(
    options: &LoadOptions,
    args: &SetupArgs,
    file: &ClientFile,
    common: Option<&Common>,
    copies: Option<&Path>,
) -> Result<Done, Failure> {
    let refused = |error: EntryError| Failure::new("config", format!("`{}`: {error}", file.file.display())).with_hint(hint(&error));
    let old = mce_config::read_client_file(&file.file).map_err(refused)?;
    let text = old.as_deref().unwrap_or_default();
    let surface = common.map(|_| surface(args, file, text));
    let change = match (common, &surface) {
        (Some(common), Some(surface)) => EntryChange::Put(launch(surface, common)),
        (None, _) | (_, None) => EntryChange::Remove,
    };
    let edited = mce_config::edit_entry(options, file, text, &change).map_err(|error| match (&error, &change) {
        (EntryError::Form, EntryChange::Put(_)) => refused(error).with_hint(by_hand(options, file, &change)),
        _ => refused(error),
    })?;
    let is_file_removed = edited.is_bare && copies.is_some_and(|copies| is_made(&file.file, copies));
    let is_same = matches!(edited.outcome, EntryOutcome::Unchanged | EntryOutcome::Left);
    let backup = if is_same {
        Ok(None)
    } else if args.dry_run {
        check_replaceable(&file.file).map(|()| None)
    } else if let (true, Some(copies)) = (is_file_removed, copies) {
        remove_made(&file.file, text, copies).map(|_| None)
    } else {
        replace(&file.file, old.as_deref(), &edited.text, copies)
    };
    let backup = backup.map_err(|error| Failure::new("config", format!("`{}`: {error}", file.file.display())))?;
    Ok(Done {
        outcome: edited.outcome,
        surface: surface.filter(|_| edited.outcome != EntryOutcome::Left),
        backup,
        left: edited.left,
        elsewhere: edited.elsewhere,
        commands: edited.commands,
        is_file_removed,
    })
}

/// The entry in the format of the file.
fn by_hand(options: &LoadOptions, file: &ClientFile, change: &EntryChange) -> String {
    let made = mce_config::edit_entry(options, file, "", change);
    let entry = made.map_or_else(|_| "the entry that `mce compile` prints".to_owned(), |made| made.text);
    format!("the file is left as it is; add this by hand:\n{entry}")
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

fn launch(surface: &str, common: &Common) -> Launch {
    let mut args = ["serve", "--surface", surface].map(str::to_owned).to_vec();
    args.extend_from_slice(&common.args);
    Launch {
        command: common.program.clone(),
        args,
        environment: common.environment.clone(),
    }
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
            told["left"] = json!(done.left);
            told["elsewhere"] = json!(done.elsewhere);
            told["file_removed"] = json!(done.is_file_removed);
            if let Some([old, new]) = &done.commands {
                told["was"] = json!(old);
                told["is"] = json!(new);
            }
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
                .map(|file| format!("; as it was at first: {}", file.display()))
                .unwrap_or_default();
            let left = done
                .left
                .iter()
                .map(|name| format!("\n  `{name}` starts `mce` through another program; it is left as it is"))
                .collect::<Vec<_>>()
                .concat();
            let removed = if done.is_file_removed {
                ", with the file, which held nothing else"
            } else {
                ""
            };
            format!(
                "{}: {would}{}{surface}{removed} ({}{backup}){}{left}{}",
                file.client,
                word(done.outcome),
                file.file.display(),
                changed(done),
                elsewhere(done),
            )
        }
        Err(failure) => {
            let hint = failure.hint.as_ref().map(|hint| format!("\n  hint: {hint}")).unwrap_or_default();
            format!("{}: refused: {}{hint}", file.client, failure.message)
        }
    }
}

/// What an entry started and starts.
fn changed(done: &Done) -> String {
    let [old, new] = match &done.commands {
        Some(commands) if done.outcome == EntryOutcome::Changed => commands.each_ref().map(|words| words.join(" ")),
        Some(_) | None => return String::new(),
    };
    format!("\n  before: {old}\n  now:    {new}")
}

fn elsewhere(done: &Done) -> String {
    let told = |key: &String| format!("\n  `{key}` starts `mce` too; it is left as it is");
    done.elsewhere.iter().map(told).collect()
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
        EntryOutcome::Left => "left",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_in_path_is_written_if_it_is_this_program_and_what_is_gone_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let root = fs_err::canonicalize(folder.path()).unwrap();
        let (own, other, bin) = (root.join("mce-1.2"), root.join("other/mce"), root.join("bin"));
        for folder in [&bin, &root.join("other")] {
            fs_err::create_dir(folder).unwrap();
        }
        fs_err::write(&own, "").unwrap();
        fs_err::write(&other, "").unwrap();
        fs_err::os::unix::fs::symlink(&own, bin.join("mce")).unwrap();
        let check = |path: &str| lasting(&own, Some(path)).unwrap();
        let (bin, other) = (bin.display(), root.join("other").display().to_string());
        assert_eq!(check(&format!("/nowhere:bin:{bin}:{other}")), root.join("bin/mce"));
        assert_eq!(check(&format!("{other}:{bin}")), own);
        assert_eq!(lasting(&own, None).unwrap(), own);
        for gone in ["mce-1.2 (deleted)", "mce-1.1"] {
            let failure = lasting(&root.join(gone), Some(&bin.to_string())).unwrap_err();
            assert!(failure.message.contains(gone), "{failure}");
        }
    }
}
