//! What a person reads of a call before it is allowed. Everything in it but our own words was written by others, so that none
//! of it can end a line, change the direction of writing or hide.

use std::fmt::Write as _;

use serde_json::Value;
use thiserror::Error;

use super::facts::Facts;

/// Characters of one text among the arguments.
const MAX_TEXT: usize = 300;
/// Characters of all arguments that are shown in a client.
const MAX_IN_CLIENT: usize = 4_000;
/// Characters of all arguments that a person can be asked about at all.
const MAX_ARGUMENTS: usize = 1_000_000;
/// Letters that are not seen. (Unicode, `Default_Ignorable_Code_Point`)
const UNSEEN_LETTERS: [char; 4] = ['\u{115f}', '\u{1160}', '\u{3164}', '\u{ffa0}'];

/// The question about a call. `arguments` is what [`argument_texts`] made of them.
pub(crate) fn question_text(facts: &Facts<'_>, arguments: &str, rule: &str) -> String {
    let client = facts
        .run
        .client
        .as_deref()
        .map_or_else(String::new, |client| format!("\nclient: {}", escaped(client)));
    let host = facts
        .host
        .as_deref()
        .map_or_else(String::new, |host| format!("\nhost: {}", escaped(host)));
    format!(
        "May this call be made?\n\nserver: {}\nfunction: {} ({})\noperation: {}{host}\narguments: {arguments}{client}\nasked by rule: {}",
        escaped(facts.servers[1]),
        escaped(&facts.function),
        facts.effect.as_str(),
        escaped(facts.operation),
        escaped(rule),
    )
}

/// Arguments as a person reads them, each in one line.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ArgumentTexts {
    /// At a terminal: all of them. If that is too much, long texts are cut in the middle.
    pub(crate) whole: String,
    /// In a client: long texts are cut in the middle. None if it is too long all the same.
    pub(crate) brief: Option<String>,
}

/// Arguments as texts. `redact` takes secrets out of JSON.
///
/// # Errors
///
/// Its length, if that is more than a person reads: what is left out could be what matters.
pub(crate) fn argument_texts(arguments: &Value, redact: impl Fn(&str) -> String) -> Result<ArgumentTexts, TooLong> {
    // Secrets go first: half of one would not be found.
    let clean = redact(&arguments.to_string());
    let short = serde_json::from_str::<Value>(&clean).map(shortened);
    let whole = escaped(&clean);
    let short = escaped(&short.map_or(clean, |short| short.to_string()));
    let chars = short.chars().count();
    if chars > MAX_ARGUMENTS {
        return Err(TooLong { chars });
    }
    let brief = (chars <= MAX_IN_CLIENT).then(|| short.clone());
    let is_whole = whole.chars().count() <= MAX_ARGUMENTS;
    let whole = if is_whole { whole } else { short };
    Ok(ArgumentTexts { whole, brief })
}

/// Arguments that nobody can be asked about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("its arguments are too long to be shown to a person: {chars} characters, of which {MAX_ARGUMENTS} can be")]
pub(crate) struct TooLong {
    pub(crate) chars: usize,
}

fn shortened(value: Value) -> Value {
    match value {
        Value::String(text) => Value::String(cut(&text, MAX_TEXT)),
        Value::Array(items) => Value::Array(items.into_iter().map(shortened).collect()),
        Value::Object(members) => Value::Object(
            members
                .into_iter()
                .map(|(name, value)| (cut(&name, MAX_TEXT), shortened(value)))
                .collect(),
        ),
        scalar @ (Value::Null | Value::Bool(_) | Value::Number(_)) => scalar,
    }
}

/// Start and end of a text, and how much is left out between.
fn cut(text: &str, most: usize) -> String {
    let length = text.chars().count();
    if length <= most {
        return text.to_owned();
    }
    let (start, end) = (most * 2 / 3, most / 3);
    let head: String = text.chars().take(start).collect();
    let tail: String = text.chars().skip(length - end).collect();
    format!("{head} [{} characters left out] {tail}", length - start - end)
}

/// A text in which each character but letters, digits and those of ASCII is written as `\uXXXX`.
pub fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        if matches!(c, ' '..='~') || (!c.is_ascii() && c.is_alphanumeric() && !UNSEEN_LETTERS.contains(&c)) {
            escaped.push(c);
            continue;
        }
        let mut units = [0; 2];
        for unit in c.encode_utf16(&mut units) {
            // Writing into a text does not fail.
            let _ = write!(escaped, "\\u{unit:04x}");
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn arguments_cannot_write_lines_of_their_own_or_turn_them_around() {
        let hostile = json!({"a\nserver: safe": "x\u{202e}evil\r\u{2066}\u{200b}\u{feff}\u{e0041}\u{2028}é中"});
        let texts = argument_texts(&hostile, str::to_owned).unwrap();
        assert_eq!(texts.brief.as_deref(), Some(texts.whole.as_str()));
        assert_eq!(
            texts.whole,
            r#"{"a\nserver: safe":"x\u202eevil\r\u2066\u200b\ufeff\udb40\udc41\u2028é中"}"#
        );
        assert_eq!(escaped("DELETE /a\n\tb\u{7f}"), "DELETE /a\\u000a\\u0009b\\u007f");
    }

    #[test]
    fn long_arguments_keep_their_names_start_and_end() {
        let long = json!({"padding": "p".repeat(1_000_000), "target": "production"});
        let texts = argument_texts(&long, str::to_owned).unwrap();
        let text = texts.brief.unwrap();
        assert_eq!(texts.whole, text, "beyond what a terminal shows");
        assert!(
            text.contains("\"target\":\"production\"") && text.contains("characters left out"),
            "{text}"
        );
        // What is not a long text is shown whole, or not at all.
        let with = |many: Value| argument_texts(&json!({"first": many, "amount": 7_777_777, "last": 2}), str::to_owned);
        let many = |count: usize| -> [Value; 2] {
            let members = (0..count).map(|number| (format!("a{number}"), json!("v"))).collect();
            [json!([1].repeat(count)), members]
        };
        for many in many(6_000) {
            let texts = with(many).unwrap();
            assert!(texts.brief.is_none() && texts.whole.contains("7777777"));
        }
        for many in many(600_000) {
            assert!(with(many).unwrap_err().chars > MAX_ARGUMENTS);
        }
        // A terminal shows long texts whole.
        let texts = argument_texts(&json!({"text": "p".repeat(5_000)}), str::to_owned).unwrap();
        assert!(texts.whole.len() > 5_000 && texts.brief.unwrap().len() < 1_000);
    }

    #[test]
    fn secrets_are_cut_out_before_texts_are() {
        let redact = |text: &str| text.replace("s3cret-value", "***");
        let texts = argument_texts(&json!({"a": format!("{}s3cret-value{}", "x".repeat(195), "y".repeat(500))}), redact).unwrap();
        assert!(!texts.whole.contains("s3c") && !texts.brief.unwrap().contains("s3c"));
    }
}
