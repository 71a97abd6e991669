//! What the rules of servers make of their documents, kept until the catalog changes.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};

use super::Visibility;
use crate::{
    store::{Store, StoreError},
    view::ServerView,
};

/// The visibilities of all servers that have rules.
#[derive(Debug, Default)]
pub(crate) struct Visibilities {
    /// A cache behind a lock: held to look up and to insert, never while the store is read.
    kept: Mutex<Kept>,
}

/// By server, for one state of the store's file.
#[derive(Debug, Default)]
struct Kept {
    generation: i64,
    by_server: BTreeMap<String, Arc<Visibility>>,
}

impl Visibilities {
    /// What the rules of a server make of its document; `None` if it has none.
    pub(crate) fn of(&self, view: &ServerView, store: &Store) -> Result<Option<Arc<Visibility>>, StoreError> {
        if view.rules.is_empty() {
            return Ok(None);
        }
        let generation = store.generation()?;
        let lock = || self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let known = |kept: &Kept| kept.by_server.get(&view.name).filter(|_| kept.generation == generation).cloned();
        if let Some(visibility) = known(&lock()) {
            return Ok(Some(visibility));
        }
        let rows = store.ruled_rows(&view.location)?;
        let made = Arc::new(Visibility::new(view, rows, |key| store.whole_function(key))?);
        let mut kept = lock();
        if kept.generation != generation {
            *kept = Kept {
                generation,
                by_server: BTreeMap::new(),
            };
        }
        kept.by_server.insert(view.name.clone(), Arc::clone(&made));
        Ok(Some(made))
    }
}
