//! Reads an OpenAPI 3.x or Swagger 2.0 document into functions. Nothing here does I/O: further files of a document come
//! through [`Load`], after [`read`] has decided that the reference may be followed. [`read_tools`] does the same for what
//! an MCP server lists: its schemas go through the same reader.
//!
//! Each operation compiles on its own; what cannot be compiled is listed, never lost.

mod body;
mod document;
mod files;
mod media_type;
mod operation;
mod overlay;
mod parameter;
mod parse;
mod prose;
mod reference;
mod response;
mod schema;
mod security;
mod server;
mod stream;
mod swagger;
mod tool;
mod type_cycle;
mod type_name;
mod walk;

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::Serialize;
use thiserror::Error;
use url::Url;

pub use self::overlay::{Overlay, OverlayError};
pub use self::tool::read_tools;
use crate::function::{Function, SecurityScheme, Target, Types};

/// Where a document was read from, for relative references and relative server URLs.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Origin {
    /// A file, by its absolute path.
    File(PathBuf),
    /// A URL.
    Url(Url),
}

/// Reads one more file of a document that is split into several.
///
/// Only called with a file below the main document's directory (by its name: a symbolic link that leads out of it is the
/// implementor's to refuse), or with a URL of the same origin below the main document's own directory.
pub trait Load {
    /// The bytes at `reference`.
    ///
    /// # Errors
    ///
    /// [`LoadError`] if there is nothing to read.
    fn load(&self, reference: &Origin) -> Result<Vec<u8>, LoadError>;
}

/// A further file of a document could not be read.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct LoadError(pub String);

/// The [`Load`] of documents that consist of one file.
#[derive(Debug, Clone, Copy)]
pub struct NoFurtherFiles;

impl Load for NoFurtherFiles {
    fn load(&self, _reference: &Origin) -> Result<Vec<u8>, LoadError> {
        Err(LoadError("no further files are read".to_owned()))
    }
}

/// A whole document is refused.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum CompileError {
    /// No bytes, or only white space and comments.
    #[error("the document is empty")]
    Empty,
    /// Larger than the limit.
    #[error("the document has {bytes} bytes, more than the limit of {limit}")]
    TooLarge {
        /// Its size.
        bytes: usize,
        /// The limit, in bytes.
        limit: usize,
    },
    /// Neither UTF-8 nor UTF-16.
    #[error("the document is not text in UTF-8 or UTF-16 (line {line})")]
    NotText {
        /// The line of the first wrong byte, from 1.
        line: usize,
    },
    /// A file that has to be unpacked first.
    #[error("the document is compressed ({format})")]
    Compressed {
        /// `gzip` or `zip`.
        format: &'static str,
    },
    /// Neither JSON nor YAML.
    #[error("not valid {format}: {message} (line {line}, column {column})")]
    Syntax {
        /// `JSON` or `YAML`.
        format: &'static str,
        /// The parser's words.
        message: String,
        /// From 1.
        line: usize,
        /// From 1.
        column: usize,
    },
    /// Aliases or nesting make more of the document than its size allows.
    #[error("the document is refused: {message}")]
    Limit {
        /// Which limit.
        message: String,
    },
    /// JSON or YAML, but something else.
    #[error("not an OpenAPI document: {message}")]
    NotOpenApi {
        /// What is missing.
        message: String,
    },
    /// A version that is not read.
    #[error("`{version}` is not a version of OpenAPI that is read here")]
    Version {
        /// As in the document.
        version: String,
    },
}

impl CompileError {
    /// What the user can do about it.
    pub const fn hint(&self) -> Option<&'static str> {
        match self {
            Self::NotOpenApi { .. } => Some("the top level needs a key `openapi: 3.x.y` or `swagger: \"2.0\"`"),
            Self::Version { .. } => Some("versions 2.0, 3.0, 3.1 and 3.2 are read"),
            Self::NotText { .. } => Some("save the document as UTF-8"),
            Self::Compressed { .. } => Some("unpack it, and name the document in it"),
            Self::Empty | Self::TooLarge { .. } | Self::Syntax { .. } | Self::Limit { .. } => None,
        }
    }
}

/// What a document became.
#[derive(Debug, Clone, PartialEq)]
pub struct Document {
    /// `info.title`, at most 120 characters.
    pub title: String,
    /// The version of the specification: `2.0`, `3.0`, `3.1` or `3.2`.
    pub version: String,
    /// `info.description`, at most 1,000 characters.
    pub description: String,
    /// One for each operation that is not in `skipped`, in document order. `server` is empty: the caller names it.
    pub functions: Vec<Function>,
    /// The named schemas that the functions reach.
    pub types: Types,
    /// Security schemes, by their keys in the document.
    pub security_schemes: BTreeMap<String, SecurityScheme>,
    /// How many operations the document has: those in `functions` and those in `skipped`.
    pub operations: usize,
    /// Operations that are no functions.
    pub skipped: Vec<Skipped>,
    /// What else could not be understood; at most 500, the last one then says how many more.
    pub problems: Vec<Problem>,
    /// Files that were read besides the main one, in the order of reading.
    pub files: Vec<FurtherFile>,
}

impl Document {
    /// Whether no function has a base URL of its own, so that nothing can be called until the configuration gives one.
    pub fn needs_base_url(&self) -> bool {
        let has_base_url = |function: &Function| matches!(&function.target, Target::Http(http) if http.base_url.is_some());
        !self.functions.is_empty() && !self.functions.iter().any(has_base_url)
    }
}

/// An operation that could not be compiled.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Skipped {
    /// `METHOD /path`.
    pub operation: String,
    /// JSON Pointer to the operation, after the file's name if it is not in the main document.
    pub pointer: String,
    /// Why.
    pub reason: String,
}

/// Something that was not understood and left out.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Problem {
    /// JSON Pointer to the place, after the file's name if it is not in the main document.
    pub pointer: String,
    /// What is wrong, and what was done.
    pub message: String,
}

/// A file that was read besides the main document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FurtherFile {
    /// Where it is.
    pub origin: Origin,
    /// Of its bytes, in lower-case hex digits.
    pub sha256: String,
}

/// Reads a document.
///
/// # Errors
///
/// [`CompileError`] if nothing can be made of it as a whole. What concerns a part is in the [`Document`].
pub fn read(bytes: &[u8], origin: &Origin, load: &dyn Load) -> Result<Document, CompileError> {
    document::read(bytes, origin, load, &[])
}

/// Reads a document as these overlays change it, one after the other. What an overlay cannot do is among the problems.
///
/// # Errors
///
/// As [`read`].
pub fn read_with_overlays(bytes: &[u8], origin: &Origin, load: &dyn Load, overlays: &[Overlay]) -> Result<Document, CompileError> {
    document::read(bytes, origin, load, overlays)
}

#[cfg(test)]
mod tests;
