//! Refuses texts that nest so deep that reading them would exhaust the stack. One pass over the bytes, without recursion.
//!
//! Readers and writers of syntax trees are recursive, and what is written flat can be deep, such as a sum of many terms. The
//! depth of a place is at most the number of words and marks since the last separator, in each of the brackets around it.

/// The greatest sum of words and marks; see above.
const DEPTH: usize = 8000;

/// What one bracket counts: reading one takes many steps of the grammar.
const BRACKET: usize = 8;

/// Words after which another expression, statement or type is nested.
const NESTING: [&str; 23] = [
    "as",
    "async",
    "await",
    "delete",
    "do",
    "else",
    "extends",
    "for",
    "if",
    "in",
    "infer",
    "instanceof",
    "is",
    "keyof",
    "new",
    "of",
    "readonly",
    "satisfies",
    "typeof",
    "void",
    "while",
    "with",
    "yield",
];

/// Words and marks since the last separator, in one pair of brackets.
#[derive(Default)]
struct Level {
    count: usize,
}

/// The byte where the text is nested too deep.
pub(super) fn too_deep(source: &str) -> Option<usize> {
    let bytes = source.as_bytes();
    let mut levels = vec![Level::default()];
    let mut total = 0_usize;
    let mut at = 0;
    let mut is_after_mark = false;
    while let Some(&byte) = bytes.get(at) {
        let start = at;
        at += 1;
        match byte {
            b'/' if matches!(bytes.get(at), Some(b'/')) => at = end_of_line(bytes, at),
            b'/' if matches!(bytes.get(at), Some(b'*')) => at = end_of_comment(bytes, at),
            b'"' | b'\'' => {
                at = end_of_text(bytes, at, byte);
                add(&mut levels, &mut total, 1);
                is_after_mark = false;
            }
            b'(' | b'[' | b'{' => {
                add(&mut levels, &mut total, BRACKET);
                levels.push(Level::default());
                is_after_mark = true;
            }
            b')' | b']' | b'}' => {
                if levels.len() > 1 {
                    total -= levels.pop().map_or(0, |level| level.count);
                }
                is_after_mark = false;
            }
            b',' | b';' => {
                reset(&mut levels, &mut total);
                is_after_mark = true;
            }
            b'\n' if !is_after_mark && !continues(bytes, at) => reset(&mut levels, &mut total),
            _ if byte.is_ascii_whitespace() => {}
            _ if is_word(byte) => {
                while bytes.get(at).copied().is_some_and(is_word) {
                    at += 1;
                }
                add(&mut levels, &mut total, 1);
                is_after_mark = false;
            }
            _ => {
                add(&mut levels, &mut total, 1);
                is_after_mark = true;
            }
        }
        if total > DEPTH {
            return Some(start);
        }
    }
    None
}

fn add(levels: &mut [Level], total: &mut usize, count: usize) {
    if let Some(level) = levels.last_mut() {
        level.count += count;
        *total += count;
    }
}

fn reset(levels: &mut [Level], total: &mut usize) {
    if let Some(level) = levels.last_mut() {
        *total -= level.count;
        level.count = 0;
    }
}

/// The next line begins with a mark or a word that can be part of what stands before it, or around what follows it.
fn continues(bytes: &[u8], from: usize) -> bool {
    let rest = bytes.get(from..).unwrap_or_default().trim_ascii_start();
    let end = rest.iter().position(|&byte| !is_word(byte)).unwrap_or(rest.len());
    let word = rest.get(..end).unwrap_or_default();
    word.is_empty() || NESTING.iter().any(|nesting| nesting.as_bytes() == word)
}

const fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$' | b'#' | 0x80..)
}

fn end_of_line(bytes: &[u8], from: usize) -> usize {
    let rest = bytes.get(from..).unwrap_or_default();
    from + rest.iter().position(|&byte| byte == b'\n').unwrap_or(rest.len())
}

fn end_of_comment(bytes: &[u8], from: usize) -> usize {
    let rest = bytes.get(from..).unwrap_or_default();
    from + rest.windows(2).position(|pair| pair == b"*/").map_or(rest.len(), |at| at + 2)
}

/// The end of a text in quotes, or of its line: nothing that follows is inside it then.
fn end_of_text(bytes: &[u8], mut at: usize, quote: u8) -> usize {
    while let Some(&byte) = bytes.get(at) {
        at += 1;
        match byte {
            b'\\' => at += 1,
            b'\n' => return at - 1,
            _ if byte == quote => return at,
            _ => {}
        }
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn usual_programs_are_not_deep() {
        let statement = "const x = { a: [1, 2, f(y => y + 1)], b: `${z}` }\nfoo(bar)\n";
        for text in [
            statement.repeat(1000),
            format!("x = {}1", "1 + ".repeat(1500)),
            format!("x = [{}]", "[1, 2], ".repeat(8000)),
            format!("x = '{}'", "(".repeat(60_000)),
            format!("// {}", "(".repeat(60_000)),
            format!("{}1{}", "(".repeat(500), ")".repeat(500)),
        ] {
            assert_eq!(too_deep(&text), None, "{text:.80}");
        }
    }

    #[test]
    fn what_exhausts_a_stack_is_found() {
        for part in [
            "(",
            "[",
            "{",
            "-",
            "!",
            "a=>",
            "a?b:",
            "-\n",
            "typeof ",
            "if(a)",
            "a.",
            "f()",
            "`${",
            "1**",
            "new ",
            "a:",
            "{a:",
            "A<",
            "\n-",
            "/*x*/-",
            "else if(a){}",
            "if(a)\n",
            "await\n",
        ] {
            assert!(too_deep(&part.repeat(20_000)).is_some(), "{part}");
        }
    }
}
