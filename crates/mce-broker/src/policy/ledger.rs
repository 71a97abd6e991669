//! What the policy keeps across restarts, in SQLite: calls that wait for a person, what people allowed always, and (`uses`) how
//! often budgets were used. Opened when first needed. Time comes from the caller.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use fs_err::OpenOptions;
use fs_err::os::unix::fs::OpenOptionsExt as _;
use rusqlite::{Connection, OptionalExtension as _, Row, TransactionBehavior, params};
use serde::Serialize;
use thiserror::Error;

use super::facts::Facts;
use crate::hex::hex;
use crate::state_file::{self, milliseconds};

/// Calls that wait at the same time.
const MAX_WAITING: i64 = 100;
/// Bytes of an id.
const ID_BYTES: usize = 4;

/// Why the ledger cannot be used.
#[derive(Debug, Error)]
pub enum ApprovalError {
    /// Never asked, answered, or expired.
    #[error("nothing waits under `{id}`")]
    Unknown {
        /// What was asked for.
        id: String,
    },
    /// Too many calls wait.
    #[error("more than {MAX_WAITING} calls wait for approval")]
    TooMany,
    /// The file cannot be made.
    #[error("failed to make the file of approvals")]
    File(#[from] std::io::Error),
    /// SQLite's error.
    #[error("failed to use the file of approvals")]
    Store(#[from] rusqlite::Error),
}

/// What a person says of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ApprovalAnswer {
    /// This call, once.
    Once,
    /// The function, for this client, as far as the same rule asks.
    Always,
    /// Not this call.
    Deny,
}

/// A call that waits for a person, or was answered and not yet made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PendingApproval {
    /// By which it is answered.
    pub id: String,
    /// `server.function`.
    pub function: String,
    /// `METHOD /path`, or the tool's own name.
    pub operation: String,
    /// `read`, `write` or `destructive`.
    pub effect: String,
    /// Where it goes; nothing for what runs here.
    pub host: Option<String>,
    /// The arguments as JSON, without secrets; at most a million characters.
    pub arguments: String,
    /// `person` or `model`.
    pub asker: String,
    /// What the client calls itself.
    pub client: Option<String>,
    /// The rule that asks.
    pub rule: String,
    /// `waiting`, `approved` or `denied`.
    pub state: String,
    /// When it is too late, in milliseconds since 1970.
    pub expires_ms: i64,
}

/// What a person allowed always.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct KeptApproval {
    /// By which it is forgotten.
    pub id: i64,
    /// `server.function`.
    pub function: String,
    /// `METHOD /path`, or the tool's own name.
    pub operation: String,
    /// What the client calls itself.
    pub client: Option<String>,
    /// The rule that does not ask any more.
    pub rule: String,
}

/// A call to ask about.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Question<'a> {
    /// Of all that is sent, and of who sends it.
    pub(crate) digest: &'a str,
    pub(crate) function: &'a str,
    pub(crate) operation: &'a str,
    pub(crate) effect: &'a str,
    pub(crate) host: Option<&'a str>,
    pub(crate) arguments: &'a str,
    pub(crate) asker: &'a str,
    pub(crate) client: Option<&'a str>,
    pub(crate) rule: &'a str,
}

impl<'a> Question<'a> {
    /// About whom and what is asked, without what is sent.
    pub(crate) fn of(facts: &'a Facts<'_>, rule: &'a str) -> Self {
        Self {
            digest: "",
            function: &facts.function,
            operation: facts.operation,
            effect: facts.effect.as_str(),
            host: facts.host.as_deref(),
            arguments: "",
            asker: facts.run.asker.as_str(),
            client: facts.run.client.as_deref(),
            rule,
        }
    }
}

/// What became of a question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Standing {
    /// It was approved.
    Approved,
    /// It was denied.
    Denied(String),
    /// Nobody has answered yet.
    Waiting(String),
}

/// By which a yes to one call is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct OneYes {
    pub(crate) id: String,
    /// Until when it is good.
    expires_ms: i64,
}

/// The ledger.
#[derive(Debug)]
pub struct Approvals {
    pub(super) file: PathBuf,
    // SQLite connections are not `Sync`; each use takes about a millisecond.
    connection: Mutex<Option<Connection>>,
}

