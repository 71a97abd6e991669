//! Reading the files or URLs of one document.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use mce_broker::DocumentFetcher;
use mce_catalog::openapi::{FurtherFile, Load, LoadError, Origin};
use mce_catalog::store::Source;
use mce_config::Location;
use sha2::{Digest, Sha256};
use tokio::runtime::Handle;
use url::Url;

use super::chain;
use crate::failure::Failure;

/// Bytes of one file that are read.
const FILE_BYTES: u64 = 256 << 20;

/// The files of one document.
pub(super) struct Documents<'a> {
    origin: Origin,
    fetcher: &'a DocumentFetcher,
}

impl<'a> Documents<'a> {
    pub(super) fn new(location: &Location, fetcher: &'a DocumentFetcher) -> Result<Self, Failure> {
        let origin = match location {
            Location::File(path) => Origin::File(path.clone()),
            Location::Url(url) => {
                Origin::Url(Url::parse(url).map_err(|error| Failure::new("config", format!("`{url}` is no URL: {error}")))?)
            }
        };
        Ok(Self { origin, fetcher })
    }

    pub(super) fn origin(&self) -> &Origin {
        &self.origin
    }

    /// The document itself.
    pub(super) async fn read_main(&self) -> Result<Vec<u8>, Failure> {
        self.read(&self.origin).await.map_err(|message| Failure::new("document", message))
    }

    /// Whether all files are as they were when the document was compiled.
    pub(super) async fn are_unchanged(&self, sources: &[Source], main: &[u8]) -> bool {
        let [first, further @ ..] = sources else { return false };
        if first.sha256 != sha256(main) {
            return false;
        }
        for source in further {
            // An overlay of a URL may be a file, and the other way round.
            let is_url = ["http://", "https://"].iter().any(|scheme| source.location.starts_with(scheme));
            let origin = match (is_url, Url::parse(&source.location)) {
                (false, _) => Origin::File(PathBuf::from(&source.location)),
                (true, Ok(url)) => Origin::Url(url),
                (true, Err(_)) => return false,
            };
            match self.read(&origin).await {
                Ok(bytes) if sha256(&bytes) == source.sha256 => {}
                Ok(_) | Err(_) => return false,
            }
        }
        true
    }

    /// What reads further files while the document is compiled, on a thread that may block.
    pub(super) fn into_loader(self) -> Loader {
        let root = match &self.origin {
            Origin::File(path) => path.parent().and_then(|directory| fs_err::canonicalize(directory).ok()),
            Origin::Url(_) => None,
        };
        Loader {
            root,
            fetcher: self.fetcher.clone(),
            runtime: Handle::current(),
        }
    }

    async fn read(&self, origin: &Origin) -> Result<Vec<u8>, String> {
        match origin {
            Origin::File(path) => read_file(path),
            Origin::Url(url) => self.fetcher.fetch(url.as_str()).await.map_err(|error| chain(&error)),
        }
    }
}

/// Reads further files of a document.
pub(super) struct Loader {
    /// The directory, without symbolic links, that files must lie in.
    root: Option<PathBuf>,
    fetcher: DocumentFetcher,
    runtime: Handle,
}

impl Load for Loader {
    fn load(&self, reference: &Origin) -> Result<Vec<u8>, LoadError> {
        match reference {
            Origin::File(path) => {
                // A link inside the directory must not lead out of it.
                let real = fs_err::canonicalize(path).map_err(|error| LoadError(short(path, &error)))?;
                if !self.root.as_ref().is_some_and(|root| real.starts_with(root)) {
                    return Err(LoadError(format!("`{}` leads out of the document's directory", file_name(path))));
                }
                read_file(&real).map_err(LoadError)
            }
            Origin::Url(url) => self
                .runtime
                .block_on(self.fetcher.fetch(url.as_str()))
                .map_err(|error| LoadError(chain(&error))),
        }
    }
}

fn read_file(path: &Path) -> Result<Vec<u8>, String> {
    let size = fs_err::metadata(path).map_err(|error| short(path, &error))?;
    if !size.is_file() {
        return Err(format!("`{}` is no file", path.display()));
    }
    if size.len() > FILE_BYTES {
        return Err(format!(
            "`{}` has {} bytes, more than the limit of {FILE_BYTES}",
            path.display(),
            size.len()
        ));
    }
    fs_err::read(path).map_err(|error| short(path, &error))
}

/// What an error says, without the path twice.
fn short(path: &Path, error: &std::io::Error) -> String {
    let reason = error
        .get_ref()
        .and_then(|inner| inner.source())
        .map_or_else(|| error.to_string(), ToString::to_string);
    format!("failed to read `{}`: {reason}", path.display())
}

fn file_name(path: &Path) -> String {
    path.file_name()
        .map_or_else(String::new, |name| name.to_string_lossy().into_owned())
}

/// A further file as the store keeps it.
pub(super) fn source_of(file: &FurtherFile) -> Source {
    let location = match &file.origin {
        Origin::File(path) => path.to_string_lossy().into_owned(),
        Origin::Url(url) => url.to_string(),
    };
    Source {
        location,
        sha256: file.sha256.clone(),
        etag: None,
    }
}

/// In hexadecimal.
pub(super) fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().fold(String::new(), |mut hex, byte| {
        let _ = write!(hex, "{byte:02x}");
        hex
    })
}
