//! A run that nobody waits for any more is gone at once, whatever its program does.
#![cfg(test)]

mod support;

use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use futures_util::FutureExt as _;
use mce_sandbox::{Sandbox, SandboxOptions};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use support::{Api, options, program};

/// How long after it was cancelled a worker may live.
const PATIENCE: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 100_000_000,
};

/// The only worker of this fork server.
fn worker_of(server: u32) -> OwnedFd {
    let children = fs_err::read_to_string(format!("/proc/{server}/task/{server}/children")).unwrap();
    let [pid] = children.split_whitespace().collect::<Vec<_>>()[..] else {
        panic!("`{children}` is not one process")
    };
    pidfd_open(Pid::from_raw(pid.parse().unwrap()).unwrap(), PidfdFlags::NONBLOCK).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancelled_run_is_gone_within_100_ms() {
    // With nothing kept ready, the fork server has the run's worker and no other.
    let sandbox = Arc::new(Sandbox::new(SandboxOptions { pool_size: 0, ..options() }));
    for ending in [
        "get_item('slow')",
        "while True: pass",
        "import signal\nfor number in range(1, 32):\n  try: signal.signal(number, signal.SIG_IGN)\n  except Exception: pass\nwhile True: pass",
        "import hashlib\nhashlib.pbkdf2_hmac('sha256', b'x', b'y', 1 << 30)",
        "import threading\nfor _ in range(20): threading.Thread(target=lambda: sum(iter(int, 1))).start()",
        "while True:\n  try: get_item('slow')\n  except BaseException: pass",
        "x = [bytearray(1 << 20) for _ in range(200)]\nwhile True: pass",
    ] {
        let api = Arc::new(Api::default());
        let slow = program(&format!("from demo.functions import get_item\nget_item('1')\n{ending}"));
        let mut under_way = Box::pin(sandbox.run(slow, Arc::clone(&api) as _));
        while api.calls.load(Ordering::SeqCst) == 0 {
            assert!((&mut under_way).now_or_never().is_none());
            tokio::task::yield_now().await;
        }
        let server = sandbox.server().await.unwrap();
        let worker = worker_of(server);
        drop(under_way);
        let gone = poll(&mut [PollFd::new(&worker, PollFlags::IN)], Some(&PATIENCE)).unwrap();
        assert_eq!(gone, 1, "a worker outlived its run: {ending}");
    }
    sandbox.stop().await;
}
