//! The layers of the jail: which to use, which this machine has, and whether they suffice.

use std::io;
use std::os::unix::process::CommandExt as _;
use std::path::Path;

use libc::{CLONE_NEWCGROUP, CLONE_NEWIPC, CLONE_NEWNET, CLONE_NEWNS, CLONE_NEWPID, CLONE_NEWUSER, CLONE_NEWUTS, c_int};
use rustix::fs::CWD;
use rustix::io::Errno;
use rustix::mount::{MountPropagationFlags, mount_change};
use rustix::net::{AddressFamily, SocketType, socket};
use rustix::process::geteuid;
use serde::{Deserialize, Serialize};

use crate::command::plain_command;
use crate::first_process::can_change_identity;
use crate::handshake::Report;
use crate::system_call::{has_seccomp_filters, landlock_version, set_mount_attributes, unshare};

/// The namespaces that a process enters without a fork.
pub(crate) const OUTER: c_int = CLONE_NEWNS | CLONE_NEWIPC | CLONE_NEWNET | CLONE_NEWUTS | CLONE_NEWCGROUP;

/// From this version on Landlock also refuses to truncate files (Linux 6.2). An older one cannot stand alone.
const LANDLOCK_ALONE: u32 = 3;

const FILES_FIX: &str = "allow user namespaces, or run as root with CAP_SYS_ADMIN; or use Linux 6.2 or newer with Landlock";
const NAMESPACES_FIX: &str = "allow user namespaces (sysctl `user.max_user_namespaces`, `kernel.unprivileged_userns_clone`, \
     `kernel.apparmor_restrict_unprivileged_userns`; in a container also its seccomp profile), or run as root with CAP_SYS_ADMIN; \
     Linux 5.12 or newer";
const LANDLOCK_FIX: &str = "use Linux 6.2 or newer with Landlock in its list of security modules (boot parameter `lsm=landlock,...`)";
const SECCOMP_FIX: &str = "use a kernel with CONFIG_SECCOMP_FILTER on x86_64 or aarch64";

/// A choice of layers. Each alone stops what it is for; together they stop it twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Layers {
    /// User, mount, PID, network, IPC, UTS and cgroup namespaces with an own root file system.
    pub namespaces: bool,
    /// Landlock: files, TCP ports, signals and abstract sockets.
    pub landlock: bool,
    /// The list of allowed system calls. Without it programs reach parts of the kernel that no other layer covers, such as
    /// key rings, `userfaultfd`, `perf_event_open` and, in a virtual machine, `vsock` sockets.
    pub seccomp: bool,
    /// Resource limits.
    pub rlimits: bool,
}

/// What `mce doctor` says about one layer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LayerStatus {
    /// `namespaces`, `landlock`, `seccomp` or `rlimits`.
    pub name: &'static str,
    /// A jail started now would have it.
    pub is_on: bool,
    /// What was found, in words.
    pub detail: String,
    /// What to do to get it; empty if it is on.
    pub fix: String,
}

impl Layers {
    /// All layers.
    pub const ALL: Self = Self {
        namespaces: true,
        landlock: true,
        seccomp: true,
        rlimits: true,
    };

    /// All layers but the named ones: `namespaces`, `landlock`, `seccomp`, `rlimits`. `None` if a name is unknown.
    pub fn without<'a>(names: impl IntoIterator<Item = &'a str>) -> Option<Self> {
        let mut layers = Self::ALL;
        for name in names {
            match name {
                "namespaces" => layers.namespaces = false,
                "landlock" => layers.landlock = false,
                "seccomp" => layers.seccomp = false,
                "rlimits" => layers.rlimits = false,
                _ => return None,
            }
        }
        Some(layers)
    }

    /// Whether these layers keep the minimum: no network, no files of the host, no new processes. Who switches the filter
    /// off has chosen what it alone closes; where the machine lacks it, nobody has.
    pub(crate) fn check_minimum(self, wanted: Self, notes: &[String], has_vsock: impl Fn() -> bool) -> Result<(), Report> {
        let refuse = |what: &str, fix: &str| {
            let missing = [&[what.to_owned()], notes].concat().join("; ");
            Err(Report::BelowMinimum {
                missing,
                fix: fix.to_owned(),
            })
        };
        let landlock_suffices = || self.landlock && landlock_version().is_ok_and(|version| version >= LANDLOCK_ALONE);
        if !self.namespaces && !self.seccomp {
            return refuse("neither namespaces nor seccomp keep programs from the network", NAMESPACES_FIX);
        }
        if wanted.seccomp && !self.seccomp && has_vsock() {
            return refuse("only seccomp keeps programs from the `vsock` network of this machine", SECCOMP_FIX);
        }
        if !self.namespaces && !landlock_suffices() {
            return refuse(
                "neither namespaces nor Landlock (version 3) keep programs from the files of the host",
                FILES_FIX,
            );
        }
        if !self.seccomp && !self.rlimits {
            return refuse("neither seccomp nor limits keep programs from new processes", SECCOMP_FIX);
        }
        Ok(())
    }
}

