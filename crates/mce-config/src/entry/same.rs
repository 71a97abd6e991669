//! Whether two trees mean the same beside one entry.

use crate::yaml::{Entry, Kind, Node};

/// A section that is missing is like one that is empty.
pub(super) fn is_same_beside(before: &Node, after: &Node, keys: &[&str], name: &str) -> bool {
    let path: Vec<&str> = keys.iter().copied().chain([name]).collect();
    is_same(&without(before, &path), &without(after, &path))
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
            let is_same_entry = |(one, other): (&Entry, &Entry)| one.key == other.key && is_same(&one.value, &other.value);
            one.len() == other.len() && one.iter().zip(other).all(is_same_entry)
        }
        (Kind::List(one), Kind::List(other)) => one.len() == other.len() && one.iter().zip(other).all(|(one, other)| is_same(one, other)),
        (one_kind, other_kind) => one_kind == other_kind && one.is_plain == other.is_plain,
    }
}
