//! Rates; what is sent is tested from outside.

use super::*;
use crate::run_context::Asker;

fn rate(text: &str) -> Rate {
    Rate::read(text).unwrap()
}

#[tokio::test]
async fn a_full_bucket_lets_as_many_through_as_it_holds_and_then_says_when() {
    let bucket = Bucket::new(rate("2/hour"));
    for _ in 0..2 {
        bucket.wait(Duration::ZERO, "calls").await.unwrap();
    }
    let error = bucket.wait(Duration::from_secs(30), "calls of `svc`").await.unwrap_err();
    assert_eq!(error.kind, CallErrorKind::Busy);
    assert_eq!(error.to_string(), "the limit of 2 calls of `svc` in 3600 s is reached");
    assert_eq!(error.hint(), Some("try again in 1800 s"));
}

#[tokio::test]
async fn whoever_has_patience_waits_for_the_bucket() {
    let bucket = Bucket::new(rate("200/s burst 1"));
    let start = Instant::now();
    for _ in 0..5 {
        bucket.wait(Duration::from_secs(30), "calls").await.unwrap();
    }
    assert!(start.elapsed() >= Duration::from_millis(19), "{:?}", start.elapsed());
}

#[tokio::test]
async fn clients_have_buckets_of_their_own() {
    let runs = PerClient::new(Some(rate("1/hour")));
    let of = |name: &str| RunContext {
        client: Some(name.to_owned()),
        ..RunContext::new("r", Asker::Model)
    };
    let start = async |name: &str| runs.bucket(&of(name)).unwrap().wait(Duration::ZERO, "programs").await.is_ok();
    assert_eq!((start("a").await, start("b").await, start("a").await), (true, true, false));
    for number in 0..2 * MAX_CLIENTS {
        start(&number.to_string()).await;
    }
    assert!(runs.buckets.lock().unwrap().len() <= MAX_CLIENTS + 1);
    assert!(PerClient::new(None).bucket(&of("a")).is_none());
}
