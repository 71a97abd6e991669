//! Where words occur, in memory while the file stays as it is: the verbs of the trade are in most queries and in most
//! functions, and reading where they occur takes longer than all the rest of a search.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};

use super::Place;
use crate::store::{Column, FunctionKey, IndexedFunction, Posting, Store, StoreError};

/// Words in fewer functions are read each time.
const FREQUENT: usize = 200;
/// More than these are not kept: 4 MB.
const MAX_KEPT: usize = 500_000;

/// How much a word in a column says about a function.
const WEIGHTS: [(Column, f32); 7] = [
    (Column::Name, 4.0),
    (Column::Path, 2.0),
    (Column::Resource, 2.0),
    (Column::Tags, 1.0),
    (Column::Summary, 3.0),
    (Column::Description, 1.0),
    (Column::Parameters, 0.6),
];

/// A word in a function.
#[derive(Debug, Clone, Copy)]
pub(super) struct Occurrence {
    /// The function's place in [`Ranking::functions`].
    pub(super) at: u32,
    pub(super) columns: Columns,
}

/// Some of the columns.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Columns(u8);

impl Columns {
    const fn of(column: Column) -> Self {
        Self(1 << column as u8)
    }

    pub(super) fn add(&mut self, other: Self) {
        self.0 |= other.0;
    }

    pub(super) const fn has(self, column: Column) -> bool {
        self.0 & Self::of(column).0 != 0
    }

    /// How much a word in all of these says about a function.
    pub(super) fn weight(self) -> f32 {
        let here = WEIGHTS.iter().filter(|(column, _)| self.has(*column));
        here.map(|(_, weight)| weight).sum()
    }
}

/// What ranking keeps in memory, for one state of the file.
#[derive(Debug, Clone)]
pub(crate) struct Ranking {
    pub(crate) generation: i64,
    /// By key.
    pub(super) functions: Arc<[IndexedFunction]>,
    frequent: Arc<Mutex<BTreeMap<String, Arc<[Occurrence]>>>>,
    /// All words with the number of functions that have them, once one was looked for that is none of them.
    vocabulary: Arc<Mutex<Option<Vocabulary>>>,
}

type Vocabulary = Arc<Words>;

/// Words with the number of functions that have each.
#[derive(Debug, Default)]
pub(super) struct Words {
    /// One a line.
    text: String,
    counts: Vec<u32>,
}

impl Words {
    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, u32)> {
        self.text.lines().zip(self.counts.iter().copied())
    }
}

impl Ranking {
    pub(crate) fn read(store: &Store, generation: i64) -> Result<Self, StoreError> {
        Ok(Self {
            generation,
            functions: store.indexed_functions()?.into(),
            frequent: Arc::default(),
            vocabulary: Arc::default(),
        })
    }

    /// All words of the index with the number of functions that have them.
    pub(super) fn vocabulary(&self, store: &Store) -> Result<Vocabulary, StoreError> {
        let mut kept = self.vocabulary.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = &*kept {
            return Ok(Arc::clone(known));
        }
        let mut words = Words::default();
        for (word, count) in store.vocabulary()? {
            words.text.push_str(&word);
            words.text.push('\n');
            words.counts.push(count);
        }
        let read = Arc::new(words);
        *kept = Some(Arc::clone(&read));
        Ok(read)
    }

    /// Where a word occurs, by function, each once.
    pub(super) fn occurrences(&self, store: &Store, places: &[Place], word: &str) -> Result<Arc<[Occurrence]>, StoreError> {
        let stored = self.stored(store, word)?;
        let own: Vec<Posting> = places.iter().filter_map(|place| place.words(word)).flatten().copied().collect();
        if own.is_empty() {
            return Ok(stored);
        }
        let mut all = stored.to_vec();
        all.extend(self.placed(&own));
        all.sort_by_key(|occurrence| occurrence.at);
        Ok(merged(all).into())
    }

    fn stored(&self, store: &Store, word: &str) -> Result<Arc<[Occurrence]>, StoreError> {
        if let Some(known) = self.frequent.lock().unwrap_or_else(PoisonError::into_inner).get(word) {
            return Ok(Arc::clone(known));
        }
        let postings = store.postings(word)?;
        let found: Arc<[Occurrence]> = merged(self.placed(&postings).collect()).into();
        if found.len() >= FREQUENT {
            let mut frequent = self.frequent.lock().unwrap_or_else(PoisonError::into_inner);
            let kept: usize = frequent.values().map(|kept| kept.len()).sum();
            if kept + found.len() <= MAX_KEPT {
                frequent.insert(word.to_owned(), Arc::clone(&found));
            }
        }
        Ok(found)
    }

    fn placed(&self, postings: &[Posting]) -> impl Iterator<Item = Occurrence> {
        let place = |key: FunctionKey| self.functions.binary_search_by_key(&key, |function| function.key).ok();
        postings.iter().filter_map(move |posting| {
            Some(Occurrence {
                at: u32::try_from(place(posting.function)?).ok()?,
                columns: Columns::of(posting.column),
            })
        })
    }
}

/// Neighbours in the same function become one.
fn merged(mut occurrences: Vec<Occurrence>) -> Vec<Occurrence> {
    occurrences.dedup_by(|later, first| {
        let is_same = later.at == first.at;
        if is_same {
            first.columns.add(later.columns);
        }
        is_same
    });
    occurrences
}
