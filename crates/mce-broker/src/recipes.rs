//! Programs kept for `run_cached_code`, in SQLite. Time comes from the caller, so that tests need no clock.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use mce_config::RecipeSettings;
use rusqlite::{Connection, OptionalExtension, Row, params};
use serde_json::Value;
use sha2::{Digest, Sha256};
use thiserror::Error;

use crate::hex::hex;
use crate::state_file::{self, milliseconds};

/// Bytes of an id.
const ID_BYTES: usize = 10;

/// A program to keep.
#[derive(Debug, Clone, Copy)]
pub struct NewRecipe<'a> {
    /// `python` or `typescript`.
    pub language: &'a str,
    /// Its exact text.
    pub source: &'a str,
    /// What it does, in the model's words.
    pub description: &'a str,
    /// Functions that it called, with their signatures as they were.
    pub functions: &'a BTreeMap<String, String>,
}

/// A program that is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recipe {
    /// The start of the SHA-256 of language and text, 20 hex digits: a model has to read and write it.
    pub id: String,
    /// `python` or `typescript`.
    pub language: String,
    /// Its exact text.
    pub source: String,
    /// What it does, in the model's words.
    pub description: String,
    /// Functions that it called, with their signatures as they were.
    pub functions: BTreeMap<String, String>,
    /// When it was first kept.
    pub created: SystemTime,
    /// When it was last kept or asked for.
    pub last_used: SystemTime,
    /// How often it was asked for.
    pub uses: u64,
}

/// Why a program could not be kept or found.
#[derive(Debug, Error)]
pub enum RecipeError {
    /// `MCE_CACHE_ENABLED` is false.
    #[error("programs are not kept: `MCE_CACHE_ENABLED` is false")]
    Disabled,
    /// Never kept, forgotten since, or mistyped.
    #[error("no program is kept under `{id}`")]
    Unknown {
        /// What was asked for, at most 100 characters.
        id: String,
    },
    /// The state file failed.
    #[error("failed to use the store of recipes")]
    Store {
        /// SQLite's error.
        #[from]
        source: rusqlite::Error,
    },
}

impl RecipeError {
    /// What to do about it.
    pub const fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Disabled => Some("run the whole program with `execute_code`"),
            Self::Unknown { .. } => Some("run the whole program with `execute_code`; its answer has a new `cache_id`"),
            Self::Store { .. } => None,
        }
    }
}

/// The store.
#[derive(Debug)]
pub struct Recipes {
    // SQLite connections are not `Sync`; each use takes well under a millisecond.
    connection: Mutex<Connection>,
    settings: RecipeSettings,
}

const TABLE: &str = "
    CREATE TABLE IF NOT EXISTS recipes (
        id TEXT PRIMARY KEY,
        language TEXT NOT NULL,
        source TEXT NOT NULL,
        description TEXT NOT NULL,
        functions TEXT NOT NULL,
        created_ms INTEGER NOT NULL,
        last_used_ms INTEGER NOT NULL,
        uses INTEGER NOT NULL
    ) WITHOUT ROWID;
    CREATE INDEX IF NOT EXISTS recipes_by_use ON recipes (last_used_ms);";

impl Recipes {
    /// Opens the store, making table and file if need be. The file may be shared with other tables.
    ///
    /// # Errors
    ///
    /// [`RecipeError::Store`].
    pub fn open(file: &Path, settings: RecipeSettings) -> Result<Self, RecipeError> {
        // A folder that cannot be made is told when the file is opened.
        let _ = file.parent().map(fs_err::create_dir_all);
        let connection = state_file::open(file, TABLE)?;
        // Earlier versions kept no signatures; what they kept is gone in an hour anyway.
        if connection.prepare("SELECT functions FROM recipes").is_err() {
            connection.execute_batch("DROP TABLE recipes;")?;
            connection.execute_batch(TABLE)?;
        }
        Ok(Self {
            connection: Mutex::new(connection),
            settings,
        })
    }

    /// Keeps a program and returns its id. One that is kept already is renewed.
    ///
    /// # Errors
    ///
    /// [`RecipeError::Disabled`], [`RecipeError::Store`].
    pub fn save(&self, recipe: NewRecipe<'_>, now: SystemTime) -> Result<String, RecipeError> {
        if !self.settings.is_enabled {
            return Err(RecipeError::Disabled);
        }
        let id = recipe_id(recipe.language, recipe.source);
        let functions = Value::from_iter(recipe.functions.clone()).to_string();
        self.with_connection(|connection| {
            connection.execute(
                "INSERT INTO recipes VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?6, 0) ON CONFLICT (id) DO UPDATE SET
                 description = excluded.description, functions = excluded.functions, last_used_ms = excluded.last_used_ms",
                params![id, recipe.language, recipe.source, recipe.description, functions, milliseconds(now)],
            )
        })?;
        self.prune(now)?;
        Ok(id)
    }

