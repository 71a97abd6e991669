//! Bytes to one JSON value, bounded: byte order marks, UTF-16, JSON, YAML, repeated keys, depth, nodes.

use std::cell::RefCell;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

use super::{CompileError, Problem};
use crate::pointer::escape;

/// No document is read beyond this size; the largest known one has 47 MB.
const MAX_BYTES: usize = 256 * 1024 * 1024;
/// Levels of nesting; the deepest known document has 29. Walks over a document recurse at most this deep.
const MAX_DEPTH: usize = 128;
/// Repeated keys that are reported, for each file.
const MAX_REPEATED_KEYS: usize = 20;
const TOO_MANY_NODES: &str = "its aliases and anchors expand to too large a document";

/// The value of a document, and the keys that occur twice in it (the last one counts).
pub(super) fn parse(bytes: &[u8]) -> Result<(Value, Vec<Problem>), CompileError> {
    if bytes.len() > MAX_BYTES {
        return Err(CompileError::TooLarge {
            bytes: bytes.len(),
            limit: MAX_BYTES,
        });
    }
    let packed = [("gzip", &b"\x1f\x8b"[..]), ("zip", b"PK\x03\x04")];
    if let Some((format, _)) = packed.into_iter().find(|(_, mark)| bytes.starts_with(mark)) {
        return Err(CompileError::Compressed { format });
    }
    let text = decode(bytes)?;
    if text.trim_start().is_empty() {
        return Err(CompileError::Empty);
    }
    if !text.trim_start().starts_with('{') {
        return yaml(&text);
    }
    match json(&text) {
        // What looks like JSON may be YAML in flow style; if it is neither, the error of JSON says more.
        Err(error @ CompileError::Syntax { .. }) => yaml(&text).map_err(|_| error),
        result => result,
    }
}

/// The text without its byte order mark.
fn decode(bytes: &[u8]) -> Result<std::borrow::Cow<'_, str>, CompileError> {
    let encoding = match bytes {
        // UTF-32, which nobody should use.
        [0xFF, 0xFE, 0, 0, ..] | [0, 0, ..] | [_, 0, 0, 0, ..] => return Err(CompileError::NotText { line: 1 }),
        [0xFF, 0xFE, ..] | [_, 0, ..] => encoding_rs::UTF_16LE,
        [0xFE, 0xFF, ..] | [0, _, ..] => encoding_rs::UTF_16BE,
        _ => encoding_rs::UTF_8,
    };
    let (text, had_errors) = encoding.decode_with_bom_removal(bytes);
    if had_errors {
        let good = std::str::from_utf8(bytes).map_or_else(|error| error.valid_up_to(), str::len);
        let line = 1 + bytes.iter().take(good).filter(|byte| **byte == b'\n').count();
        return Err(CompileError::NotText { line });
    }
    Ok(text)
}

fn json(text: &str) -> Result<(Value, Vec<Problem>), CompileError> {
    let state = State::new(text.len());
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let value = Nested { state: &state, depth: 0 }
        .deserialize(&mut deserializer)
        .and_then(|value| deserializer.end().map(|()| value));
    match value {
        Ok(value) => Ok((value, state.problems())),
        Err(error) => {
            let message = error.to_string();
            let place = format!(" at line {} column {}", error.line(), error.column());
            let message = message.strip_suffix(&place).unwrap_or(&message).to_owned();
            if message.starts_with("recursion limit") {
                return Err(CompileError::Limit {
                    message: format!("it is nested deeper than {MAX_DEPTH} levels (line {})", error.line()),
                });
            }
            Err(state.error("JSON", message, error.line(), error.column()))
        }
    }
}

fn yaml(text: &str) -> Result<(Value, Vec<Problem>), CompileError> {
    let state = State::new(text.len());
    let options = yaml_options(text.len());
    let result = serde_saphyr::with_deserializer_from_str_with_options(text, options, |deserializer| {
        Nested { state: &state, depth: 0 }.deserialize(deserializer)
    });
    match result {
        Ok(Value::Null) => Err(CompileError::Empty),
        Ok(value) => Ok((value, state.problems())),
        Err(error) => {
            let location = error.location();
            let (line, column) = location.map_or((1, 1), |location| (location.line(), location.column()));
            let message = error.without_snippet().to_string();
            let message = message.lines().next().unwrap_or_default();
            let message = message.split(" at line ").next().unwrap_or(message).to_owned();
            let message = if message.starts_with("multiple YAML documents") {
                "a second YAML document begins here, and only one is read".to_owned()
            } else {
                message
            };
            if matches!(error.without_snippet(), serde_saphyr::Error::Eof { .. }) {
                return Err(CompileError::Empty);
            }
            let number = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
            Err(state.error("YAML", message, number(line), number(column)))
        }
    }
}

