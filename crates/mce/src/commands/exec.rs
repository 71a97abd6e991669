//! `mce exec FILE`: runs a program as the model's programs are run.

use std::ffi::OsStr;
use std::io::Read;
use std::path::Path;
use std::process::ExitCode;

use mce_sandbox::Language;
use serde_json::{Map, Value};

use crate::app::{App, Behalf};
use crate::cli::{ExecArgs, LanguageArg};
use crate::failure::Failure;
use crate::setup::Setup;

/// Digits that a number may have for its value to be exact in any reader.
const EXACT_DIGITS: usize = 15;

pub(crate) async fn exec(setup: &Setup, args: &ExecArgs) -> Result<ExitCode, Failure> {
    let source = read_source(&args.file)?;
    let params = params(&args.params)?;
    let app = App::open(setup, setup.settings()?)?;
    let report = app
        .run_program(language(args), source, params, &Behalf::person_at(setup.terminal))
        .await;
    app.close().await;
    let terminal = setup.terminal;
    if args.json {
        terminal.json(&report.answer)?;
    } else {
        let answer = &report.answer;
        if !answer.logs.is_empty() {
            terminal.note(answer.logs.trim_end());
        }
        match (&answer.data, &answer.error) {
            (_, Some(error)) => {
                let place = error.line.map_or_else(String::new, |line| format!("line {line}: "));
                let mut failure =
                    Failure::new("run", format!("{place}{}", error.message)).with_hint(error.hint.clone().unwrap_or_default());
                failure.body.clone_from(&error.body);
                terminal.failure(&failure, false);
                if let Some(source) = &error.source {
                    terminal.note(format!("  {source}"));
                }
                for finding in &error.also {
                    let place = finding.line.map_or_else(String::new, |line| format!("line {line}: "));
                    let hint = finding.hint.as_ref().map_or_else(String::new, |hint| format!(" ({hint})"));
                    terminal.note(format!("also {place}{}{hint}", finding.message));
                }
            }
            (Some(data), None) => terminal.line(pretty(data.get())),
            (None, None) => {}
        }
    }
    Ok(if report.answer.success {
        ExitCode::SUCCESS
    } else {
        ExitCode::from(1)
    })
}

/// By the argument, else by the file's name, else Python.
fn language(args: &ExecArgs) -> Language {
    match args.language {
        Some(LanguageArg::Python) => Language::Python,
        Some(LanguageArg::Typescript) => Language::TypeScript,
        None if args
            .file
            .extension()
            .and_then(OsStr::to_str)
            .is_some_and(|ending| matches!(ending, "ts" | "mts" | "js" | "mjs")) =>
        {
            Language::TypeScript
        }
        None => Language::Python,
    }
}

fn read_source(file: &Path) -> Result<String, Failure> {
    let bytes = if file == Path::new("-") {
        let mut bytes = Vec::new();
        std::io::stdin().lock().read_to_end(&mut bytes).map(|_| bytes)
    } else {
        fs_err::read(file)
    };
    let bytes = bytes.map_err(|error| Failure::argument(error.to_string()))?;
    String::from_utf8(bytes).map_err(|_| Failure::argument(format!("`{}` is not UTF-8", file.display())))
}

fn params(words: &[String]) -> Result<Map<String, Value>, Failure> {
    words
        .iter()
        .map(|word| {
            let (name, value) = word.split_once('=').ok_or_else(|| {
                Failure::argument(format!("`--param {word}` has no `=`"))
                    .with_hint("write `--param name=value`; the value is JSON, else a text")
            })?;
            let parsed = serde_json::from_str(value).unwrap_or_else(|_| Value::from(value));
            let is_whole = value.trim().trim_start_matches('-').bytes().all(|byte| byte.is_ascii_digit());
            if is_whole && parsed.is_f64() {
                return Err(
                    Failure::argument(format!("`--param {word}`: an integer of more than 64 bits would be rounded")).with_hint(format!(
                        "give it as a text, `--param '{name}=\"{value}\"'`, and let the program read it"
                    )),
                );
            }
            Ok((name.to_owned(), parsed))
        })
        .collect()
}

/// JSON with line ends, for a person; as it stands where reading it could change a number.
pub(crate) fn pretty(json: &str) -> String {
    let is_long = |digits: &str| digits.len() > EXACT_DIGITS;
    if json.split(|letter: char| !letter.is_ascii_digit()).any(is_long) {
        return json.to_owned();
    }
    serde_json::from_str::<Value>(json)
        .ok()
        .and_then(|value| serde_json::to_string_pretty(&value).ok())
        .unwrap_or_else(|| json.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_person_sees_has_exact_numbers() {
        assert_eq!(pretty(r#"{"a":1}"#), "{\n  \"a\": 1\n}");
        assert_eq!(pretty("[12345678901234567890123]"), "[12345678901234567890123]");
    }

    #[test]
    fn parameters_are_json_or_texts_and_never_rounded() {
        let words = |text: &str| vec![text.to_owned()];
        assert_eq!(params(&words("a={\"b\":1}")).unwrap()["a"]["b"], 1);
        assert_eq!(params(&words("a=b=c")).unwrap()["a"], "b=c");
        assert!(
            params(&words("a=12345678901234567890123"))
                .unwrap_err()
                .message
                .contains("12345678901234567890123")
        );
        assert!(params(&words("a")).is_err());
    }
}