const TABLES: &str = "
    CREATE TABLE IF NOT EXISTS approvals (
        id TEXT PRIMARY KEY,
        digest TEXT NOT NULL UNIQUE,
        function TEXT NOT NULL,
        operation TEXT NOT NULL,
        effect TEXT NOT NULL,
        arguments TEXT NOT NULL,
        asker TEXT NOT NULL,
        client TEXT,
        rule TEXT NOT NULL,
        state TEXT NOT NULL,
        expires_ms INTEGER NOT NULL,
        host TEXT
    );
    CREATE TABLE IF NOT EXISTS always (
        id INTEGER PRIMARY KEY,
        function TEXT NOT NULL,
        operation TEXT NOT NULL,
        asker TEXT NOT NULL,
        client TEXT,
        rule TEXT NOT NULL
    );
    CREATE TABLE IF NOT EXISTS uses (rule TEXT NOT NULL, at_ms INTEGER NOT NULL);
    CREATE INDEX IF NOT EXISTS uses_by_rule ON uses (rule, at_ms);";

const COLUMNS: &str = "id, function, operation, effect, arguments, asker, client, rule, state, expires_ms, host";

impl Approvals {
    /// The ledger in this file, which is made when it is first needed, readable by its owner only.
    pub(crate) fn new(file: &Path) -> Self {
        Self {
            file: file.to_owned(),
            connection: Mutex::default(),
        }
    }

    /// Calls that wait, and those that were answered but not made yet, the oldest first.
    ///
    /// # Errors
    ///
    /// [`ApprovalError`] if the file cannot be used.
    pub fn list(&self, now: SystemTime) -> Result<Vec<PendingApproval>, ApprovalError> {
        self.with(|connection| {
            let mut select = connection.prepare(&format!(
                "SELECT {COLUMNS} FROM approvals WHERE expires_ms > ?1 ORDER BY expires_ms, id"
            ))?;
            let rows = select.query_map([milliseconds(now)], pending)?;
            Ok(rows.collect::<Result<_, _>>()?)
        })
    }

    /// Answers a call that waits. A yes is good once, and no longer than the question.
    ///
    /// # Errors
    ///
    /// [`ApprovalError::Unknown`] if it does not wait.
    pub fn answer(&self, id: &str, answer: ApprovalAnswer, now: SystemTime) -> Result<PendingApproval, ApprovalError> {
        let state = match answer {
            ApprovalAnswer::Once | ApprovalAnswer::Always => "approved",
            ApprovalAnswer::Deny => "denied",
        };
        self.with(|connection| {
            let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            let answered = transaction
                .query_row(
                    &format!(
                        "UPDATE approvals SET state = ?1
                         WHERE id = ?2 AND state = 'waiting' AND expires_ms > ?3 RETURNING {COLUMNS}"
                    ),
                    params![state, id, milliseconds(now)],
                    pending,
                )
                .optional()?
                .ok_or_else(|| ApprovalError::Unknown {
                    id: id.chars().take(100).collect(),
                })?;
            if answer == ApprovalAnswer::Always {
                keep(
                    &transaction,
                    (&answered.function, &answered.operation),
                    (&answered.asker, answered.client.as_deref()),
                    &answered.rule,
                )?;
                // What is allowed always needs no yes of its own.
                transaction.execute("DELETE FROM approvals WHERE id = ?1", [id])?;
            }
            transaction.commit()?;
            Ok(answered)
        })
    }

    /// What people allowed always.
    ///
    /// # Errors
    ///
    /// [`ApprovalError`] if the file cannot be used.
    pub fn kept(&self) -> Result<Vec<KeptApproval>, ApprovalError> {
        self.with(|connection| {
            let mut select = connection.prepare("SELECT id, function, operation, client, rule FROM always ORDER BY id")?;
            let rows = select.query_map([], |row| {
                Ok(KeptApproval {
                    id: row.get(0)?,
                    function: row.get(1)?,
                    operation: row.get(2)?,
                    client: row.get(3)?,
                    rule: row.get(4)?,
                })
            })?;
            Ok(rows.collect::<Result<_, _>>()?)
        })
    }

