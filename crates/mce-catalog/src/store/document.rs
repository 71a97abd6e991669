//! Compiled documents as rows: written as a whole, read without their functions.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::mpsc::sync_channel,
};

use rusqlite::{OptionalExtension, Transaction, params};
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use super::{
    Store, StoreError, function,
    index::{Indexer, WordReader},
};
use crate::{
    function::{Function, SecurityScheme, Types},
    openapi::{Document, FurtherFile, Origin, Problem, Skipped},
};

/// Functions that are prepared for writing at most before they are written.
const PREPARED_AHEAD: usize = 256;

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
    /// The version of the OpenAPI Specification that it is written in.
    pub format: String,
    /// Operations in the document; each is a function or skipped.
    pub operations: usize,
    /// Operations that are no functions.
    #[serde(with = "skipped_rows")]
    pub skipped: Vec<Skipped>,
    /// Faults that cost no operation.
    #[serde(with = "problem_rows")]
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
    /// Of a file that is not read again while it has this stamp: what the file system says of it.
    pub stamp: Option<String>,
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

impl DocumentRecord {
    /// The record of a document that was read from `location`. What the reader does not know is left for the caller:
    /// the sources have only the further files, and `compile_ms` and `compiled_at` are 0.
    pub fn new(location: &str, compiler: &str, document: &Document) -> Self {
        Self {
            location: location.to_owned(),
            sources: document.files.iter().map(Source::of).collect(),
            compiler: compiler.to_owned(),
            title: document.title.clone(),
            description: document.description.clone(),
            format: document.version.clone(),
            operations: document.operations,
            skipped: document.skipped.clone(),
            problems: document.problems.clone(),
            compile_ms: 0,
            compiled_at: 0,
        }
    }
}

impl Source {
    fn of(file: &FurtherFile) -> Self {
        let location = match &file.origin {
            Origin::File(path) => path.display().to_string(),
            Origin::Url(url) => url.to_string(),
        };
        Self {
            location,
            sha256: file.sha256.clone(),
            stamp: None,
        }
    }
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
                transaction.execute("DELETE FROM catalog_observed WHERE location = ?1", [location])?;
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

    /// All functions, in the document's order, and types of a document; empty for an unknown one.
    ///
    /// # Errors
    ///
    /// [`StoreError`] if the file cannot be read.
    pub fn contents(&self, location: &str) -> Result<(Vec<Function>, Types), StoreError> {
        self.read("a document", |connection| {
            let mut statement = connection.prepare_cached(
                "SELECT function FROM catalog_function WHERE document = (SELECT id FROM catalog_document WHERE location = ?1) ORDER BY id",
            )?;
            let functions = statement.query_map([location], |row| json(row.get_ref(0)?.as_str()?))?;
            let functions = functions.collect::<rusqlite::Result<_>>()?;
            let mut statement = connection.prepare_cached(
                "SELECT name, schema FROM catalog_type WHERE document = (SELECT id FROM catalog_document WHERE location = ?1)",
            )?;
            let types = statement.query_map([location], |row| Ok((row.get(0)?, json(row.get_ref(1)?.as_str()?)?)))?;
            Ok((functions, types.collect::<rusqlite::Result<_>>()?))
        })
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
    let mut indexer = Indexer::new(transaction)?;
    // What is written is prepared by another thread meanwhile, which is half of the work.
    std::thread::scope(|scope| {
        let (sender, prepared) = sync_channel(PREPARED_AHEAD);
        let prepare = move || {
            let reader = WordReader::new(types);
            let mut all = functions.iter().map(|function| (reader.words(function), text(function)));
            // After an error nobody listens any more.
            let _ = all.all(|one| sender.send(one).is_ok());
        };
        let started = std::thread::Builder::new().spawn_scoped(scope, prepare);
        started.map_err(|error| rusqlite::Error::ToSqlConversionFailure(Box::new(error)))?;
        for (function, (words, text)) in functions.iter().zip(prepared) {
            let row = function::insert(transaction, id, function, (&words, &text?))?;
            indexer.insert(row, &words)?;
        }
        Ok(())
    })
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

/// The reader's own types know nothing of how they are kept.
mod skipped_rows {
    use serde::{Deserialize, Deserializer, Serializer};

    use crate::openapi::Skipped;

    pub(super) fn serialize<S: Serializer>(all: &[Skipped], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(all.iter().map(|one| (&one.operation, &one.pointer, &one.reason)))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Skipped>, D::Error> {
        let rows = Vec::<(String, String, String)>::deserialize(deserializer)?;
        Ok(rows
            .into_iter()
            .map(|(operation, pointer, reason)| Skipped {
                operation,
                pointer,
                reason,
            })
            .collect())
    }
}

mod problem_rows {
    use serde::{Deserialize, Deserializer, Serializer};

    use crate::openapi::Problem;

    pub(super) fn serialize<S: Serializer>(all: &[Problem], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(all.iter().map(|one| (&one.pointer, &one.message)))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Problem>, D::Error> {
        let rows = Vec::<(String, String)>::deserialize(deserializer)?;
        Ok(rows.into_iter().map(|(pointer, message)| Problem { pointer, message }).collect())
    }
}
