//! What servers say has changed, and the resources of which somebody wants to know it.

use std::collections::BTreeMap;

use tokio::sync::watch;

/// A change of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// The server.
    pub server: String,
    /// What may be another now.
    pub what: Changed,
}

/// What may be another now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Changed {
    /// Its tools.
    Tools,
    /// Its prompts.
    Prompts,
    /// Its list of resources.
    Resources,
    /// What the resource of this URI holds.
    Resource(String),
}

impl Change {
    /// The change of a server.
    pub(super) fn new(server: &str, what: Changed) -> Self {
        Self {
            server: server.to_owned(),
            what,
        }
    }

    /// All lists: those of a server that is connected anew.
    pub(super) fn all(server: &str) -> [Self; 3] {
        [Changed::Tools, Changed::Prompts, Changed::Resources].map(|what| Self::new(server, what))
    }
}

/// Resources of one server, and how many want to know when each changes.
#[derive(Debug, Default)]
pub(super) struct Subscribed(watch::Sender<BTreeMap<String, usize>>);

impl Subscribed {
    /// Whether this is the first who wants to know it.
    pub(super) fn add(&self, uri: &str) -> bool {
        let mut is_first = false;
        self.0.send_if_modified(|wanted| {
            let count = wanted.entry(uri.to_owned()).or_default();
            *count += 1;
            is_first = *count == 1;
            is_first
        });
        is_first
    }

    /// Whether this was the last who wanted to know it.
    pub(super) fn remove(&self, uri: &str) -> bool {
        self.0.send_if_modified(|wanted| {
            let Some(count) = wanted.get_mut(uri) else { return false };
            *count -= 1;
            let is_last = *count == 0;
            if is_last {
                wanted.remove(uri);
            }
            is_last
        })
    }

    pub(super) fn uris(&self) -> Vec<String> {
        self.0.borrow().keys().cloned().collect()
    }

    pub(super) fn changes(&self) -> watch::Receiver<BTreeMap<String, usize>> {
        self.0.subscribe()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_and_the_last_who_want_to_know_are_told_apart() {
        let subscribed = Subscribed::default();
        assert!(subscribed.add("a:b"));
        assert!(!subscribed.add("a:b"));
        assert!(!subscribed.remove("a:b"));
        assert_eq!(subscribed.uris(), ["a:b"]);
        assert!(subscribed.remove("a:b"));
        assert!(!subscribed.remove("a:b"));
        assert!(subscribed.uris().is_empty());
    }
}
