//! YAML text (JSON is YAML) becomes a tree in which each value knows its line. What a scalar means is decided by who reads it.

use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, SeqAccess, Visitor};
use serde_saphyr::options::{DuplicateKeyPolicy, NonFiniteFloatPolicy};
use serde_saphyr::{Error, Location, Options, Spanned};

/// Configuration is shallow: `servers.shop.auth.value` is the deepest key that means anything.
const MAX_DEPTH: usize = 32;

/// Lists and mappings may be long, but nobody writes this many values by hand.
const MAX_NODES: usize = 200_000;

/// A value and its line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Node {
    /// From 1; 0 if it is from no file.
    pub(crate) line: u64,
    pub(crate) kind: Kind,
    /// A number or a boolean, written without quotes.
    pub(crate) is_plain: bool,
}

impl Node {
    /// A text from no file.
    pub(crate) fn text(text: &str) -> Self {
        Self {
            line: 0,
            kind: Kind::Scalar(text.to_owned()),
            is_plain: false,
        }
    }
}

/// What a value is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// `null`, `~` or nothing.
    Null,
    /// A text, a number or a boolean; the last two as written, because `1.10` may be meant as a text.
    Scalar(String),
    List(Vec<Node>),
    /// In the order of the file.
    Map(Vec<Entry>),
}

/// A key and its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) key: String,
    /// The key's line.
    pub(crate) line: u64,
    pub(crate) value: Node,
}

/// Why a text is not what it should be.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct SyntaxError {
    pub(crate) line: Option<u64>,
    pub(crate) message: String,
    /// What to do about it.
    pub(crate) hint: Option<&'static str>,
}

/// Reads one document. An empty one is null.
pub(crate) fn parse(text: &str) -> Result<Node, SyntaxError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let is_comment = |line: &str| line.trim_start().is_empty() || line.trim_start().starts_with('#');
    if text.lines().all(is_comment) {
        return Ok(Node {
            line: 1,
            kind: Kind::Null,
            is_plain: false,
        });
    }
    let raw: Spanned<Raw> = serde_saphyr::from_str_with_options(text, options()).map_err(|error| explain(&error))?;
    settle(raw, text)
}

/// YAML 1.2: `no` is a text and `0755` is no octal number. A key given twice is an error.
fn options() -> Options {
    serde_saphyr::options! {
        budget: serde_saphyr::budget! { max_depth: MAX_DEPTH, max_nodes: MAX_NODES },
        duplicate_keys: DuplicateKeyPolicy::Error,
        strict_booleans: true,
        leading_zero_numbers_as_strings: true,
        underscored_numbers_as_strings: true,
        non_finite_float_policy: NonFiniteFloatPolicy::AsString,
    }
}

/// The library's own words can repeat a secret that was not quoted, so only their kind is kept.
fn explain(error: &Error) -> SyntaxError {
    let error = error.without_snippet();
    let line = error.location().map(|location| location.line());
    let quotes = "put a value that holds one of `: # & * ! % @ { } [ ]` in quotes";
    let (message, hint) = match error {
        Error::DuplicateMappingKey { key: Some(key), .. } => (format!("key `{key}` is given twice"), Some("remove one of them")),
        Error::DuplicateMappingKey { key: None, .. } => ("a key is given twice".to_owned(), Some("remove one of them")),
        Error::MultipleDocuments { .. } => ("there is more than one YAML document".to_owned(), Some("keep one, without `---`")),
        Error::UnknownAnchor { .. } => ("`*` refers to an anchor that is not defined".to_owned(), Some(quotes)),
        Error::Budget { .. } => ("the document is too large or too deep".to_owned(), None),
        _ => ("the text is not valid YAML".to_owned(), Some(quotes)),
    };
    SyntaxError { line, message, hint }
}

/// As the deserializer gives it, before numbers get their written form back.
enum Raw {
    Null,
    Text(String),
    /// A number or a boolean in the deserializer's own form.
    Plain(String),
    List(Vec<Spanned<Self>>),
    Map(Vec<(Spanned<Self>, Spanned<Self>)>),
}

fn settle(raw: Spanned<Raw>, text: &str) -> Result<Node, SyntaxError> {
    let line = raw.referenced.line();
    let is_plain = matches!(raw.value, Raw::Plain(_));
    let kind = match raw.value {
        Raw::Null => Kind::Null,
        Raw::Text(scalar) => Kind::Scalar(scalar),
        Raw::Plain(scalar) => Kind::Scalar(written_form(&raw.defined, text).map_or(scalar, str::to_owned)),
        Raw::List(items) => Kind::List(items.into_iter().map(|item| settle(item, text)).collect::<Result<_, _>>()?),
        Raw::Map(entries) => Kind::Map(
            entries
                .into_iter()
                .map(|entry| settle_entry(entry, text))
                .collect::<Result<_, _>>()?,
        ),
    };
    Ok(Node { line, kind, is_plain })
}

fn settle_entry((key, value): (Spanned<Raw>, Spanned<Raw>), text: &str) -> Result<Entry, SyntaxError> {
    let key = settle(key, text)?;
    let Kind::Scalar(name) = key.kind else {
        return Err(SyntaxError {
            line: Some(key.line),
            message: "a key must be a text".to_owned(),
            hint: None,
        });
    };
    Ok(Entry {
        key: name,
        line: key.line,
        value: settle(value, text)?,
    })
}

