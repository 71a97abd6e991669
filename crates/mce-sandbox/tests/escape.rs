//! Programs that try to get out, from `tests/redteam`, in both languages, in the real jail with a fake API: each must end as its
//! header says. What only the whole product can show (audit, wire, secrets) is judged by the suite's own `run.py`.
#![cfg(test)]

mod support;

use std::collections::BTreeMap;
use std::net::TcpListener;
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use mce_sandbox::{ErrorKind, Language, Limits, Outcome, Sandbox, SandboxOptions};
use serde_json::{Value, json};
use support::{Api, on, options, program_in, run, seen};

/// The kernel's and the guest's words for limits without a type of their own.
const WORDS: [(&str, &[&str]); 4] = [
    ("processes", &["process", "thread", "fork", "temporarily unavailable"]),
    ("files", &["files", "descriptor"]),
    ("tmp", &["tmp", "space", "quota"]),
    ("calls", &["call"]),
];

/// How many programs run at the same time.
const AT_ONCE: usize = 3;

/// All programs, with the language of each.
fn programs() -> Vec<(Language, PathBuf)> {
    let mut found = Vec::new();
    for (language, folder, ending, count) in [
        (Language::Python, "python", "py", 85),
        (Language::TypeScript, "typescript", "ts", 42),
    ] {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/redteam").join(folder);
        let files = fs_err::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        let mut files: Vec<PathBuf> = files.filter(|file| file.extension().is_some_and(|end| end == ending)).collect();
        files.sort();
        assert!(files.len() >= count, "programs are missing");
        found.extend(files.into_iter().map(|file| (language, file)));
    }
    found
}

/// What must be there for an escape to show: a host file and listeners. Another test may hold them already.
fn bait() -> (Option<TcpListener>, Option<UnixListener>) {
    let folder = Path::new("/tmp/mce-canary");
    fs_err::create_dir_all(folder).unwrap();
    if !folder.join("host.txt").exists() {
        fs_err::write(folder.join("host.txt"), "host-canary-91ab").unwrap();
    }
    let address = SocketAddr::from_abstract_name("mce-canary").unwrap();
    (TcpListener::bind("127.0.0.1:18777").ok(), UnixListener::bind_addr(&address).ok())
}

/// What is wrong with the outcome, by the header's `expect`.
fn fault(expect: &str, outcome: &Outcome) -> Option<String> {
    let value = seen(outcome);
    let escaped = &value["value"]["escaped"];
    if !(escaped.is_null() || escaped == &json!(false)) || outcome.logs.lines().any(|line| line.starts_with("ESCAPED")) {
        return Some(format!("escaped: {value}"));
    }
    let error = outcome.result.as_ref().err();
    let is_right = match expect {
        "harmless" => true,
        "blocked" => escaped == &json!(false),
        "limit:wall" | "limit:cpu" => error.is_some_and(|error| error.kind == ErrorKind::Timeout),
        "limit:memory" => error.is_some_and(|error| error.kind == ErrorKind::Memory),
        "limit:output" => error.is_some_and(|error| error.kind == ErrorKind::Output),
        _ => {
            let name = expect.strip_prefix("limit:").unwrap();
            let words = WORDS.iter().find(|(limit, _)| *limit == name).unwrap().1;
            error.is_some_and(|error| error.kind != ErrorKind::Internal && words.iter().any(|word| error.message.contains(word)))
        }
    };
    let shown = value.to_string();
    (!is_right).then(|| format!("expected {expect}, came {}", shown.chars().take(600).collect::<String>()))
}

fn header(source: &str, key: &str) -> String {
    let start = format!("{key}: ");
    source
        .lines()
        .filter_map(|line| line.strip_prefix("# ").or_else(|| line.strip_prefix("// ")))
        .find_map(|line| line.strip_prefix(&start))
        .unwrap_or_default()
        .to_owned()
}

/// Wall-clock time of programs that end by this limit or may do what they like.
const SHORT: Duration = Duration::from_secs(3);

/// Wall-clock time of all others, which another limit or nothing must end, also on a machine that is busy.
const LONG: Duration = Duration::from_mins(1);

/// How late a run may be told that has reached its limit: a hang shows, a busy machine does not.
const LATE: Duration = Duration::from_secs(20);

