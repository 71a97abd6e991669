//! `multipart/*` bodies. (RFC 7578; OpenAPI 3.1, Special Considerations for multipart Content)

use mce_catalog::function::PropertyEncoding;
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use super::form::explicit_style;
use super::style::{Escape, joined, shape};
use super::value_text::value_text;
use crate::call_error::CallError;
use crate::file_value::{is_file, read_file};
use crate::hex::hex;
use crate::validate::ChosenBody;

/// A part without its boundary.
struct Part {
    disposition: String,
    content_type: Option<String>,
    bytes: Vec<u8>,
}

/// Writes the parts; returns the boundary and the body.
pub(super) fn encode_multipart(members: &Map<String, Value>, chosen: &ChosenBody<'_>) -> Result<(String, Vec<u8>), CallError> {
    let nothing = PropertyEncoding::default();
    let mut parts = Vec::new();
    for (name, value) in members {
        let encoding = chosen.variant.encoding.get(name).unwrap_or(&nothing);
        let is_binary = chosen.binary_fields.contains(name);
        add_parts(&mut parts, &Field { name, encoding, is_binary }, value)?;
    }
    Ok(join(&parts))
}

/// A property of the body.
struct Field<'a> {
    name: &'a str,
    encoding: &'a PropertyEncoding,
    is_binary: bool,
}

/// One part, or one for each item of an array.
fn add_parts(parts: &mut Vec<Part>, field: &Field<'_>, value: &Value) -> Result<(), CallError> {
    match value {
        Value::Array(items) => match explicit_style(field.encoding) {
            Some((style, false)) => {
                let text = joined(&shape(value), style, false, Escape::None);
                parts.extend(text.map(|text| text_part(field, text)));
            }
            Some(_) | None => {
                for item in items {
                    parts.extend(part(field, item)?);
                }
            }
        },
        other => parts.extend(part(field, other)?),
    }
    Ok(())
}

fn part(field: &Field<'_>, value: &Value) -> Result<Option<Part>, CallError> {
    let is_text_of_file = field.is_binary && value.is_string();
    if is_text_of_file || is_file(value) {
        return file_part(field, value).map(Some);
    }
    let Some(text) = value_text(value) else { return Ok(None) };
    let mut part = text_part(field, text);
    if part.content_type.is_none() && (value.is_object() || value.is_array()) {
        part.content_type = Some("application/json".to_owned());
    }
    Ok(Some(part))
}

fn text_part(field: &Field<'_>, text: String) -> Part {
    Part {
        disposition: disposition(field.name, None),
        content_type: declared_type(field.encoding),
        bytes: text.into_bytes(),
    }
}

/// Servers take a part for a file only if it has a file name, so there is one always.
fn file_part(field: &Field<'_>, value: &Value) -> Result<Part, CallError> {
    let file = read_file(value).ok_or_else(|| CallError::argument(format!("`body.{}`: its `base64` cannot be read", field.name)))?;
    let content_type = file
        .content_type
        .or_else(|| declared_type(field.encoding))
        .unwrap_or_else(|| "application/octet-stream".to_owned());
    if content_type.chars().any(|c| c.is_ascii_control()) {
        return Err(CallError::argument(format!(
            "`body.{}`: its content type holds control characters",
            field.name
        )));
    }
    let filename = file.filename.as_deref().unwrap_or(field.name);
    Ok(Part {
        disposition: disposition(field.name, Some(filename)),
        content_type: Some(content_type),
        bytes: file.bytes,
    })
}

/// The first of the types that the document lists; ranges such as `image/*` name none.
fn declared_type(encoding: &PropertyEncoding) -> Option<String> {
    let first = encoding.content_type.as_deref()?.split(',').next()?.trim();
    let is_usable = !first.is_empty() && !first.contains('*') && !first.chars().any(|c| c.is_ascii_control());
    is_usable.then(|| first.to_owned())
}

/// Quotes and line breaks in names are percent-encoded, as browsers do. (HTML, multipart/form-data encoding algorithm)
fn disposition(name: &str, filename: Option<&str>) -> String {
    let quoted = |text: &str| {
        text.replace('"', "%22")
            .replace('\r', "%0D")
            .replace('\n', "%0A")
            .replace('\0', "%00")
    };
    let filename = filename
        .map(|filename| format!("; filename=\"{}\"", quoted(filename)))
        .unwrap_or_default();
    format!("form-data; name=\"{}\"{filename}", quoted(name))
}

/// The boundary is a digest of the contents, so that no content can hold it.
fn join(parts: &[Part]) -> (String, Vec<u8>) {
    let mut digest = Sha256::new();
    for part in parts {
        digest.update(&part.disposition);
        digest.update(&part.bytes);
    }
    let boundary = format!("mce-{}", hex(&digest.finalize()));
    let mut body = Vec::new();
    for part in parts {
        body.extend(format!("--{boundary}\r\nContent-Disposition: {}\r\n", part.disposition).bytes());
        if let Some(content_type) = &part.content_type {
            body.extend(format!("Content-Type: {content_type}\r\n").bytes());
        }
        body.extend(b"\r\n");
        body.extend(&part.bytes);
        body.extend(b"\r\n");
    }
    body.extend(format!("--{boundary}--\r\n").bytes());
    (boundary, body)
}
