//! How jails start, fail to start, and end.

use std::io::{BufRead as _, BufReader};
use std::os::fd::{AsFd as _, AsRawFd as _, OwnedFd};
use std::path::Path;
use std::process::Stdio;

use mce_jail::{Bind, JailError, JailSpec, Layers, PlacedFile, command, probe, recv_with_fds, send_with_fds, spawn, with_lasting_parent};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use serde_json::json;

use crate::harness::{ALL, Jail, WITHOUT_NAMESPACES, Who, launcher, limits, pair, receive, shared, spec};

fn assert_ends(pidfd: &impl std::os::fd::AsFd) {
    let patience = Timespec { tv_sec: 10, tv_nsec: 0 };
    assert_eq!(
        poll(&mut [PollFd::new(pidfd, PollFlags::IN)], Some(&patience)).unwrap(),
        1,
        "the process has not ended"
    );
}

fn error(spec: &JailSpec) -> JailError {
    spawn(spec, &launcher(Who::Tester), pair().1).unwrap_err()
}

#[test]
fn dropping_a_jail_ends_it() {
    for layers in [ALL, WITHOUT_NAMESPACES] {
        let jail = Jail::start(layers, Who::Tester);
        let pidfd = jail.jailed.pidfd().try_clone_to_owned().unwrap();
        drop(jail);
        assert_ends(&pidfd);
    }
}

#[test]
fn killing_a_jail_ends_it_and_its_workers() {
    for layers in [ALL, WITHOUT_NAMESPACES] {
        let mut jail = Jail::start(layers, Who::Tester);
        let frame = jail.begin("frame.send(b'0')\nimport time\ntime.sleep(1000)");
        assert_eq!(receive(&frame), json!(0));
        jail.jailed.kill().unwrap();
        assert_eq!(jail.jailed.wait().unwrap().code(), Some(128 + 9));
        // The worker held the other end.
        assert_eq!(receive(&frame), json!(null));
    }
}

