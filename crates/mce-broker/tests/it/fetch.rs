//! Requests of programs' own: where they may go, what is sent, what is told.

use std::time::Duration;

use mce_broker::{Broker, FetchAnswer, FetchRequest};
use mce_config::{Auth, Secret};
use mce_test::{FakeAnswer, FakeApi};
use serde_json::{Value, json};

use crate::bench::{Bench, RUN};

/// Programs may fetch from these hosts.
fn bench(allowed: &[&str]) -> Bench {
    let mut bench = Bench::new([]);
    bench.allowed_domains = allowed.iter().map(|&host| host.to_owned()).collect();
    bench
}

fn get(url: &str) -> FetchRequest<'_> {
    FetchRequest {
        run: &RUN,
        method: "GET",
        url,
        headers: &[],
        body: None,
        client: None,
        follows_redirects: true,
    }
}

fn fields(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    pairs.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect()
}

async fn refused(broker: &Broker, request: FetchRequest<'_>) -> (&'static str, String) {
    let error = broker.fetch(request).await.unwrap_err();
    (error.kind.as_str(), format!("{error}; {}", error.hint().unwrap_or_default()))
}

fn text(answer: &FetchAnswer) -> &str {
    std::str::from_utf8(&answer.body).unwrap()
}

#[tokio::test]
async fn a_request_goes_out_as_the_program_wrote_it_and_nothing_is_added() {
    let mut bench = bench(&["127.0.0.1"]);
    bench.server.auth = Auth::Static {
        value: Secret::new("Bearer hidden-token"),
    };
    bench.api.answer_next(
        FakeAnswer::json(418, r#"{"a": 1}"#)
            .with_header("x-a", "1")
            .with_header("set-cookie", "s=1"),
    );
    let url = format!("{}/p%2Fq?k=v#f", bench.api.origin());
    let headers = fields(&[("X-One", "a"), ("x-one", "b"), ("Accept-Encoding", "x")]);
    let broker = bench.broker();
    let request = FetchRequest {
        method: "put",
        headers: &headers,
        body: Some(vec![0, 255]),
        ..get(&url)
    };
    let answer = broker.fetch(request).await.unwrap();
    assert_eq!(
        (answer.status, text(&answer), answer.function.as_str()),
        (418, r#"{"a": 1}"#, "fetch:127.0.0.1")
    );
    assert_eq!(answer.url, url.replace("#f", ""));
    assert!(answer.headers.contains(&("x-a".to_owned(), "1".to_owned())), "{:?}", answer.headers);
    // A cookie is not kept for the next request.
    broker.fetch(get(&url)).await.unwrap();
    let sent = bench.api.requests();
    assert_eq!(
        (sent[0].method.as_str(), sent[0].target.as_str(), sent[0].body.as_slice()),
        ("PUT", "/p%2Fq?k=v", &[0, 255][..])
    );
    let values: Vec<_> = sent[0]
        .headers
        .iter()
        .filter(|(name, _)| name == "x-one")
        .map(|(_, value)| value.as_str())
        .collect();
    assert_eq!(values, ["a", "b"]);
    for request in &sent {
        assert_eq!((request.header("authorization"), request.header("cookie")), (None, None));
        assert_eq!(request.header("accept-encoding"), sent[1].header("accept-encoding"));
    }
}

#[tokio::test]
async fn only_listed_hosts_are_reached_and_the_error_says_how_to_list_one() {
    let api = FakeApi::start();
    let port = api.origin().rsplit(':').next().unwrap().to_owned();
    let all = bench(&["*"]).broker();
    let some = bench(&["allowed.example", "*.below.example"]).broker();
    for host in [
        "127.0.0.1",
        "localhost",
        "LOCALHOST.",
        "[::1]",
        "[::ffff:127.0.0.1]",
        "0.0.0.0",
        "0",
        "127.1",
        "2130706433",
        "0x7f000001",
        "0177.0.0.1",
        "\u{2460}\u{2461}\u{2466}.0.0.1",
        "127\u{3002}0\u{3002}0\u{3002}1",
        "[64:ff9b::7f00:1]",
    ] {
        // Names are looked up only if they are listed.
        let brokers = if host.to_lowercase().contains("local") {
            vec![&some]
        } else {
            vec![&some, &all]
        };
        for broker in brokers {
            let (kind, message) = refused(broker, get(&format!("http://{host}:{port}/"))).await;
            assert_eq!(kind, "policy", "{host}: {message}");
            assert!(message.contains("`MCE_ALLOWED_DOMAINS`"), "{message}");
        }
    }
    assert!(api.requests().is_empty());

    let (kind, message) = refused(&some, get("https://other.example/x")).await;
    assert_eq!(
        (kind, message.as_str()),
        (
            "policy",
            "`other.example` is not among the allowed domains; add `other.example` to `MCE_ALLOWED_DOMAINS`, or call a function of a server"
        )
    );
    // Without a list servers are free, and programs are not.
    let (kind, _) = refused(&bench(&[]).broker(), get("https://other.example/x")).await;
    assert_eq!(kind, "policy");
}

#[tokio::test]
async fn a_name_may_lead_to_a_private_address_that_is_listed_itself() {
    for (allowed, expected) in [(&["*"][..], "policy"), (&["localhost"], "ok"), (&["*", "127.0.0.1", "::1"], "ok")] {
        let bench = bench(allowed);
        let outcome = bench
            .broker()
            .fetch(get(&bench.api.origin().replace("127.0.0.1", "localhost")))
            .await;
        assert_eq!(outcome.as_ref().map_or_else(|e| e.kind.as_str(), |_| "ok"), expected, "{allowed:?}");
        assert_eq!(bench.api.requests().len(), usize::from(expected == "ok"));
    }
}

#[tokio::test]
async fn what_is_no_plain_request_is_refused_before_anything_is_sent() {
    let bench = bench(&["127.0.0.1", "allowed.example"]);
    let broker = bench.broker();
    let url = bench.api.origin();
    for (name, value) in [
        ("X-One", "a\r\nX-Injected: yes"),
        ("X-One", "a\nb"),
        ("X-One", "a\0b"),
        ("X-One\r\nX-Injected", "yes"),
        ("", "a"),
        ("a b", "c"),
        ("Host", "elsewhere"),
        ("Connection", "X-Two"),
        ("Transfer-Encoding", "chunked"),
        ("content-length", "3"),
        ("Proxy-Authorization", "x"),
        ("Upgrade", "h2c"),
        ("TE", "trailers"),
        ("Expect", "100-continue"),
    ] {
        let headers = fields(&[(name, value)]);
        let (kind, message) = refused(
            &broker,
            FetchRequest {
                headers: &headers,
                ..get(&url)
            },
        )
        .await;
        assert_eq!(kind, "argument", "{name}: {message}");
    }
    for method in ["GET / HTTP/1.1\r\nX: y\r\n\r\nGET", "CONNECT", "trace", "", "A B"] {
        assert_eq!(
            refused(&broker, FetchRequest { method, ..get(&url) }).await.0,
            "argument",
            "{method}"
        );
    }
    for (place, expected) in [
        ("/relative", "argument"),
        ("//127.0.0.1/", "argument"),
        ("http://127.0.0.1/\r\nX-Injected: yes", "argument"),
        ("http://127.0.0.1/ HTTP/1.1", "argument"),
        ("http://127.0.0.1\\@allowed.example/", "argument"),
        ("http://me:hidden@127.0.0.1/", "argument"),
        ("http://allowed.example@127.0.0.1/", "argument"),
        ("http://127.0.0.1.%00allowed.example/", "argument"),
        ("file:///etc/passwd", "policy"),
        ("ftp://127.0.0.1/", "policy"),
        ("data:text/plain,x", "policy"),
    ] {
        let (kind, message) = refused(&broker, get(place)).await;
        assert_eq!(kind, expected, "{place}: {message}");
        assert!(!message.contains("hidden"));
    }
    let body = Some(vec![0; (6 << 20) + 1]);
    assert_eq!(refused(&broker, FetchRequest { body, ..get(&url) }).await.0, "argument");
    let headers = fields(&[("x", &"y".repeat(70_000))]);
    assert_eq!(
        refused(
            &broker,
            FetchRequest {
                headers: &headers,
                ..get(&url)
            }
        )
        .await
        .0,
        "argument"
    );
    assert!(bench.api.requests().is_empty());
}

#[tokio::test]
async fn redirects_are_checked_one_by_one_and_secrets_of_the_program_stay_where_they_were_sent() {
    let other = FakeApi::start();
    let bench = bench(&["127.0.0.1"]);
    let broker = bench.broker();
    let url = bench.api.origin();
    let headers = fields(&[
        ("Authorization", "own"),
        ("Cookie", "own"),
        ("Content-Type", "text/plain"),
        ("X-One", "1"),
    ]);
    let post = || FetchRequest {
        method: "POST",
        headers: &headers,
        body: Some(b"data".to_vec()),
        ..get(&url)
    };
    let to = |status: u16, place: &str| bench.api.answer_next(FakeAnswer::empty(status).with_header("location", place));

    to(307, "/again");
    to(303, &format!("{}/there", other.origin()));
    let answer = broker.fetch(post()).await.unwrap();
    assert_eq!((answer.status, answer.url), (200, format!("{}/there", other.origin())));
    let own = bench.api.take_requests();
    assert_eq!(
        (own[1].method.as_str(), own[1].text().as_str(), own[1].header("authorization")),
        ("POST", "data", Some("own"))
    );
    let there = &other.take_requests()[0];
    let named = |name| there.header(name);
    assert_eq!(
        (there.method.as_str(), there.text().as_str(), named("x-one")),
        ("GET", "", Some("1"))
    );
    assert_eq!((named("authorization"), named("cookie"), named("content-type")), (None, None, None));

    // The run has to tell of a request that was sent, so this is an answer of the API.
    to(302, &other.origin().replace("127.0.0.1", "localhost"));
    let error = broker.fetch(post()).await.unwrap_err();
    assert_eq!(
        (error.kind.as_str(), error.status(), error.function.as_deref()),
        ("api", Some(302), Some("fetch:127.0.0.1"))
    );
    assert!(
        error.to_string().ends_with("`localhost` is not among the allowed domains"),
        "{error}"
    );
    assert!(other.requests().is_empty());
    assert_eq!(bench.audit().last().unwrap()["event"], "refused");

    to(302, "/again");
    let answer = broker
        .fetch(FetchRequest {
            follows_redirects: false,
            ..get(&url)
        })
        .await
        .unwrap();
    assert_eq!(
        (answer.status, answer.headers.iter().any(|(name, _)| name == "location")),
        (302, true)
    );

    bench.api.take_requests();
    bench.api.answer_with(|_| FakeAnswer::empty(302).with_header("location", "/again"));
    let (kind, message) = refused(&broker, get(&url)).await;
    assert_eq!((kind, message.as_str()), ("api", "the host redirected more than 5 times; "));
    assert_eq!(bench.api.requests().len(), 6);
}

#[tokio::test]
async fn answers_hold_no_configured_secret() {
    let mut bench = bench(&["127.0.0.1"]);
    bench.server.auth = Auth::Static {
        value: Secret::new("Bearer hidden-token"),
    };
    let broker = bench.broker();
    let url = bench.api.origin();
    for (body, expected) in [
        (r#"{"is": "hidden-token"}"#.as_bytes(), r#"{"is": "[redacted]"}"#.as_bytes()),
        (b"it is hidden-token.", b"it is [redacted]."),
        (b"\xff hidden-token", b"\xff [redacted]"),
    ] {
        bench
            .api
            .answer_next(FakeAnswer::json(200, body).with_header("x-echo", "hidden-token"));
        let answer = broker.fetch(get(&url)).await.unwrap();
        assert_eq!(answer.body, expected);
        assert!(answer.headers.contains(&("x-echo".to_owned(), "[redacted]".to_owned())));
    }
}

#[tokio::test]
async fn time_and_size_are_bounded() {
    let mut bench = bench(&["127.0.0.1"]);
    bench.limits.answer_bytes = 1000;
    bench.limits.total = Duration::from_millis(200);
    let broker = bench.broker();
    let url = bench.api.origin();
    bench.api.answer_next(FakeAnswer::json(200, vec![b'x'; 1001]));
    assert_eq!(refused(&broker, get(&url)).await.0, "output");
    bench.api.answer_next(FakeAnswer::silence());
    assert_eq!(
        refused(&broker, get(&url)).await,
        ("timeout", "the host did not answer in time; ".to_owned())
    );
    let (kind, message) = refused(&broker, get("http://127.0.0.1:1/")).await;
    assert_eq!((kind, message.as_str()), ("api", "the host cannot be reached; "));
}

#[tokio::test]
async fn the_audit_log_tells_method_and_host_and_not_what_was_asked() {
    let bench = bench(&["127.0.0.1"]);
    let broker = bench.broker();
    let url = format!("{}/path?key=private", bench.api.origin());
    bench.api.answer_next(FakeAnswer::json(404, "{}"));
    let body = Some(b"private".to_vec());
    broker
        .fetch(FetchRequest {
            method: "DELETE",
            body,
            ..get(&url)
        })
        .await
        .unwrap();
    refused(&broker, get("http://other.example/path?key=private")).await;
    let records = bench.audit();
    let told: Vec<_> = records
        .iter()
        .map(|record| json!([record["event"], record["function"], record["operation"], record["status"]]))
        .collect();
    assert_eq!(
        Value::Array(told),
        json!([
            ["intent", "fetch:127.0.0.1", "DELETE", null],
            ["outcome", "fetch:127.0.0.1", "DELETE", 404],
            ["refused", "fetch:other.example", null, null],
        ])
    );
    assert_eq!(
        (&records[0]["effect"], &records[0]["call"]),
        (&json!("destructive"), &records[1]["call"])
    );
    assert!(!Value::Array(records).to_string().contains("private"));
}

#[tokio::test]
async fn a_host_that_fails_again_and_again_is_left_alone() {
    let bench = bench(&["127.0.0.1"]);
    let other = FakeApi::start();
    bench.api.answer_with(|_| FakeAnswer::json(500, "{}"));
    let broker = bench.broker();
    let url = bench.api.origin();
    for _ in 0..5 {
        assert_eq!(broker.fetch(get(&url)).await.unwrap().status, 500);
    }
    let (kind, said) = refused(&broker, get(&url)).await;
    assert!(
        kind == "api" && said.contains("left alone") && said.contains("it is tried again in"),
        "{said}"
    );
    assert_eq!(bench.api.requests().len(), 5);
    assert_eq!(bench.audit().pop().unwrap()["event"], "refused");
    assert_eq!(
        broker.fetch(get(&other.origin())).await.unwrap().status,
        200,
        "another port is another place"
    );
}

#[tokio::test]
async fn what_programs_fetch_counts_as_calls_of_their_client() {
    let mut bench = bench(&["127.0.0.1"]);
    bench.rate = mce_config::Rate::read("2/hour");
    bench.api.answer_next(FakeAnswer::json(302, "").with_header("location", "/next"));
    let broker = bench.broker();
    let url = bench.api.origin();
    assert_eq!(broker.fetch(get(&url)).await.unwrap().status, 200);
    let (kind, said) = refused(&broker, get(&url)).await;
    assert!(
        kind == "busy" && said.contains("2 calls of this client"),
        "a redirect is one more: {said}"
    );
    assert_eq!(bench.api.requests().len(), 2);
}
