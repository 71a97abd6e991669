//! What a person decides about a server's functions: rules, overlays, `mce.lock`, and what a recompile tells.

use mce_test::FakeApi;
use serde_json::{Value, json};

use crate::project::{Project, shop_config, shop_document};

fn names(project: &Project) -> Vec<String> {
    let functions = project.run(&["functions", "--json"]).json();
    let name = |one: &Value| one["function"].as_str().unwrap().to_owned();
    functions.as_array().unwrap().iter().map(name).collect()
}

/// The one server's part of `mce compile --json`.
fn compiled(project: &Project, more: &[&str]) -> Value {
    let ended = project.run(&[&["compile", "--json"], more].concat());
    assert_eq!(ended.code, 0, "{ended:?}");
    ended.json()["servers"][0].clone()
}

#[test]
fn rules_of_a_server_take_effect_without_compiling() {
    let api = FakeApi::start();
    let project = Project::shop(&api);
    let rules = "    description: All that is for sale.\n    exclude: [{method: DELETE}]\n    rename: {getItem: look_up}\n    functions:\n      getItem: \
                 {description: Prices are net., defaults: {currency: NOK}}\n      POST /items: {effect: read}\n";
    project.write("mce.yaml", &shop_config(&api, rules));
    assert_eq!(names(&project), ["look_up", "create_item"]);
    let shown = project.run(&["functions", "--show", "shop.look_up"]).out;
    for expected in [
        "Prices are net.",
        "currency: Literal[\"EUR\", \"NOK\"] = \"NOK\"",
        "look_up(",
        "tokens as the model gets it",
    ] {
        assert!(shown.contains(expected), "{expected}: {shown}");
    }
    let error = project
        .run(&["call", "shop:DELETE /items/{id}", "--json", r#"{"id": "5"}"#])
        .error();
    assert_eq!(error["type"], "policy", "{error}");
    let ended = project.run(&["functions", "--show", "shop.delete_item"]);
    assert_eq!(ended.code, 1);
    assert!(ended.err.contains("`exclude.0` selects it"), "{ended:?}");
    let ended = project.run(&["call", "shop.look_up", "--id", "5"]);
    assert_eq!(ended.code, 0, "{ended:?}");
    assert_eq!(api.requests()[0].target, "/v1/items/5?currency=NOK");
    project.write("mce.yaml", &shop_config(&api, &format!("{rules}    is_read_only: true\n")));
    assert_eq!(names(&project), ["look_up", "create_item"], "the effect was overridden");
}

#[test]
fn what_a_document_gives_may_be_left_out() {
    let api = FakeApi::start();
    let project = Project::shop(&api);
    let mut document = shop_document();
    let version = json!({"name": "X-Version", "in": "header", "required": true, "schema": {"type": "string", "default": "2025-09-03"}});
    let action = json!({"name": "Action", "in": "query", "required": true, "schema": {"type": "string", "enum": ["Get"]}});
    document["paths"]["/items/{id}"]["get"]["parameters"] = json!([version, action]);
    project.write("shop.json", &document.to_string());
    compiled(&project, &[]);
    let shown = project.run(&["functions", "--show", "shop.get_item"]).out;
    let expected = "get_item(id: str, *, x_version: str = \"2025-09-03\", action: Literal[\"Get\"] = \"Get\")";
    assert!(shown.contains(expected), "{shown}");
    project.write(
        "p.py",
        "from shop.functions import get_item\nget_item(id='5')\nget_item(id='5', x_version='2026-01-01')\n",
    );
    assert_eq!(project.run(&["exec", "p.py", "--json"]).json()["success"], json!(true));
    let requests = api.requests();
    let sent: Vec<_> = requests
        .iter()
        .map(|request| (request.target.as_str(), request.header("x-version")))
        .collect();
    assert_eq!(
        sent,
        [
            ("/v1/items/5?Action=Get", Some("2025-09-03")),
            ("/v1/items/5?Action=Get", Some("2026-01-01"))
        ]
    );
}

#[test]
fn a_program_sees_a_hidden_default_nowhere_and_cannot_give_it() {
    let api = FakeApi::start();
    let project = Project::shop(&api);
    let rules = "    functions: {getItem: {defaults: {currency: {value: NOK, hidden: true}}}}\n";
    project.write("mce.yaml", &shop_config(&api, rules));
    let shown = project.run(&["functions", "--show", "shop.get_item"]).out;
    assert!(!shown.contains("currency") && !shown.contains("NOK"), "{shown}");
    project.write("p.py", "from shop.functions import get_item\nresult = get_item(id='5')\n");
    assert_eq!(project.run(&["exec", "p.py", "--json"]).code, 0);
    assert_eq!(api.requests()[0].target, "/v1/items/5?currency=NOK");
    for call in [r#"{"id": "5", "currency": "EUR"}"#, r#"{"id": "5", "currency": "NOK"}"#] {
        let error = project.run(&["call", "shop.get_item", "--json", call]).error();
        assert_eq!(error["type"], "argument", "{error}");
    }
    assert_eq!(api.requests().len(), 1);
}

#[test]
fn a_default_that_does_not_fit_stops_the_call_and_is_not_shown() {
    let api = FakeApi::start();
    let project = Project::shop(&api);
    let rules = "    functions: {getItem: {defaults: {currency: {value: DOUBLOON, hidden: true}}}}\n";
    project.write("mce.yaml", &shop_config(&api, rules));
    let ended = project.run(&["call", "shop.get_item", "--json", r#"{"id": "5"}"#]);
    assert_eq!(ended.error()["type"], "policy", "{ended:?}");
    assert!(!ended.err.contains("DOUBLOON"), "{ended:?}");
    assert!(
        std::fs::read_to_string(project.file("data/audit.jsonl"))
            .unwrap()
            .contains("does not fit")
    );
    assert!(api.requests().is_empty());
}

#[test]
fn settings_that_do_not_fit_the_document_are_told_by_compile() {
    let api = FakeApi::start();
    let project = Project::shop(&api);
    project.write("mce.yaml", &shop_config(&api, "    exclude: [{tag: gone}]\n"));
    let report = compiled(&project, &[]);
    assert_eq!(
        report["problems"],
        json!([{"pointer": "servers.shop.exclude.0", "message": "it selects no function"}])
    );
    let rules = "    functions: {getItem: {defaults: {currency: DOUBLOON}}}\n";
    project.write("mce.yaml", &shop_config(&api, rules));
    let told = compiled(&project, &[])["problems"][0].clone();
    assert_eq!(told["pointer"], "servers.shop.functions.GET /items/{id}.defaults.currency");
    assert!(told["message"].as_str().unwrap().starts_with("the value is not one of"), "{told}");
    project.write("mce.yaml", &shop_config(&api, "    rename: {createItem: get_item}\n"));
    for args in [vec!["compile", "--json"], vec!["compile", "--json", "--dry-run"]] {
        let ended = project.run(&args);
        assert_eq!((ended.code, &ended.error()["type"]), (1, &json!("config")));
        let message = ended.error()["message"].as_str().unwrap().to_owned();
        assert!(
            message.contains("`GET /items/{id}`") && message.contains("`POST /items`"),
            "{message}"
        );
    }
    assert_eq!(names(&project), ["delete_item"], "all others can be called");
}

#[test]
fn an_overlay_changes_what_is_compiled_and_is_watched() {
    let api = FakeApi::start();
    let project = Project::shop(&api);
    let overlay = |actions: &str| format!("overlay: 1.0.0\ninfo: {{title: t, version: '1'}}\nactions:\n{actions}");
    let removal = "  - target: $.paths.*.delete\n    remove: true\n";
    project.write("overlay.yaml", &overlay(removal));
    project.write("mce.yaml", &shop_config(&api, "    overlay: ./overlay.yaml\n"));
    assert_eq!(compiled(&project, &[])["compiled"], json!(2));
    assert_eq!(names(&project), ["get_item", "create_item"]);
    assert_eq!(compiled(&project, &[])["unchanged"], json!(true));
    let summary = "  - target: $.paths['/items/{id}'].get\n    update: {operationId: fetch}\n  - target: $.nothing\n    update: {}\n";
    project.write("overlay.yaml", &overlay(summary));
    let report = compiled(&project, &[]);
    assert_eq!(
        report["changes"],
        json!({"added": ["DELETE /items/{id}"], "removed": [], "changed": ["GET /items/{id}"]})
    );
    let problem = &report["problems"][0];
    assert!(problem["message"].as_str().unwrap().contains("selects nothing"), "{report}");
    project.write("overlay.yaml", "actions: []");
    let ended = project.run(&["compile", "--json"]);
    assert_eq!((ended.code, &ended.error()["type"]), (1, &json!("document")), "{ended:?}");
    assert_eq!(project.run(&["call", "shop.fetch", "--id", "5"]).code, 0, "nothing is lost");
}

#[test]
fn a_recompile_tells_what_changed() {
    let api = FakeApi::start();
    let project = Project::shop(&api);
    let mut document = shop_document();
    let paths = document["paths"].as_object_mut().unwrap();
    paths["/items/{id}"].as_object_mut().unwrap().remove("delete");
    paths["/items"]["post"]["requestBody"]["required"] = json!(false);
    paths.insert("/orders".to_owned(), json!({"get": {"responses": {}}}));
    project.write("shop.json", &document.to_string());
    let printed = project.run(&["compile", "--dry-run"]).out;
    for line in [
        "    added GET /orders\n",
        "    removed DELETE /items/{id}\n",
        "    changed POST /items\n",
    ] {
        assert!(printed.contains(line), "{printed}");
    }
    let changes = &compiled(&project, &[])["changes"];
    assert_eq!(
        *changes,
        json!({"added": ["GET /orders"], "removed": ["DELETE /items/{id}"], "changed": ["POST /items"]})
    );
}

#[test]
fn a_locked_document_that_drifted_is_refused_and_nothing_is_lost() {
    let api = FakeApi::start();
    let project = Project::shop(&api);
    assert!(!project.file("mce.lock").exists(), "only where it is asked for");
    let ended = project.run(&["compile", "--locked", "--json"]);
    assert_eq!((ended.code, &ended.error()["type"]), (1, &json!("config")), "{ended:?}");
    compiled(&project, &["--lock"]);
    let lock = || -> Value { serde_json::from_str(&std::fs::read_to_string(project.file("mce.lock")).unwrap()).unwrap() };
    let locked = lock()["documents"]["shop.json"]["shop.json"].as_str().unwrap().to_owned();
    assert_eq!(locked.len(), 64);
    compiled(&project, &["--locked"]);
    let mut document = shop_document();
    document["paths"] = json!({});
    project.write("shop.json", &document.to_string());
    let ended = project.run(&["compile", "--locked", "--json"]);
    assert_eq!(ended.code, 1);
    let message = ended.error()["message"].as_str().unwrap().to_owned();
    assert!(message.contains(&locked), "{message}");
    assert_eq!(lock()["documents"]["shop.json"]["shop.json"], json!(locked));
    assert_eq!(names(&project).len(), 3);
    compiled(&project, &[]);
    let updated = lock()["documents"]["shop.json"]["shop.json"].clone();
    assert!(
        updated != json!(locked) && message.contains(updated.as_str().unwrap()),
        "both hashes were told: {message}"
    );
}

#[test]
fn an_overlay_is_locked_with_its_document() {
    let api = FakeApi::start();
    let project = Project::shop(&api);
    project.write("overlay.yaml", "overlay: 1.0.0\nactions: []\n");
    project.write("mce.yaml", &shop_config(&api, "    overlay: [overlay.yaml]\n"));
    compiled(&project, &["--lock"]);
    compiled(&project, &["--locked"]);
    project.write("overlay.yaml", "overlay: 1.0.0\nactions: [{target: $.paths, remove: true}]\n");
    let ended = project.run(&["compile", "--locked", "--json"]);
    let message = ended.error()["message"].to_string();
    assert!(
        ended.code == 1 && message.contains("overlay.yaml") && message.contains("mce.lock"),
        "{message}"
    );
}
