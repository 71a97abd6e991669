//! References: places in files, JSON Pointers, chains of `$ref`.

use std::collections::BTreeMap;

use percent_encoding::percent_decode_str;
use serde_json::{Map, Value};

use super::files::{File, Files, refusal};
use super::prose;
use crate::pointer::{escape, unescape};

/// Hops of one chain of references. Longer ones are taken for cycles.
const MAX_HOPS: usize = 64;

/// A value and where it stands.
#[derive(Debug, Clone)]
pub(super) struct Node<'a> {
    /// The file, which relative references start from.
    pub(super) file: &'a File,
    /// JSON Pointer in the file; its own place also behind a reference.
    pub(super) pointer: String,
    /// What stands there.
    pub(super) value: &'a Value,
}

impl<'a> Node<'a> {
    /// The top of a file.
    pub(super) fn top(file: &'a File) -> Self {
        Self {
            file,
            pointer: String::new(),
            value: &file.value,
        }
    }

    /// The place for messages.
    pub(super) fn place(&self) -> String {
        place(self.file, &self.pointer)
    }

    pub(super) fn object(&self) -> Option<&'a Map<String, Value>> {
        self.value.as_object()
    }

    /// A member, also if it is `null`.
    pub(super) fn get(&self, key: &str) -> Option<Self> {
        self.object()?.get(key).map(|value| self.at(key, value))
    }

    /// A member that is an object.
    pub(super) fn get_object(&self, key: &str) -> Option<Self> {
        self.get(key).filter(|node| node.value.is_object())
    }

    pub(super) fn text(&self, key: &str) -> Option<&'a str> {
        self.object()?.get(key)?.as_str()
    }

    /// A member that is true, also if written as text.
    pub(super) fn flag(&self, key: &str) -> Option<bool> {
        self.object()?.get(key).and_then(flag)
    }

    /// Members of an object, in order.
    pub(super) fn members(&self) -> impl Iterator<Item = (&'a str, Self)> + '_ {
        self.object()
            .into_iter()
            .flatten()
            .map(|(key, value)| (key.as_str(), self.at(key, value)))
    }

    /// Items of an array, in order.
    pub(super) fn items(&self) -> impl Iterator<Item = Self> + '_ {
        let items = self.value.as_array().into_iter().flatten();
        items.enumerate().map(|(index, value)| self.at(&index.to_string(), value))
    }

    /// What one step of a JSON Pointer leads to.
    pub(super) fn step(&self, key: &str) -> Option<Self> {
        match self.value {
            Value::Object(members) => members.get(key).map(|value| self.at(key, value)),
            Value::Array(items) => items.get(key.parse::<usize>().ok()?).map(|value| self.at(key, value)),
            _ => None,
        }
    }

    fn at(&self, key: &str, value: &'a Value) -> Self {
        Self {
            file: self.file,
            pointer: format!("{}/{}", self.pointer, escape(key)),
            value,
        }
    }
}

/// A boolean, also if written as text.
pub(super) fn flag(value: &Value) -> Option<bool> {
    match value {
        Value::Bool(flag) => Some(*flag),
        Value::String(text) if text.eq_ignore_ascii_case("true") => Some(true),
        Value::String(text) if text.eq_ignore_ascii_case("false") => Some(false),
        _ => None,
    }
}

/// A place for messages: the pointer, after the file's name if it is not the main document.
pub(super) fn place(file: &File, pointer: &str) -> String {
    if file.name.is_empty() {
        pointer.to_owned()
    } else {
        format!("{}#{pointer}", file.name)
    }
}

/// A node at the end of a chain of references.
#[derive(Debug, Clone)]
pub(super) struct Followed<'a> {
    /// The end.
    pub(super) node: Node<'a>,
    /// The `description` that stands beside the first reference that has one; it replaces the end's own.
    pub(super) description: Option<&'a str>,
    /// Likewise.
    pub(super) summary: Option<&'a str>,
    /// There was a reference, so others may lead here as well.
    pub(super) is_shared: bool,
}

/// Follows references through the files of a document.
pub(super) struct References<'a> {
    /// Further files.
    pub(super) files: Files<'a>,
    /// Names that `$anchor`, `$dynamicAnchor` and `$id` give to places, by file; made when first asked for.
    anchors: std::cell::RefCell<BTreeMap<usize, BTreeMap<&'a str, Node<'a>>>>,
}

