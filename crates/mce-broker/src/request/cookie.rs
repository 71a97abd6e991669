//! Cookie parameters: pairs of one `Cookie` field, values percent-encoded. (OpenAPI 3.1, Appendix D)

use mce_catalog::function::ParameterEncoding;

use super::encode::encode;
use super::query::content_text;
use super::style::{self, Escape};
use crate::arguments::Argument;

/// The pairs of a parameter.
pub(super) fn pairs(argument: &Argument<'_>) -> Vec<String> {
    let name = &argument.parameter.original;
    // RFC 6265 lets names be tokens only; an encoded name is one always.
    let pairs = match &argument.parameter.encoding {
        ParameterEncoding::Content { .. } => vec![(encode(name), encode(&content_text(argument)))],
        ParameterEncoding::Style { style, explode, .. } => style::pairs(name, &argument.value, *style, *explode, Escape::Strict),
    };
    pairs.into_iter().map(|(name, value)| format!("{name}={value}")).collect()
}
