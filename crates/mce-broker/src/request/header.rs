//! Header parameters and `Accept`. (RFC 9110, sections 5.5 and 12.5.1)

use mce_catalog::function::ParameterEncoding;

use super::RequestParts;
use super::query::content_text;
use super::style::{Escape, joined, shape};
use crate::arguments::Argument;
use crate::call_error::CallError;

/// Fields that frame the message, belong to the connection, or are the broker's own.
const REFUSED: [&str; 17] = [
    "accept",
    "accept-encoding",
    "authorization",
    "connection",
    "content-length",
    "content-type",
    "expect",
    "host",
    "http2-settings",
    "keep-alive",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "via",
];

/// Adds the field of a header parameter, unless its value is undefined. Values are sent as they stand.
pub(super) fn add(parts: &mut RequestParts, argument: &Argument<'_>) -> Result<(), CallError> {
    let name = argument.parameter.original.to_ascii_lowercase();
    if REFUSED.contains(&name.as_str()) {
        return Err(CallError::argument(format!(
            "argument `{}`: this header field cannot be set by a call",
            argument.name
        )));
    }
    let value = match &argument.parameter.encoding {
        ParameterEncoding::Content { .. } => Some(content_text(argument)),
        ParameterEncoding::Style { style, explode, .. } => joined(&shape(&argument.value), *style, *explode, Escape::None),
    };
    let Some(value) = value else { return Ok(()) };
    if value.chars().any(|c| c.is_ascii_control() && c != '\t') {
        return Err(CallError::argument(format!(
            "argument `{}`: a header field cannot hold line breaks or control characters",
            argument.name
        )));
    }
    if name == "cookie" {
        // There is one such field, and cookie parameters and credentials share it.
        parts.cookies.push(value);
    } else {
        parts.headers.push((argument.parameter.original.clone(), value));
    }
    Ok(())
}

/// What the document says that answers are, in its order of preference.
pub(super) fn accept(media_types: &[String]) -> String {
    if media_types.is_empty() {
        return "application/json, */*;q=0.5".to_owned();
    }
    let listed = media_types
        .iter()
        .filter(|media_type| media_type.is_ascii() && !media_type.chars().any(char::is_control));
    let listed: Vec<_> = listed
        .take(9)
        .enumerate()
        .map(|(place, media_type)| {
            if place == 0 {
                media_type.clone()
            } else {
                format!("{media_type};q=0.{}", 10 - place)
            }
        })
        .collect();
    listed.join(", ")
}
