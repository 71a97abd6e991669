//! What a text says once its escapes are read, and where in the text each part of that stands.

use std::ops::Range;

/// Ways of writing a character by others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Escapes {
    /// `%2B`, one byte each. (RFC 3986, section 2.1)
    Percent,
    /// `\u002b`, `\/`, `\n`: JSON's, and `\x2b` of other languages. (RFC 8259, section 7)
    Backslash,
    /// `&amp;`, `&#43;`, `&#x2b;`: those of XML, and the names in HTML for what tokens hold.
    Entity,
}

/// A text after its escapes were read.
#[derive(Debug, Default)]
pub(super) struct Decoded {
    pub(super) bytes: Vec<u8>,
    /// In order. What is between two of them stands for itself.
    escapes: Vec<Escape>,
}

#[derive(Debug)]
struct Escape {
    decoded: Range<usize>,
    source: Range<usize>,
}

const ENTITIES: [(&[u8], char); 9] = [
    (b"amp;", '&'),
    (b"lt;", '<'),
    (b"gt;", '>'),
    (b"quot;", '"'),
    (b"apos;", '\''),
    (b"plus;", '+'),
    (b"sol;", '/'),
    (b"equals;", '='),
    (b"nbsp;", ' '),
];

impl Decoded {
    /// Reads the escapes of one kind; none if the text has none. What only looks like an escape stands for itself.
    pub(super) fn of(text: &[u8], escapes: Escapes) -> Option<Self> {
        let mut decoded = Self::default();
        let (mut copied, mut from) = (0, 0);
        while let Some(at) = escapes.next(text, from) {
            decoded.bytes.extend_from_slice(text.get(copied..at)?);
            copied = at;
            let start = decoded.bytes.len();
            let Some(length) = escapes.read(text.get(at + 1..)?, &mut decoded.bytes) else {
                from = at + 1;
                continue;
            };
            copied = at + 1 + length;
            from = copied;
            decoded.escapes.push(Escape {
                decoded: start..decoded.bytes.len(),
                source: at..copied,
            });
        }
        decoded.bytes.extend_from_slice(text.get(copied..)?);
        (!decoded.escapes.is_empty()).then_some(decoded)
    }

    /// Where a part of `bytes` stands in the source. An escape is never divided.
    pub(super) fn source(&self, part: &Range<usize>) -> Range<usize> {
        let last = part.end.saturating_sub(1);
        self.source_of(part.start).start..self.source_of(last).end
    }

    fn source_of(&self, at: usize) -> Range<usize> {
        let index = self.escapes.partition_point(|escape| escape.decoded.start <= at);
        match index.checked_sub(1).and_then(|index| self.escapes.get(index)) {
            None => at..at + 1,
            Some(escape) if escape.decoded.contains(&at) => escape.source.clone(),
            Some(escape) => {
                let start = escape.source.end + (at - escape.decoded.end);
                start..start + 1
            }
        }
    }
}

impl Escapes {
    fn next(self, text: &[u8], from: usize) -> Option<usize> {
        let marker = match self {
            Self::Percent => b'%',
            Self::Backslash => b'\\',
            Self::Entity => b'&',
        };
        let found = text.get(from..)?.iter().position(|byte| *byte == marker)?;
        Some(from + found)
    }

    /// Writes what the escape stands for, of which `text` is all but the first byte, and gives the length of that.
    fn read(self, text: &[u8], out: &mut Vec<u8>) -> Option<usize> {
        let (character, length) = match self {
            Self::Percent => {
                out.push(u8::try_from(hex(text.get(..2)?)?).ok()?);
                return Some(2);
            }
            Self::Backslash => backslash(text)?,
            Self::Entity => entity(text)?,
        };
        out.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
        Some(length)
    }
}