    /// Finds a program and renews it.
    ///
    /// # Errors
    ///
    /// [`RecipeError::Disabled`], [`RecipeError::Unknown`], [`RecipeError::Store`].
    pub fn get(&self, id: &str, now: SystemTime) -> Result<Recipe, RecipeError> {
        if !self.settings.is_enabled {
            return Err(RecipeError::Disabled);
        }
        self.prune(now)?;
        self.with_connection(|connection| {
            connection
                .query_row(
                    "UPDATE recipes SET last_used_ms = max(last_used_ms, ?2), uses = uses + 1 WHERE id = ?1 RETURNING *",
                    params![id, milliseconds(now)],
                    read_recipe,
                )
                .optional()
        })?
        .ok_or_else(|| RecipeError::Unknown {
            id: id.chars().take(100).collect(),
        })
    }

    /// All programs that are kept, the last used first. None of them is renewed.
    ///
    /// # Errors
    ///
    /// [`RecipeError::Store`].
    pub fn list(&self, now: SystemTime) -> Result<Vec<Recipe>, RecipeError> {
        self.prune(now)?;
        self.with_connection(|connection| {
            let mut statement = connection.prepare("SELECT * FROM recipes ORDER BY last_used_ms DESC, id")?;
            statement.query_map([], read_recipe)?.collect()
        })
    }

    /// Forgets a program. Says whether it was kept.
    ///
    /// # Errors
    ///
    /// [`RecipeError::Store`].
    pub fn remove(&self, id: &str) -> Result<bool, RecipeError> {
        self.with_connection(|connection| connection.execute("DELETE FROM recipes WHERE id = ?1", [id]))
            .map(|count| count > 0)
    }

    /// Forgets programs that were not used for the configured time, and the least recently used beyond the configured
    /// number. Returns how many.
    ///
    /// # Errors
    ///
    /// [`RecipeError::Store`].
    pub fn prune(&self, now: SystemTime) -> Result<usize, RecipeError> {
        let ttl_ms = i64::try_from(self.settings.ttl.as_millis()).unwrap_or(i64::MAX);
        let oldest_ms = milliseconds(now).saturating_sub(ttl_ms);
        let max_entries = i64::try_from(self.settings.max_entries).unwrap_or(i64::MAX);
        self.with_connection(|connection| {
            connection.execute(
                "DELETE FROM recipes WHERE last_used_ms < ?1
                 OR id IN (SELECT id FROM recipes ORDER BY last_used_ms DESC, id LIMIT -1 OFFSET ?2)",
                params![oldest_ms, max_entries],
            )
        })
    }

    /// Forgets all programs. Returns how many.
    ///
    /// # Errors
    ///
    /// [`RecipeError::Store`].
    pub fn clear(&self) -> Result<usize, RecipeError> {
        self.with_connection(|connection| connection.execute("DELETE FROM recipes", []))
    }

    fn with_connection<T>(&self, action: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> Result<T, RecipeError> {
        let connection = self.connection.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(action(&connection)?)
    }
}

fn recipe_id(language: &str, source: &str) -> String {
    let digest = Sha256::new()
        .chain_update(language)
        .chain_update([0])
        .chain_update(source)
        .finalize();
    hex(digest.get(..ID_BYTES).unwrap_or(&digest))
}

fn read_recipe(row: &Row<'_>) -> rusqlite::Result<Recipe> {
    let functions: String = row.get("functions")?;
    Ok(Recipe {
        id: row.get("id")?,
        language: row.get("language")?,
        source: row.get("source")?,
        description: row.get("description")?,
        functions: serde_json::from_str(&functions).unwrap_or_default(),
        created: time(row.get("created_ms")?),
        last_used: time(row.get("last_used_ms")?),
        uses: row.get::<_, i64>("uses")?.unsigned_abs(),
    })
}

fn time(milliseconds: i64) -> SystemTime {
    UNIX_EPOCH + Duration::from_millis(milliseconds.unsigned_abs())
}

#[cfg(test)]
mod tests {
    use std::sync::OnceLock;

    use super::*;

    fn settings(ttl_s: u64, max_entries: usize) -> RecipeSettings {
        RecipeSettings {
            is_enabled: true,
            ttl: Duration::from_secs(ttl_s),
            max_entries,
            file: None,
            folder: std::path::PathBuf::new(),
            promoted: Vec::new(),
        }
    }

    fn at(seconds: u64) -> SystemTime {
        UNIX_EPOCH + Duration::from_secs(1_000 + seconds)
    }

    fn recipes(ttl_s: u64, max_entries: usize) -> Recipes {
        Recipes::open(Path::new(":memory:"), settings(ttl_s, max_entries)).unwrap()
    }

    static NONE: OnceLock<BTreeMap<String, String>> = OnceLock::new();

    fn program(source: &str) -> NewRecipe<'_> {
        NewRecipe {
            language: "python",
            source,
            description: "adds",
            functions: NONE.get_or_init(BTreeMap::new),
        }
    }

