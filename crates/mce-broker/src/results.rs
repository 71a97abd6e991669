//! Values that programs keep for later runs, in SQLite. Time comes from the caller, so that tests need no clock.

use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use rusqlite::{Connection, OptionalExtension, params};
use rustix::rand::{GetRandomFlags, getrandom};
use thiserror::Error;

use crate::hex::hex;
use crate::state_file::{self, milliseconds};

/// What every id begins with.
const PREFIX: &str = "r_";

/// Random bytes of an id: whoever was not told it cannot find it.
const ID_BYTES: usize = 16;

/// How much is kept, and how long.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResultLimits {
    /// Bytes of one value as JSON. Default 16 MiB.
    pub value_bytes: usize,
    /// Bytes of all values together; beyond them the oldest go. Default 256 MiB.
    pub total_bytes: u64,
    /// How long a value is kept. Default 24 hours.
    pub life: Duration,
}

impl Default for ResultLimits {
    fn default() -> Self {
        Self {
            value_bytes: 16 << 20,
            total_bytes: 256 << 20,
            life: Duration::from_hours(24),
        }
    }
}

/// Why a value could not be kept or found.
#[derive(Debug, Error)]
pub enum ResultError {
    /// Larger than one value may be.
    #[error("the value has {bytes} bytes, and the limit of one is {limit}")]
    TooLarge {
        /// Its size.
        bytes: usize,
        /// [`ResultLimits::value_bytes`].
        limit: usize,
    },
    /// Never kept, expired, dropped for newer ones, or mistyped.
    #[error("no value is kept under `{id}`: it was never saved, or has expired")]
    Unknown {
        /// What was asked for, at most 100 characters.
        id: String,
    },
    /// The system gave no random bytes.
    #[error("failed to make an id")]
    Id {
        /// The system's error.
        #[from]
        source: rustix::io::Errno,
    },
    /// The state file failed.
    #[error("failed to use the store of results")]
    Store {
        /// SQLite's error.
        #[from]
        source: rusqlite::Error,
    },
}

impl ResultError {
    /// What to do about it.
    pub const fn hint(&self) -> Option<&'static str> {
        match self {
            Self::TooLarge { .. } => Some("save what is needed later only, or save it in parts"),
            Self::Unknown { .. } => Some("values are kept for a day: make it again, and use the id that `save` gives"),
            Self::Id { .. } | Self::Store { .. } => None,
        }
    }
}

/// The store.
#[derive(Debug)]
pub struct Results {
    // SQLite connections are not `Sync`; a value of the largest size takes some milliseconds.
    connection: Mutex<Connection>,
    limits: ResultLimits,
}

const TABLE: &str = "
    CREATE TABLE IF NOT EXISTS results (
        number INTEGER PRIMARY KEY,
        id TEXT NOT NULL UNIQUE,
        bytes INTEGER NOT NULL,
        saved_ms INTEGER NOT NULL,
        value TEXT NOT NULL
    );";

impl Results {
    /// Opens the store, making table and file if need be. The file may be shared with other tables.
    ///
    /// # Errors
    ///
    /// [`ResultError::Store`].
    pub fn open(file: &Path, limits: ResultLimits) -> Result<Self, ResultError> {
        Ok(Self {
            connection: Mutex::new(state_file::open(file, TABLE)?),
            limits,
        })
    }

    /// Keeps a value, which is JSON text, and returns its id.
    ///
    /// # Errors
    ///
    /// [`ResultError::TooLarge`], [`ResultError::Id`], [`ResultError::Store`].
    pub fn save(&self, value: &str, now: SystemTime) -> Result<String, ResultError> {
        let limit = self.limits.value_bytes;
        if value.len() > limit {
            return Err(ResultError::TooLarge { bytes: value.len(), limit });
        }
        let id = new_id()?;
        let bytes = i64::try_from(value.len()).unwrap_or(i64::MAX);
        self.with_connection(|connection| {
            let saved = params![id, bytes, milliseconds(now), value];
            connection.execute("INSERT INTO results (id, bytes, saved_ms, value) VALUES (?1, ?2, ?3, ?4)", saved)
        })?;
        self.prune(now)?;
        Ok(id)
    }

    /// The value under an id, as JSON text.
    ///
    /// # Errors
    ///
    /// [`ResultError::Unknown`], [`ResultError::Store`].
    pub fn load(&self, id: &str, now: SystemTime) -> Result<String, ResultError> {
        let found = self.with_connection(|connection| {
            connection
                .query_row(
                    "SELECT value FROM results WHERE id = ?1 AND saved_ms >= ?2",
                    params![id, self.oldest_ms(now)],
                    |row| row.get(0),
                )
                .optional()
        })?;
        found.ok_or_else(|| ResultError::Unknown {
            id: id.chars().take(100).collect(),
        })
    }

