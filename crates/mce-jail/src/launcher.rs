//! The launcher: a single-threaded process that builds a jail, starts its program and waits for its end.
//!
//! It stays outside the PID namespace, so that only the host can signal it, and ends as soon as the host closes its end of
//! descriptor 0, in whatever way the host ended. The program dies with the launcher.

use std::io::{self, Read as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::SystemTime;

use libc::{CLONE_NEWPID, CLONE_NEWUSER, c_int};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::io::fcntl_dupfd_cloexec;
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{Pid, PidfdFlags, Signal, WaitOptions, geteuid, getgid, getpid, getuid, kill_process, pidfd_open, umask, waitpid};
use rustix::thread::set_thread_groups;

use crate::first_process::{FirstProcess, Identity, NOBODY, can_change_identity, name_host};
use crate::handshake::{DuringStep as _, Failure, Report, Standing, receive, send};
use crate::layers::{self, OUTER};
use crate::root::{build_root, names_of};
use crate::spec::JailSpec;
use crate::system_call::{Side, duplicate_process, unshare};

/// Descriptors that the launcher owns are moved to this number and above, so that those of the program are free.
pub(crate) const FIRST_OWN_FD: i32 = 10;

/// The user and group that the program has inside, so that it is not root there either.
const INSIDE_ID: u32 = 1000;

/// The whole of a launcher. To be called first thing in `main`, before any thread is started. Descriptor 0 is a socket to
/// the host, which sends the [`JailSpec`] over it; see [`crate::spawn`].
pub fn launcher_main() -> ExitCode {
    umask(Mode::from_raw_mode(0o022));
    let Ok(lifeline) = io::stdin().as_fd().try_clone_to_owned().and_then(above_program) else {
        return ExitCode::FAILURE;
    };
    let lifeline = UnixStream::from(lifeline);
    match Launch::receive(&lifeline).map_err(Report::Failed).and_then(Launch::start) {
        Ok(jail) => jail.attend(&lifeline),
        Err(report) => {
            // A host that has gone needs no report.
            let _ = send(&lifeline, &report, &[]);
            ExitCode::FAILURE
        }
    }
}

/// What a launcher starts with.
struct Launch {
    spec: JailSpec,
    control: OwnedFd,
    /// The host's `/proc`, opened before the root changes.
    proc: OwnedFd,
}

/// A jail whose program runs.
struct Jail {
    program: Pid,
    pidfd: OwnedFd,
    standing: Standing,
    /// Removed at the end.
    private_directory: Option<PathBuf>,
    /// Its closing tells the program that the launcher has gone.
    _gate: OwnedFd,
}

/// How to start the program's process.
struct Start<'a> {
    new_namespaces: c_int,
    builds_root: bool,
    identity: Identity,
    root: &'a str,
}

impl Launch {
    fn receive(lifeline: &UnixStream) -> Result<Self, Failure> {
        let (spec, fds) = receive(lifeline).during(|| "receive the specification".to_owned())?;
        let control = fds.into_iter().next().ok_or_else(|| io::Error::from(io::ErrorKind::NotFound));
        let control = control.and_then(above_program).during(|| "receive the control socket".to_owned())?;
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let proc = openat(CWD, "/proc", flags, Mode::empty())
            .map_err(io::Error::from)
            .and_then(above_program);
        Ok(Self {
            spec,
            control,
            proc: proc.during(|| "open `/proc`".to_owned())?,
        })
    }

    fn start(self) -> Result<Jail, Report> {
        let (mut on, mut notes) = layers::working(self.spec.layers);
        if on.namespaces {
            on.check_minimum(self.spec.layers, &notes, layers::has_vsock)?;
            match self.start_in_namespaces() {
                Ok((jail, has_user_namespace)) => {
                    let standing = Standing {
                        layers: on,
                        has_user_namespace,
                        notes,
                        ..jail.standing
                    };
                    return Ok(Jail { standing, ..jail });
                }
                Err(failure) if failure.is_refusal => {
                    notes.push(format!("namespaces: failed to {}: {}", failure.step, failure.cause));
                    on.namespaces = false;
                }
                Err(failure) => return Err(Report::Failed(failure)),
            }
        }
        on.check_minimum(self.spec.layers, &notes, layers::has_vsock)?;
        let jail = self.start_without_namespaces().map_err(Report::Failed)?;
        let standing = Standing {
            layers: on,
            notes,
            ..jail.standing
        };
        Ok(Jail { standing, ..jail })
    }

