//! Warnings about names that mean nothing, and what was probably meant.

use std::collections::BTreeMap;

use crate::field::Field;
use crate::nearest::suggestion;
use crate::reader::{Reader, one_of};
use crate::server::{SERVER_SUFFIXES, server_variables};
use crate::setting_fields::{OTHER_VARIABLES, SETTING_KEYS, variable_name};
use crate::{Place, ServerSettings, Source};

/// Variables with this prefix are those of our own tests.
const TEST_PREFIX: &str = "MCE_TEST_";

/// Warns of keys at the top of a file that are not in `known`.
pub(crate) fn warn_of_unknown_keys(reader: &mut Reader<'_>, entries: &BTreeMap<String, Field>, known: &[&str]) {
    for (key, field) in entries.iter().filter(|(key, _)| !known.contains(&key.as_str())) {
        reader.warn(
            field.place.clone(),
            format!("there is no setting `{key}`"),
            suggestion(key, known.iter().copied()),
        );
    }
}

/// Warns of variables that start with `MCE_` and that nobody reads. Their values are never repeated.
pub(crate) fn warn_of_unknown_variables(reader: &mut Reader<'_>, servers: &[ServerSettings]) {
    let known: Vec<String> = SETTING_KEYS.iter().map(|key| variable_name(key)).collect();
    let known: Vec<&str> = known.iter().map(String::as_str).chain(OTHER_VARIABLES).collect();
    let is_ours = |name: &str| name.starts_with("MCE_") && !name.starts_with(TEST_PREFIX);
    let is_used = |name: &str| known.contains(&name) || reader.referenced.contains(name);
    let names = reader
        .variables
        .names()
        .into_iter()
        .filter(|(name, _)| is_ours(name) && !is_used(name));
    let warnings: Vec<(Source, String, Option<String>)> = names
        .filter_map(|(name, source)| {
            let (message, hint) = match SERVER_SUFFIXES.into_iter().find(|suffix| name.ends_with(suffix)) {
                Some(suffix)
                    if servers
                        .iter()
                        .any(|s| server_variables(&s.name, &s.title, suffix).iter().any(|known| known == name)) =>
                {
                    return None;
                }
                Some(_) => ("there is no such server".to_owned(), Some(configured(servers))),
                None => ("there is no such setting".to_owned(), suggestion(name, known.iter().copied())),
            };
            Some((source, message, hint))
        })
        .collect();
    for (source, message, hint) in warnings {
        reader.warn(Place { source, line: None }, message, hint);
    }
}

fn configured(servers: &[ServerSettings]) -> String {
    let names: Vec<&str> = servers.iter().map(|server| server.name.as_str()).collect();
    if names.is_empty() {
        return "no server is configured".to_owned();
    }
    format!("the name must be {}", one_of(&names))
}
