//! How a function is named from outside, and what to say when there is none of that name.

use crate::{function::Effect, store::StoreError, visibility::Hiding};

/// How many names an error suggests.
const MAX_SUGGESTIONS: usize = 3;
/// Longer names are not compared.
const MAX_NAME_CHARS: usize = 120;

/// A function was not found, or may not be used.
#[derive(Debug, thiserror::Error)]
pub enum LookupError {
    /// No server has this name.
    #[error("there is no server `{server}`")]
    UnknownServer {
        /// The name that was asked for.
        server: String,
        /// Names much like it, best first.
        closest: Vec<String>,
    },
    /// The server has no function of this name.
    #[error("server `{server}` has no function `{function}`")]
    UnknownFunction {
        /// The server's name.
        server: String,
        /// The name that was asked for.
        function: String,
        /// Names much like it, best first.
        closest: Vec<String>,
    },
    /// What the server offers is not known: its document was not compiled, or its tools were never listed.
    #[error("the functions of server `{server}` are not known yet")]
    NotCompiled {
        /// The server's name.
        server: String,
    },
    /// The server's settings hide the function: a matter of policy.
    #[error("`{server}.{function}` is not allowed: {}", reason(*hiding, server, *effect))]
    Hidden {
        /// The server's name.
        server: String,
        /// The function's name in Python.
        function: String,
        /// What it would do.
        effect: Effect,
        /// Which setting.
        hiding: Hiding,
    },
    /// The server's settings do not fit the function, so that it cannot be called as they want.
    #[error("`{server}.{function}` cannot be called because of the settings of server `{server}`: {message}")]
    Misfit {
        /// The server's name.
        server: String,
        /// The function's name in Python.
        function: String,
        /// What does not fit.
        message: String,
    },
    /// The text names no function at all.
    #[error("`{reference}` does not name a function")]
    Reference {
        /// The text, shortened.
        reference: String,
    },
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

fn reason(hiding: Hiding, server: &str, effect: Effect) -> String {
    match hiding {
        Hiding::ReadOnly => format!("server `{server}` is read-only, and this call is `{}`", effect.as_str()),
        Hiding::NotIncluded => format!("the settings of server `{server}` leave it out: nothing in `include` selects it"),
        Hiding::Excluded(entry) => format!("the settings of server `{server}` leave it out: `exclude.{entry}` selects it"),
    }
}

impl LookupError {
    /// What to do about it.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::UnknownServer { closest, .. } | Self::UnknownFunction { closest, .. } if !closest.is_empty() => {
                let names: Vec<String> = closest.iter().map(|name| format!("`{name}`")).collect();
                Some(format!("did you mean {}?", names.join(" or ")))
            }
            Self::UnknownServer { .. } => Some("`list_servers` gives the names of all servers".to_owned()),
            Self::UnknownFunction { .. } => Some("`search_functions` finds functions by what they do".to_owned()),
            Self::NotCompiled { .. } => {
                Some("`mce compile` makes them known, or says why it cannot; `list_servers` tells how the server is".to_owned())
            }
            Self::Reference { .. } => Some("write `server.function` or `server:METHOD /path`".to_owned()),
            Self::Hidden { server, .. } => Some(format!("the functions of `{server}` that `search_functions` shows can be called")),
            Self::Misfit { .. } => Some("the person who runs mce has to change `mce.yaml`; `mce compile` says what".to_owned()),
            Self::Store(error) => error.hint().map(str::to_owned),
        }
    }
}

/// A function as named from outside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Reference<'a> {
    pub(crate) server: &'a str,
    pub(crate) function: &'a str,
}

impl<'a> Reference<'a> {
    /// Reads `server.function`, `server:METHOD /path` or `mcp__server__function`.
    ///
    /// The last form may be read in several ways; the longest of the `servers` that fits wins.
    pub(crate) fn parse(text: &'a str, servers: &[&str]) -> Result<Self, LookupError> {
        if let Some(rest) = text.strip_prefix("mcp__") {
            let fitting = servers
                .iter()
                .filter(|server| rest.strip_prefix(**server).is_some_and(|rest| rest.starts_with("__")));
            let at = fitting.map(|server| server.len()).max().or_else(|| rest.find("__"));
            if let Some((server, function)) = at.and_then(|at| rest.split_at_checked(at)) {
                return Ok(Self {
                    server,
                    function: function.strip_prefix("__").unwrap_or(function),
                });
            }
        }
        // A path may have dots, and a server's name has neither dots nor colons.
        match text.find(['.', ':']).and_then(|at| text.split_at_checked(at)) {
            Some((server, function)) if !server.is_empty() && function.len() > 1 => Ok(Self {
                server,
                function: function.strip_prefix(['.', ':']).unwrap_or(function),
            }),
            Some(_) | None => Err(LookupError::Reference {
                reference: text.chars().take(MAX_NAME_CHARS).collect(),
            }),
        }
    }
}

