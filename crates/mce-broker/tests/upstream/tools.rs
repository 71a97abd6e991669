//! Lists of tools: as they are written, in pages, in any number, and when they change.

use mce_broker::{UpstreamError, UpstreamStatus, UpstreamStep};
use serde_json::{Value, json};

use crate::bench::{Bench, tools_changed};

#[tokio::test]
async fn tools_come_as_the_server_wrote_them() {
    let odd = json!({
        "zeta": 1, "name": "x/ä.B__c", "inputSchema": {"type": "object", "properties": {"z": {}, "a": {"const": 1.0}}},
        "annotations": {"readOnlyHint": true, "futureHint": [1]}, "execution": {"taskSupport": "optional"}, "alpha": null
    });
    let no_schema = json!({"name": "bare"});
    let bench = Bench::new(&json!({"extra_tools": [odd, no_schema, odd, "no tool"]}));
    let list = bench.upstreams.list_tools("s").await.unwrap();
    let last: Vec<String> = list.tools.iter().rev().take(3).map(Value::to_string).collect();
    assert_eq!(last, [odd.to_string(), no_schema.to_string(), odd.to_string()]);
    assert_eq!(
        (list.title.as_str(), list.version.as_str(), list.instructions.as_str()),
        ("Fake Server", "1.2.3", "Be kind.")
    );
}

#[tokio::test]
async fn all_pages_are_read() {
    let bench = Bench::new(&json!({"tools": 1000, "page": 7}));
    let all = Bench::new(&json!({"tools": 1000}));
    assert_eq!(bench.tool_names().await, all.tool_names().await);
    assert!(bench.received("tools/list").await > 100);
}

#[tokio::test]
async fn pages_that_never_end_are_an_error() {
    let bench = Bench::new(&json!({"page": 5, "endless": true}));
    let error = bench.upstreams.list_tools("s").await.unwrap_err();
    assert!(matches!(error, UpstreamError::Protocol { .. }), "{error}");
}

#[tokio::test]
async fn ten_thousand_tools_are_too_many_by_few() {
    let list = |tools: u32| async move { Bench::new(&json!({"tools": tools})).upstreams.list_tools("s").await };
    assert!(list(9_900).await.unwrap().tools.len() > 9_900);
    let error = list(10_000).await.unwrap_err();
    assert!(matches!(error, UpstreamError::TooMany { limit: 10_000, .. }), "{error}");
}

#[tokio::test]
async fn a_list_that_is_too_large_is_an_error() {
    let tool = json!({"name": "x", "description": "y".repeat(64 << 10)});
    let spec = json!({"page": 100, "tools": 0, "extra_tools": [tool]});
    assert!(Bench::new(&spec).upstreams.list_tools("s").await.is_ok());
    let bench = Bench::new(&json!({"big_tools": 600}));
    let error = bench.upstreams.list_tools("s").await.unwrap_err();
    let UpstreamError::TooLarge { step, .. } = error else {
        panic!("{error}");
    };
    assert_eq!(step, UpstreamStep::List);
}

#[tokio::test]
async fn a_list_that_the_server_refuses_is_its_error_and_it_stays_connected() {
    let bench = Bench::new(&json!({"list_error": "fetch failed"}));
    let error = bench.upstreams.list_tools("s").await.unwrap_err();
    assert_eq!(error.to_string(), "MCP server `s` refused: fetch failed");
    assert!(matches!(bench.state().status, UpstreamStatus::Connected { .. }));
}

#[tokio::test]
async fn a_change_is_told_in_both_eras() {
    for era in ["legacy", "modern"] {
        let bench = Bench::new(&json!({"era": era}));
        let mut changed = bench.upstreams.changed();
        let before = bench.tool_names().await;
        bench.text("change", json!({"name": "brand_new"})).await;
        assert_eq!(changed.recv().await.unwrap(), tools_changed(), "{era}");
        let after = bench.tool_names().await;
        assert_eq!(after.len(), before.len() + 1);
        assert_eq!(after.last().unwrap(), "brand_new");
    }
}

#[tokio::test]
async fn tools_that_come_after_the_handshake_are_told() {
    let bench = Bench::new(&json!({"late_tools": ["late"]}));
    let mut changed = bench.upstreams.changed();
    bench.upstreams.connect("s").await.unwrap();
    assert_eq!(changed.recv().await.unwrap(), tools_changed());
    assert_eq!(bench.tool_names().await.last().unwrap(), "late");
}
