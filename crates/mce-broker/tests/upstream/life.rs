//! From the start of a server to its end: slow, failing, crashing, stubborn, and all again.

use std::time::{Duration, Instant};

use mce_broker::{UpstreamError, UpstreamStatus};
use mce_config::{Era, Origin};
use serde_json::{Value, json};

use crate::bench::{Bench, is_alive, program, tools_changed, until};

fn processes(answer: &Value) -> Vec<i64> {
    answer.as_array().unwrap().iter().map(|process| process.as_i64().unwrap()).collect()
}

#[tokio::test]
async fn nothing_is_started_before_it_is_needed() {
    let bench = Bench::new(&json!({}));
    assert!(matches!(bench.state().status, UpstreamStatus::NotStarted));
    bench.upstreams.connect("s").await.unwrap();
    let UpstreamStatus::Connected {
        era,
        protocol,
        name,
        version,
    } = bench.state().status
    else {
        panic!("not connected");
    };
    assert_eq!(era, Era::Legacy);
    assert_eq!(
        (protocol.as_str(), name.as_str(), version.as_str()),
        ("2025-11-25", "fake", "1.2.3")
    );
}

#[tokio::test]
async fn needs_at_the_same_time_share_one_start() {
    let bench = Bench::new(&json!({"start_delay": 0.3}));
    let processes = futures_util::future::join_all((0..20).map(|_| bench.text("pid", json!({})))).await;
    assert!(processes.windows(2).all(|pair| pair[0] == pair[1]), "{processes:?}");
}

#[tokio::test]
async fn one_who_stops_waiting_stops_nobody_else() {
    let bench = Bench::new(&json!({"start_delay": 0.5}));
    let hasty = tokio::time::timeout(Duration::from_millis(50), bench.upstreams.connect("s"));
    assert!(hasty.await.is_err());
    assert!(matches!(bench.state().status, UpstreamStatus::Starting));
    assert!(bench.call("echo", json!({})).await.is_ok());
    assert_eq!(bench.received("initialize").await, 1);
}

#[tokio::test]
async fn each_era_is_found_and_remembered() {
    for (spoken, configured, found) in [
        ("legacy", Era::Auto, Some(Era::Legacy)),
        ("dual", Era::Auto, Some(Era::Legacy)),
        ("modern", Era::Auto, Some(Era::Modern)),
        ("dual", Era::Modern, Some(Era::Modern)),
        ("modern", Era::Legacy, None),
        ("legacy", Era::Modern, None),
    ] {
        let bench = Bench::with(&json!({"era": spoken}), |server| server.upstream.era = configured);
        let connected = bench.upstreams.connect("s").await;
        assert_eq!(connected.is_ok(), found.is_some(), "{spoken} {configured:?} {connected:?}");
        match (found, bench.state().status) {
            (Some(found), UpstreamStatus::Connected { era, name, .. }) => {
                assert_eq!((era, name.as_str()), (found, "fake"));
                assert!(bench.call("echo", json!({})).await.is_ok());
            }
            (None, UpstreamStatus::Failed { error, .. }) => {
                assert!(matches!(*error, UpstreamError::NoCommonVersion { .. }), "{error}");
            }
            (_, status) => panic!("{status:?}"),
        }
    }
}

#[tokio::test]
async fn a_modern_server_is_not_asked_for_the_old_handshake_again() {
    let bench = Bench::new(&json!({"era": "modern"}));
    bench.upstreams.connect("s").await.unwrap();
    let _ = bench.call("die", json!({})).await;
    assert_eq!(bench.received("initialize").await, 0);
    assert_eq!(bench.received("server/discover").await, 1);
}

#[tokio::test]
async fn one_that_cannot_be_started_says_why_and_is_not_tried_at_once() {
    let bench = Bench::of(
        Origin::McpStdio(program("no-such-program-anywhere", ["--key=hunter2".to_owned()])),
        |_| {},
    );
    let error = bench.upstreams.list_tools("s").await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "MCP server `s` cannot be started: its program or its directory is not there"
    );
    assert!(error.internal().contains("no-such-program-anywhere") && !error.internal().contains("hunter2"));
    let again = bench.upstreams.list_tools("s").await.unwrap_err();
    assert!(matches!(again, UpstreamError::NotYet { .. }), "{again}");
    assert_eq!(again.to_string(), error.to_string());
    assert!(again.hint().unwrap().contains("tried again in"));
    let ordered = bench.upstreams.connect("s").await.unwrap_err();
    assert!(matches!(ordered, UpstreamError::CannotStart { .. }), "{ordered}");
}

#[tokio::test]
async fn one_that_ends_at_its_start_says_how() {
    let bench = Bench::new(&json!({"exit_at_start": 7}));
    let error = bench.upstreams.list_tools("s").await.unwrap_err();
    assert_eq!(error.to_string(), "MCP server `s` ended before it was ready (exit status: 7)");
    assert!(!error.may_have_effects());
    until("its last words", || bench.state().printed == ["cannot find the settings"]).await;
    let UpstreamStatus::Failed { retry_in, .. } = bench.state().status else {
        panic!("not failed");
    };
    assert!(retry_in <= Duration::from_secs(1));
}

#[tokio::test]
async fn one_that_never_answers_is_ended_in_time() {
    let bench = Bench::with(&json!({"never_ready": true, "stubborn": true}), |server| {
        server.upstream.start_timeout = Duration::from_millis(500);
    });
    let error = bench.upstreams.list_tools("s").await.unwrap_err();
    assert_eq!(error.to_string(), "MCP server `s` did not answer within 0.5 s (being started)");
    assert!(!error.may_have_effects());
}

