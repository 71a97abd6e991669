//! No new process, no other program, no signal to others, nothing inherited.

use serde_json::json;

use crate::harness::{ALL, ALONE_NAMESPACES, WITHOUT_NAMESPACES, WITHOUT_RLIMITS, Who, shared};

#[test]
fn no_process_is_made() {
    let program = "
import ctypes, os, subprocess
result = [attempt(os.fork), attempt(os.posix_spawn, '/usr/bin/env', ['env'], {}), attempt(subprocess.run, ['/usr/bin/env']),
    call(56, 220, 17, 0, 0, 0, 0), os.system('exit 23') >> 8 == 23, ctypes.CDLL(None).vfork() if False else 0]
";
    for layers in [ALL, ALONE_NAMESPACES, WITHOUT_NAMESPACES, WITHOUT_RLIMITS] {
        for who in [Who::Tester, Who::User] {
            let value = shared(layers, who).value(program);
            for outcome in value.as_array().unwrap().iter().take(4) {
                assert!(
                    ["EPERM", "EAGAIN", "EACCES"].contains(&outcome.as_str().unwrap_or("made")),
                    "{layers:?} {who:?} {value}"
                );
            }
            assert_eq!(value[4], false);
        }
    }
}

#[test]
fn no_other_program_is_executed() {
    let program = "
import os
result = [attempt(os.execve, p, [p], {}) for p in ('/usr/bin/env', '/usr/bin/python3', '/mce/server.py')]
result.append(call(322, 281, 3, b'', 0, 0, 0x1000))
";
    for layers in [ALL, WITHOUT_NAMESPACES, WITHOUT_RLIMITS] {
        assert_eq!(
            shared(layers, Who::Tester).value(program),
            json!(["EPERM", "EPERM", "EPERM", "EPERM"]),
            "{layers:?}"
        );
    }
    // Landlock alone refuses what it was not told to allow.
    let program = "import os\nresult = attempt(os.execve, '/usr/bin/env', ['env'], {})";
    assert_eq!(shared(crate::harness::WITHOUT_SECCOMP, Who::Tester).value(program), json!("EACCES"));
}

#[test]
fn a_worker_sees_no_other_process() {
    let program = "
import os
result = [os.getpid(), os.getppid(), [p for p in range(2, 2000) if attempt(os.kill, p, 0) is None], attempt(os.kill, -1, 0)]
";
    for layers in [ALL, ALONE_NAMESPACES] {
        let value = shared(layers, Who::Tester).value(program);
        assert_eq!(value[0], 1);
        assert_eq!(value[1], 0);
        assert_eq!(value[2], json!([]));
        assert_ne!(value[3], json!(null));
    }
}

#[test]
fn without_namespaces_no_other_process_is_signalled() {
    let program = "
import os, signal
result = [attempt(os.kill, os.getppid(), 0), attempt(os.kill, 1, 0), attempt(os.killpg, 0, 0), attempt(os.kill, -1, signal.SIGCONT),
    call(424, 424, 0, 0, 0, 0), attempt(os.kill, os.getpid(), 0)]
";
    let jail = shared(WITHOUT_NAMESPACES, Who::Tester);
    assert_eq!(jail.value(program), json!(["EPERM", "EPERM", "EPERM", "EPERM", "EPERM", null]));
}

#[test]
fn a_worker_has_a_process_group_of_its_own() {
    for layers in [ALL, WITHOUT_NAMESPACES] {
        let value = shared(layers, Who::Tester).value("import os\nresult = os.getpgrp() == os.getsid(0) == os.getpid()");
        assert_eq!(value, true, "{layers:?}");
    }
}

#[test]
fn only_the_frame_socket_is_open() {
    let program = "
import os, stat
def kind(fd):
    mode = os.fstat(fd).st_mode
    return 'socket' if stat.S_ISSOCK(mode) else 'null' if os.fstat(fd).st_rdev == os.makedev(1, 3) else oct(mode)
result = {fd: kind(fd) for fd in range(4096) if attempt(os.fstat, fd) == 'stat_result'}
";
    for layers in [ALL, ALONE_NAMESPACES, WITHOUT_NAMESPACES] {
        for who in [Who::Tester, Who::User] {
            let expected = json!({"0": "null", "1": "null", "2": "null", "3": "socket"});
            assert_eq!(shared(layers, who).value(program), expected, "{layers:?} {who:?}");
        }
    }
}

#[test]
fn the_environment_is_that_of_the_specification() {
    let program = "import ctypes, os\nresult = [dict(os.environ), ctypes.CDLL(None).getenv(b'PATH')]";
    for layers in [ALL, WITHOUT_NAMESPACES] {
        let value = shared(layers, Who::Tester).value(program);
        assert_eq!(value, json!([{"LANG": "C.UTF-8"}, 0]));
    }
}

#[test]
fn a_worker_is_not_root() {
    for layers in [ALL, WITHOUT_NAMESPACES] {
        for who in [Who::Tester, Who::User] {
            let value = shared(layers, who).value("import os\nresult = [*os.getresuid(), *os.getresgid()]");
            assert!(value.as_array().unwrap().iter().all(|id| id.as_u64() != Some(0)), "{value}");
        }
    }
}

#[test]
fn abort_ends_a_worker() {
    for layers in [ALL, WITHOUT_NAMESPACES] {
        let run = shared(layers, Who::Tester).run("import os\nos.abort()");
        assert!(run.status < 0, "{run:?}");
        assert!(run.answer.is_null(), "{run:?}");
    }
}