/// Runs all programs and gives what is wrong, by name.
async fn play(options: SandboxOptions) -> BTreeMap<String, String> {
    let _bait = bait();
    let with_wall = |wall| {
        let limits = Limits {
            wall,
            ..options.limits.clone()
        };
        Arc::new(Sandbox::new(SandboxOptions { limits, ..options.clone() }))
    };
    let (short, long) = (with_wall(SHORT), with_wall(LONG));
    long.start().await.unwrap();
    let companion = {
        let sandbox = Arc::clone(&long);
        // Without namespaces no folder can be written, `/tmp` neither.
        let source = "import time\ntry:\n    open('/tmp/other-run.txt', 'w').write('other-' + 'canary-33ce')\nexcept PermissionError:\n    pass\ntime.sleep(3)\nresult = 'kept'";
        tokio::spawn(async move { seen(&run(&sandbox, source).await) })
    };
    let places = Arc::new(tokio::sync::Semaphore::new(AT_ONCE));
    let mut tasks = Vec::new();
    for (language, file) in programs() {
        let places = Arc::clone(&places);
        let source = fs_err::read_to_string(&file).unwrap();
        let expect = header(&source, "expect");
        let (sandbox, wall) = match expect.as_str() {
            "harmless" | "limit:wall" | "limit:cpu" => (Arc::clone(&short), SHORT),
            _ => (Arc::clone(&long), LONG),
        };
        tasks.push(tokio::spawn(async move {
            let _place = places.acquire().await.unwrap();
            let outcome = sandbox.run(program_in(language, &source), Arc::new(Api::default())).await;
            let mut found = fault(&expect, &outcome);
            if outcome.elapsed > wall + LATE {
                found = Some(format!("ended after {:?}", outcome.elapsed));
            }
            let name = file.file_name().unwrap().to_string_lossy().trim_end_matches(".py").to_owned();
            println!("{name}: {:?}{}", outcome.elapsed, reached(&outcome));
            (name, found)
        }));
    }
    let mut faults = BTreeMap::new();
    for task in tasks {
        let (name, found) = task.await.unwrap();
        if let Some(found) = found {
            faults.insert(name, found);
        }
    }
    assert_eq!(companion.await.unwrap(), json!({ "value": "kept" }), "another run was harmed");
    let next = seen(&run(&long, "result = 1 + 1").await);
    assert_eq!(next, json!({ "value": 2 }), "the next run does not work");
    short.stop().await;
    long.stop().await;
    faults
}

/// What got past the first layer and was stopped by the next.
fn reached(outcome: &Outcome) -> String {
    match &seen(outcome)["value"]["reached"] {
        Value::Array(list) if !list.is_empty() => {
            let list: String = Value::from(list.clone()).to_string().chars().take(300).collect();
            format!(", reached {list}")
        }
        _ => String::new(),
    }
}

/// The machine of a test: who runs the engine, and what the kernel refuses to it. Options of `tests/machines/run_on.py`.
type Machine = &'static [&'static str];

/// Whoever runs the tests; root in CI.
const TESTER: Machine = &[];
const USER: Machine = &["--user"];

/// A program that a layer alone stops, and why no other one can.
type OnlyStoppedBy = (&'static str, &'static str);

/// What the filter alone stops. All stay within the other layers: without network, without files, without capabilities.
const LEFT_TO_SECCOMP: [OnlyStoppedBy; 3] = [
    (
        "net_exotic_families",
        "no namespace, limit or capability keeps a process from making a `netlink` socket, which its empty network namespace \
         confines, or, in a virtual machine, a `vsock` socket, which nothing confines",
    ),
    (
        "mem_memfd",
        "a file in memory counts for no process; its size is limited as that of files in `/tmp`, its number as that of descriptors",
    ),
    (
        "sys_kernel_surface",
        "key rings, `userfaultfd` and `perf_event_open` are open to every process for its own use",
    ),
];

/// Runs all programs on a machine without a layer; those that only this layer stops are `left` to it.
async fn check(machine: Machine, without: &[&str], left: &[OnlyStoppedBy]) {
    let without_layers = without.iter().map(|name| (*name).to_owned()).collect();
    let options = options();
    let mut faults = play(SandboxOptions {
        without_layers,
        launcher: on(machine, options.launcher.clone()),
        ..options
    })
    .await;
    for (name, _) in left {
        assert!(
            faults.remove(*name).is_some(),
            "`{name}` is stopped by another layer too: take it off the list"
        );
    }
    assert!(faults.is_empty(), "{} programs did not end as they must: {faults:#?}", faults.len());
}

#[tokio::test(flavor = "multi_thread")]
async fn no_program_gets_out_with_all_layers() {
    check(TESTER, &[], &[]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn no_program_gets_out_with_all_layers_of_a_user() {
    check(USER, &[], &[]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn no_program_gets_out_without_namespaces() {
    check(TESTER, &["namespaces"], &[]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn no_program_gets_out_without_namespaces_of_a_user() {
    check(USER, &["namespaces"], &[]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn no_program_gets_out_without_landlock() {
    check(TESTER, &["landlock"], &[]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn no_program_gets_out_without_landlock_of_a_user() {
    check(USER, &["landlock"], &[]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn no_program_gets_out_without_seccomp() {
    check(TESTER, &["seccomp"], &LEFT_TO_SECCOMP).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn no_program_gets_out_without_seccomp_of_a_user() {
    check(USER, &["seccomp"], &LEFT_TO_SECCOMP).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn no_program_gets_out_without_resource_limits() {
    check(TESTER, &["rlimits"], &[]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn no_program_gets_out_without_resource_limits_of_a_user() {
    check(USER, &["rlimits"], &[]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn no_program_gets_out_in_a_container_without_namespaces() {
    check(&["--container"], &[], &[]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn no_program_gets_out_in_a_container_of_a_user() {
    check(&["--container", "--user"], &[], &[]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn no_program_gets_out_where_root_has_no_user_namespaces() {
    check(&["--no-user-namespaces"], &[], &[]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn no_program_gets_out_on_a_kernel_without_landlock() {
    check(&["--user", "--no-landlock"], &[], &[]).await;
}
