//! Request bodies by format.

use mce_catalog::function::BodyFormat;
use serde_json::Value;

use super::{RequestBody, form, multipart};
use crate::arguments::BodyArgument;
use crate::call_error::CallError;
use crate::file_value::read_file;
use crate::json_text::find_big_integer;
use crate::validate::ChosenBody;

/// Writes the body.
///
/// JSON is the caller's own text, so that numbers stay exact; it was checked to be JSON without doubled keys.
pub(super) fn encode_body(given: &BodyArgument<'_>, chosen: &ChosenBody<'_>) -> Result<RequestBody, CallError> {
    let variant = chosen.variant;
    let mut content_type = variant.media_type.clone();
    let bytes = match variant.format {
        BodyFormat::Json => given.text.get().as_bytes().to_vec(),
        BodyFormat::Form => form::encode_form(fields(given)?, variant).into_bytes(),
        BodyFormat::Multipart => {
            let (boundary, bytes) = multipart::encode_multipart(fields(given)?, chosen)?;
            content_type = format!("{content_type}; boundary={boundary}");
            bytes
        }
        BodyFormat::Text => text_bytes(&given.value, &content_type)?,
        BodyFormat::Binary => {
            let file = read_file(&given.value).ok_or_else(|| CallError::argument("`body`: expected bytes"))?;
            // A document that leaves the type open (`image/*`) lets the file say which it is.
            if let Some(own) = file.content_type.filter(|own| is_within(own, &content_type)) {
                content_type = own;
            }
            file.bytes
        }
    };
    if content_type.chars().any(|c| c.is_ascii_control()) {
        return Err(CallError::argument("`body`: its content type holds control characters"));
    }
    Ok(RequestBody { content_type, bytes })
}

fn fields<'a>(given: &'a BodyArgument<'_>) -> Result<&'a serde_json::Map<String, Value>, CallError> {
    if let Some(number) = find_big_integer(given.text.get()) {
        let number: String = number.chars().take(40).collect();
        return Err(CallError::argument(format!("`body`: the integer `{number}` has more than 64 bits")));
    }
    given
        .value
        .as_object()
        .ok_or_else(|| CallError::argument("`body`: expected an object with a member for each field"))
}

/// A text in the charset that the media type names, UTF-8 if it names none; bytes as they stand.
fn text_bytes(value: &Value, content_type: &str) -> Result<Vec<u8>, CallError> {
    if let Some(file) = Some(value).filter(|value| value.is_object()).and_then(read_file) {
        return Ok(file.bytes);
    }
    let text = value.as_str().ok_or_else(|| CallError::argument("`body`: expected a string"))?;
    let charset = crate::charset::named(content_type).unwrap_or(encoding_rs::UTF_8);
    let (bytes, _, is_lossy) = charset.encode(text);
    if is_lossy {
        return Err(CallError::argument(format!(
            "`body`: holds characters that `{}` has not",
            charset.name()
        )));
    }
    Ok(bytes.into_owned())
}

fn is_within(own: &str, declared: &str) -> bool {
    let declared = declared.to_ascii_lowercase();
    declared == "application/octet-stream"
        || declared
            .strip_suffix('*')
            .is_some_and(|range| own.to_ascii_lowercase().starts_with(range))
}
