//! Logins where servers say what they should not: nothing is reached that they have no right to name, and people are told why.

use mce_broker::{Login, LoginError, LoginWay};
use mce_config::{HttpServer, HttpTransport, Origin};
use mce_test::{FakeAnswer, FakeApi, ReceivedRequest};
use serde_json::{Value, json};

use crate::bench::Bench;

/// An MCP server and its authorization server in one; `change` decides on an answer before they do.
fn servers(change: impl Fn(&str, &ReceivedRequest) -> Option<FakeAnswer> + Send + Sync + 'static) -> (FakeApi, Bench) {
    let api = FakeApi::start();
    let origin = api.origin();
    let bench = Bench::of(
        Origin::McpHttp(HttpServer {
            url: format!("{origin}/mcp"),
            transport: HttpTransport::Auto,
        }),
        |_| {},
    );
    api.answer_with(move |request| change(&origin, request).unwrap_or_else(|| usual(&origin, request)));
    (api, bench)
}

fn usual(origin: &str, request: &ReceivedRequest) -> FakeAnswer {
    match request.target.as_str() {
        "/mcp" => {
            let pointer = format!("Bearer resource_metadata=\"{origin}/.well-known/oauth-protected-resource/mcp\"");
            answer(401, &json!({}), &[("www-authenticate", &pointer)])
        }
        "/.well-known/oauth-protected-resource/mcp" => answer(200, &resource(origin, origin), &[]),
        "/.well-known/oauth-authorization-server" => answer(200, &metadata(origin), &[]),
        "/register" => answer(201, &json!({"client_id": "c", "redirect_uris": []}), &[]),
        _ => answer(404, &json!({}), &[]),
    }
}

fn resource(origin: &str, issuer: &str) -> Value {
    json!({"resource": format!("{origin}/mcp"), "authorization_servers": [issuer]})
}

fn metadata(origin: &str) -> Value {
    json!({"issuer": origin, "authorization_endpoint": format!("{origin}/authorize"), "token_endpoint": format!("{origin}/token"),
        "registration_endpoint": format!("{origin}/register"), "response_types_supported": ["code"],
        "code_challenge_methods_supported": ["S256"]})
}

fn with(origin: &str, name: &str, value: Value) -> FakeAnswer {
    let mut metadata = metadata(origin);
    metadata[name] = value;
    answer(200, &metadata, &[])
}

fn answer(status: u16, body: &Value, headers: &[(&str, &str)]) -> FakeAnswer {
    let mut headers: Vec<(String, String)> = headers
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .collect();
    headers.push(("content-type".to_owned(), "application/json".to_owned()));
    FakeAnswer {
        status,
        headers,
        body: body.to_string().into_bytes(),
        is_silent: false,
    }
}

async fn refused(change: impl Fn(&str, &ReceivedRequest) -> Option<FakeAnswer> + Send + Sync + 'static) -> (LoginError, Vec<String>) {
    let (api, bench) = servers(change);
    let error = bench.upstreams.begin_login("s", LoginWay::Any).await.unwrap_err();
    let targets = api.requests().into_iter().map(|request| request.target).collect();
    (error, targets)
}

/// A login that cannot begin since the metadata of the authorization server has this member, and what is said.
async fn check_metadata(name: &'static str, value: Value, part: &str) {
    let is_metadata = |request: &ReceivedRequest| request.target.starts_with("/.well-known/oauth-authorization-server");
    let (error, targets) = refused(move |origin, request| is_metadata(request).then(|| with(origin, name, value.clone()))).await;
    assert!(matches!(error, LoginError::Discovery { .. }), "{name}: {error}");
    assert!(error.to_string().contains(part), "{name}: {error}");
    assert!(!targets.contains(&"/register".to_owned()), "{name}: {targets:?}");
}

#[tokio::test]
async fn a_login_goes_to_what_the_server_names() {
    let (api, bench) = servers(|_, _| None);
    let Login::Browser(login) = bench.upstreams.begin_login("s", LoginWay::Any).await.unwrap() else {
        panic!("it has a place for browsers")
    };
    let origin = api.origin();
    assert!(login.url().as_str().starts_with(&format!("{origin}/authorize?")));
    let given: Vec<(String, String)> = login.url().query_pairs().into_owned().collect();
    let find = |name: &str| given.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str());
    assert_eq!(find("code_challenge_method"), Some("S256"));
    assert_eq!(find("resource"), Some(format!("{origin}/mcp").as_str()));
    assert_eq!(find("scope"), None);
    let requests = api.requests();
    let registration = requests.iter().find(|request| request.target == "/register").unwrap();
    let registration: Value = serde_json::from_slice(&registration.body).unwrap();
    assert_eq!(registration["application_type"], "native");
    assert_eq!(registration["redirect_uris"][0], find("redirect_uri").unwrap());
}

#[tokio::test]
async fn endpoints_that_nobody_should_reach_are_refused() {
    for (name, url) in [
        ("token_endpoint", "http://10.0.0.9/token"),
        ("token_endpoint", "https://169.254.169.254/latest"),
        ("token_endpoint", "http://auth.example.com/token"),
        ("registration_endpoint", "https://192.168.0.1/register"),
        ("authorization_endpoint", "javascript:alert(1)"),
        ("authorization_endpoint", "file:///etc/passwd"),
        ("authorization_endpoint", "no URL"),
    ] {
        check_metadata(name, json!(url), if url == "no URL" { "is no URL" } else { "may not be reached" }).await;
    }
}

