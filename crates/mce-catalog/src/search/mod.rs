//! Ranking of functions for a query in words. Deterministic: equal scores are ordered by server and name.

mod synonyms;
pub(crate) mod words;

use std::{cmp::Ordering, sync::Arc};

use self::words::{is_stop_word, split, stem};
use crate::{
    function::Effect,
    store::{Column, IndexedFunction, Store, StoreError},
};

/// Longer queries are cut.
const MAX_QUERY_CHARS: usize = 400;
/// More words of a query are not looked at.
const MAX_QUERY_WORDS: usize = 24;

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
    /// How many functions fit, those in `hits` included.
    pub total: usize,
}

/// What ranking keeps in memory, for one state of the file.
#[derive(Debug, Clone)]
pub(crate) struct Ranking {
    pub(crate) generation: i64,
    /// By key.
    pub(crate) functions: Arc<Vec<IndexedFunction>>,
}

/// A function and its score.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ranked {
    pub(crate) function: IndexedFunction,
    pub(crate) score: f32,
}

const fn column_weight(column: Column) -> f32 {
    match column {
        Column::Name => 4.0,
        Column::Path => 2.0,
        Column::Tags => 1.0,
        Column::Summary => 3.0,
        Column::Description => 1.0,
        Column::Parameters => 0.5,
    }
}

/// All functions that have a word of the query, best first.
pub(crate) fn rank(store: &Store, ranking: &Ranking, query: &str) -> Result<Vec<Ranked>, StoreError> {
    let query: String = query.chars().take(MAX_QUERY_CHARS).collect();
    let count = ranking.functions.len();
    let mut total = vec![0.0_f32; count];
    let words: Vec<String> = split(&query)
        .into_iter()
        .filter(|word| !is_stop_word(word))
        .take(MAX_QUERY_WORDS)
        .collect();
    for word in &words {
        let mut terms = vec![(stem(word), 1.0_f32)];
        terms.extend(synonyms::synonyms(word).into_iter().map(|(other, weight)| (stem(other), weight)));
        let mut best = vec![0.0_f32; count];
        for (term, weight) in terms {
            let mut here = vec![0.0_f32; count];
            let mut functions = 0_u32;
            for posting in store.postings(&term)? {
                let Ok(at) = ranking.functions.binary_search_by_key(&posting.function, |function| function.key) else {
                    continue;
                };
                if let Some(score) = here.get_mut(at) {
                    functions += u32::from(*score == 0.0);
                    *score += column_weight(posting.column);
                }
            }
            let rarity = inverse_frequency(count, functions);
            for (best, here) in best.iter_mut().zip(here) {
                *best = best.max(weight * rarity * here / (here + 3.0));
            }
        }
        for (total, best) in total.iter_mut().zip(best) {
            *total += best;
        }
    }
    let mut ranked: Vec<Ranked> = ranking
        .functions
        .iter()
        .zip(total)
        .filter(|(_, score)| *score > 0.0)
        .map(|(function, score)| Ranked {
            function: *function,
            score,
        })
        .collect();
    ranked.sort_by(|a, b| {
        b.score
            .partial_cmp(&a.score)
            .unwrap_or(Ordering::Equal)
            .then(a.function.key.cmp(&b.function.key))
    });
    Ok(ranked)
}

#[expect(clippy::cast_precision_loss, reason = "counts of functions are far below 2^24")]
fn inverse_frequency(all: usize, with_word: u32) -> f32 {
    let with_word = with_word as f32;
    (1.0 + (all as f32 - with_word + 0.5) / (with_word + 0.5)).ln()
}
