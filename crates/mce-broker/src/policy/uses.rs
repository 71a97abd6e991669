//! How often rules with a budget were used, in the ledger: in rolling times, by all processes together.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rusqlite::{Connection, OptionalExtension as _, TransactionBehavior, params};

use super::ledger::{ApprovalError, Approvals};
use crate::state_file::milliseconds;

/// A limit that is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Reached {
    /// Uses in `time`.
    pub(crate) limit: u32,
    pub(crate) time: Duration,
    /// Until there may be one more; none where there may be no use at all.
    pub(crate) wait: Option<Duration>,
}

impl Approvals {
    /// Counts one use of a rule. Each limit is a number of uses in a time.
    ///
    /// # Errors
    ///
    /// The store's; none where a limit is reached: then it is the answer, and nothing is counted.
    pub(crate) fn spend(&self, rule: &str, limits: &[(u32, Duration)], now: SystemTime) -> Result<Option<Reached>, ApprovalError> {
        let Some(longest) = limits.iter().map(|(_, time)| *time).max() else {
            return Ok(None);
        };
        self.with(|connection| {
            let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            transaction.execute(
                "DELETE FROM uses WHERE rule = ?1 AND at_ms <= ?2",
                params![rule, since(now, longest)],
            )?;
            if let Some(reached) = reached(&transaction, rule, limits, now)? {
                return Ok(Some(reached));
            }
            transaction.execute("INSERT INTO uses VALUES (?1, ?2)", params![rule, milliseconds(now)])?;
            transaction.commit()?;
            Ok(None)
        })
    }

    /// Takes back one use of a rule, for a call that was not sent after all.
    pub(crate) fn unspend(&self, rule: &str) -> Result<(), ApprovalError> {
        self.with(|connection| {
            let newest = "DELETE FROM uses WHERE rowid = (SELECT rowid FROM uses WHERE rule = ?1 ORDER BY at_ms DESC LIMIT 1)";
            connection.execute(newest, [rule])?;
            Ok(())
        })
    }

    /// How often a rule was used in a time that ends now.
    pub(crate) fn used(&self, rule: &str, time: Duration, now: SystemTime) -> Result<u32, ApprovalError> {
        if !self.file.exists() {
            return Ok(0);
        }
        self.with(|connection| Ok(u32::try_from(used(connection, rule, since(now, time))?).unwrap_or(u32::MAX)))
    }

    /// The limit of a rule that is reached, if one is. Counts nothing.
    pub(crate) fn reached(&self, rule: &str, limits: &[(u32, Duration)], now: SystemTime) -> Result<Option<Reached>, ApprovalError> {
        if !self.file.exists() {
            return Ok(None);
        }
        self.with(|connection| Ok(reached(connection, rule, limits, now)?))
    }
}

/// When a time began that ends now.
fn since(now: SystemTime, time: Duration) -> i64 {
    milliseconds(now.checked_sub(time).unwrap_or(UNIX_EPOCH))
}

fn used(connection: &Connection, rule: &str, since_ms: i64) -> rusqlite::Result<i64> {
    let count = "SELECT count(*) FROM uses WHERE rule = ?1 AND at_ms > ?2";
    connection.query_row(count, params![rule, since_ms], |row| row.get(0))
}

/// The limit that is reached for the longest, if any is.
fn reached(connection: &Connection, rule: &str, limits: &[(u32, Duration)], now: SystemTime) -> rusqlite::Result<Option<Reached>> {
    let mut longest: Option<Reached> = None;
    for &(limit, time) in limits {
        let since_ms = since(now, time);
        if used(connection, rule, since_ms)? < i64::from(limit) {
            continue;
        }
        // The use that has to leave the time first, of so many as are allowed.
        let nth = "SELECT at_ms FROM uses WHERE rule = ?1 AND at_ms > ?2 ORDER BY at_ms DESC LIMIT 1 OFFSET ?3";
        let oldest: Option<i64> = match limit.checked_sub(1) {
            Some(before) => connection
                .query_row(nth, params![rule, since_ms, before], |row| row.get(0))
                .optional()?,
            None => None,
        };
        let wait = oldest.map(|at_ms| Duration::from_millis(u64::try_from(at_ms - since_ms).unwrap_or_default()));
        let found = Reached { limit, time, wait };
        if longest.is_none_or(|known| known.wait.is_some() && (wait.is_none() || wait > known.wait)) {
            longest = Some(found);
        }
    }
    Ok(longest)
}
