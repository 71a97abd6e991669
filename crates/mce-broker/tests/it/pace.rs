//! How often an API is asked: again where it is overloaded, not at all where it fails, and not by too many at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::sleep;
use std::time::Duration;

use mce_broker::{CallError, CallErrorKind};
use mce_config::{FunctionSettings, Rate};
use mce_test::FakeAnswer;
use serde_json::value::to_raw_value;
use serde_json::{Value, json};

use crate::bench::{Bench, call, function};

fn overloaded(retry_after: &str) -> FakeAnswer {
    FakeAnswer::json(503, "{}").with_header("retry-after", retry_after)
}

async fn get(bench: &Bench) -> Result<(), CallError> {
    bench.call("GET /a", &json!({})).await.map(drop)
}

#[tokio::test]
async fn what_reads_is_sent_again_to_an_overloaded_api() {
    let bench = Bench::new([function("GET /a"), function("POST /a")]);
    for answer in [overloaded("0"), FakeAnswer::json(429, "{}"), FakeAnswer::json(200, "{}")] {
        bench.api.answer_next(answer);
    }
    get(&bench).await.unwrap();
    assert_eq!(bench.api.take_requests().len(), 3);
    let [_, outcome] = bench.audit().try_into().unwrap();
    assert_eq!((&outcome["ok"], &outcome["attempts"]), (&json!(true), &json!(3)));

    bench.api.answer_next(overloaded("0"));
    let error = bench.call("POST /a", &json!({})).await.unwrap_err();
    assert_eq!((error.status(), bench.api.take_requests().len()), (Some(503), 1));
}

#[tokio::test]
async fn it_is_not_sent_again_and_again_nor_after_the_time_of_a_call() {
    let bench = Bench::new([function("GET /a")]);
    bench.api.answer_with(|_| overloaded("0"));
    assert_eq!(get(&bench).await.unwrap_err().status(), Some(503));
    assert_eq!(bench.api.take_requests().len(), 3);
    assert_eq!(bench.audit()[1]["attempts"], 3);

    bench.api.answer_with(|_| overloaded("3600"));
    let error = get(&bench).await.unwrap_err();
    assert_eq!(error.hint(), Some("the API asks to wait 3600 s before the next call"));
    assert_eq!(bench.api.take_requests().len(), 1);
    assert_eq!(bench.audit()[3]["attempts"], Value::Null);
}

#[tokio::test]
async fn an_api_that_fails_five_times_in_a_row_is_left_alone() {
    let bench = Bench::new([function("GET /a")]);
    let broker = bench.broker();
    let get = async || call(&broker, "GET /a", &to_raw_value(&json!({})).unwrap()).await;
    // What is wrong with a request is no failure of the API.
    for status in [500, 502, 500, 500, 404, 500, 500, 504, 500, 500] {
        bench.api.answer_next(FakeAnswer::json(status, "{}"));
        assert_eq!(get().await.unwrap_err().status(), Some(status));
    }
    bench.api.take_requests();
    let error = get().await.unwrap_err();
    assert!(error.to_string().contains("left alone"), "{error}");
    assert!(error.hint().unwrap().starts_with("it is tried again in "), "{error}");
    assert_eq!(error.kind, CallErrorKind::Api { status: None, body: None });
    assert!(bench.api.requests().is_empty());
    assert_eq!(bench.audit().pop().unwrap()["event"], "refused");
}

#[tokio::test]
async fn no_more_calls_are_under_way_than_allowed() {
    let mut bench = Bench::new([function("GET /a")]);
    bench.server.upstream.concurrency = 2;
    let (now, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let (now_there, most_there) = (Arc::clone(&now), Arc::clone(&most));
    bench.api.answer_with(move |_| {
        most_there.fetch_max(now_there.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
        sleep(Duration::from_millis(20));
        now_there.fetch_sub(1, Ordering::SeqCst);
        FakeAnswer::json(200, "{}")
    });
    let broker = bench.broker();
    let arguments = to_raw_value(&json!({})).unwrap();
    let calls = (0..8).map(|_| call(&broker, "GET /a", &arguments));
    let answers = futures_util::future::join_all(calls).await;
    assert!(answers.iter().all(Result::is_ok));
    assert_eq!(most.load(Ordering::SeqCst), 2);
}

#[tokio::test]
async fn servers_and_functions_have_rates_of_their_own() {
    let mut bench = Bench::new([function("GET /a"), function("GET /b")]);
    let settings = FunctionSettings {
        rate: Rate::read("1/hour"),
        ..FunctionSettings::default()
    };
    bench.server.view.functions.insert("GET /a".to_owned(), settings);
    bench.server.view.rate = Rate::read("3/hour");
    let broker = bench.broker();
    let arguments = to_raw_value(&json!({})).unwrap();
    let mut ends = Vec::new();
    for operation in ["GET /a", "GET /a", "GET /b", "GET /b"] {
        ends.push(
            call(&broker, operation, &arguments)
                .await
                .map_or_else(|error| error.to_string(), |_| "sent".to_owned()),
        );
    }
    let of_function = "the limit of 1 calls of `svc.do_it` in 3600 s is reached";
    let of_server = "the limit of 3 calls of `svc` in 3600 s is reached";
    // A call that its function's rate refuses has had its turn at the server.
    assert_eq!(ends, ["sent", of_function, "sent", of_server]);
    assert_eq!(bench.api.requests().len(), 2);
}

#[tokio::test]
async fn a_server_may_have_attempts_and_patience_of_its_own() {
    let mut bench = Bench::new([function("GET /a")]);
    bench.server.view.retries = Some(0);
    bench.server.view.breaker_failures = Some(2);
    bench.api.answer_with(|_| overloaded("0"));
    let broker = bench.broker();
    let get = async || call(&broker, "GET /a", &to_raw_value(&json!({})).unwrap()).await.unwrap_err();
    assert_eq!((get().await.status(), get().await.status()), (Some(503), Some(503)));
    assert!(get().await.to_string().contains("left alone"));
    assert_eq!(bench.api.requests().len(), 2, "none is sent again");
}
