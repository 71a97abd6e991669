//! MCP servers over HTTP: the transport of today in both eras, and that of 2024-11-05.

use std::sync::Arc;
use std::time::Duration;

use mce_broker::{UpstreamError, UpstreamStatus};
use mce_config::{Auth, Era, HttpServer, HttpTransport, Origin, Secret, ServerSettings};
use mce_test::HttpServerProcess;
use serde_json::{Value, json};

use crate::bench::{Bench, text, until};

fn origin(port: u16, path: &str, transport: HttpTransport) -> Origin {
    Origin::McpHttp(HttpServer {
        url: format!("http://127.0.0.1:{port}{path}"),
        transport,
    })
}

fn bench(behaviour: &Value, transport: HttpTransport, change: impl FnOnce(&mut ServerSettings)) -> (Bench, HttpServerProcess) {
    let server = HttpServerProcess::fake_mcp(behaviour);
    (Bench::of(origin(server.port, "/mcp", transport), change), server)
}

#[tokio::test]
async fn every_way_of_http_and_every_era_works() {
    for (way, era, found) in [
        ("json", "legacy", Era::Legacy),
        ("events", "legacy", Era::Legacy),
        ("json", "dual", Era::Legacy),
        ("json", "modern", Era::Modern),
        ("events", "modern", Era::Modern),
        ("sse", "legacy", Era::Legacy),
    ] {
        let (bench, _server) = bench(&json!({"http": way, "era": era, "page": 5}), HttpTransport::Auto, |_| {});
        assert!(bench.tool_names().await.contains(&"echo".to_owned()), "{way} {era}");
        let arguments = json!({"z": 1, "a": [1.5, "é"]});
        assert_eq!(bench.json("echo", arguments.clone()).await.to_string(), arguments.to_string());
        let answer = bench.call("structured", json!({})).await.unwrap();
        assert_eq!(answer.structured.unwrap().to_string(), r#"{"z":1,"a":2}"#, "{way} {era}");
        assert_eq!(answer.content[0]["future"], json!([1]));
        assert!(bench.call("fail", json!({})).await.unwrap().is_error);
        let error = bench.call("refuse", json!({})).await.unwrap_err();
        assert_eq!(error.to_string(), "MCP server `s` refused: no");
        let UpstreamStatus::Connected { era, .. } = bench.state().status else {
            panic!("not connected");
        };
        assert_eq!(era, found);
        bench.upstreams.close().await;
    }
}

#[tokio::test]
async fn an_answer_that_is_too_large_is_an_error_in_every_way() {
    for way in ["json", "events", "sse"] {
        let (bench, _server) = bench(&json!({"http": way}), HttpTransport::Auto, |server| {
            server.upstream.answer_bytes = 1 << 20;
        });
        for bytes in [2 << 20, 50_000_000] {
            let error = bench.call("big", json!({"bytes": bytes})).await.unwrap_err();
            assert!(
                matches!(
                    error,
                    UpstreamError::TooLarge {
                        limit_bytes: 1_048_576,
                        ..
                    }
                ),
                "{way}: {error}"
            );
        }
        assert_eq!(text(&bench.call("big", json!({"bytes": 1000})).await.unwrap()).len(), 1000, "{way}");
    }
}

#[tokio::test]
async fn a_call_that_takes_too_long_ends_in_every_way() {
    for (way, era) in [("events", "legacy"), ("events", "modern"), ("sse", "legacy")] {
        let (bench, _server) = bench(&json!({"http": way, "era": era}), HttpTransport::Auto, |server| {
            server.upstream.call_timeout = Duration::from_secs(1);
        });
        bench.upstreams.connect("s").await.unwrap();
        let error = bench.call("never", json!({})).await.unwrap_err();
        assert!(matches!(error, UpstreamError::NotInTime { .. }), "{way}: {error}");
        assert!(bench.call("echo", json!({})).await.is_ok(), "{way}");
        if era == "legacy" {
            bench.until_received("notifications/cancelled").await;
        }
    }
}

#[tokio::test]
async fn credentials_and_fields_are_sent() {
    let behaviour = json!({"http": "json", "token": "Bearer hunter2hunter2"});
    let (with, _server) = bench(&behaviour, HttpTransport::Auto, |server| {
        server.auth = Auth::Jwt {
            token: Secret::new("hunter2hunter2"),
        };
    });
    assert!(with.call("echo", json!({})).await.is_ok());
    let (with, _server) = bench(&behaviour, HttpTransport::Auto, |server| {
        server.extra_headers = vec![("Authorization".to_owned(), Secret::new("Bearer hunter2hunter2"))];
    });
    assert!(with.call("echo", json!({})).await.is_ok());
}

#[tokio::test]
async fn a_server_that_wants_a_login_says_which_command_does_it() {
    for transport in [HttpTransport::Auto, HttpTransport::Streamable, HttpTransport::Sse] {
        let behaviour = json!({"http": if transport == HttpTransport::Sse { "sse" } else { "json" }, "token": "Bearer x"});
        let (bench, _server) = bench(&behaviour, transport, |_| {});
        let error = bench.upstreams.list_tools("s").await.unwrap_err();
        assert_eq!(error.to_string(), "MCP server `s` wants a login", "{transport:?}");
        assert!(!error.may_have_effects());
        assert_eq!(error.hint().unwrap(), "run `mce auth login s`");
        // It is told at once, and for as long as nobody does it.
        let again = bench.upstreams.list_tools("s").await.unwrap_err();
        assert!(matches!(again, UpstreamError::NotYet { .. }));
        assert_eq!((again.to_string(), again.hint()), (error.to_string(), error.hint()));
    }
}

#[tokio::test]
async fn a_credential_goes_to_no_other_origin() {
    let other = HttpServerProcess::fake_mcp(&json!({"http": "json"}));
    let elsewhere = format!("http://127.0.0.1:{}/mcp", other.port);
    let (bench, _server) = bench(&json!({"http": "json", "elsewhere": elsewhere}), HttpTransport::Auto, |_| {});
    let error = bench.upstreams.list_tools("s").await.unwrap_err();
    assert!(matches!(error, UpstreamError::Redirected { .. }), "{error}");
    let direct = Bench::of(origin(other.port, "/mcp", HttpTransport::Auto), |_| {});
    assert_eq!(direct.received("initialize").await, 1);
}

#[tokio::test]
async fn what_is_no_mcp_server_is_told() {
    let (wrong, _server) = bench(&json!({"http": "json", "refuse_post": 503}), HttpTransport::Auto, |_| {});
    let error = wrong.upstreams.list_tools("s").await.unwrap_err();
    assert_eq!(error.to_string(), "MCP server `s` answered with status 503");
    let (old, _server) = bench(&json!({"http": "json", "refuse_post": 404}), HttpTransport::Streamable, |_| {});
    let error = old.upstreams.list_tools("s").await.unwrap_err();
    assert_eq!(error.to_string(), "MCP server `s` answered with status 404");
    let port = {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.local_addr().unwrap().port()
    };
    let nobody = Bench::of(origin(port, "/mcp", HttpTransport::Auto), |_| {});
    let error = nobody.upstreams.list_tools("s").await.unwrap_err();
    assert_eq!(error.to_string(), "MCP server `s` cannot be reached");
}

#[tokio::test]
async fn an_expired_session_is_begun_anew() {
    let (bench, _server) = bench(&json!({"http": "json"}), HttpTransport::Auto, |_| {});
    assert_eq!(bench.text("expire", json!({})).await, "done");
    assert!(bench.call("echo", json!({})).await.is_ok());
    assert_eq!(bench.received("initialize").await, 2);
}

#[tokio::test]
async fn a_stream_that_breaks_is_opened_again() {
    let behaviour = json!({"http": "sse"});
    let (bench, server) = bench(&behaviour, HttpTransport::Sse, |_| {});
    assert!(bench.call("echo", json!({})).await.is_ok());
    drop(server);
    until("the break is noticed", || {
        matches!(bench.state().status, UpstreamStatus::NotStarted)
    })
    .await;
    let error = bench.call("echo", json!({})).await.unwrap_err();
    assert!(matches!(error, UpstreamError::Unreachable { .. }), "{error}");
}

#[tokio::test]
async fn a_place_at_another_origin_is_not_posted_to() {
    // The old transport lets the server name the place.
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let bench = Arc::new(Bench::of(origin(port, "/sse", HttpTransport::Sse), |_| {}));
    let listing = Arc::clone(&bench);
    let listing = tokio::spawn(async move { listing.upstreams.list_tools("s").await });
    let (mut stream, _) = listener.accept().await.unwrap();
    let answer = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\nevent: endpoint\ndata: http://127.0.0.2:1/x\n\n";
    tokio::io::AsyncWriteExt::write_all(&mut stream, answer).await.unwrap();
    let error = listing.await.unwrap().unwrap_err();
    assert!(matches!(error, UpstreamError::Redirected { .. }), "{error}");
}

#[tokio::test]
async fn a_call_that_is_dropped_is_cancelled_in_the_way_of_each_era() {
    for (way, era, told) in [
        ("events", "legacy", "notifications/cancelled"),
        ("sse", "legacy", "notifications/cancelled"),
        // Closing the stream of the answer is what cancels.
        ("events", "modern", "closed"),
    ] {
        let (bench, _server) = bench(&json!({"http": way, "era": era}), HttpTransport::Auto, |_| {});
        bench.upstreams.connect("s").await.unwrap();
        let dropped = tokio::time::timeout(Duration::from_millis(300), bench.call("never", json!({}))).await;
        assert!(dropped.is_err(), "{way} {era}");
        bench.until_received(told).await;
    }
}
