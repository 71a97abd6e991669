//! The process of an MCP server: a group of its own, an environment of its own, ended with all that it started.

use std::io;
use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;
use std::time::Duration;

use mce_config::StdioServer;
use mce_config::env::Environment;
use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::AsyncRead;
use tokio::process::{Child, ChildStdin, ChildStdout};
use tokio::sync::watch;
use tokio::time::timeout;

use super::bounded_lines::{BoundedLines, Line};
use super::notes::{MAX_LINE_BYTES, Notes};
use super::reaper::Reaper;

/// What a server has to end after its input ended, and again after it was told to terminate.
const GRACE: Duration = Duration::from_secs(2);

/// The variables that a server gets beside its own, if we have them: who it runs for, where programs and certificates are, how
/// text and time are written.
const BASE_VARIABLES: [&str; 14] = [
    "HOME",
    "LANG",
    "LANGUAGE",
    "LOGNAME",
    "NODE_EXTRA_CA_CERTS",
    "PATH",
    "SHELL",
    "SSL_CERT_DIR",
    "SSL_CERT_FILE",
    "TERM",
    "TMPDIR",
    "TZ",
    "USER",
    "XDG_RUNTIME_DIR",
];

/// A running server.
#[derive(Debug)]
pub(super) struct ServerProcess {
    group: Group,
    ended: watch::Receiver<Option<ExitStatus>>,
}

/// Its ends that messages go through.
pub(super) type Pipes = (ChildStdout, ChildStdin);

/// All processes of a server; killed when this is dropped, or when we are.
#[derive(Debug)]
struct Group {
    id: Option<Pid>,
    reaper: Arc<Reaper>,
}

impl Group {
    fn signal(&self, signal: Signal) {
        if let Some(group) = self.id {
            // Fails if nobody is left in it, which is what is wanted.
            let _ = kill_process_group(group, signal);
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.signal(Signal::KILL);
        if let Some(group) = self.id {
            self.reaper.end(group);
        }
    }
}

/// Starts a server in `directory`, unless it names its own. What it prints on stderr goes to `notes`.
///
/// # Errors
///
/// Those of the system, e.g. if there is no such program.
pub(super) async fn start(
    name: &str,
    server: &StdioServer,
    directory: &Path,
    (notes, reaper): (&Arc<Notes>, &Arc<Reaper>),
) -> io::Result<(ServerProcess, Pipes)> {
    let mut command = mce_jail::command(&server.command, server.cwd.as_deref().unwrap_or(directory));
    command.args(&server.args).envs(base_environment(&mce_config::env::snapshot()));
    #[expect(clippy::disallowed_methods, reason = "this is where the variables of a server are meant to go")]
    command.envs(server.env.iter().map(|(name, value)| (name, value.expose())));
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = crate::process::start(command).await?;
    let group = Group {
        id: child.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?)),
        reaper: Arc::clone(reaper),
    };
    if let Some(group) = group.id {
        reaper.add(group);
    }
    let missing = || io::Error::other("a pipe to it is missing");
    let pipes = (child.stdout.take().ok_or_else(missing)?, child.stdin.take().ok_or_else(missing)?);
    if let Some(stderr) = child.stderr.take() {
        tokio::spawn(drain(name.to_owned(), stderr, Arc::clone(notes)));
    }
    let (end, ended) = watch::channel(None);
    tokio::spawn(watch_end(child, end));
    Ok((ServerProcess { group, ended }, pipes))
}

fn base_environment(ours: &Environment) -> impl Iterator<Item = (&String, &String)> {
    ours.iter()
        .filter(|(name, _)| BASE_VARIABLES.contains(&name.as_str()) || name.starts_with("LC_"))
}

async fn watch_end(mut child: Child, end: watch::Sender<Option<ExitStatus>>) {
    if let Ok(status) = child.wait().await {
        end.send_replace(Some(status));
    }
}

/// Reads all that is printed, however much it is, so that nobody waits for a reader.
async fn drain(server: String, stderr: impl AsyncRead + Unpin, notes: Arc<Notes>) {
    let mut lines = BoundedLines::new(stderr, MAX_LINE_BYTES);
    while let Ok(Some(Line::Whole(line) | Line::Cut { head: line, .. })) = lines.next(true).await {
        notes.add(&server, "stderr", &line);
        // A flood must leave the other tasks their turn.
        tokio::task::consume_budget().await;
    }
}

impl ServerProcess {
    /// How it ended; waits a moment for that.
    pub(super) fn end(&self) -> watch::Receiver<Option<ExitStatus>> {
        self.ended.clone()
    }

    /// Ends it and all that it started: its input must have been closed already. Then it has 2 s, and 2 s again after it was
    /// told to terminate. (MCP 2025-11-25, Lifecycle, Shutdown.)
    pub(super) async fn stop(&mut self) {
        if self.has_ended_within(GRACE).await {
            return self.group.signal(Signal::KILL);
        }
        self.group.signal(Signal::TERM);
        self.has_ended_within(GRACE).await;
        self.group.signal(Signal::KILL);
        self.has_ended_within(GRACE).await;
    }

    async fn has_ended_within(&mut self, time: Duration) -> bool {
        timeout(time, self.ended.wait_for(Option::is_some)).await.is_ok()
    }
}
