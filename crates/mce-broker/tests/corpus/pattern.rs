//! Texts that match a regular expression: always the same ones, short, of plain characters where those will do.

use std::cell::RefCell;
use std::collections::HashMap;

use jsonschema::Validator;
use regex_syntax::hir::{Class, Hir, HirKind};
use serde_json::{Value, json};

/// Characters that are preferred.
const PLAIN: &str = "a1Ab2Bc3Cd4De5Ef6F";

thread_local! {
    static KNOWN: RefCell<HashMap<String, Option<Validator>>> = RefCell::default();
}

/// Whether a text matches, as a validator sees it.
pub(crate) fn is_match(pattern: &str, text: &str) -> bool {
    let build = || jsonschema::draft202012::options().build(&json!({"pattern": pattern})).ok();
    KNOWN.with_borrow_mut(|known| {
        let validator = known.entry(pattern.to_owned()).or_insert_with(build);
        validator.as_ref().is_some_and(|validator| validator.is_valid(&Value::from(text)))
    })
}

/// A text of at least `min` characters that matches, if the pattern can be read; another one for each `turn`.
/// Look-around is left out.
pub(crate) fn text_for(pattern: &str, min: usize, turn: usize) -> Option<String> {
    let hir = regex_syntax::parse(&without_look_around(pattern)).ok()?;
    let mut shortest = None;
    for more in [0, 1, 2, 4, 8, 16, 32, 64, 128, 256] {
        let mut out = String::new();
        write(&hir, more, turn, &mut out)?;
        if out.chars().count() >= min {
            return Some(out);
        }
        shortest.get_or_insert(out);
    }
    // What surrounds the match is free, unless the pattern says otherwise.
    shortest.map(|text| format!("{text}{}", "a".repeat(min - text.chars().count())))
}

/// `more`: repetitions beyond the least number, where they may be.
fn write(hir: &Hir, more: u32, turn: usize, out: &mut String) -> Option<()> {
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => {}
        HirKind::Literal(literal) => out.push_str(std::str::from_utf8(&literal.0).ok()?),
        HirKind::Class(class) => out.push(character(class, turn + out.len())?),
        HirKind::Repetition(repetition) => {
            let count = (repetition.min + more).max(1);
            for _ in 0..repetition.max.map_or(count, |max| count.min(max)) {
                write(&repetition.sub, more.min(1), turn, out)?;
            }
        }
        HirKind::Capture(capture) => write(&capture.sub, more, turn, out)?,
        HirKind::Concat(parts) => parts.iter().try_for_each(|part| write(part, more, turn, out))?,
        HirKind::Alternation(parts) => write(parts.get(turn % parts.len())?, more, turn, out)?,
    }
    Some(())
}

fn character(class: &Class, turn: usize) -> Option<char> {
    let Class::Unicode(class) = class else { return None };
    let has = |wanted: &char| class.ranges().iter().any(|range| (range.start()..=range.end()).contains(wanted));
    let plain: Vec<char> = PLAIN.chars().filter(has).collect();
    match turn.checked_rem(plain.len()) {
        Some(turn) => plain.get(turn).copied(),
        None => class.ranges().first().map(regex_syntax::hir::ClassUnicodeRange::start),
    }
}

fn without_look_around(pattern: &str) -> String {
    // `\/` and `\-` are no escapes of this syntax, but those of JavaScript.
    let mut rest = pattern.replace("\\/", "/").replace("\\d", "[0-9]").replace("\\w", "[a-zA-Z0-9_]");
    while let Some(start) = ["(?=", "(?!", "(?<=", "(?<!"].iter().filter_map(|open| rest.find(open)).min() {
        let (before, group) = rest.split_at(start);
        let Some(length) = length_of_group(group) else { break };
        rest = format!("{before}{}", group.split_at(length).1);
    }
    rest
}

/// Up to the bracket that closes the first one.
fn length_of_group(group: &str) -> Option<usize> {
    let mut depth = 0;
    let mut is_escaped = false;
    for (index, character) in group.char_indices() {
        match character {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            '(' => depth += 1,
            ')' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return Some(index + 1);
        }
    }
    None
}
