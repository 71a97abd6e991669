//! Media types: which are JSON, form, text or bytes, and the concrete instance of a range. (RFC 9110, 8.3.1.)

use crate::function::BodyFormat;

/// Longest media type that is sent.
const MAX_LENGTH: usize = 200;

/// Subtypes that are text whatever their type.
const TEXTS: &str = "ecmascript graphql javascript json-seq jsonl jsonlines ndjson rtf sql toml x-jsonlines x-ndjson x-sh x-yaml xml yaml";

/// Subtypes that are JSON values one after the other.
const STREAMS: &str = "json-seq jsonl jsonlines ndjson stream+json x-jsonlines x-ndjson";

/// Subtypes of `application` that are bytes.
const BYTES: &str = "gzip java-archive msword octet-stream pdf wasm x-7z-compressed x-bzip2 x-gzip x-tar zip zstd";

/// The type without parameters, in lower case.
pub(super) fn essence(media_type: &str) -> String {
    media_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

/// Whether it may stand in a header field: `type/subtype`, perhaps with parameters, of visible ASCII.
pub(super) fn is_valid(media_type: &str) -> bool {
    let is_token = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b));
    let essence = essence(media_type);
    media_type.len() <= MAX_LENGTH
        && media_type.bytes().all(|b| b == b' ' || b.is_ascii_graphic())
        && essence
            .split_once('/')
            .is_some_and(|(kind, subtype)| is_token(kind) && is_token(subtype))
}

/// JSON, by type or by suffix. (RFC 6839, 3.1.)
pub(super) fn is_json(media_type: &str) -> bool {
    let essence = essence(media_type);
    essence.ends_with("/json") || essence.ends_with("+json")
}

/// A text that a program can read.
pub(super) fn is_text(media_type: &str) -> bool {
    let essence = essence(media_type);
    let subtype = essence.split_once('/').map_or("", |(_, subtype)| subtype);
    essence.starts_with("text/") || subtype.ends_with("+xml") || subtype.ends_with("+yaml") || TEXTS.split(' ').any(|text| text == subtype)
}

/// Items one after the other, of which an answer becomes a list.
pub(super) fn is_stream(media_type: &str) -> bool {
    let essence = essence(media_type);
    let subtype = essence.split_once('/').map_or("", |(_, subtype)| subtype);
    is_events(media_type) || STREAMS.split(' ').any(|stream| stream == subtype)
}

/// Server-sent events.
pub(super) fn is_events(media_type: &str) -> bool {
    essence(media_type) == "text/event-stream"
}

/// Bytes, whatever schema the document writes beside it.
fn is_bytes(essence: &str) -> bool {
    let (kind, subtype) = essence.split_once('/').unwrap_or_default();
    matches!(kind, "image" | "audio" | "video" | "font") || kind == "application" && BYTES.split(' ').any(|bytes| bytes == subtype)
}

/// How a body of this type becomes bytes, if the type alone says so.
pub(super) fn format(media_type: &str) -> Option<BodyFormat> {
    let essence = essence(media_type);
    if is_json(media_type) {
        Some(BodyFormat::Json)
    } else if essence == "application/x-www-form-urlencoded" {
        Some(BodyFormat::Form)
    } else if essence.starts_with("multipart/") {
        Some(BodyFormat::Multipart)
    } else if is_text(media_type) {
        Some(BodyFormat::Text)
    } else if is_bytes(&essence) {
        Some(BodyFormat::Binary)
    } else {
        None
    }
}

/// A type that can be sent, for a range such as `*/*`.
pub(super) fn concrete(media_type: &str, is_binary: bool) -> String {
    let concrete = match essence(media_type).as_str() {
        "*/*" | "*" if is_binary => "application/octet-stream",
        "application/*" if is_binary => "application/octet-stream",
        "*/*" | "*" | "application/*" | "application/*+json" => "application/json",
        "text/*" => "text/plain",
        "image/*" => "image/png",
        "audio/*" => "audio/mpeg",
        "video/*" => "video/mp4",
        "multipart/*" => "multipart/form-data",
        range if range.contains('*') => "application/octet-stream",
        _ => return media_type.trim().to_owned(),
    };
    concrete.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_type_says_how_a_body_is_sent() {
        let check = |media_type: &str, expected: Option<BodyFormat>| assert_eq!(format(media_type), expected, "{media_type}");
        check("Application/JSON", Some(BodyFormat::Json));
        check("application/vnd.api+json; ext=a", Some(BodyFormat::Json));
        check("multipart/related", Some(BodyFormat::Multipart));
        check("text/xml; charset=utf-8", Some(BodyFormat::Text));
        check("application/soap+xml", Some(BodyFormat::Text));
        check("image/png", Some(BodyFormat::Binary));
        check("application/PDF", Some(BodyFormat::Binary));
        check("application/vnd.example", None);
    }

    #[test]
    fn a_type_that_cannot_be_sent_is_told() {
        for good in ["a/b", "application/json; charset=utf-8", "*/*"] {
            assert!(is_valid(good), "{good}");
        }
        for bad in ["json", "", "a/b\r\nX: y", "a b/c", "a/ü"] {
            assert!(!is_valid(bad), "{bad}");
        }
    }

    #[test]
    fn a_range_has_a_concrete_instance() {
        assert_eq!(concrete("*/*", false), "application/json");
        assert_eq!(concrete("*/*", true), "application/octet-stream");
        assert_eq!(
            concrete("application/json; charset=utf-8", false),
            "application/json; charset=utf-8"
        );
    }
}
