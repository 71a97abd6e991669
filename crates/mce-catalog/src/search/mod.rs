//! Ranking of functions for a query in words. Deterministic: equal scores are ordered by server and name.

mod query;
mod synonyms;
pub(crate) mod variants;
pub(crate) mod words;

use std::{cmp::Ordering, collections::BTreeMap, sync::Arc};

use self::query::Concept;
use crate::{
    function::Effect,
    lookup::distance,
    store::{Column, IndexedFunction, Posting, Store, StoreError},
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

/// What ranking keeps in memory, for one state of the file.
#[derive(Debug, Clone)]
pub(crate) struct Ranking {
    pub(crate) generation: i64,
    /// By key.
    pub(crate) functions: Arc<[IndexedFunction]>,
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
    /// Where words occur that only this server has, because of its settings.
    pub(crate) words: BTreeMap<String, Vec<Posting>>,
}

impl Place {
    /// Where a word occurs, by function.
    fn all(places: &[Self], store: &Store, word: &str) -> Result<Vec<Posting>, StoreError> {
        let mut postings = store.postings(word)?;
        let stored = postings.len();
        postings.extend(places.iter().filter_map(|place| place.words.get(word)).flatten().copied());
        if postings.len() > stored {
            postings.sort_by_key(|posting| posting.function);
        }
        Ok(postings)
    }
}

/// How much a word in a column says about a function.
const fn column_weight(column: Column) -> f32 {
    match column {
        Column::Name => 4.0,
        Column::Path => 2.0,
        Column::Tags => 1.0,
        Column::Summary => 3.0,
        Column::Description => 1.0,
        Column::Parameters => 0.6,
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
/// What a function keeps whose effect is not the one that the query's verb means.
const OTHER_EFFECT: f32 = 0.85;
/// What a deprecated function keeps.
const DEPRECATED: f32 = 0.6;

/// What the concepts add up to, for each function.
struct Scores {
    total: Vec<f32>,
    /// Weights of the concepts that were found.
    covered: Vec<f32>,
    /// Concepts that occur in the name.
    in_name: Vec<u32>,
    /// Weights of all concepts.
    all: f32,
}

/// All functions that have a word of the query, best first.
pub(crate) fn rank(store: &Store, ranking: &Ranking, places: &[Place], query: &str) -> Result<Vec<Ranked>, StoreError> {
    let wanted = query::read(query);
    let functions = &*ranking.functions;
    let mut scores = Scores {
        total: vec![0.0; functions.len()],
        covered: vec![0.0; functions.len()],
        in_name: vec![0; functions.len()],
        all: 0.0,
    };
    for concept in &wanted.concepts {
        add_concept(store, functions, places, concept, &mut scores)?;
    }
    let mut ranked = Vec::new();
    for (at, function) in functions.iter().enumerate() {
        let get = |list: &[f32]| list.get(at).copied().unwrap_or_default();
        let (total, covered) = (get(&scores.total), get(&scores.covered));
        if total > 0.0 {
            let coverage = 1.0 - COVERAGE + COVERAGE * covered / scores.all;
            let precision = 1.0 + PRECISION * ratio(scores.in_name.get(at).copied().unwrap_or_default(), function.name_words);
            let effect = if wanted.effect.is_none_or(|effect| suits(effect, function.effect)) {
                1.0
            } else {
                OTHER_EFFECT
            };
            let age = if function.is_deprecated { DEPRECATED } else { 1.0 };
            ranked.push(Ranked {
                function: *function,
                score: total * coverage * precision * effect * age,
            });
        }
    }
    ranked.sort_by(|a, b| {
        b.score
            .partial_cmp(&a.score)
            .unwrap_or(Ordering::Equal)
            .then(a.function.key.cmp(&b.function.key))
    });
    Ok(ranked)
}

/// Adds to each function's score how well it fits one concept: by the word that fits it best.
fn add_concept(
    store: &Store,
    functions: &[IndexedFunction],
    places: &[Place],
    concept: &Concept,
    scores: &mut Scores,
) -> Result<(), StoreError> {
    let mut best = vec![0.0_f32; functions.len()];
    let mut is_in_name = vec![false; functions.len()];
    let mut rarest = 0.0_f32;
    // Gives how rare the word is, if it occurs.
    let mut add = |term: &str, weight: f32, most: f32| -> Result<Option<f32>, StoreError> {
        // Postings come by function, so that equal ones are neighbours.
        let mut here: Vec<(usize, f32)> = Vec::new();
        for posting in Place::all(places, store, term)? {
            let Ok(at) = functions.binary_search_by_key(&posting.function, |function| function.key) else {
                continue;
            };
            match here.last_mut() {
                Some((last, score)) if *last == at => *score += column_weight(posting.column),
                Some(_) | None => here.push((at, column_weight(posting.column))),
            }
            if let Some(in_name) = is_in_name.get_mut(at) {
                *in_name |= posting.column == Column::Name;
            }
        }
        let rarity = weight * rarity(functions.len(), u32::try_from(here.len()).unwrap_or(u32::MAX)).min(most);
        for (at, here) in &here {
            if let Some(best) = best.get_mut(*at) {
                *best = best.max(rarity * here / (here + HALF_WEIGHT));
            }
        }
        if !here.is_empty() {
            rarest = rarest.max(rarity);
        }
        Ok((!here.is_empty()).then_some(rarity))
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
        for (near, weight) in nearest(&store.vocabulary()?, term) {
            add(&near, weight, f32::MAX)?;
        }
    }
    for place in places {
        if concept.terms.iter().any(|(term, _)| place.name.contains(term)) {
            let of_server = functions.iter().filter(|function| function.document == place.document).count();
            let weight = SERVER_WEIGHT * rarity(functions.len(), u32::try_from(of_server).unwrap_or(u32::MAX));
            rarest = rarest.max(weight);
            let all = best
                .iter_mut()
                .zip(functions)
                .filter(|(_, function)| function.document == place.document);
            all.for_each(|(best, _)| *best = best.max(weight));
        }
    }
    let weight = concept.weight * rarest;
    scores.all += weight;
    for (at, best) in best.into_iter().enumerate().filter(|(_, best)| *best > 0.0) {
        if let (Some(total), Some(covered), Some(in_name)) =
            (scores.total.get_mut(at), scores.covered.get_mut(at), scores.in_name.get_mut(at))
        {
            *total += concept.weight * best;
            *covered += weight;
            *in_name += u32::from(is_in_name.get(at).copied().unwrap_or_default());
        }
    }
    Ok(())
}

/// Words of the index that an unknown word may mean: ones that it begins, else ones that differ by a typing error.
fn nearest(vocabulary: &[(String, u32)], word: &str) -> Vec<(String, f32)> {
    const MAX_WORDS: usize = 4;
    let chars: Vec<char> = word.chars().collect();
    if chars.len() < 4 {
        return Vec::new();
    }
    let limit = if chars.len() < 6 { 1 } else { 2 };
    let mut found: Vec<(usize, std::cmp::Reverse<u32>, &str)> = Vec::new();
    for (known, count) in vocabulary {
        let other: Vec<char> = known.chars().collect();
        let gap = if known.starts_with(word) {
            Some(limit)
        } else {
            distance(&chars, &other, limit)
        };
        found.extend(gap.map(|gap| (gap, std::cmp::Reverse(*count), known.as_str())));
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
fn rarity(all: usize, with_word: u32) -> f32 {
    let with_word = with_word as f32;
    (1.0 + (all as f32 - with_word + 0.5).max(0.0) / (with_word + 0.5)).ln()
}

#[expect(clippy::cast_precision_loss, reason = "counts of words are far below 2^24")]
fn ratio(part: u32, whole: u32) -> f32 {
    (part as f32 / whole.max(1) as f32).min(1.0)
}
