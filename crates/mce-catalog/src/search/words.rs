//! Texts become words: split, lower case, stemmed. The same for the index and for queries.

use unicode_normalization::UnicodeNormalization;

/// Longer words are cut; nobody searches for them.
const MAX_WORD_CHARS: usize = 40;

/// Words that say nothing about what a function does.
const STOP_WORDS: [&str; 62] = [
    "a",
    "an",
    "and",
    "any",
    "are",
    "as",
    "at",
    "be",
    "been",
    "being",
    "by",
    "can",
    "could",
    "do",
    "does",
    "for",
    "from",
    "given",
    "had",
    "has",
    "have",
    "i",
    "if",
    "in",
    "into",
    "is",
    "it",
    "its",
    "may",
    "me",
    "my",
    "of",
    "on",
    "or",
    "our",
    "please",
    "s",
    "should",
    "so",
    "some",
    "specified",
    "than",
    "that",
    "the",
    "their",
    "them",
    "then",
    "there",
    "these",
    "this",
    "to",
    "via",
    "want",
    "was",
    "we",
    "were",
    "will",
    "with",
    "would",
    "you",
    "your",
    "yours",
];

/// The words of a prose text, in order, without stop words.
pub(crate) fn indexed_words(text: &str) -> Vec<String> {
    split(text)
        .into_iter()
        .filter(|word| !is_stop_word(word))
        .map(|word| stem(&word))
        .collect()
}

/// The words of an identifier or path, in order, once each, and each two neighbours of one segment as one word
/// (`cherry_pick` is also found as `cherrypick`).
pub(crate) fn name_words(name: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let mut add = |word: String| {
        if !found.contains(&word) {
            found.push(word);
        }
    };
    for segment in name.split(['/', '.', ' ', '{', '}']) {
        let words = split(segment);
        for word in &words {
            add(stem(word));
        }
        for pair in words.windows(2) {
            add(stem(&pair.concat()));
        }
    }
    found
}

/// Lower-case words: split at everything that is no letter or digit, and where a capital begins a word.
pub(crate) fn split(text: &str) -> Vec<String> {
    // Most texts need no normalisation, which costs more than the rest.
    if text.is_ascii() {
        split_chars(text.chars())
    } else {
        split_chars(text.nfkc())
    }
}

fn split_chars(chars: impl Iterator<Item = char> + Clone) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut chars = chars.peekable();
    let mut before: Option<char> = None;
    while let Some(c) = chars.next() {
        if !c.is_alphanumeric() {
            // An apostrophe joins: `what's`, `user's`.
            if !matches!(c, '\'' | '\u{2019}') || before.is_none() {
                finish(&mut word, &mut words);
                before = None;
            }
            continue;
        }
        let begins = match before {
            Some(last) => c.is_uppercase() && (last.is_lowercase() || chars.peek().is_some_and(|next| next.is_lowercase())),
            None => false,
        };
        // `IDs` and `URLs` stay whole.
        let is_plural_end = begins && before.is_some_and(char::is_uppercase) && chars.peek() == Some(&'s') && is_last_s(&chars);
        if begins && !is_plural_end {
            finish(&mut word, &mut words);
        }
        word.extend(c.to_lowercase());
        before = Some(c);
    }
    finish(&mut word, &mut words);
    words
}

fn is_last_s(chars: &(impl Iterator<Item = char> + Clone)) -> bool {
    let mut rest = chars.clone();
    rest.next();
    rest.next().is_none_or(|c| !c.is_lowercase())
}

fn finish(word: &mut String, words: &mut Vec<String>) {
    if !word.is_empty() {
        words.push(word.chars().take(MAX_WORD_CHARS).collect());
        word.clear();
    }
}

/// Whether a word is too common to be searched for.
pub(crate) fn is_stop_word(word: &str) -> bool {
    STOP_WORDS.binary_search(&word).is_ok()
}

/// A light stem: endings of plural, participle and some nouns are cut, so that `creating`, `created`, `creates`,
/// `creation` and `create` are one word. Only for ASCII words; short ones stay.
pub(crate) fn stem(word: &str) -> String {
    if !word.is_ascii() || word.len() < 4 || word.bytes().any(|byte| byte.is_ascii_digit()) {
        return word.to_owned();
    }
    let mut stem = without_plural(word);
    for (ending, minimum, new) in [
        ("isation", 3, "iz"),
        ("ization", 3, "iz"),
        ("sion", 3, "s"),
        ("tion", 3, "t"),
        ("ment", 5, ""),
    ] {
        if let Some(rest) = stem.strip_suffix(ending)
            && rest.len() >= minimum
        {
            stem = format!("{rest}{new}");
            break;
        }
    }
    for ending in ["ing", "ed"] {
        if let Some(rest) = stem.strip_suffix(ending)
            && rest.len() >= 3
            && rest.bytes().any(|byte| b"aeiouy".contains(&byte))
        {
            stem = undoubled(rest);
            break;
        }
    }
    if stem.len() > 4
        && let Some(rest) = stem.strip_suffix("is").or_else(|| stem.strip_suffix("ise"))
    {
        stem = format!("{rest}iz");
    }
    if stem.len() > 3
        && let Some(rest) = stem.strip_suffix('e')
    {
        stem = String::from(rest);
    }
    match stem.strip_suffix('y') {
        Some(rest) if rest.len() > 2 => format!("{rest}i"),
        _ => stem,
    }
}

fn without_plural(word: &str) -> String {
    if let Some(rest) = word.strip_suffix("ies")
        && rest.len() > 1
    {
        return format!("{rest}y");
    }
    for ending in ["sses", "shes", "ches", "xes", "zes"] {
        if word.ends_with(ending) {
            return word.strip_suffix("es").unwrap_or(word).to_owned();
        }
    }
    match word.strip_suffix('s') {
        Some(rest) if !rest.ends_with(['s', 'u', 'i']) => rest.to_owned(),
        _ => word.to_owned(),
    }
}

fn undoubled(stem: &str) -> String {
    let mut chars = stem.chars().rev();
    match (chars.next(), chars.next()) {
        (Some(last), Some(before)) if last == before && !matches!(last, 'l' | 's' | 'z' | 'e' | 'o') => {
            chars.rev().chain([before]).collect()
        }
        _ => stem.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identifiers_split_where_a_word_begins() {
        assert_eq!(
            split("getHTTPServer2 listIDs cherry_pick user's"),
            ["get", "http", "server2", "list", "ids", "cherry", "pick", "users"]
        );
    }

    #[test]
    fn forms_of_a_word_share_a_stem() {
        for words in [
            &["create", "creates", "created", "creating", "creation"][..],
            &["schedule", "scheduled", "scheduling"],
            &["repository", "repositories"],
            &["organisation", "organization", "organizations"],
            &["run", "running", "runs"],
            &["deploy", "deployment", "deployed"],
            &["attach", "attachment", "attaches"],
        ] {
            let stems: Vec<String> = words.iter().map(|word| stem(word)).collect();
            assert!(stems.windows(2).all(|two| two[0] == two[1]), "{words:?} became {stems:?}");
        }
    }

    #[test]
    fn stop_words_are_sorted_for_the_search_in_them() {
        assert!(STOP_WORDS.is_sorted());
    }
}
