//! How long Python programs take on warm workers, and how much memory of their own those have. Prints a table; judges nothing.
//!
//! usage: `cargo bench -p mce-sandbox --bench python_runs -- [PYTHON]`; without data libraries the rows of pandas are left out.
#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a program for people, which may end on any fault"
)]

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use mce_sandbox::{BoxFuture, CallFailure, HostCall, HostCalls, HostValue, Language, Launcher, Limits, Program, Sandbox, SandboxOptions};
use serde_json::value::RawValue;

/// A host that answers everything with an empty list.
struct Nothing;

impl HostCalls for Nothing {
    fn call(&self, _call: HostCall) -> BoxFuture<'_, Result<HostValue, CallFailure>> {
        Box::pin(async { Ok(HostValue::Json(RawValue::from_string("[]".to_owned()).unwrap())) })
    }
}

fn sandbox() -> Sandbox {
    Sandbox::new(SandboxOptions {
        limits: Limits::default(),
        is_warm: true,
        pool_size: 2,
        concurrent_runs: 16,
        queued_runs: 64,
        python: std::env::args()
            .skip(1)
            .find(|argument| !argument.starts_with('-'))
            .unwrap_or_else(|| "python3".to_owned()),
        python_libraries: Vec::new(),
        environment: vec![("PATH".to_owned(), "/usr/local/bin:/usr/bin:/bin".to_owned())],
        launcher: Launcher {
            program: PathBuf::from(env!("CARGO_BIN_EXE_mce-sandbox-launch")),
            arguments: Vec::new(),
        },
        typescript: Launcher {
            program: PathBuf::from(env!("CARGO_BIN_EXE_mce-sandbox-typescript")),
            arguments: Vec::new(),
        },
        without_layers: Vec::new(),
        has_tracebacks: false,
        has_guard: false,
    })
}

async fn run(sandbox: &Sandbox, source: &str) -> Duration {
    let program = Program {
        language: Language::Python,
        source: source.to_owned(),
        params: mce_sandbox::Inputs::new(),
        has_all_params: false,
        wall: None,
    };
    let outcome = sandbox.run(program, Arc::new(Nothing)).await;
    outcome.result.unwrap();
    outcome.elapsed
}

/// Median of the whole and of the part on the worker, one run after the other.
async fn one_by_one(sandbox: &Sandbox, source: &str, pause: Duration) {
    let mut times = Vec::new();
    for _ in 0..20 {
        run(sandbox, source).await;
    }
    for _ in 0..300 {
        tokio::time::sleep(pause).await;
        let began = Instant::now();
        let inside = run(sandbox, source).await;
        times.push((began.elapsed(), inside));
    }
    times.sort_unstable();
    let (whole, _) = times[times.len() / 2];
    let (late, _) = times[times.len() * 95 / 100];
    let mut inside: Vec<_> = times.iter().map(|(_, inside)| *inside).collect();
    inside.sort_unstable();
    let shown = source.lines().next().unwrap_or_default();
    println!(
        "{shown:24} pause {pause:>5?}: median {whole:?}, 95 % {late:?}, on the worker {:?}",
        inside[inside.len() / 2]
    );
}

/// Processor time of the host, the fork servers and the workers that have ended, in seconds.
fn processor_time() -> f64 {
    const TICKS_OF_SECOND: u32 = 100;
    let stats = std::fs::read_dir("/proc").unwrap().flatten().filter_map(|entry| {
        let command = std::fs::read_to_string(entry.path().join("cmdline")).ok()?;
        let is_ours = command.contains("/mce/fork_server.py") || entry.file_name().to_str() == Some(&std::process::id().to_string());
        let stat = std::fs::read_to_string(entry.path().join("stat")).ok().filter(|_| is_ours)?;
        // User and system time of the process, then of its children, after the name in parentheses.
        let fields = stat.rsplit_once(") ")?.1.split(' ').skip(11).take(4);
        Some(fields.filter_map(|field| field.parse::<u32>().ok()).sum::<u32>())
    });
    f64::from(stats.sum::<u32>()) / f64::from(TICKS_OF_SECOND)
}

async fn many_at_once(sandbox: &Arc<Sandbox>, clients: u32, each: u32) {
    let (began, used) = (Instant::now(), processor_time());
    let tasks: Vec<_> = (0..clients)
        .map(|_| {
            let sandbox = Arc::clone(sandbox);
            tokio::spawn(async move {
                for _ in 0..each {
                    run(&sandbox, "result = 1+1").await;
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
    let rate = f64::from(clients * each) / began.elapsed().as_secs_f64();
    let each_run = (processor_time() - used) * 1000.0 / f64::from(clients * each);
    println!("{clients} clients: {rate:.0} runs a second, {each_run:.2} ms of processor time for each");
}

/// Private memory of the processes below this one, by name and size.
fn memory() {
    for entry in std::fs::read_dir("/proc").unwrap().flatten() {
        let Ok(rollup) = std::fs::read_to_string(entry.path().join("smaps_rollup")) else {
            continue;
        };
        let command = std::fs::read_to_string(entry.path().join("cmdline")).unwrap_or_default();
        let ours = std::fs::read_to_string(entry.path().join("status")).unwrap_or_default();
        if !command.contains("/mce/fork_server.py") && entry.file_name().to_string_lossy() != std::process::id().to_string() {
            continue;
        }
        let kib = |key: &str| -> u64 {
            let lines = rollup.lines().filter_map(|line| line.strip_prefix(key));
            lines.filter_map(|rest| rest.split_whitespace().next()?.parse::<u64>().ok()).sum()
        };
        let private = kib("Private_Clean:") + kib("Private_Dirty:");
        let parent = ours
            .lines()
            .find_map(|line| line.strip_prefix("PPid:"))
            .unwrap_or_default()
            .trim()
            .to_owned();
        println!(
            "process {:>8} of {parent:>8}: private {private} KiB, resident {} KiB",
            entry.file_name().display(),
            kib("Rss:")
        );
    }
}

#[tokio::main]
async fn main() {
    let sandbox = Arc::new(sandbox());
    sandbox.start().await.unwrap();
    for pause in [Duration::from_millis(20), Duration::ZERO] {
        one_by_one(&sandbox, "result = 1+1", pause).await;
    }
    let libraries = sandbox.inspect().await.python.unwrap().libraries;
    if libraries.iter().any(|(name, _)| name == "pandas") {
        let began = Instant::now();
        run(&sandbox, "import pandas").await;
        println!("first import of pandas: {:?}", began.elapsed());
        one_by_one(&sandbox, "import pandas\nresult = 1", Duration::from_millis(20)).await;
        one_by_one(
            &sandbox,
            "import pandas as pd\nresult = pd.DataFrame({'a': [1, 2]}).sum()",
            Duration::from_millis(20),
        )
        .await;
    } else {
        println!("no pandas here: name an interpreter that has it");
    }
    many_at_once(&sandbox, 64, 30).await;
    tokio::time::sleep(Duration::from_millis(500)).await;
    memory();
    sandbox.stop().await;
}
