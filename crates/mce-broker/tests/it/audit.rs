//! Every call that is sent leaves an intent before and an outcome after.

use std::os::unix::fs::PermissionsExt;
use std::{fs, thread};

use mce_broker::{Broker, CallErrorKind, verify_audit};
use mce_catalog::function::{BodyFormat, Function, Location};
use mce_config::{AuditArguments, Auth, Secret};
use mce_test::FakeAnswer;
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Value, json};

use crate::bench::{Bench, body, call, function, parameter};

fn noted() -> Function {
    let parameters = vec![parameter("X-Note", Location::Header)];
    Function {
        parameters,
        body: Some(body("application/json", BodyFormat::Json, json!({}))),
        ..function("POST /a")
    }
}

#[tokio::test]
async fn an_intent_and_its_outcome_are_tied() {
    let bench = Bench::new([noted()]);
    bench.api.answer_next(FakeAnswer::json(201, "[1,2]"));
    bench
        .call("POST /a", &json!({"X-Note": "private", "body": {"pin": 4321}}))
        .await
        .unwrap();
    let [intent, outcome] = bench.audit().try_into().unwrap();
    for (record, event) in [(&intent, "intent"), (&outcome, "outcome")] {
        assert_eq!(record["event"], event);
        assert_eq!(
            (&record["run"], &record["function"], &record["operation"]),
            (&json!("r1"), &json!("svc.do_it"), &json!("POST /a"))
        );
        assert!(record["time"].as_str().unwrap().ends_with('Z'));
    }
    assert_eq!(intent["call"], outcome["call"]);
    assert_eq!(
        (&intent["arguments"], &intent["effect"]),
        (&json!(["X-Note", "body"]), &json!("write"))
    );
    assert_eq!(
        (&outcome["ok"], &outcome["status"], &outcome["bytes"]),
        (&json!(true), &json!(201), &json!(5))
    );
    assert!(outcome["ms"].is_u64());
    let text = fs::read_to_string(bench.audit_file()).unwrap();
    assert!(!text.contains("private") && !text.contains("4321"), "{text}");
    assert_eq!(fs::metadata(bench.audit_file()).unwrap().permissions().mode() & 0o777, 0o600);
}

