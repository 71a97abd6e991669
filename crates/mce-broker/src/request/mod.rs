//! From a function and its arguments to the parts of an HTTP request. Pure: no credential, no base URL, no network.

mod body;
mod cookie;
mod encode;
mod form;
mod header;
mod multipart;
mod path;
mod query;
mod style;
mod value_text;

use mce_catalog::function::{HttpTarget, Location};

use crate::arguments::Arguments;
use crate::call_error::CallError;
use crate::validate::ChosenBody;

pub(crate) use encode::encode;

/// A request but for what only the host knows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct RequestParts {
    /// The method, a token.
    pub(crate) method: String,
    /// The operation's path, encoded; starts with a slash.
    pub(crate) path: String,
    /// Pairs of the query, encoded.
    pub(crate) query: Vec<String>,
    /// Header fields without `Cookie`, `Accept` and `Content-Type`.
    pub(crate) headers: Vec<(String, String)>,
    /// Pairs of the `Cookie` field, encoded.
    pub(crate) cookies: Vec<String>,
    /// The `Accept` field.
    pub(crate) accept: String,
    /// The body, if there is one.
    pub(crate) body: Option<RequestBody>,
}

/// A body with its type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RequestBody {
    pub(crate) content_type: String,
    pub(crate) bytes: Vec<u8>,
}

/// Builds the request of a call. `chosen` is how the body is sent, if one is given.
///
/// # Errors
///
/// `Argument`, naming the argument that cannot be sent.
pub(crate) fn build_request(
    target: &HttpTarget,
    arguments: &Arguments<'_>,
    chosen: Option<&ChosenBody<'_>>,
) -> Result<RequestParts, CallError> {
    let (template, fixed_query) = target
        .path
        .split_once('?')
        .map_or((target.path.as_str(), None), |(path, query)| (path, Some(query)));
    let mut parts = RequestParts {
        method: target.method.clone(),
        path: path::expand(template, arguments)?,
        query: fixed_query
            .map(|fixed| query::fixed_pairs(fixed, &arguments.parameters))
            .unwrap_or_default(),
        accept: header::accept(&target.accepts),
        ..RequestParts::default()
    };
    for argument in &arguments.parameters {
        match argument.parameter.location {
            // The path is expanded already; members of a tool's arguments are no part of an HTTP request.
            Location::Path | Location::Argument => {}
            Location::Query => parts.query.extend(query::pairs(argument)),
            Location::Querystring => parts.query.extend(query::whole(argument)?),
            Location::Header => header::add(&mut parts, argument)?,
            Location::Cookie => parts.cookies.extend(cookie::pairs(argument)),
        }
    }
    if let (Some(given), Some(chosen)) = (&arguments.body, chosen) {
        parts.body = Some(body::encode_body(given, chosen)?);
    }
    Ok(parts)
}

#[cfg(test)]
mod tests;
