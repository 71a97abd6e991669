//! The charset parameter of media types.

use encoding_rs::Encoding;

/// The charset that a media type names and that is known.
pub(crate) fn named(content_type: &str) -> Option<&'static Encoding> {
    content_type.split(';').skip(1).find_map(|parameter| {
        let (name, value) = parameter.split_once('=')?;
        let is_charset = name.trim().eq_ignore_ascii_case("charset");
        is_charset.then(|| Encoding::for_label(value.trim().trim_matches('"').as_bytes()))?
    })
}