#[test]
fn killing_the_host_ends_the_jail() {
    for layers in [ALL, WITHOUT_NAMESPACES] {
        let spec = serde_json::to_string(&sleeper(layers)).unwrap();
        let host = env!("CARGO_BIN_EXE_mce-jail-launch");
        let start = move || command(host, Path::new("/")).args(["host", &spec]).stdout(Stdio::piped()).spawn();
        let mut host = with_lasting_parent(start).unwrap().unwrap();
        let mut line = String::new();
        BufReader::new(host.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        let pid = Pid::from_raw(line.trim().parse().unwrap()).unwrap();
        let pidfd = pidfd_open(pid, PidfdFlags::empty()).unwrap();
        host.kill().unwrap();
        host.wait().unwrap();
        assert_ends(&pidfd);
    }
}

fn sleeper(layers: Layers) -> JailSpec {
    let arguments = ["/usr/bin/sleep", "1000"].map(str::to_owned).to_vec();
    JailSpec { arguments, ..spec(layers) }
}

#[test]
fn a_jail_is_ended_before_others_when_memory_runs_out() {
    for (layers, who) in [(ALL, Who::Tester), (ALL, Who::User), (WITHOUT_NAMESPACES, Who::Tester)] {
        let jail = shared(layers, who);
        let score = std::fs::read_to_string(format!("/proc/{}/oom_score_adj", jail.jailed.pid())).unwrap();
        assert_eq!(score.trim(), "500", "{layers:?} {who:?}");
    }
    let jail = Jail::start(ALL, Who::Tester);
    let frame = jail.begin("frame.send(b'0')\nframe.recv(1)");
    assert_eq!(receive(&frame), json!(0));
    let server = jail.jailed.pid();
    let worker = std::fs::read_to_string(format!("/proc/{server}/task/{server}/children")).unwrap();
    let score = std::fs::read_to_string(format!("/proc/{}/oom_score_adj", worker.trim())).unwrap();
    assert_eq!(score.trim(), "900");
}

#[test]
fn many_workers_leave_nothing_behind_in_the_fork_server() {
    let jail = Jail::start(ALL, Who::Tester);
    let open = "@import os\nresult = [fd for fd in range(256) if attempt(os.fstat, fd) == 'stat_result']";
    let before = jail.value(open);
    for _ in 0..50 {
        assert_eq!(jail.value("result = 1"), json!(1));
    }
    assert_eq!(jail.value(open), before);
    let server = jail.jailed.pid();
    let left = std::fs::read_to_string(format!("/proc/{server}/task/{server}/children")).unwrap();
    assert_eq!(left, "");
}

#[test]
fn the_private_directory_goes_with_the_jail() {
    let jail = Jail::start(WITHOUT_NAMESPACES, Who::User);
    let folder = jail.hello["arguments"][0]
        .as_str()
        .unwrap()
        .strip_suffix("/mce/server.py")
        .unwrap()
        .to_owned();
    assert!(Path::new(&folder).join("mce/seal.py").exists());
    drop(jail);
    assert!(!Path::new(&folder).exists());
}

#[test]
fn a_missing_bind_is_named() {
    let mut spec = spec(ALL);
    spec.binds.push(Bind::same("/no/such/folder"));
    let error = error(&spec);
    assert_eq!(
        error.to_string(),
        "failed to find `/no/such/folder`: No such file or directory (os error 2)"
    );
}

#[test]
fn a_bind_that_each_worker_would_hide_is_refused() {
    let mut spec = spec(ALL);
    spec.binds.push(Bind {
        source: "/usr/lib".into(),
        target: "/tmp/lib".into(),
        is_optional: false,
    });
    let error = error(&spec).to_string();
    assert_eq!(
        error,
        "failed to bind `/tmp/lib`: nothing can lie below `/tmp`, where each worker has a file system of its own"
    );
}

#[test]
fn a_missing_program_is_named() {
    for layers in [ALL, WITHOUT_NAMESPACES] {
        let arguments = vec!["/usr/bin/no-such-program".to_owned()];
        let error = error(&JailSpec { arguments, ..spec(layers) });
        assert_eq!(
            error.to_string(),
            "failed to execute `/usr/bin/no-such-program`: No such file or directory (os error 2)"
        );
    }
}

#[test]
fn paths_that_lead_out_are_refused() {
    for path in ["/../etc/x", "relative", "/mce/../../x", "/"] {
        let mut spec = spec(ALL);
        spec.files.push(PlacedFile {
            path: path.into(),
            bytes: Vec::new(),
            mode: 0o444,
        });
        assert!(matches!(error(&spec), JailError::Step { .. }), "{path}");
    }
}

#[test]
fn a_missing_launcher_is_named() {
    let launcher = mce_jail::Launcher {
        program: "/no/launcher".into(),
        arguments: Vec::new(),
    };
    let error = spawn(&spec(ALL), &launcher, pair().1).unwrap_err();
    assert_eq!(error.to_string(), "failed to start the launcher `/no/launcher`");
}

#[test]
fn a_launcher_of_another_kind_is_an_error() {
    let launcher = mce_jail::Launcher {
        program: "/usr/bin/env".into(),
        arguments: vec!["--no-such-option".into()],
    };
    let error = spawn(&spec(ALL), &launcher, pair().1).unwrap_err();
    assert!(
        matches!(&error, JailError::LauncherEnded { detail } if detail.contains("no-such-option")),
        "{error}"
    );
}

#[test]
fn below_the_minimum_no_jail_is_made() {
    let without = |names: &[&str]| Layers::without(names.iter().copied()).unwrap();
    for names in [&["namespaces", "landlock"][..], &["namespaces", "seccomp"], &["seccomp", "rlimits"]] {
        let error = error(&spec(without(names)));
        assert!(matches!(error, JailError::BelowMinimum { .. }), "{names:?}: {error}");
        assert!(!error.hints().is_empty());
    }
}

#[test]
fn the_probe_says_what_a_jail_has() {
    let jail = shared(ALL, Who::Tester);
    let layers = jail.jailed.layers();
    let found: Vec<bool> = probe().iter().map(|status| status.is_on).collect();
    assert_eq!(found, [layers.namespaces, layers.landlock, layers.seccomp, layers.rlimits]);
    assert!(probe().iter().all(|status| status.is_on == status.fix.is_empty()));
}

#[test]
fn all_layers_are_on_for_root_and_for_a_user() {
    for who in [Who::Tester, Who::User] {
        let jail = shared(ALL, who);
        assert_eq!(jail.jailed.layers(), ALL);
        assert!(jail.jailed.notes().is_empty(), "{:?}", jail.jailed.notes());
        assert_eq!((&jail.hello["pid"], &jail.hello["uid"]), (&json!(1), &json!(1000)));
    }
}

#[test]
fn a_fork_server_in_rust_seals_its_worker() {
    let own = env!("CARGO_BIN_EXE_mce-jail-launch");
    let mut spec = spec(ALL);
    spec.binds.push(Bind {
        source: own.into(),
        target: "/mce/fork-server".into(),
        is_optional: false,
    });
    spec.arguments = vec!["/mce/fork-server".to_owned(), "fork-server".to_owned()];
    let (control, far) = pair();
    let mut jailed = spawn(&spec, &launcher(Who::Tester), far).unwrap();
    let plan = serde_json::to_vec(&jailed.seal_plan(&limits()).unwrap()).unwrap();
    let (near, frame) = pair();
    send_with_fds(&control, &plan, &[frame.as_fd()]).unwrap();
    drop(frame);
    let expected = json!({"pid": 1, "read": "done", "write": "done", "socket": "permission denied", "thread": "done"});
    let answer = receive(&near);
    drop(control);
    let words = std::io::read_to_string(std::io::PipeReader::from(jailed.take_stderr().unwrap())).unwrap();
    assert_eq!(answer, expected, "{words}");
}

#[test]
fn a_command_inherits_nothing() {
    let (near, _far) = pair();
    // A number that the shell does not use by itself.
    let near = rustix::io::fcntl_dupfd_cloexec(&near, 100).unwrap();
    rustix::io::fcntl_setfd(&near, rustix::io::FdFlags::empty()).unwrap();
    let script = "cd /proc/self/fd && echo * && cd / && /usr/bin/env -u PWD -u OLDPWD -u _ -u SHLVL && kill -0 -$$ && pwd";
    let output = command("/bin/sh", Path::new("/usr"))
        .args(["-c", script])
        .stdout(Stdio::piped())
        .output()
        .unwrap();
    // The shell itself opens one to list them.
    let text = String::from_utf8(output.stdout).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.last(), Some(&"/"), "{text}");
    assert!(!lines[0].split(' ').any(|fd| fd == near.as_raw_fd().to_string()), "{text}");
    assert_eq!(lines.len(), 2, "{text}");
}

