//! Compiled documents as rows: written as a whole, read without their functions.

use std::collections::{BTreeMap, BTreeSet};

use rusqlite::{OptionalExtension, Transaction, params};
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use super::{Store, StoreError, function, index::Indexer};
use crate::function::{Function, SecurityScheme, Types};

/// What is known of a compiled document, without functions and types.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DocumentRecord {
    /// The path or URL that the document was read from; the key.
    pub location: String,
    /// All files that it was made of, the document itself first.
    pub sources: Vec<Source>,
    /// Which compiler made it; another one makes it again.
    pub compiler: String,
    /// The document's title, or empty.
    pub title: String,
    /// The document's description, or empty.
    pub description: String,
    /// The version of the API, or empty.
    pub version: String,
    /// The version of the OpenAPI Specification that it is written in, or another kind of source.
    pub format: String,
    /// Operations in the document; each is a function or skipped.
    pub operations: usize,
    /// Operations that are no functions.
    pub skipped: Vec<Skipped>,
    /// Faults that cost no operation.
    pub problems: Vec<Problem>,
    /// How long compiling took, in milliseconds.
    pub compile_ms: u64,
    /// When it was compiled, in seconds since 1970.
    pub compiled_at: i64,
}

/// One file or URL that a document was made of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Source {
    /// Path or URL.
    pub location: String,
    /// SHA-256 of the content, in hexadecimal.
    pub sha256: String,
    /// The `ETag` that came with it.
    pub etag: Option<String>,
}

/// An operation that became no function.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Skipped {
    /// `METHOD /path`.
    pub operation: String,
    /// JSON pointer to the cause.
    pub pointer: String,
    /// Why, in words.
    pub reason: String,
}

/// A fault of a document that cost no operation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Problem {
    /// JSON pointer to it.
    pub pointer: String,
    /// What is wrong, in words.
    pub message: String,
}

/// A document to keep.
#[derive(Debug, Clone, Copy)]
pub struct CompiledDocument<'a> {
    /// All but what follows.
    pub record: &'a DocumentRecord,
    /// In the document's order. Their `server` is not kept.
    pub functions: &'a [Function],
    /// By name.
    pub types: &'a Types,
    /// By the document's names.
    pub security_schemes: &'a BTreeMap<String, SecurityScheme>,
}

impl Store {
    /// Keeps a document in place of the one that was read from the same location.
    ///
    /// # Errors
    ///
    /// [`StoreError::Write`]; the file then is as before.
    pub fn replace_document(&self, document: CompiledDocument<'_>) -> Result<(), StoreError> {
        self.write("a document", |transaction| {
            remove(transaction, &document.record.location)?;
            insert(transaction, document)
        })
    }

    /// All documents, by location.
    ///
    /// # Errors
    ///
    /// [`StoreError`] if the file cannot be read.
    pub fn documents(&self) -> Result<Vec<DocumentRecord>, StoreError> {
        self.read("documents", |connection| {
            let mut statement = connection.prepare_cached("SELECT record FROM catalog_document ORDER BY location")?;
            statement.query_map([], |row| json(&row.get::<_, String>(0)?))?.collect()
        })
    }

    /// The document that was read from this location.
    ///
    /// # Errors
    ///
    /// [`StoreError`] if the file cannot be read.
    pub fn document(&self, location: &str) -> Result<Option<DocumentRecord>, StoreError> {
        self.read("a document", |connection| {
            let mut statement = connection.prepare_cached("SELECT record FROM catalog_document WHERE location = ?1")?;
            statement.query_row([location], |row| json(&row.get::<_, String>(0)?)).optional()
        })
    }

    /// The security schemes of a document, by name; empty for an unknown one.
    ///
    /// # Errors
    ///
    /// [`StoreError`] if the file cannot be read.
    pub fn security_schemes(&self, location: &str) -> Result<BTreeMap<String, SecurityScheme>, StoreError> {
        self.read("security schemes", |connection| {
            let mut statement = connection.prepare_cached("SELECT schemes FROM catalog_document WHERE location = ?1")?;
            Ok(statement
                .query_row([location], |row| json(&row.get::<_, String>(0)?))
                .optional()?
                .unwrap_or_default())
        })
    }

