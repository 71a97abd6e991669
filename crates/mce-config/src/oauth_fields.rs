//! Reads `oauth` of a server: what a person says about logging in there.

use url::Url;

use crate::auth::header_safe;
use crate::field::Field;
use crate::nearest::suggestion;
use crate::reader::{Reader, found};
use crate::yaml::Kind;
use crate::{ConfigError, OAuthSettings};

const KEYS: [&str; 7] = [
    "client_id",
    "client_metadata_url",
    "client_secret",
    "device_authorization_url",
    "redirect_uri",
    "scopes",
    "token_url",
];

/// Words of other programs for our keys: Claude Code and `OpenCode`, Gemini CLI, Cursor, RFC 7591.
const OTHER_WORDS: [(&str, &str); 10] = [
    ("CLIENT_ID", "client_id"),
    ("CLIENT_SECRET", "client_secret"),
    ("callbackPort", "callback_port"),
    ("clientId", "client_id"),
    ("clientMetadataUrl", "client_metadata_url"),
    ("clientSecret", "client_secret"),
    ("redirectUri", "redirect_uri"),
    ("redirect_url", "redirect_uri"),
    ("scope", "scopes"),
    ("callback_url", "redirect_uri"),
];

/// Takes what stands at `oauth`. `at` is its key; `is_ours` says that it stands in a file of ours, where keys that mean nothing
/// are told.
///
/// # Errors
///
/// A value that cannot be meant.
pub(crate) fn read_oauth(reader: &mut Reader<'_>, at: &str, field: Field, is_ours: bool) -> Result<OAuthSettings, ConfigError> {
    let mut settings = OAuthSettings::default();
    if matches!(field.node.kind, Kind::Scalar(_)) {
        settings.is_off = !reader.flag(at, &field)?;
        return Ok(settings);
    }
    for (name, field) in field.into_entries("`false`, or a mapping such as `client_id: …`")? {
        let name = OTHER_WORDS
            .iter()
            .find(|(other, _)| *other == name)
            .map_or(name.as_str(), |(_, ours)| ours);
        let key = format!("{at}.{name}");
        match name {
            _ if field.is_blank() => {}
            "client_id" => settings.client_id = Some(reader.text(&key, &field)?),
            "client_secret" => settings.client_secret = Some(header_safe(&field, reader.credential(&key, &field)?)?),
            "client_metadata_url" => settings.client_metadata_url = Some(metadata_url(reader, &key, &field)?),
            "redirect_uri" => settings.redirect_uri = Some(redirect_uri(reader, &key, &field)?),
            // So Claude Code makes one of its port.
            "callback_port" => {
                let port = reader.number(&key, &field, 1..=65535)?;
                settings.redirect_uri = Some(format!("http://localhost:{port}/callback"));
            }
            "device_authorization_url" if is_ours => settings.device_authorization_url = Some(reader.url(&key, &field)?),
            "token_url" if is_ours => settings.token_url = Some(reader.url(&key, &field)?),
            "scopes" => settings.scopes = scopes(reader, &key, &field)?,
            "enabled" => settings.is_off = !reader.flag(&key, &field)?,
            _ if is_ours => {
                let hint = suggestion(name, KEYS);
                reader.warn(field.place.clone(), format!("`oauth` has no key `{name}`"), hint);
            }
            _ => {}
        }
    }
    Ok(settings)
}

/// A list, or a text with blanks or commas.
fn scopes(reader: &mut Reader<'_>, key: &str, field: &Field) -> Result<Vec<String>, ConfigError> {
    let parts = reader.list(key, field)?;
    Ok(parts.iter().flat_map(|part| part.split_whitespace()).map(str::to_owned).collect())
}

/// An authorization server fetches it, so that it must be public. (MCP 2026-07-28, Client ID Metadata Documents.)
fn metadata_url(reader: &mut Reader<'_>, key: &str, field: &Field) -> Result<String, ConfigError> {
    let url = reader.url(key, field)?;
    let is_fit = Url::parse(&url).is_ok_and(|url| url.scheme() == "https" && url.path() != "/");
    if !is_fit && reader.missing.is_empty() {
        return Err(field.refuse("an https URL with a path", found(&url)));
    }
    Ok(url)
}

/// Only what is sent to this machine can be waited for. (RFC 8252, 7.3)
fn redirect_uri(reader: &mut Reader<'_>, key: &str, field: &Field) -> Result<String, ConfigError> {
    let url = reader.url(key, field)?;
    let is_fit =
        Url::parse(&url).is_ok_and(|url| url.scheme() == "http" && matches!(url.host_str(), Some("127.0.0.1" | "localhost" | "[::1]")));
    if !is_fit && reader.missing.is_empty() {
        return Err(field.refuse("a URL of this machine such as `http://127.0.0.1:8765/callback`", found(&url)));
    }
    Ok(url)
}