    /// Real root builds the root file system before it gives up its rights, so that the binds may lie where `nobody`
    /// cannot look, and nobody inside owns the mounts. An ordinary user gets its rights from the new user namespace.
    fn start_in_namespaces(&self) -> Result<(Jail, bool), Failure> {
        if !geteuid().is_root() {
            let start = Start {
                new_namespaces: CLONE_NEWUSER | CLONE_NEWPID | OUTER,
                builds_root: true,
                identity: Identity::Mapped { id: INSIDE_ID },
                root: "",
            };
            return Ok((self.fork(&start)?, true));
        }
        set_thread_groups(&[])
            .during(|| "leave all groups".to_owned())
            .map_err(Failure::or_refusal)?;
        unshare(OUTER)
            .during(|| "unshare namespaces".to_owned())
            .map_err(Failure::or_refusal)?;
        name_host().and_then(|()| build_root(&self.spec)).map_err(Failure::or_refusal)?;
        let start = Start {
            new_namespaces: CLONE_NEWUSER | CLONE_NEWPID,
            builds_root: false,
            identity: Identity::Mapped { id: INSIDE_ID },
            root: "",
        };
        match self.fork(&start) {
            // Where user namespaces are switched off, root can still have the others.
            Err(failure) if failure.is_refusal => {
                let start = Start {
                    new_namespaces: CLONE_NEWPID,
                    identity: Identity::Nobody { is_admin: true },
                    ..start
                };
                let jail = self.fork(&start).map_err(|failure| Failure {
                    is_refusal: false,
                    ..failure
                })?;
                Ok((jail, false))
            }
            other => Ok((other?, true)),
        }
    }

    fn start_without_namespaces(&self) -> Result<Jail, Failure> {
        // The time makes the name new even if a launcher with this process id was killed and left its directory.
        let now = SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default().as_nanos();
        let directory = PathBuf::from(format!("/tmp/mce-jail-{}-{now:x}", getpid().as_raw_nonzero()));
        let identity = if can_change_identity() {
            set_thread_groups(&[]).during(|| "leave all groups".to_owned())?;
            Identity::Nobody { is_admin: false }
        } else {
            Identity::Unchanged
        };
        let jail = place_files(&self.spec, &directory).and_then(|()| {
            let root = directory.to_string_lossy();
            self.fork(&Start {
                new_namespaces: 0,
                builds_root: false,
                identity,
                root: &root,
            })
        });
        if jail.is_err() {
            // What was written so far; the error of the jail says more than one of this.
            let _ = fs_err::remove_dir_all(&directory);
        }
        Ok(Jail {
            private_directory: Some(directory),
            ..jail?
        })
    }

    /// Forks the program's process and waits until the program has been executed in it.
    fn fork(&self, start: &Start<'_>) -> Result<Jail, Failure> {
        let pipe = || pipe_with(PipeFlags::CLOEXEC).during(|| "make a pipe".to_owned());
        let (gate, opener) = pipe()?;
        let (answer, report) = pipe()?;
        let program = match duplicate_process(start.new_namespaces).during(|| "fork into new namespaces".to_owned()) {
            Ok(Side::Child) => {
                drop((opener, answer));
                let first = FirstProcess {
                    spec: &self.spec,
                    control: &self.control,
                    proc: &self.proc,
                    keeps_proc: start.new_namespaces != 0,
                    gate,
                    builds_root: start.builds_root,
                    identity: start.identity,
                    root: start.root,
                };
                first.run(report)
            }
            Ok(Side::Parent(pid)) => pid,
            Err(failure) => return Err(failure.or_refusal()),
        };
        drop((gate, report));
        self.open_gate(program, start, &opener)
            .and_then(|()| read_answer(answer))
            .inspect_err(|_| end(program))?;
        let pidfd = pidfd_open(program, PidfdFlags::empty()).during(|| "open the program's pidfd".to_owned())?;
        let standing = Standing {
            pid: program.as_raw_nonzero().get().unsigned_abs(),
            layers: self.spec.layers,
            has_user_namespace: false,
            root: start.root.to_owned(),
            notes: Vec::new(),
        };
        Ok(Jail {
            program,
            pidfd,
            standing,
            private_directory: None,
            _gate: opener,
        })
    }