    /// Removes the document of this location, if there is one; says whether there was.
    ///
    /// # Errors
    ///
    /// [`StoreError::Write`]; the file then is as before.
    pub fn remove_document(&self, location: &str) -> Result<bool, StoreError> {
        self.write("a removal", |transaction| remove(transaction, location))
    }

    /// Removes all documents but those of these locations; gives the locations that are gone.
    ///
    /// # Errors
    ///
    /// [`StoreError::Write`]; the file then is as before.
    pub fn remove_documents_except(&self, locations: &[&str]) -> Result<Vec<String>, StoreError> {
        let kept: BTreeSet<&str> = locations.iter().copied().collect();
        self.write("a removal", |transaction| {
            let mut statement = transaction.prepare("SELECT location FROM catalog_document ORDER BY location")?;
            let all: Vec<String> = statement.query_map([], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?;
            let gone: Vec<String> = all.into_iter().filter(|location| !kept.contains(location.as_str())).collect();
            for location in &gone {
                remove(transaction, location)?;
            }
            Ok(gone)
        })
    }

    /// Removes all documents.
    ///
    /// # Errors
    ///
    /// [`StoreError::Write`]; the file then is as before.
    pub fn clear(&self) -> Result<(), StoreError> {
        self.remove_documents_except(&[]).map(drop)
    }

    /// The named types of a document among `names`; unknown ones are left out.
    ///
    /// # Errors
    ///
    /// [`StoreError`] if the file cannot be read.
    pub fn types(&self, location: &str, names: &BTreeSet<String>) -> Result<Types, StoreError> {
        self.read("types", |connection| {
            let mut statement = connection.prepare_cached(
                "SELECT schema FROM catalog_type WHERE document = (SELECT id FROM catalog_document WHERE location = ?1) AND name = ?2",
            )?;
            let mut found = Types::new();
            for name in names {
                let schema: Option<String> = statement.query_row([location, name], |row| row.get(0)).optional()?;
                if let Some(schema) = schema {
                    found.insert(name.clone(), json(&schema)?);
                }
            }
            Ok(found)
        })
    }
}

fn insert(transaction: &Transaction<'_>, document: CompiledDocument<'_>) -> rusqlite::Result<()> {
    let CompiledDocument {
        record,
        functions,
        types,
        security_schemes,
    } = document;
    transaction
        .prepare_cached("INSERT INTO catalog_document (location, record, schemes) VALUES (?1, ?2, ?3)")?
        .execute(params![record.location, text(record)?, text(security_schemes)?])?;
    let id = transaction.last_insert_rowid();
    let mut statement = transaction.prepare_cached("INSERT INTO catalog_type VALUES (?1, ?2, ?3)")?;
    for (name, schema) in types {
        statement.execute(params![id, name, text(schema)?])?;
    }
    let mut indexer = Indexer::new(transaction, types)?;
    for function in functions {
        let words = indexer.words(function);
        let row = function::insert(transaction, id, function, words.count())?;
        indexer.insert(row, &words)?;
    }
    Ok(())
}

fn remove(transaction: &Transaction<'_>, location: &str) -> rusqlite::Result<bool> {
    let mut statement = transaction.prepare_cached("SELECT id FROM catalog_document WHERE location = ?1")?;
    let Some(id) = statement.query_row([location], |row| row.get::<_, i64>(0)).optional()? else {
        return Ok(false);
    };
    transaction.execute(
        "DELETE FROM catalog_search WHERE rowid IN (SELECT id FROM catalog_function WHERE document = ?1)",
        [id],
    )?;
    for table in ["catalog_type", "catalog_function"] {
        transaction.execute(&format!("DELETE FROM {table} WHERE document = ?1"), [id])?;
    }
    transaction.execute("DELETE FROM catalog_document WHERE id = ?1", [id])?;
    Ok(true)
}

/// A value kept as JSON. One that cannot be read means that the file was changed by something else.
pub(super) fn json<T: DeserializeOwned>(text: &str) -> rusqlite::Result<T> {
    serde_json::from_str(text).map_err(|error| rusqlite::Error::FromSqlConversionFailure(0, rusqlite::types::Type::Text, Box::new(error)))
}

pub(super) fn text(value: &impl Serialize) -> rusqlite::Result<String> {
    serde_json::to_string(value).map_err(|error| rusqlite::Error::ToSqlConversionFailure(Box::new(error)))
}