#[test]
fn a_command_dies_with_its_parent() {
    // The thread that starts it ends at once.
    let start = || command("/usr/bin/sleep", Path::new("/")).arg("1000").spawn().unwrap();
    let mut child = std::thread::spawn(start).join().unwrap();
    assert_ends(&pidfd_open(Pid::from_child(&child), PidfdFlags::empty()).unwrap());
    child.wait().unwrap();
    // One that was started from the lasting thread lives.
    let mut child = with_lasting_parent(start).unwrap();
    assert!(with_lasting_parent(|| ()).is_ok());
    assert!(child.try_wait().unwrap().is_none());
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn the_lasting_thread_survives_a_panic() {
    assert!(with_lasting_parent(|| panic!("on purpose")).is_err());
    assert_eq!(with_lasting_parent(|| 7).unwrap(), 7);
}

#[test]
fn descriptors_travel_with_bytes() {
    let (near, far) = pair();
    let (one, other) = pair();
    send_with_fds(&near, b"hello", &[one.as_fd()]).unwrap();
    drop(one);
    let mut buffer = [0; 16];
    let (count, fds) = recv_with_fds(&far, &mut buffer).unwrap();
    assert_eq!(&buffer[..count], b"hello");
    let [received]: [OwnedFd; 1] = fds.try_into().unwrap();
    send_with_fds(&received, b"through", &[]).unwrap();
    let (count, _) = recv_with_fds(&other, &mut buffer).unwrap();
    assert_eq!(&buffer[..count], b"through");
}
