//! The SQLite file that holds what is kept between runs; each store has its own table and connection.

use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rusqlite::Connection;

/// How long one waits for another process that writes.
const BUSY: Duration = Duration::from_secs(5);

/// Opens the file, making it and these tables if need be. It may be shared with other tables.
pub(crate) fn open(file: &Path, tables: &str) -> rusqlite::Result<Connection> {
    let connection = Connection::open(file)?;
    connection.busy_timeout(BUSY)?;
    connection.execute_batch("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;")?;
    connection.execute_batch(tables)?;
    Ok(connection)
}

/// A time as it is kept: since 1970.
pub(crate) fn milliseconds(time: SystemTime) -> i64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}
