//! Ranking of functions for a query in words. Deterministic: equal scores are ordered by server and name.

mod occurrences;
mod query;
mod synonyms;
pub(crate) mod variants;
pub(crate) mod words;

use std::{cmp::Reverse, collections::BinaryHeap, sync::Arc};

pub(crate) use self::occurrences::Ranking;
use self::{occurrences::Columns, query::Concept};
use crate::{
    function::Effect,
    lookup::distance,
    store::{Column, IndexedFunction, Posting, Store, StoreError},
    visibility::Visibility,
};

/// A function that fits a query.
#[derive(Debug, Clone, PartialEq)]
pub struct Hit {
    /// The server's name.
    pub server: String,
    /// The function's identifier in Python.
    pub python: String,
    /// The function's identifier in TypeScript.
    pub typescript: String,
    /// `METHOD /path`, or the tool's own name.
    pub operation: String,
    /// What calling it does.
    pub effect: Effect,
    /// One line; may be empty.
    pub summary: String,
    /// How well it fits; comparable within one answer only.
    pub score: f32,
}

/// An answer of a search.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Found {
    /// Best first.
    pub hits: Vec<Hit>,
    /// How many functions fit about as well as these, those in `hits` included.
    pub total: usize,
}

/// A function and its score.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ranked {
    pub(crate) function: IndexedFunction,
    pub(crate) score: f32,
}

/// A server whose functions are ranked.
#[derive(Debug)]
pub(crate) struct Place {
    /// The number of its document.
    pub(crate) document: i64,
    /// The words of its name.
    pub(crate) name: Vec<String>,
    /// What its settings change; they add words too.
    pub(crate) visibility: Option<Arc<Visibility>>,
}

impl Place {
    fn words(&self, word: &str) -> Option<&[Posting]> {
        self.visibility.as_ref()?.words().get(word).map(Vec::as_slice)
    }
}

/// How much a word that stands for another counts at most, against the other.
const STAND_IN: f32 = 1.3;
/// The weight at which a word counts half.
const HALF_WEIGHT: f32 = 3.0;
/// How much naming a server counts, against a word that few functions have.
const SERVER_WEIGHT: f32 = 0.8;
/// How much of the score depends on how many of the concepts were found.
const COVERAGE: f32 = 0.6;
/// How much a name counts that has no other words than the query.
const PRECISION: f32 = 0.35;
/// How much it counts that a function is about nothing but what the query has.
const ABOUT: f32 = 0.2;
/// What a function keeps whose effect is not the one that the query's verb means.
const OTHER_EFFECT: f32 = 0.85;
/// What a deprecated function keeps.
const DEPRECATED: f32 = 0.6;

/// What the concepts add up to, for one function.
#[derive(Debug, Clone, Copy, Default)]
struct Score {
    total: f32,
    /// Weights of the concepts that were found.
    covered: f32,
    /// Concepts that occur in the name.
    in_name: u32,
    /// Concepts that occur in what the function is about.
    in_resource: u32,
}

/// How well one concept fits a function.
#[derive(Debug, Clone, Copy, Default)]
struct Fit {
    /// By the word that fits best.
    best: f32,
    columns: Columns,
}

/// All functions that have a word of the query, best first; they are put in order as they are taken.
pub(crate) fn rank(
    store: &Store,
    ranking: &Ranking,
    places: &[Place],
    query: &str,
) -> Result<impl Iterator<Item = Ranked> + use<>, StoreError> {
    let wanted = query::read(query);
    let functions = Arc::clone(&ranking.functions);
    let mut scores = vec![Score::default(); functions.len()];
    let mut all = 0.0;
    for concept in &wanted.concepts {
        all += add_concept(store, ranking, places, concept, &mut scores)?;
    }
    // Bits of positive numbers have the order of the numbers.
    let mut ranked: BinaryHeap<(u32, Reverse<usize>)> = scores
        .iter()
        .zip(&*functions)
        .enumerate()
        .filter(|(_, (score, _))| score.total > 0.0)
        .map(|(at, (score, function))| (score.of(function, all, wanted.effect).to_bits(), Reverse(at)))
        .collect();
    Ok(std::iter::from_fn(move || {
        let (score, Reverse(at)) = ranked.pop()?;
        Some(Ranked {
            function: *functions.get(at)?,
            score: f32::from_bits(score),
        })
    }))
}

impl Score {
    /// The score of a function, where the weights of all concepts are `all`.
    fn of(&self, function: &IndexedFunction, all: f32, wanted: Option<Effect>) -> f32 {
        let coverage = 1.0 - COVERAGE + COVERAGE * self.covered / all;
        let name = 1.0 + PRECISION * ratio(self.in_name, function.name_words);
        let resource = 1.0 + ABOUT * ratio(self.in_resource, function.resource_words);
        let is_wanted = wanted.is_none_or(|effect| suits(effect, function.effect));
        let effect = if is_wanted { 1.0 } else { OTHER_EFFECT };
        let age = if function.is_deprecated { DEPRECATED } else { 1.0 };
        self.total * coverage * name * resource * effect * age
    }
}

