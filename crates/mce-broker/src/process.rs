//! Starting a process of somebody else's program.

use std::io;

use tokio::process::{Child, Command};

/// Starts a command of `mce_jail::command`. It is killed when the child is dropped, and with this process.
///
/// # Errors
///
/// The system's.
pub(crate) async fn start(command: std::process::Command) -> io::Result<Child> {
    let mut command = Command::from(command);
    command.kill_on_drop(true);
    let runtime = tokio::runtime::Handle::current();
    let spawning = move || {
        mce_jail::with_lasting_parent(move || {
            let _context = runtime.enter();
            command.spawn()
        })
    };
    tokio::task::spawn_blocking(spawning).await.map_err(io::Error::other)??
}
