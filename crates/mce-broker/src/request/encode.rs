//! Percent-encoding. (RFC 3986, section 2; RFC 6570, section 3.2.1)

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

/// All but the unreserved characters.
const STRICT: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// Encodes all but unreserved characters.
pub(crate) fn encode(text: &str) -> String {
    utf8_percent_encode(text, STRICT).to_string()
}

/// Encodes, but lets the characters of `passing` and percent triples through.
pub(super) fn encode_except(text: &str, passing: &[u8]) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let (taken, after) = rest.split_at(if is_triple(rest) { 3 } else { first.len_utf8() });
        let passes = taken.len() == 3 && first == '%' || u8::try_from(first).is_ok_and(|byte| passing.contains(&byte));
        if passes {
            out.push_str(taken);
        } else {
            out.extend(utf8_percent_encode(taken, STRICT));
        }
        rest = after;
    }
    out
}

fn is_triple(text: &str) -> bool {
    matches!(text.as_bytes(), [b'%', high, low, ..] if high.is_ascii_hexdigit() && low.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_unreserved_characters_pass() {
        assert_eq!(encode("aZ09-._~"), "aZ09-._~");
        assert_eq!(encode("a b/ü%+'|"), "a%20b%2F%C3%BC%25%2B%27%7C");
    }

    #[test]
    fn triples_and_passing_characters_pass() {
        assert_eq!(encode_except("a/b%2f%2 ü", b"/"), "a/b%2f%252%20%C3%BC");
        assert_eq!(encode_except("%", b"/"), "%25");
    }
}
