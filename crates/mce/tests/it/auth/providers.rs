//! Where clients get tokens by what an `OpenID` provider publishes; logins by the way of their server.

use mce_test::{Authority, FakeAnswer, FakeApi, HttpServerProcess, OAuthServer, between};
use serde_json::{Value, json};

use super::log_in_to;
use super::scopes::{code_flow, document};
use crate::project::{Ended, Project};

fn machine(more: &Value) -> Value {
    let mut client = json!({"client_id": "machine", "client_secret": "machine-secret-0815", "scope": "notes:read notes:write"});
    client.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    client
}

/// Calls `notes` of an API with this scheme at this place, whose entry has more keys.
fn call(project: &Project, scheme: &Value, base_url: &str, more: &Value) -> Ended {
    project.write("api.json", &document(scheme));
    let mut entry = json!({"openapi": "./api.json", "base_url": base_url});
    entry.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let secrets = json!({"pass": {"command": ["cat", project.file("give")]}});
    project.write("mce.yaml", &json!({"secrets": secrets, "servers": {"api": entry}}).to_string());
    assert_eq!(project.run(&["compile"]).code, 0);
    project.run(&["call", "api.notes", "--json", "{}"])
}

fn provider(issuer: &str) -> Value {
    json!({"type": "openIdConnect", "openIdConnectUrl": format!("{issuer}/.well-known/openid-configuration")})
}

#[test]
fn a_client_finds_its_tokens_where_the_provider_says() {
    let Some(server) = OAuthServer::start(&json!({})) else { return };
    let project = Project::empty();
    let own = call(
        &project,
        &provider(&server.issuer),
        &server.issuer,
        &json!({"credentials": {"s": machine(&json!({}))}}),
    );
    assert!(own.code == 0 && own.out.contains("notes:write"), "{own:?}");

    let api = FakeApi::start();
    let issuer = json!({"issuer": server.issuer});
    let mut auth = machine(&issuer);
    auth["type"] = json!("oauth2");
    for more in [json!({"credentials": {"s": machine(&issuer)}}), json!({"auth": auth})] {
        let ended = call(&project, &provider("https://nobody.invalid"), &api.origin(), &more);
        assert_eq!(ended.code, 0, "{ended:?}");
        let sent = api.take_requests();
        assert!(
            sent.len() == 1 && sent[0].header("authorization").unwrap().starts_with("Bearer "),
            "{sent:?}"
        );
    }
    assert_eq!(server.told()["grants"].as_array().unwrap().len(), 3);
}

