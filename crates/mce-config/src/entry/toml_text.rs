//! An entry in TOML.

use toml_edit::{Array, DocumentMut, Item, Table, Value};

use super::Written;

pub(super) fn set(text: &str, keys: &[&str], name: &str, fields: &[(&str, Written)]) -> Option<String> {
    let mut document: DocumentMut = text.parse().ok()?;
    let mut section = document.as_table_mut();
    for key in keys {
        let table = section.entry(key).or_insert_with(|| {
            // Has no header of its own: those below it have one.
            let mut table = Table::new();
            table.set_implicit(true);
            Item::Table(table)
        });
        section = table.as_table_mut()?;
    }
    let entry = section
        .entry(name)
        .or_insert_with(|| Item::Table(Table::new()))
        .as_table_like_mut()?;
    for (key, written) in fields {
        let mut value = value(written);
        match entry.get_mut(key).and_then(Item::as_value_mut) {
            Some(old) => {
                // A comment behind it stays.
                *value.decor_mut() = old.decor().clone();
                *old = value;
            }
            None => drop(entry.insert(key, Item::Value(value))),
        }
    }
    Some(document.to_string())
}

pub(super) fn remove(text: &str, keys: &[&str], name: &str) -> Option<String> {
    let mut document: DocumentMut = text.parse().ok()?;
    let mut section = document.as_item_mut();
    for key in keys {
        section = section.get_mut(key)?;
    }
    section.as_table_like_mut()?.remove(name)?;
    Some(document.to_string())
}

fn value(written: &Written) -> Value {
    match written {
        Written::Text(text) => Value::from(text.as_str()),
        Written::List(items) => Value::Array(items.iter().map(String::as_str).collect::<Array>()),
        Written::Flag(flag) => Value::from(*flag),
        Written::Number(number) => Value::from(i64::from(*number)),
    }
}