    /// Forgets what was allowed always: one by its number or all of a function, by `server.function`. Gives how many.
    ///
    /// # Errors
    ///
    /// [`ApprovalError::Unknown`] if there is none.
    pub fn forget(&self, which: &str) -> Result<usize, ApprovalError> {
        let number: i64 = which.parse().unwrap_or(-1);
        let forgotten = self.with(|connection| {
            let forgotten = connection.execute("DELETE FROM always WHERE id = ?1 OR function = ?2", params![number, which])?;
            Ok(forgotten)
        })?;
        if forgotten == 0 {
            return Err(ApprovalError::Unknown {
                id: which.chars().take(100).collect(),
            });
        }
        Ok(forgotten)
    }

    /// Whether a person allowed this function always, where this rule asks.
    pub(crate) fn is_kept(&self, question: Question<'_>) -> Result<bool, ApprovalError> {
        // Most people never allow anything always.
        if !self.file.exists() {
            return Ok(false);
        }
        self.with(|connection| {
            let mut select = connection.prepare_cached(
                "SELECT 1 FROM always WHERE function = ?1 AND operation = ?2 AND asker = ?3 AND client IS ?4 AND rule = ?5",
            )?;
            let Question {
                function,
                operation,
                asker,
                client,
                rule,
                ..
            } = question;
            Ok(select.exists(params![function, operation, asker, client, rule])?)
        })
    }

    /// Keeps that a person allows this function always, where this rule asks.
    pub(crate) fn keep(&self, question: Question<'_>) -> Result<(), ApprovalError> {
        self.with(|connection| {
            let function = (question.function, question.operation);
            keep(connection, function, (question.asker, question.client), question.rule)
        })
    }

    /// Whether a person said yes to this question, and nobody has used that.
    pub(crate) fn is_approved(&self, question: Question<'_>, now: SystemTime) -> Result<bool, ApprovalError> {
        if !self.file.exists() {
            return Ok(false);
        }
        self.with(|connection| {
            let mut select =
                connection.prepare_cached("SELECT 1 FROM approvals WHERE digest = ?1 AND state = 'approved' AND expires_ms > ?2")?;
            Ok(select.exists(params![question.digest, milliseconds(now)])?)
        })
    }

    /// Uses a yes to this question, if there is one: one of all processes does.
    pub(crate) fn claim(&self, question: Question<'_>, now: SystemTime) -> Result<Option<OneYes>, ApprovalError> {
        self.with(|connection| {
            let claimed = connection.query_row(
                "DELETE FROM approvals WHERE digest = ?1 AND state = 'approved' AND expires_ms > ?2 RETURNING id, expires_ms",
                params![question.digest, milliseconds(now)],
                |row| {
                    Ok(OneYes {
                        id: row.get(0)?,
                        expires_ms: row.get(1)?,
                    })
                },
            );
            Ok(claimed.optional()?)
        })
    }

    /// Keeps a yes that was not used after all, for the same call: one that was claimed, or one that was just given, which is good
    /// for `time`.
    pub(crate) fn give_back(
        &self,
        question: Question<'_>,
        claimed: Option<OneYes>,
        (now, time): (SystemTime, Duration),
    ) -> Result<(), ApprovalError> {
        let yes = match claimed {
            Some(yes) => yes,
            None => OneYes {
                id: new_id()?,
                expires_ms: milliseconds(now + time),
            },
        };
        self.with(|connection| {
            let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            // A later no counts more than an earlier yes.
            let since_then = "SELECT 1 FROM approvals WHERE digest = ?1 AND state = 'denied' AND expires_ms > ?2";
            if transaction
                .prepare_cached(since_then)?
                .exists(params![question.digest, milliseconds(now)])?
            {
                return Ok(());
            }
            transaction.execute("DELETE FROM approvals WHERE digest = ?1", [question.digest])?;
            insert(&transaction, question, &yes, "approved")?;
            transaction.commit()?;
            Ok(())
        })
    }

