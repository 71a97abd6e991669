//! `.env` files: `NAME=value` lines, as people's files are written for python-dotenv.
//!
//! The usual crate refuses `NAME=Bearer abc` (a blank without quotes) and replaces `$` from the process environment;
//! files that are in use have the one and passwords that hold the other. Here a value is taken as it stands.

use std::collections::BTreeMap;

/// A line that is no assignment. Its text is left out: it may hold a secret.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct DotEnvError {
    /// From 1.
    pub(crate) line: u64,
    pub(crate) message: &'static str,
}

/// The variables of a `.env` file; of two lines for one name the last wins.
///
/// Without quotes a value ends at the line's end or at ` #`. In single quotes `\'` and `\\` are escapes, in double
/// quotes also `\n` and the like; both may go over several lines.
pub(crate) fn parse(text: &str) -> Result<BTreeMap<String, String>, DotEnvError> {
    let mut rest = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut variables = BTreeMap::new();
    let mut line = 1;
    while !rest.is_empty() {
        let assignment = assignment(rest).map_err(|message| DotEnvError { line, message })?;
        line += newlines(rest) - newlines(assignment.rest);
        rest = assignment.rest;
        if let Some((name, value)) = assignment.variable {
            variables.insert(name, value);
        }
    }
    Ok(variables)
}

fn newlines(text: &str) -> u64 {
    text.bytes().filter(|byte| *byte == b'\n').map(|_| 1).sum()
}

/// What one line, or several if it is quoted, sets; nothing if it is blank or a comment.
struct Assignment<'a> {
    variable: Option<(String, String)>,
    rest: &'a str,
}

fn assignment(text: &str) -> Result<Assignment<'_>, &'static str> {
    let (line, after_line) = text.split_once('\n').unwrap_or((text, ""));
    let trimmed = line.trim();
    if trimmed.is_empty() || trimmed.starts_with('#') {
        return Ok(Assignment {
            variable: None,
            rest: after_line,
        });
    }
    let (name, value) = text
        .split_once('=')
        .filter(|(name, _)| !name.contains('\n'))
        .ok_or("expected `NAME=value`")?;
    let name = name.trim();
    let name = name
        .strip_prefix("export")
        .filter(|rest| rest.starts_with([' ', '\t']))
        .unwrap_or(name)
        .trim();
    if name.is_empty() || name.contains(|c: char| c.is_whitespace() || c == '#' || c == '\'' || c == '"') {
        return Err("expected a variable's name before `=`");
    }
    let (value, rest) = value_of(value.trim_start_matches([' ', '\t']))?;
    Ok(Assignment {
        variable: Some((name.to_owned(), value)),
        rest,
    })
}

/// The value and the text after its line.
fn value_of(text: &str) -> Result<(String, &str), &'static str> {
    for quote in ['\'', '"'] {
        if let Some(inner) = text.strip_prefix(quote) {
            let (value, after) = quoted(inner, quote).ok_or("a quote is not closed")?;
            let (tail, rest) = after.split_once('\n').unwrap_or((after, ""));
            let tail = tail.trim();
            return if tail.is_empty() || tail.starts_with('#') {
                Ok((value, rest))
            } else {
                Err("there is text after the closing quote")
            };
        }
    }
    let (line, rest) = text.split_once('\n').unwrap_or((text, ""));
    let is_comment_start = |(at, _): &(usize, &str)| *at == 0 || line.get(..*at).is_some_and(|before| before.ends_with([' ', '\t']));
    let end = line.match_indices('#').find(is_comment_start).map_or(line.len(), |(at, _)| at);
    Ok((line.get(..end).unwrap_or(line).trim_end().to_owned(), rest))
}

/// The text up to the closing quote, and what follows it.
fn quoted(text: &str, quote: char) -> Option<(String, &str)> {
    let mut value = String::new();
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        if character == quote {
            return Some((value, characters.as_str()));
        }
        if character != '\\' {
            value.push(character);
            continue;
        }
        let escaped = characters.next()?;
        match (quote, escaped) {
            (_, '\\' | '\'') | ('"', '"') => value.push(escaped),
            ('"', 'n') => value.push('\n'),
            ('"', 'r') => value.push('\r'),
            ('"', 't') => value.push('\t'),
            _ => value.extend(['\\', escaped]),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_read_as_people_write_them() {
        for (text, expected) in [
            ("A=1", "1"),
            ("A = 1 ", "1"),
            ("export A=1", "1"),
            ("  A=Authorization: Bearer sk-1  # the key", "Authorization: Bearer sk-1"),
            ("A=pa$$w0rd$HOME${HOME}", "pa$$w0rd$HOME${HOME}"),
            ("A=a#b", "a#b"),
            ("A=#nothing", ""),
            ("A=", ""),
            ("A=  # nothing", ""),
            ("A='x # y' # z", "x # y"),
            (r"A='it\'s \n'", r"it's \n"),
            (r#"A="a\"b\n\$\d""#, "a\"b\n\\$\\d"),
            ("A=\"one\ntwo\"\nB=3", "one\ntwo"),
            ("A={\"X-Version\":\"v1\"}", "{\"X-Version\":\"v1\"}"),
            ("A=http://u:p@h/?a=b", "http://u:p@h/?a=b"),
            ("\u{feff}A=1\r\nB=2\r\n", "1"),
            ("A=1\nA=2", "2"),
            ("# don't\nA=1", "1"),
        ] {
            assert_eq!(parse(text).unwrap().get("A").map(String::as_str), Some(expected), "{text}");
        }
    }

    #[test]
    fn a_line_that_is_no_assignment_is_refused_with_its_number() {
        for (text, line, message) in [
            ("A=1\nhunter2", 2, "expected `NAME=value`"),
            ("A=\"1\n2\"\n\nhunter2\n", 4, "expected `NAME=value`"),
            ("A='1", 1, "a quote is not closed"),
            ("A='1' 2", 1, "there is text after the closing quote"),
            ("=1", 1, "expected a variable's name before `=`"),
            ("A B=1", 1, "expected a variable's name before `=`"),
        ] {
            assert_eq!(parse(text), Err(DotEnvError { line, message }), "{text}");
        }
    }
}
