//! Values as source text. Whatever a text holds, the literal made from it is one literal and nothing else.

use std::fmt::Write as _;

use serde_json::Value;

use super::{Language, identifier};

/// A value as an expression.
pub(super) fn literal(value: &Value, language: Language) -> String {
    let word = |python: &str, typescript: &str| if language == Language::Python { python } else { typescript }.to_owned();
    match value {
        Value::Null => word("None", "null"),
        Value::Bool(true) => word("True", "true"),
        Value::Bool(false) => word("False", "false"),
        Value::Number(number) => number.to_string(),
        Value::String(text) => text_literal(text),
        Value::Array(items) => list(items.iter().map(|item| literal(item, language))),
        Value::Object(members) => object(
            members.iter().map(|(key, value)| (key.as_str(), literal(value, language))),
            language,
        ),
    }
}

/// A text as a literal of Python and of TypeScript: quotes, backslashes and all that is not plainly visible are escaped.
pub(super) fn text_literal(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\r' => out.push_str("\\r"),
            _ if super::prose::is_unsafe(c) => {
                // All of these are in the first plane, where both languages read four digits. Writing to a String cannot fail.
                let _ = write!(out, "\\u{:04x}", u32::from(c));
            }
            _ => out.push(c),
        }
    }
    out.push('"');
    out
}

/// A list of expressions.
pub(super) fn list(items: impl Iterator<Item = String>) -> String {
    format!("[{}]", items.collect::<Vec<_>>().join(", "))
}

/// An object of expressions.
pub(super) fn object<'a>(members: impl Iterator<Item = (&'a str, String)>, language: Language) -> String {
    let members: Vec<String> = members
        .map(|(key, value)| format!("{}: {value}", object_key(key, language)))
        .collect();
    match (members.is_empty(), language) {
        (true, _) => "{}".to_owned(),
        (false, Language::Python) => format!("{{{}}}", members.join(", ")),
        (false, Language::TypeScript) => format!("{{ {} }}", members.join(", ")),
    }
}

fn object_key(key: &str, language: Language) -> String {
    match language {
        Language::TypeScript if identifier::is_typescript(key) && key != "__proto__" => key.to_owned(),
        // In an object literal this key would set the prototype.
        Language::TypeScript if key == "__proto__" => format!("[{}]", text_literal(key)),
        Language::Python | Language::TypeScript => text_literal(key),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_literal_holds_its_text_and_nothing_more() {
        let check = |text: &str, expected: &str| assert_eq!(text_literal(text), expected);
        check("a\"b\\c\nd", r#""a\"b\\c\nd""#);
        check("\u{2028}\u{0}\u{202e}\u{7f}", r#""\u2028\u0000\u202e\u007f""#);
        check("${x} '*/ #", "\"${x} '*/ #\"");
        check("😀", "\"😀\"");
    }

    #[test]
    fn values_are_written_in_the_words_of_the_language() {
        let value = json!({"a": [null, true, 1.5], "b-c": "x", "__proto__": {}});
        assert_eq!(
            literal(&value, Language::Python),
            r#"{"a": [None, True, 1.5], "b-c": "x", "__proto__": {}}"#
        );
        assert_eq!(
            literal(&value, Language::TypeScript),
            r#"{ a: [null, true, 1.5], "b-c": "x", ["__proto__"]: {} }"#
        );
    }
}
