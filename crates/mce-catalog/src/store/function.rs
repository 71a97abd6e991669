//! Functions as rows: found by name, listed, or read whole.

use rusqlite::{Connection, OptionalExtension, Row, Transaction, params};
use unicode_normalization::UnicodeNormalization;

use super::{Store, StoreError, document::json, index::Words};
use crate::function::{Effect, Function};

/// What a list shows of a function.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FunctionRow {
    /// Its identifier in Python.
    pub python: String,
    /// Its identifier in TypeScript.
    pub typescript: String,
    /// `METHOD /path`, or the tool's own name.
    pub operation: String,
    /// What calling it does.
    pub effect: Effect,
    /// One line; may be empty.
    pub summary: String,
    /// The document marks it as deprecated.
    pub is_deprecated: bool,
}

/// The number of a function in the file. It changes when the document is compiled again.
pub(crate) type FunctionKey = i64;

/// What ranking needs of a function beside its words.
#[derive(Debug, Clone, Copy)]
pub(crate) struct IndexedFunction {
    pub(crate) key: FunctionKey,
    pub(crate) document: i64,
    pub(crate) effect: Effect,
    pub(crate) is_deprecated: bool,
    /// Words of its name.
    pub(crate) name_words: u32,
    /// Words of what it is about ([`Column::Resource`](super::Column::Resource)).
    pub(crate) resource_words: u32,
}

/// What the rules of a server look at.
#[derive(Debug, Clone)]
pub(crate) struct RuledRow {
    pub(crate) key: FunctionKey,
    pub(crate) row: FunctionRow,
    pub(crate) operation_id: Option<String>,
    pub(crate) tags: Vec<String>,
}

impl Store {
    /// The functions of a document, in its order; empty for an unknown one.
    ///
    /// # Errors
    ///
    /// [`StoreError`] if the file cannot be read.
    pub fn functions(&self, location: &str) -> Result<Vec<FunctionRow>, StoreError> {
        self.read("functions", |connection| {
            let mut statement = connection.prepare_cached(
                "SELECT python, typescript, operation, effect, summary, is_deprecated FROM catalog_function
                 WHERE document = (SELECT id FROM catalog_document WHERE location = ?1) ORDER BY id",
            )?;
            statement.query_map([location], function_row)?.collect()
        })
    }

    /// Whether all functions of a document are such; of many no more are read than it takes to know. True if it has none.
    ///
    /// # Errors
    ///
    /// [`StoreError`] if the file cannot be read.
    pub fn are_all(&self, location: &str, is_such: impl Fn(&Function) -> bool) -> Result<bool, StoreError> {
        self.read("functions", |connection| {
            // In no order: sorting would read them all.
            let mut statement = connection.prepare_cached(
                "SELECT function FROM catalog_function WHERE document = (SELECT id FROM catalog_document WHERE location = ?1)",
            )?;
            let mut rows = statement.query([location])?;
            while let Some(row) = rows.next()? {
                if !is_such(&json(row.get_ref(0)?.as_str()?)?) {
                    return Ok(false);
                }
            }
            Ok(true)
        })
    }

    /// How many functions a document has: all, and those that only read.
    ///
    /// # Errors
    ///
    /// [`StoreError`] if the file cannot be read.
    pub fn count_functions(&self, location: &str) -> Result<(u32, u32), StoreError> {
        self.read("functions", |connection| {
            let mut statement = connection.prepare_cached(
                "SELECT count(*), count(*) FILTER (WHERE effect = 'read') FROM catalog_function
                 WHERE document = (SELECT id FROM catalog_document WHERE location = ?1)",
            )?;
            statement.query_row([location], |row| Ok((row.get(0)?, row.get(1)?)))
        })
    }

    /// The function of a document with this name in Python (compared after NFKC) or TypeScript, this `METHOD /path` or
    /// this `operationId`; where several fit, the first in that order.
    ///
    /// # Errors
    ///
    /// [`StoreError`] if the file cannot be read.
    pub fn function(&self, location: &str, name: &str) -> Result<Option<Function>, StoreError> {
        let key: String = name.nfkc().collect();
        let names = [
            ("python_key", key.as_str()),
            ("typescript", name),
            ("operation", name),
            ("operation_id", name),
        ];
        self.read("a function", |connection| {
            for (column, name) in names {
                let mut statement = connection.prepare_cached(&format!(
                    "SELECT function FROM catalog_function
                     WHERE document = (SELECT id FROM catalog_document WHERE location = ?1) AND {column} = ?2 ORDER BY id LIMIT 1"
                ))?;
                let found: Option<String> = statement.query_row([location, name], |row| row.get(0)).optional()?;
                if let Some(found) = found {
                    return json(&found).map(Some);
                }
            }
            Ok(None)
        })
    }

