//! Servers that print, flood, lie and ask.

use mce_broker::UpstreamStatus;
use serde_json::{Value, json};

use crate::bench::Bench;

#[tokio::test]
async fn what_is_no_message_on_stdout_is_skipped_and_told() {
    let junk = [
        "Server listening on stdio",
        "{\"level\":\"info\"}",
        "[1, 2",
        "",
        "{\"jsonrpc\":\"2.0\"}",
        "\u{1b}[31mred",
    ];
    let bench = Bench::new(&json!({"junk": junk}));
    assert!(bench.tool_names().await.contains(&"echo".to_owned()));
    assert!(bench.call("echo", json!({})).await.is_ok());
    let printed = bench.state().printed.join("\n");
    assert!(
        printed.contains("Server listening on stdio") && printed.contains("[1, 2"),
        "{printed}"
    );
    assert!(!printed.contains('\u{1b}'));
}

#[tokio::test]
async fn a_flood_on_stderr_hurts_nobody() {
    let bench = Bench::new(&json!({"stderr_flood": 100_000}));
    assert!(bench.call("echo", json!({})).await.is_ok());
    let printed = bench.state().printed;
    assert!(
        printed.len() <= 40 && printed.last().unwrap().starts_with("warning number "),
        "{printed:?}"
    );
}

#[tokio::test]
async fn a_flood_of_requests_is_answered_and_hurts_nobody() {
    let bench = Bench::new(&json!({}));
    assert_eq!(bench.text("spam", json!({"count": 5000})).await, "done");
    assert!(bench.call("echo", json!({})).await.is_ok());
}

#[tokio::test]
async fn old_revisions_are_spoken_and_invented_ones_are_not() {
    for (version, is_spoken) in [
        ("2024-10-07", true),
        ("2024-11-05", true),
        ("2025-03-26", true),
        ("2025-06-18", true),
        ("1999-01-01", false),
    ] {
        let bench = Bench::new(&json!({"version": version}));
        let connected = bench.upstreams.connect("s").await;
        assert_eq!(connected.is_ok(), is_spoken, "{version}: {connected:?}");
        if let UpstreamStatus::Connected { protocol, .. } = bench.state().status {
            assert_eq!(protocol, version);
        }
    }
}

#[tokio::test]
async fn a_server_gets_its_own_environment_and_little_of_ours() {
    let bench = Bench::with(&json!({}), |server| {
        let mce_config::Origin::McpStdio(stdio) = &mut server.origin else {
            panic!("not started here");
        };
        stdio.env.insert("ITS_OWN".to_owned(), mce_config::Secret::new("its value"));
    });
    let environment = bench.json("environment", json!({})).await;
    assert_eq!(environment["ITS_OWN"], "its value");
    assert!(environment["PATH"].is_string());
    let names: Vec<&String> = environment.as_object().unwrap().keys().collect();
    assert!(
        !names
            .iter()
            .any(|name| name.starts_with("CARGO") || name.starts_with("RUST") || name.starts_with("MCE")),
        "{names:?}"
    );
    let state = bench.state();
    assert!(!format!("{state:?}").contains("its value"));
}

#[tokio::test]
async fn what_a_server_prints_is_shown_without_secrets() {
    let bench = Bench::with(&json!({"junk": ["my key is hunter2hunter2"]}), |server| {
        let mce_config::Origin::McpStdio(stdio) = &mut server.origin else {
            panic!("not started here");
        };
        stdio.env.insert("KEY".to_owned(), mce_config::Secret::new("hunter2hunter2"));
    });
    assert!(bench.call("echo", json!({})).await.is_ok());
    let printed = Value::from(bench.state().printed).to_string();
    assert!(printed.contains("my key is") && !printed.contains("hunter2"), "{printed}");
}