#[tokio::test]
async fn a_list_is_waited_for_no_longer_than_a_start() {
    let bench = Bench::with(&json!({"list_silent": true}), |server| {
        server.upstream.start_timeout = Duration::from_secs(2);
    });
    let error = bench.upstreams.list_tools("s").await.unwrap_err();
    assert_eq!(error.to_string(), "MCP server `s` did not answer within 2 s (listing what it has)");
}

#[tokio::test]
async fn one_that_hangs_in_a_call_is_ended_and_started_anew() {
    for behaviour in [json!({}), json!({"era": "modern"})] {
        let bench = Bench::with(&behaviour, |server| server.upstream.call_timeout = Duration::from_secs(1));
        let first = bench.text("pid", json!({})).await;
        let error = bench.call("hang", json!({})).await.unwrap_err();
        assert!(matches!(error, UpstreamError::NotInTime { .. }), "{error}");
        let mut attempts = 0..60;
        let second = loop {
            assert!(attempts.next().is_some(), "{behaviour}");
            if let Ok(answer) = bench.call("pid", json!({})).await {
                break answer;
            }
        };
        assert_ne!(second.content[0]["text"], first);
    }
}

#[tokio::test]
async fn one_that_is_only_slow_stays() {
    let bench = Bench::with(&json!({}), |server| server.upstream.call_timeout = Duration::from_millis(300));
    let first = bench.text("pid", json!({})).await;
    for _ in 0..3 {
        bench.call("never", json!({})).await.unwrap_err();
    }
    assert_eq!(bench.text("pid", json!({})).await, first);
}

#[tokio::test]
async fn a_crash_in_a_call_is_told_at_once_and_healed_by_the_next() {
    let bench = Bench::new(&json!({}));
    let mut changed = bench.upstreams.changed();
    let first = bench.text("pid", json!({})).await;
    let error = bench.call("die", json!({"status": 5})).await.unwrap_err();
    assert_eq!(error.to_string(), "the connection to MCP server `s` broke (exit status: 5)");
    assert!(error.may_have_effects());
    assert_ne!(bench.text("pid", json!({})).await, first);
    // The crashed call was not sent again.
    assert_eq!(bench.received("tools/call").await, 2);
    assert_eq!(changed.recv().await.unwrap(), tools_changed());
}

#[tokio::test]
async fn a_crash_between_calls_is_not_seen_at_all() {
    let bench = Bench::new(&json!({}));
    for _ in 0..2 {
        let process: i32 = bench.text("pid", json!({})).await.parse().unwrap();
        let process = rustix::process::Pid::from_raw(process).unwrap();
        rustix::process::kill_process(process, rustix::process::Signal::KILL).unwrap();
        until("the crash is noticed", || {
            matches!(bench.state().status, UpstreamStatus::NotStarted)
        })
        .await;
        assert!(bench.call("echo", json!({})).await.is_ok());
    }
}

#[tokio::test]
async fn the_end_takes_all_that_a_server_started() {
    for stubborn in [false, true] {
        let bench = Bench::new(&json!({"stubborn": stubborn}));
        let processes = processes(&bench.json("child", json!({})).await);
        assert!(processes.iter().all(|process| is_alive(*process)));
        let begin = Instant::now();
        bench.upstreams.close().await;
        assert!(stubborn || begin.elapsed() < Duration::from_secs(4));
        until("all ended", || !processes.iter().any(|process| is_alive(*process))).await;
        let error = bench.call("echo", json!({})).await.unwrap_err();
        assert!(matches!(error, UpstreamError::Closed { .. }), "{error}");
    }
}

#[tokio::test]
async fn the_end_does_not_wait_for_one_that_is_being_started() {
    let bench = Bench::new(&json!({"never_ready": true, "stubborn": true}));
    let (connected, ()) = tokio::join!(bench.upstreams.connect("s"), async {
        until("started", || matches!(bench.state().status, UpstreamStatus::Starting)).await;
        bench.upstreams.close().await;
    });
    assert!(matches!(connected, Err(UpstreamError::Closed { .. })), "{connected:?}");
}

#[test]
fn a_runtime_that_ends_takes_them_too() {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let bench = Bench::new(&json!({"stubborn": true}));
    let processes = runtime.block_on(async { processes(&bench.json("child", json!({})).await) });
    drop(runtime);
    drop(bench);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(until("all ended", || !processes.iter().any(|process| is_alive(*process))));
}

/// Not a test of its own: what the next one kills. It does nothing unless that has started it.
#[tokio::test]
async fn a_host_that_is_to_be_killed() {
    let Some(file) = mce_config::env::snapshot().remove("MCE_TEST_HOST") else {
        return;
    };
    let bench = Bench::new(&json!({"stubborn": true}));
    let processes = bench.text("child", json!({})).await;
    std::fs::write(format!("{file}.new"), processes).unwrap();
    std::fs::rename(format!("{file}.new"), file).unwrap();
    std::future::pending::<()>().await;
}

#[tokio::test]
async fn a_host_that_is_killed_takes_all_that_its_servers_started() {
    let folder = tempfile::TempDir::new().unwrap();
    let file = folder.path().join("processes");
    let mut command = mce_jail::command(std::env::current_exe().unwrap(), folder.path());
    command
        .args(["--exact", "life::a_host_that_is_to_be_killed"])
        .env("MCE_TEST_HOST", &file);
    command.envs(mce_config::env::snapshot().get_key_value("PATH"));
    let mut host = mce_jail::with_lasting_parent(move || command.spawn()).unwrap().unwrap();
    until("the servers run", || file.exists()).await;
    let processes = processes(&serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap());
    assert!(processes.iter().all(|process| is_alive(*process)));
    host.kill().unwrap();
    host.wait().unwrap();
    until("all ended", || !processes.iter().any(|process| is_alive(*process))).await;
}
