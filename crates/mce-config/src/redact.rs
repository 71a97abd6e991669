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

/// Masks in an argument what can be a secret: passwords in URLs, values whose names sound secret, and words made by a machine.
fn mask_argument(argument: &str) -> String {
    if argument.contains("://") {
        return mask_random(&mask_url(argument));
    }
    // The name of a header field or of a variable, such as `Authorization: Bearer x` and `TOKEN=x`.
    if let Some((at, separator)) = argument.char_indices().find(|(_, c)| ['=', ':'].contains(c)) {
        let (name, value) = argument.split_at_checked(at).unwrap_or((argument, ""));
        let value = value.strip_prefix(separator).unwrap_or_default();
        let value = if is_secret_name(name) {
            MASK.to_owned()
        } else {
            mask_argument(value)
        };
        return format!("{name}{separator}{value}");
    }
    if argument.starts_with(['/', '.', '~']) {
        return argument.to_owned();
    }
    mask_random(argument)
}

/// Masks words that are as long and mixed as only keys are.
pub(crate) fn mask_random(text: &str) -> String {
    let mut masked = String::new();
    let mut word = String::new();
    for character in text.chars().map(Some).chain([None]) {
        match character {
            Some(letter) if letter.is_ascii_alphanumeric() => word.push(letter),
            Some(_) | None => {
                masked.push_str(if is_random(&word) { MASK } else { &word });
                word.clear();
                masked.extend(character);
            }
        }
    }
    masked
}

/// A longer run of letters and digits, in bytes, was made by a machine.
const MAX_WORD_BYTES: usize = 15;

/// Whether a word of letters and digits was made by a machine.
pub(crate) fn is_random(word: &str) -> bool {
    word.len() > MAX_WORD_BYTES && word.bytes().any(|byte| byte.is_ascii_digit())
}

/// Masks what can be secret in a command's arguments, and what follows an option that sounds secret: `--api-key=x` and
/// `--api-key x`.
pub(crate) fn mask_arguments<'a>(arguments: impl Iterator<Item = &'a str>) -> Vec<String> {
    let mut is_value = false;
    arguments
        .map(|argument| {
            let is_option = argument.starts_with('-');
            let shown = if is_value && !is_option {
                MASK.to_owned()
            } else {
                mask_argument(argument)
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
            Self::Recipes(_) => "Recipes",
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
            Self::Client { .. } => "Client(***)",
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
            .field("allow_private", &self.allow_private)
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
            ("-e TOKEN=1 A=b", "-e TOKEN=*** A=b"),
            ("--env=TOKEN=1 --env=A=b", "--env=TOKEN=*** --env=A=b"),
            ("--header X-Api-Key:1 Accept:json", "--header X-Api-Key:*** Accept:json"),
            ("https://h/mcp/0123456789abcdef?x=0123456789abcdef0", "https://h/mcp/***?x=***"),
            ("sk-0123456789abcdef 0123456789abcdef", "sk-*** ***"),
            ("/tmp/0123456789abcdef ./a@1.2", "/tmp/0123456789abcdef ./a@1.2"),
        ] {
            assert_eq!(mask_arguments(arguments.split(' ')).join(" "), expected);
        }
    }
}
