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
/// Longest name of a property in such a comment, in characters.
const MAX_CUT_NAME_CHARS: usize = 40;
/// Longest name of a type in such a comment. It is what the type is asked for by, so all but absurd ones are whole.
const MAX_CUT_TYPE_CHARS: usize = 200;

/// How much of a definition is written.
#[derive(Debug, Clone, Copy)]
pub(super) struct Detail {
    pub(super) has_notes: bool,
    /// Required fields come first; the names of the rest go into a comment.
    pub(super) max_fields: usize,
}

/// Definitions, and what is missing of them.
#[derive(Debug)]
pub(super) struct Source {
    text: String,
    /// Names of types that are not there.
    cut: Vec<String>,
    /// Names of types without some of their fields, values or notes.
    in_part: Vec<String>,
}

impl Source {
    /// The text, and a comment that names the types that are not there.
    pub(super) fn with_names(mut self, language: Language) -> String {
        if !self.cut.is_empty() {
            let listed = type_names(&self.cut);
            self.comment(language, &format!("not shown: {listed}"));
        }
        self.text
    }

    /// Likewise, with all that is cut and with the way to get it.
    pub(super) fn with_advice(mut self, language: Language) -> String {
        let parts = [("not shown", &self.cut), ("shown in part", &self.in_part)];
        let named: Vec<String> = parts
            .into_iter()
            .filter(|(_, names)| !names.is_empty())
            .map(|(how, names)| format!("{how}: {}", type_names(names)))
            .collect();
        if let Some(first) = self.cut.first().or_else(|| self.in_part.first()) {
            let advice = format!(
                "get_functions shows them for this function with \"types\": [\"{}\"]",
                type_name(first)
            );
            self.comment(language, &named.join("; "));
            self.comment(language, &advice);
        }
        self.text
    }

    fn comment(&mut self, language: Language, comment: &str) {
        let mark = match language {
            Language::Python => "#",
            Language::TypeScript => "//",
        };
        let parts = [mark, " ", comment, "\n"];
        self.text.extend(parts);
    }
}

fn type_name(name: &str) -> String {
    one_line(name, MAX_CUT_TYPE_CHARS)
}

fn type_names(all: &[String]) -> String {
    names(all.iter().map(|name| type_name(name)), all.len())
}

/// Defines all types that `roots` need, nearest first, in at most `budget` characters. A type that does not fit loses its
/// notes, then optional fields; what is cut is named in a comment, which comes on top of the budget.
pub(super) fn definitions<'s>(
    shaper: &mut Shaper<'_>,
    roots: impl Iterator<Item = &'s Shape>,
    language: Language,
    budget: usize,
) -> Source {
    let mut waiting = VecDeque::new();
    let mut seen = BTreeSet::new();
    let mut add = |waiting: &mut VecDeque<usize>, number: usize| {
        if seen.insert(number) {
            waiting.push_back(number);
        }
    };
    roots.for_each(|root| root.each_name(&mut |number| add(&mut waiting, number)));
    let mut source = Source {
        text: String::new(),
        cut: Vec::new(),
        in_part: Vec::new(),
    };
    let mut left = budget;
    while let Some(number) = waiting.pop_front() {
        // The rest need not be made to be named: the names are known.
        let Some(definition) = (left > 0).then(|| shaper.definition(number)).flatten() else {
            source.cut.push(shaper.name(number));
            continue;
        };
        match fitting(&definition, language, left, &|number| shaper.name(number)) {
            Some((text, is_whole)) => {
                left = left.saturating_sub(text.chars().count());
                source.text.push_str(&text);
                definition.content.each_name(&mut |number| add(&mut waiting, number));
                source.in_part.extend((!is_whole).then_some(definition.name));
            }
            None => source.cut.push(definition.name),
        }
    }
    source
}

/// The longest text of a definition that has at most `budget` characters, and whether it says everything.
fn fitting(definition: &Definition, language: Language, budget: usize, name: &dyn Fn(usize) -> String) -> Option<(String, bool)> {
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
            let is_whole = detail.has_notes && detail.max_fields >= fields && definition.is_whole();
            return Some((text, is_whole));
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
        names(cut.iter().map(|(_, field)| one_line(&field.key, MAX_CUT_NAME_CHARS)), cut.len())
    );
    (shown.into_iter().map(|(_, field)| field).collect(), Some(text))
}

fn names(all: impl Iterator<Item = String>, count: usize) -> String {
    let mut listed: Vec<String> = all.take(MAX_CUT_NAMES).collect();
    if count > MAX_CUT_NAMES {
        listed.push(format!("… {} more", count - MAX_CUT_NAMES));
    }
    listed.join(", ")
}
