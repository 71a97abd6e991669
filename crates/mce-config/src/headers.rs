//! Header fields of every request to a server.

use serde_json::{Map, Value};

use crate::auth::header_safe;
use crate::field::Field;
use crate::reader::{Reader, found};
use crate::redact::is_random;
use crate::yaml::{Kind, Node};
use crate::{ConfigError, Secret};

const EXPECTED: &str = "a mapping of header names to texts, or a text such as `[name: value, name: value]`";

/// Header fields in the order they were written.
pub(crate) type Headers = Vec<(String, Secret)>;

/// Parts of names of fields that hold secrets.
const SECRET_WORDS: [&str; 10] = [
    "auth",
    "key",
    "token",
    "secret",
    "cookie",
    "session",
    "password",
    "credential",
    "signature",
    "sid",
];

/// Further ones of names of variables.
const VARIABLE_WORDS: [&str; 3] = ["dsn", "pass", "pwd"];

/// What media types begin with.
const MEDIA_TYPES: [&str; 5] = ["*", "application", "image", "multipart", "text"];

/// A shorter value, in bytes, is a word like others.
const MIN_VALUE_BYTES: usize = 8;

/// Whether the value of a configured header field is masked in what is printed and cut out of answers.
///
/// Not secret are short words, versions, dates and media types, as they are common in answers: they are where no variable
/// is in the value and the name tells of no secret.
pub fn is_secret_header(name: &str, value: &Secret) -> bool {
    let text = value.text();
    let is_version = text.contains(['.', '-', ':']) && text.chars().all(|c| c.is_ascii_digit() || "vTZ.:+- ".contains(c));
    let is_media_type = |part: &str| part.split_once('/').is_some_and(|(kind, _)| MEDIA_TYPES.contains(&kind));
    let mut parts = text.split([',', ';']).map(str::trim);
    let is_public = is_version || parts.all(|part| part.len() < MIN_VALUE_BYTES || is_media_type(part));
    has_secret_name(name) || value.has_variable() || has_random_word(text) || !is_public
}

/// Whether the value of a variable of an MCP server is cut out of answers: where the variable's name tells of a secret, and
/// where the value is a variable's, is a URL with a password, or has a word in it that nobody would say. Paths, addresses, words,
/// numbers, versions and names of places are not secret: answers are full of them.
pub fn is_secret_variable(name: &str, value: &Secret) -> bool {
    let text = value.text();
    let has_password = text.split_once("://").is_some_and(|(_, rest)| rest.contains('@'));
    let is_path = text.contains('/') && !text.contains("://");
    let is_odd = if text.contains("://") {
        has_random_word(text)
    } else {
        text.len() >= MIN_VALUE_BYTES && (text.contains(ODD_MARKS) || text.split(|c: char| !c.is_ascii_alphanumeric()).any(is_made_up))
    };
    let has_word = VARIABLE_WORDS.iter().any(|word| name.to_ascii_lowercase().contains(word));
    has_word || has_secret_name(name) || has_password || (!is_path && (value.has_variable() || is_odd))
}

/// Marks that are in passwords more often than in names and addresses.
const ODD_MARKS: [char; 12] = ['!', '#', '$', '%', '^', '&', '*', '+', '?', '|', '\\', '`'];

/// A shorter word, in bytes, is a name such as `v2` or `x64`.
const MIN_MADE_UP_BYTES: usize = 6;

/// Whether letters and digits, or small and capital letters, are mixed as in no word.
fn is_made_up(word: &str) -> bool {
    let has = |kind: fn(&u8) -> bool| word.bytes().any(|byte| kind(&byte));
    let has_inner_capital = word.bytes().skip(1).any(|byte| byte.is_ascii_uppercase());
    let is_mixed = has(u8::is_ascii_lowercase) && has_inner_capital || has(u8::is_ascii_digit) && has(u8::is_ascii_alphabetic);
    word.len() >= MIN_MADE_UP_BYTES && is_mixed
}

fn has_secret_name(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    SECRET_WORDS.iter().any(|word| name.contains(word))
}

fn has_random_word(text: &str) -> bool {
    text.split(|c: char| !c.is_ascii_alphanumeric()).any(is_random)
}

/// Adds the fields of `extra_headers:` or `headers:`; a name that is already there keeps its value.
pub(crate) fn read_headers(reader: &mut Reader<'_>, key: &str, field: Field, headers: &mut Headers) -> Result<(), ConfigError> {
    let entries = match &field.node.kind {
        Kind::Scalar(text) => split(&field, text)?,
        Kind::Null | Kind::List(_) | Kind::Map(_) => field.into_entries(EXPECTED)?,
    };
    for (name, value) in entries {
        read_header(reader, key, (&name, &value), headers)?;
    }
    Ok(())
}

