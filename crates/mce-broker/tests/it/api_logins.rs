//! Tokens and sessions are asked for when they are needed, by one call for all, kept, renewed when they are refused, and never
//! come back.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use mce_broker::{AnswerValue, CallErrorKind};
use mce_config::{Auth, Secret, SessionAuth};
use mce_test::{FakeAnswer, ReceivedRequest};
use serde_json::json;
use serde_json::value::RawValue;

use crate::bench::{Bench, call, function};

const SECRET: &str = "client-secret-0815";
const PASSWORD: &str = "pass-word-4711";

fn empty() -> Box<RawValue> {
    RawValue::from_string("{}".to_owned()).unwrap()
}

fn path(request: &ReceivedRequest) -> &str {
    request.target.split('?').next().unwrap_or_default()
}

/// A server that reads and writes, and whose login is at its own origin.
fn bench(auth: impl Fn(&str) -> Auth) -> Bench {
    let mut bench = Bench::new([function("GET /a"), function("POST /a")]);
    bench.server.auth = auth(&bench.api.origin());
    bench
}

fn client_credentials(origin: &str) -> Auth {
    Auth::OAuth2 {
        place: mce_config::TokenPlace::Url(format!("{origin}/token")),
        client_id: "me:1".to_owned(),
        client_secret: Secret::new(SECRET),
        scope: "read write".to_owned(),
    }
}

fn session(origin: &str) -> SessionAuth {
    SessionAuth {
        login_url: format!("{origin}/login"),
        username: "ann".to_owned(),
        password: Secret::new(PASSWORD),
        username_field: "user".to_owned(),
        password_field: "pass".to_owned(),
        is_form: true,
        cookie_name: String::new(),
        token_field: String::new(),
        expires: Duration::from_hours(1),
    }
}

fn session_bench(change: impl Fn(&mut SessionAuth)) -> Bench {
    bench(|origin| {
        let mut session = session(origin);
        change(&mut session);
        Auth::Session(Box::new(session))
    })
}

/// Tokens with a number; what carries the newest is let in.
fn answer_with_tokens(bench: &Bench, lasts: u64) -> Arc<AtomicUsize> {
    let newest = Arc::new(AtomicUsize::new(0));
    let given = Arc::clone(&newest);
    bench.api.answer_with(move |request| {
        if path(request) == "/token" {
            let number = given.fetch_add(1, Ordering::SeqCst) + 1;
            let token = json!({"access_token": format!("token-number-{number}"), "token_type": "bearer", "expires_in": lasts});
            return FakeAnswer::json(200, token.to_string());
        }
        let wanted = format!("Bearer token-number-{}", given.load(Ordering::SeqCst));
        let is_let_in = request.header("authorization") == Some(&wanted);
        let status = if is_let_in { 200 } else { 401 };
        FakeAnswer::json(
            status,
            json!({"seen": request.header("authorization"), "bare": wanted.split(' ').next_back()}).to_string(),
        )
    });
    newest
}

