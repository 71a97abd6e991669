//! Query parameters.

use mce_catalog::function::{Location, ParameterEncoding};
use serde_json::Value;

use super::encode::{encode, encode_except};
use super::style::{self, Escape};
use super::value_text::value_text;
use crate::arguments::Argument;
use crate::call_error::CallError;

/// Characters of a query that stay as a document wrote them.
const QUERY_LITERALS: &[u8] = b":/?[]@!$()*,;=+-._~abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";

/// The pairs of a parameter, encoded; none if its value is undefined.
pub(super) fn pairs(argument: &Argument<'_>) -> Vec<String> {
    let parameter = argument.parameter;
    match &parameter.encoding {
        ParameterEncoding::Content { .. } => vec![format!("{}={}", encode(&parameter.original), encode(&content_text(argument)))],
        ParameterEncoding::Style {
            style,
            explode,
            allow_reserved,
        } => {
            let escape = if *allow_reserved { Escape::Query } else { Escape::Strict };
            let pairs = style::pairs(&parameter.original, &argument.value, *style, *explode, escape);
            pairs.into_iter().map(|(name, value)| format!("{name}={value}")).collect()
        }
    }
}

/// A parameter that is the whole query. (OpenAPI 3.2, `in: querystring`)
pub(super) fn whole(argument: &Argument<'_>) -> Result<Vec<String>, CallError> {
    let is_form = match &argument.parameter.encoding {
        ParameterEncoding::Content { media_type } => media_type.to_ascii_lowercase().starts_with("application/x-www-form-urlencoded"),
        ParameterEncoding::Style { .. } => true,
    };
    match &argument.value {
        Value::Object(members) if is_form => Ok(members
            .iter()
            .flat_map(|(key, value)| style::pairs(key, value, mce_catalog::function::Style::Form, true, Escape::Strict))
            .map(|(name, value)| format!("{name}={value}"))
            .collect()),
        _ if is_form => Err(CallError::argument(format!(
            "argument `{}`: expected an object with a member for each pair",
            argument.name
        ))),
        _ => Ok(vec![encode(&content_text(argument))]),
    }
}

/// Pairs that the document wrote into the path itself. An argument of the same name stands in the place of such a pair:
/// documents that write `/?comp=list` often declare the parameter `comp` too.
pub(super) fn fixed_pairs(query: &str, arguments: &[Argument<'_>]) -> Vec<String> {
    let is_given = |name: &str| {
        let same = |argument: &Argument<'_>| argument.parameter.location == Location::Query && argument.parameter.original == name;
        arguments.iter().any(same)
    };
    query
        .split('&')
        .filter(|pair| !pair.is_empty() && !is_given(pair.split('=').next().unwrap_or_default()))
        .map(|pair| encode_except(pair, QUERY_LITERALS))
        .collect()
}

/// A parameter's value as its media type: JSON, or for other types the text itself.
pub(super) fn content_text(argument: &Argument<'_>) -> String {
    let is_json = match &argument.parameter.encoding {
        ParameterEncoding::Content { media_type } => media_type.to_ascii_lowercase().contains("json"),
        ParameterEncoding::Style { .. } => false,
    };
    if is_json {
        argument.value.to_string()
    } else {
        value_text(&argument.value).unwrap_or_default()
    }
}
