//! What happens in the process that becomes the program, from the fork to the exec.

use std::io;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::os::unix::process::CommandExt as _;
use std::path::Path;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::io::fcntl_dupfd_cloexec;
use rustix::process::{Gid, Resource, Rlimit, Signal, Uid, geteuid, set_parent_process_death_signal, setrlimit, setsid};
use rustix::thread::{
    CapabilitySet, CapabilitySets, capabilities, clear_ambient_capability_set, configure_capability_in_ambient_set,
    remove_capability_from_bounding_set, set_capabilities, set_keep_capabilities, set_no_new_privs, set_thread_res_gid, set_thread_res_uid,
};

use crate::command::plain_command;
use crate::handshake::{DuringStep as _, Failure};
use crate::launcher::FIRST_OWN_FD;
use crate::root::build_root;
use crate::seal_steps::NO_CORE;
use crate::spec::{CONTROL_FD, JailSpec, PROC_FD, ROOT};
use crate::system_call::{close_on_exec_from, enter_empty_key_ring, place_descriptor};

/// The user and group `nobody` of the host.
pub(crate) const NOBODY: u32 = 65_534;

/// How much sooner than others, of 1000, the fork server is chosen when memory runs out. Its workers come first.
const FORK_SERVER_KILL_SCORE: &str = "500";

/// Who the program is.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Identity {
    /// A user of a new user namespace, whose administrator it is.
    Mapped {
        /// Its user and group inside.
        id: u32,
    },
    /// `nobody` of the host.
    Nobody {
        /// It keeps the right to make namespaces for its workers.
        is_admin: bool,
    },
    /// The user that the host is.
    Unchanged,
}

/// What the program's process starts with.
pub(crate) struct FirstProcess<'a> {
    pub(crate) spec: &'a JailSpec,
    pub(crate) control: &'a OwnedFd,
    /// The host's `/proc`.
    pub(crate) proc: &'a OwnedFd,
    /// The program gets it, too.
    pub(crate) keeps_proc: bool,
    /// A pipe from which one byte comes when the ids are mapped, and whose other end closes with the launcher.
    pub(crate) gate: OwnedFd,
    pub(crate) builds_root: bool,
    pub(crate) identity: Identity,
    pub(crate) root: &'a str,
}

