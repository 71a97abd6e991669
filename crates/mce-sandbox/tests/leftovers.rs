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

#[tokio::test]
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
    let mut patience = 1_000_000;
    while (descriptors() > before || !children().is_empty()) && patience > 0 {
        patience -= 1;
        tokio::task::yield_now().await;
    }
    assert_eq!(children(), Vec::<String>::new());
    assert!(descriptors() <= before, "{} descriptors instead of {before}", descriptors());
}
