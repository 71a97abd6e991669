//! The catalog's SQLite file: compiled documents by location, their functions and types, and the search index.
//!
//! It knows no server names and no settings, so that changing those never needs a compile. Everything in it can be made
//! again from the documents, but for the shapes of answers, which will be seen again; a file with another layout is emptied, not converted. All table names start with `catalog_`:
//! other parts of the program may keep tables in the same file.

mod document;
mod error;
mod function;
mod index;
mod observed;

use std::{
    path::{Path, PathBuf},
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use rusqlite::{Connection, OptionalExtension, TransactionBehavior};

pub use self::{
    document::{CompiledDocument, DocumentRecord, Source},
    error::StoreError,
    function::FunctionRow,
};
pub(crate) use self::{
    function::{FunctionKey, IndexedFunction, RuledRow},
    index::{Column, Posting},
};

/// Counts up with each change of the tables or of what is written into them.
const LAYOUT: i64 = 5;
/// How long a write waits for another process that writes.
const BUSY_TIMEOUT: Duration = Duration::from_secs(10);
/// Statements that stay prepared.
const PREPARED_STATEMENTS: usize = 64;

const TABLES: [&str; 8] = [
    "catalog_layout",
    "catalog_generation",
    "catalog_document",
    "catalog_function",
    "catalog_type",
    "catalog_observed",
    "catalog_words",
    "catalog_search",
];

/// `catalog_search` holds no texts, only which word occurs in which column of which function: `search` ranks by itself.
const CREATE: &str = "
    CREATE TABLE catalog_layout (version INTEGER NOT NULL);
    CREATE TABLE catalog_generation (generation INTEGER NOT NULL);
    INSERT INTO catalog_generation VALUES (1);
    CREATE TABLE catalog_document (id INTEGER PRIMARY KEY, location TEXT NOT NULL UNIQUE, record TEXT NOT NULL, schemes TEXT NOT NULL);
    CREATE TABLE catalog_function (
        id INTEGER PRIMARY KEY, document INTEGER NOT NULL, python TEXT NOT NULL, python_key TEXT NOT NULL, typescript TEXT NOT NULL,
        operation TEXT NOT NULL, operation_id TEXT, effect TEXT NOT NULL, summary TEXT NOT NULL,
        is_deprecated INTEGER NOT NULL, name_words INTEGER NOT NULL, resource_words INTEGER NOT NULL,
        function TEXT NOT NULL
    );
    CREATE UNIQUE INDEX catalog_function_python ON catalog_function (document, python_key);
    CREATE INDEX catalog_function_typescript ON catalog_function (document, typescript);
    CREATE INDEX catalog_function_operation ON catalog_function (document, operation);
    CREATE INDEX catalog_function_operation_id ON catalog_function (document, operation_id);
    CREATE TABLE catalog_type (document INTEGER NOT NULL, name TEXT NOT NULL, schema TEXT NOT NULL, PRIMARY KEY (document, name))
        WITHOUT ROWID;
    CREATE TABLE catalog_observed (location TEXT NOT NULL, operation TEXT NOT NULL, shape TEXT NOT NULL, PRIMARY KEY (location, operation))
        WITHOUT ROWID;
    CREATE VIRTUAL TABLE catalog_search USING fts5(
        name, path, resource, tags, summary, description, parameters,
        content='', contentless_delete=1, detail=column, tokenize=\"unicode61 remove_diacritics 0 tokenchars '_'\"
    );
    CREATE VIRTUAL TABLE catalog_words USING fts5vocab(catalog_search, row);
";

/// The catalog's file, open. Reads are lazy: opening costs the same for one function and for 20,000.
///
/// One connection behind a lock, since a read takes microseconds and a search about a millisecond; whoever needs more at
/// the same time opens the file once more. Readers never wait for another process that writes (write-ahead log).
#[derive(Debug)]
pub struct Store {
    connection: Mutex<Connection>,
    path: PathBuf,
}

impl Store {
    /// Opens the file at `path`, or makes it; its directory must exist. A file with another layout is emptied.
    ///
    /// # Errors
    ///
    /// [`StoreError::Damaged`] if the file is no SQLite file, else [`StoreError::Open`].
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        let connection = Connection::open(path).map_err(|source| StoreError::opening(path, source))?;
        Self::prepare(connection, path)
    }

    /// A store that is gone with this value.
    ///
    /// # Errors
    ///
    /// [`StoreError::Open`] if SQLite cannot work at all.
    pub fn in_memory() -> Result<Self, StoreError> {
        let path = Path::new(":memory:");
        let connection = Connection::open_in_memory().map_err(|source| StoreError::opening(path, source))?;
        Self::prepare(connection, path)
    }

    /// Where the file is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Counts the changes of the file, those by other processes too.
    ///
    /// # Errors
    ///
    /// [`StoreError`] if the file cannot be read.
    pub fn generation(&self) -> Result<i64, StoreError> {
        self.read("generation", |connection| {
            connection
                .prepare_cached("SELECT generation FROM catalog_generation")?
                .query_row([], |row| row.get(0))
        })
    }

    fn prepare(mut connection: Connection, path: &Path) -> Result<Self, StoreError> {
        prepare(&mut connection).map_err(|source| StoreError::opening(path, source))?;
        Ok(Self {
            connection: Mutex::new(connection),
            path: path.to_owned(),
        })
    }

    /// A panic in another thread leaves no half-done work: what is not committed is undone by SQLite.
    fn lock(&self) -> MutexGuard<'_, Connection> {
        self.connection.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn read<T>(&self, what: &'static str, query: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> Result<T, StoreError> {
        query(&self.lock()).map_err(|source| StoreError::reading(&self.path, what, source))
    }

    /// Runs `work` in one transaction; when it fails, nothing has changed.
    fn write<T>(&self, what: &'static str, work: impl FnOnce(&rusqlite::Transaction<'_>) -> rusqlite::Result<T>) -> Result<T, StoreError> {
        let mut connection = self.lock();
        let run = || {
            let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            let value = work(&transaction)?;
            transaction.execute("UPDATE catalog_generation SET generation = generation + 1", [])?;
            transaction.commit()?;
            Ok(value)
        };
        run().map_err(|source| StoreError::writing(&self.path, what, source))
    }
}