/// Adds to each function's score how well it fits one concept: by the word that fits it best. Gives what the concept counts.
fn add_concept(store: &Store, ranking: &Ranking, places: &[Place], concept: &Concept, scores: &mut [Score]) -> Result<f32, StoreError> {
    let functions = &*ranking.functions;
    let mut fits = vec![Fit::default(); functions.len()];
    let mut rarest = 0.0_f32;
    // Gives how rare the word is, if it occurs.
    let mut add = |term: &str, weight: f32, most: f32| -> Result<Option<f32>, StoreError> {
        let occurrences = ranking.occurrences(store, places, term)?;
        let rarity = weight * rarity(functions.len(), occurrences.len()).min(most);
        for occurrence in &*occurrences {
            if let Some(fit) = fits.get_mut(occurrence.at as usize) {
                let here = occurrence.columns.weight();
                fit.best = fit.best.max(rarity * here / (here + HALF_WEIGHT));
                fit.columns.add(occurrence.columns);
            }
        }
        if !occurrences.is_empty() {
            rarest = rarest.max(rarity);
        }
        Ok((!occurrences.is_empty()).then_some(rarity))
    };
    let (mut is_known, mut most) = (false, f32::MAX);
    for (place, (term, weight)) in concept.terms.iter().enumerate() {
        let rarity = add(term, *weight, most)?;
        is_known |= rarity.is_some();
        // What stands for a word is often rarer than it, and would win over all that has the word itself.
        if let (0, Some(rarity)) = (place, rarity) {
            most = rarity * STAND_IN;
        }
    }
    if !is_known && let Some((term, _)) = concept.terms.first() {
        for (near, weight) in nearest(ranking.vocabulary(store)?.iter(), term) {
            add(&near, weight, f32::MAX)?;
        }
    }
    for place in places {
        if concept.terms.iter().any(|(term, _)| place.name.contains(term)) {
            let is_of_server = |function: &IndexedFunction| function.document == place.document;
            let of_server = functions.iter().filter(|function| is_of_server(function)).count();
            let weight = SERVER_WEIGHT * rarity(functions.len(), of_server);
            rarest = rarest.max(weight);
            let all = fits.iter_mut().zip(functions).filter(|(_, function)| is_of_server(function));
            all.for_each(|(fit, _)| fit.best = fit.best.max(weight));
        }
    }
    let weight = concept.weight * rarest;
    for (score, fit) in scores.iter_mut().zip(&fits).filter(|(_, fit)| fit.best > 0.0) {
        score.total += concept.weight * fit.best;
        score.covered += weight;
        score.in_name += u32::from(fit.columns.has(Column::Name));
        score.in_resource += u32::from(fit.columns.has(Column::Resource));
    }
    Ok(weight)
}

/// Words of the index that an unknown word may mean: ones that it begins, else ones that differ by a typing error.
fn nearest<'v>(vocabulary: impl Iterator<Item = (&'v str, u32)>, word: &str) -> Vec<(String, f32)> {
    const MAX_WORDS: usize = 4;
    let chars: Vec<char> = word.chars().collect();
    if chars.len() < 4 {
        return Vec::new();
    }
    let limit = if chars.len() < 6 { 1 } else { 2 };
    let mut found: Vec<(usize, Reverse<u32>, &str)> = Vec::new();
    let mut other = Vec::new();
    for (known, count) in vocabulary {
        let gap = if known.starts_with(word) {
            Some(limit)
        } else if known.is_ascii() && known.len().abs_diff(chars.len()) > limit {
            None
        } else {
            other.clear();
            other.extend(known.chars());
            distance(&chars, &other, limit)
        };
        found.extend(gap.map(|gap| (gap, Reverse(count), known)));
    }
    found.sort_unstable();
    let best = found.first().map_or(0, |(gap, ..)| *gap);
    found
        .into_iter()
        .take_while(|(gap, ..)| *gap == best)
        .take(MAX_WORDS)
        .map(|(_, _, known)| (known.to_owned(), 0.8))
        .collect()
}

fn suits(wanted: Effect, effect: Effect) -> bool {
    match wanted {
        Effect::Read => effect == Effect::Read,
        Effect::Write => effect == Effect::Write,
        // Much is removed or cancelled by a call that only writes.
        Effect::Destructive => effect != Effect::Read,
    }
}

#[expect(clippy::cast_precision_loss, reason = "counts of functions are far below 2^24")]
fn rarity(all: usize, with_word: usize) -> f32 {
    let with_word = with_word as f32;
    (1.0 + (all as f32 - with_word + 0.5).max(0.0) / (with_word + 0.5)).ln()
}

#[expect(clippy::cast_precision_loss, reason = "counts of words are far below 2^24")]
fn ratio(part: u32, whole: u32) -> f32 {
    (part as f32 / whole.max(1) as f32).min(1.0)
}
