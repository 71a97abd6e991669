//! Credentials go out as configured and never come back; policy refuses before anything is sent.

use std::collections::BTreeMap;

use mce_broker::{AnswerValue, CallErrorKind, FoundFunction};
use mce_catalog::function::{Function, Location, SecurityScheme};
use mce_config::{Auth, Credential, Location as Place, Origin, Secret, Unresolved};
use mce_test::{FakeAnswer, ReceivedRequest};
use serde_json::{Value, json};

use crate::bench::{Bench, function, parameter, with_target};

fn secret(text: &str) -> Secret {
    Secret::new(text)
}

async fn sent(bench: &Bench) -> ReceivedRequest {
    bench.call("GET /a", &json!({})).await.unwrap();
    bench.api.take_requests().remove(0)
}

/// A function that needs the schemes of one of the alternatives.
fn guarded(alternatives: &[&[&str]]) -> Function {
    with_target(function("GET /a"), |target| {
        target.security = alternatives
            .iter()
            .map(|names| names.iter().map(|&name| name.to_owned()).collect())
            .collect();
    })
}

fn schemes() -> BTreeMap<String, SecurityScheme> {
    let key = |location, name: &str| SecurityScheme::ApiKey {
        location,
        name: name.to_owned(),
    };
    let schemes = [
        ("header", key(Location::Header, "X-Key")),
        ("query", key(Location::Query, "api key")),
        ("cookie", key(Location::Cookie, "sid")),
        ("basic", SecurityScheme::Basic),
        ("bearer", SecurityScheme::Bearer),
        ("shared", SecurityScheme::Http("SharedKey".to_owned())),
        ("mutual", SecurityScheme::Other("mutualTLS".to_owned())),
    ];
    schemes.into_iter().map(|(name, scheme)| (name.to_owned(), scheme)).collect()
}

fn bench(alternatives: &[&[&str]], credentials: &[(&str, Credential)]) -> Bench {
    let mut bench = Bench::new([guarded(alternatives)]);
    bench.functions[0].security_schemes = schemes();
    bench.server.credentials = credentials
        .iter()
        .map(|(name, credential)| ((*name).to_owned(), credential.clone()))
        .collect();
    bench
}

fn token(text: &str) -> Credential {
    Credential::Token(secret(text))
}

#[tokio::test]
async fn auth_becomes_the_authorization_field() {
    let basic = Auth::Basic {
        username: "Aladdin".to_owned(),
        password: secret("open sesame"),
    };
    for (auth, field) in [
        (Auth::None, None),
        (
            Auth::Static {
                value: secret("Token abc"),
            },
            Some("Token abc"),
        ),
        (Auth::Jwt { token: secret("a.b.c") }, Some("Bearer a.b.c")),
        (
            Auth::Jwt {
                token: secret("bearer a.b.c"),
            },
            Some("bearer a.b.c"),
        ),
        (basic, Some("Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==")),
    ] {
        let mut bench = Bench::new([function("GET /a")]);
        bench.server.auth = auth;
        assert_eq!(sent(&bench).await.header("authorization"), field);
    }
}

#[tokio::test]
async fn no_credential_goes_to_another_host_that_a_document_names() {
    let origin = |bench: &Bench| bench.api.origin().replace("127.0.0.1", "localhost");
    for (is_elsewhere, listed, expected) in [(false, "", true), (true, "", false), (true, "localhost", true)] {
        let mut bench = bench(&[&["query"]], &[("query", token("q 1"))]);
        bench.server.auth = Auth::Jwt { token: secret("a.b.c") };
        bench.server.extra_headers = vec![("X-Secret".to_owned(), secret("hidden-1")), ("X-Version".to_owned(), secret("v1"))];
        let base_url = origin(&bench);
        bench.server.base_url = None;
        bench.functions[0].function = with_target(bench.functions[0].function.clone(), |target| {
            target.base_url = Some(base_url);
            target.is_elsewhere = is_elsewhere;
        });
        bench.allowed_domains = if listed.is_empty() { Vec::new() } else { vec![listed.to_owned()] };
        bench.api.answer_next(FakeAnswer::json(401, "{}"));
        let error = bench.call("GET /a", &json!({})).await.unwrap_err();
        let sent = bench.api.take_requests().remove(0);
        let found = (
            sent.header("authorization").is_some(),
            sent.target.contains("q%201"),
            sent.header("x-secret").is_some(),
        );
        assert_eq!(found, (expected, expected, expected), "{is_elsewhere} {listed}");
        assert_eq!(sent.header("x-version"), Some("v1"));
        let is_told = error.hint().is_some_and(|hint| hint.contains("`MCE_ALLOWED_DOMAINS`"));
        assert_eq!(is_told, !expected, "{error:?}");
    }
}

