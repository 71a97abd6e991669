//! What ends the processes of servers if this process is killed: then nothing here can do it. A shell that outlives us waits for
//! the end of its input, which comes however we end.

use std::io::Write as _;
use std::path::Path;
use std::process::{Child, ChildStdin, Stdio};
use std::sync::{Mutex, PoisonError};

use rustix::process::Pid;

/// The shell, started with the first process.
#[derive(Debug, Default)]
pub(super) struct Reaper {
    // Held while a line of a few bytes is written.
    shell: Mutex<Option<Shell>>,
}

#[derive(Debug)]
struct Shell {
    child: Child,
    input: Option<ChildStdin>,
}

impl Reaper {
    /// From now on this process group is killed if we end.
    pub(super) fn add(&self, group: Pid) {
        let mut shell = self.shell.lock().unwrap_or_else(PoisonError::into_inner);
        if shell.is_none() {
            *shell = start();
        }
        tell(&mut shell, "add", group);
    }

    /// Nobody is left in this group, and its number may become that of another.
    pub(super) fn end(&self, group: Pid) {
        let mut shell = self.shell.lock().unwrap_or_else(PoisonError::into_inner);
        tell(&mut shell, "end", group);
    }
}

fn start() -> Option<Shell> {
    let mut command = mce_jail::outliving_command("/bin/sh", Path::new("/"));
    command.args(["-c", include_str!("reaper.sh")]).stdin(Stdio::piped());
    // Without a shell, a server that does not end with its input may outlive us if we are killed.
    let spawned = command.spawn();
    let mut child = spawned.inspect_err(|error| tracing::debug!(%error, "no shell")).ok()?;
    let input = child.stdin.take();
    Some(Shell { child, input })
}

fn tell(shell: &mut Option<Shell>, word: &str, group: Pid) {
    let input = shell.as_mut().and_then(|shell| shell.input.as_mut());
    if let Some(input) = input {
        // Fails if somebody killed the shell, and then it cannot help.
        let _ = writeln!(input, "{word} {}", group.as_raw_nonzero());
    }
}

impl Drop for Shell {
    fn drop(&mut self) {
        self.input.take();
        // It has nothing to wait for any more.
        let _ = self.child.wait();
    }
}
