//! What a person reads of a call before it is allowed. Everything in it but our own words was written by others, so that none
//! of it can end a line, change the direction of writing or hide.

use std::fmt::Write as _;

use serde_json::Value;
use thiserror::Error;

use super::facts::Facts;

/// Characters of one text among the arguments.
const MAX_TEXT: usize = 300;
/// Characters of all arguments.
const MAX_ARGUMENTS: usize = 4_000;
/// Letters that are not seen. (Unicode, `Default_Ignorable_Code_Point`)
const UNSEEN_LETTERS: [char; 4] = ['\u{115f}', '\u{1160}', '\u{3164}', '\u{ffa0}'];

/// The question about a call. `arguments` is what [`arguments_text`] made of them.
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

/// Arguments in one line, of which long texts are cut in the middle. `redact` takes secrets out of JSON.
///
/// # Errors
///
/// Its length, if that is more than a person reads: what is left out could be what matters.
pub(crate) fn arguments_text(arguments: &Value, redact: impl Fn(&str) -> String) -> Result<String, TooLong> {
    // Secrets go first: half of one would not be found.
    let clean = redact(&arguments.to_string());
    let short = serde_json::from_str::<Value>(&clean).map(shortened);
    let text = escaped(&short.map_or(clean, |short| short.to_string()));
    let chars = text.chars().count();
    if chars > MAX_ARGUMENTS { Err(TooLong { chars }) } else { Ok(text) }
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
        let text = arguments_text(&hostile, str::to_owned).unwrap();
        assert_eq!(
            text,
            r#"{"a\nserver: safe":"x\u202eevil\r\u2066\u200b\ufeff\udb40\udc41\u2028é中"}"#
        );
        assert_eq!(escaped("DELETE /a\n\tb\u{7f}"), "DELETE /a\\u000a\\u0009b\\u007f");
    }

    #[test]
    fn long_arguments_keep_their_names_start_and_end() {
        let long = json!({"padding": "p".repeat(1_000_000), "target": "production"});
        let text = arguments_text(&long, str::to_owned).unwrap();
        assert!(
            text.contains("\"target\":\"production\"") && text.contains("characters left out"),
            "{text}"
        );
        // What is not a long text is shown whole, or not at all.
        for many in [
            json!([1].repeat(6_000)),
            (0..800).map(|number| (format!("a{number}"), json!("v"))).collect(),
        ] {
            let refused = arguments_text(&json!({"first": many, "amount": 7_777_777, "last": 2}), str::to_owned);
            assert!(refused.unwrap_err().chars > MAX_ARGUMENTS);
        }
    }

    #[test]
    fn secrets_are_cut_out_before_texts_are() {
        let redact = |text: &str| text.replace("s3cret-value", "***");
        let text = arguments_text(&json!({"a": format!("{}s3cret-value{}", "x".repeat(195), "y".repeat(500))}), redact).unwrap();
        assert!(!text.contains("s3c"), "{text}");
    }
}