/// YAML 1.2 core, as most parsers read it; budgets follow the size of the text, so that aliases cannot multiply it.
fn yaml_options(bytes: usize) -> serde_saphyr::Options {
    let nodes = max_nodes(bytes);
    serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            max_reader_input_bytes: Some(MAX_BYTES),
            max_events: nodes.saturating_mul(3),
            max_nodes: nodes,
            max_depth: MAX_DEPTH,
            max_documents: 16,
            max_aliases: nodes,
            max_anchors: nodes,
            max_merge_keys: nodes,
            max_recorded_anchor_events: nodes.saturating_mul(3),
            max_total_scalar_bytes: max_text(bytes),
            enforce_alias_anchor_ratio: false,
            // Keys of paths with many templates are longer than the 1,024 characters of the standard only in broken files.
            simple_key_max_lookahead: 4096
        },
        alias_limits: serde_saphyr::alias_limits! { max_total_replayed_events: nodes.saturating_mul(3) },
        duplicate_keys: serde_saphyr::options::DuplicateKeyPolicy::PassThrough,
        strict_booleans: true,
        leading_zero_numbers_as_strings: true,
        underscored_numbers_as_strings: true,
        null_as_string: true,
        ignore_binary_tag_for_string: true,
        non_finite_float_policy: serde_saphyr::options::NonFiniteFloatPolicy::AsString,
        emit_comments: false,
        with_snippet: false
    }
}

/// Without aliases, a text of `n` bytes has fewer than `n` nodes; honest aliases multiply them by little.
fn max_nodes(bytes: usize) -> usize {
    bytes.saturating_mul(4).saturating_add(100_000).min(20_000_000)
}

/// Likewise for the text of scalars.
fn max_text(bytes: usize) -> usize {
    bytes.saturating_mul(8).saturating_add(1_000_000)
}

/// A step of a JSON Pointer.
enum Token {
    Key(String),
    Index(usize),
}

impl fmt::Display for Token {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Key(key) => write!(formatter, "/{}", escape(key)),
            Self::Index(index) => write!(formatter, "/{index}"),
        }
    }
}

/// What is counted while a document is read.
struct State {
    nodes_left: std::cell::Cell<usize>,
    text_left: std::cell::Cell<usize>,
    path: RefCell<Vec<Token>>,
    repeated: RefCell<Vec<Problem>>,
    limit: std::cell::Cell<Option<&'static str>>,
}

impl State {
    fn new(bytes: usize) -> Self {
        Self {
            nodes_left: max_nodes(bytes).into(),
            text_left: max_text(bytes).into(),
            path: RefCell::default(),
            repeated: RefCell::default(),
            limit: std::cell::Cell::default(),
        }
    }

    fn count(&self, text: usize) -> bool {
        let (nodes, bytes) = (self.nodes_left.get().checked_sub(1), self.text_left.get().checked_sub(text));
        let (Some(nodes), Some(bytes)) = (nodes, bytes) else {
            self.limit.set(Some(TOO_MANY_NODES));
            return false;
        };
        self.nodes_left.set(nodes);
        self.text_left.set(bytes);
        true
    }

    fn note_repeated(&self, key: &str) {
        let mut repeated = self.repeated.borrow_mut();
        if repeated.len() < MAX_REPEATED_KEYS {
            let pointer = self.path.borrow().iter().map(Token::to_string).collect();
            let key = super::prose::quote(key);
            repeated.push(Problem {
                pointer,
                message: format!("duplicate key `{key}`: the last one counts"),
            });
        }
    }

    fn problems(self) -> Vec<Problem> {
        self.repeated.into_inner()
    }

