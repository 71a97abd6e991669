//! Reads what a server's entry says about how further pages are asked for.

use std::collections::BTreeMap;

use crate::field::Field;
use crate::reader::{Reader, one_of};
use crate::{ConfigError, PaginationSettings, PaginationWay};

/// The keys, those of `how` of `mce.paginate`.
const KEYS: [&str; 5] = ["by", "parameter", "next", "first", "items"];
/// The values of `by`.
const WAYS: [&str; 5] = ["links", "cursor", "last_item", "page", "offset"];
/// The greatest number of a first page or item.
const MAX_FIRST: u64 = 1_000_000;

/// A key that is not known is an error: without it, other pages would be asked for.
pub(crate) fn pagination(reader: &mut Reader<'_>, key: &str, field: Field) -> Result<PaginationSettings, ConfigError> {
    let whole = field.clone();
    let mut fields = BTreeMap::new();
    for (name, field) in field.into_entries("a mapping with `by`, such as `{by: page, parameter: page}`")? {
        if !KEYS.contains(&name.as_str()) {
            return Err(field.refuse(one_of(&KEYS), format!("the key `{name}`")));
        }
        fields.insert(name, field);
    }
    let by = fields.remove("by").ok_or_else(|| whole.refuse("`by`", "no such key"))?;
    let by = reader.word(&format!("{key}.by"), &by, &WAYS)?;
    let mut way_of = |name: &str| {
        let field = fields.remove(name);
        field.map(|field| way(reader, &format!("{key}.{name}"), &field)).transpose()
    };
    let (parameter, next, items) = (way_of("parameter")?, way_of("next")?, way_of("items")?);
    let first = fields.remove("first");
    let first = first
        .map(|field| reader.number(&format!("{key}.first"), &field, 0..=MAX_FIRST))
        .transpose()?;
    let first = |default: i64| first.map_or(default, |first| i64::try_from(first).unwrap_or(default));
    let missing = |name: &str| whole.refuse(format!("`{name}` beside `by: {by}`"), "no such key");
    if parameter
        .as_ref()
        .is_some_and(|way| way.len() > 2 || (way.len() == 2 && way.first().is_none_or(|name| name != "body")))
    {
        return Err(whole.refuse(
            "an argument, or a property of the body such as `body.cursor`",
            "a longer way in `parameter`",
        ));
    }
    let by = match by.as_str() {
        "cursor" => PaginationWay::Cursor {
            next: next.ok_or_else(|| missing("next"))?,
        },
        "last_item" => PaginationWay::LastItem,
        "page" => PaginationWay::Page { first: first(1) },
        "offset" => PaginationWay::Offset { first: first(0) },
        // An undefined variable is refused later, with its name.
        _ => PaginationWay::Links,
    };
    let needs_parameter = matches!(
        by,
        PaginationWay::LastItem | PaginationWay::Page { .. } | PaginationWay::Offset { .. }
    );
    if needs_parameter && parameter.is_none() {
        return Err(whole.refuse("`parameter`, the argument that leads to the next page", "no such key"));
    }
    Ok(PaginationSettings { by, parameter, items })
}

/// Names of properties: a list of them, or one text with a dot between two. An empty text is the answer itself.
fn way(reader: &mut Reader<'_>, key: &str, field: &Field) -> Result<Vec<String>, ConfigError> {
    if field.clone().into_items("").is_ok() {
        return reader.texts(key, field);
    }
    let text = reader.text(key, field)?;
    let names = text.split('.').map(str::to_owned).filter(|name| !name.is_empty());
    Ok(names.collect())
}