#[tokio::test]
async fn calls_have_numbers_of_their_own_and_lines_are_added() {
    let bench = Bench::new([function("GET /a")]);
    for _ in 0..2 {
        let broker = bench.broker();
        for _ in 0..2 {
            bench.api.answer_next(FakeAnswer::json(200, "{}"));
            call(&broker, "GET /a", RawValue::NULL).await.unwrap_err();
            call(&broker, "GET /a", &to_raw_value(&json!({})).unwrap()).await.unwrap();
        }
    }
    let mut calls: Vec<_> = bench
        .audit()
        .iter()
        .map(|record| record["call"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(calls.len(), 8);
    calls.sort();
    calls.dedup();
    assert_eq!(calls.len(), 4);
}

#[tokio::test]
async fn failures_are_outcomes_without_secrets() {
    let mut bench = Bench::new([function("GET /a")]);
    bench.server.auth = Auth::Static {
        value: Secret::new("Bearer t0p-s3cr3t"),
    };
    bench.api.answer_next(FakeAnswer::json(500, r#"{"echo":"Bearer t0p-s3cr3t"}"#));
    bench.call("GET /a", &json!({})).await.unwrap_err();
    let outcome = bench.audit().remove(1);
    assert_eq!(
        (&outcome["ok"], &outcome["status"], &outcome["error"]["type"]),
        (&json!(false), &json!(500), &json!("api"))
    );
    assert!(!outcome.to_string().contains("t0p-s3cr3t"), "{outcome}");
}

#[tokio::test]
async fn a_call_that_is_given_up_has_an_outcome() {
    let bench = Bench::new([function("GET /a")]);
    bench.api.answer_with(|_| FakeAnswer::silence());
    let broker = bench.broker();
    let arguments = to_raw_value(&json!({})).unwrap();
    tokio::select! {
        _ = call(&broker, "GET /a", &arguments) => panic!("the API is silent"),
        () = arrival(&bench) => {}
    }
    let outcome = bench.audit().remove(1);
    assert_eq!(
        (&outcome["event"], &outcome["ok"], &outcome["error"]["type"]),
        (&json!("outcome"), &json!(false), &json!("cancelled"))
    );
}

async fn arrival(bench: &Bench) {
    while bench.api.requests().is_empty() {
        tokio::task::yield_now().await;
        thread::yield_now();
    }
}

#[tokio::test]
async fn where_the_log_cannot_be_written_what_writes_is_refused_and_what_reads_goes_on_and_is_counted() {
    let bench = Bench::new([function("GET /a"), noted()]);
    // Every write to this device fails for want of space.
    std::os::unix::fs::symlink("/dev/full", bench.audit_file()).unwrap();
    let broker = bench.broker();
    let write = async || call(&broker, "POST /a", &to_raw_value(&json!({"body": {}})).unwrap()).await;
    let read = async || call(&broker, "GET /a", &to_raw_value(&json!({})).unwrap()).await;
    let error = write().await.unwrap_err();
    assert_eq!(error.kind, CallErrorKind::Policy);
    assert!(error.to_string().contains("audit log"), "{error}");
    assert!(bench.api.requests().is_empty());
    bench.api.answer_with(|_| FakeAnswer::json(200, "{}"));
    read().await.unwrap();
    assert_eq!(bench.api.requests().len(), 1);

    // There is room again.
    fs::remove_file(bench.audit_file()).unwrap();
    write().await.unwrap();
    let [note, intent, outcome] = bench.audit().try_into().unwrap();
    // The read and its outcome.
    assert_eq!((&note["what"], &note["lines"]), (&json!("unrecorded"), &json!(2)));
    assert_eq!((&intent["event"], &outcome["event"]), (&json!("intent"), &json!("outcome")));
    assert_eq!(
        verify_audit(&bench.audit_file(), bench.audit_file().parent().unwrap())
            .unwrap()
            .faults,
        []
    );
}

#[tokio::test]
async fn what_is_kept_of_arguments_is_a_choice() {
    let secret = "Bearer t0p-s3cr3t";
    let kept = async |choice| {
        let mut bench = Bench::new([noted()]);
        bench.audit.arguments = choice;
        bench.server.auth = Auth::Static {
            value: Secret::new(secret),
        };
        bench.api.answer_next(FakeAnswer::json(200, "{}"));
        let arguments = json!({"X-Note": format!("see {secret}"), "body": {"size": 7, "password": "swordfish"}});
        bench.call("POST /a", &arguments).await.unwrap();
        let intent = bench.audit().remove(0);
        assert!(intent["arguments_sha256"].is_string());
        let text = intent.to_string();
        assert!(!text.contains("t0p-s3cr3t") && !text.contains("swordfish"), "{text}");
        intent["arguments"].clone()
    };
    assert_eq!(kept(AuditArguments::None).await, Value::Null);
    assert_eq!(kept(AuditArguments::Names).await, json!(["X-Note", "body"]));
    let masked = kept(AuditArguments::Masked).await;
    assert_eq!(masked["body"], json!({"size": 7, "password": "[redacted]"}));
    assert!(masked["X-Note"].as_str().unwrap().contains("[redacted]"), "{masked}");
}

#[tokio::test]
async fn a_log_in_no_directory_is_an_error() {
    let mut bench = Bench::new([]);
    bench.audit.file = "/nowhere/audit.jsonl".into();
    let error = Broker::new(bench.options()).unwrap_err();
    assert_eq!(error.to_string(), "failed to open the audit log `/nowhere/audit.jsonl`");
}
