//! Reads what a server's entry says about how its functions are shown and called.

use std::collections::BTreeMap;

use crate::field::Field;
use crate::nearest::suggestion;
use crate::pagination_fields::pagination;
use crate::reader::{Reader, found, one_of};
use crate::yaml::Kind;
use crate::{
    ArgumentDefault, ConfigError, EffectSetting, FunctionSelector, FunctionSettings, MAX_DESCRIPTION_CHARS, PaceSettings, ViewSettings,
};

/// The parts of a selector.
const SELECTOR_KEYS: [&str; 4] = ["tag", "path", "method", "operation"];
/// The keys of one function's settings.
const FUNCTION_KEYS: [&str; 5] = ["defaults", "description", "effect", "pagination", "rate"];
/// The keys of a default with more than its value.
const DEFAULT_KEYS: [&str; 2] = ["value", "hidden"];
/// The longest new name, in characters.
const MAX_NAME_CHARS: usize = 64;

/// Takes the keys that make a [`ViewSettings`] out of a server's fields. `at` is the server's key.
pub(crate) fn read_view(reader: &mut Reader<'_>, at: &str, fields: &mut BTreeMap<String, Field>) -> Result<ViewSettings, ConfigError> {
    let mut view = ViewSettings::default();
    if let Some(field) = fields.remove("description") {
        view.description = Some(description(reader, &format!("{at}.description"), &field)?);
    }
    if let Some(field) = fields.remove("include") {
        view.include = selectors(reader, &format!("{at}.include"), &field)?;
    }
    if let Some(field) = fields.remove("exclude") {
        view.exclude = selectors(reader, &format!("{at}.exclude"), &field)?;
    }
    if let Some(field) = fields.remove("rename") {
        view.rename = new_names(reader, &format!("{at}.rename"), field)?;
    }
    if let Some(field) = fields.remove("pagination") {
        view.pagination = Some(pagination(reader, &format!("{at}.pagination"), field)?);
    }
    if let Some(field) = fields.remove("rate") {
        view.rate = reader.rate(&format!("{at}.rate"), &field)?;
    }
    if let Some(field) = fields.remove("retries") {
        view.retries = Some(reader.count(&format!("{at}.retries"), &field, PaceSettings::RETRIES)?);
    }
    if let Some(field) = fields.remove("breaker_failures") {
        view.breaker_failures = Some(reader.count(&format!("{at}.breaker_failures"), &field, PaceSettings::BREAKER_FAILURES)?);
    }
    if let Some(field) = fields.remove("functions") {
        for (operation, field) in field.into_entries("a mapping of operations to their settings")? {
            let key = format!("{at}.functions.{operation}");
            view.functions.insert(operation, function(reader, &key, field)?);
        }
    }
    Ok(view)
}

fn description(reader: &mut Reader<'_>, key: &str, field: &Field) -> Result<String, ConfigError> {
    let text = reader.text(key, field)?;
    let characters = text.chars().count();
    if characters > MAX_DESCRIPTION_CHARS {
        return Err(field.refuse(
            format!("a text of at most {MAX_DESCRIPTION_CHARS} characters"),
            format!("one of {characters}"),
        ));
    }
    Ok(text)
}

fn selectors(reader: &mut Reader<'_>, key: &str, field: &Field) -> Result<Vec<FunctionSelector>, ConfigError> {
    let expected = "a list of operations or of mappings with `tag`, `path`, `method`, `operation`";
    let items = field.clone().into_items(expected)?;
    if items.is_empty() {
        return Err(field.refuse("a list with at least one entry", "an empty list"));
    }
    let numbered = items.into_iter().enumerate();
    numbered
        .map(|(index, item)| selector(reader, &format!("{key}.{index}"), item))
        .collect()
}

/// A text is an operation. A part that is not known is an error: without it the selector would mean more.
fn selector(reader: &mut Reader<'_>, key: &str, field: Field) -> Result<FunctionSelector, ConfigError> {
    let mut selector = FunctionSelector::default();
    if matches!(field.node.kind, Kind::Scalar(_)) {
        selector.operation = Some(part(reader, key, &field)?);
        return Ok(selector);
    }
    let whole = field.clone();
    for (name, field) in field.into_entries("an operation, or a mapping with `tag`, `path`, `method`, `operation`")? {
        let slot = match name.as_str() {
            "tag" => &mut selector.tag,
            "path" => &mut selector.path,
            "method" => &mut selector.method,
            "operation" => &mut selector.operation,
            _ => return Err(field.refuse(one_of(&SELECTOR_KEYS), format!("the key `{name}`"))),
        };
        *slot = Some(part(reader, &format!("{key}.{name}"), &field)?);
    }
    if selector == FunctionSelector::default() {
        return Err(whole.refuse(one_of(&SELECTOR_KEYS), "an empty mapping"));
    }
    Ok(selector)
}