fn backslash(text: &[u8]) -> Option<(char, usize)> {
    let character = match text.first()? {
        b'u' => return unicode(text),
        b'x' => return Some((char::from_u32(hex(text.get(1..3)?)?)?, 3)),
        b'b' => '\u{8}',
        b'f' => '\u{c}',
        b'n' => '\n',
        b'r' => '\r',
        b't' => '\t',
        byte @ (b'"' | b'\'' | b'\\' | b'/') => char::from(*byte),
        _ => return None,
    };
    Some((character, 1))
}

/// `uXXXX`, or two of them for a character beyond the basic plane. Half a pair is no character.
fn unicode(text: &[u8]) -> Option<(char, usize)> {
    let first = hex(text.get(1..5)?)?;
    if let Some(character) = char::from_u32(first) {
        return Some((character, 5));
    }
    let pair = || {
        let second = text.get(5..11)?.strip_prefix(b"\\u").and_then(hex)?;
        let units = [u16::try_from(first).ok()?, u16::try_from(second).ok()?];
        char::decode_utf16(units).next()?.ok()
    };
    Some(pair().map_or((char::REPLACEMENT_CHARACTER, 5), |character| (character, 11)))
}

fn entity(text: &[u8]) -> Option<(char, usize)> {
    let Some(number) = text.strip_prefix(b"#") else {
        let (name, character) = ENTITIES.iter().find(|(name, _)| text.starts_with(name))?;
        return Some((*character, name.len()));
    };
    // Zeros before the number are allowed, but nobody writes many.
    let end = number.iter().take(12).position(|byte| *byte == b';')?;
    let digits = number.get(..end)?;
    let code = match digits.strip_prefix(b"x").or_else(|| digits.strip_prefix(b"X")) {
        Some(digits) => hex(digits)?,
        None => std::str::from_utf8(digits).ok()?.parse().ok()?,
    };
    Some((char::from_u32(code)?, end + 2))
}

fn hex(digits: &[u8]) -> Option<u32> {
    let text = std::str::from_utf8(digits).ok().filter(|text| !text.starts_with('+'))?;
    u32::from_str_radix(text, 16).ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn escapes_become_what_they_stand_for() {
        for (escapes, text, expected) in [
            (Escapes::Percent, "a%2Bb%2f%zz%", Some("a+b/%zz%")),
            (Escapes::Percent, "%C3%A9", Some("é")),
            (Escapes::Percent, "100 %", None),
            (Escapes::Backslash, r#"\u002b\/\\u002b\"\x41"#, Some(r#"+/\u002b"A"#)),
            (Escapes::Backslash, r"\ud83d\ude00 \ud83d! \q \u+123", Some(r"😀 �! \q \u+123")),
            (
                Escapes::Entity,
                "&#43;&#x2B;&amp;amp; & &#; &#99999999;",
                Some("++&amp; & &#; &#99999999;"),
            ),
        ] {
            let decoded = Decoded::of(text.as_bytes(), escapes).map(|decoded| decoded.bytes);
            assert_eq!(decoded.as_deref(), expected.map(str::as_bytes), "{text}");
        }
    }

    #[test]
    fn each_part_is_found_in_the_source() {
        let decoded = Decoded::of(br"ab\u0063d\n", Escapes::Backslash).unwrap();
        for (part, source) in [(0..1, 0..1), (1..3, 1..8), (2..3, 2..8), (3..4, 8..9), (3..5, 8..11)] {
            assert_eq!(decoded.source(&part), source, "{part:?}");
        }
    }

    proptest! {
        #[test]
        fn any_bytes_can_be_read(text in prop::collection::vec(prop::sample::select(b"\\u%&#x;d83e0Fn\"\xc3a".to_vec()), 0..40)) {
            for escapes in [Escapes::Percent, Escapes::Backslash, Escapes::Entity] {
                if let Some(decoded) = Decoded::of(&text, escapes) {
                    let source = decoded.source(&(0..decoded.bytes.len()));
                    prop_assert_eq!(source, 0..text.len());
                }
            }
        }
    }
}
