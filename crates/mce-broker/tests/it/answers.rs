//! What comes back: values by what they are, errors by status, limits of size and time, redirects.

use std::net::TcpListener;
use std::time::Duration;

use mce_broker::{AnswerValue, CallError, CallErrorKind};
use mce_catalog::function::{Function, Target};
use mce_config::{Auth, Secret};
use mce_test::FakeAnswer;
use serde_json::{Value, json};

use crate::bench::{Bench, function, with_target};

fn promising(operation: &str, media_types: &[&str]) -> Function {
    with_target(function(operation), |target| {
        target.accepts = media_types.iter().map(|&one| one.to_owned()).collect();
    })
}

async fn answered(function: Function, answer: FakeAnswer) -> Result<AnswerValue, CallError> {
    let operation = function.operation.clone();
    let bench = Bench::new([function]);
    bench.api.answer_next(answer);
    bench.call(&operation, &json!({})).await.map(|answer| answer.value)
}

fn show(value: &AnswerValue) -> String {
    match value {
        AnswerValue::Json(text) => format!("json {}", text.get()),
        AnswerValue::Text(text) => format!("text {text}"),
        AnswerValue::Bytes(bytes) => format!("bytes {bytes:?}"),
        AnswerValue::Empty => "nothing".to_owned(),
    }
}

#[tokio::test]
async fn values_are_what_they_are_and_not_what_was_promised() {
    let json = &["application/json"][..];
    let none = &[][..];
    let unlabelled = |body: &[u8]| FakeAnswer::empty(200).with_body(body);
    for (promised, answer, shown) in [
        (
            json,
            FakeAnswer::json(200, "{\"id\":123456789012345678901234567890}\n"),
            "json {\"id\":123456789012345678901234567890}",
        ),
        (json, FakeAnswer::json(200, "\u{feff}[1]"), "json [1]"),
        (json, FakeAnswer::json(200, " \n"), "nothing"),
        (json, FakeAnswer::json(201, ""), "nothing"),
        (json, FakeAnswer::empty(204), "nothing"),
        (json, FakeAnswer::new(200, "text/html", "<p>"), "text <p>"),
        (json, FakeAnswer::new(200, "application/octet-stream", "{}"), "json {}"),
        (json, FakeAnswer::new(200, "image/png", [0, 255]), "bytes [0, 255]"),
        (json, FakeAnswer::new(200, "application/x-ndjson", "{}\n{}\n"), "json [{},{}]"),
        (
            json,
            FakeAnswer::new(200, "application/x-ndjson", "{}\nand a word\n"),
            "text {}\nand a word\n",
        ),
        (
            json,
            FakeAnswer::new(200, "application/json-seq", "\u{1e}[1]\n\u{1e}2\n"),
            "json [[1],2]",
        ),
        (
            json,
            FakeAnswer::json(200, "{\"id\":1}\n{\"id\":2}\n"),
            "json [{\"id\":1},{\"id\":2}]",
        ),
        (json, FakeAnswer::new(200, "text/event-stream", "data: 1\n\n"), "json [1]"),
        (json, FakeAnswer::new(200, "text/event-stream", "{\"a\":1}"), "json {\"a\":1}"),
        (json, FakeAnswer::new(200, "text/event-stream", ""), "json []"),
        (json, FakeAnswer::new(200, "application/vnd.a+json; charset=utf-8", "1"), "json 1"),
        (&["text/plain"], FakeAnswer::new(200, "text/plain", "{}"), "text {}"),
        (&["text/plain"], FakeAnswer::new(200, "text/plain", ""), "text "),
        (
            &["text/plain"],
            FakeAnswer::new(200, "text/plain; charset=iso-8859-1", [0xfc]),
            "text ü",
        ),
        (none, unlabelled(b"{\"a\":1}"), "json {\"a\":1}"),
        (none, unlabelled(b"hello"), "text hello"),
        (none, unlabelled(&[0xff, 0]), "bytes [255, 0]"),
        (none, unlabelled(b""), "nothing"),
    ] {
        let value = answered(promising("GET /a", promised), answer.clone()).await.unwrap();
        assert_eq!(show(&value), shown, "{answer:?}");
    }
    assert_eq!(
        show(&answered(function("HEAD /a"), FakeAnswer::json(200, "{}")).await.unwrap()),
        "nothing"
    );
}

#[tokio::test]
async fn json_that_is_none_or_too_deep_is_an_error_that_shows_it() {
    let deep = format!("{}{}", "[".repeat(500), "]".repeat(500));
    for (body, told) in [("<html>", "is not"), ("{\"a\":NaN}", "NaN"), (deep.as_str(), "levels deep")] {
        let error = answered(function("GET /a"), FakeAnswer::json(200, body)).await.unwrap_err();
        assert_eq!(error.kind, CallErrorKind::Output);
        assert!(error.to_string().contains(told), "{error}");
    }
}

