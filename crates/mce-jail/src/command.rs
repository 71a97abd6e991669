//! The one place where processes are started.

use std::ffi::OsStr;
use std::io;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Mutex, OnceLock};

use rustix::process::{Signal, getpid, getppid, set_parent_process_death_signal};

use crate::system_call;

type Work = Box<dyn FnOnce() + Send>;

/// A command with an empty environment, in a process group of its own, with no descriptor but 0, 1 and 2, all leading to
/// nowhere until set otherwise. It is killed when the *thread* that started it ends: start it through
/// [`with_lasting_parent`] unless that thread lives as long as the process.
pub fn command(program: impl AsRef<OsStr>, directory: &Path) -> Command {
    let mut command = outliving_command(program, directory);
    let parent = getpid();
    let die_with_parent = move || {
        set_parent_process_death_signal(Some(Signal::KILL))?;
        // The parent may have ended before the line above took effect.
        if getppid() == Some(parent) {
            Ok(())
        } else {
            Err(io::ErrorKind::BrokenPipe.into())
        }
    };
    // SAFETY: between fork and exec only async-signal-safe calls are allowed. `die_with_parent` makes two plain system
    // calls and neither allocates nor locks; its errors are made of numbers.
    unsafe { command.pre_exec(die_with_parent) };
    command
}

/// As [`command`], but it goes on when the process that started it ends: for what has to be done then.
pub fn outliving_command(program: impl AsRef<OsStr>, directory: &Path) -> Command {
    let mut command = plain_command(program, directory);
    command.process_group(0);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    close_inherited(&mut command);
    command
}

/// A command with an empty environment and nothing else, for a process that becomes its program.
#[expect(clippy::disallowed_methods, reason = "the one place that all others must use")]
pub(crate) fn plain_command(program: impl AsRef<OsStr>, directory: &Path) -> Command {
    let mut command = Command::new(program);
    command.env_clear().current_dir(directory);
    command
}

/// Closes all descriptors but 0, 1 and 2 in the new process. The host opens its own to be closed on exec, but it is not
/// alone: libraries and whoever started the host may not have done so.
pub(crate) fn close_inherited(command: &mut Command) {
    // Marked and not closed: the descriptor by which the standard library reports a failed exec must live until the exec.
    let close = || system_call::close_on_exec_from(3);
    // SAFETY: between fork and exec only async-signal-safe calls are allowed. This is one plain system call.
    unsafe { command.pre_exec(close) };
}

/// Runs `work` on a thread that lives as long as the process, and waits for it. Children that die with the thread that
/// started them then die with the process.
///
/// # Errors
///
/// If the thread cannot be started, or `work` panicked.
pub fn with_lasting_parent<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> io::Result<T> {
    // The lock is held for one send.
    static THREAD: OnceLock<Mutex<Option<Sender<Work>>>> = OnceLock::new();
    let (answer, wait) = channel();
    let work: Work = Box::new(move || {
        // Nobody waits any more if the caller panicked; then the value is dropped here.
        let _ = answer.send(work());
    });
    {
        let mut sender = THREAD
            .get_or_init(Mutex::default)
            .lock()
            .map_err(|_| io::Error::other("a thread panicked"))?;
        let sender = match &mut *sender {
            Some(sender) => sender,
            empty => empty.insert(start_thread()?),
        };
        sender
            .send(work)
            .map_err(|_| io::Error::other("the thread that starts processes has ended"))?;
    }
    wait.recv().map_err(|_| io::Error::other("starting a process panicked"))
}

fn start_thread() -> io::Result<Sender<Work>> {
    let (sender, receiver) = channel::<Work>();
    std::thread::Builder::new().name("mce-spawn".to_owned()).spawn(move || {
        for work in receiver {
            // A panic must not end the thread: its children would be killed. The caller sees it as a missing answer.
            let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(work));
        }
    })?;
    Ok(sender)
}
