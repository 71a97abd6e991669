//! `mce.lock`: the SHA-256 of each file that the functions were compiled from, beside `mce.yaml`, to be kept with it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use mce_catalog::store::Source;
use mce_config::{Location, ServerSettings, Settings};
use serde::{Deserialize, Serialize};

use super::documents::sha256;
use super::write_whole;
use crate::failure::Failure;

/// The file's name.
const FILE_NAME: &str = "mce.lock";
/// Of the file's layout.
const VERSION: u32 = 1;
/// Bytes of a lock that are read.
const MAX_BYTES: u64 = 64 << 20;

/// What a compile does with the lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LockUse {
    /// Nothing.
    Ignore,
    /// Writes down what was compiled, if there is a lock already.
    Update,
    /// Writes down what was compiled.
    Write,
    /// Refuses documents that are not as they are in the lock.
    Enforce,
}

/// The lock of a configuration.
#[derive(Debug)]
pub(super) struct Lock {
    file: PathBuf,
    is_enforced: bool,
    documents: BTreeMap<String, BTreeMap<String, String>>,
}

/// As in the file.
#[derive(Debug, Serialize, Deserialize)]
struct Stored {
    version: u32,
    /// Files with their hashes, by document.
    documents: BTreeMap<String, BTreeMap<String, String>>,
}

impl Lock {
    /// Reads the lock, if it is to be used.
    ///
    /// # Errors
    ///
    /// A failure if it cannot be read, or is not there and was to be enforced.
    pub(super) fn open(settings: &Settings, usage: LockUse) -> Result<Option<Self>, Failure> {
        let directory = settings.config_file.as_deref().and_then(Path::parent).unwrap_or(&settings.base_dir);
        let file = directory.join(FILE_NAME);
        let is_enforced = usage == LockUse::Enforce;
        let documents = match (usage, file.exists()) {
            (LockUse::Ignore, _) | (LockUse::Update, false) => return Ok(None),
            (LockUse::Write, false) => BTreeMap::new(),
            (LockUse::Enforce, false) => {
                return Err(Failure::new("config", format!("there is no `{}`", file.display())).with_hint("`mce compile --lock` writes it"));
            }
            (LockUse::Write | LockUse::Update | LockUse::Enforce, true) => read(&file)?,
        };
        Ok(Some(Self {
            file,
            is_enforced,
            documents,
        }))
    }

    /// Refuses files that are not as they are in the lock, if it is enforced. `is_all`: there are no others.
    ///
    /// # Errors
    ///
    /// A failure that names the file and both hashes.
    pub(super) fn check(&self, server: &ServerSettings, sources: &[Source], is_all: bool) -> Result<(), Failure> {
        if !self.is_enforced {
            return Ok(());
        }
        let document = self.document(server);
        let drifted = |message: String| {
            Failure::new("document", format!("`{document}` is not as it is locked: {message}"))
                .with_hint("look at what changed; `mce compile --lock` accepts it")
        };
        let Some(known) = self.documents.get(&document) else {
            return Err(drifted(format!("`{FILE_NAME}` does not have it")));
        };
        for source in sources {
            let name = self.name(&source.location);
            match known.get(&name) {
                Some(locked) if *locked == source.sha256 => {}
                Some(locked) => {
                    return Err(drifted(format!(
                        "the SHA-256 of `{name}` is {}, and `{FILE_NAME}` has {locked}",
                        source.sha256
                    )));
                }
                None => {
                    return Err(drifted(format!(
                        "`{FILE_NAME}` does not have its file `{name}` ({})",
                        source.sha256
                    )));
                }
            }
        }
        let gone = known
            .keys()
            .find(|name| !sources.iter().any(|source| self.name(&source.location) == **name));
        match gone.filter(|_| is_all) {
            Some(name) => Err(drifted(format!("its file `{name}` is not read any more"))),
            None => Ok(()),
        }
    }

    /// Notes what a server was compiled from.
    pub(super) fn note(&mut self, server: &ServerSettings, sources: &[Source]) {
        let files = sources.iter().map(|source| (self.name(&source.location), source.sha256.clone()));
        let files = files.collect();
        self.documents.insert(self.document(server), files);
    }

    /// Writes the lock, unless it is enforced. `kept` are the servers whose documents stay in it, if others are to go.
    ///
    /// # Errors
    ///
    /// A failure that names the file if it cannot be written.
    pub(super) fn write(mut self, kept: Option<&[ServerSettings]>) -> Result<(), Failure> {
        if self.is_enforced {
            return Ok(());
        }
        if let Some(servers) = kept {
            let names: Vec<String> = servers.iter().map(|server| self.document(server)).collect();
            self.documents.retain(|name, _| names.contains(name));
        }
        let stored = Stored {
            version: VERSION,
            documents: self.documents,
        };
        let mut text = serde_json::to_string_pretty(&stored).map_err(Failure::internal)?;
        text.push('\n');
        write_whole(&self.file, text.as_bytes())
            .map_err(|error| Failure::internal(format!("failed to write `{}`: {error}", self.file.display())))
    }

    /// What a server's document is called in the lock.
    fn document(&self, server: &ServerSettings) -> String {
        let location = super::views::parts_of(server).map(|location| match location {
            Location::File(path) => self.name(&path.to_string_lossy()),
            Location::Url(url) => self.name(url),
        });
        location.collect::<Vec<_>>().join(" + ")
    }

    /// A path relative to the lock, or a URL without anything that could be secret.
    fn name(&self, location: &str) -> String {
        if location.starts_with("http://") || location.starts_with("https://") {
            let url = Location::Url(location.to_owned()).to_string();
            if url == location {
                return url;
            }
            let told_apart: String = sha256(location.as_bytes()).chars().take(8).collect();
            return format!("{url}#{told_apart}");
        }
        let directory = self.file.parent().unwrap_or(Path::new(""));
        let path = Path::new(location);
        path.strip_prefix(directory).unwrap_or(path).to_string_lossy().into_owned()
    }
}

fn read(file: &Path) -> Result<BTreeMap<String, BTreeMap<String, String>>, Failure> {
    let failure = |message: String| Failure::new("config", format!("`{}` cannot be used: {message}", file.display()));
    let size = fs_err::metadata(file).map_err(|error| failure(error.to_string()))?.len();
    if size > MAX_BYTES {
        return Err(failure("it is too large".to_owned()));
    }
    let bytes = fs_err::read(file).map_err(|error| failure(error.to_string()))?;
    let stored: Stored =
        serde_json::from_slice(&bytes).map_err(|error| failure(error.to_string()).with_hint("remove it, and run `mce compile --lock`"))?;
    if stored.version != VERSION {
        return Err(failure(format!(
            "its version is {}, and this program knows {VERSION}",
            stored.version
        )));
    }
    Ok(stored.documents)
}