    /// What became of this question; one that nobody asked before waits for `time`.
    pub(crate) fn ask(&self, question: Question<'_>, now: SystemTime, time: Duration) -> Result<Standing, ApprovalError> {
        let id = new_id()?;
        self.with(|connection| {
            let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            transaction.execute("DELETE FROM approvals WHERE expires_ms <= ?1", [milliseconds(now)])?;
            let known: Option<(String, String)> = transaction
                .query_row("SELECT id, state FROM approvals WHERE digest = ?1", [question.digest], |row| {
                    Ok((row.get(0)?, row.get(1)?))
                })
                .optional()?;
            let standing = match known {
                Some((_, state)) if state == "approved" => Standing::Approved,
                Some((id, state)) if state == "denied" => Standing::Denied(id),
                Some((id, _)) => Standing::Waiting(id),
                None => {
                    let count = "SELECT count(*) FROM approvals WHERE state = 'waiting'";
                    let waiting: i64 = transaction.query_row(count, [], |row| row.get(0))?;
                    if waiting >= MAX_WAITING {
                        return Err(ApprovalError::TooMany);
                    }
                    let expires_ms = milliseconds(now + time);
                    let asked = OneYes { id, expires_ms };
                    insert(&transaction, question, &asked, "waiting")?;
                    Standing::Waiting(asked.id)
                }
            };
            transaction.commit()?;
            Ok(standing)
        })
    }

    pub(super) fn with<T>(&self, work: impl FnOnce(&mut Connection) -> Result<T, ApprovalError>) -> Result<T, ApprovalError> {
        let mut connection = self.connection.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(connection) = connection.as_mut() {
            return work(connection);
        }
        if let Some(directory) = self.file.parent() {
            fs_err::create_dir_all(directory)?;
        }
        // SQLite gives its side files the rights of this one.
        OpenOptions::new().create(true).append(true).mode(0o600).open(&self.file)?;
        let opened = state_file::open(&self.file, TABLES)?;
        // Files of earlier versions have no such column.
        if !opened.column_exists(None::<&str>, "approvals", "host")? {
            opened.execute_batch("ALTER TABLE approvals ADD COLUMN host TEXT")?;
        }
        work(connection.insert(opened))
    }
}

fn insert(connection: &Connection, question: Question<'_>, yes: &OneYes, state: &str) -> Result<(), ApprovalError> {
    let Question {
        digest,
        function,
        operation,
        effect,
        host,
        arguments,
        asker,
        client,
        rule,
    } = question;
    connection.execute(
        "INSERT INTO approvals VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)",
        params![
            yes.id,
            digest,
            function,
            operation,
            effect,
            arguments,
            asker,
            client,
            rule,
            state,
            yes.expires_ms,
            host
        ],
    )?;
    Ok(())
}

fn keep(
    connection: &Connection,
    (function, operation): (&str, &str),
    (asker, client): (&str, Option<&str>),
    rule: &str,
) -> Result<(), ApprovalError> {
    connection.execute(
        "INSERT INTO always (function, operation, asker, client, rule) SELECT ?1, ?2, ?3, ?4, ?5 WHERE NOT EXISTS
         (SELECT 1 FROM always WHERE function = ?1 AND operation = ?2 AND asker = ?3 AND client IS ?4 AND rule = ?5)",
        params![function, operation, asker, client, rule],
    )?;
    Ok(())
}

fn pending(row: &Row<'_>) -> rusqlite::Result<PendingApproval> {
    Ok(PendingApproval {
        id: row.get(0)?,
        function: row.get(1)?,
        operation: row.get(2)?,
        effect: row.get(3)?,
        arguments: row.get(4)?,
        asker: row.get(5)?,
        client: row.get(6)?,
        rule: row.get(7)?,
        state: row.get(8)?,
        expires_ms: row.get(9)?,
        host: row.get(10)?,
    })
}

fn new_id() -> Result<String, ApprovalError> {
    let mut bytes = [0; ID_BYTES];
    let filled = rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty()).map_err(std::io::Error::from)?;
    if filled < ID_BYTES {
        return Err(std::io::Error::from(std::io::ErrorKind::UnexpectedEof).into());
    }
    Ok(format!("a_{}", hex(&bytes)))
}

#[cfg(test)]
mod tests {
    use std::time::UNIX_EPOCH;

    use super::*;

