//! People log in to an API by the schemes of its document: an authorization server that others wrote, whose own `/me` is the API.

use mce_test::{FakeApi, OAuthServer};
use serde_json::{Value, json};

use super::file_of_login;
use crate::project::Project;

pub(super) const CALL: &[&str] = &["call", "api.me", "--json", "{}"];

pub(super) fn project(server: &OAuthServer, scheme: &Value, oauth: &Value) -> Project {
    let project = Project::empty().with("BROWSER", &OAuthServer::browser());
    write(&project, &server.issuer, scheme, oauth);
    project
}

/// The API `api` at this place, whose one function wants what the scheme says.
pub(super) fn write(project: &Project, base_url: &str, scheme: &Value, oauth: &Value) {
    let document = json!({
        "openapi": "3.1.0", "info": {"title": "t", "version": "1"}, "security": [{"people": []}],
        "paths": {"/me": {"get": {"operationId": "me", "responses": {"200": {"description": "who"}}}}},
        "components": {"securitySchemes": {"people": scheme}},
    });
    project.write("api.json", &document.to_string());
    let server = json!({"openapi": "./api.json", "base_url": base_url, "oauth": oauth});
    project.write("mce.yaml", &json!({"servers": {"api": server}}).to_string());
    assert_eq!(project.run(&["compile"]).code, 0);
}

fn code_flow(login: &str, token: &str) -> Value {
    let flow = json!({"authorizationUrl": login, "tokenUrl": token, "scopes": {"openid": "", "offline_access": ""}});
    json!({"type": "oauth2", "flows": {"authorizationCode": flow}})
}

pub(super) fn known_client() -> Value {
    json!({"client_id": "known-client", "client_secret": "known-client-secret-4711"})
}

#[test]
fn a_person_logs_in_to_an_api_and_calls_use_it_until_they_log_out() {
    let Some(server) = OAuthServer::start(&json!({})) else { return };
    let discovered = json!({"type": "openIdConnect", "openIdConnectUrl": format!("{}/.well-known/openid-configuration", server.issuer)});
    for (scheme, oauth) in [(code_flow("/auth", "/token"), known_client()), (discovered, json!({}))] {
        let project = project(&server, &scheme, &oauth);
        let refused = project.run(CALL).error();
        assert!(refused["hint"].as_str().unwrap().contains("run `mce auth login api`"), "{refused}");
        let login = project.run(&["auth", "login", "api", "--json"]);
        assert_eq!(login.code, 0, "{login:?}");
        assert_eq!((&login.json()["logged_in"], &login.json()["functions"]), (&json!(true), &json!(1)));
        let called = project.run(CALL);
        assert!(called.code == 0 && called.json()["sub"] == "ann", "{called:?}");
        let status = project.run(&["auth", "status", "--json"]).json();
        assert_eq!((&status[0]["server"], &status[0]["logged_in"]), (&json!("api"), &json!(true)));

        // It has expired, as far as we know: one call renews it.
        let file = file_of_login(&project);
        let mut kept: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
        if kept["credentials"]["token_response"]["refresh_token"].is_string() {
            kept["credentials"]["token_received_at"] = json!(1);
            std::fs::write(&file, kept.to_string()).unwrap();
            assert_eq!(project.run(CALL).json()["sub"], "ann");
            assert!(server.told()["grants"].as_array().unwrap().contains(&json!("refresh_token")));
        }
        assert_eq!(project.run(&["auth", "logout", "api", "--json"]).json()["was_logged_in"], true);
        assert_eq!(project.run(CALL).error()["status"], 401);
    }
    assert_eq!(server.told()["registrations"], 1, "only the one without a client of its own");
    assert!(
        server.told()["resources"].as_array().unwrap().is_empty(),
        "nobody asked for that: {}",
        server.told()
    );
}

#[test]
fn a_document_does_not_choose_where_codes_and_secrets_go() {
    let Some(server) = OAuthServer::start(&json!({})) else { return };
    let other = FakeApi::start();
    let elsewhere = format!("{}/token", other.origin());
    let login = format!("{}/login", other.origin());
    for (scheme, oauth) in [
        // The code of one server to another.
        (code_flow("/auth", &elsewhere), json!({"client_id": "known-client"})),
        // A client's secret to whom the document says.
        (code_flow(&login, &elsewhere), known_client()),
    ] {
        let project = project(&server, &scheme, &oauth);
        let error = project.run(&["auth", "login", "api", "--json"]).error();
        assert!(
            error["message"].as_str().unwrap().contains("set `token_url` below `oauth`"),
            "{error}"
        );
    }
    assert!(other.requests().is_empty());
}

#[test]
fn a_login_at_one_place_is_not_used_at_another() {
    let Some(server) = OAuthServer::start(&json!({})) else { return };
    let project = project(&server, &code_flow("/auth", "/token"), &known_client());
    assert_eq!(project.run(&["auth", "login", "api", "--json"]).code, 0);
    let other = FakeApi::start();
    let text = std::fs::read_to_string(project.file("mce.yaml")).unwrap();
    project.write("mce.yaml", &text.replace(&server.issuer, &other.origin()));
    project.run(CALL);
    assert_eq!(other.requests()[0].header("authorization"), None);
    let without_base = json!({"servers": {"api": {"openapi": "./api.json"}}}).to_string();
    project.write("mce.yaml", &without_base);
    let error = project.run(&["auth", "login", "api", "--json"]).error();
    assert!(error["message"].as_str().unwrap().contains("`base_url`"), "{error}");
}