impl FirstProcess<'_> {
    /// Becomes the program. If that fails, says so on `report`, which else closes when the program is executed. A forked
    /// child must never return into its parent's code, so that this does not.
    pub(crate) fn run(self, report: OwnedFd) -> ! {
        let Err(failure) = self.execute();
        // A launcher that has gone needs no report.
        let _ = serde_json::to_writer(io::PipeWriter::from(report), &failure);
        std::process::exit(1)
    }

    /// The order matters: each step takes away something that an earlier one needs.
    fn execute(self) -> Result<std::convert::Infallible, Failure> {
        self.die_with_launcher()?;
        let mut byte = [0];
        if rustix::io::read(&self.gate, &mut byte).during(|| "wait for the launcher".to_owned())? == 0 {
            return Err(io::Error::from(io::ErrorKind::BrokenPipe)).during(|| "wait for the launcher".to_owned());
        }
        if self.builds_root {
            name_host().and_then(|()| build_root(self.spec)).map_err(Failure::or_refusal)?;
        }
        self.prefer_for_killing();
        // The host's key ring would come along. Without the filter programs can use key rings, and find these empty.
        let _ = enter_empty_key_ring();
        setsid().during(|| "start a session".to_owned())?;
        if self.spec.layers.rlimits {
            self.set_limits()?;
        }
        let file = self.open_program();
        self.change_identity()?;
        set_no_new_privs(true).during(|| "give up new privileges".to_owned())?;
        // A change of user or capabilities has undone the first time.
        self.die_with_launcher()?;
        self.place_descriptors()?;
        let error = self.program(file.as_ref())?.exec();
        Err(error).during(|| format!("execute `{}`", self.spec.arguments.first().map_or("", String::as_str)))
    }

    fn die_with_launcher(&self) -> Result<(), Failure> {
        let step = || "tie the program to its launcher".to_owned();
        set_parent_process_death_signal(Some(Signal::KILL)).during(step)?;
        // The launcher may have ended before the line above took effect.
        let mut gate = [PollFd::new(&self.gate, PollFlags::empty())];
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        if poll(&mut gate, Some(&now)).during(step)? > 0 {
            Err(io::Error::from(io::ErrorKind::BrokenPipe)).during(step)
        } else {
            Ok(())
        }
    }

    /// When the machine's memory runs out, the kernel shall end jails before the host and before other programs. Where it
    /// cannot be told so, the jail is no less closed.
    fn prefer_for_killing(&self) {
        let flags = OFlags::WRONLY | OFlags::CLOEXEC;
        let told = openat(self.proc, "self/oom_score_adj", flags, Mode::empty());
        let _ = told.and_then(|file| rustix::io::write(file, FORK_SERVER_KILL_SCORE.as_bytes()));
    }

    fn set_limits(&self) -> Result<(), Failure> {
        let set = |resource, limit| {
            setrlimit(
                resource,
                Rlimit {
                    current: Some(limit),
                    maximum: Some(limit),
                },
            )
            .during(|| format!("set the limit {resource:?}"))
        };
        set(Resource::Core, NO_CORE)?;
        // Processes are counted for each user namespace. Without one, the count is that of the whole machine.
        if let Identity::Mapped { .. } = self.identity {
            set(Resource::Nproc, self.spec.processes.into())?;
        }
        Ok(())
    }

    fn change_identity(&self) -> Result<(), Failure> {
        let step = || "change the user".to_owned();
        let (id, keeps) = match self.identity {
            Identity::Mapped { id } => (id, CapabilitySet::SYS_ADMIN),
            Identity::Nobody { is_admin: true } => (NOBODY, CapabilitySet::SYS_ADMIN),
            Identity::Nobody { is_admin: false } => (NOBODY, CapabilitySet::empty()),
            Identity::Unchanged => return set_capabilities(None, only(CapabilitySet::empty())).during(step),
        };
        // What is kept must be inheritable before the bounding set is emptied, which is itself a capability and comes
        // before the change of user.
        let all = capabilities(None).during(step)?;
        let inheritable = all.inheritable | keeps;
        set_capabilities(None, CapabilitySets { inheritable, ..all }).during(step)?;
        empty_bounding_set()?;
        set_keep_capabilities(true).during(step)?;
        let (user, group) = (Uid::from_raw(id), Gid::from_raw(id));
        set_thread_res_gid(group, group, group).during(step)?;
        set_thread_res_uid(user, user, user).during(step)?;
        keep_capabilities(keeps)
    }

    fn place_descriptors(&self) -> Result<(), Failure> {
        let step = || "open the program's descriptors".to_owned();
        let null = openat(CWD, "/dev/null", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty()).during(step)?;
        place_descriptor(&null, 0).during(step)?;
        place_descriptor(&null, 1).during(step)?;
        // It may have one of the numbers that are placed now.
        drop(null);
        // All that is inherited closes on exec, then the program's own are put in place. Descriptor 2 is already there.
        close_on_exec_from(3).during(step)?;
        place_descriptor(self.control, CONTROL_FD).during(step)?;
        if self.keeps_proc {
            place_descriptor(self.proc, PROC_FD).during(step)
        } else {
            Ok(())
        }
    }

    /// The program's file, where it may lie in a folder of root's that `nobody` cannot enter. With a root file system of its
    /// own the jail has no such folder.
    fn open_program(&self) -> Option<OwnedFd> {
        let Identity::Nobody { is_admin: false } = self.identity else {
            return None;
        };
        let path = self.spec.arguments.first()?.replace(ROOT, self.root);
        // What cannot be opened is told when it is executed.
        let file = openat(CWD, path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty()).ok()?;
        fcntl_dupfd_cloexec(file, FIRST_OWN_FD).ok()
    }

    fn program(&self, file: Option<&OwnedFd>) -> Result<std::process::Command, Failure> {
        let filled = |text: &str| text.replace(ROOT, self.root);
        let mut arguments = self.spec.arguments.iter().map(|argument| filled(argument));
        let program = arguments.next().ok_or_else(|| io::Error::other("no program is named"));
        let program = program.during(|| "find the program".to_owned())?;
        let path = file.map_or_else(|| program.clone(), |file| format!("/proc/self/fd/{}", file.as_raw_fd()));
        let mut command = plain_command(path, Path::new(&filled(&self.spec.directory)));
        command
            .arg0(program)
            .args(arguments)
            .envs(self.spec.environment.iter().map(|(name, value)| (name, filled(value))));
        Ok(command)
    }
}

/// Gives the jail a host name of its own.
pub(crate) fn name_host() -> Result<(), Failure> {
    rustix::system::sethostname(b"mce").during(|| "set the host name".to_owned())
}

/// Whether this process can become another user for good.
pub(crate) fn can_change_identity() -> bool {
    let needed = CapabilitySet::SETUID | CapabilitySet::SETGID | CapabilitySet::SETPCAP;
    geteuid().is_root() && capabilities(None).is_ok_and(|sets| sets.effective.contains(needed))
}

/// Afterwards no program that is executed can gain a capability from its file.
fn empty_bounding_set() -> Result<(), Failure> {
    for bit in 0..u64::BITS {
        match remove_capability_from_bounding_set(CapabilitySet::from_bits_retain(1 << bit)) {
            // The kernel knows no further one.
            Err(rustix::io::Errno::INVAL) => break,
            other => other.during(|| "drop capabilities".to_owned())?,
        }
    }
    Ok(())
}

/// Drops all capabilities but `keeps` from the other sets; those that are kept survive the exec.
fn keep_capabilities(keeps: CapabilitySet) -> Result<(), Failure> {
    let step = || "drop capabilities".to_owned();
    set_capabilities(None, only(keeps)).during(step)?;
    clear_ambient_capability_set().during(step)?;
    for capability in keeps.iter() {
        configure_capability_in_ambient_set(capability, true).during(step)?;
    }
    Ok(())
}

fn only(capabilities: CapabilitySet) -> CapabilitySets {
    CapabilitySets {
        effective: capabilities,
        permitted: capabilities,
        inheritable: capabilities,
    }
}
