//! Shapes of answers that functions without a result type have given, by document and operation.

use rusqlite::{OptionalExtension, params};
use serde_json::Value;

use super::{Store, StoreError, document::json};

impl Store {
    /// The shape that answers of an operation have had.
    ///
    /// # Errors
    ///
    /// [`StoreError`] if the file cannot be read.
    pub fn observed(&self, location: &str, operation: &str) -> Result<Option<Value>, StoreError> {
        self.read("an observed shape", |connection| {
            connection
                .prepare_cached("SELECT shape FROM catalog_observed WHERE location = ?1 AND operation = ?2")?
                .query_row([location, operation], |row| json(row.get_ref(0)?.as_str()?))
                .optional()
        })
    }

    /// Keeps a shape. It changes what is shown of one function only, so the file stays of the same generation.
    ///
    /// # Errors
    ///
    /// [`StoreError::Write`]; the file then is as before.
    pub fn observe(&self, location: &str, operation: &str, shape: &Value) -> Result<(), StoreError> {
        let connection = self.lock();
        connection
            .execute(
                "INSERT OR REPLACE INTO catalog_observed (location, operation, shape) VALUES (?1, ?2, ?3)",
                params![location, operation, shape.to_string()],
            )
            .map(drop)
            .map_err(|source| StoreError::writing(&self.path, "an observed shape", source))
    }
}