#[tokio::test]
async fn an_authorization_server_says_who_it_is_and_has_pkce() {
    check_metadata("issuer", json!("http://127.0.0.2"), "says that it is `http://127.0.0.2`").await;
    check_metadata("code_challenge_methods_supported", json!(["plain"]), "PKCE").await;
    check_metadata("code_challenge_methods_supported", Value::Null, "PKCE").await;
}

#[tokio::test]
async fn a_document_that_is_hostile_ends_the_login() {
    let is_document = |request: &ReceivedRequest| request.target.contains("oauth-protected-resource");
    let (error, _) = refused(move |_, request| {
        is_document(request).then(|| FakeAnswer {
            body: vec![b' '; 8 << 20],
            ..answer(200, &json!({}), &[])
        })
    })
    .await;
    assert!(error.to_string().contains("larger than 262144 bytes"), "{error}");

    let (error, targets) =
        refused(move |_, request| is_document(request).then(|| answer(302, &json!({}), &[("location", "http://127.0.0.2:9/x")]))).await;
    assert!(error.to_string().contains("redirects to another place"), "{error}");
    assert_eq!(targets.len(), 2, "{targets:?}");

    let (error, _) = refused(move |origin, request| {
        is_document(request).then(|| {
            let other = json!({"resource": "http://127.0.0.1:1/other", "authorization_servers": [origin]});
            answer(200, &other, &[])
        })
    })
    .await;
    assert!(
        error.to_string().contains("is about another server, `http://127.0.0.1:1/other`"),
        "{error}"
    );

    for issuer in [
        "http://10.0.0.9",
        "http://169.254.169.254",
        "https://[fd00::1]",
        "http://auth.example.com",
    ] {
        let (error, targets) =
            refused(move |origin, request| is_document(request).then(|| answer(200, &resource(origin, issuer), &[]))).await;
        assert!(error.to_string().contains("may not be reached"), "{issuer}: {error}");
        assert_eq!(targets.len(), 2, "{issuer}: {targets:?}");
    }
}

#[tokio::test]
async fn a_server_that_is_not_there_is_told() {
    let (api, bench) = servers(|_, _| None);
    let host = api.origin().replace("http://", "");
    drop(api);
    let error = bench.upstreams.begin_login("s", LoginWay::Any).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        format!("how to log in to `s` cannot be found out: `{host}`: the host cannot be reached")
    );
}

#[tokio::test]
async fn a_server_without_metadata_wants_no_login_of_this_kind() {
    let (error, _) = refused(|_, request| (request.target != "/mcp").then(|| answer(404, &json!({}), &[]))).await;
    assert_eq!(error, LoginError::NothingPublished { server: "s".to_owned() });
    assert!(error.hint().unwrap().contains("`auth`"), "{error}");
}

#[tokio::test]
async fn a_registration_that_is_refused_is_told_in_one_line() {
    let said = json!({"error": "invalid_client_metadata", "error_description": "no\u{1b}[2J\nmore"});
    let (error, _) = refused(move |_, request| (request.target == "/register").then(|| answer(400, &said, &[]))).await;
    assert!(error.to_string().ends_with("`invalid_client_metadata`: no [2J more"), "{error}");
    // With the client's secret in its answer, a registration is not sent on to another place.
    let away = |_: &str, request: &ReceivedRequest| {
        (request.target == "/register").then(|| answer(307, &json!({}), &[("location", "http://127.0.0.2:9/register")]))
    };
    let (error, _) = refused(away).await;
    assert!(error.to_string().contains("redirects a request that holds secrets"), "{error}");
}

#[tokio::test]
async fn a_token_endpoint_that_says_no_is_told() {
    let said = json!({"error": "invalid_grant", "error_description": "the code is used"});
    let (api, bench) = servers(move |_, request| (request.target == "/token").then(|| answer(400, &said, &[])));
    let Login::Browser(login) = bench.upstreams.begin_login("s", LoginWay::Any).await.unwrap() else {
        panic!("it has a place for browsers")
    };
    let state = login.url().query_pairs().find(|(name, _)| name == "state").unwrap().1.into_owned();
    for (end, part) in [
        ("code=abc&state=wrong".to_owned(), "belongs to another login"),
        (format!("state={state}"), "holds no code"),
        (
            format!("code=abc&state={state}&iss=http://127.0.0.2"),
            "comes from another authorization server",
        ),
        (
            format!("error=access_denied&state={state}&iss=http://127.0.0.2"),
            "comes from another authorization server",
        ),
    ] {
        let error = login.finish(&format!("http://127.0.0.1:1/callback?{end}")).await.unwrap_err();
        assert!(error.to_string().contains(part), "{end}: {error}");
    }
    assert!(!api.requests().iter().any(|request| request.target == "/token"));
    let error = login
        .finish(&format!("http://127.0.0.1:1/callback?code=abc&state={state}"))
        .await
        .unwrap_err();
    assert!(
        error.to_string().ends_with("gave no token: `invalid_grant`: the code is used"),
        "{error}"
    );
    assert!(bench.upstreams.logins().iter().all(|(_, login)| login.is_none()));
}