    #[test]
    fn a_kept_program_comes_back_exactly() {
        let recipes = recipes(60, 10);
        let functions = BTreeMap::from([("shop.get".to_owned(), "get(id: str) -> Item".to_owned())]);
        let new = NewRecipe {
            functions: &functions,
            ..program("result = 1\n")
        };
        let id = recipes.save(new, at(0)).unwrap();
        let recipe = recipes.get(&id, at(5)).unwrap();
        assert_eq!(
            (recipe.language.as_str(), recipe.source.as_str(), recipe.description.as_str()),
            ("python", "result = 1\n", "adds")
        );
        assert_eq!(
            (recipe.functions, recipe.created, recipe.last_used, recipe.uses),
            (functions, at(0), at(5), 1)
        );
    }

    #[test]
    fn a_table_of_an_earlier_version_is_made_anew() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("state.sqlite");
        let old = "CREATE TABLE recipes (id TEXT PRIMARY KEY, language TEXT, source TEXT, description TEXT, servers TEXT,
                   created_ms INTEGER, last_used_ms INTEGER, uses INTEGER); INSERT INTO recipes VALUES ('a', '', '', '', '', 1, 1, 1);";
        Connection::open(&file).unwrap().execute_batch(old).unwrap();
        let recipes = Recipes::open(&file, settings(60, 10)).unwrap();
        let id = recipes.save(program("result = 1"), at(0)).unwrap();
        assert_eq!(recipes.get(&id, at(1)).unwrap().source, "result = 1");
    }

    #[test]
    fn the_id_is_made_of_language_and_text() {
        let recipes = recipes(60, 10);
        let id = recipes.save(program("a"), at(0)).unwrap();
        assert_eq!(id.len(), 20);
        assert_eq!(
            id,
            recipes
                .save(
                    NewRecipe {
                        description: "other",
                        ..program("a")
                    },
                    at(1)
                )
                .unwrap()
        );
        assert_ne!(id, recipes.save(program("a "), at(1)).unwrap());
        assert_ne!(
            id,
            recipes
                .save(
                    NewRecipe {
                        language: "typescript",
                        ..program("a")
                    },
                    at(1)
                )
                .unwrap()
        );
    }

    #[test]
    fn time_to_live_counts_from_the_last_use() {
        let recipes = recipes(60, 10);
        let id = recipes.save(program("a"), at(0)).unwrap();
        recipes.get(&id, at(50)).unwrap();
        recipes.get(&id, at(100)).unwrap();
        recipes.save(program("a"), at(150)).unwrap();
        recipes.get(&id, at(210)).unwrap();
        let error = recipes.get(&id, at(271)).unwrap_err();
        assert_eq!(error.to_string(), format!("no program is kept under `{id}`"));
        assert!(error.hint().unwrap().contains("execute_code"));
    }

    #[test]
    fn the_least_recently_used_go_first() {
        let recipes = recipes(600, 2);
        let first = recipes.save(program("1"), at(0)).unwrap();
        let second = recipes.save(program("2"), at(1)).unwrap();
        recipes.get(&first, at(2)).unwrap();
        let third = recipes.save(program("3"), at(3)).unwrap();
        assert!(recipes.get(&second, at(4)).is_err());
        assert!(recipes.get(&first, at(4)).is_ok() && recipes.get(&third, at(4)).is_ok());
    }

    #[test]
    fn a_list_renews_nothing_and_one_can_be_forgotten() {
        let recipes = recipes(60, 10);
        let first = recipes.save(program("1"), at(0)).unwrap();
        let second = recipes.save(program("2"), at(30)).unwrap();
        let ids: Vec<_> = recipes.list(at(59)).unwrap().into_iter().map(|recipe| recipe.id).collect();
        assert_eq!(ids, [second.clone(), first]);
        assert_eq!(recipes.list(at(61)).unwrap().len(), 1);
        assert!(recipes.remove(&second).unwrap() && !recipes.remove(&second).unwrap());
        assert!(recipes.list(at(61)).unwrap().is_empty());
    }

    #[test]
    fn nothing_is_kept_where_it_is_switched_off() {
        let off = RecipeSettings {
            is_enabled: false,
            ..settings(60, 10)
        };
        let recipes = Recipes::open(Path::new(":memory:"), off).unwrap();
        assert!(matches!(recipes.save(program("a"), at(0)), Err(RecipeError::Disabled)));
        assert!(matches!(recipes.get("a", at(0)), Err(RecipeError::Disabled)));
    }

    #[test]
    fn programs_survive_a_restart() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("state.sqlite");
        let id = Recipes::open(&file, settings(60, 10)).unwrap().save(program("a"), at(0)).unwrap();
        assert_eq!(Recipes::open(&file, settings(60, 10)).unwrap().get(&id, at(1)).unwrap().source, "a");
    }
}