fn part(reader: &mut Reader<'_>, key: &str, field: &Field) -> Result<String, ConfigError> {
    let text = reader.text(key, field)?.trim().to_owned();
    if text.is_empty() {
        return Err(field.unexpected("a text that is not empty"));
    }
    Ok(text)
}

fn new_names(reader: &mut Reader<'_>, key: &str, field: Field) -> Result<BTreeMap<String, String>, ConfigError> {
    let mut names = BTreeMap::new();
    for (operation, field) in field.into_entries("a mapping of operations to new names")? {
        let name = reader.text(&format!("{key}.{operation}"), &field)?;
        let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let is_name = name.starts_with(|c: char| c.is_ascii_alphabetic()) && name.chars().all(is_word);
        if !is_name || name.len() > MAX_NAME_CHARS {
            return Err(field.refuse(
                format!("a name of letters, digits and `_`, at most {MAX_NAME_CHARS}, a letter first"),
                found(&name),
            ));
        }
        names.insert(operation, name);
    }
    Ok(names)
}

fn function(reader: &mut Reader<'_>, key: &str, field: Field) -> Result<FunctionSettings, ConfigError> {
    let mut settings = FunctionSettings::default();
    for (name, field) in field.into_entries("a mapping with `description`, `effect`, `defaults`, `pagination`")? {
        let key = format!("{key}.{name}");
        match name.as_str() {
            "description" => settings.description = Some(description(reader, &key, &field)?),
            "effect" => settings.effect = Some(effect(reader, &key, &field)?),
            "rate" => settings.rate = reader.rate(&key, &field)?,
            "pagination" => settings.pagination = Some(pagination(reader, &key, field)?),
            "defaults" => {
                for (argument, field) in field.into_entries("a mapping of arguments to values")? {
                    let key = format!("{key}.{argument}");
                    settings.defaults.insert(argument, default(reader, &key, field)?);
                }
            }
            _ => {
                let hint = suggestion(&name, FUNCTION_KEYS);
                reader.warn(field.place, format!("a function has no key `{name}`"), hint);
            }
        }
    }
    Ok(settings)
}

fn effect(reader: &mut Reader<'_>, key: &str, field: &Field) -> Result<EffectSetting, ConfigError> {
    let word = reader.word(key, field, &["read", "write", "destructive"])?;
    Ok(match word.as_str() {
        "read" => EffectSetting::Read,
        "write" => EffectSetting::Write,
        // An undefined variable gets the careful meaning; the server is refused for it anyway.
        _ => EffectSetting::Destructive,
    })
}

/// A value, or a mapping of `value` and perhaps `hidden`.
fn default(reader: &mut Reader<'_>, key: &str, field: Field) -> Result<ArgumentDefault, ConfigError> {
    let is_long = match &field.node.kind {
        Kind::Map(entries) => {
            entries.iter().any(|entry| entry.key == "value") && entries.iter().all(|entry| DEFAULT_KEYS.contains(&entry.key.as_str()))
        }
        Kind::Null | Kind::Scalar(_) | Kind::List(_) => false,
    };
    if !is_long {
        let value = reader.json(key, &field)?;
        return Ok(ArgumentDefault { value, is_hidden: false });
    }
    let (mut value, mut is_hidden) = (serde_json::Value::Null, false);
    for (name, field) in field.into_entries("a mapping with `value`")? {
        if name == "value" {
            value = reader.json(key, &field)?;
        } else {
            is_hidden = reader.flag(&format!("{key}.hidden"), &field)?;
        }
    }
    Ok(ArgumentDefault { value, is_hidden })
}

#[cfg(test)]
mod tests {
    use crate::load::tests::bench;

    #[test]
    fn a_server_has_its_own_attempts_and_its_own_patience() {
        let yaml = "retries: 1\nservers:\n  shop: {openapi: ./shop.yaml, retries: 0, breaker_failures: 7}\n  far: {url: 'https://far.example/mcp'}\n";
        let bench = bench(&[("mce.yaml", yaml)], &[]);
        let (settings, _) = bench.load();
        let of = |name: &str| {
            let view = &settings.server(name).unwrap().view;
            (view.retries, view.breaker_failures)
        };
        assert_eq!((of("shop"), of("far")), ((Some(0), Some(7)), (None, None)));
        assert_eq!(bench.shown("servers.shop.retries"), "0 <- mce.yaml: servers.shop.retries");
        assert!(bench.warnings().is_empty(), "{:?}", bench.warnings());
    }
}
