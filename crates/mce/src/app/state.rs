//! The state directory and its SQLite file.

use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use mce_catalog::store::{Store, StoreError};

use crate::failure::Failure;

/// The file's name in the state directory.
const FILE_NAME: &str = "state.db";

/// The state, open.
pub(crate) struct State {
    pub(crate) store: Arc<Store>,
    pub(crate) file: PathBuf,
}

/// Opens the state in this directory, or makes it, readable by its owner only.
///
/// A file that SQLite cannot read is kept beside a new one: the catalog can be made again from its documents.
///
/// # Errors
///
/// A failure that names the directory if it cannot be used.
pub(crate) fn open(directory: &Path) -> Result<State, Failure> {
    let cannot = |error: &dyn std::error::Error| {
        Failure::internal(format!(
            "the state directory `{}` cannot be used: {}",
            directory.display(),
            super::chain(error)
        ))
        .with_hint("set `MCE_DATA_DIR` to a directory that can be written")
    };
    if !directory.is_dir() {
        fs_err::create_dir_all(directory).map_err(|error| cannot(&error))?;
        let owner_only = std::fs::Permissions::from_mode(0o700);
        fs_err::set_permissions(directory, owner_only).map_err(|error| cannot(&error))?;
    }
    let file = directory.join(FILE_NAME);
    // Programs that are kept may hold anything. SQLite gives its side files the rights of this one.
    let mut options = fs_err::OpenOptions::new();
    options.create(true).append(true).options_mut().mode(0o600);
    options.open(&file).map_err(|error| cannot(&error))?;
    let store = match Store::open(&file) {
        Err(StoreError::Damaged { .. }) => {
            let kept = directory.join(format!("{FILE_NAME}.damaged"));
            fs_err::rename(&file, &kept).map_err(|error| cannot(&error))?;
            tracing::warn!(
                "`{}` was damaged and is now `{}`; run `mce compile`",
                file.display(),
                kept.display()
            );
            Store::open(&file)
        }
        opened => opened,
    };
    Ok(State {
        store: Arc::new(store.map_err(|error| cannot(&error))?),
        file,
    })
}
