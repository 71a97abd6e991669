//! An entry in TOML.

use toml_edit::{Array, Decor, DocumentMut, InlineTable, Item, Table, TableLike, Value};

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
    Some(with_ends_of(text, document.to_string()))
}

pub(super) fn remove(text: &str, keys: &[&str], name: &str) -> Option<String> {
    let mut document: DocumentMut = text.parse().ok()?;
    let mut section = document.as_item_mut();
    for key in keys {
        section = section.get_mut(key)?;
    }
    let place = section.as_table().and_then(Table::position);
    let section = section.as_table_like_mut()?;
    let comments = comments_above(section, name);
    let next = section.iter().skip_while(|(key, _)| *key != name).nth(1);
    let next = next.filter(|(_, item)| item.is_value()).map(|(key, _)| key.to_owned());
    let removed = section.remove(name)?;
    let Some(comments) = comments else {
        return Some(with_ends_of(text, document.to_string()));
    };
    match (removed.as_table().filter(|table| !table.is_dotted()), next) {
        (None, Some(next)) => put_before(section.key_mut(&next)?.leaf_decor_mut(), &comments),
        (table, _) => {
            let place = table.and_then(Table::position).or(place)?;
            if let Some(table) = next_table(document.as_table_mut(), place) {
                put_before(table.decor_mut(), &comments);
            } else {
                let trailing = format!("{comments}{}", document.trailing().as_str()?);
                document.set_trailing(trailing);
            }
        }
    }
    Some(with_ends_of(text, document.to_string()))
}

/// What stands above an entry, if there are comments: they are a person's.
fn comments_above(section: &dyn TableLike, name: &str) -> Option<String> {
    let decor = match section.get(name)?.as_table() {
        // `mce.command = …`: they stand above its first line.
        Some(table) if table.is_dotted() => return comments_above(table, table.iter().next()?.0),
        Some(table) => table.decor(),
        None => section.key(name)?.leaf_decor(),
    };
    let prefix = decor.prefix()?.as_str()?;
    prefix.contains('#').then(|| prefix.to_owned())
}

fn put_before(decor: &mut Decor, comments: &str) {
    let prefix = decor.prefix().and_then(|prefix| prefix.as_str()).unwrap_or_default();
    decor.set_prefix(format!("{comments}{prefix}"));
}

/// The first table with a header behind this place of the document.
fn next_table(root: &mut Table, place: isize) -> Option<&mut Table> {
    let next = positions(root).into_iter().filter(|position| *position > place).min()?;
    at_position(root, next)
}

fn positions(table: &Table) -> Vec<isize> {
    let below = table.iter().flat_map(|(_, item)| match item {
        Item::Table(table) => own_and_below(table),
        Item::ArrayOfTables(tables) => tables.iter().flat_map(own_and_below).collect(),
        Item::None | Item::Value(_) => Vec::new(),
    });
    below.collect()
}

fn own_and_below(table: &Table) -> Vec<isize> {
    let has_header = !table.is_implicit() && !table.is_dotted();
    let own = table.position().filter(|_| has_header);
    own.into_iter().chain(positions(table)).collect()
}

fn at_position(table: &mut Table, position: isize) -> Option<&mut Table> {
    let is_there = |table: &Table| own_and_below(table).contains(&position);
    let below = table.iter_mut().find_map(|(_, item)| match item {
        Item::Table(table) => Some(table).filter(|table| is_there(table)),
        Item::ArrayOfTables(tables) => tables.iter_mut().find(|table| is_there(table)),
        Item::None | Item::Value(_) => None,
    })?;
    if below.position() == Some(position) && !below.is_implicit() {
        Some(below)
    } else {
        at_position(below, position)
    }
}

/// `toml_edit` writes `\n`.
fn with_ends_of(before: &str, text: String) -> String {
    let lines = before.matches('\n').count();
    if lines == 0 || lines != before.matches("\r\n").count() {
        return text;
    }
    text.replace("\r\n", "\n").replace('\n', "\r\n")
}

fn value(written: &Written) -> Value {
    match written {
        Written::Text(text) => Value::from(text.as_str()),
        Written::List(items) => Value::Array(items.iter().map(String::as_str).collect::<Array>()),
        Written::Flag(flag) => Value::from(*flag),
        Written::Number(number) => Value::from(i64::from(*number)),
        Written::Texts(members) => {
            let members = members.iter().map(|(key, text)| (key.as_str(), Value::from(text.as_str())));
            Value::InlineTable(members.collect::<InlineTable>())
        }
    }
}
