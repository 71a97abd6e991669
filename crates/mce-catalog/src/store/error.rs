//! What can go wrong with the catalog's file.

use std::path::{Path, PathBuf};

use rusqlite::ErrorCode;

/// The catalog's file could not be used.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// It cannot be opened or made.
    #[error("failed to open the catalog `{}`", path.display())]
    Open {
        /// The file.
        path: PathBuf,
        /// Why.
        source: rusqlite::Error,
    },
    /// It is no SQLite file, or a damaged one.
    #[error("the catalog `{}` is damaged", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// Why.
        source: rusqlite::Error,
    },
    /// A read failed.
    #[error("failed to read {what} from the catalog `{}`", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What was read.
        what: &'static str,
        /// Why.
        source: rusqlite::Error,
    },
    /// A write failed, and nothing has changed.
    #[error("failed to write {what} to the catalog `{}`", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// What was written.
        what: &'static str,
        /// Why.
        source: rusqlite::Error,
    },
}

impl StoreError {
    /// What a person can do about it.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Damaged { .. } => Some("move the file away and run `mce compile`: everything in the catalog is made again"),
            Self::Open { .. } => Some("check that the directory exists and can be written, or set `MCE_DATA_DIR` to another one"),
            Self::Read { .. } | Self::Write { .. } => None,
        }
    }

    pub(super) fn opening(path: &Path, source: rusqlite::Error) -> Self {
        let path = path.to_owned();
        if is_damage(&source) {
            Self::Damaged { path, source }
        } else {
            Self::Open { path, source }
        }
    }

    pub(super) fn reading(path: &Path, what: &'static str, source: rusqlite::Error) -> Self {
        let path = path.to_owned();
        if is_damage(&source) {
            Self::Damaged { path, source }
        } else {
            Self::Read { path, what, source }
        }
    }

    pub(super) fn writing(path: &Path, what: &'static str, source: rusqlite::Error) -> Self {
        let path = path.to_owned();
        if is_damage(&source) {
            Self::Damaged { path, source }
        } else {
            Self::Write { path, what, source }
        }
    }
}

fn is_damage(source: &rusqlite::Error) -> bool {
    matches!(
        source.sqlite_error_code(),
        Some(ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt)
    )
}