impl<'a> References<'a> {
    pub(super) fn new(files: Files<'a>) -> Self {
        Self {
            files,
            anchors: std::cell::RefCell::default(),
        }
    }

    /// The node itself, or what its `$ref` leads to in the end.
    ///
    /// # Errors
    ///
    /// The reason, which quotes the reference.
    pub(super) fn follow(&self, node: Node<'a>) -> Result<Followed<'a>, String> {
        let mut followed = Followed {
            node,
            description: None,
            summary: None,
            is_shared: false,
        };
        let first = followed.node.text("$ref");
        for _ in 0..MAX_HOPS {
            let Some(reference) = followed.node.text("$ref") else {
                return Ok(followed);
            };
            followed.description = followed.description.or_else(|| followed.node.text("description"));
            followed.summary = followed.summary.or_else(|| followed.node.text("summary"));
            followed.is_shared = true;
            followed.node = self.resolve_once(&followed.node, reference)?;
        }
        Err(format!(
            "the reference `{}` leads back to itself",
            prose::quote(first.unwrap_or_default())
        ))
    }

    /// Where one reference leads.
    ///
    /// # Errors
    ///
    /// The reason, which quotes the reference.
    pub(super) fn resolve_once(&self, from: &Node<'a>, reference: &str) -> Result<Node<'a>, String> {
        self.resolve(from, reference, &mut MAX_HOPS.clone())
    }

    /// `hops` counts down over all references together that one leads through; they could multiply otherwise.
    fn resolve(&self, from: &Node<'a>, reference: &str, hops: &mut usize) -> Result<Node<'a>, String> {
        let (address, fragment) = reference.split_once('#').unwrap_or((reference, ""));
        // An absolute URL may be the `$id` of a schema in this very file.
        if let Some(named) = address.contains(':').then(|| self.anchor(from.file, address)).flatten() {
            return self.fragment(named, fragment, reference, hops);
        }
        let file = self.files.find(from.file, address).map_err(|reason| refusal(reference, &reason))?;
        self.fragment(Node::top(file), fragment, reference, hops)
    }

    /// What a fragment means below `top`.
    fn fragment(&self, top: Node<'a>, fragment: &str, reference: &str, hops: &mut usize) -> Result<Node<'a>, String> {
        let dangling = || format!("the reference `{}` leads to nothing", prose::quote(reference));
        let fragment = percent_decode_str(fragment).decode_utf8().map_err(|_| dangling())?;
        if fragment.is_empty() {
            return Ok(top);
        }
        let Some(steps) = fragment.strip_prefix('/') else {
            return self.anchor(top.file, &fragment).ok_or_else(dangling);
        };
        let mut node = top;
        for step in steps.split('/') {
            let key = unescape(step);
            if let Some(next) = node.step(&key) {
                node = next;
                continue;
            }
            // The pointer goes through another reference.
            *hops = hops.checked_sub(1).ok_or_else(dangling)?;
            let inner = node.text("$ref").ok_or_else(dangling)?;
            node = self.resolve(&node, inner, hops)?.step(&key).ok_or_else(dangling)?;
        }
        Ok(node)
    }

    /// The place in `file` that has a name of its own, or that has `name` as its `$id`.
    fn anchor(&self, file: &'a File, name: &str) -> Option<Node<'a>> {
        let mut anchors = self.anchors.borrow_mut();
        let of_file = anchors.entry(file.index).or_insert_with(|| {
            let mut found = BTreeMap::new();
            collect_anchors(&Node::top(file), &mut found);
            found
        });
        of_file.get(name).cloned()
    }
}

/// Recurses as deep as the file is nested, which the parser bounds.
fn collect_anchors<'a>(node: &Node<'a>, found: &mut BTreeMap<&'a str, Node<'a>>) {
    for key in ["$anchor", "$dynamicAnchor", "$id"] {
        if let Some(name) = node.text(key) {
            found.entry(name.trim_end_matches('#')).or_insert_with(|| node.clone());
        }
    }
    let has_inner = |value: &Value| value.is_object() || value.is_array();
    match node.value {
        Value::Object(members) => members.iter().filter(|(_, value)| has_inner(value)).for_each(|(key, value)| {
            collect_anchors(&node.at(key, value), found);
        }),
        Value::Array(items) => items
            .iter()
            .enumerate()
            .filter(|(_, value)| has_inner(value))
            .for_each(|(index, value)| {
                collect_anchors(&node.at(&index.to_string(), value), found);
            }),
        _ => {}
    }
}
