//! Addresses of further pages that a run's answers gave. A program may follow these and no others: it cannot make up a
//! request of its own.

use std::collections::HashSet;
use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::sync::{Mutex, PoisonError};

use mce_broker::{Answer, AnswerValue};
use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

/// Addresses that are kept for a run; of further ones none is.
const MAX_KEPT: usize = 10_000;
/// A longer text is no address.
const MAX_BYTES: usize = 8 << 10;

/// What a run may follow.
#[derive(Debug, Default)]
pub(super) struct Addresses {
    hasher: RandomState,
    // Hashes of function and address; held while one is looked up or added.
    known: Mutex<HashSet<u64>>,
}

impl Addresses {
    /// Keeps the addresses of an answer: in its `Link` field, and in its value outside of lists. What is in a list are
    /// items, whose texts come from anybody.
    pub(super) fn keep(&self, answer: &Answer) {
        let links = answer.headers.iter().filter(|(name, _)| name == "link");
        for part in links.flat_map(|(_, value)| value.split('<').skip(1)) {
            if let Some((address, _)) = part.split_once('>') {
                self.add(&answer.function, address);
            }
        }
        if let AnswerValue::Json(json) = &answer.value
            && json.get().starts_with('{')
            && let Ok(Outside(found)) = serde_json::from_str(json.get())
        {
            for address in found {
                self.add(&answer.function, &address);
            }
        }
    }

    /// Whether an answer of this function gave this address.
    pub(super) fn has(&self, function: &str, address: &str) -> bool {
        let hash = self.hasher.hash_one((function, address));
        self.known.lock().unwrap_or_else(PoisonError::into_inner).contains(&hash)
    }

    fn add(&self, function: &str, address: &str) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() < MAX_KEPT {
            known.insert(self.hasher.hash_one((function, address)));
        }
    }
}

/// Texts of a value that may be addresses and are in no list.
struct Outside(Vec<String>);

impl<'de> Deserialize<'de> for Outside {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(OutsideVisitor)
    }
}

struct OutsideVisitor;

impl<'de> Visitor<'de> for OutsideVisitor {
    type Value = Outside;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a value of JSON")
    }

    fn visit_str<E>(self, text: &str) -> Result<Outside, E> {
        let is_address = text.len() <= MAX_BYTES && (text.starts_with(['/', '?']) || text.contains("://"));
        Ok(Outside(is_address.then(|| text.to_owned()).into_iter().collect()))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Outside, A::Error> {
        let mut all = Vec::new();
        while let Some((IgnoredAny, Outside(found))) = entries.next_entry()? {
            all.extend(found);
        }
        Ok(Outside(all))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Outside, A::Error> {
        while items.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Outside(Vec::new()))
    }

    fn visit_bool<E>(self, _: bool) -> Result<Outside, E> {
        Ok(Outside(Vec::new()))
    }

    fn visit_i64<E>(self, _: i64) -> Result<Outside, E> {
        Ok(Outside(Vec::new()))
    }

    fn visit_u64<E>(self, _: u64) -> Result<Outside, E> {
        Ok(Outside(Vec::new()))
    }

    fn visit_f64<E>(self, _: f64) -> Result<Outside, E> {
        Ok(Outside(Vec::new()))
    }

    fn visit_unit<E>(self) -> Result<Outside, E> {
        Ok(Outside(Vec::new()))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use mce_catalog::function::Effect;
    use serde_json::value::RawValue;

    use super::*;

    #[test]
    fn only_so_many_addresses_are_kept_and_none_that_is_too_long() {
        let addresses = Addresses::default();
        for number in 0..=MAX_KEPT {
            addresses.add("s.list", &format!("/a?p={number}"));
        }
        assert!(addresses.has("s.list", "/a?p=0") && !addresses.has("s.list", &format!("/a?p={MAX_KEPT}")));
        let of = |length: usize| serde_json::to_string(&format!("/{}", "x".repeat(length - 1))).unwrap();
        let found = |length: usize| serde_json::from_str::<Outside>(&of(length)).unwrap().0.len();
        assert_eq!((found(MAX_BYTES), found(MAX_BYTES + 1)), (1, 0));
    }

    #[test]
    fn what_an_answer_gives_outside_of_its_items_may_be_followed() {
        let value = r#"{"next": "/a?p=2", "links": {"next": {"href": "?p=3"}}, "total": 1, "more": true, "none": null,
            "size": 1.5, "items": [{"url": "/planted"}, "/planted"], "name": "no address", "n": -1}"#;
        let answer = Answer {
            attempts: 1,
            function: "s.list".to_owned(),
            effect: Effect::Read,
            value: AnswerValue::Json(RawValue::from_string(value.to_owned()).unwrap()),
            status: Some(200),
            headers: vec![("link".to_owned(), "</b?p=1>; rel=prev, </b?p=2>; rel=\"next\"".to_owned())],
            result: None,
            shape: None,
            elapsed: Duration::ZERO,
        };
        let addresses = Addresses::default();
        addresses.keep(&answer);
        for address in ["/a?p=2", "?p=3", "/b?p=1", "/b?p=2"] {
            assert!(addresses.has("s.list", address), "{address}");
            assert!(!addresses.has("s.other", address));
        }
        for address in ["/planted", "no address", "/a?p=9"] {
            assert!(!addresses.has("s.list", address), "{address}");
        }
    }
}
