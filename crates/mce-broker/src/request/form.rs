//! `application/x-www-form-urlencoded` bodies. (OpenAPI 3.1, Encoding Object)

use mce_catalog::function::{BodyVariant, PropertyEncoding, Style};
use serde_json::{Map, Value};

use super::encode::encode;
use super::style::{self, Escape};
use super::value_text::value_text;
use crate::file_value::{is_surely_file, read_file};

/// Writes the pairs. Undefined members are left out.
pub(super) fn encode_form(members: &Map<String, Value>, variant: &BodyVariant) -> String {
    let nothing = PropertyEncoding::default();
    let pairs = members
        .iter()
        .flat_map(|(name, value)| field(name, value, variant.encoding.get(name).unwrap_or(&nothing)));
    pairs.map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join("&")
}

/// By style where the document gives one; else one pair for each item, and JSON for objects.
fn field(name: &str, value: &Value, encoding: &PropertyEncoding) -> Vec<(String, String)> {
    if let Some((style, explode)) = explicit_style(encoding) {
        let escape = if encoding.allow_reserved == Some(true) {
            Escape::Query
        } else {
            Escape::Strict
        };
        return style::pairs(name, value, style, explode, escape);
    }
    let items = match value {
        Value::Array(items) => items.as_slice(),
        other => std::slice::from_ref(other),
    };
    items.iter().filter_map(|item| Some((encode(name), item_text(item)?))).collect()
}

fn item_text(item: &Value) -> Option<String> {
    if is_surely_file(item)
        && let Some(file) = read_file(item)
    {
        return Some(percent_encoding::percent_encode(&file.bytes, percent_encoding::NON_ALPHANUMERIC).to_string());
    }
    Some(encode(&value_text(item)?))
}

/// The style, if the document says anything about it: `style`, `explode` or `allowReserved`. (OpenAPI 3.1, Encoding Object)
pub(super) fn explicit_style(encoding: &PropertyEncoding) -> Option<(Style, bool)> {
    let is_explicit = encoding.style.is_some() || encoding.explode.is_some() || encoding.allow_reserved.is_some();
    let style = encoding.style.unwrap_or(Style::Form);
    is_explicit.then(|| (style, encoding.explode.unwrap_or(style == Style::Form)))
}