/// Programs would run as `nobody` among the host's own files: root without namespaces starts them. They can then read only
/// what everybody may. Tries namespaces out, in a process of its own.
pub fn runs_as_nobody(wanted: Layers) -> bool {
    can_change_identity() && (!wanted.namespaces || try_namespaces().is_err())
}

/// Those of the `wanted` layers that this machine has, and why others are off. Namespaces are tried out by use only.
pub(crate) fn working(wanted: Layers) -> (Layers, Vec<String>) {
    let mut notes = Vec::new();
    let mut keep = |name: &str, is_wanted: bool, test: &dyn Fn() -> io::Result<()>| match test() {
        Err(error) if is_wanted => {
            notes.push(format!("{name}: {error}"));
            false
        }
        _ => is_wanted,
    };
    let layers = Layers {
        landlock: keep("landlock", wanted.landlock, &|| landlock_version().map(drop)),
        seccomp: keep("seccomp", wanted.seccomp, &has_seccomp_filters),
        ..wanted
    };
    (layers, notes)
}

/// Tries each layer, in a process of its own where the attempt leaves traces, and says what this machine has.
pub fn probe() -> Vec<LayerStatus> {
    let status = |name, found: io::Result<String>, fix: &str| match found {
        Ok(detail) => LayerStatus {
            name,
            is_on: true,
            detail,
            fix: String::new(),
        },
        Err(error) => LayerStatus {
            name,
            is_on: false,
            detail: error.to_string(),
            fix: fix.to_owned(),
        },
    };
    vec![
        status("namespaces", try_namespaces(), NAMESPACES_FIX),
        status(
            "landlock",
            landlock_version().map(|version| format!("version {version}")),
            LANDLOCK_FIX,
        ),
        status(
            "seccomp",
            has_seccomp_filters().map(|()| "system calls can be filtered".to_owned()),
            SECCOMP_FIX,
        ),
        status("rlimits", Ok("set for each worker".to_owned()), ""),
    ]
}

/// This machine has sockets by which virtual machines and their host talk. No namespace isolates them.
pub(crate) fn has_vsock() -> bool {
    const VSOCK: AddressFamily = AddressFamily::from_raw(40);
    socket(VSOCK, SocketType::STREAM, None).is_ok()
}

/// Makes namespaces and a mount in a forked process, which then ends without executing anything.
fn try_namespaces() -> io::Result<String> {
    let attempt = |namespaces: c_int| -> io::Result<()> {
        let attempt = move || {
            unshare(namespaces)?;
            mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)?;
            match set_mount_attributes(CWD, libc::MOUNT_ATTR_NOSUID, false) {
                Err(error) if error.raw_os_error() == Some(libc::ENOSYS) => Err(error),
                // The directory need not be a mount: then the call is refused, but known.
                _ => Err(Errno::CANCELED.into()),
            }
        };
        let mut command = plain_command("/", Path::new("/"));
        // SAFETY: between fork and exec only async-signal-safe calls are allowed. `attempt` makes three plain system calls
        // on constants and neither allocates nor locks; its errors are made of numbers.
        unsafe { command.pre_exec(attempt) };
        match command.spawn() {
            Err(error) if error.raw_os_error() == Some(Errno::CANCELED.raw_os_error()) => Ok(()),
            Err(error) => Err(error),
            Ok(_) => Err(io::Error::other("a process that should have ended did not")),
        }
    };
    if attempt(OUTER | CLONE_NEWUSER | CLONE_NEWPID).is_ok() {
        return Ok("user, mount, PID, network, IPC, UTS and cgroup namespaces".to_owned());
    }
    if geteuid().is_root() {
        attempt(OUTER | CLONE_NEWPID)?;
        return Ok("mount, PID, network, IPC, UTS and cgroup namespaces; no user namespace".to_owned());
    }
    attempt(OUTER | CLONE_NEWUSER | CLONE_NEWPID).map(|()| String::new())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_filter_that_the_machine_lacks_is_missed_where_only_it_closes_a_network() {
        let off = Layers {
            seccomp: false,
            ..Layers::ALL
        };
        assert!(Layers::ALL.check_minimum(Layers::ALL, &[], || true).is_ok());
        assert!(off.check_minimum(Layers::ALL, &[], || false).is_ok());
        assert!(off.check_minimum(off, &[], || true).is_ok(), "it was switched off on purpose");
        let Err(Report::BelowMinimum { missing, .. }) = off.check_minimum(Layers::ALL, &["seccomp: none".to_owned()], || true) else {
            panic!("programs would have a network")
        };
        assert_eq!(
            missing,
            "only seccomp keeps programs from the `vsock` network of this machine; seccomp: none"
        );
    }
}
