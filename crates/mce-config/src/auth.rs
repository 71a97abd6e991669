//! `auth:` of a server: one of several types, each with its own keys.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::field::Field;
use crate::nearest::suggestion;
use crate::reader::{Reader, found, one_of};
use crate::secret_source::is_source;
use crate::yaml::{self, Kind};
use crate::{Auth, ConfigError, Credential, Place, Secret, SessionAuth, TokenPlace};

/// The types and their keys; those of the first list must be there.
const AUTH_TYPES: [(&str, &[&str], &[&str]); 7] = [
    ("none", &[], &[]),
    ("static", &["value"], &[]),
    ("jwt", &["token"], &[]),
    ("basic", &["username", "password"], &[]),
    ("oauth2", &["client_id", "client_secret"], &["token_url", "issuer", "scope"]),
    ("keycloak", &["base_url", "realm", "client_id", "client_secret"], &["scope"]),
    ("session", &["login_url", "username", "password"], &SESSION_OPTIONS),
];

const SESSION_OPTIONS: [&str; 6] = [
    "username_field",
    "password_field",
    "content_type",
    "cookie_name",
    "token_field",
    "expires_seconds",
];

/// Ten years, which nobody will notice.
const MAX_SESSION_SECONDS: u64 = 315_360_000;

impl Auth {
    /// The word for it in a configuration file.
    pub fn type_name(&self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Static { .. } => "static",
            Self::Jwt { .. } => "jwt",
            Self::Basic { .. } => "basic",
            Self::OAuth2 { .. } => "oauth2",
            Self::Keycloak { .. } => "keycloak",
            Self::Session(_) => "session",
        }
    }
}

/// Reads an `auth:` mapping. `key` is that of `config show`.
pub(crate) fn read_auth(reader: &mut Reader<'_>, key: &str, field: Field) -> Result<Auth, ConfigError> {
    let place = field.place.clone();
    let mut entries: BTreeMap<String, Field> = field.into_entries("a mapping with `type`")?.into_iter().collect();
    entries.retain(|_, field| field.node.kind != Kind::Null);
    let types = AUTH_TYPES.map(|(name, _, _)| name);
    let Some(type_field) = entries.remove("type") else {
        return Err(ConfigError::MissingKey {
            place,
            key: "type".to_owned(),
            advice: format!("write {}", one_of(&types)),
        });
    };
    let type_name = reader.word(&format!("{key}.type"), &type_field, &types)?;
    let Some((_, required, optional)) = AUTH_TYPES.iter().find(|(name, _, _)| *name == type_name) else {
        // Only a `type` with an undefined variable comes here; the server is refused for that.
        return Ok(Auth::None);
    };
    for (name, field) in &entries {
        if !required.contains(&name.as_str()) && !optional.contains(&name.as_str()) {
            let known = required.iter().chain(*optional).copied();
            reader.warn(
                field.place.clone(),
                format!("`{type_name}` has no key `{name}`"),
                suggestion(name, known),
            );
        }
    }
    let mut fields = AuthFields {
        reader,
        key,
        place,
        entries,
    };
    if let Some(missing) = required.iter().find(|name| !fields.entries.contains_key(**name)) {
        return Err(fields.missing(missing));
    }
    fields.auth(&type_name)
}

/// Reads what a variable holds: the value of an `Authorization` header, or an `auth:` mapping as JSON.
pub(crate) fn read_variable(reader: &mut Reader<'_>, key: &str, field: Field) -> Result<Auth, ConfigError> {
    let is_object = |text: &str| text.trim_start().starts_with('{');
    if !field.scalar("a text").is_ok_and(is_object) {
        return read_static(reader, &format!("{key}.value"), &field);
    }
    let expected = "the value of an `Authorization` header, or a JSON object with `type`";
    let node = yaml::parse(field.scalar(expected)?).map_err(|_| field.unexpected(expected))?;
    read_auth(reader, key, Field { node, ..field })
}

/// Reads the value of an `Authorization` header; also one that is written with the header's name before it.
pub(crate) fn read_static(reader: &mut Reader<'_>, key: &str, field: &Field) -> Result<Auth, ConfigError> {
    let secret = reader.credential(key, field)?.without_prefix("Authorization:");
    let value = header_safe(field, secret)?;
    Ok(Auth::Static { value })
}

/// Reads one of `credentials:`.
pub(crate) fn read_credential(reader: &mut Reader<'_>, key: &str, field: Field) -> Result<Credential, ConfigError> {
    if field.scalar("").is_ok() || is_source(&field) {
        let token = reader.credential(key, &field)?;
        return Ok(Credential::Token(header_safe(&field, token)?));
    }
    let place = field.place.clone();
    let expected = "a text, or a mapping with `username` and `password`, or with `client_id` and `client_secret`";
    let mut entries: BTreeMap<String, Field> = field.into_entries(expected)?.into_iter().collect();
    entries.retain(|_, field| field.node.kind != Kind::Null);
    let mut fields = AuthFields {
        reader,
        key,
        place,
        entries,
    };
    if fields.entries.contains_key("client_id") {
        return Ok(Credential::Client {
            client_id: fields.text("client_id")?,
            client_secret: fields.secret("client_secret")?,
            place: fields.token_place()?,
            scope: fields.text_or("scope", "")?,
        });
    }
    Ok(Credential::Basic {
        username: fields.text("username")?,
        password: fields.secret("password")?,
    })
}