#[tokio::test]
async fn errors_carry_status_and_body() {
    let error = answered(function("GET /a"), FakeAnswer::json(422, r#"{"detail":"too long"}"#))
        .await
        .unwrap_err();
    // The body stands apart, once.
    assert_eq!(error.to_string(), "the API answered 422 Unprocessable Entity");
    assert_eq!((error.status(), error.body()), (Some(422), Some(&json!({"detail": "too long"}))));
    assert_eq!(error.function.as_deref(), Some("svc.do_it"));
    let error = answered(function("GET /a"), FakeAnswer::new(500, "text/plain", "x".repeat(100_000)))
        .await
        .unwrap_err();
    assert_eq!(error.body().and_then(Value::as_str).map(str::len), Some(64 << 10));
    let error = answered(function("GET /a"), FakeAnswer::empty(599)).await.unwrap_err();
    assert_eq!((error.to_string().as_str(), error.body()), ("the API answered 599", None));
}

#[tokio::test]
async fn errors_do_not_tell_where_the_api_is() {
    let mut bench = Bench::new([function("GET /a")]);
    let origin = bench.api.origin();
    bench.server.base_url = Some(format!("{origin}/secret-place"));
    let host = origin.replace("http://", "");
    let body = format!(r#"{{"instance":"{origin}/secret-place/a","path":"/secret-place/a","host":"{host}"}}"#);
    bench.api.answer_next(FakeAnswer::json(404, body));
    let error = bench.call("GET /a", &json!({})).await.unwrap_err();
    assert_eq!(error.body(), Some(&json!({"instance": "/a", "path": "/a", "host": ""})));
    assert!(
        !error.to_string().contains("secret-place") && !error.to_string().contains("127.0.0.1"),
        "{error}"
    );
}

#[tokio::test]
async fn only_a_configured_base_url_is_cut_out_of_successful_answers() {
    let mut bench = Bench::new([function("GET /a")]);
    let origin = bench.api.origin();
    let body = format!(r#"{{"next": "{}\/a?page=2", "total": 1.0}}"#, origin.replace('/', "\\/"));
    bench.api.answer_next(FakeAnswer::json(200, body.clone()));
    let answer = bench.call("GET /a", &json!({})).await.unwrap();
    let AnswerValue::Json(text) = answer.value else { panic!("JSON") };
    assert_eq!(text.get(), r#"{"next": "\/a?page=2", "total": 1.0}"#);

    bench.server.base_url = None;
    let Target::Http(target) = &mut bench.functions[0].function.target else {
        panic!("no operation")
    };
    target.base_url = Some(origin);
    bench.allowed_domains = vec!["127.0.0.1".to_owned()];
    bench.api.answer_next(FakeAnswer::json(200, body.clone()));
    let answer = bench.call("GET /a", &json!({})).await.unwrap();
    let AnswerValue::Json(text) = answer.value else { panic!("JSON") };
    assert_eq!(text.get(), body);
}

#[tokio::test]
async fn malformed_json_is_an_error_also_if_it_holds_a_secret() {
    for (body, told) in [
        (r#"{"a": "hidden-token", }"#, r#"line 1 column 23): {"a": "[redacted]", }"#),
        ("<p>hidden-token</p>", "line 1 column 1): <p>[redacted]</p>"),
    ] {
        let mut bench = Bench::new([function("GET /a")]);
        bench.server.auth = Auth::Jwt {
            token: Secret::new("hidden-token"),
        };
        bench.api.answer_next(FakeAnswer::json(200, body));
        let error = bench.call("GET /a", &json!({})).await.unwrap_err();
        assert_eq!(error.kind, CallErrorKind::Output);
        assert!(error.to_string().ends_with(told), "{error}");
    }
}

#[tokio::test]
async fn an_api_that_cannot_be_reached_is_not_named() {
    let mut bench = Bench::new([function("GET /a")]);
    // A port that was free a moment ago.
    let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    bench.server.base_url = Some(format!("http://{address}"));
    let error = bench.call("GET /a", &json!({})).await.unwrap_err();
    assert_eq!(
        (error.kind.as_str(), error.status(), error.to_string().as_str()),
        ("api", None, "the API cannot be reached")
    );
    assert!(error.internal().contains("refused"), "{}", error.internal());
}

#[tokio::test]
async fn silence_is_a_timeout() {
    let mut bench = Bench::new([function("GET /a")]);
    bench.limits.total = Duration::from_millis(100);
    bench.api.answer_with(|_| FakeAnswer::silence());
    let error = bench.call("GET /a", &json!({})).await.unwrap_err();
    assert_eq!((error.kind, bench.api.requests().len()), (CallErrorKind::Timeout, 1));
}

/// `"aaa…"`, 100,002 bytes, as gzip.
const LARGE_GZIP: &str = "H4sIAAAAAAACA+3BsQAAAAACMJfM8pdIo2NbCgAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAANzKAFJrWUCihgEA";
/// `{"a":1}` as gzip.
const SMALL_GZIP: &str = "H4sIAAAAAAACA6tWSlSyMqwFAK+sG1YHAAAA";

#[tokio::test]
async fn answers_are_decompressed_and_bounded() {
    use base64::Engine;
    let gzip = |base64: &str| {
        let body = base64::engine::general_purpose::STANDARD.decode(base64).unwrap();
        FakeAnswer::json(200, body).with_header("content-encoding", "gzip")
    };
    let mut bench = Bench::new([function("GET /a")]);
    bench.limits.answer_bytes = 10_000;
    bench.api.answer_next(gzip(SMALL_GZIP));
    assert_eq!(show(&bench.call("GET /a", &json!({})).await.unwrap().value), "json {\"a\":1}");
    bench
        .api
        .answer_next(FakeAnswer::empty(204).with_header("content-encoding", "gzip"));
    assert_eq!(show(&bench.call("GET /a", &json!({})).await.unwrap().value), "nothing");
    for answer in [gzip(LARGE_GZIP), FakeAnswer::json(200, format!("\"{}\"", "a".repeat(10_000)))] {
        bench.api.answer_next(answer);
        let error = bench.call("GET /a", &json!({})).await.unwrap_err();
        assert_eq!(error.kind, CallErrorKind::Output);
        assert_eq!(error.to_string(), "the answer is larger than 10000 bytes");
    }
}

#[tokio::test]
async fn redirects_are_followed_within_the_host_and_only_by_reads() {
    let bench = Bench::new([function("GET /a"), function("POST /a")]);
    let other = Bench::new([]);
    let target = |target: &str| FakeAnswer::empty(302).with_header("location", target);
    let targets = || {
        bench
            .api
            .take_requests()
            .into_iter()
            .map(|request| request.target)
            .collect::<Vec<_>>()
    };

    bench.api.answer_next(target("/b?x=1"));
    bench.call("GET /a", &json!({})).await.unwrap();
    assert_eq!(targets(), ["/a", "/b?x=1"]);

    bench.api.answer_next(target("/b"));
    let error = bench.call("POST /a", &json!({})).await.unwrap_err();
    assert_eq!((error.status(), targets()), (Some(302), vec!["/a".to_owned()]));

    bench.api.answer_next(target(&format!("{}/stolen", other.api.origin())));
    let error = bench.call("GET /a", &json!({})).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "the API answered 302 Found, a redirect to another host, which is not followed"
    );
    assert!(
        error
            .hint()
            .is_some_and(|hint| hint.contains(&format!("{}/stolen", other.api.origin()))),
        "{error:?}"
    );
    assert_eq!((targets(), other.api.requests()), (vec!["/a".to_owned()], vec![]));

    // With a credential it stays below the base URL.
    for (is_guarded, path, expected) in [
        (false, "/b", 200),
        (true, "/b", 302),
        (true, "/v1x", 302),
        (true, "/v1/b", 200),
        (true, "/v1/a%2Fb..c", 200),
        (true, "/v1/..%2fv2/x", 302),
        (true, "/v1/..;/v2", 302),
    ] {
        let mut bench = Bench::new([function("GET /a")]);
        bench.server.base_url = Some(format!("{}/v1", bench.api.origin()));
        if is_guarded {
            bench.server.auth = Auth::Jwt {
                token: Secret::new("a.b.c"),
            };
        }
        bench.api.answer_next(target(path));
        let status = match bench.call("GET /a", &json!({})).await {
            Ok(answer) => answer.status,
            Err(error) => {
                assert!(error.to_string().contains("out of the base URL"), "{error}");
                error.status()
            }
        };
        assert_eq!(status, Some(expected), "{is_guarded} {path}");
    }

    bench.api.answer_with(move |_| target("/a"));
    let error = bench.call("GET /a", &json!({})).await.unwrap_err();
    assert_eq!(
        (error.to_string().as_str(), targets().len()),
        ("the API redirected more than 5 times", 6)
    );
}

#[tokio::test]
async fn headers_about_pages_and_limits_come_back_without_the_place() {
    let bench = Bench::new([function("GET /a")]);
    let answer = FakeAnswer::json(200, "[]")
        .with_header("Link", &format!("<{}/a?page=2>; rel=\"next\"", bench.api.origin()))
        .with_header("X-RateLimit-Remaining", "5")
        .with_header("Location", &format!("{}/a/7", bench.api.origin()))
        .with_header("Set-Cookie", "a=b")
        .with_header("Server", "x");
    bench.api.answer_next(answer);
    let answer = bench.call("GET /a", &json!({})).await.unwrap();
    let headers: Vec<_> = answer.headers.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    assert_eq!(
        headers,
        [
            ("content-type", "application/json"),
            ("link", "</a?page=2>; rel=\"next\""),
            ("x-ratelimit-remaining", "5"),
            ("location", "/a/7")
        ]
    );
    assert_eq!((answer.status, answer.function.as_str()), (Some(200), "svc.do_it"));
}