#[tokio::test]
async fn an_argument_cannot_stand_beside_a_credential_of_its_name() {
    for (scheme, location) in [("query", Location::Query), ("cookie", Location::Cookie)] {
        let name = if scheme == "query" { "api key" } else { "sid" };
        let mut bench = bench(&[&[scheme]], &[(scheme, token("q1"))]);
        let mut extra = parameter("extra", location);
        extra.schema = json!({"type": "object"});
        bench.functions[0].function.parameters = vec![extra, parameter(name, location)];
        let error = bench.call("GET /a", &json!({"extra": {name: "mine"}})).await;
        // One that is declared gives way, as header fields do.
        let declared = bench.call("GET /a", &json!({name: "mine", "extra": {"other": "x"}})).await;
        assert!(declared.is_ok(), "{declared:?}");
        let sent = bench.api.take_requests();
        let sent = sent.last().unwrap();
        let shown = format!("{} {}", sent.target, sent.header("cookie").unwrap_or_default());
        assert!(
            shown.contains("q1") && shown.contains("other=x") && !shown.contains("mine"),
            "{shown}"
        );
        bench.functions[0].function.parameters.pop();
        let error = match error {
            Err(error) => error,
            Ok(_) => bench.call("GET /a", &json!({"extra": {name: "mine"}})).await.unwrap_err(),
        };
        assert_eq!(error.kind, CallErrorKind::Argument);
        assert!(error.to_string().contains("name of the credential"), "{error}");
    }
}

#[tokio::test]
async fn the_first_alternative_is_taken_for_which_all_is_there() {
    let all = [
        ("header", token("h1")),
        ("query", token("q 1")),
        ("cookie", token("c;1")),
        ("bearer", token("b1")),
        ("shared", token("k1")),
    ];
    for (alternatives, shown) in [
        (&[&["header"][..]][..], "/a X-Key h1"),
        (&[&["query"]], "/a?api%20key=q%201"),
        (&[&["cookie"]], "/a cookie sid=c%3B1"),
        (&[&["bearer"]], "/a authorization Bearer b1"),
        (&[&["shared"]], "/a authorization SharedKey k1"),
        (
            &[&["mutual"], &["header", "mutual"], &["header", "query"]],
            "/a?api%20key=q%201 X-Key h1",
        ),
        (&[&[], &["header"]], "/a X-Key h1"),
        (&[], "/a"),
    ] {
        let request = sent(&bench(alternatives, &all)).await;
        let fields =
            ["X-Key", "cookie", "authorization"].map(|name| request.header(&name.to_lowercase()).map(|value| format!(" {name} {value}")));
        assert_eq!(
            format!("{}{}", request.target, fields.into_iter().flatten().collect::<String>()),
            shown
        );
    }
    let basic = Credential::Basic {
        username: "u".to_owned(),
        password: secret("pw"),
    };
    assert_eq!(
        sent(&bench(&[&["basic"]], &[("basic", basic)])).await.header("authorization"),
        Some("Basic dTpwdw==")
    );
}

#[tokio::test]
async fn a_missing_credential_is_named_when_the_api_refuses() {
    let bench = bench(&[&["header"]], &[]);
    bench.api.answer_next(FakeAnswer::json(401, "{}"));
    let error = bench.call("GET /a", &json!({})).await.unwrap_err();
    assert_eq!(error.status(), Some(401));
    assert!(error.hint().unwrap().contains("`header`"), "{:?}", error.hint());
}

#[tokio::test]
async fn configured_fields_are_stronger_than_arguments() {
    let parameters = vec![parameter("X-Tenant", Location::Header)];
    let mut bench = Bench::new([Function {
        parameters,
        ..function("GET /a")
    }]);
    bench.server.extra_headers = vec![("x-tenant".to_owned(), secret("ours")), ("Cookie".to_owned(), secret("a=b"))];
    bench.call("GET /a", &json!({"X-Tenant": "theirs"})).await.unwrap();
    let request = bench.api.take_requests().remove(0);
    let tenants: Vec<_> = request
        .headers
        .iter()
        .filter(|(name, _)| name == "x-tenant")
        .map(|(_, value)| value.as_str())
        .collect();
    assert_eq!((tenants, request.header("cookie")), (vec!["ours"], Some("a=b")));
}

