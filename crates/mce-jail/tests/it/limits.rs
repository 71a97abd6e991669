//! Limits that the kernel holds for each worker.

use mce_jail::WorkerLimits;
use serde_json::json;

use crate::harness::{ALL, Jail, WITHOUT_LANDLOCK, WITHOUT_NAMESPACES, WITHOUT_SECCOMP, Who, limits, shared, spec};

#[test]
fn memory_beyond_the_limit_is_refused() {
    let program = "
def grow():
    while len(blocks) < 1024: blocks.append(b'x' * (1 << 20))
blocks = []
result = [attempt(bytearray, 100 << 20), attempt(bytearray, 1 << 30), attempt(grow), len(blocks)]
blocks.clear()
";
    for layers in [ALL, WITHOUT_NAMESPACES, WITHOUT_LANDLOCK, WITHOUT_SECCOMP] {
        let value = shared(layers, Who::Tester).value(program);
        assert_eq!(
            (&value[0], &value[1], &value[2]),
            (&json!("bytearray"), &json!("MemoryError"), &json!("MemoryError")),
            "{layers:?}"
        );
        let mib = value[3].as_u64().unwrap();
        assert!((64..=128).contains(&mib), "{layers:?}: {mib}");
    }
}

#[test]
fn memory_that_no_limit_counts_is_refused() {
    let program = "
import mmap
def shared(): return mmap.mmap(-1, 1 << 20)
def growing(): return mmap.mmap(-1, 1 << 20, mmap.MAP_PRIVATE | 0x20 | 0x100)
result = [attempt(shared), attempt(growing), call(319, 279, b'x', 0), call(29, 194, 0, 4096, 0o1600), attempt(open, '/dev/zero')]
";
    assert_eq!(
        shared(ALL, Who::Tester).value(program),
        json!(["EPERM", "EPERM", "EPERM", "EPERM", "ENOENT"])
    );
}

#[test]
fn the_stack_is_limited_and_core_files_are_off() {
    let program = "
import resource
result = [resource.getrlimit(resource.RLIMIT_STACK), resource.getrlimit(resource.RLIMIT_CORE)]
";
    assert_eq!(shared(ALL, Who::Tester).value(program), json!([[8 << 20, 8 << 20], [1, 1]]));
}

#[test]
fn limits_cannot_be_raised_or_changed() {
    let program = "
import resource
def change(kind): resource.setrlimit(kind, (resource.RLIM_INFINITY,) * 2)
def refused(kind):
    try: change(kind)
    except (OSError, ValueError): return True
result = [refused(getattr(resource, 'RLIMIT_' + name)) for name in ('CORE', 'DATA', 'AS', 'NPROC', 'CPU', 'NOFILE', 'FSIZE')]
";
    for layers in [ALL, WITHOUT_SECCOMP] {
        for who in [Who::Tester, Who::User] {
            assert_eq!(shared(layers, who).value(program), json!(vec![true; 7]), "{layers:?} {who:?}");
        }
    }
}

#[test]
fn threads_are_limited_for_each_worker_by_itself() {
    let program = "
import threading
gate = threading.Event()
def start():
    while len(started) < 100:
        threading.Thread(target=gate.wait, daemon=True).start()
        started.append(1)
started = []
result = [attempt(start), len(started)]
gate.set()
";
    for who in [Who::Tester, Who::User] {
        let jail = shared(ALL, who);
        for _ in 0..2 {
            assert_eq!(jail.value(program), json!(["RuntimeError", 7]), "{who:?}");
        }
    }
}

#[test]
fn processor_time_is_limited() {
    let limits = WorkerLimits {
        cpu_seconds: 1,
        ..limits()
    };
    let jail = Jail::with(&spec(ALL), Who::Tester, &limits).unwrap();
    let program = "
import signal
signal.signal(signal.SIGXCPU, signal.SIG_IGN)
while True: pass
";
    let run = jail.run(program);
    assert_eq!((run.status, run.answer.is_null()), (-9, true));
}

#[test]
fn open_files_are_limited() {
    let program = "
import os
def flood():
    while len(fds) < 10000: fds.append(os.dup(0))
fds = []
result = [attempt(flood), len(fds)]
";
    for layers in [ALL, WITHOUT_NAMESPACES] {
        assert_eq!(shared(layers, Who::Tester).value(program), json!(["EMFILE", 60]));
    }
}
