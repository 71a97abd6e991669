//! Forms of settings that may be printed: no credential, no password in a URL, no value of a variable.

use std::fmt;

use crate::{Auth, Credential, Location, MASK, Origin, ServerSettings, SessionAuth};

/// Masks what stands before `@` in a URL. Too much is masked rather than too little: up to the last `@`, since a password
/// can hold `/`.
pub(crate) fn mask_userinfo(text: &str) -> String {
    let Some((scheme, rest)) = text.split_once("://") else {
        return text.to_owned();
    };
    match rest.rsplit_once('@') {
        Some((_, host)) => format!("{scheme}://{MASK}@{host}"),
        None => text.to_owned(),
    }
}

/// Without user name, password, query and fragment, for errors and logs.
impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => write!(f, "{}", path.display()),
            Self::Url(url) => f.write_str(&mask_userinfo(url.split(['?', '#']).next().unwrap_or_default())),
        }
    }
}

impl fmt::Debug for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => f.debug_tuple("File").field(path).finish(),
            Self::Url(_) => write!(f, "Url({self})"),
        }
    }
}

/// Only what kind it is: a command's arguments and a URL can hold keys.
impl fmt::Debug for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::OpenApi(_) => "OpenApi",
            Self::McpStdio { .. } => "McpStdio",
            Self::McpHttp { .. } => "McpHttp",
        })
    }
}

/// Only its type, as in the configuration.
impl fmt::Debug for Auth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.type_name())
    }
}

impl fmt::Debug for SessionAuth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SessionAuth").finish_non_exhaustive()
    }
}

impl fmt::Debug for Credential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Token(_) => "Token(***)",
            Self::Basic { .. } => "Basic(***)",
        })
    }
}

/// Without base URL and the values of `${VAR}`s, which could stand in nearly every field.
impl fmt::Debug for ServerSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let headers: Vec<&str> = self.extra_headers.iter().map(|(name, _)| name.as_str()).collect();
        f.debug_struct("ServerSettings")
            .field("name", &self.name)
            .field("title", &self.title)
            .field("origin", &self.origin)
            .field("auth", &self.auth)
            .field("credentials", &self.credentials)
            .field("extra_headers", &headers)
            .field("is_read_only", &self.is_read_only)
            .field("unresolved", &self.unresolved)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_before_the_host_is_masked() {
        for (text, expected) in [
            ("https://u:p@h/x", "https://***@h/x"),
            ("https://u:p/q@h", "https://***@h"),
            ("https://u:p@q@h", "https://***@h"),
            ("https://h/x", "https://h/x"),
            ("@scope/package", "@scope/package"),
        ] {
            assert_eq!(mask_userinfo(text), expected);
        }
        assert_eq!(Location::Url("https://u:p@h/x?key=s#t".to_owned()).to_string(), "https://***@h/x");
    }
}
