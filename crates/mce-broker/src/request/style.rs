//! Styles of parameters, common to all places: what a value consists of, and how its parts are joined.
//! (OpenAPI 3.1, Style Values; RFC 6570)

use mce_catalog::function::Style;
use serde_json::Value;

use super::encode::{encode, encode_except};
use super::value_text::value_text;

/// Reserved characters that pass with `allowReserved`, but for those that would end or split a pair (`#`, `&`, `+`) and
/// the quote, which URLs do not hold.
const RESERVED_IN_QUERY: &[u8] = b":/?[]@!$()*,;=-._~abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
/// The same in a path, which `?` would end.
pub(super) const RESERVED_IN_PATH: &[u8] = b":/@!$&'()*+,;=-._~abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";

/// A value by its shape, its parts as text. Undefined parts are left out. (RFC 6570, section 2.3)
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Shape {
    /// Null, or an array or object without defined parts.
    Undefined,
    /// A single value.
    Scalar(String),
    /// Items.
    Items(Vec<String>),
    /// Members, in the order given.
    Members(Vec<(String, String)>),
}

/// How texts are encoded in their place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Escape {
    /// Everything but unreserved characters.
    Strict,
    /// Reserved characters of a query pass.
    Query,
    /// Reserved characters of a path pass.
    Path,
    /// As it stands: header fields and multipart.
    None,
}

impl Escape {
    pub(super) fn text(self, text: &str) -> String {
        match self {
            Self::Strict => encode(text),
            Self::Query => encode_except(text, RESERVED_IN_QUERY),
            Self::Path => encode_except(text, RESERVED_IN_PATH),
            Self::None => text.to_owned(),
        }
    }

    /// A separator that is no character of its place: encoded where anything is.
    fn separator(self, separator: &'static str) -> String {
        match self {
            Self::None => separator.to_owned(),
            Self::Strict | Self::Query | Self::Path => encode(separator),
        }
    }
}

/// The shape of a value.
pub(super) fn shape(value: &Value) -> Shape {
    match value {
        Value::Array(items) => {
            let items: Vec<_> = items.iter().filter_map(value_text).collect();
            if items.is_empty() { Shape::Undefined } else { Shape::Items(items) }
        }
        Value::Object(members) => {
            let members: Vec<_> = members
                .iter()
                .filter_map(|(key, value)| Some((key.clone(), value_text(value)?)))
                .collect();
            if members.is_empty() {
                Shape::Undefined
            } else {
                Shape::Members(members)
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value_text(value).map_or(Shape::Undefined, Shape::Scalar),
    }
}

/// All parts in one text, joined by the style's separator: `1,2,3`, `k,v`, or `k=v` when exploded.
///
/// `None` if there is nothing to send.
pub(super) fn joined(shape: &Shape, style: Style, explode: bool, escape: Escape) -> Option<String> {
    let separator = separator(style, escape);
    match shape {
        Shape::Undefined => None,
        Shape::Scalar(text) => Some(escape.text(text)),
        Shape::Items(items) => Some(items.iter().map(|item| escape.text(item)).collect::<Vec<_>>().join(&separator)),
        Shape::Members(members) => {
            let between = if explode { "=" } else { &separator };
            let members: Vec<_> = members
                .iter()
                .map(|(key, value)| format!("{}{between}{}", escape.text(key), escape.text(value)))
                .collect();
            Some(members.join(&separator))
        }
    }
}

/// One `name=value` for each part: the notation of query, cookie and form.
///
/// The texts of pairs are encoded; `name` is not yet.
pub(super) fn pairs(name: &str, value: &Value, style: Style, explode: bool, escape: Escape) -> Vec<(String, String)> {
    let name_text = encode(name);
    if style == Style::DeepObject {
        let mut pairs = Vec::new();
        add_deep(&mut pairs, name, value, escape, 0);
        return pairs;
    }
    match shape(value) {
        Shape::Undefined => Vec::new(),
        Shape::Items(items) if explode => items.iter().map(|item| (name_text.clone(), escape.text(item))).collect(),
        Shape::Members(members) if explode => members.iter().map(|(key, value)| (encode(key), escape.text(value))).collect(),
        shape => joined(&shape, style, false, escape)
            .map(|text| (name_text, text))
            .into_iter()
            .collect(),
    }
}

/// Values nested deeper are JSON.
const MAX_DEEP: usize = 16;

/// `name[key]=value`, and the same again for what is inside.
///
/// The specification leaves nesting open. This is what bracket-parsing servers read: `a[b][c]=1`, `a[b][]=1` for plain
/// items, and `a[0]=1` for the items of a list that is the parameter itself, or that holds objects.
fn add_deep(pairs: &mut Vec<(String, String)>, name: &str, value: &Value, escape: Escape, depth: usize) {
    match value {
        Value::Object(members) if depth < MAX_DEEP => {
            for (key, value) in members {
                add_deep(pairs, &format!("{name}[{key}]"), value, escape, depth + 1);
            }
        }
        Value::Array(items) if depth < MAX_DEEP => {
            let is_plain = depth > 0 && !items.iter().any(|item| item.is_object() || item.is_array());
            for (index, item) in items.iter().enumerate() {
                let name = if is_plain {
                    format!("{name}[]")
                } else {
                    format!("{name}[{index}]")
                };
                add_deep(pairs, &name, item, escape, depth + 1);
            }
        }
        other => pairs.extend(value_text(other).map(|text| (encode(name), escape.text(&text)))),
    }
}

fn separator(style: Style, escape: Escape) -> String {
    match style {
        Style::Simple | Style::Label | Style::Matrix | Style::Form | Style::DeepObject => ",".to_owned(),
        Style::SpaceDelimited => escape.separator(" "),
        Style::PipeDelimited => escape.separator("|"),
        Style::TabDelimited => escape.separator("\t"),
    }
}