/// A line break in a header would end it.
pub(crate) fn header_safe(field: &Field, secret: Secret) -> Result<Secret, ConfigError> {
    if !secret.is_header_value() {
        return Err(field.refuse(
            "one line, as it is sent in a header",
            "a text with a line break or another control character",
        ));
    }
    Ok(secret)
}

struct AuthFields<'a, 'v> {
    reader: &'a mut Reader<'v>,
    key: &'a str,
    place: Place,
    entries: BTreeMap<String, Field>,
}

impl AuthFields<'_, '_> {
    fn auth(&mut self, type_name: &str) -> Result<Auth, ConfigError> {
        Ok(match type_name {
            "static" => {
                let field = self.required("value")?;
                read_static(self.reader, &format!("{}.value", self.key), &field)?
            }
            "jwt" => Auth::Jwt {
                token: self.secret("token")?,
            },
            "basic" => Auth::Basic {
                username: self.text("username")?,
                password: self.secret("password")?,
            },
            "oauth2" => Auth::OAuth2 {
                place: self.token_place()?.ok_or_else(|| self.missing("token_url"))?,
                client_id: self.text("client_id")?,
                client_secret: self.secret("client_secret")?,
                scope: self.text_or("scope", "")?,
            },
            "keycloak" => Auth::Keycloak {
                base_url: self.url("base_url")?.trim_end_matches('/').to_owned(),
                realm: self.text("realm")?,
                client_id: self.text("client_id")?,
                client_secret: self.secret("client_secret")?,
                scope: self.text_or("scope", "")?,
            },
            "session" => Auth::Session(Box::new(self.session()?)),
            _ => Auth::None,
        })
    }

    /// `token_url`, else `issuer`.
    fn token_place(&mut self) -> Result<Option<TokenPlace>, ConfigError> {
        if self.entries.contains_key("token_url") {
            return self.url("token_url").map(TokenPlace::Url).map(Some);
        }
        if self.entries.contains_key("issuer") {
            return self.url("issuer").map(TokenPlace::Issuer).map(Some);
        }
        Ok(None)
    }

    fn session(&mut self) -> Result<SessionAuth, ConfigError> {
        let is_form = match self.entries.get("content_type").cloned() {
            Some(field) => self.reader.word(&format!("{}.content_type", self.key), &field, &["json", "form"])? == "form",
            None => false,
        };
        let expires = match self.entries.get("expires_seconds").cloned() {
            Some(field) => {
                let key = format!("{}.expires_seconds", self.key);
                self.reader.number(&key, &field, 1..=MAX_SESSION_SECONDS)?
            }
            None => 3600,
        };
        Ok(SessionAuth {
            login_url: self.url("login_url")?,
            username: self.text("username")?,
            password: self.secret("password")?,
            username_field: self.text_or("username_field", "username")?,
            password_field: self.text_or("password_field", "password")?,
            is_form,
            cookie_name: self.text_or("cookie_name", "")?,
            token_field: self.text_or("token_field", "")?,
            expires: Duration::from_secs(expires),
        })
    }

    fn required(&self, name: &str) -> Result<Field, ConfigError> {
        self.entries.get(name).cloned().ok_or_else(|| self.missing(name))
    }

    fn missing(&self, name: &str) -> ConfigError {
        ConfigError::MissingKey {
            place: self.place.clone(),
            key: name.to_owned(),
            advice: format!("add {} below this key", found(&format!("{name}: …"))),
        }
    }

    fn secret(&mut self, name: &str) -> Result<Secret, ConfigError> {
        let field = self.required(name)?;
        let secret = self.reader.credential(&format!("{}.{name}", self.key), &field)?;
        header_safe(&field, secret)
    }

    fn text(&mut self, name: &str) -> Result<String, ConfigError> {
        let field = self.required(name)?;
        self.reader.text(&format!("{}.{name}", self.key), &field)
    }

    fn text_or(&mut self, name: &str, default: &str) -> Result<String, ConfigError> {
        match self.entries.get(name).cloned() {
            Some(field) => self.reader.text(&format!("{}.{name}", self.key), &field),
            None => Ok(default.to_owned()),
        }
    }

    fn url(&mut self, name: &str) -> Result<String, ConfigError> {
        let field = self.required(name)?;
        self.reader.url(&format!("{}.{name}", self.key), &field)
    }
}
