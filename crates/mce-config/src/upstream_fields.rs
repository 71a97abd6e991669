//! Reads what a server's entry says about how it is dealt with as an MCP server.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::field::Field;
use crate::oauth_fields::read_oauth;
use crate::reader::Reader;
use crate::respell::MAX_SECONDS;
use crate::{ConfigError, Era, UpstreamSettings};

const KEYS: [&str; 7] = ["concurrency", "era", "max_answer_bytes", "oauth", "pin", "start_timeout", "timeout"];

/// Calls of an API at the same time.
const API_CONCURRENCY: u32 = 64;

/// What an entry says of itself.
#[derive(Debug, Clone, Copy)]
pub(crate) struct UpstreamEntry {
    /// It is an MCP server.
    pub(crate) is_mcp: bool,
    /// It stands in a file of ours.
    pub(crate) is_ours: bool,
}

/// Takes the keys that make an [`UpstreamSettings`] out of a server's fields. `at` is the server's key.
pub(crate) fn read_upstream(
    reader: &mut Reader<'_>,
    at: &str,
    fields: &mut BTreeMap<String, Field>,
    entry: UpstreamEntry,
) -> Result<UpstreamSettings, ConfigError> {
    let mut settings = UpstreamSettings::default();
    if !entry.is_mcp {
        settings.concurrency = API_CONCURRENCY;
    }
    for name in KEYS {
        let Some(field) = fields.remove(name) else { continue };
        if !entry.is_mcp && !matches!(name, "concurrency" | "oauth") {
            let reason = "it is for MCP servers".to_owned();
            reader.warn(field.place, "has no effect".to_owned(), Some(reason));
            continue;
        }
        let key = format!("{at}.{name}");
        let mut number = |range| reader.number(&key, &field, range);
        match name {
            "concurrency" => settings.concurrency = u32::try_from(number(1..=1024)?).unwrap_or(u32::MAX),
            "max_answer_bytes" => settings.answer_bytes = usize::try_from(number(1024..=1 << 30)?).unwrap_or(usize::MAX),
            "start_timeout" => settings.start_timeout = Duration::from_secs(number(1..=MAX_SECONDS.into())?),
            "timeout" => settings.call_timeout = Duration::from_secs(number(1..=MAX_SECONDS.into())?),
            "oauth" => settings.oauth = read_oauth(reader, &key, field, entry.is_ours)?,
            "pin" => settings.is_pinned = reader.flag(&key, &field)?,
            _ => {
                settings.era = match reader.word(&key, &field, &["auto", "legacy", "modern"])?.as_str() {
                    "legacy" => Era::Legacy,
                    "modern" => Era::Modern,
                    _ => Era::Auto,
                }
            }
        }
    }
    Ok(settings)
}
