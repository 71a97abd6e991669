//! The source text of the types that a signature names, within a budget.

use std::collections::{BTreeSet, VecDeque};

use super::{
    Language,
    prose::one_line,
    python,
    shape::{Content, Definition, Field, Shape},
    shaper::Shaper,
    typescript,
};

/// Fewer fields than this are not worth showing of a long record.
const MIN_FIELDS: usize = 4;
/// How many names a comment lists of what was cut.
const MAX_CUT_NAMES: usize = 30;
/// Longest name in such a comment, in characters.
const MAX_CUT_NAME_CHARS: usize = 40;

/// How much of a definition is written.
#[derive(Debug, Clone, Copy)]
pub(super) struct Detail {
    pub(super) has_notes: bool,
    /// Required fields come first; the names of the rest go into a comment.
    pub(super) max_fields: usize,
}

/// Defines all types that `roots` need, nearest first, in at most `budget` characters. A type that does not fit loses its
/// notes, then optional fields; what is cut is named in a comment, which comes on top of the budget.
pub(super) fn definitions<'s>(
    shaper: &mut Shaper<'_>,
    roots: impl Iterator<Item = &'s Shape>,
    language: Language,
    budget: usize,
) -> String {
    let mut waiting = VecDeque::new();
    let mut seen = BTreeSet::new();
    let mut add = |waiting: &mut VecDeque<usize>, number: usize| {
        if seen.insert(number) {
            waiting.push_back(number);
        }
    };
    roots.for_each(|root| root.each_name(&mut |number| add(&mut waiting, number)));
    let mut out = String::new();
    let mut left = budget;
    let mut cut = Vec::new();
    while let Some(number) = waiting.pop_front() {
        // The rest need not be made to be named: the names are known.
        let Some(definition) = (left > 0).then(|| shaper.definition(number)).flatten() else {
            cut.push(shaper.name(number));
            continue;
        };
        match fitting(&definition, language, left, &|number| shaper.name(number)) {
            Some(text) => {
                left = left.saturating_sub(text.chars().count());
                out.push_str(&text);
                definition.content.each_name(&mut |number| add(&mut waiting, number));
            }
            None => cut.push(definition.name),
        }
    }
    if !cut.is_empty() {
        let mark = if language == Language::Python { "#" } else { "//" };
        return format!("{out}{mark} not shown: {}\n", names(cut.iter().map(String::as_str), cut.len()));
    }
    out
}

/// The longest text of a definition that has at most `budget` characters.
fn fitting(definition: &Definition, language: Language, budget: usize, name: &dyn Fn(usize) -> String) -> Option<String> {
    let fields = match &definition.content {
        Content::Missing => return None,
        Content::Record { fields, .. } => fields.len(),
        Content::Alias(_) => 0,
    };
    let write = |detail| match language {
        Language::Python => python::definition(definition, detail, name),
        Language::TypeScript => typescript::definition(definition, detail, name),
    };
    let mut detail = Detail {
        has_notes: true,
        max_fields: fields,
    };
    loop {
        let text = write(detail);
        if text.chars().count() <= budget {
            return Some(text);
        }
        if detail.has_notes {
            detail.has_notes = false;
        } else if detail.max_fields / 2 >= MIN_FIELDS {
            detail.max_fields /= 2;
        } else {
            return None;
        }
    }
}

/// The fields to show, in order, and a comment that names the others.
pub(super) fn cut_fields(fields: &[Field], detail: Detail) -> (Vec<&Field>, Option<String>) {
    if fields.len() <= detail.max_fields {
        return (fields.iter().collect(), None);
    }
    let by_need = fields
        .iter()
        .enumerate()
        .filter(|(_, field)| field.is_required)
        .chain(fields.iter().enumerate().filter(|(_, field)| !field.is_required));
    let kept: BTreeSet<usize> = by_need.map(|(index, _)| index).take(detail.max_fields).collect();
    let (shown, cut): (Vec<_>, Vec<_>) = fields.iter().enumerate().partition(|(index, _)| kept.contains(index));
    let text = format!(
        "{} more: {}",
        cut.len(),
        names(cut.iter().map(|(_, field)| field.key.as_str()), cut.len())
    );
    (shown.into_iter().map(|(_, field)| field).collect(), Some(text))
}

fn names<'n>(all: impl Iterator<Item = &'n str>, count: usize) -> String {
    let mut listed: Vec<String> = all.take(MAX_CUT_NAMES).map(|name| one_line(name, MAX_CUT_NAME_CHARS)).collect();
    if count > MAX_CUT_NAMES {
        listed.push("…".to_owned());
    }
    listed.join(", ")
}
