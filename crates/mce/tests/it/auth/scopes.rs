//! Scopes that operations need: asked for by the login, and told where a call lacks one.

use mce_test::OAuthServer;
use serde_json::{Value, json};

use super::log_in_to;
use crate::project::Project;

pub(super) fn document(scheme: &Value) -> String {
    let operation = |name: &str, scopes: &[&str]| json!({"operationId": name, "security": [{"s": scopes}], "responses": {"200": {"description": "done"}}});
    json!({
        "openapi": "3.1.0", "info": {"title": "t", "version": "1"},
        "paths": {
            "/me": {"get": operation("me", &["openid"])},
            "/notes": {"get": operation("notes", &["notes:read", "notes:write"])},
            "/silent": {"get": operation("silent", &["notes:write"])},
        },
        "components": {"securitySchemes": {"s": scheme}},
    })
    .to_string()
}

pub(super) fn code_flow() -> Value {
    let scopes = json!({"openid": "", "offline_access": "", "notes:read": "", "notes:write": "", "notes:burn": ""});
    json!({"type": "oauth2", "flows": {"authorizationCode": {"authorizationUrl": "/auth", "tokenUrl": "/token", "scopes": scopes}}})
}

fn configure(project: &Project, server: &OAuthServer, more: &Value) {
    let mut entry = json!({"openapi": "./api.json", "base_url": server.issuer});
    entry.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    project.write("mce.yaml", &json!({"servers": {"api": entry}}).to_string());
    assert_eq!(project.run(&["compile"]).code, 0);
}

fn hint(project: &Project, function: &str) -> String {
    let ended = project.run(&["call", &format!("api.{function}"), "--json", "{}"]);
    let error = ended.error();
    assert_eq!(error["status"], 403, "{ended:?}");
    error["hint"].as_str().unwrap_or_default().to_owned()
}

#[test]
fn a_login_asks_for_what_the_functions_need_and_the_next_one_for_what_a_call_lacked() {
    let Some(server) = OAuthServer::start(&json!({})) else { return };
    let project = Project::empty().with("BROWSER", &OAuthServer::browser());
    project.write("api.json", &document(&code_flow()));
    let oauth = json!({"client_id": "known-client", "client_secret": "known-client-secret-4711"});
    configure(&project, &server, &json!({"oauth": oauth, "include": ["me"]}));
    let scopes = |login: &Value| {
        let mut scopes: Vec<String> = serde_json::from_value(login["scopes"].clone()).unwrap();
        scopes.sort();
        scopes.join(" ")
    };
    // Of the five that the scheme has; this server gives no `offline_access` to who does not ask a person for it each time.
    assert_eq!(scopes(&log_in_to(&project, "api")), "openid");

    configure(
        &project,
        &server,
        &json!({"oauth": {"client_id": "known-client", "client_secret": "known-client-secret-4711", "scopes": ["openid"]}}),
    );
    let told = hint(&project, "notes");
    assert!(
        told.contains("the scopes `notes:read notes:write`: run `mce auth login api`"),
        "{told}"
    );
    let status = project.run(&["auth", "status", "api", "--json"]).json();
    assert_eq!(status[0]["wanted_scopes"], json!(["notes:read", "notes:write"]), "{status}");
    // An API that only says no is understood as well: the login is known to lack it.
    assert!(hint(&project, "silent").contains("the scope `notes:write`"));

    assert!(scopes(&log_in_to(&project, "api")).contains("notes:read notes:write"));
    for function in ["notes", "silent"] {
        assert_eq!(
            project.run(&["call", &format!("api.{function}"), "--json", "{}"]).code,
            0,
            "{function}"
        );
    }
}

#[test]
fn a_login_asks_for_the_scopes_of_all_functions_that_can_be_called() {
    let Some(server) = OAuthServer::start(&json!({})) else { return };
    let project = Project::empty().with("BROWSER", &OAuthServer::browser());
    project.write("api.json", &document(&code_flow()));
    configure(
        &project,
        &server,
        &json!({"oauth": {"client_id": "known-client", "client_secret": "known-client-secret-4711"}}),
    );
    let granted = log_in_to(&project, "api")["scopes"].to_string();
    assert!(granted.contains("notes:write") && !granted.contains("notes:burn"), "{granted}");
    assert_eq!(project.run(&["call", "api.notes", "--json", "{}"]).code, 0);
}

#[test]
fn a_client_and_a_token_that_lack_a_scope_are_told_which_setting_gets_it() {
    let Some(server) = OAuthServer::start(&json!({})) else { return };
    let project = Project::empty();
    let flow = json!({"type": "oauth2", "flows": {"clientCredentials": {"tokenUrl": "/token", "scopes": {}}}});
    project.write("api.json", &document(&flow));
    let client = json!({"client_id": "machine", "client_secret": "machine-secret-0815", "scope": "notes:read"});
    configure(&project, &server, &json!({"credentials": {"s": client}}));
    let told = hint(&project, "notes");
    assert!(
        told.contains("`notes:read notes:write`: add that to `servers.api.credentials.s.scope`"),
        "{told}"
    );
    let auth = json!({"type": "oauth2", "token_url": format!("{}/token", server.issuer), "client_id": "machine", "client_secret": "machine-secret-0815", "scope": "notes:read"});
    configure(&project, &server, &json!({"auth": auth}));
    let told = hint(&project, "notes");
    assert!(told.contains("add that to `servers.api.auth.scope`"), "{told}");
    let mut auth = auth;
    auth["scope"] = json!("notes:read notes:write");
    configure(&project, &server, &json!({"auth": auth}));
    assert_eq!(project.run(&["call", "api.notes", "--json", "{}"]).code, 0);
}