/// An authorization server at `ORIGIN/realm` that is no provider of `OpenID`, with an API beside it.
fn authorization_server() -> FakeApi {
    let api = FakeApi::start();
    let origin = api.origin();
    api.answer_with(move |request| match request.target.as_str() {
        "/.well-known/oauth-authorization-server/realm" => FakeAnswer::json(
            200,
            json!({"issuer": format!("{origin}/realm"), "token_endpoint": format!("{origin}/token")}).to_string(),
        ),
        "/token" => FakeAnswer::json(200, r#"{"access_token": "a-token-of-the-realm", "token_type": "Bearer"}"#),
        "/notes" if request.header("authorization") == Some("Bearer a-token-of-the-realm") => FakeAnswer::json(200, "[]"),
        _ => FakeAnswer::empty(404),
    });
    api
}

#[test]
fn a_client_finds_its_tokens_where_an_authorization_server_without_openid_says() {
    let server = authorization_server();
    let issuer = format!("{}/realm", server.origin());
    let metadata = format!("{}/.well-known/oauth-authorization-server/realm", server.origin());
    let named = json!({"type": "oauth2", "flows": {}, "oauth2MetadataUrl": metadata});
    for (scheme, more) in [(provider("https://nobody.invalid"), json!({"issuer": issuer})), (named, json!({}))] {
        let project = Project::empty();
        let ended = call(&project, &scheme, &server.origin(), &json!({"credentials": {"s": machine(&more)}}));
        assert_eq!(ended.code, 0, "{ended:?}");
        assert_eq!(server.take_requests().last().unwrap().target, "/notes");
    }
    // What is there is about another one.
    let project = Project::empty();
    let wrong = json!({"credentials": {"s": machine(&json!({"issuer": server.origin()}))}});
    let ended = call(&project, &provider("https://nobody.invalid"), &server.origin(), &wrong);
    assert!(
        ended.code == 1 && server.requests().iter().all(|request| request.target != "/token"),
        "{ended:?}"
    );
}

#[test]
fn a_document_does_not_choose_the_provider_that_gets_a_secret() {
    let (api, other) = (FakeApi::start(), FakeApi::start());
    let project = Project::empty();
    let client = json!({"credentials": {"s": machine(&json!({}))}});
    let error = call(&project, &provider(&other.origin()), &api.origin(), &client).error();
    let hint = error["hint"].as_str().unwrap();
    assert!(hint.contains("`servers.api.credentials.s.token_url`, or `issuer` there"), "{error}");

    let (origin, elsewhere) = (api.origin(), format!("{}/token", other.origin()));
    api.answer_with(move |_| FakeAnswer::json(200, json!({"issuer": origin, "token_endpoint": elsewhere}).to_string()));
    let error = call(&project, &provider(&api.origin()), &api.origin(), &client).error();
    assert!(
        error["message"].as_str().unwrap().contains("sends secrets to another place"),
        "{error}"
    );

    let who = api.origin().replace("127.0.0.1", "localhost");
    let error = call(
        &project,
        &provider(&who),
        &api.origin(),
        &json!({"credentials": {"s": machine(&json!({"issuer": who}))}}),
    )
    .error();
    assert!(error["message"].as_str().unwrap().contains("is about another provider"), "{error}");
    assert!(other.requests().is_empty());
}

#[test]
fn logins_go_by_the_way_of_their_server() {
    let folder = tempfile::tempdir().unwrap();
    let authority = Authority::new(folder.path());
    let (certificate, key) = authority.certify("server", "localhost", false);
    let me = authority.certify("me", "client.example", false);
    let ca = folder.path().join("ca.pem");
    let Some(server) = OAuthServer::start(&json!({"tls": {"certificate": certificate, "key": key, "clients": ca}})) else {
        return;
    };
    let log = folder.path().join("log");
    let proxy = between(&json!({"kind": "proxy", "log": log, "user": "me:hidden-pass-88"}));
    let browser = format!("env SSL_CERT_FILE={} {}", ca.display(), OAuthServer::browser());
    let project = Project::empty().with("BROWSER", &browser);
    project.write("give", "hidden-pass-88");
    let way = |tls: Value| {
        json!({
            "oauth": {"client_id": "known-client", "client_secret": "known-client-secret-4711", "scopes": ["openid", "notes:write"]},
            "tls": tls, "proxy": format!("http://me:${{secret:pass}}@127.0.0.1:{}", proxy.port),
        })
    };
    let configure = |more: &Value| call(&project, &code_flow(), &server.issuer, more);
    let whole = json!({"ca_file": ca, "client_cert": me.0, "client_key": me.1});
    for (tls, told) in [
        (
            json!({"client_cert": me.0, "client_key": me.1}),
            "an authority that nobody here knows",
        ),
        (json!({"ca_file": ca}), "no certificate"),
    ] {
        configure(&way(tls));
        let error = project.run(&["auth", "login", "api", "--json"]).error();
        assert!(error["message"].as_str().unwrap().contains(told), "{error}");
    }
    configure(&way(whole.clone()));
    assert_eq!(log_in_to(&project, "api")["logged_in"], true);
    assert_eq!(project.run(&["call", "api.notes", "--json", "{}"]).code, 0);
    let lines = std::fs::read_to_string(&log).unwrap();
    assert!(
        lines.lines().count() >= 3 && lines.lines().all(|line| line.starts_with("CONNECT localhost:")),
        "{lines}"
    );

    // A client's own login, too.
    let mut auth = machine(&json!({"issuer": server.issuer}));
    auth["type"] = json!("oauth2");
    let ended = call(&project, &code_flow(), &server.issuer, &json!({"auth": auth, "tls": whole}));
    assert_eq!(ended.code, 0, "{ended:?}");
    let ended = call(
        &project,
        &code_flow(),
        &server.issuer,
        &json!({"auth": auth, "tls": {"ca_file": ca}}),
    );
    assert!(ended.error()["message"].as_str().unwrap().contains("no certificate"), "{ended:?}");
}

#[test]
fn the_older_transport_goes_by_the_way_of_its_server() {
    let folder = tempfile::tempdir().unwrap();
    let authority = Authority::new(folder.path());
    let (certificate, key) = authority.certify("server", "localhost", false);
    let me = authority.certify("me", "client.example", false);
    let ca = folder.path().join("ca.pem");
    let server = HttpServerProcess::fake_mcp(&json!({"http": "sse"}));
    let front = between(&json!({"kind": "tls", "to": server.port, "certificate": certificate, "key": key, "clients": ca}));
    let log = folder.path().join("log");
    let proxy = between(&json!({"kind": "proxy", "log": log, "user": ""}));
    let project = Project::empty();
    let compile = |tls: Value| {
        let url = format!("https://localhost:{}/mcp", front.port);
        let entry = json!({"url": url, "type": "sse", "tls": tls, "proxy": format!("http://127.0.0.1:{}", proxy.port)});
        project.write("mce.yaml", &json!({"servers": {"old": entry}}).to_string());
        project.run(&["compile", "--json"])
    };
    let without_ca = compile(json!({"client_cert": me.0, "client_key": me.1}));
    assert!(without_ca.out.contains("an authority that nobody here knows"), "{without_ca:?}");
    assert_ne!(compile(json!({"ca_file": ca})).code, 0);
    let ended = compile(json!({"ca_file": ca, "client_cert": me.0, "client_key": me.1}));
    assert_eq!(ended.code, 0, "{ended:?}");
    let lines = std::fs::read_to_string(&log).unwrap();
    assert!(lines.lines().all(|line| line.starts_with("CONNECT localhost:")), "{lines}");
}
