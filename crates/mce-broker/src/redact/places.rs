//! Configured base URLs, which answers must not tell. Cut out, so that links become relative references.

use std::collections::BTreeSet;
use std::ops::Range;

use mce_config::{Origin, ServerSettings};

use crate::base_url::BaseUrl;

/// A shorter base path is in too many texts.
const MIN_PATH_BYTES: usize = 8;

/// The forms in which a server's configured base URL is searched for.
pub(super) fn forms(server: &ServerSettings) -> BTreeSet<String> {
    let url = match &server.origin {
        Origin::McpHttp(http) => Some(http.url.as_str()),
        Origin::McpStdio(_) | Origin::OpenApi(_) | Origin::Recipes(_) => server.base_url.as_deref(),
    };
    let Some(base) = url.and_then(BaseUrl::parse) else {
        return BTreeSet::new();
    };
    let origin = base.origin.as_str().trim_end_matches('/');
    let authority = origin.split_once("://").map_or(origin, |(_, authority)| authority);
    let host = base.origin.host_str().unwrap_or_default();
    let port = base.origin.port_or_known_default().unwrap_or_default();
    let mut forms = BTreeSet::new();
    // A domain tells of the place without its port; an address is a number like others.
    let domain = if base.origin.domain().is_some() { host } else { authority };
    for place in [authority, &format!("{host}:{port}"), domain] {
        for prefix in ["http://", "https://", "//"] {
            forms.insert(format!("{prefix}{place}{}", base.path));
            forms.insert(format!("{prefix}{place}"));
        }
        // A plain word such as `api` is a host in some networks, and a word of many texts.
        if place.contains(['.', ':']) {
            forms.insert(format!("{place}{}", base.path));
            forms.insert(place.to_owned());
        }
    }
    if base.path.len() >= MIN_PATH_BYTES {
        forms.insert(base.path);
    }
    forms
}

/// Whether what was found is a place of its own: no part of another name, and no domain of a mail address.
pub(super) fn is_place(text: &[u8], found: &Range<usize>) -> bool {
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    let at = |at: usize| text.get(at).copied().unwrap_or_default();
    let before = found.start.checked_sub(1).map(at).unwrap_or_default();
    let (after, after_that) = (at(found.end), at(found.end + 1));
    let has_scheme = text
        .get(found.clone())
        .is_some_and(|found| found.windows(2).any(|two| two == b"//"));
    let is_start = match before {
        b'.' => false,
        b'@' => matches!(after, b'/' | b':'),
        byte => !is_word(byte),
    };
    (is_start || has_scheme) && !is_word(after) && (after != b'.' || !is_word(after_that))
}
