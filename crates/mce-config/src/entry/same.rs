//! Whether two trees mean the same beside one entry.

use crate::yaml::{Entry, Kind, Node};

/// A section that is missing is like one that is empty.
pub(super) fn is_same_beside(before: &Node, after: &Node, keys: &[&str], name: &str) -> bool {
    let path: Vec<&str> = keys.iter().copied().chain([name]).collect();
    is_same(&without(before, &path), &without(after, &path))
}

/// Whether two entries mean the same beside these members; one that is missing is like one that is empty.
pub(super) fn is_same_but(before: Option<&Node>, after: Option<&Node>, members: &[&str]) -> bool {
    let others = |node: Option<&Node>| match node.map(|node| &node.kind) {
        Some(Kind::Map(entries)) => entries
            .iter()
            .filter(|entry| !members.contains(&entry.key.as_str()))
            .cloned()
            .collect(),
        Some(Kind::Null | Kind::Scalar(_) | Kind::List(_)) | None => Vec::new(),
    };
    let (before, after) = (others(before), others(after));
    before.len() == after.len() && before.iter().zip(&after).all(|(one, other)| is_same_entry(one, other))
}

/// The tree without what is at a path, and without what is empty then.
fn without(node: &Node, path: &[&str]) -> Node {
    let mut node = node.clone();
    let Some((key, rest)) = path.split_first() else { return node };
    if let Kind::Map(entries) = &mut node.kind {
        for entry in entries.iter_mut().filter(|entry| entry.key == *key && !rest.is_empty()) {
            entry.value = without(&entry.value, rest);
        }
        entries.retain(|entry| entry.key != *key || (!rest.is_empty() && !is_empty(&entry.value)));
    }
    if is_empty(&node) {
        node.kind = Kind::Null;
    }
    node
}

fn is_empty(node: &Node) -> bool {
    match &node.kind {
        Kind::Null => true,
        Kind::Map(entries) => entries.is_empty(),
        Kind::Scalar(_) | Kind::List(_) => false,
    }
}

/// Wherever its parts stand; the order of keys counts.
fn is_same(one: &Node, other: &Node) -> bool {
    match (&one.kind, &other.kind) {
        (Kind::Map(one), Kind::Map(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| is_same_entry(one, other))
        }
        (Kind::List(one), Kind::List(other)) => one.len() == other.len() && one.iter().zip(other).all(|(one, other)| is_same(one, other)),
        (one_kind, other_kind) => one_kind == other_kind && one.is_plain == other.is_plain,
    }
}

fn is_same_entry(one: &Entry, other: &Entry) -> bool {
    one.key == other.key && is_same(&one.value, &other.value)
}
