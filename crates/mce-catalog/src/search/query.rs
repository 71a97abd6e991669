//! A query in words becomes concepts: each is one thing that is asked for, with the words that may stand for it.

use super::{
    synonyms::{phrase, synonyms},
    words::{is_stop_word, split, stem},
};
use crate::function::Effect;

/// Longer queries are cut.
const MAX_QUERY_CHARS: usize = 400;
/// More words of a query are not looked at.
const MAX_QUERY_WORDS: usize = 24;
/// More words that may stand for one are not tried.
const MAX_TERMS: usize = 24;

/// Words of English that are rare in documents but ask for nothing.
const WEAK_WORDS: [&str; 46] = [
    "about",
    "after",
    "again",
    "all",
    "also",
    "anyone",
    "away",
    "back",
    "before",
    "behind",
    "both",
    "com",
    "during",
    "each",
    "every",
    "everyone",
    "everything",
    "how",
    "just",
    "left",
    "more",
    "most",
    "much",
    "not",
    "now",
    "off",
    "once",
    "only",
    "other",
    "out",
    "own",
    "same",
    "somebody",
    "someone",
    "something",
    "still",
    "such",
    "under",
    "until",
    "up",
    "what",
    "when",
    "where",
    "which",
    "who",
    "without",
];

const READ_VERBS: [&str; 20] = [
    "check", "count", "display", "download", "export", "fetch", "find", "get", "grep", "how", "list", "lookup", "query", "read",
    "retrieve", "search", "show", "view", "what", "which",
];
const WRITE_VERBS: [&str; 30] = [
    "accept", "add", "approve", "archive", "assign", "attach", "buy", "change", "create", "dismiss", "edit", "invite", "make", "merge",
    "move", "mute", "open", "post", "put", "refund", "rename", "restart", "save", "schedule", "send", "set", "start", "submit", "update",
    "upload",
];
const DESTRUCTIVE_VERBS: [&str; 9] = [
    "cancel", "clear", "delete", "destroy", "erase", "flush", "purge", "remove", "revoke",
];

/// Words that say what is to be done, not with what.
const DEED_WEIGHT: f32 = 0.6;

/// How much it counts whose a thing is.
const ASKER_WEIGHT: f32 = 0.25;

/// One thing that is asked for.
#[derive(Debug)]
pub(super) struct Concept {
    /// Stems, with how well each stands for it (0 to 1). The first is the word itself.
    pub(super) terms: Vec<(String, f32)>,
    /// How much it counts.
    pub(super) weight: f32,
}

/// What a query asks for.
#[derive(Debug, Default)]
pub(super) struct Wanted {
    pub(super) concepts: Vec<Concept>,
    /// What its first verb does.
    pub(super) effect: Option<Effect>,
}

pub(super) fn read(query: &str) -> Wanted {
    let query: String = query.chars().take(MAX_QUERY_CHARS).collect();
    let words: Vec<String> = split(&query).into_iter().take(MAX_QUERY_WORDS).collect();
    let mut wanted = Wanted {
        concepts: Vec::new(),
        effect: words.iter().find_map(|word| effect(word)),
    };
    let mut rest = words.as_slice();
    while let Some((word, after)) = rest.split_first() {
        if let Some((length, meant)) = phrase(rest) {
            wanted.concepts.push(of_phrase(meant));
            wanted.effect = wanted.effect.or_else(|| meant.iter().find_map(|word| effect(word)));
            rest = rest.get(length..).unwrap_or_default();
            continue;
        }
        if let ["who", "am", "i", ..] = rest.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
            wanted.concepts.extend([of_word("user", None), of_asker()]);
            rest = rest.get(3..).unwrap_or_default();
            continue;
        }
        if word == "my" || word == "current" && after.first().is_some_and(|next| next == "user") {
            wanted.concepts.push(of_asker());
        } else if !is_stop_word(word) && !is_weak(word) {
            wanted.concepts.push(of_word(word, after.first()));
        }
        rest = after;
    }
    if wanted.concepts.is_empty() {
        // Nothing but weak words: better than no answer.
        wanted.concepts = words.iter().map(|word| of_word(word, None)).collect();
    }
    wanted
}

fn of_word(word: &str, next: Option<&String>) -> Concept {
    let mut terms = vec![(stem(word), 1.0)];
    // Names write in one word what people write in two.
    terms.extend(next.map(|next| (stem(&format!("{word}{next}")), 1.0)));
    terms.extend(synonyms(word));
    terms.truncate(MAX_TERMS);
    Concept {
        terms,
        weight: if effect(word).is_some() { DEED_WEIGHT } else { 1.0 },
    }
}

/// What belongs to whoever asks; few APIs have a word for that in the names of few functions.
fn of_asker() -> Concept {
    let words = [("authenticated", 1.0), ("myself", 1.0), ("own", 0.7), ("current", 0.7)];
    Concept {
        terms: words.map(|(word, weight)| (stem(word), weight)).into(),
        weight: ASKER_WEIGHT,
    }
}

fn of_phrase(meant: &[&str]) -> Concept {
    let mut terms: Vec<(String, f32)> = meant
        .iter()
        .enumerate()
        .map(|(place, word)| (stem(word), if place == 0 { 1.0 } else { 0.8 }))
        .collect();
    if let [word] = meant {
        terms.extend(synonyms(word));
    }
    Concept {
        terms,
        weight: if meant.iter().any(|word| effect(word).is_some()) {
            DEED_WEIGHT
        } else {
            1.0
        },
    }
}

fn is_weak(word: &str) -> bool {
    WEAK_WORDS.binary_search(&word).is_ok()
}

fn effect(word: &str) -> Option<Effect> {
    let is_in = |verbs: &[&str]| verbs.binary_search(&word).is_ok();
    if is_in(&READ_VERBS) {
        Some(Effect::Read)
    } else if is_in(&WRITE_VERBS) {
        Some(Effect::Write)
    } else if is_in(&DESTRUCTIVE_VERBS) {
        Some(Effect::Destructive)
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_sorted_for_the_search_in_them() {
        for list in [&WEAK_WORDS[..], &READ_VERBS, &WRITE_VERBS, &DESTRUCTIVE_VERBS] {
            assert!(list.is_sorted(), "{list:?}");
        }
    }

    #[test]
    fn a_query_is_bounded_whatever_it_holds() {
        let wanted = read(&"a\"b* OR NEAR(x) {y}: ".repeat(10_000));
        assert!(wanted.concepts.len() <= MAX_QUERY_WORDS);
        assert!(read("").concepts.is_empty());
    }

    #[test]
    fn what_is_the_askers_own_is_a_weak_part_of_what_is_asked_for() {
        let asked = |query: &str| -> Vec<String> {
            let concepts = read(query).concepts.into_iter();
            concepts.map(|concept| concept.terms[0].0.clone()).collect()
        };
        let asker = stem("authenticated");
        assert_eq!(asked("list my repositories"), [stem("list"), asker.clone(), stem("repositories")]);
        assert_eq!(asked("current user"), [asker.clone(), stem("user")]);
        assert_eq!(asked("current weather"), [stem("current"), stem("weather")]);
        assert_eq!(asked("who am i"), [stem("user"), asker]);
    }

    #[test]
    fn a_query_of_weak_words_still_asks_for_something() {
        assert_eq!(read("what is it").concepts.len(), 3);
    }
}
