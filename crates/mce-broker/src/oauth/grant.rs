//! What a login gave: tokens together with the client, the resource and the authorization server that they are for. One file
//! for each server and URL, which only its owner may read.

use std::fmt;
use std::io;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use fs_err::os::unix::fs::OpenOptionsExt as _;
use mce_config::Secret;
use oauth2::TokenResponse as _;
use rmcp::transport::auth::{AuthorizationMetadata, StoredCredentials};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use tokio::time::{Instant, sleep};

use crate::hex::hex;

/// A token that is not valid for longer is renewed before it is used; or for half of its time, if that is less.
const EARLY: Duration = Duration::from_secs(30);
/// Another process may renew for so long, at most.
const LOCK_TIME: Duration = Duration::from_mins(1);
const LOCK_STEP: Duration = Duration::from_millis(50);
/// Bytes of a file.
const MAX_BYTES: u64 = 1 << 20;

/// The outcome of a login, as it is kept. Written to a file of mode 0600 only.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct Grant {
    /// The MCP server's URL as it was configured: the tokens go nowhere else.
    pub(super) server_url: String,
    /// What the tokens are asked for. (RFC 8707)
    pub(super) resource: String,
    /// Of the authorization server that gave them, the only one that sees the client's secret and the refresh token.
    pub(super) metadata: AuthorizationMetadata,
    pub(super) client_id: String,
    pub(super) client_secret: Option<String>,
    /// Without: the login has ended.
    pub(super) credentials: Option<StoredCredentials>,
    /// Scopes that a call needed and the tokens do not have: the next login asks for them.
    #[serde(default)]
    pub(super) wanted: Vec<String>,
    /// The security scheme of an API's document that they are for.
    #[serde(default)]
    pub(super) scheme: Option<String>,
}

impl Grant {
    pub(super) fn issuer(&self) -> &str {
        self.metadata.issuer.as_deref().unwrap_or_default()
    }

    pub(super) fn access_token(&self) -> Option<Secret> {
        let token = self.credentials.as_ref()?.token_response.as_ref()?;
        Some(Secret::new(token.access_token().secret()))
    }

    pub(super) fn can_be_renewed(&self) -> bool {
        let token = self
            .credentials
            .as_ref()
            .and_then(|credentials| credentials.token_response.as_ref());
        token.is_some_and(|token| token.refresh_token().is_some())
    }

    pub(super) fn scopes(&self) -> &[String] {
        self.credentials
            .as_ref()
            .map_or(&[], |credentials| credentials.granted_scopes.as_slice())
    }

    /// When the access token ends, if that was said.
    pub(super) fn expires_at(&self) -> Option<SystemTime> {
        let (received, lifetime) = self.lifetime()?;
        received.checked_add(lifetime)
    }

    fn lifetime(&self) -> Option<(SystemTime, Duration)> {
        let credentials = self.credentials.as_ref()?;
        let lifetime = credentials.token_response.as_ref()?.expires_in()?;
        Some((
            UNIX_EPOCH.checked_add(Duration::from_secs(credentials.token_received_at?))?,
            lifetime,
        ))
    }

    /// Whether the access token ends about now.
    pub(super) fn is_ending(&self, now: SystemTime) -> bool {
        let early = self.lifetime().map_or(EARLY, |(_, lifetime)| EARLY.min(lifetime / 2));
        self.expires_at().is_some_and(|end| now + early >= end)
    }

    /// All that must be cut out of whatever comes back.
    pub(super) fn secrets(&self) -> Vec<Secret> {
        let token = self
            .credentials
            .as_ref()
            .and_then(|credentials| credentials.token_response.as_ref());
        let refresh = token
            .and_then(|token| token.refresh_token())
            .map(|token| Secret::new(token.secret()));
        // Such as `id_token`.
        let more = token.into_iter().flat_map(|token| token.extra_fields().0.iter());
        let more = more.filter_map(|(name, value)| Some(Secret::new(value.as_str().filter(|_| name.contains("token"))?)));
        let client = self.client_secret.iter().map(Secret::new);
        self.access_token().into_iter().chain(refresh).chain(more).chain(client).collect()
    }
}

impl fmt::Debug for Grant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Grant(***)")
    }
}

/// Tells that a file changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stamp(u64, i64, i64, u64);

/// Where the grant of one server is.
#[derive(Debug)]
pub(super) struct GrantFile {
    path: PathBuf,
}

/// Keeps other processes from renewing.
#[derive(Debug)]
pub(super) struct GrantLock {
    _file: fs_err::File,
}

impl GrantFile {
    /// Of a server that is reached at this URL.
    pub(super) fn new(data_dir: &Path, server: &str, url: &str) -> Self {
        let hash = hex(&Sha256::digest(url.as_bytes()));
        let name = format!("{server}-{}.json", hash.get(..12).unwrap_or_default());
        Self {
            path: data_dir.join("logins").join(name),
        }
    }

    pub(super) fn stamp(&self) -> Option<Stamp> {
        let meta = fs_err::metadata(&self.path).ok()?;
        Some(Stamp(meta.ino(), meta.mtime(), meta.mtime_nsec(), meta.len()))
    }

    /// What is there; a file that cannot be read counts as none, and the log says so.
    pub(super) fn read(&self) -> Option<Grant> {
        let read = || -> io::Result<Grant> {
            if fs_err::metadata(&self.path)?.len() > MAX_BYTES {
                return Err(io::Error::other("it is too large"));
            }
            serde_json::from_slice(&fs_err::read(&self.path)?).map_err(|_| io::Error::other("it is damaged"))
        };
        match read() {
            Ok(grant) => Some(grant),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => {
                tracing::warn!("the login in `{}` is not used: {error}", self.path.display());
                None
            }
        }
    }

    /// Readers see the old one or the new one.
    pub(super) fn write(&self, grant: &Grant) -> io::Result<()> {
        use io::Write as _;
        self.make_directory()?;
        let part = self.path.with_extension("part");
        // One that was left over may have another mode.
        let _ = fs_err::remove_file(&part);
        let mut file = fs_err::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&part)?;
        file.write_all(&serde_json::to_vec(grant)?)?;
        file.sync_all()?;
        fs_err::rename(part, &self.path)
    }

    pub(super) fn remove(&self) -> io::Result<()> {
        match fs_err::remove_file(&self.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            done => done,
        }
    }

    fn make_directory(&self) -> io::Result<()> {
        let Some(directory) = self.path.parent() else { return Ok(()) };
        fs_err::create_dir_all(directory)?;
        fs_err::set_permissions(directory, std::fs::Permissions::from_mode(0o700))
    }

    /// Waits until no other process holds it.
    pub(super) async fn lock(&self) -> io::Result<GrantLock> {
        self.make_directory()?;
        let path = self.path.with_extension("lock");
        let file = fs_err::OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(path)?;
        let until = Instant::now() + LOCK_TIME;
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(GrantLock { _file: file }),
                Err(std::fs::TryLockError::WouldBlock) if Instant::now() < until => sleep(LOCK_STEP).await,
                Err(std::fs::TryLockError::WouldBlock) => {
                    return Err(io::Error::other("another process does not finish renewing the login"));
                }
                Err(std::fs::TryLockError::Error(error)) => return Err(error),
            }
        }
    }
}
