//! Values for a program's variables as they are typed, and how a run ended, as it is printed.

use std::process::ExitCode;

use mce_sandbox::Inputs;
use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};

use crate::app::RunReport;
use crate::failure::Failure;
use crate::terminal::Terminal;

/// Digits that a number may have for its value to be exact in any reader.
const EXACT_DIGITS: usize = 15;

/// `NAME=VALUE` each; a value is JSON, as it is written, else a text.
///
/// # Errors
///
/// A failure of type `argument` for a word without `=`.
pub(super) fn params(words: &[String]) -> Result<Inputs, Failure> {
    let param = |word: &String| {
        let (name, value) = word.split_once('=').ok_or_else(|| {
            Failure::argument(format!("`--param {word}` has no `=`"))
                .with_hint("write `--param name=value`; the value is JSON, else a text")
        })?;
        let json = RawValue::from_string(value.trim().to_owned());
        let json = json.or_else(|_| to_raw_value(value)).map_err(Failure::internal)?;
        Ok((name.to_owned(), json))
    };
    words.iter().map(param).collect()
}

/// Prints what a program printed and gave, or why it failed. 1 if it failed.
///
/// # Errors
///
/// A failure if the answer cannot be written as JSON.
pub(super) fn print_run(terminal: Terminal, report: &RunReport, is_json: bool) -> Result<ExitCode, Failure> {
    let answer = &report.answer;
    if is_json {
        terminal.json(answer)?;
    } else {
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
    Ok(if answer.success { ExitCode::SUCCESS } else { ExitCode::from(1) })
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
        for (word, name, json) in [
            ("a={\"b\":1}", "a", "{\"b\":1}"),
            ("a=b=c", "a", "\"b=c\""),
            ("a=12345678901234567890123", "a", "12345678901234567890123"),
            ("a= 5", "a", "5"),
        ] {
            assert_eq!(params(&[word.to_owned()]).unwrap()[name].get(), json, "{word}");
        }
        assert!(params(&["a".to_owned()]).is_err());
    }
}
