//! Logins at another device, by a code: the authorization server is one that others wrote.

use std::io::{BufRead as _, BufReader, Read as _};
use std::process::Stdio;

use mce_test::{FakeAnswer, FakeApi, OAuthServer};
use serde_json::{Value, json};

use super::api_people::{CALL, known_client, project};
use super::end_of;
use crate::project::{Ended, Project};

/// Logs in at the device of somebody who opens what is printed.
fn log_in(project: &Project, args: &[&str], open: impl FnOnce(&Value)) -> Ended {
    let args = [&["auth", "login"][..], args, &["--json"]].concat();
    let mut command = project.command(&args);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut stderr = BufReader::new(child.stderr.take().unwrap());
    let mut err = String::new();
    stderr.read_line(&mut err).unwrap();
    open(&serde_json::from_str(&err).unwrap_or_default());
    stderr.read_to_string(&mut err).unwrap();
    let mut ended = Ended::of(child.wait_with_output().unwrap());
    ended.err = err;
    ended
}

fn open(said: &Value) {
    let ended = end_of(said["url_with_code"].as_str().unwrap_or_else(|| panic!("{said}")));
    assert!(ended.contains("/device"), "{ended}");
}

fn device_flow(start: &str, token: &str) -> Value {
    let flow = json!({"deviceAuthorizationUrl": start, "tokenUrl": token, "scopes": {"openid": "", "offline_access": ""}});
    json!({"type": "oauth2", "flows": {"deviceAuthorization": flow}})
}

fn known_device() -> Value {
    json!({"client_id": "known-device", "client_secret": "known-device-secret-4712"})
}

#[test]
fn a_person_logs_in_to_an_api_by_a_code_and_the_login_is_renewed() {
    let Some(server) = OAuthServer::start(&json!({})) else { return };
    // The document names nothing else, so that nobody has to ask for it.
    let project = project(&server, &device_flow("/device/auth", "/token"), &known_device());
    let ended = log_in(&project, &["api"], |said| {
        let code = said["user_code"].as_str().unwrap();
        assert!(said["url"].as_str().unwrap().ends_with("/device") && code.len() == 9, "{said}");
        open(said);
    });
    assert_eq!(ended.json()["logged_in"], true, "{ended:?}");
    assert_eq!(ended.json()["issuer"], server.issuer, "{ended:?}");
    assert_eq!(project.run(CALL).json()["sub"], "ann");

    let file = super::file_of_login(&project);
    let mut kept: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    kept["credentials"]["token_received_at"] = json!(1);
    std::fs::write(&file, kept.to_string()).unwrap();
    assert_eq!(project.run(CALL).json()["sub"], "ann");
    let grants = server.told()["grants"].clone();
    assert_eq!(grants, json!(["urn:ietf:params:oauth:grant-type:device_code", "refresh_token"]));

    // It has ended elsewhere. That is the outcome of the intent, and no refusal besides.
    let mut kept: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    kept["credentials"]["token_received_at"] = json!(1);
    std::fs::write(&file, kept.to_string()).unwrap();
    server.control(&json!({"revoke": true}));
    assert_eq!(project.run(CALL).error()["type"], "policy");
    let lines = project.run(&["audit", "search", "--json"]).out;
    let lines: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.last().unwrap()["error"]["type"], "policy", "{lines:?}");
    assert!(lines.iter().all(|line| line["event"] != "refused"), "{lines:?}");
    assert_eq!(project.run(&["auth", "logout", "api", "--json"]).json()["was_logged_in"], false);
}

#[test]
fn an_openid_provider_and_an_mcp_server_let_devices_in_where_that_is_asked_for() {
    let Some(server) = OAuthServer::start(&json!({})) else { return };
    let discovered = json!({"type": "openIdConnect", "openIdConnectUrl": format!("{}/.well-known/openid-configuration", server.issuer)});
    let project = project(&server, &discovered, &json!({}));
    let ended = log_in(&project, &["api", "--device"], open);
    assert_eq!(ended.json()["logged_in"], true, "{ended:?}");
    assert_eq!(project.run(CALL).json()["sub"], "ann");

    let notes = super::project(&server, "");
    let ended = log_in(&notes, &["notes", "--device"], open);
    assert_eq!(
        (&ended.json()["logged_in"], &ended.json()["functions"]),
        (&json!(true), &json!(3)),
        "{ended:?}"
    );
    assert_eq!(super::call(&notes, "whoami").json()["who"], "ann");
    server.control(&json!({"refuse": true}));
    assert_eq!(super::call(&notes, "whoami").json()["who"], "ann");
    assert_eq!(server.told()["registrations"], 2);
}

#[test]
fn who_publishes_no_place_for_browsers_lets_devices_in() {
    let Some(server) = OAuthServer::start(&json!({"devicesOnly": true})) else {
        return;
    };
    let discovered = json!({"type": "openIdConnect", "openIdConnectUrl": format!("{}/.well-known/openid-configuration", server.issuer)});
    let project = project(&server, &discovered, &known_device());
    // The browser of this machine is the person's.
    let ended = log_in(&project, &["api"], |_| {});
    assert_eq!(ended.json()["logged_in"], true, "{ended:?}");
    assert_eq!(project.run(CALL).json()["sub"], "ann");
}