fn written_form<'a>(location: &Location, text: &'a str) -> Option<&'a str> {
    let start = usize::try_from(location.span().byte_offset()?).ok()?;
    let length = usize::try_from(location.span().byte_len()?).ok()?;
    let written = text.get(start..start.checked_add(length)?)?.trim();
    (!written.is_empty() && !written.contains(char::is_whitespace)).then_some(written)
}

impl<'de> Deserialize<'de> for Raw {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(RawVisitor)
    }
}

struct RawVisitor;

impl<'de> Visitor<'de> for RawVisitor {
    type Value = Raw;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a YAML value")
    }

    fn visit_unit<E>(self) -> Result<Raw, E> {
        Ok(Raw::Null)
    }

    fn visit_none<E>(self) -> Result<Raw, E> {
        Ok(Raw::Null)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Raw, D::Error> {
        deserializer.deserialize_any(self)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Raw, E> {
        Ok(Raw::Plain(value.to_string()))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Raw, E> {
        Ok(Raw::Plain(value.to_string()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Raw, E> {
        Ok(Raw::Plain(value.to_string()))
    }

    fn visit_i128<E>(self, value: i128) -> Result<Raw, E> {
        Ok(Raw::Plain(value.to_string()))
    }

    fn visit_u128<E>(self, value: u128) -> Result<Raw, E> {
        Ok(Raw::Plain(value.to_string()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Raw, E> {
        Ok(Raw::Plain(value.to_string()))
    }

    fn visit_str<E>(self, value: &str) -> Result<Raw, E> {
        Ok(Raw::Text(value.to_owned()))
    }

    fn visit_string<E>(self, value: String) -> Result<Raw, E> {
        Ok(Raw::Text(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<Raw, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = sequence.next_element()? {
            items.push(item);
        }
        Ok(Raw::List(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Raw, A::Error> {
        let mut entries = Vec::new();
        while let Some(entry) = map.next_entry()? {
            entries.push(entry);
        }
        Ok(Raw::Map(entries))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scalar(text: &str) -> String {
        match parse(text).unwrap().kind {
            Kind::Map(entries) => match &entries[0].value.kind {
                Kind::Scalar(scalar) => scalar.clone(),
                other => format!("{other:?}"),
            },
            other => format!("{other:?}"),
        }
    }

    #[test]
    fn scalars_keep_their_written_form() {
        for (text, expected) in [
            ("a: 1.10", "1.10"),
            ("a: 0755", "0755"),
            ("a: 1_000", "1_000"),
            ("a: 0x1F", "0x1F"),
            ("a: no", "no"),
            ("a: True", "True"),
            ("a: 'true'", "true"),
            ("a: -5 # five", "-5"),
            ("{\"a\": 12}", "12"),
            ("a: .nan", ".nan"),
            ("a: 123456789012345678901234567890", "123456789012345678901234567890"),
            ("# é\nb: &x 1.50\nc: *x", "1.50"),
            ("a: ~", "Null"),
            ("a:", "Null"),
        ] {
            assert_eq!(scalar(text), expected, "{text}");
        }
    }

    #[test]
    fn values_and_keys_know_their_lines() {
        let Kind::Map(entries) = parse("# one\nservers:\n  shop:\n    base_url: x\nport: 1\n").unwrap().kind else {
            panic!("a mapping")
        };
        assert_eq!((entries[0].line, entries[0].value.line, entries[1].line), (2, 3, 5));
    }

    #[test]
    fn a_text_that_is_not_yaml_is_refused_with_its_line_and_without_its_words() {
        for (text, line, message) in [
            ("a: 1\na: 2", Some(2), "key `a` is given twice"),
            ("a: *hunter2", Some(1), "`*` refers to an anchor that is not defined"),
            ("a: 1\nb: @hunter2", Some(2), "the text is not valid YAML"),
            ("a: 1\n---\nb: 2", Some(3), "there is more than one YAML document"),
            ("a: [1", Some(1), "the text is not valid YAML"),
            ("[1]: 2", Some(1), "a key must be a text"),
        ] {
            let error = parse(text).unwrap_err();
            assert_eq!((error.line, error.message.as_str()), (line, message), "{text}");
        }
    }

    #[test]
    fn deep_and_multiplying_documents_are_refused() {
        let deep = "[".repeat(100) + &"]".repeat(100);
        assert_eq!(parse(&deep).unwrap_err().message, "the document is too large or too deep");
        let level = |i: usize| format!("a{}: &a{} [{}]\n", i + 1, i + 1, vec![format!("*a{i}"); 10].join(", "));
        let bomb = "a0: &a0 [x, x]\n".to_owned() + &(0..9).map(level).collect::<String>();
        assert!(parse(&bomb).is_err());
    }

    #[test]
    fn an_empty_document_is_null() {
        for text in ["", "\n", "# only a comment\n", "\u{feff}", "---\n"] {
            assert_eq!(parse(text).unwrap().kind, Kind::Null, "{text:?}");
        }
    }
}
