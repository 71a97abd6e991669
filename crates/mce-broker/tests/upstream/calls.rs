//! Calls: what goes in, what comes out, how they end.

use std::time::Duration;

use mce_broker::UpstreamError;
use serde_json::{Value, json};

use crate::bench::{Bench, call, text};

#[tokio::test]
async fn arguments_arrive_as_they_are() {
    let bench = Bench::new(&json!({}));
    let arguments = json!({"z": [1, 2.5, null, "é\n\u{2028}"], "a": {"b": 18_446_744_073_709_551_615_u64}});
    assert_eq!(bench.json("echo", arguments.clone()).await.to_string(), arguments.to_string());
}

#[tokio::test]
async fn answers_come_as_the_server_wrote_them() {
    let bench = Bench::new(&json!({}));
    let answer = bench.call("structured", json!({})).await.unwrap();
    let block = json!({"type": "text", "text": "{}", "annotations": {"priority": 1, "new": true}, "future": [1]});
    assert_eq!(Value::from(answer.content).to_string(), json!([block]).to_string());
    assert_eq!(answer.structured.unwrap().to_string(), r#"{"z":1,"a":2}"#);
    assert!(!answer.is_error);
    let failed = bench.call("fail", json!({})).await.unwrap();
    assert!(failed.is_error);
    assert_eq!(text(&failed), "it failed");
}

#[tokio::test]
async fn what_is_no_answer_is_an_error() {
    let bench = Bench::new(&json!({}));
    for (tool, said) in [
        ("nothing", "MCP server `s` answered wrongly: no content"),
        ("not_a_result", "MCP server `s` answered wrongly: no result of a tool"),
        ("refuse", "MCP server `s` refused: no"),
        ("unheard_of", "MCP server `s` refused: unknown tool unheard_of"),
    ] {
        let error = bench.call(tool, json!({})).await.unwrap_err();
        assert_eq!(error.to_string(), said);
        assert!(error.may_have_effects());
    }
    let error = bench.call("refuse", json!({"message": "x".repeat(100_000)})).await.unwrap_err();
    assert!(error.to_string().len() < 3000);
}

#[tokio::test]
async fn a_call_that_takes_too_long_ends_and_the_server_is_told() {
    let bench = Bench::with(&json!({}), |server| server.upstream.call_timeout = Duration::from_millis(300));
    bench.upstreams.connect("s").await.unwrap();
    let error = bench.call("never", json!({})).await.unwrap_err();
    assert_eq!(error.to_string(), "MCP server `s` did not answer within 0.3 s (a call)");
    assert!(error.may_have_effects());
    bench.until_received("notifications/cancelled").await;
}

#[tokio::test]
async fn a_call_that_is_dropped_is_cancelled() {
    let bench = Bench::new(&json!({}));
    bench.upstreams.connect("s").await.unwrap();
    let dropped = tokio::time::timeout(Duration::from_millis(200), bench.call("never", json!({}))).await;
    assert!(dropped.is_err());
    bench.until_received("notifications/cancelled").await;
}

#[tokio::test]
async fn calls_go_on_at_the_same_time_but_only_so_many() {
    let bench = Bench::with(&json!({}), |server| {
        server.upstream.concurrency = 2;
        server.upstream.call_timeout = Duration::from_secs(1);
    });
    bench.upstreams.connect("s").await.unwrap();
    let (first, second, third) = tokio::join!(
        bench.call("never", json!({})),
        bench.call("never", json!({})),
        bench.call("echo", json!({})),
    );
    assert!(matches!(first, Err(UpstreamError::NotInTime { .. })) && matches!(second, Err(UpstreamError::NotInTime { .. })));
    // The third had to wait for one of them; which of both times ran out first is chance.
    match third {
        Err(error @ UpstreamError::Busy { limit: 2, .. }) => assert!(!error.may_have_effects()),
        other => assert!(other.is_ok(), "{other:?}"),
    }
    let echoes = futures_util::future::join_all((0..50).map(|number| bench.json("echo", json!({"n": number})))).await;
    assert!(echoes.iter().enumerate().all(|(number, echo)| echo["n"] == number));
}

#[tokio::test]
async fn an_answer_that_is_too_large_is_an_error_and_spoils_no_other() {
    let bench = Bench::with(&json!({}), |server| server.upstream.answer_bytes = 1 << 20);
    for bytes in [1 << 20, 50_000_000] {
        let (error, other) = tokio::join!(bench.call("big", json!({"bytes": bytes})), bench.call("echo", json!({})));
        let error = error.unwrap_err();
        assert!(
            matches!(
                error,
                UpstreamError::TooLarge {
                    limit_bytes: 1_048_576,
                    ..
                }
            ),
            "{error}"
        );
        assert!(error.may_have_effects());
        assert!(other.is_ok());
    }
    assert_eq!(bench.text("big", json!({"bytes": 1_000_000})).await.len(), 1_000_000);
}

#[tokio::test]
async fn logs_and_pings_do_not_disturb() {
    let bench = Bench::new(&json!({}));
    assert_eq!(bench.text("log", json!({})).await, "done");
    assert!(bench.call("echo", json!({})).await.is_ok());
}

#[tokio::test]
async fn there_is_no_call_to_a_server_that_is_not_there() {
    let bench = Bench::new(&json!({}));
    let mut unknown = call("echo", json!({}));
    unknown.server = "t";
    let error = bench.upstreams.call_tool(unknown).await.unwrap_err();
    assert_eq!(error.to_string(), "there is no MCP server `t`");
}
