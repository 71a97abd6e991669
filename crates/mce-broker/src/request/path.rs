//! Paths: templates are expanded, and no value can leave its place. (OpenAPI 3.2, Path Templating; RFC 6570; RFC 3986, 5.2.4)

use mce_catalog::function::{Location, ParameterEncoding, Style};

use super::encode::encode_except;
use super::style::{Escape, RESERVED_IN_PATH, Shape, joined, shape};
use crate::arguments::{Argument, Arguments};
use crate::call_error::CallError;

/// Expands a template. Literals are encoded where they are no path characters; their triples stay.
pub(super) fn expand(template: &str, arguments: &Arguments<'_>) -> Result<String, CallError> {
    let mut out = String::with_capacity(template.len() + 32);
    if !template.starts_with('/') {
        out.push('/');
    }
    let mut rest = template;
    while let Some((literal, after)) = rest.split_once('{') {
        out.push_str(&encode_except(literal, RESERVED_IN_PATH));
        let Some((name, after)) = after.split_once('}') else {
            out.push_str(&encode_except(&format!("{{{after}"), RESERVED_IN_PATH));
            rest = "";
            break;
        };
        let argument = find(arguments, name).ok_or_else(|| CallError::argument(format!("argument `{name}` is missing")))?;
        out.push_str(&expansion(argument)?);
        rest = after;
    }
    out.push_str(&encode_except(rest, RESERVED_IN_PATH));
    refuse_dot_segments(&out, arguments)?;
    Ok(out)
}

fn find<'a>(arguments: &'a Arguments<'_>, name: &str) -> Option<&'a Argument<'a>> {
    arguments
        .parameters
        .iter()
        .find(|argument| argument.parameter.location == Location::Path && argument.parameter.original == name)
}

fn expansion(argument: &Argument<'_>) -> Result<String, CallError> {
    let name = &argument.parameter.original;
    let text = match &argument.parameter.encoding {
        ParameterEncoding::Content { .. } => Some(Escape::Strict.text(&super::query::content_text(argument))),
        ParameterEncoding::Style {
            style,
            explode,
            allow_reserved,
        } => {
            let escape = if *allow_reserved { Escape::Path } else { Escape::Strict };
            styled(name, &shape(&argument.value), *style, *explode, escape)
        }
    };
    // The shape counts, not the text: `label` and `matrix` put a prefix before nothing.
    let is_empty = matches!(shape(&argument.value), Shape::Scalar(text) if text.is_empty());
    text.filter(|text| !text.is_empty() && !is_empty)
        .ok_or_else(|| CallError::argument(format!("argument `{}` is part of the path and cannot be empty", argument.name)))
}

fn styled(name: &str, shape: &Shape, style: Style, explode: bool, escape: Escape) -> Option<String> {
    match style {
        Style::Label => label(shape, explode, escape),
        Style::Matrix => matrix(name, shape, explode, escape),
        Style::Simple | Style::Form | Style::SpaceDelimited | Style::PipeDelimited | Style::TabDelimited | Style::DeepObject => {
            joined(shape, style, explode, escape)
        }
    }
}

/// `.a`, exploded `.a.b`. (RFC 6570, section 3.2.5)
fn label(shape: &Shape, explode: bool, escape: Escape) -> Option<String> {
    let parts = match shape {
        Shape::Items(items) if explode => items.iter().map(|item| escape.text(item)).collect(),
        Shape::Members(members) if explode => members
            .iter()
            .map(|(key, value)| format!("{}={}", escape.text(key), escape.text(value)))
            .collect(),
        other => vec![joined(other, Style::Label, false, escape)?],
    };
    Some(format!(".{}", parts.join(".")))
}

/// `;name=a`, exploded `;name=a;name=b` or `;key=a`. (RFC 6570, section 3.2.7)
fn matrix(name: &str, shape: &Shape, explode: bool, escape: Escape) -> Option<String> {
    let name = Escape::Strict.text(name);
    let pairs: Vec<_> = match shape {
        Shape::Items(items) if explode => items.iter().map(|item| format!(";{name}={}", escape.text(item))).collect(),
        Shape::Members(members) if explode => members
            .iter()
            .map(|(key, value)| format!(";{}={}", escape.text(key), escape.text(value)))
            .collect(),
        other => vec![format!(";{name}={}", joined(other, Style::Matrix, false, escape)?)],
    };
    Some(pairs.concat())
}

/// URL code removes `.` and `..`, also when they are encoded, and so reaches another resource.
fn refuse_dot_segments(path: &str, arguments: &Arguments<'_>) -> Result<(), CallError> {
    let is_dot = |segment: &str| matches!(segment.to_ascii_lowercase().replace("%2e", ".").as_str(), "." | "..");
    if !path.split('/').any(is_dot) {
        return Ok(());
    }
    let names: Vec<_> = arguments
        .parameters
        .iter()
        .filter(|argument| argument.parameter.location == Location::Path)
        .map(|argument| format!("`{}`", argument.name))
        .collect();
    Err(CallError::argument(format!(
        "{} would make a path segment `.` or `..`, which names another resource",
        names.join(", ")
    )))
}
