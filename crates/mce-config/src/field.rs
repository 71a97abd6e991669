//! One value as it was written, with all that is needed to understand it and to speak of it.

use std::path::PathBuf;

use crate::yaml::{Entry, Kind, Node};
use crate::{ConfigError, Place};

/// A value, where it stands, and the directory that relative paths in it are relative to.
#[derive(Clone)]
pub(crate) struct Field {
    pub(crate) node: Node,
    pub(crate) place: Place,
    pub(crate) directory: PathBuf,
}

impl Field {
    /// Whether nothing stands there, or an empty text, which counts as not set.
    pub(crate) fn is_blank(&self) -> bool {
        match &self.node.kind {
            Kind::Null => true,
            Kind::Scalar(text) => text.is_empty(),
            Kind::List(_) | Kind::Map(_) => false,
        }
    }

    /// The text of a scalar.
    pub(crate) fn scalar(&self, expected: &str) -> Result<&str, ConfigError> {
        match &self.node.kind {
            Kind::Scalar(text) => Ok(text),
            Kind::Null | Kind::List(_) | Kind::Map(_) => Err(self.unexpected(expected)),
        }
    }

    /// The entries of a mapping, by key.
    pub(crate) fn into_entries(self, expected: &str) -> Result<Vec<(String, Self)>, ConfigError> {
        let Kind::Map(entries) = self.node.kind else {
            return Err(self.unexpected(expected));
        };
        let child = |entry: Entry| {
            let field = Self {
                place: self.place.child(&entry.key, entry.line),
                directory: self.directory.clone(),
                node: entry.value,
            };
            (entry.key, field)
        };
        Ok(entries.into_iter().map(child).collect())
    }

    /// The items of a list.
    pub(crate) fn into_items(self, expected: &str) -> Result<Vec<Self>, ConfigError> {
        let Kind::List(nodes) = self.node.kind else {
            return Err(self.unexpected(expected));
        };
        let item = |(index, node): (usize, Node)| Self {
            place: self.place.child(&index.to_string(), node.line),
            directory: self.directory.clone(),
            node,
        };
        Ok(nodes.into_iter().enumerate().map(item).collect())
    }

    /// The value is of the wrong kind.
    pub(crate) fn unexpected(&self, expected: &str) -> ConfigError {
        self.refuse(expected, self.kind_name())
    }

    /// The value is not allowed. `found` must hold no secret.
    pub(crate) fn refuse(&self, expected: impl Into<String>, found: impl Into<String>) -> ConfigError {
        ConfigError::Value {
            place: self.place.clone(),
            expected: expected.into(),
            found: found.into(),
        }
    }

    /// What kind of thing it is, for values that must not be repeated.
    pub(crate) fn kind_name(&self) -> &'static str {
        match &self.node.kind {
            Kind::Null => "nothing",
            Kind::Scalar(text) if text.is_empty() => "an empty text",
            Kind::Scalar(_) => "a text",
            Kind::List(_) => "a list",
            Kind::Map(_) => "a mapping",
        }
    }
}
