//! Machines that lack a part of the jail: what is on there, what is said of it, and where the jail is refused.
//!
//! It is the kernel that lacks it, for the launcher alone; see `tests/machines/run_on.py`.

use std::os::unix::fs::PermissionsExt;

use mce_jail::{JailError, Layers, spawn};
use serde_json::json;

use crate::harness::{ALL, Jail, launcher_on, limits, pair, spec};

/// A jail of all layers that the machine has.
fn start(machine: &[&str]) -> Jail {
    Jail::launched(&spec(ALL), &launcher_on(machine), &limits()).unwrap()
}

#[test]
fn what_a_machine_lacks_is_off_and_told() {
    let on = |namespaces, landlock| Layers {
        namespaces,
        landlock,
        ..ALL
    };
    for (machine, layers, note) in [
        (&["--user"][..], on(true, true), ""),
        (&["--no-user-namespaces"], on(true, true), ""),
        (
            &["--no-landlock"],
            on(true, false),
            "landlock: Function not implemented (os error 38)",
        ),
        (
            &["--user", "--no-landlock"],
            on(true, false),
            "landlock: Function not implemented (os error 38)",
        ),
        (
            &["--container"],
            on(false, true),
            "namespaces: failed to unshare namespaces: Operation not permitted (os error 1)",
        ),
        (
            &["--container", "--user"],
            on(false, true),
            "namespaces: failed to fork into new namespaces: No space left on device (os error 28)",
        ),
    ] {
        let jail = start(machine);
        // An ordinary user that runs the tests never is root in a container.
        let is_root = rustix::process::geteuid().is_root();
        if is_root || machine.contains(&"--user") {
            assert_eq!(jail.jailed.layers(), layers, "{machine:?}");
            assert_eq!(jail.jailed.notes().join("; "), note, "{machine:?}");
        }
        let program = "
import os, socket
def connect(): socket.create_connection(('127.0.0.1', 9), 1)
result = [attempt(connect), attempt(open, '/etc/shadow'), attempt(os.fork), os.getuid() != 0]
";
        let file = if layers.namespaces { "ENOENT" } else { "EACCES" };
        assert_eq!(jail.value(program), json!(["EPERM", file, "EPERM", true]), "{machine:?}");
    }
}

#[test]
fn where_too_much_is_lacking_no_jail_is_made() {
    for (machine, missing, fix) in [
        (
            &["--container", "--no-landlock"][..],
            "keep programs from the files of the host",
            "Landlock",
        ),
        (
            &["--container", "--user", "--no-landlock"],
            "keep programs from the files of the host",
            "user namespaces",
        ),
        (&["--container", "--no-seccomp"], "seccomp", "CONFIG_SECCOMP_FILTER"),
    ] {
        let Err(JailError::BelowMinimum {
            missing: found,
            fix: advice,
        }) = spawn(&spec(ALL), &launcher_on(machine), pair().1)
        else {
            panic!("{machine:?}: a jail was made")
        };
        assert!(found.contains(missing), "{machine:?}: {found}");
        assert!(advice.contains(fix) || advice.contains("user namespaces"), "{machine:?}: {advice}");
    }
}

#[test]
fn a_program_in_a_folder_of_roots_starts_without_namespaces() {
    if !rustix::process::geteuid().is_root() {
        // Nobody else keeps anything from `nobody` that it can start itself.
        return;
    }
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let program = folder.path().join("python");
    std::fs::copy("/usr/bin/python3", &program).unwrap();
    std::fs::set_permissions(folder.path(), PermissionsExt::from_mode(0o700)).unwrap();
    let mut spec = spec(crate::harness::WITHOUT_NAMESPACES);
    spec.binds.push(mce_jail::Bind::same(&program));
    spec.arguments[0] = program.to_string_lossy().into_owned();
    let jail = Jail::with(&spec, crate::harness::Who::Tester, &limits()).unwrap();
    let read = format!("result = [attempt(open, '{}'), 1]", program.display());
    assert_eq!(jail.value(&read), json!(["EACCES", 1]));
}