#[test]
fn a_person_who_says_no_at_the_device_ends_the_login() {
    let Some(server) = OAuthServer::start(&json!({"denies": true})) else {
        return;
    };
    let project = project(&server, &device_flow("/device/auth", "/token"), &known_device());
    let ended = log_in(&project, &["api"], |said| {
        end_of(said["url_with_code"].as_str().unwrap());
    });
    let message = ended.error()["message"].as_str().unwrap().to_owned();
    assert!(
        message.contains("did not let you in") && message.contains("access_denied"),
        "{ended:?}"
    );
}

#[test]
fn who_has_no_place_for_devices_is_told_apart() {
    let api = FakeApi::start();
    let flow = json!({"authorizationUrl": "/auth", "tokenUrl": "/token", "scopes": {}});
    let project = at(
        &api,
        &json!({"type": "oauth2", "flows": {"authorizationCode": flow}}),
        &json!({"client_id": "me"}),
    );
    let error = project.run(&["auth", "login", "api", "--device", "--json"]).error();
    assert!(error["message"].as_str().unwrap().contains("at another device"), "{error}");
    assert!(error["hint"].as_str().unwrap().contains("--no-browser"), "{error}");
    // A person may know more than the document.
    let oauth = json!({"client_id": "me", "device_authorization_url": format!("{}/device", api.origin())});
    let project = at(&api, &json!({"type": "oauth2", "flows": {"authorizationCode": flow}}), &oauth);
    api.answer_with(|_| FakeAnswer::json(400, r#"{"error": "unauthorized_client", "error_description": "not me"}"#));
    let error = project.run(&["auth", "login", "api", "--device", "--json"]).error();
    assert!(
        error["message"].as_str().unwrap().contains("`unauthorized_client`: not me"),
        "{error}"
    );
    assert_eq!(api.requests()[0].target, "/device");
}

/// As [`project`], at an API of our own.
fn at(api: &FakeApi, scheme: &Value, oauth: &Value) -> Project {
    let project = Project::empty();
    super::api_people::write(&project, &api.origin(), scheme, oauth);
    project
}

#[test]
fn a_hostile_server_shows_nothing_but_a_code_and_a_page() {
    let api = FakeApi::start();
    let code = "AB\u{1b}[2J\u{202e}CD\nrun this";
    let answer = move |uri: &str| {
        let said =
            json!({"device_code": "secret-of-the-device", "user_code": code, "verification_uri": uri, "expires_in": 2, "interval": 0});
        FakeAnswer::json(200, said.to_string())
    };
    let page = answer("https://login.example.com/a b\u{1b}[1m");
    api.answer_with(move |request| match request.target.as_str() {
        "/device" => page.clone(),
        _ => FakeAnswer::json(400, r#"{"error": "authorization_pending"}"#),
    });
    let project = at(&api, &device_flow("/device", "/token"), &json!({"client_id": "me"}));
    let ended = project.run(&["auth", "login", "api", "--no-browser"]);
    assert!(ended.err.contains("https://login.example.com/a%20b%1B[1m"), "{ended:?}");
    assert!(ended.err.contains(r"AB\u001b[2J\u202eCD\u000arun this"), "{ended:?}");
    assert!(
        !ended.err.contains(['\u{1b}', '\u{202e}']) && !ended.err.contains("secret-of-the-device"),
        "{ended:?}"
    );
    assert!(ended.code == 1 && ended.err.contains("nobody logged in within"), "{ended:?}");
    assert!(api.requests().len() >= 2, "it is asked before the code expires");

    api.answer_with(move |_| answer("javascript:alert(1)"));
    let error = project.run(&["auth", "login", "api", "--json"]).error();
    assert!(error["message"].as_str().unwrap().contains("no http or https URL"), "{error}");
}

#[test]
fn a_document_does_not_choose_where_a_device_proves_its_secret() {
    let (api, other) = (FakeApi::start(), FakeApi::start());
    for (start, token, oauth, key) in [
        (
            format!("{}/device", other.origin()),
            "/token".to_owned(),
            known_client(),
            "device_authorization_url",
        ),
        (
            "/device".to_owned(),
            format!("{}/token", other.origin()),
            known_client(),
            "token_url",
        ),
        (
            "/device".to_owned(),
            format!("{}/token", other.origin()),
            json!({"client_id": "me"}),
            "token_url",
        ),
    ] {
        let project = at(&api, &device_flow(&start, &token), &oauth);
        let error = project.run(&["auth", "login", "api", "--json"]).error();
        assert!(
            error["message"].as_str().unwrap().contains(&format!("set `{key}` below `oauth`")),
            "{error}"
        );
    }
    assert!(api.requests().is_empty() && other.requests().is_empty());
}
