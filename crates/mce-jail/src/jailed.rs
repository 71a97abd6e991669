//! The host's side: starting a jail and holding it.

use std::ffi::OsString;
use std::io;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, ExitStatus, Stdio};
use std::time::Duration;

use crate::command::plain_command;
use crate::descriptors::kill_process;
use crate::handshake::{Failure, Report, Standing, receive, send};
use crate::jail_error::JailError;
use crate::landlock::Readable;
use crate::layers::Layers;
use crate::limits::WorkerLimits;
use crate::memory_use::{MemoryUse, count_tasks};
use crate::seal_plan::SealPlan;
use crate::seal_steps::{Worker, make_plan};
use crate::spec::JailSpec;

/// How long a launcher may take. It needs some milliseconds.
const PATIENCE: Duration = Duration::from_secs(10);

/// How many tasks the jail's user may start elsewhere until a worker can start no thread any more. Only where workers have
/// no user namespace of their own.
const ROOM_FOR_OTHERS: u64 = 1024;

/// The program in which [`crate::launcher_main`] runs: the host's own executable in a hidden role.
#[derive(Debug, Clone)]
pub struct Launcher {
    /// Its path. `/proc/self/exe` stays right when the file is replaced while the host runs.
    pub program: PathBuf,
    /// Arguments that choose the role, e.g. `jail`.
    pub arguments: Vec<OsString>,
}

/// A running jail. Dropping it ends everything inside, and waits for that some milliseconds; so does the end of the host,
/// in whatever way.
#[derive(Debug)]
pub struct Jailed {
    standing: Standing,
    pidfd: OwnedFd,
    launcher: Child,
    /// The launcher ends everything when this closes.
    lifeline: Option<UnixStream>,
    stderr: Option<OwnedFd>,
    readable: Vec<Readable>,
}

/// Starts a jail. Blocks for some milliseconds, at most 10 s; may be called on any thread. `control` becomes descriptor 3
/// of the program.
///
/// # Errors
///
/// [`JailError::BelowMinimum`] if the layers that work here do not suffice, else what failed.
pub fn spawn(spec: &JailSpec, launcher: &Launcher, control: OwnedFd) -> Result<Jailed, JailError> {
    let failed = |source| JailError::Launcher {
        program: launcher.program.clone(),
        source,
    };
    let (lifeline, far_end) = UnixStream::pair().map_err(failed)?;
    lifeline.set_read_timeout(Some(PATIENCE)).map_err(failed)?;
    lifeline.set_write_timeout(Some(PATIENCE)).map_err(failed)?;
    let (stderr, stderr_end) = io::pipe().map_err(failed)?;
    // The launcher watches the lifeline. A signal at the end of its parent would come too early: that parent is a thread.
    let mut command = plain_command(&launcher.program, Path::new("/"));
    command
        .args(&launcher.arguments)
        // A signal from the terminal is for the host, which ends its jails in its own time.
        .process_group(0)
        .stdin(OwnedFd::from(far_end))
        .stdout(Stdio::null())
        .stderr(stderr_end);
    crate::command::close_inherited(&mut command);
    let mut child = command.spawn().map_err(failed)?;
    // The command holds the far ends, whose closing tells that the launcher has ended.
    drop(command);
    let sent = send(&lifeline, spec, &[control.as_fd()]);
    // From here on only the jail has it, and its end can be seen on the other side.
    drop(control);
    let report = sent.and_then(|()| receive(&lifeline));
    let (standing, mut fds) = match report {
        Ok((Report::Stands(standing), fds)) => (standing, fds),
        Ok((report, _)) => {
            end(&mut child);
            return Err(refusal(report));
        }
        Err(error) => {
            end(&mut child);
            return Err(JailError::LauncherEnded {
                detail: last_words(stderr, &error),
            });
        }
    };
    let Some(pidfd) = fds.pop() else {
        end(&mut child);
        return Err(JailError::LauncherEnded {
            detail: "it sent no pidfd".to_owned(),
        });
    };
    let readable = readable(spec, &standing);
    Ok(Jailed {
        standing,
        pidfd,
        launcher: child,
        lifeline: Some(lifeline),
        stderr: Some(stderr.into()),
        readable,
    })
}

