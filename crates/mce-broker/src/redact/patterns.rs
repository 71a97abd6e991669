//! All that is searched for, and the search.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

use aho_corasick::AhoCorasick;

use super::decoded::{Decoded, Escapes};
use super::learned::Learned;
use super::places::is_place;

/// In bytes that are no text, shorter forms are found by chance; in texts, if case did not count.
pub(super) const MIN_BYTES_IN_BINARY: usize = 8;
/// Escapes in escapes that are read: a URL in a query, JSON in a text of JSON.
const MAX_ESCAPES: usize = 2;

/// What is searched for.
#[derive(Default)]
pub(super) struct Patterns {
    /// Forms of secrets in any case.
    long: Option<AhoCorasick>,
    /// Forms of secrets as they are.
    short: Option<AhoCorasick>,
    /// Forms of base URLs in any case.
    places: Option<AhoCorasick>,
    /// Forms of secrets that came later.
    pub(super) learned: Arc<Learned>,
}

/// A part of a text that must go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Cut {
    pub(super) range: Range<usize>,
    pub(super) is_secret: bool,
}

impl Patterns {
    pub(super) fn new(secrets: BTreeSet<String>, places: &BTreeSet<String>) -> Self {
        let (long, short): (Vec<_>, Vec<_>) = secrets.into_iter().partition(|form| form.len() >= MIN_BYTES_IN_BINARY);
        Self {
            long: searcher(&long, true),
            short: searcher(&short, false),
            places: searcher(places, true),
            learned: Arc::default(),
        }
    }

    /// What must go from a text, also where it is written with escapes. In order, none overlaps another.
    pub(super) fn in_text(&self, text: &[u8]) -> Vec<Cut> {
        merged(self.in_escapes(text, MAX_ESCAPES))
    }

    /// What must go from between the quotes of a JSON string. No escape is divided.
    pub(super) fn in_json_string(&self, text: &[u8]) -> Vec<Cut> {
        match Decoded::of(text, Escapes::Backslash) {
            Some(decoded) => merged(in_source(&decoded, self.in_text(&decoded.bytes)).collect()),
            None => self.in_text(text),
        }
    }

    /// What must go from bytes that are no text.
    pub(super) fn in_binary(&self, bytes: &[u8]) -> Vec<Cut> {
        let mut cuts = Vec::new();
        find(self.long.as_ref(), bytes, &mut cuts);
        find(self.learned.searcher().as_deref(), bytes, &mut cuts);
        merged(cuts)
    }

    fn in_escapes(&self, text: &[u8], depth: usize) -> Vec<Cut> {
        let mut cuts = Vec::new();
        find(self.long.as_ref(), text, &mut cuts);
        find(self.short.as_ref(), text, &mut cuts);
        find(self.learned.searcher().as_deref(), text, &mut cuts);
        let places = self.places.iter().flat_map(|places| places.find_overlapping_iter(text));
        cuts.extend(
            places
                .map(|found| found.range())
                .filter(|found| is_place(text, found))
                .map(|range| Cut { range, is_secret: false }),
        );
        if depth > 0 {
            for escapes in [Escapes::Percent, Escapes::Backslash, Escapes::Entity] {
                if let Some(decoded) = Decoded::of(text, escapes) {
                    cuts.extend(in_source(&decoded, self.in_escapes(&decoded.bytes, depth - 1)));
                }
            }
        }
        cuts
    }
}

pub(super) fn searcher<'a>(forms: impl IntoIterator<Item = &'a String>, any_case: bool) -> Option<AhoCorasick> {
    let forms: Vec<_> = forms.into_iter().filter(|form| !form.is_empty()).collect();
    if forms.is_empty() {
        return None;
    }
    // Fails only beyond billions of bytes.
    AhoCorasick::builder().ascii_case_insensitive(any_case).build(forms).ok()
}

/// All secrets, also those that overlap, so that no end of one is left over. Joined at once: a short secret can be in a
/// text a million times.
fn find(searcher: Option<&AhoCorasick>, text: &[u8], cuts: &mut Vec<Cut>) {
    let start = cuts.len();
    for found in searcher.iter().flat_map(|searcher| searcher.find_overlapping_iter(text)) {
        let mut range = found.range();
        while let Some(last) = cuts
            .get(start..)
            .and_then(<[Cut]>::last)
            .filter(|last| range.start < last.range.end)
        {
            range = range.start.min(last.range.start)..range.end.max(last.range.end);
            cuts.pop();
        }
        cuts.push(Cut { range, is_secret: true });
    }
}

fn in_source(decoded: &Decoded, cuts: Vec<Cut>) -> impl Iterator<Item = Cut> {
    cuts.into_iter().map(|cut| Cut {
        range: decoded.source(&cut.range),
        ..cut
    })
}

fn merged(mut cuts: Vec<Cut>) -> Vec<Cut> {
    cuts.sort_unstable_by_key(|cut| cut.range.start);
    let mut merged: Vec<Cut> = Vec::with_capacity(cuts.len());
    for cut in cuts {
        match merged.last_mut().filter(|last| cut.range.start < last.range.end) {
            Some(last) => {
                last.range.end = last.range.end.max(cut.range.end);
                last.is_secret |= cut.is_secret;
            }
            None => merged.push(cut),
        }
    }
    merged
}
