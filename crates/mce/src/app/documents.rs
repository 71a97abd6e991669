//! Reading the files or URLs of one document.

use std::fmt::Write;
use std::io::{self, BufRead as _, BufReader};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

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
/// Bytes of a file that are in memory while it is only compared.
const BUFFER_BYTES: usize = 128 << 10;

/// A file that was not touched for so long before it was read has not changed since, if its times say so.
const SETTLED: Duration = Duration::from_secs(2);

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

    /// Whether all files are as they were when the document was compiled. Those of `read` were read just now, the
    /// document itself among them.
    pub(super) async fn are_unchanged(&self, sources: &[Source], read: &[Source]) -> bool {
        if sources.is_empty() {
            return false;
        }
        for source in sources {
            if let Some(new) = read.iter().find(|new| new.location == source.location) {
                if new.sha256 != source.sha256 {
                    return false;
                }
                continue;
            }
            if source.stamp.is_some() && source.stamp == stamp(Path::new(&source.location), None) {
                continue;
            }
            // An overlay of a URL may be a file, and the other way round.
            let digest = match (is_url(source), Url::parse(&source.location)) {
                (false, _) => digest_file(Path::new(&source.location)),
                (true, Ok(url)) => self.read(&Origin::Url(url)).await.map(|bytes| sha256(&bytes)),
                (true, Err(_)) => return false,
            };
            if digest.as_ref() != Ok(&source.sha256) {
                return false;
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

/// Stamps the files that were read after `started`, so that they need not be read again.
pub(super) fn stamp_all(sources: &mut [Source], started: SystemTime) {
    for source in sources.iter_mut().filter(|source| !is_url(source)) {
        source.stamp = stamp(Path::new(&source.location), Some(started));
    }
}

/// Size, times of change and number of a file. Whoever changes a file changes its second time, which no program can set.
/// None if it was touched so late that it may have changed after it was read: within two seconds before `started`, or later.
fn stamp(path: &Path, started: Option<SystemTime>) -> Option<String> {
    let facts = fs_err::metadata(path).ok().filter(std::fs::Metadata::is_file)?;
    let touched = Duration::from_secs(u64::try_from(facts.ctime()).ok()?);
    let is_settled = |started: SystemTime| {
        let started = started.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        touched + SETTLED < started
    };
    started.is_none_or(is_settled).then(|| {
        let (changed, touched) = (facts.mtime_nsec(), facts.ctime_nsec());
        format!(
            "{}:{}.{changed}:{}.{touched}:{}:{}",
            facts.len(),
            facts.mtime(),
            facts.ctime(),
            facts.dev(),
            facts.ino()
        )
    })
}

/// Whether a file is fetched.
pub(super) fn is_url(source: &Source) -> bool {
    ["http://", "https://"].iter().any(|scheme| source.location.starts_with(scheme))
}

fn read_file(path: &Path) -> Result<Vec<u8>, String> {
    demand_file(path)?;
    fs_err::read(path).map_err(|error| short(path, &error))
}

/// The SHA-256 of a file, which is never in memory as a whole.
fn digest_file(path: &Path) -> Result<String, String> {
    demand_file(path)?;
    digest_whole(path).map_err(|error| short(path, &error))
}

fn digest_whole(path: &Path) -> io::Result<String> {
    let mut file = BufReader::with_capacity(BUFFER_BYTES, fs_err::File::open(path)?);
    let mut digest = Sha256::new();
    loop {
        let part = file.fill_buf()?;
        if part.is_empty() {
            return Ok(hex(&digest.finalize()));
        }
        digest.update(part);
        let read = part.len();
        file.consume(read);
    }
}

fn demand_file(path: &Path) -> Result<(), String> {
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
    Ok(())
}

/// What an error says, without the path twice.
fn short(path: &Path, error: &io::Error) -> String {
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
        stamp: None,
    }
}

/// In hexadecimal.
pub(super) fn sha256(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

fn hex(digest: &[u8]) -> String {
    digest.iter().fold(String::new(), |mut hex, byte| {
        let _ = write!(hex, "{byte:02x}");
        hex
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_has_the_digest_of_its_bytes_however_long_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("document.json");
        for size in [0, 1, BUFFER_BYTES, 2 * BUFFER_BYTES + 1] {
            let bytes = vec![b' '; size];
            fs_err::write(&file, &bytes).unwrap();
            assert_eq!(digest_file(&file), Ok(sha256(&bytes)), "{size}");
        }
        assert!(digest_file(folder.path()).unwrap_err().contains("is no file"));
        let gone = digest_file(&folder.path().join("gone")).unwrap_err();
        assert!(gone.starts_with("failed to read `") && gone.contains("gone"), "{gone}");
    }

    #[tokio::test]
    async fn a_file_with_its_stamp_is_not_read_again_and_one_that_was_touched_is() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("document.json");
        fs_err::write(&file, "one").unwrap();
        let mut sources = [Source {
            location: file.display().to_string(),
            sha256: "of another text".to_owned(),
            stamp: None,
        }];
        let fetcher = DocumentFetcher::new(&[], &[]);
        let documents = Documents::new(&Location::File(file.clone()), &fetcher).unwrap();
        stamp_all(&mut sources, SystemTime::now());
        assert_eq!(sources[0].stamp, None, "it was touched just now");
        assert!(!documents.are_unchanged(&sources, &[]).await);
        stamp_all(&mut sources, SystemTime::now() + 2 * SETTLED);
        assert!(documents.are_unchanged(&sources, &[]).await, "its stamp suffices");
        // The same size, and the time of change put back.
        let changed = fs_err::metadata(&file).unwrap().modified().unwrap();
        fs_err::write(&file, "two").unwrap();
        fs_err::OpenOptions::new()
            .write(true)
            .open(&file)
            .unwrap()
            .file()
            .set_modified(changed)
            .unwrap();
        assert!(!documents.are_unchanged(&sources, &[]).await);
    }
}