impl Jailed {
    /// The layers that are on in this jail and for its workers.
    pub fn layers(&self) -> Layers {
        self.standing.layers
    }

    /// Why layers that were asked for are off, one sentence each; for the log.
    pub fn notes(&self) -> &[String] {
        &self.standing.notes
    }

    /// The process id of the program, on the host.
    pub fn pid(&self) -> u32 {
        self.standing.pid
    }

    /// A pidfd of the program: readable when it has ended.
    pub fn pidfd(&self) -> BorrowedFd<'_> {
        self.pidfd.as_fd()
    }

    /// What the program and its launcher write to descriptor 2: a pipe, to be drained and bounded by the caller. `None`
    /// after the first call. Workers do not have it.
    pub fn take_stderr(&mut self) -> Option<OwnedFd> {
        self.stderr.take()
    }

    /// Memory of the program as of now.
    ///
    /// # Errors
    ///
    /// [`JailError::State`] if it has ended.
    pub fn memory(&self) -> Result<MemoryUse, JailError> {
        MemoryUse::of(self.standing.pid)
    }

    /// The plan by which a worker forked by the program locks itself in. To be asked for when the program has imported
    /// all that its workers share: its memory of now is what they start with.
    ///
    /// # Errors
    ///
    /// [`JailError::State`] or [`JailError::Plan`].
    pub fn seal_plan(&self, limits: &WorkerLimits) -> Result<SealPlan, JailError> {
        let other_tasks = if self.standing.has_user_namespace {
            0
        } else {
            // It is counted together with all that its user runs, now and later.
            count_tasks(self.standing.pid)? + ROOM_FOR_OTHERS
        };
        let base = self.memory()?;
        make_plan(&Worker {
            standing: &self.standing,
            limits,
            base,
            readable: &self.readable,
            other_tasks,
        })
    }

    /// Kills the program and everything in the jail.
    ///
    /// # Errors
    ///
    /// Those of `pidfd_send_signal(2)`.
    pub fn kill(&self) -> io::Result<()> {
        kill_process(&self.pidfd)
    }

    /// Waits for the end of the program; blocks. A signal shows as code 128 and its number.
    ///
    /// # Errors
    ///
    /// Those of `waitpid(2)`.
    pub fn wait(&mut self) -> io::Result<ExitStatus> {
        self.launcher.wait()
    }
}

impl Drop for Jailed {
    fn drop(&mut self) {
        // Either suffices; the launcher then cleans up and ends.
        let _ = self.kill();
        self.lifeline = None;
        // Without this the launcher would stay behind as a zombie.
        let _ = self.launcher.wait();
    }
}

fn end(child: &mut Child) {
    // Both fail only if it has ended and been waited for already.
    let _ = child.kill();
    let _ = child.wait();
}

fn refusal(report: Report) -> JailError {
    match report {
        Report::Failed(Failure {
            step,
            cause,
            errno,
            is_refusal: _,
        }) => JailError::Step { step, cause, errno },
        Report::BelowMinimum { missing, fix } => JailError::BelowMinimum { missing, fix },
        Report::Stands(_) => JailError::LauncherEnded {
            detail: "it told of no failure".to_owned(),
        },
    }
}

/// The start of what a launcher that has ended wrote, for the message.
fn last_words(stderr: io::PipeReader, error: &io::Error) -> String {
    const ENOUGH: u64 = 2000;
    let mut words = Vec::new();
    // What cannot be read is not told.
    let _ = io::Read::read_to_end(&mut io::Read::take(stderr, ENOUGH), &mut words);
    let words = String::from_utf8_lossy(&words);
    if words.trim().is_empty() {
        error.to_string()
    } else {
        words.trim().to_owned()
    }
}

/// What workers may read, by the paths that they see.
fn readable(spec: &JailSpec, standing: &Standing) -> Vec<Readable> {
    let binds = spec.binds.iter().filter(|bind| bind.source.exists()).map(|bind| Readable {
        // Without an own root the target is a link at most, and the right is the source's.
        path: if standing.root.is_empty() { &bind.target } else { &bind.source }.clone(),
        is_directory: bind.source.is_dir(),
    });
    let files = spec.files.iter().map(|file| Readable {
        path: PathBuf::from(format!("{}{}", standing.root, file.path.display())),
        is_directory: false,
    });
    binds.chain(files).collect()
}
