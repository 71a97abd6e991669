//! Secrets that are read when they are first needed: from commands and from the system's keyring. One reading for all who
//! want it; what was read is kept, and cut out of whatever comes back from then on.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use mce_config::{MAX_SECRET_BYTES, Secret, SecretSource, ServerSettings};
use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::AsyncReadExt as _;
use tokio::time::timeout;

use crate::call_error::CallError;
use crate::redact::Learned;

/// A command may have to ask a person, who has to find a key.
const TIME: Duration = Duration::from_mins(1);
/// After a reading that failed none is tried for so long.
const WAIT_AFTER_FAILURE: Duration = Duration::from_secs(10);
/// A server that refuses what was read has it read again, no more often than this.
const MIN_AGE: Duration = Duration::from_mins(1);

/// The secrets that were read so far. One for the process.
#[derive(Debug)]
pub(crate) struct Vault {
    learned: Arc<Learned>,
    /// What each server needs, where it needs any.
    sources: BTreeMap<String, Vec<SecretSource>>,
    // The outer lock is held to find a slot; the inner one while its source is read, so that the others wait for that.
    slots: Mutex<BTreeMap<SecretSource, Arc<tokio::sync::Mutex<Slot>>>>,
}

#[derive(Default)]
struct Slot {
    read: Option<(Result<String, String>, Instant)>,
}

impl std::fmt::Debug for Slot {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Slot(***)")
    }
}

impl Vault {
    /// Reads nothing yet.
    pub(crate) fn new(servers: &[ServerSettings], learned: Arc<Learned>) -> Self {
        let sources = servers.iter().map(|server| (server.name.clone(), sources(server)));
        Self {
            learned,
            sources: sources.filter(|(_, sources)| !sources.is_empty()).collect(),
            slots: Mutex::default(),
        }
    }

    /// The server with all its secrets.
    ///
    /// # Errors
    ///
    /// `Policy`, naming the source that gives none.
    pub(crate) async fn filled<'a>(&self, server: &'a ServerSettings) -> Result<Cow<'a, ServerSettings>, CallError> {
        let Some(sources) = self.sources.get(&server.name) else {
            return Ok(Cow::Borrowed(server));
        };
        let mut values = BTreeMap::new();
        for source in sources {
            let value = self.value(source).await.map_err(|reason| {
                CallError::policy(format!("a secret of `{}` cannot be read: {reason}", server.name))
                    .with_hint("the person who runs mce has to look at what its secret is read from")
                    .with_internal(format!("{source}: {reason}"))
            })?;
            values.insert(source, value);
        }
        let mut server = server.clone();
        let name = server.name.clone();
        let mut unusable = None;
        for (key, secret) in server.secrets_mut() {
            *secret = secret.filled(|source| values.get(source).cloned());
            if !(secret.is_header_value() || ServerSettings::may_have_lines(&key)) {
                unusable.get_or_insert(key);
            }
        }
        self.learned.keep(&server);
        match unusable {
            Some(key) => Err(has_lines(&format!("servers.{name}.{key}"))),
            None => Ok(Cow::Owned(server)),
        }
    }

    /// Forgets what was read for a server that does not take it, unless that was read a moment ago.
    pub(crate) async fn drop_refused(&self, server: &str) {
        for source in self.sources.get(server).into_iter().flatten() {
            let slot = self.slot(source);
            let mut slot = slot.lock().await;
            slot.read.take_if(|(_, at)| at.elapsed() >= MIN_AGE);
        }
    }

    fn slot(&self, source: &SecretSource) -> Arc<tokio::sync::Mutex<Slot>> {
        let mut slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(slots.entry(source.clone()).or_default())
    }

    async fn value(&self, source: &SecretSource) -> Result<String, String> {
        let slot = self.slot(source);
        let mut slot = slot.lock().await;
        let is_usable = |(value, at): &&(Result<String, String>, Instant)| value.is_ok() || at.elapsed() < WAIT_AFTER_FAILURE;
        if let Some((value, _)) = slot.read.as_ref().filter(is_usable) {
            return value.clone();
        }
        let value = read(source).await;
        if let Err(reason) = &value {
            tracing::warn!("no secret from {source}: {reason}");
        }
        slot.read = Some((value.clone(), Instant::now()));
        value
    }
}