/// Adds the fields of a JSON object, as a variable holds it.
pub(crate) fn read_json_headers(reader: &mut Reader<'_>, key: &str, field: &Field, headers: &mut Headers) -> Result<(), ConfigError> {
    let expected = "a JSON object of header names and texts";
    let object: Map<String, Value> = serde_json::from_str(field.scalar(expected)?).map_err(|_| field.unexpected(expected))?;
    for (name, value) in object {
        let text = match value {
            Value::String(text) => text,
            Value::Number(number) => number.to_string(),
            Value::Bool(flag) => flag.to_string(),
            Value::Null | Value::Array(_) | Value::Object(_) => return Err(field.unexpected(expected)),
        };
        read_header(reader, key, (&name, &with_text(field, &text)), headers)?;
    }
    Ok(())
}

fn read_header(reader: &mut Reader<'_>, key: &str, (name, field): (&str, &Field), headers: &mut Headers) -> Result<(), ConfigError> {
    if !is_header_name(name) {
        return Err(field.refuse("a header name", found(name)));
    }
    if headers.iter().all(|(known, _)| !known.eq_ignore_ascii_case(name)) {
        let value = reader.masked_if(&format!("{key}.{name}"), field, |value| is_secret_header(name, value))?;
        headers.push((name.to_owned(), header_safe(field, value)?));
    }
    Ok(())
}

/// `[k: v, k2: v2]`, with or without the brackets.
fn split(field: &Field, text: &str) -> Result<Vec<(String, Field)>, ConfigError> {
    let text = text.trim();
    let text = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')).unwrap_or(text);
    let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty());
    parts
        .map(|part| {
            let (name, value) = part.split_once(':').ok_or_else(|| field.unexpected(EXPECTED))?;
            Ok((name.trim().to_owned(), with_text(field, value.trim())))
        })
        .collect()
}

fn with_text(field: &Field, text: &str) -> Field {
    Field {
        node: Node::text(text),
        place: field.place.clone(),
        directory: field.directory.clone(),
    }
}

/// A token. (RFC 9110, 5.6.2)
fn is_header_name(name: &str) -> bool {
    !name.is_empty()
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_dates_words_and_media_types_are_no_secrets() {
        for (name, value, is_secret) in [
            ("Notion-Version", "2022-06-28", false),
            ("Accept", "application/vnd.github+json", false),
            ("X-Api-Version", "v1.2.3", false),
            ("X-Tenant", "acme", false),
            ("Accept-Language", "en-US, en;q=0.5", false),
            ("X-Tenant", "acme-internal", true),
            ("X-Request", "a/0123456789abcdef0", true),
            ("X-Secret", "abc", true),
            ("Cookie", "a=b", true),
        ] {
            assert_eq!(is_secret_header(name, &Secret::new(value)), is_secret, "{name}: {value}");
        }
        assert!(is_secret_header("X-A", &Secret::with_parts("v1", vec!["1".to_owned()])));
    }

    #[test]
    fn variables_are_secret_by_name_by_origin_and_by_look_but_paths_are_not() {
        for (name, value, is_secret) in [
            ("GITHUB_TOKEN", "x", true),
            ("DB_PASS", "x", true),
            ("SENTRY_DSN", "x", true),
            ("DATABASE", "postgres://me:word@host/db", true),
            ("ID", "a0123456789abcdef0", true),
            ("LOG_LEVEL", "production", false),
            ("PORT", "3000", false),
            ("MEMORY_FILE_PATH", "/home/me/0123456789abcdef0.json", false),
            ("HOMEPAGE", "https://example.com/x", false),
        ] {
            assert_eq!(is_secret_variable(name, &Secret::new(value)), is_secret, "{name}: {value}");
        }
        for (value, is_secret) in [
            ("hunter2x", true),
            ("correctHorse", true),
            ("horse!battery", true),
            ("550e8400-e29b-41d4-a716-446655440000", true),
            ("production", false),
            ("plain words of nobody", false),
            ("us-east-1", false),
            ("gpt-4o-mini", false),
            ("en_US.UTF-8", false),
            ("2025-11-25", false),
            ("localhost:8080", false),
            ("--max-old-space-size=4096", false),
            ("https://api.example.com/v1/things", false),
            ("/home/ann/Data2024x", false),
            ("x1y2z3", false),
        ] {
            assert_eq!(is_secret_variable("A", &Secret::new(value)), is_secret, "{value}");
        }
        let of_variable = |text: &str| Secret::with_parts(text, vec![text.to_owned()]);
        assert!(is_secret_variable("A", &of_variable("word")));
        assert!(!is_secret_variable("A", &of_variable("/data/x")));
    }
}
