//! An entry in JSON with comments.

use jsonc_parser::ParseOptions;
use jsonc_parser::cst::{CstInputValue, CstObject, CstRootNode};

use super::Written;

const MARK: &str = "\u{feff}";

pub(super) fn set(text: &str, keys: &[&str], name: &str, fields: &[(&str, Written)]) -> Option<String> {
    edit(text, |root| {
        let mut section = root.object_value_or_create()?;
        for key in keys {
            section = section.object_value_or_create(key)?;
        }
        let Some(entry) = section.get(name) else {
            let members = fields.iter().map(|(key, value)| ((*key).to_owned(), input(value)));
            section.append(name, CstInputValue::Object(members.collect()));
            return Some(());
        };
        let entry = entry.object_value()?;
        for (key, value) in fields {
            match entry.get(key) {
                Some(member) => member.set_value(input(value)),
                None => drop(entry.append(key, input(value))),
            }
        }
        Some(())
    })
}

pub(super) fn remove(text: &str, keys: &[&str], name: &str) -> Option<String> {
    edit(text, |root| {
        let section = keys
            .iter()
            .try_fold(root.object_value()?, |section: CstObject, key| section.object_value(key))?;
        section.get(name)?.remove();
        Some(())
    })
}

fn edit(text: &str, work: impl FnOnce(&CstRootNode) -> Option<()>) -> Option<String> {
    let plain = text.strip_prefix(MARK).unwrap_or(text);
    let root = CstRootNode::parse(plain, &ParseOptions::default()).ok()?;
    work(&root)?;
    let mut edited = root.to_string();
    if plain.trim().is_empty() && !edited.ends_with('\n') {
        edited.push('\n');
    }
    Some(if plain.len() == text.len() {
        edited
    } else {
        format!("{MARK}{edited}")
    })
}

fn input(value: &Written) -> CstInputValue {
    match value {
        Written::Text(text) => CstInputValue::String(text.clone()),
        Written::List(items) => CstInputValue::Array(items.iter().cloned().map(CstInputValue::String).collect()),
        Written::Flag(flag) => CstInputValue::Bool(*flag),
        Written::Number(number) => CstInputValue::Number(number.to_string()),
        Written::Texts(members) => {
            let members = members.iter().cloned();
            CstInputValue::Object(members.map(|(key, text)| (key, CstInputValue::String(text))).collect())
        }
    }
}