    /// Forgets all values. Returns how many.
    ///
    /// # Errors
    ///
    /// [`ResultError::Store`].
    pub fn clear(&self) -> Result<usize, ResultError> {
        self.with_connection(|connection| connection.execute("DELETE FROM results", []))
    }

    /// Forgets what has expired, and the oldest beyond the bytes that all may have.
    fn prune(&self, now: SystemTime) -> Result<(), ResultError> {
        let oldest_ms = self.oldest_ms(now);
        let total_bytes = i64::try_from(self.limits.total_bytes).unwrap_or(i64::MAX);
        self.with_connection(|connection| {
            connection.execute("DELETE FROM results WHERE saved_ms < ?1", params![oldest_ms])?;
            connection.execute(
                "DELETE FROM results WHERE number IN (SELECT number FROM
                 (SELECT number, sum(bytes) OVER (ORDER BY number DESC) AS newer FROM results) WHERE newer > ?1)",
                params![total_bytes],
            )
        })?;
        Ok(())
    }

    /// What was saved before has expired.
    fn oldest_ms(&self, now: SystemTime) -> i64 {
        let life_ms = i64::try_from(self.limits.life.as_millis()).unwrap_or(i64::MAX);
        milliseconds(now).saturating_sub(life_ms)
    }

    fn with_connection<T>(&self, action: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> Result<T, ResultError> {
        let connection = self.connection.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(action(&connection)?)
    }
}

fn new_id() -> Result<String, ResultError> {
    let mut bytes = [0; ID_BYTES];
    // The kernel gives so few bytes whole.
    getrandom(&mut bytes, GetRandomFlags::empty())?;
    Ok(format!("{PREFIX}{}", hex(&bytes)))
}

#[cfg(test)]
mod tests {
    use std::time::UNIX_EPOCH;

    use super::*;

    fn at(seconds: u64) -> SystemTime {
        UNIX_EPOCH + Duration::from_secs(1_000_000 + seconds)
    }

    fn results(value_bytes: usize, total_bytes: u64) -> Results {
        let limits = ResultLimits {
            value_bytes,
            total_bytes,
            life: Duration::from_mins(1),
        };
        Results::open(Path::new(":memory:"), limits).unwrap()
    }

    #[test]
    fn a_kept_value_comes_back_exactly_until_it_expires() {
        let results = results(100, 1000);
        let text = r#"{"n":123456789012345678901234567890,"é":"😀"}"#;
        let id = results.save(text, at(0)).unwrap();
        assert_eq!(results.load(&id, at(60)).unwrap(), text);
        let error = results.load(&id, at(61)).unwrap_err();
        assert_eq!(
            error.to_string(),
            format!("no value is kept under `{id}`: it was never saved, or has expired")
        );
        assert!(error.hint().is_some());
    }

    #[test]
    fn ids_differ_also_for_the_same_value() {
        let results = results(100, 1000);
        let ids = [results.save("1", at(0)).unwrap(), results.save("1", at(0)).unwrap()];
        assert_ne!(ids[0], ids[1]);
        assert!(ids.iter().all(|id| id.starts_with("r_") && id.len() == 34), "{ids:?}");
    }

    #[test]
    fn the_oldest_go_where_all_together_have_too_many_bytes() {
        let results = results(100, 100);
        let ids: Vec<String> = (0..4).map(|second| results.save(&"1".repeat(30), at(second)).unwrap()).collect();
        let is_kept: Vec<bool> = ids.iter().map(|id| results.load(id, at(5)).is_ok()).collect();
        assert_eq!(is_kept, [false, true, true, true]);
    }

    #[test]
    fn a_value_over_the_limit_is_refused() {
        let results = results(10, 100);
        let error = results.save(&"1".repeat(11), at(0)).unwrap_err();
        assert_eq!(error.to_string(), "the value has 11 bytes, and the limit of one is 10");
    }

    #[test]
    fn values_survive_a_restart_and_can_be_forgotten() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("state.sqlite");
        let open = || Results::open(&file, ResultLimits::default()).unwrap();
        let id = open().save("[1]", at(0)).unwrap();
        assert_eq!(open().load(&id, at(1)).unwrap(), "[1]");
        assert_eq!(open().clear().unwrap(), 1);
        assert!(open().load(&id, at(1)).is_err());
    }
}
