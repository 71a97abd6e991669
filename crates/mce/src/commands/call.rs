//! `mce call FUNCTION`: one call, as a program would make it.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use serde_json::value::{RawValue, to_raw_value};

use super::run_report::pretty;
use crate::app::{App, Behalf};
use crate::cli::{CallArgs, Cli};
use crate::failure::Failure;
use crate::setup::Setup;

/// Arguments by name, as JSON text: numbers are sent as they were written.
type Arguments = BTreeMap<String, Box<RawValue>>;

/// What the words after the function mean.
#[derive(Debug, Default)]
struct CallSettings {
    /// `--json`: all arguments at once; what is printed is for a program.
    json: Option<Arguments>,
    /// `--NAME VALUE`: single arguments as texts.
    single: Vec<(String, String)>,
}

pub(crate) async fn call(setup: &Setup, args: CallArgs) -> Result<ExitCode, Failure> {
    let mut words = args.words;
    if words.last().is_some_and(|last| matches!(last.as_str(), "--help" | "-h")) {
        if let Err(help) = Cli::try_parse_from(["mce", "call", "--help"]) {
            setup.terminal.line(help.to_string());
        }
        return Ok(ExitCode::SUCCESS);
    }
    let function = words.remove(0);
    let mut meant = meant(words)?;
    let setup = &with_options(setup, &function, &mut meant.single);
    let app = App::open(setup, setup.settings()?)?;
    let is_json = meant.json.is_some();
    let mut arguments = meant.json.unwrap_or_default();
    for (name, text) in meant.single {
        let value = app.discovery().argument_from_text(&function, &name, &text)?;
        arguments.insert(name, value);
    }
    let value = app
        .call(
            &function,
            &to_raw_value(&arguments).map_err(Failure::internal)?,
            &Behalf::person_at(setup.terminal),
        )
        .await;
    app.close().await;
    let text = value?.get().to_owned();
    setup.terminal.line(if is_json { text } else { pretty(&text) });
    Ok(ExitCode::SUCCESS)
}

/// The setup with those options of every command that were typed after the function, and are no arguments of it.
fn with_options(setup: &Setup, function: &str, typed: &mut Vec<(String, String)>) -> Setup {
    let mut changed = setup.clone();
    let is_option = |name: &str| matches!(name, "config" | "env-file");
    if !typed.iter().any(|(name, _)| is_option(name)) {
        return changed;
    }
    let app = known(setup);
    let is_argument = |name: &str| app.as_ref().is_some_and(|app| app.discovery().has_argument(function, name));
    typed.retain(|(name, value)| {
        if !is_option(name) || is_argument(name) {
            return true;
        }
        let file = Some(PathBuf::from(value));
        if name == "config" {
            changed.global.config = file;
        } else {
            changed.global.env_file = file;
        }
        false
    });
    changed
}

/// What is configured without those options, if anything is: its functions may have arguments of these names.
fn known(setup: &Setup) -> Option<App> {
    let (settings, _) = setup.load().ok()?;
    (!settings.servers.is_empty()).then(|| App::open(setup, settings.into()).ok())?
}

fn meant(words: Vec<String>) -> Result<CallSettings, Failure> {
    let mut settings = CallSettings::default();
    let mut words = words.into_iter();
    while let Some(word) = words.next() {
        let Some(option) = word.strip_prefix("--") else {
            return Err(usage(format!("`{word}` is no `--ARGUMENT`")));
        };
        let (name, value) = match option.split_once('=') {
            Some((name, value)) => (name.to_owned(), value.to_owned()),
            None => (
                option.to_owned(),
                words.next().ok_or_else(|| usage(format!("`--{option}` has no value")))?,
            ),
        };
        if name == "json" {
            settings.json = Some(object(&value)?);
        } else {
            settings.single.push((name, value));
        }
    }
    Ok(settings)
}

fn object(text: &str) -> Result<Arguments, Failure> {
    serde_json::from_str(text).map_err(|error| Failure::argument(format!("`--json` is no JSON object: {error}")))
}

fn usage(message: String) -> Failure {
    Failure::argument(message).with_hint("write `--json '{\"id\": 1}'`, or `--id 1` for each argument")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_json_or_single_words() {
        let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        let check = |text: &str, json: Option<&str>, single: &[(&str, &str)]| {
            let meant = meant(words(text)).unwrap();
            let pairs: Vec<_> = meant.single.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
            assert_eq!(
                (
                    meant.json.map(|json| serde_json::to_string(&json).unwrap()).as_deref(),
                    pairs.as_slice()
                ),
                (json, single),
                "{text}"
            );
        };
        check("--id 5 --name=a=b", None, &[("id", "5"), ("name", "a=b")]);
        check(
            r#"--json {"id":123456789012345678901234567890}"#,
            Some(r#"{"id":123456789012345678901234567890}"#),
            &[],
        );
        assert!(meant(words("id")).is_err());
        assert!(meant(words("--id")).is_err());
        assert!(meant(words("--json 5")).is_err());
    }
}