/// The names most like `wanted`, best first; only ones that could be meant.
pub fn closest<'a>(wanted: &str, names: impl Iterator<Item = &'a str>) -> Vec<String> {
    let wanted = comparable(wanted);
    let limit = (wanted.len() / 3).clamp(1, 8);
    let mut found: Vec<(usize, &str)> = Vec::new();
    for name in names {
        let other = comparable(name);
        let distance = match distance(&wanted, &other, limit) {
            Some(distance) => distance,
            // All the words in another order or with more words between them.
            None if wanted.len() > 3 && has_words(&other, &wanted) => limit + 1 + other.len().abs_diff(wanted.len()),
            None => continue,
        };
        found.push((distance, name));
    }
    // Equal ones stay in the given order, which has the forms of one name together.
    found.sort_by_key(|(distance, _)| *distance);
    found.dedup_by(|a, b| comparable(a.1) == comparable(b.1));
    // Next to a good suggestion a poor one only confuses.
    let best = found.first().map_or(0, |(distance, _)| *distance);
    found
        .into_iter()
        .take_while(|(distance, _)| *distance <= best + 1)
        .take(MAX_SUGGESTIONS)
        .map(|(_, name)| name.to_owned())
        .collect()
}

/// Case and separators do not count: `createIssue` is `create_issue`.
fn comparable(name: &str) -> Vec<char> {
    name.chars()
        .filter(|c| c.is_alphanumeric())
        .flat_map(char::to_lowercase)
        .take(MAX_NAME_CHARS)
        .collect()
}

fn has_words(name: &[char], part: &[char]) -> bool {
    name.windows(part.len()).any(|window| window == part)
}

/// Edits (insert, remove, replace, swap neighbours) from one to the other; `None` if more than `limit`.
pub(crate) fn distance(a: &[char], b: &[char], limit: usize) -> Option<usize> {
    if a.len().abs_diff(b.len()) > limit {
        return None;
    }
    let mut before_last: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut row = Vec::with_capacity(b.len() + 1);
        row.push(i + 1);
        for (j, y) in b.iter().enumerate() {
            let at = |row: &[usize], index: usize| row.get(index).copied().unwrap_or(usize::MAX / 2);
            let mut best = (at(&last, j + 1) + 1).min(at(&row, j) + 1).min(at(&last, j) + usize::from(x != y));
            let swapped = i > 0 && j > 0 && a.get(i - 1) == Some(y) && b.get(j - 1) == Some(x);
            if swapped {
                best = best.min(at(&before_last, j - 1) + 1);
            }
            row.push(best);
        }
        if row.iter().min().is_some_and(|least| *least > limit) {
            return None;
        }
        before_last = std::mem::replace(&mut last, row);
    }
    last.last().copied().filter(|distance| *distance <= limit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_forms_name_a_function() {
        let check = |text: &str, server: &str, function: &str| {
            assert_eq!(
                Reference::parse(text, &["a", "a__b", "shop"]).unwrap(),
                Reference { server, function }
            );
        };
        check("shop.create_item", "shop", "create_item");
        check("shop:GET /items/{id}.json", "shop", "GET /items/{id}.json");
        check("mcp__shop__create__item", "shop", "create__item");
        check("mcp__a__b__c", "a__b", "c");
        check("mcp__gone__c", "gone", "c");
    }

    #[test]
    fn a_text_without_server_is_no_reference() {
        for text in ["", ".", "x", ".x", "x.", "mcp__"] {
            assert!(Reference::parse(text, &[]).is_err(), "{text}");
        }
    }

    #[test]
    fn suggestions_are_few_and_near() {
        let names = [
            "create_item",
            "createItem",
            "delete_item",
            "list_items",
            "create_item_tag",
            "unrelated",
        ];
        assert_eq!(closest("creat_item", names.into_iter()), ["create_item"]);
        assert_eq!(closest("itme_list", names.into_iter()), Vec::<String>::new());
        assert_eq!(closest("tiem", ["item"].into_iter()), ["item"]);
        assert_eq!(closest("zzz", names.into_iter()), Vec::<String>::new());
    }

    #[test]
    fn distance_counts_edits_up_to_its_limit() {
        let check = |a: &str, b: &str, limit, expected| {
            let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
            assert_eq!(distance(&a, &b, limit), expected);
        };
        check("email", "emial", 2, Some(1));
        check("email", "mail", 2, Some(1));
        check("abc", "xyz", 2, None);
        check("", "ab", 2, Some(2));
    }
}