    /// The functions of a document, in its order, as rules look at them.
    pub(crate) fn ruled_rows(&self, location: &str) -> Result<Vec<RuledRow>, StoreError> {
        self.read("functions", |connection| {
            let mut statement = connection.prepare_cached(
                "SELECT python, typescript, operation, effect, summary, is_deprecated, id, operation_id, json_extract(function, '$.tags')
                 FROM catalog_function WHERE document = (SELECT id FROM catalog_document WHERE location = ?1) ORDER BY id",
            )?;
            let rows = statement.query_map([location], |row| {
                Ok(RuledRow {
                    row: function_row(row)?,
                    key: row.get(6)?,
                    operation_id: row.get(7)?,
                    tags: json(row.get_ref(8)?.as_str()?)?,
                })
            })?;
            rows.collect()
        })
    }

    /// A whole function.
    pub(crate) fn whole_function(&self, key: FunctionKey) -> Result<Option<Function>, StoreError> {
        self.read("a function", |connection| {
            let mut statement = connection.prepare_cached("SELECT function FROM catalog_function WHERE id = ?1")?;
            statement.query_row([key], |row| json(row.get_ref(0)?.as_str()?)).optional()
        })
    }

    /// A row of search results.
    pub(crate) fn function_by_key(&self, key: FunctionKey) -> Result<Option<FunctionRow>, StoreError> {
        self.read("a function", |connection| {
            let mut statement = connection.prepare_cached(
                "SELECT python, typescript, operation, effect, summary, is_deprecated FROM catalog_function WHERE id = ?1",
            )?;
            statement.query_row([key], function_row).optional()
        })
    }

    /// All functions, for ranking, by key.
    pub(crate) fn indexed_functions(&self) -> Result<Vec<IndexedFunction>, StoreError> {
        self.read("the index", |connection: &Connection| {
            let mut statement = connection.prepare_cached(
                "SELECT id, document, effect, is_deprecated, name_words, resource_words FROM catalog_function ORDER BY id",
            )?;
            let rows = statement.query_map([], |row| {
                Ok(IndexedFunction {
                    key: row.get(0)?,
                    document: row.get(1)?,
                    effect: effect(row.get_ref(2)?.as_str()?),
                    is_deprecated: row.get(3)?,
                    name_words: row.get(4)?,
                    resource_words: row.get(5)?,
                })
            })?;
            rows.collect()
        })
    }

    /// The number of a document, as in [`IndexedFunction`].
    pub(crate) fn document_key(&self, location: &str) -> Result<Option<i64>, StoreError> {
        self.read("a document", |connection| {
            let mut statement = connection.prepare_cached("SELECT id FROM catalog_document WHERE location = ?1")?;
            statement.query_row([location], |row| row.get(0)).optional()
        })
    }
}

/// Writes a function, of which the words and the JSON are known already.
pub(super) fn insert(
    transaction: &Transaction<'_>,
    document: i64,
    function: &Function,
    (words, json): (&Words, &str),
) -> rusqlite::Result<FunctionKey> {
    let key: String = function.python.nfkc().collect();
    transaction
        .prepare_cached(
            "INSERT INTO catalog_function (document, python, python_key, typescript, operation, operation_id, effect, summary,
                                           is_deprecated, name_words, resource_words, function)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)",
        )?
        .execute(params![
            document,
            function.python,
            key,
            function.typescript,
            function.operation,
            function.operation_id,
            function.effect.as_str(),
            function.summary,
            function.is_deprecated,
            words.in_name,
            words.in_resource,
            json
        ])?;
    Ok(transaction.last_insert_rowid())
}

fn function_row(row: &Row<'_>) -> rusqlite::Result<FunctionRow> {
    Ok(FunctionRow {
        python: row.get(0)?,
        typescript: row.get(1)?,
        operation: row.get(2)?,
        effect: effect(row.get_ref(3)?.as_str()?),
        summary: row.get(4)?,
        is_deprecated: row.get(5)?,
    })
}

/// What the file does not know counts as the worst.
fn effect(word: &str) -> Effect {
    [Effect::Read, Effect::Write]
        .into_iter()
        .find(|effect| effect.as_str() == word)
        .unwrap_or(Effect::Destructive)
}
