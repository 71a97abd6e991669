//! Reads configuration files, bounded in size.

use std::collections::BTreeMap;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use crate::field::Field;
use crate::variables::DotEnv;
use crate::yaml::{self, Kind};
use crate::{ConfigError, Place, Secret, Source, dotenv};

/// The largest configuration file that is read, in bytes.
pub const MAX_FILE_BYTES: u64 = 4 << 20;

/// The same for files of other programs, which keep more than settings in them.
pub(crate) const MAX_CLIENT_FILE_BYTES: u64 = 16 << 20;

/// The keys of a YAML file; none if it is empty.
pub(crate) fn read_config(file: &Path) -> Result<Vec<(String, Field)>, ConfigError> {
    let place = |line| Place {
        source: Source::File {
            file: file.to_owned(),
            key: String::new(),
        },
        line,
    };
    let node = yaml::parse(&read_text(file, MAX_FILE_BYTES)?).map_err(|error| ConfigError::Syntax {
        place: place(error.line),
        message: error.message,
        hint: error.hint,
    })?;
    if node.kind == Kind::Null {
        return Ok(Vec::new());
    }
    let field = Field {
        place: place(Some(node.line)),
        directory: file.parent().map(Path::to_owned).unwrap_or_default(),
        node,
    };
    field.into_entries("a mapping such as `servers: …`")
}

/// The variables of a `.env` file, which `label` names in what is shown.
pub(crate) fn read_dotenv(file: &Path, label: &Path) -> Result<DotEnv, ConfigError> {
    let variables = dotenv::parse(&read_text(file, MAX_FILE_BYTES)?).map_err(|error| ConfigError::Syntax {
        place: Place {
            source: Source::File {
                file: file.to_owned(),
                key: String::new(),
            },
            line: Some(error.line),
        },
        message: error.message.to_owned(),
        hint: Some("each line is `NAME=value`, empty, or a comment after `#`"),
    })?;
    Ok(DotEnv {
        label: label.to_owned(),
        directory: file.parent().map(Path::to_owned).unwrap_or_default(),
        variables,
    })
}

/// The variables of the file that `env_file` names. They may be secret.
pub(crate) fn read_variables(file: &Path) -> Result<BTreeMap<String, Secret>, ConfigError> {
    // A pipe would be waited for.
    if !file.is_file() {
        return Err(ConfigError::ReadFile {
            file: file.to_owned(),
            cause: io::ErrorKind::NotFound.into(),
        });
    }
    let variables = read_dotenv(file, file)?.variables.into_iter();
    Ok(variables.map(|(name, value)| (name, Secret::new(value))).collect())
}

/// The text of a file of at most `limit` bytes.
pub(crate) fn read_text(file: &Path, limit: u64) -> Result<String, ConfigError> {
    let failed = |cause: io::Error| ConfigError::ReadFile {
        file: PathBuf::from(file),
        cause,
    };
    let mut text = String::new();
    let reader = fs_err::File::open(file).map_err(failed)?;
    reader.take(limit + 1).read_to_string(&mut text).map_err(failed)?;
    if u64::try_from(text.len()).is_ok_and(|bytes| bytes <= limit) {
        return Ok(text);
    }
    Err(ConfigError::FileSize {
        file: PathBuf::from(file),
        limit,
    })
}
