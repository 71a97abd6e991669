//! From a document's paths to its operations, each of which becomes a function or is listed as skipped.

use std::collections::BTreeSet;

use super::Skipped;
use super::document::{Reader, Version};
use super::prose;
use super::reference::Node;
use crate::function::Function;
use crate::names::{self, OperationKey};

/// An operation as found.
#[derive(Debug, Clone)]
pub(super) struct Found<'a> {
    /// As sent.
    pub(super) method: String,
    /// The key of the Paths Object.
    pub(super) path: &'a str,
    /// The Path Item Object, behind its references.
    pub(super) item: Node<'a>,
    /// The Operation Object.
    pub(super) node: Node<'a>,
}

impl Found<'_> {
    fn name(&self) -> String {
        format!("{} {}", self.method, self.path)
    }

    fn operation_id(&self) -> Option<&str> {
        self.node.text("operationId").map(str::trim).filter(|id| !id.is_empty())
    }
}

impl<'a> Reader<'a> {
    /// All operations of the document, in its order.
    pub(super) fn operations(&mut self, top: &Node<'a>) -> (Vec<Function>, Vec<Skipped>) {
        let mut functions = Vec::new();
        let mut skipped = Vec::new();
        let found = self.find_operations(top);
        let keys: Vec<OperationKey<'_>> = found
            .iter()
            .map(|found| OperationKey {
                method: &found.method,
                path: found.path,
                operation_id: found.operation_id(),
            })
            .collect();
        let names = names::functions(&keys);
        let mut seen = BTreeSet::new();
        for (found, name) in found.iter().zip(names) {
            let operation = found.name();
            let function = if seen.insert(operation.clone()) {
                self.operation(found).map(|function| Function {
                    operation: operation.clone(),
                    operation_id: found.operation_id().map(str::to_owned),
                    python: name.python,
                    typescript: name.typescript,
                    ..function
                })
            } else {
                Err("the document has this operation twice".to_owned())
            };
            // The limit is on all schemas together, so what was made of this one may be incomplete.
            let is_whole = !self.is_exhausted();
            match function {
                Ok(function) if is_whole => functions.push(function),
                Ok(_) => skipped.push(Skipped {
                    operation,
                    pointer: found.node.place(),
                    reason: "the document becomes too large".to_owned(),
                }),
                Err(reason) => skipped.push(Skipped {
                    operation,
                    pointer: found.node.place(),
                    reason,
                }),
            }
        }
        (functions, skipped)
    }

    fn find_operations(&mut self, top: &Node<'a>) -> Vec<Found<'a>> {
        let mut found = Vec::new();
        let Some(paths) = top.get("paths").filter(|paths| !paths.value.is_null()) else {
            return found;
        };
        if paths.object().is_none() {
            self.problem(&paths, "`paths` is no object; there are no operations");
        }
        for (path, item) in paths.members() {
            if path.starts_with("x-") {
                continue;
            }
            for item in self.path_items(item) {
                self.operations_of_path(path, &item, &mut found);
            }
        }
        found
    }

    /// What a path item holds itself, and what its reference leads to.
    fn path_items(&mut self, item: Node<'a>) -> Vec<Node<'a>> {
        if item.text("$ref").is_none() {
            return vec![item];
        }
        match self.references.follow(item.clone()) {
            // Operations beside a reference are undefined by the standard; they are kept.
            Ok(followed) if followed.node.pointer != item.pointer => vec![item, followed.node],
            Ok(followed) => vec![followed.node],
            Err(reason) => {
                self.problem(&item, &format!("{reason}; this path has no operations"));
                vec![item]
            }
        }
    }

    fn operations_of_path(&mut self, path: &'a str, item: &Node<'a>, found: &mut Vec<Found<'a>>) {
        if item.object().is_none() && !item.value.is_null() {
            self.problem(item, "this path item is no object; it has no operations");
        }
        for (key, node) in item.members() {
            if is_method(key, self.version) {
                found.push(self.found(key.to_ascii_uppercase(), path, item, node));
            } else if key == "additionalOperations" {
                found.extend(node.members().map(|(method, node)| self.found(method.to_owned(), path, item, node)));
            } else if !is_known_key(key) {
                let key = prose::quote(key);
                self.problem(&node, &format!("`{key}` is unknown in a path item; it is left out"));
            }
        }
    }

    /// An operation may be a reference to another file; one that leads nowhere is told when the operation is compiled.
    fn found(&self, method: String, path: &'a str, item: &Node<'a>, node: Node<'a>) -> Found<'a> {
        let node = self.references.follow(node.clone()).map_or(node, |followed| followed.node);
        Found {
            method,
            path,
            item: item.clone(),
            node,
        }
    }
}

/// The methods that are keys of a path item.
fn is_method(key: &str, version: Version) -> bool {
    let is_query = key == "query" && version >= Version::V30;
    is_query
        || ["get", "put", "post", "delete", "options", "head", "patch", "trace"]
            .iter()
            .any(|method| key.eq_ignore_ascii_case(method))
}

fn is_known_key(key: &str) -> bool {
    key.starts_with("x-") || ["$ref", "summary", "description", "servers", "parameters"].contains(&key)
}