    fn question(digest: &str) -> Question<'_> {
        Question {
            digest,
            function: "shop.delete_item",
            operation: "DELETE /items/{id}",
            effect: "destructive",
            host: Some("api.example:8443"),
            arguments: "{}",
            asker: "model",
            client: None,
            rule: "default",
        }
    }

    #[test]
    fn a_file_of_an_earlier_version_goes_on() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("approvals.db");
        let earlier = TABLES.replace("expires_ms INTEGER NOT NULL,\n        host TEXT", "expires_ms INTEGER NOT NULL");
        let connection = Connection::open(&file).unwrap();
        connection.execute_batch(&earlier).unwrap();
        let waits = "INSERT INTO approvals VALUES ('a_1', 'd', 'f', 'o', 'write', '{}', 'model', NULL, 'r', 'waiting', 2000)";
        connection.execute(waits, []).unwrap();
        let approvals = Approvals::new(&file);
        let now = UNIX_EPOCH + Duration::from_secs(1);
        approvals.ask(question("one"), now, Duration::from_mins(1)).unwrap();
        let hosts: Vec<_> = approvals.list(now).unwrap().into_iter().map(|pending| pending.host).collect();
        assert_eq!(hosts, [None, Some("api.example:8443".to_owned())]);
    }

    #[test]
    fn a_yes_that_was_not_used_comes_back_but_not_over_a_later_no() {
        let folder = tempfile::tempdir().unwrap();
        let approvals = Approvals::new(&folder.path().join("approvals.db"));
        let start = UNIX_EPOCH + Duration::from_secs(1000);
        let time = Duration::from_mins(10);
        let yes = |id: &str| OneYes {
            id: id.to_owned(),
            expires_ms: milliseconds(start + time),
        };
        approvals.give_back(question("one"), Some(yes("first")), (start, time)).unwrap();
        assert!(approvals.is_approved(question("one"), start).unwrap());
        let claimed = approvals.claim(question("one"), start).unwrap().unwrap();
        assert!(approvals.claim(question("one"), start).unwrap().is_none());
        let Standing::Waiting(id) = approvals.ask(question("one"), start, time).unwrap() else {
            panic!("it does not wait");
        };
        approvals
            .with(|connection| Ok(connection.execute("UPDATE approvals SET state = 'denied' WHERE id = ?1", [&id])?))
            .unwrap();
        approvals.give_back(question("one"), Some(claimed), (start, time)).unwrap();
        assert!(matches!(approvals.ask(question("one"), start, time).unwrap(), Standing::Denied(_)));
        // However many wait, a yes that is given back is kept.
        for number in 0..MAX_WAITING {
            approvals.ask(question(&number.to_string()), start, time).unwrap();
        }
        approvals.give_back(question("another"), None, (start, time)).unwrap();
        assert!(approvals.is_approved(question("another"), start).unwrap());
    }

    #[test]
    fn only_so_many_calls_wait_and_those_that_expired_make_room() {
        let folder = tempfile::tempdir().unwrap();
        let approvals = Approvals::new(&folder.path().join("approvals.db"));
        let start = UNIX_EPOCH + Duration::from_secs(1000);
        let time = Duration::from_mins(10);
        for number in 0..MAX_WAITING {
            let standing = approvals.ask(question(&number.to_string()), start, time).unwrap();
            assert!(matches!(standing, Standing::Waiting(_)));
        }
        let refused = approvals.ask(question("one more"), start, time).unwrap_err();
        assert_eq!(refused.to_string(), "more than 100 calls wait for approval");
        // What waits already is asked about once only.
        assert!(approvals.ask(question("7"), start, time).is_ok());
        assert!(approvals.ask(question("one more"), start + time, time).is_ok());
    }

    #[test]
    fn a_yes_lasts_no_longer_than_its_question() {
        let folder = tempfile::tempdir().unwrap();
        let approvals = Approvals::new(&folder.path().join("approvals.db"));
        let start = UNIX_EPOCH + Duration::from_secs(1000);
        let time = Duration::from_secs(10);
        let Standing::Waiting(id) = approvals.ask(question("a"), start, time).unwrap() else {
            panic!()
        };
        approvals.answer(&id, ApprovalAnswer::Once, start + Duration::from_secs(9)).unwrap();
        let late = approvals.ask(question("a"), start + time, time).unwrap();
        assert!(matches!(late, Standing::Waiting(other) if other != id));
    }
}
