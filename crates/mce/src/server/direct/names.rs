//! Names under which a client sees what several servers have. They depend on the server and its own name alone, so that they
//! stay when other tools come and go.
//!
//! `SERVER__NAME`; characters that clients do not take become `_`. A name that was changed, or is longer than 54 characters and
//! is cut, ends with six hexadecimal digits of its SHA-256, so that two never become one.

use std::fmt::Write;

use sha2::{Digest, Sha256};

/// Characters of a name. Models take 64, of which clients use some for `mcp__mce__`.
const MAX_CHARS: usize = 54;
/// Hexadecimal digits that tell changed names apart.
const DIGITS: usize = 6;

/// The name of what a server calls `own`.
pub(super) fn joined(server: &str, own: &str) -> String {
    let whole = format!("{server}__{own}");
    let plain: String = whole.chars().map(|c| if is_taken(c) { c } else { '_' }).collect();
    if plain == whole && plain.len() <= MAX_CHARS {
        return plain;
    }
    let mut digest = String::new();
    for byte in Sha256::digest(whole.as_bytes()).iter().take(DIGITS / 2) {
        let _ = write!(digest, "{byte:02x}");
    }
    let kept: String = plain.chars().take(MAX_CHARS - DIGITS - 1).collect();
    format!("{kept}_{digest}")
}

const fn is_taken(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '-')
}

/// The URI under which a client reads a resource of one of several servers.
pub(super) fn joined_uri(server: &str, uri: &str) -> String {
    format!("{SCHEME}{server}/{uri}")
}

/// The server and its own URI.
pub(super) fn parted_uri(uri: &str) -> Option<(&str, &str)> {
    uri.strip_prefix(SCHEME)?.split_once('/')
}

const SCHEME: &str = "mce://";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_clients_take_are_joined_as_they_are() {
        assert_eq!(joined("files", "read_text_file"), "files__read_text_file");
        assert_eq!(joined("a", "API-post-search"), "a__API-post-search");
    }

    #[test]
    fn changed_names_stay_apart_and_short() {
        let (dotted, underscored) = (joined("a", "get.sum"), joined("a", "get_sum"));
        assert_ne!(dotted, underscored);
        assert!(dotted.starts_with("a__get_sum_"), "{dotted}");
        let long = |end: &str| joined("a_server_with_quite_a_long_name", &format!("{}{end}", "x".repeat(60)));
        assert_ne!(long("1"), long("2"));
        for name in [dotted, long("1"), joined("s", "größe/ü")] {
            assert!(name.len() <= MAX_CHARS && name.chars().all(is_taken), "{name}");
        }
    }

    #[test]
    fn uris_come_apart_as_they_were_joined() {
        for uri in ["file:///a/b?c=d#e", "test://template/{id}/data", "x:y"] {
            assert_eq!(parted_uri(&joined_uri("time_", uri)), Some(("time_", uri)));
        }
        assert_eq!(parted_uri("file:///a"), None);
    }
}