#[tokio::test]
async fn a_token_is_asked_for_once_and_kept_for_all_calls() {
    let bench = bench(client_credentials);
    answer_with_tokens(&bench, 3600);
    let broker = bench.broker();
    let arguments = empty();
    let calls = (0..20).map(|_| call(&broker, "GET /a", &arguments));
    for answer in futures_util::future::join_all(calls).await {
        let AnswerValue::Json(json) = answer.unwrap().value else {
            panic!("no JSON");
        };
        // What the API echoes is cut out, though nobody configured it.
        assert_eq!(json.get(), r#"{"seen":"[redacted]","bare":"[redacted]"}"#);
    }
    let requests = bench.api.take_requests();
    let asked: Vec<_> = requests.iter().filter(|request| path(request) == "/token").collect();
    assert_eq!((asked.len(), requests.len()), (1, 21));
    assert_eq!(asked[0].text(), "grant_type=client_credentials&scope=read%20write");
    // RFC 6749, section 2.3.1: both parts are encoded before they are joined.
    assert_eq!(asked[0].header("authorization"), Some("Basic bWUlM0ExOmNsaWVudC1zZWNyZXQtMDgxNQ=="));
}

#[tokio::test]
async fn a_token_that_expires_is_asked_for_anew() {
    let bench = bench(client_credentials);
    let given = answer_with_tokens(&bench, 0);
    let broker = bench.broker();
    for _ in 0..3 {
        call(&broker, "GET /a", &empty()).await.unwrap();
    }
    assert_eq!(given.load(Ordering::SeqCst), 3);
}

#[tokio::test]
async fn a_refused_token_is_renewed_and_only_what_reads_is_sent_again() {
    let bench = bench(client_credentials);
    let newest = answer_with_tokens(&bench, 3600);
    let broker = bench.broker();
    call(&broker, "GET /a", &empty()).await.unwrap();
    // The API takes the next token only.
    newest.fetch_add(1, Ordering::SeqCst);
    bench.api.take_requests();
    call(&broker, "GET /a", &empty()).await.unwrap();
    let paths: Vec<String> = bench.api.take_requests().iter().map(|request| path(request).to_owned()).collect();
    assert_eq!(paths, ["/a", "/token", "/a"]);
    newest.fetch_add(1, Ordering::SeqCst);
    let error = call(&broker, "POST /a", &empty()).await.unwrap_err();
    assert_eq!(error.status(), Some(401));
    assert!(error.hint().unwrap().contains("log in anew"), "{error:?}");
    assert_eq!(bench.api.take_requests().len(), 1);
    call(&broker, "POST /a", &empty()).await.unwrap();
}

#[tokio::test]
async fn a_login_that_fails_says_what_the_endpoint_said_and_is_not_tried_at_once() {
    let bench = bench(client_credentials);
    bench.api.answer_with(|request| {
        let body = json!({"error": "invalid_scope", "error_description": format!("no, {SECRET}"), "at": request.target});
        FakeAnswer::json(400, body.to_string())
    });
    let broker = bench.broker();
    for _ in 0..3 {
        let error = call(&broker, "GET /a", &empty()).await.unwrap_err();
        let told = error.to_string();
        assert!(told.starts_with("the login of `svc` was refused with status 400: "), "{told}");
        assert!(
            told.contains("invalid_scope") && !told.contains(SECRET) && !told.contains("127.0.0.1"),
            "{told}"
        );
        assert!(error.hint().unwrap().contains("`auth` of `svc`"));
    }
    assert_eq!(bench.api.take_requests().len(), 1);
    let audit = format!("{:?}", bench.audit());
    assert!(!audit.contains(SECRET), "{audit}");
}

#[tokio::test]
async fn an_endpoint_that_takes_the_secret_in_the_body_only_gets_it_there() {
    let bench = bench(|origin| Auth::Keycloak {
        base_url: format!("{origin}/auth"),
        realm: "my realm".to_owned(),
        client_id: "me".to_owned(),
        client_secret: Secret::new(SECRET),
        scope: String::new(),
    });
    bench.api.answer_with(|request| match path(request) {
        "/a" => FakeAnswer::json(200, "{}"),
        _ if request.header("authorization").is_some() => FakeAnswer::json(401, r#"{"error":"invalid_client"}"#),
        _ => FakeAnswer::json(200, r#"{"access_token":"a-token-of-keycloak","expires_in":"300"}"#),
    });
    bench.call("GET /a", &json!({})).await.unwrap();
    let requests = bench.api.take_requests();
    assert_eq!(requests[1].target, "/auth/realms/my%20realm/protocol/openid-connect/token");
    assert_eq!(
        requests[1].text(),
        format!("grant_type=client_credentials&client_id=me&client_secret={SECRET}")
    );
    assert_eq!(requests[2].header("authorization"), Some("Bearer a-token-of-keycloak"));
}

#[tokio::test]
async fn a_session_is_its_cookies() {
    let login = |_: &ReceivedRequest| {
        FakeAnswer::new(302, "text/html", "")
            .with_header("location", "/home")
            .with_header("set-cookie", "JSESSIONID=session-abc-123; Path=/; HttpOnly")
            .with_header("set-cookie", "theme=dark")
            .with_header("set-cookie", "old=x; Max-Age=0")
    };
    for (name, sent) in [
        ("", "JSESSIONID=session-abc-123; theme=dark"),
        ("JSESSIONID", "JSESSIONID=session-abc-123"),
    ] {
        let bench = session_bench(|session| session.cookie_name = name.to_owned());
        bench.api.answer_with(move |request| match path(request) {
            "/login" => login(request),
            _ => FakeAnswer::json(
                200,
                json!({"cookie": request.header("cookie"), "bare": "session-abc-123"}).to_string(),
            ),
        });
        let answer = bench.call("GET /a", &json!({})).await.unwrap();
        let AnswerValue::Json(echoed) = answer.value else {
            panic!("no JSON")
        };
        assert!(!echoed.get().contains("session-abc"), "{echoed}");
        let requests = bench.api.take_requests();
        assert_eq!(requests[0].text(), format!("user=ann&pass={PASSWORD}"));
        assert_eq!(requests[1].header("cookie"), Some(sent));
    }
}

#[tokio::test]
async fn only_so_many_cookies_are_kept() {
    let bench = session_bench(|_| {});
    bench.api.answer_with(|request| match path(request) {
        "/login" => (0..60).fold(FakeAnswer::json(200, "{}"), |answer, number| {
            answer.with_header("set-cookie", &format!("c{number}=value-{number}"))
        }),
        _ => FakeAnswer::json(200, "{}"),
    });
    bench.call("GET /a", &json!({})).await.unwrap();
    let sent = bench.api.take_requests().pop().unwrap().header("cookie").unwrap().to_owned();
    assert_eq!(sent.split("; ").count(), 50, "{sent}");
}

#[tokio::test]
async fn a_session_may_be_a_token_of_the_answer() {
    for (field, answer) in [
        ("access_token", json!({"access_token": "token-of-session"})),
        ("data.token", json!({"data": {"token": "Bearer token-of-session"}})),
    ] {
        let bench = session_bench(|session| {
            session.token_field = field.to_owned();
            session.is_form = false;
        });
        let text = answer.to_string();
        bench.api.answer_with(move |request| match path(request) {
            "/login" => FakeAnswer::json(200, text.clone()),
            _ => FakeAnswer::json(200, "{}"),
        });
        bench.call("GET /a", &json!({})).await.unwrap();
        let requests = bench.api.take_requests();
        assert_eq!(requests[0].text(), format!(r#"{{"user":"ann","pass":"{PASSWORD}"}}"#));
        assert_eq!(requests[1].header("authorization"), Some("Bearer token-of-session"));
    }
}

#[tokio::test]
async fn a_session_that_is_not_given_is_a_clear_error() {
    let form = |location: &str| {
        FakeAnswer::new(302, "text/html", "")
            .with_header("location", location)
            .with_header("set-cookie", "JSESSIONID=of-nobody")
    };
    for (answer, told) in [
        (form("/login?error"), "was refused with status 302"),
        (
            FakeAnswer::json(403, r#"{"message":"wrong password"}"#),
            "status 403: {\"message\":\"wrong password\"}",
        ),
        (FakeAnswer::json(200, "{}"), "with no cookie"),
    ] {
        let bench = session_bench(|_| {});
        bench.api.answer_with(move |_| answer.clone());
        let error = bench.call("GET /a", &json!({})).await.unwrap_err();
        assert!(matches!(error.kind, CallErrorKind::Api { .. }), "{error:?}");
        assert!(error.to_string().contains(told), "{error}");
        assert_eq!(bench.api.take_requests().len(), 1);
    }
}
