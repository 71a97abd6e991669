//! Ways to servers: own authorities, client certificates, proxies, and HTTP's digest, each with a peer that is not of Rust.

use std::path::Path;

use mce_test::{Authority, FakeAnswer, FakeApi, HttpServerProcess, between};
use serde_json::{Value, json};

use crate::project::{Ended, Project, shop_document};

const CALL: &[&str] = &["call", "shop.get_item", "--json", r#"{"id": "7"}"#];

/// The server `shop` at this URL, with more keys.
fn project(url: &str, more: &Value) -> Project {
    let project = Project::empty();
    project.write("shop.json", &shop_document().to_string());
    configure(&project, url, more);
    project
}

fn configure(project: &Project, url: &str, more: &Value) {
    let mut server = json!({"openapi": "./shop.json", "base_url": url});
    server.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    project.write("mce.yaml", &json!({"servers": {"shop": server}}).to_string());
    let ended = project.run(&["compile"]);
    assert_eq!(ended.code, 0, "{ended:?}");
}

fn call(project: &Project, api: &FakeApi) -> Ended {
    api.take_requests();
    api.answer_next(FakeAnswer::json(200, r#"{"name": "seven"}"#));
    project.run(CALL)
}

fn check_works(project: &Project, api: &FakeApi) {
    let ended = call(project, api);
    assert!(ended.code == 0 && ended.out.contains("seven"), "{ended:?}");
    assert_eq!(api.requests().len(), 1);
}

fn check_refused(project: &Project, api: &FakeApi, told: &str, hint: &str) {
    let ended = call(project, api);
    let error = ended.error();
    assert!(error["message"].as_str().unwrap().contains(told), "{ended:?}");
    assert!(error["hint"].as_str().unwrap().contains(hint), "{ended:?}");
    assert!(api.requests().is_empty());
}

/// TLS before an API, with the certificate of these files.
fn tls(api: &FakeApi, (certificate, key): &(std::path::PathBuf, std::path::PathBuf), clients: Option<&Path>) -> HttpServerProcess {
    let to: u16 = port_of(&api.origin());
    between(&json!({"kind": "tls", "to": to, "certificate": certificate, "key": key, "clients": clients}))
}

fn port_of(origin: &str) -> u16 {
    origin.rsplit(':').next().unwrap().parse().unwrap()
}

#[test]
fn an_own_authority_is_trusted_where_it_is_configured_and_errors_say_what_is_wrong() {
    let api = FakeApi::start();
    let folder = tempfile::tempdir().unwrap();
    let authority = Authority::new(folder.path());
    let front = tls(&api, &authority.certify("server", "localhost", false), None);
    let url = format!("https://localhost:{}", front.port);
    let trusted = json!({"tls": {"ca_file": folder.path().join("ca.pem")}});

    check_refused(&project(&url, &json!({})), &api, "authority that nobody here knows", "ca_file");
    check_works(&project(&url, &trusted), &api);
    let by_address = format!("https://127.0.0.1:{}", front.port);
    check_refused(&project(&by_address, &trusted), &api, "for another name", "base_url");
    let expired = tls(&api, &authority.certify("old", "localhost", true), None);
    let url_of_expired = format!("https://localhost:{}", expired.port);
    check_refused(&project(&url_of_expired, &trusted), &api, "has expired", "renew");

    let unverified = project(&url_of_expired, &json!({"tls": {"verify": false}}));
    check_works(&unverified, &api);
    assert!(unverified.run(&["config", "show"]).err.contains("anybody on the way"), "it is told");
    assert!(unverified.run(&["doctor"]).out.contains("anybody on the way"), "it is told");
    let missing = project(&url, &json!({"tls": {"ca_file": "./nothing.pem"}}));
    let (compiled, doctor) = (missing.run(&["compile"]), missing.run(&["doctor"]));
    for told in [format!("{compiled:?}"), doctor.out] {
        assert!(
            told.contains("`tls.ca_file` cannot be used") && told.contains("nothing.pem"),
            "{told}"
        );
    }
    let broken = project(&url, &json!({"tls": {"ca_file": "./shop.json"}}));
    assert!(
        call(&broken, &api).error()["message"]
            .as_str()
            .unwrap()
            .contains("`tls.ca_file` cannot be used")
    );
}

#[test]
fn a_certificate_that_a_server_signed_itself_is_trusted_as_the_advice_says() {
    let api = FakeApi::start();
    let folder = tempfile::tempdir().unwrap();
    for (name, is_authority) in [("ours", true), ("mine", false)] {
        let files = Authority::sign_itself(folder.path(), name, "localhost", is_authority);
        let front = tls(&api, &files, None);
        let url = format!("https://localhost:{}", front.port);
        let trusted = project(&url, &json!({"tls": {"ca_file": &files.0}}));
        if is_authority {
            for project in [&project(&url, &json!({})), &trusted] {
                check_refused(project, &api, "an authority's own", "basicConstraints=critical,CA:FALSE");
            }
            check_works(&project(&url, &json!({"tls": {"verify": false}})), &api);
        } else {
            check_refused(&project(&url, &json!({})), &api, "nobody here knows", "ca_file");
            check_works(&trusted, &api);
        }
    }
}

#[test]
fn a_client_certificate_is_shown_where_it_is_asked_for_and_fills_mutual_tls() {
    let api = FakeApi::start();
    let folder = tempfile::tempdir().unwrap();
    let authority = Authority::new(folder.path());
    let ca = folder.path().join("ca.pem");
    let front = tls(&api, &authority.certify("server", "localhost", false), Some(&ca));
    let url = format!("https://localhost:{}", front.port);
    let (certificate, key) = authority.certify("me", "me.example", false);

    let without = project(&url, &json!({"tls": {"ca_file": ca}}));
    check_refused(&without, &api, "TLS", "`client_cert` and `client_key`");
    let files = json!({"tls": {"ca_file": ca, "client_cert": certificate, "client_key": key}});
    check_works(&project(&url, &files), &api);
    // One that the TLS library refuses is told by its setting, before it is needed too.
    let (_, other_key) = authority.certify("other", "me.example", false);
    let refused = project(
        &url,
        &json!({"tls": {"ca_file": ca, "client_cert": certificate, "client_key": other_key}}),
    );
    let error = call(&refused, &api).error()["message"].to_string();
    for told in [error, format!("{:?}", refused.run(&["compile"])), refused.run(&["doctor"]).out] {
        assert!(told.contains("`tls.client_cert` cannot be used"), "{told}");
    }
    // Also from a command, when it is needed.
    let given = json!({"tls": {"ca_file": ca, "client_cert": certificate, "client_key": {"command": ["cat", key]}}});
    check_works(&project(&url, &given), &api);

    // An alternative that asks for it is taken only where there is one.
    let mut document = shop_document();
    document["security"] = json!([{"mutual": []}, {"key": []}]);
    document["components"]["securitySchemes"] =
        json!({"mutual": {"type": "mutualTLS"}, "key": {"type": "apiKey", "in": "header", "name": "X-Key"}});
    let mut with_key = files;
    with_key["credentials"] = json!({"key": "a-key-for-items"});
    for (more, is_sent) in [
        (&with_key, false),
        (&json!({"tls": {"verify": false}, "credentials": {"key": "a-key-for-items"}}), true),
    ] {
        let plain_url = if is_sent { api.origin() } else { url.clone() };
        let project = project(&plain_url, more);
        project.write("shop.json", &document.to_string());
        configure(&project, &plain_url, more);
        check_works(&project, &api);
        assert_eq!(api.requests()[0].header("x-key").is_some(), is_sent);
    }
}

#[test]
fn documents_and_mcp_servers_are_reached_by_the_way_of_their_server() {
    let api = FakeApi::start();
    let folder = tempfile::tempdir().unwrap();
    let authority = Authority::new(folder.path());
    let files = authority.certify("server", "localhost", false);
    let front = tls(&api, &files, None);
    let trusted = json!({"ca_file": folder.path().join("ca.pem")});
    api.answer_with(|request| {
        let body = if request.target == "/shop.json" {
            shop_document().to_string()
        } else {
            r#"{"name": "seven"}"#.to_owned()
        };
        FakeAnswer::json(200, body)
    });
    let url = format!("https://localhost:{}", front.port);
    let project = Project::empty();
    let server =
        |tls: &Value| json!({"servers": {"shop": {"openapi": format!("{url}/shop.json"), "base_url": url, "tls": tls}}}).to_string();
    project.write("mce.yaml", &server(&json!({})));
    let refused = project.run(&["compile"]);
    assert!(
        refused.code != 0 && format!("{refused:?}").contains("authority that nobody here knows"),
        "{refused:?}"
    );
    project.write("mce.yaml", &server(&trusted));
    assert_eq!(project.run(&["compile"]).code, 0);
    assert!(project.run(CALL).out.contains("seven"));

    let mcp = HttpServerProcess::fake_mcp(&json!({"http": "json"}));
    let front = between(&json!({"kind": "tls", "to": mcp.port, "certificate": files.0, "key": files.1}));
    let server =
        |tls: &Value| json!({"servers": {"far": {"url": format!("https://localhost:{}/mcp", front.port), "tls": tls}}}).to_string();
    project.write("mce.yaml", &server(&json!({})));
    let refused = format!("{:?}", project.run(&["compile"]));
    assert!(
        refused.contains("authority that nobody here knows") && refused.contains("ca_file"),
        "{refused}"
    );
    project.write("mce.yaml", &server(&trusted));
    let ended = project.run(&["compile"]);
    assert_eq!(ended.code, 0, "{ended:?}");
}

#[test]
fn proxies_of_all_kinds_are_used_for_their_server_alone() {
    let api = FakeApi::start();
    let folder = tempfile::tempdir().unwrap();
    let authority = Authority::new(folder.path());
    let front = tls(&api, &authority.certify("server", "localhost", false), None);
    let secure = format!("https://localhost:{}", front.port);
    for (number, (kind, user, scheme, url, logged)) in [
        ("proxy", "", "http://", api.origin(), "GET http://"),
        (
            "proxy",
            "me:hidden-pass-88",
            "http://me:hidden-pass-88@",
            secure.clone(),
            "CONNECT localhost:",
        ),
        ("socks", "", "socks5h://", secure, "SOCKS localhost:"),
    ]
    .into_iter()
    .enumerate()
    {
        let log = folder.path().join(number.to_string());
        let proxy = between(&json!({"kind": kind, "log": log, "user": user}));
        let more = json!({"proxy": format!("{scheme}127.0.0.1:{}", proxy.port), "tls": {"ca_file": folder.path().join("ca.pem")}});
        let project = project(&url, &more);
        check_works(&project, &api);
        let lines = std::fs::read_to_string(&log).unwrap();
        assert!(lines.starts_with(logged) && lines.lines().count() == 1, "{lines}");
        let shown = format!("{:?}", project.run(&["config", "show"]));
        assert!(!shown.contains("hidden-pass"), "{shown}");
        let port = proxy.port;
        drop(proxy);
        let told = format!(
            "the proxy `{}://127.0.0.1:{port}` cannot be reached",
            scheme.split(':').next().unwrap()
        );
        check_refused(&project, &api, &told, "servers.shop.proxy`");
    }
}

#[test]
fn a_digest_proves_a_password_without_telling_it() {
    let folder = tempfile::tempdir().unwrap();
    for algorithm in ["MD5", "SHA-256"] {
        let log = folder.path().join(algorithm);
        let peer = between(&json!({"kind": "digest", "algorithm": algorithm, "user": "ann", "password": "pass-of-ann-31", "log": log}));
        let url = format!("http://127.0.0.1:{}/v1", peer.port);
        let mut document = shop_document();
        document["security"] = json!([{"d": []}]);
        document["components"]["securitySchemes"] = json!({"d": {"type": "http", "scheme": "digest"}});
        let with = |password: &str| {
            let project = Project::empty();
            project.write("shop.json", &document.to_string());
            let credentials = if password.is_empty() {
                json!({})
            } else {
                json!({"d": {"username": "ann", "password": password}})
            };
            configure(&project, &url, &json!({"credentials": credentials}));
            project
        };
        let code = "from shop.functions import get_item, create_item\n\
            result = [get_item(id=str(i), fields=['a b'])['name'] for i in range(3)] + [create_item({'name': 'x'})['name']]";
        let project = with("pass-of-ann-31");
        project.write("four.py", code);
        let ended = project.run(&["exec", "four.py"]);
        assert!(ended.code == 0 && ended.out.matches("[redacted]").count() == 4, "{ended:?}");
        let lines = std::fs::read_to_string(&log).unwrap();
        assert!(
            !lines.contains("pass-of-ann") && lines.contains(r#"POST /v1/items 200 {"name":"x"}"#),
            "{lines}"
        );
        // Asked once, and again when the nonce was used up.
        assert_eq!((lines.matches(" 200 ").count(), lines.matches(" 401 ").count()), (4, 2), "{lines}");

        assert_eq!(with("wrong-password").run(CALL).error()["status"], 401);
        let error = with("").run(CALL).error();
        assert!(error["hint"].as_str().unwrap().contains("`username` and `password`"), "{error}");
    }
}

#[test]
fn a_clients_secret_goes_only_where_a_person_said() {
    let api = FakeApi::start();
    let token = |request: &mce_test::ReceivedRequest| match request.target.as_str() {
        "/token" => FakeAnswer::json(
            200,
            r#"{"access_token": "a-token-of-a-client", "token_type": "bearer", "expires_in": 300}"#,
        ),
        _ => FakeAnswer::json(200, r#"{"name": "seven"}"#),
    };
    api.answer_with(token);
    let other = FakeApi::start();
    other.answer_with(token);
    let project = Project::empty();
    let credential = json!({"client_id": "me", "client_secret": "secret-of-the-client", "scope": "items"});
    let with = |token_url: &str, more: &Value| {
        let mut document = shop_document();
        document["security"] = json!([{"o": ["items"]}]);
        let flows = json!({"clientCredentials": {"tokenUrl": token_url, "scopes": {}}});
        document["components"]["securitySchemes"] = json!({"o": {"type": "oauth2", "flows": flows}});
        project.write("shop.json", &document.to_string());
        let mut credential = credential.clone();
        credential.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        configure(
            &project,
            &format!("{}/v1", api.origin()),
            &json!({"credentials": {"o": credential}}),
        );
        project.run(CALL)
    };
    for token_url in ["/token".to_owned(), format!("{}/token", api.origin())] {
        let ended = with(&token_url, &json!({}));
        assert_eq!(ended.code, 0, "{ended:?}");
        let requests = api.take_requests();
        assert!(requests[0].text().contains("scope=items"), "{}", requests[0].text());
        assert_eq!(requests[1].header("authorization"), Some("Bearer a-token-of-a-client"));
    }
    let elsewhere = format!("{}/token", other.origin());
    let error = with(&elsewhere, &json!({})).error();
    assert!(
        error["hint"].as_str().unwrap().contains("`servers.shop.credentials.o.token_url`"),
        "{error}"
    );
    assert!(api.take_requests().is_empty() && other.take_requests().is_empty());
    assert_eq!(with("/nowhere", &json!({"token_url": elsewhere})).code, 0);
    assert_eq!(other.take_requests().len(), 1);
}

#[test]
fn each_place_of_a_redirect_gets_its_own_digest_and_another_host_none() {
    let folder = tempfile::tempdir().unwrap();
    let other = FakeApi::start();
    let elsewhere = format!("{}/items/7", other.origin());
    for (moved, code) in [("/v1/items/7?fields=name", 0), (elsewhere.as_str(), 1)] {
        let log = folder.path().join(code.to_string());
        let spec =
            json!({"kind": "digest", "algorithm": "SHA-256", "user": "ann", "password": "pass-of-ann-31", "log": log, "moved": moved});
        let peer = between(&spec);
        let mut document = shop_document();
        document["security"] = json!([{"d": []}]);
        document["components"]["securitySchemes"] = json!({"d": {"type": "http", "scheme": "digest"}});
        let project = Project::empty();
        project.write("shop.json", &document.to_string());
        let credentials = json!({"credentials": {"d": {"username": "ann", "password": "pass-of-ann-31"}}});
        configure(&project, &format!("http://127.0.0.1:{}/v1", peer.port), &credentials);
        let ended = project.run(&["call", "shop.get_item", "--json", r#"{"id": "moved"}"#]);
        assert_eq!(ended.code, code, "{ended:?}");
        let lines = std::fs::read_to_string(&log).unwrap();
        let wanted = if code == 0 { vec!["401", "200", "200"] } else { vec!["401", "200"] };
        let statuses: Vec<&str> = lines.lines().map(|line| line.split(' ').nth(2).unwrap()).collect();
        assert_eq!(statuses, wanted, "{lines}");
        if code == 0 {
            assert!(lines.contains("GET /v1/items/7?fields=name 200"), "{lines}");
        } else {
            let message = ended.error()["message"].as_str().unwrap().to_owned();
            assert!(message.contains("redirect"), "{message}");
        }
    }
    assert!(other.requests().is_empty());
}