    /// Budgets end reading with an error of the parser's own; ours says what it means.
    fn error(&self, format: &'static str, message: String, line: usize, column: usize) -> CompileError {
        if let Some(limit) = self.limit.get() {
            return CompileError::Limit { message: limit.to_owned() };
        }
        let lower = message.to_lowercase();
        if lower.contains("depth") || lower.contains("nesting") || lower.contains("recursion") {
            return CompileError::Limit {
                message: format!("it is nested deeper than {MAX_DEPTH} levels (line {line})"),
            };
        }
        if ["budget", "alias replay", "expansion", "limit exceeded"]
            .iter()
            .any(|word| lower.contains(word))
        {
            return CompileError::Limit {
                message: format!("{TOO_MANY_NODES} (line {line})"),
            };
        }
        CompileError::Syntax {
            format,
            message,
            line,
            column,
        }
    }
}

/// One value below the top.
#[derive(Clone, Copy)]
struct Nested<'s> {
    state: &'s State,
    depth: usize,
}

impl Nested<'_> {
    fn deeper<E: serde::de::Error>(self) -> Result<Self, E> {
        if self.depth >= MAX_DEPTH {
            self.state.limit.set(Some("it is nested too deep"));
            return Err(E::custom("nested too deep"));
        }
        Ok(Self {
            depth: self.depth + 1,
            ..self
        })
    }

    fn count<E: serde::de::Error>(self, text: usize) -> Result<(), E> {
        if self.state.count(text) {
            Ok(())
        } else {
            Err(E::custom(TOO_MANY_NODES))
        }
    }
}

impl<'de> DeserializeSeed<'de> for Nested<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Nested<'_> {
    type Value = Value;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a value of JSON")
    }

    fn visit_bool<E: serde::de::Error>(self, value: bool) -> Result<Value, E> {
        self.count(0).map(|()| Value::Bool(value))
    }

    fn visit_i64<E: serde::de::Error>(self, value: i64) -> Result<Value, E> {
        self.count(0).map(|()| value.into())
    }

    fn visit_u64<E: serde::de::Error>(self, value: u64) -> Result<Value, E> {
        self.count(0).map(|()| value.into())
    }

    fn visit_i128<E: serde::de::Error>(self, value: i128) -> Result<Value, E> {
        self.visit_str(&value.to_string())
            .map(|text| text.as_str().and_then(|text| text.parse().ok()).map_or(text, float))
    }

    fn visit_u128<E: serde::de::Error>(self, value: u128) -> Result<Value, E> {
        self.visit_str(&value.to_string())
            .map(|text| text.as_str().and_then(|text| text.parse().ok()).map_or(text, float))
    }

    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<Value, E> {
        self.count(0).map(|()| float(value))
    }

    fn visit_str<E: serde::de::Error>(self, value: &str) -> Result<Value, E> {
        self.visit_string(value.to_owned())
    }

    fn visit_string<E: serde::de::Error>(self, value: String) -> Result<Value, E> {
        self.count(value.len()).map(|()| Value::String(value))
    }

    fn visit_unit<E: serde::de::Error>(self) -> Result<Value, E> {
        self.count(0).map(|()| Value::Null)
    }

    fn visit_none<E: serde::de::Error>(self) -> Result<Value, E> {
        self.visit_unit()
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        self.count(0)?;
        let inner = self.deeper()?;
        let mut values = Vec::new();
        loop {
            self.state.path.borrow_mut().push(Token::Index(values.len()));
            let item = items.next_element_seed(inner)?;
            self.state.path.borrow_mut().pop();
            match item {
                Some(value) => values.push(value),
                None => break,
            }
        }
        Ok(Value::Array(values))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        self.count(0)?;
        let inner = self.deeper()?;
        let mut map = Map::new();
        while let Some(key) = entries.next_key::<String>()? {
            self.count::<A::Error>(key.len()).map_err(A::Error::custom)?;
            self.state.path.borrow_mut().push(Token::Key(key));
            let value = entries.next_value_seed(inner)?;
            let Some(Token::Key(key)) = self.state.path.borrow_mut().pop() else {
                break;
            };
            if map.contains_key(&key) {
                self.state.note_repeated(&key);
            }
            map.insert(key, value);
        }
        Ok(Value::Object(map))
    }
}

fn float(value: f64) -> Value {
    Number::from_f64(value).map_or(Value::Null, Value::Number)
}
