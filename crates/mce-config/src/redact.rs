//! Forms of settings that may be printed: no credential, no password in a URL, no value of a variable.

use std::fmt;

use crate::{Auth, Credential, Location, MASK, Origin, ServerSettings, SessionAuth};

/// Parts of names of parameters and options whose values are taken for secrets.
const SECRET_NAMES: [&str; 7] = ["key", "token", "secret", "pass", "auth", "sig", "cred"];

fn is_secret_name(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    SECRET_NAMES.iter().any(|part| name.contains(part))
}

/// Masks what stands before `@` in a URL, and the values of its parameters that sound secret.
pub(crate) fn mask_url(text: &str) -> String {
    let text = mask_userinfo(text);
    let Some((start, query)) = text.split_once('?') else {
        return text;
    };
    let parameters: Vec<String> = query.split('&').map(mask_assignment).collect();
    format!("{start}?{}", parameters.join("&"))
}

/// Too much is masked rather than too little: up to the last `@`, since a password can hold `/`.
fn mask_userinfo(text: &str) -> String {
    let Some((scheme, rest)) = text.split_once("://") else {
        return text.to_owned();
    };
    match rest.rsplit_once('@') {
        Some((_, host)) => format!("{scheme}://{MASK}@{host}"),
        None => text.to_owned(),
    }
}

fn mask_assignment(text: &str) -> String {
    match text.split_once('=') {
        Some((name, _)) if is_secret_name(name) => format!("{name}={MASK}"),
        Some(_) | None => text.to_owned(),
    }
}

/// Masks URLs in a command's arguments, and what follows an option that sounds secret: `--api-key=x` and `--api-key x`.
pub(crate) fn mask_arguments<'a>(arguments: impl Iterator<Item = &'a str>) -> Vec<String> {
    let mut is_value = false;
    arguments
        .map(|argument| {
            let is_option = argument.starts_with('-');
            let shown = match (is_option, is_value) {
                (true, _) => mask_assignment(argument),
                (false, true) => MASK.to_owned(),
                (false, false) => mask_url(argument),
            };
            is_value = is_option && !argument.contains('=') && is_secret_name(argument);
            shown
        })
        .collect()
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
            Self::McpStdio(_) => "McpStdio",
            Self::McpHttp(_) => "McpHttp",
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
    fn secrets_in_urls_are_masked() {
        for (text, expected) in [
            ("https://u:p@h/x", "https://***@h/x"),
            ("https://u:p/q@h", "https://***@h"),
            ("https://u:p@q@h", "https://***@h"),
            ("https://h/x", "https://h/x"),
            ("https://h/x?format=json&api_key=1", "https://h/x?format=json&api_key=***"),
            ("@scope/package", "@scope/package"),
        ] {
            assert_eq!(mask_url(text), expected);
        }
        assert_eq!(Location::Url("https://u:p@h/x?key=s#t".to_owned()).to_string(), "https://***@h/x");
    }

    #[test]
    fn secrets_in_arguments_are_masked() {
        for (arguments, expected) in [
            ("-y @scope/server /data", "-y @scope/server /data"),
            ("--api-key=1 --port=2", "--api-key=*** --port=2"),
            ("--api-key 1 2", "--api-key *** 2"),
            ("--token --port 2", "--token --port 2"),
            ("postgres://u:p@h/db", "postgres://***@h/db"),
        ] {
            assert_eq!(mask_arguments(arguments.split(' ')).join(" "), expected);
        }
    }
}
