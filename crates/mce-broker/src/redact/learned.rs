//! Secrets that become known while the program runs: tokens of logins.

use std::collections::{BTreeSet, VecDeque};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use aho_corasick::AhoCorasick;
use mce_config::{Secret, ServerSettings};

use super::patterns::{MIN_BYTES_IN_BINARY, searcher};
use super::secrets::{forms, secrets_of};

/// Secrets that are remembered; the oldest go first, and have expired by then.
const MAX_SECRETS: usize = 256;

/// The secrets that were told so far. One for the process.
#[derive(Default)]
pub(crate) struct Learned {
    // Held for one look, and while a secret is added.
    secrets: Mutex<VecDeque<String>>,
    /// Those of the settings that are read when they are needed; they do not expire. Held for one look.
    kept: Mutex<BTreeSet<String>>,
    searcher: RwLock<Option<Arc<AhoCorasick>>>,
}

impl Learned {
    /// Adds secrets; those of fewer than 8 bytes are no tokens and are left out.
    #[expect(clippy::disallowed_methods, reason = "what is cut out must be known")]
    pub(crate) fn add(&self, added: &[Secret]) {
        let mut secrets = self.secrets.lock().unwrap_or_else(PoisonError::into_inner);
        let before = secrets.len();
        // A header's value and the token in it, a cookie's pair and its value.
        let all = added
            .iter()
            .flat_map(|secret| std::iter::once(secret.expose()).chain(secret.expose_parts().iter().map(String::as_str)));
        for secret in all.filter(|secret| secret.len() >= MIN_BYTES_IN_BINARY) {
            if !secrets.iter().any(|known| known == secret) {
                secrets.push_back(secret.to_owned());
            }
        }
        if secrets.len() == before {
            return;
        }
        while secrets.len() > MAX_SECRETS {
            secrets.pop_front();
        }
        self.search_for(&secrets);
    }

    /// Adds the secrets of a server, of which some were read a moment ago. They are never forgotten.
    pub(crate) fn keep(&self, server: &ServerSettings) {
        let secrets = self.secrets.lock().unwrap_or_else(PoisonError::into_inner);
        {
            let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
            let before = kept.len();
            kept.extend(secrets_of(server));
            if kept.len() == before {
                return;
            }
        }
        self.search_for(&secrets);
    }

    fn search_for(&self, secrets: &VecDeque<String>) {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let all: BTreeSet<String> = secrets.iter().chain(kept.iter()).flat_map(|secret| forms(secret)).collect();
        *self.searcher.write().unwrap_or_else(PoisonError::into_inner) = searcher(&all, true).map(Arc::new);
    }

    pub(super) fn searcher(&self) -> Option<Arc<AhoCorasick>> {
        self.searcher.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl std::fmt::Debug for Learned {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Learned(***)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_secrets_go_and_what_is_too_short_never_comes() {
        let learned = Learned::default();
        let knows = |text: &str| learned.searcher().is_some_and(|searcher| searcher.is_match(text));
        learned.add(&[Secret::new("short")]);
        assert!(!knows("short"));
        let of = |number: usize| format!("token-number-{number:04}.");
        for number in 0..=MAX_SECRETS {
            learned.add(&[Secret::new(of(number))]);
        }
        assert!(!knows(&of(0)) && knows(&of(1)) && knows(&of(MAX_SECRETS)));
    }

    #[test]
    fn a_secret_within_a_secret_is_one_by_itself() {
        let learned = Learned::default();
        learned.add(&[Secret::with_parts("Bearer token-of-a-login", vec!["token-of-a-login".to_owned()])]);
        assert!(learned.searcher().unwrap().is_match("it is token-of-a-login"));
    }
}