#[tokio::test]
async fn user_and_password_of_a_base_url_are_basic_auth() {
    let mut bench = Bench::new([function("GET /a")]);
    bench.server.base_url = Some(bench.api.origin().replace("http://", "http://u:pass@") + "/v1?key=k");
    let request = sent(&bench).await;
    assert_eq!(
        (request.target.as_str(), request.header("authorization")),
        ("/v1/a?key=k", Some("Basic dTpwYXNz"))
    );
}

#[tokio::test]
async fn secrets_are_cut_out_of_whatever_comes_back() {
    const TOKEN: &str = "s3 cr/t\"é";
    let json = |text: &str| FakeAnswer::json(200, text);
    for (answer, shown) in [
        (json(r#"{"a":"Bearer s3 cr/t\"é"}"#), r#"{"a":"[redacted]"}"#),
        (json(r#"{"a":"x s3 cr\/t\"é y"}"#), r#"{"a":"x [redacted] y"}"#),
        (json(r#"{"a":"s3 cr/t\"\u00e9"}"#), r#"{"a":"[redacted]"}"#),
        (json(r#"{"s3%20cr%2Ft%22%C3%A9":1}"#), r#"{"[redacted]":1}"#),
        (json(r#"{"a":"czMgY3IvdCLDqQ=="}"#), r#"{"a":"[redacted]=="}"#),
        (
            json(r#"{"pin":51234.5,"n":[1234]}"#),
            r#"{"pin":"5[redacted].5","n":["[redacted]"]}"#,
        ),
        (FakeAnswer::new(200, "text/plain", TOKEN), "[redacted]"),
        (FakeAnswer::new(200, "image/png", TOKEN), "[redacted]"),
    ] {
        let mut bench = Bench::new([with_target(function("GET /a"), |target| {
            target.accepts.push("text/plain".to_owned());
        })]);
        bench.server.auth = Auth::Static {
            value: secret(&format!("Bearer {TOKEN}")),
        };
        bench.server.credentials.insert("pin".to_owned(), token("1234"));
        bench.api.answer_next(answer.clone());
        let came = match bench.call("GET /a", &json!({})).await.unwrap().value {
            AnswerValue::Json(text) => text.get().to_owned(),
            AnswerValue::Text(text) => text,
            AnswerValue::Bytes(bytes) => String::from_utf8(bytes).unwrap(),
            AnswerValue::Empty => String::new(),
        };
        assert_eq!(came, shown, "{answer:?}");
    }
}

#[tokio::test]
async fn secrets_are_cut_out_of_errors_and_headers() {
    let mut bench = Bench::new([function("GET /a")]);
    bench.server.auth = Auth::Basic {
        username: "ann".to_owned(),
        password: secret("hunter22"),
    };
    bench.server.extra_headers = vec![
        ("X-Api-Token".to_owned(), secret("tok-9")),
        ("Notion-Version".to_owned(), secret("2022-06-28")),
    ];
    let echo = "Basic YW5uOmh1bnRlcjIy hunter22 tok-9 2022-06-28";
    bench.api.answer_next(FakeAnswer::json(500, json!({"echo": echo}).to_string()));
    let error = bench.call("GET /a", &json!({})).await.unwrap_err();
    let clean = "Basic [redacted] [redacted] [redacted] 2022-06-28";
    assert_eq!(error.body(), Some(&json!({"echo": clean})));
    bench.api.answer_next(FakeAnswer::json(200, "{}").with_header("X-Total", echo));
    let answer = bench.call("GET /a", &json!({})).await.unwrap();
    assert!(
        answer.headers.contains(&("x-total".to_owned(), clean.to_owned())),
        "{:?}",
        answer.headers
    );
}

#[tokio::test]
async fn nothing_that_holds_a_secret_prints_it() {
    let mut bench = Bench::new([function("GET /a")]);
    bench.server.auth = Auth::Static {
        value: secret("Bearer s3cr3t"),
    };
    bench.server.base_url = Some("http://u:s3cr3t@127.0.0.1".to_owned());
    let broker = format!("{:?}", bench.broker());
    assert!(!broker.contains("s3cr3t"), "{broker}");
}

#[tokio::test]
async fn what_configuration_does_not_allow_is_refused() {
    let check = async |bench: Bench, operation: &str, told: &str| {
        let error = bench.call(operation, &json!({})).await.unwrap_err();
        assert_eq!(error.kind, CallErrorKind::Policy, "{error}");
        let text = format!("{error}; {}", error.hint().unwrap_or_default());
        assert!(text.contains(told), "{text}");
        assert!(bench.api.requests().is_empty());
        let events: Vec<_> = bench.audit().iter().map(|record| record["event"].clone()).collect();
        assert_eq!(events, [json!("refused")]);
    };
    let functions = || [function("GET /a"), function("DELETE /a"), function("POST /a")];

    let mut bench = Bench::new(functions());
    bench.server.is_read_only = true;
    bench.call("GET /a", &json!({})).await.unwrap();
    for operation in ["DELETE /a", "POST /a"] {
        let mut bench = Bench::new(functions());
        bench.server.is_read_only = true;
        check(bench, operation, "read-only").await;
    }

    let mut bench = Bench::new(functions());
    bench.server.base_url = None;
    check(bench, "GET /a", "`base_url` is needed").await;

    let mut bench = Bench::new(functions());
    let unresolved = Unresolved {
        variable: "TOKEN".to_owned(),
        file: "mce.yaml".to_owned(),
        key: "servers.svc.auth.value".to_owned(),
    };
    bench.server.unresolved = vec![unresolved];
    check(
        bench,
        "GET /a",
        "define `TOKEN`; it is used in `mce.yaml`, key `servers.svc.auth.value`",
    )
    .await;
}

#[tokio::test]
async fn hosts_that_only_a_document_names_must_be_among_the_allowed_domains() {
    for (domains, is_allowed) in [
        (&[][..], true),
        (&["127.0.0.1"], true),
        (&["allowed.example", "127.0.0.1"], true),
        (&["*.0.0.1"], false),
        (&["allowed.example"], false),
        (&["0.0.1"], false),
        (&["27.0.0.1"], false),
    ] {
        let mut bench = Bench::new([function("GET /a")]);
        let origin = bench.server.base_url.take();
        bench.functions.clear();
        let found = FoundFunction {
            filled: Vec::new(),
            function: with_target(function("GET /a"), |target| target.base_url = origin),
            types: BTreeMap::new(),
            security_schemes: BTreeMap::new(),
        };
        bench.functions.push(found);
        bench.allowed_domains = domains.iter().map(|&domain| domain.to_owned()).collect();
        let outcome = bench.call("GET /a", &json!({})).await;
        assert_eq!(outcome.is_ok(), is_allowed, "{domains:?}");
        assert_eq!(bench.api.requests().len(), usize::from(is_allowed));
        if let Err(error) = outcome {
            assert_eq!((error.kind.as_str(), error.to_string().contains("127.0.0.1")), ("policy", false));
            assert!(error.hint().unwrap().contains("`MCE_ALLOWED_DOMAINS`"));
        }
    }
}

#[tokio::test]
async fn hosts_that_a_person_configured_are_allowed_by_that() {
    let mut bench = Bench::new([function("GET /a")]);
    bench.allowed_domains = vec!["allowed.example".to_owned()];
    bench.call("GET /a", &json!({})).await.unwrap();
    // The place of the document counts, as its paths are often relative to it.
    let origin = bench.server.base_url.take().unwrap();
    for (document, is_allowed) in [
        (format!("{origin}/openapi.json"), true),
        ("http://elsewhere.example/".to_owned(), false),
    ] {
        bench.server.origin = Origin::OpenApi(Place::Url(document));
        bench.functions[0].function = with_target(function("GET /a"), |target| target.base_url = Some(origin.clone()));
        assert_eq!(bench.call("GET /a", &json!({})).await.is_ok(), is_allowed);
    }
}

#[tokio::test]
async fn the_documents_own_base_url_is_the_last_resort() {
    let other = Bench::new([]);
    let origin = other.api.origin();
    let mut bench = Bench::new([with_target(function("GET /a"), |target| {
        target.base_url = Some(format!("{origin}/v2"));
    })]);
    bench.call("GET /a", &json!({})).await.unwrap();
    assert_eq!((bench.api.take_requests().len(), other.api.requests().len()), (1, 0));
    bench.server.base_url = None;
    bench.call("GET /a", &json!({})).await.unwrap();
    assert_eq!(other.api.requests()[0].target, "/v2/a");
    assert_eq!(bench.audit().iter().filter(|record| record["ok"] == Value::Bool(true)).count(), 2);
}