    /// Lets the child go on, after giving it its ids.
    fn open_gate(&self, program: Pid, start: &Start<'_>, opener: &OwnedFd) -> Result<(), Failure> {
        if start.new_namespaces & CLONE_NEWUSER != 0 {
            let (user, group) = if geteuid().is_root() {
                (NOBODY, NOBODY)
            } else {
                (getuid().as_raw(), getgid().as_raw())
            };
            let maps = [
                ("setgroups", "deny".to_owned()),
                ("uid_map", format!("{INSIDE_ID} {user} 1")),
                ("gid_map", format!("{INSIDE_ID} {group} 1")),
            ];
            for (name, text) in maps {
                let path = format!("{}/{name}", program.as_raw_nonzero());
                openat(&self.proc, path, OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty())
                    .and_then(|file| rustix::io::write(file, text.as_bytes()))
                    .during(|| format!("write `{name}` of the user namespace"))
                    .map_err(Failure::or_refusal)?;
            }
        }
        rustix::io::write(opener, b"!")
            .during(|| "let the program start".to_owned())
            .map(drop)
    }
}

impl Jail {
    /// Tells the host that the jail stands, and waits for the end of the program or of the host.
    fn attend(self, lifeline: &UnixStream) -> ExitCode {
        let sent = send(lifeline, &Report::Stands(self.standing), &[self.pidfd.as_fd()]);
        if sent.is_ok() {
            // Nothing is asked for on the lifeline: that the host has closed it is always told.
            let mut waiting = [PollFd::new(lifeline, PollFlags::empty()), PollFd::new(&self.pidfd, PollFlags::IN)];
            while matches!(poll(&mut waiting, None), Err(rustix::io::Errno::INTR)) {}
        }
        // It has ended already, or must.
        let _ = kill_process(self.program, Signal::KILL);
        let status = waitpid(Some(self.program), WaitOptions::empty());
        if let Some(directory) = self.private_directory {
            // Nobody is left who could be told.
            let _ = fs_err::remove_dir_all(directory);
        }
        let Ok(Some((_, status))) = status else { return ExitCode::FAILURE };
        let code = status
            .exit_status()
            .or_else(|| status.terminating_signal().map(|signal| 128 + signal));
        code.and_then(|code| u8::try_from(code).ok())
            .map_or(ExitCode::FAILURE, ExitCode::from)
    }
}

fn above_program(fd: OwnedFd) -> io::Result<OwnedFd> {
    Ok(fcntl_dupfd_cloexec(fd, FIRST_OWN_FD)?)
}

/// Nothing, if the program was executed; else what its process reported.
fn read_answer(answer: OwnedFd) -> Result<(), Failure> {
    let mut text = Vec::new();
    io::PipeReader::from(answer)
        .read_to_end(&mut text)
        .during(|| "wait for the program".to_owned())?;
    if text.is_empty() {
        Ok(())
    } else {
        Err(serde_json::from_slice(&text).during(|| "read the report".to_owned())?)
    }
}

fn end(program: Pid) {
    // Both fail only if it has ended already.
    let _ = kill_process(program, Signal::KILL);
    let _ = waitpid(Some(program), WaitOptions::empty());
}

/// Writes the files of a jail that has no root of its own.
fn place_files(spec: &JailSpec, directory: &Path) -> Result<(), Failure> {
    use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
    let step = || format!("make `{}`", directory.display());
    // Fails if somebody was here first.
    std::fs::DirBuilder::new().mode(0o755).create(directory).during(step)?;
    let place = |inside: &Path| {
        let path = names_of(inside)?
            .into_iter()
            .fold(directory.to_owned(), |path, name| path.join(name));
        if let Some(parent) = path.parent() {
            fs_err::create_dir_all(parent).during(step)?;
        }
        Ok(path)
    };
    for bind in spec.binds.iter().filter(|bind| bind.source != bind.target) {
        fs_err::os::unix::fs::symlink(&bind.source, place(&bind.target)?).during(step)?;
    }
    for file in &spec.files {
        let path = place(&file.path)?;
        let mut options = fs_err::OpenOptions::new();
        options.write(true).create_new(true).options_mut().mode(file.mode);
        options
            .open(&path)
            .and_then(|mut open| io::Write::write_all(&mut open, &file.bytes))
            .during(step)?;
    }
    Ok(())
}
