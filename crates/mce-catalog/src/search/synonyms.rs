//! Words that mean the same in any API, and short forms of words.

/// Groups of words with one meaning. Each word finds the others, weaker than itself.
const GROUPS: &[&[&str]] = &[
    &["get", "fetch", "read", "retrieve", "show", "view", "list", "find", "lookup"],
    &["create", "add", "new", "make", "insert"],
    &["delete", "remove", "destroy", "erase", "drop", "purge", "clear"],
    &["update", "edit", "change", "modify", "patch", "alter", "set"],
];

/// Short forms and the words that they stand for.
const SHORT_FORMS: &[(&str, &[&str])] = &[("pr", &["pull", "request"]), ("repo", &["repository"])];

/// Words that mean the same as `word`, with how well they stand for it (0 to 1).
pub(super) fn synonyms(word: &str) -> Vec<(&'static str, f32)> {
    let mut found = Vec::new();
    for group in GROUPS {
        if group.contains(&word) {
            found.extend(group.iter().filter(|other| **other != word).map(|other| (*other, 0.6)));
        }
    }
    for (short, words) in SHORT_FORMS {
        if *short == word {
            found.extend(words.iter().map(|other| (*other, 0.9)));
        }
    }
    found
}
