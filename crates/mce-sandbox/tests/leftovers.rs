//! What runs and sandboxes leave behind: nothing. Alone in its file, because it counts what the whole process has.
#![cfg(test)]

mod support;

use std::sync::Arc;

use mce_sandbox::{Sandbox, SandboxOptions};
use support::{Api, options, program, run};

fn descriptors() -> usize {
    fs_err::read_dir("/proc/self/fd").unwrap().count()
}

/// Processes whose parent is this one.
fn children() -> Vec<String> {
    let tasks = fs_err::read_dir("/proc/self/task").unwrap();
    let lists = tasks.filter_map(|task| fs_err::read_to_string(task.unwrap().path().join("children")).ok());
    lists
        .flat_map(|list| list.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
        .collect()
}

/// Resident memory of this process, in KiB.
fn memory_kib() -> u64 {
    let status = fs_err::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim_end_matches("kB").trim().parse().unwrap()
}

fn mounts() -> usize {
    fs_err::read_to_string("/proc/self/mountinfo").unwrap().lines().count()
}

/// Waits until tasks and processes that are already ending are gone.
async fn await_no_more_than(most_descriptors: usize, most_children: usize) {
    let mut patience = 1_000_000;
    while (descriptors() > most_descriptors || children().len() > most_children) && patience > 0 {
        patience -= 1;
        tokio::task::yield_now().await;
    }
}

async fn many_runs_leave_the_host_as_it_was() {
    const GROWTH_KIB: u64 = 2048;
    let sandbox = Sandbox::new(SandboxOptions { pool_size: 0, ..options() });
    let source = "from demo.functions import get_item\nprint('x' * 1000)\nresult = [get_item(str(i)) for i in range(5)]";
    let mut early = None;
    for number in 1..=300 {
        let outcome = run(&sandbox, source).await;
        outcome.result.unwrap();
        if number == 100 {
            early = Some((memory_kib(), descriptors(), children().len(), mounts()));
        }
    }
    let (memory, descriptors_then, children_then, mounts_then) = early.unwrap();
    await_no_more_than(descriptors_then, children_then).await;
    assert!(
        memory_kib() < memory + GROWTH_KIB,
        "the host grew from {memory} KiB to {} KiB",
        memory_kib()
    );
    assert!(
        descriptors() <= descriptors_then,
        "{} descriptors instead of {descriptors_then}",
        descriptors()
    );
    assert_eq!((children().len(), mounts()), (children_then, mounts_then));
    let server = sandbox.server().await.unwrap();
    let mut patience = 1_000_000;
    let workers = || fs_err::read_to_string(format!("/proc/{server}/task/{server}/children")).unwrap();
    while !workers().is_empty() && patience > 0 {
        patience -= 1;
        tokio::task::yield_now().await;
    }
    assert_eq!(workers(), "", "workers outlived their runs");
    sandbox.stop().await;
}

/// One test, because it counts what the whole process has.
#[tokio::test]
async fn nothing_is_left_behind() {
    runs_and_sandboxes_leave_no_process_and_no_descriptor().await;
    many_runs_leave_the_host_as_it_was().await;
}

async fn runs_and_sandboxes_leave_no_process_and_no_descriptor() {
    // What starts once for the whole process starts with the first sandbox.
    let first = Sandbox::new(options());
    run(&first, "result = 1").await.result.unwrap();
    first.stop().await;
    let before = descriptors();
    for is_warm in [true, false] {
        let sandbox = Sandbox::new(SandboxOptions { is_warm, ..options() });
        for number in 0..if is_warm { 40 } else { 3 } {
            let ending = ["", "import os\nos._exit(1)", "import os\nos.write(3, b'x' * 9)\nwhile True: pass"][number % 3];
            let outcome = run(&sandbox, &format!("from demo.functions import get_item\nget_item('1')\n{ending}")).await;
            assert_eq!(outcome.result.is_ok(), number % 3 == 0, "{outcome:?}");
        }
        let slow = sandbox.run(program("import time\ntime.sleep(60)"), Arc::new(Api::default()));
        let stopped = async {
            tokio::task::yield_now().await;
            sandbox.stop().await;
        };
        if is_warm {
            let (outcome, ()) = tokio::join!(slow, stopped);
            assert!(outcome.result.is_err(), "a run outlived its sandbox");
        } else {
            drop(slow);
            stopped.await;
        }
    }
    // The last worker of a cold sandbox is reaped by a task of its own.
    await_no_more_than(before, 0).await;
    assert_eq!(children(), Vec::<String>::new());
    assert!(descriptors() <= before, "{} descriptors instead of {before}", descriptors());
}