fn prepare(connection: &mut Connection) -> rusqlite::Result<()> {
    connection.busy_timeout(BUSY_TIMEOUT)?;
    connection.set_prepared_statement_cache_capacity(PREPARED_STATEMENTS);
    connection.pragma_update(None, "journal_mode", "wal")?;
    // The file can be made again, so a power cut may cost the last compile.
    connection.pragma_update(None, "synchronous", "normal")?;
    if layout(connection)? != Some(LAYOUT) {
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        // Another process may have made the tables while this one waited.
        if layout(&transaction)? != Some(LAYOUT) {
            // Virtual tables go before the table that they look into: the order of the list, from its end.
            for table in TABLES.iter().rev() {
                transaction.execute_batch(&format!("DROP TABLE IF EXISTS {table}"))?;
            }
            transaction.execute_batch(CREATE)?;
            transaction.execute("INSERT INTO catalog_layout VALUES (?1)", [LAYOUT])?;
        }
        transaction.commit()?;
    }
    connection.execute_batch("CREATE VIRTUAL TABLE temp.catalog_posting USING fts5vocab(main, catalog_search, instance)")
}

fn layout(connection: &Connection) -> rusqlite::Result<Option<i64>> {
    let is_there = connection
        .prepare("SELECT 1 FROM sqlite_schema WHERE name = 'catalog_layout'")?
        .exists([])?;
    if !is_there {
        return Ok(None);
    }
    connection
        .query_row("SELECT version FROM catalog_layout", [], |row| row.get(0))
        .optional()
}