fn sources(server: &ServerSettings) -> Vec<SecretSource> {
    let mut server = server.clone();
    server
        .secrets_mut()
        .iter()
        .flat_map(|(_, secret)| secret.sources())
        .cloned()
        .collect()
}

fn has_lines(key: &str) -> CallError {
    CallError::policy(format!(
        "what was read for `{key}` holds a line break or another control character, and cannot be sent in a header"
    ))
    .with_hint("it has to be the secret alone, in one line")
}

/// A secret of a setting that belongs to no server, with what its sources give.
///
/// # Errors
///
/// Why it cannot be had; nothing secret is in that.
pub async fn read_secret(secret: &Secret) -> Result<Secret, String> {
    let mut values = BTreeMap::new();
    for source in secret.sources() {
        values.insert(source, read(source).await?);
    }
    let filled = secret.filled(|source| values.get(source).cloned());
    if filled.is_header_value() {
        return Ok(filled);
    }
    Err("it holds a line break or another control character".to_owned())
}

async fn read(source: &SecretSource) -> Result<String, String> {
    match source {
        SecretSource::Command { words, directory } => {
            let (program, arguments) = words.split_first().ok_or("it has no command")?;
            run(program, arguments, directory).await
        }
        SecretSource::Keyring { service, account } => {
            let (program, arguments) = keyring_command(service, account);
            let given = run(program, &arguments, Path::new("/")).await;
            given.map_err(|reason| {
                format!("{reason}; the keyring is read by `{program}`, from the entry with service `{service}` and account `{account}`")
            })
        }
    }
}

/// What reads the keyring: the desktop's own programs, so that no library of theirs is needed.
fn keyring_command(service: &str, account: &str) -> (&'static str, Vec<String>) {
    let words: &[&str] = if cfg!(target_os = "macos") {
        &["find-generic-password", "-w", "-s", service, "-a", account]
    } else {
        // The attributes that most programs use, Python's `keyring` among them.
        &["lookup", "service", service, "username", account]
    };
    let program = if cfg!(target_os = "macos") { "security" } else { "secret-tool" };
    (program, words.iter().map(|&word| word.to_owned()).collect())
}

/// What a command prints, without blanks and line breaks around it. What it says on stderr may be secret, and is shown to nobody.
async fn run(program: &str, arguments: &[String], directory: &Path) -> Result<String, String> {
    let mut command = mce_jail::command(program, directory);
    // It is the person's own program, which may need any of them: where its agent listens, whose account is meant.
    command.args(arguments).envs(mce_config::env::snapshot());
    command.stdout(Stdio::piped());
    let cannot = |error: io::Error| format!("`{program}` cannot be started: {}", error.kind());
    let mut child = crate::process::start(command).await.map_err(cannot)?;
    let group = child.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?));
    let output = child.stdout.take();
    let reading = async {
        let mut bytes = Vec::new();
        if let Some(output) = output {
            output.take(MAX_SECRET_BYTES + 1).read_to_end(&mut bytes).await?;
        }
        Ok::<_, io::Error>((bytes, child.wait().await?))
    };
    let ended = timeout(TIME, reading).await;
    if let Some(group) = group {
        // Fails if nobody is left in it, which is what is wanted.
        let _ = kill_process_group(group, Signal::KILL);
    }
    let (bytes, status) = ended
        .map_err(|_| format!("`{program}` did not end within {} s", TIME.as_secs()))?
        .map_err(cannot)?;
    if bytes.len() as u64 > MAX_SECRET_BYTES {
        return Err(format!("`{program}` printed more than {MAX_SECRET_BYTES} bytes"));
    }
    if !status.success() {
        return Err(format!("`{program}` failed ({status})"));
    }
    let text = String::from_utf8(bytes).map_err(|_| format!("what `{program}` printed is no text"))?;
    match text.trim() {
        "" => Err(format!("`{program}` printed nothing")),
        secret => Ok(secret.to_owned()),
    }
}
