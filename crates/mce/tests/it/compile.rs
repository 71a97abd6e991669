//! `mce compile`: reports, refusals, what a recompile keeps.

use mce_test::FakeApi;
use serde_json::{Value, json};

use crate::project::{Project, shop_config, shop_document};

#[test]
fn the_report_counts_operations_and_names_what_is_skipped() {
    let api = FakeApi::start();
    let project = Project::shop(&api);
    let mut document = shop_document();
    document["paths"]["/broken"] = json!({"get": {"parameters": [{"$ref": "#/components/parameters/missing"}], "responses": {}}});
    project.write("shop.json", &document.to_string());
    let report = project.run(&["compile", "--json"]).json();
    let server = &report["servers"][0];
    assert_eq!(
        (&server["name"], &server["operations"], &server["compiled"]),
        (&json!("shop"), &json!(4), &json!(3)),
        "{report}"
    );
    assert_eq!(server["skipped"][0]["operation"], "GET /broken");
    assert!(
        server["skipped"][0]["pointer"].as_str().unwrap().contains("/paths/~1broken/get"),
        "{server}"
    );
}

#[test]
fn a_refused_document_loses_nothing_that_was_compiled() {
    let api = FakeApi::start();
    let project = Project::shop(&api);
    project.write("shop.json", "{\"openapi\": \"3.1.0\", \"paths\": {");
    let ended = project.run(&["compile", "--json"]);
    assert_eq!(ended.code, 1);
    assert_eq!(ended.error()["type"], "document");
    assert!(ended.json()["servers"][0]["error"].to_string().contains("line 1"), "{ended:?}");
    assert_eq!(project.run(&["call", "shop.get_item", "--id", "5"]).code, 0);
}

#[test]
fn an_unchanged_document_is_not_parsed_again() {
    let api = FakeApi::start();
    let project = Project::shop(&api);
    assert_eq!(project.run(&["compile", "--json"]).json()["servers"][0]["unchanged"], json!(true));
    project.write("shop.json", &format!("{} ", shop_document()));
    assert_eq!(project.run(&["compile", "--json"]).json()["servers"][0]["unchanged"], Value::Null);
}

#[test]
fn an_unchanged_document_without_a_server_still_needs_a_base_url() {
    let api = FakeApi::start();
    let project = Project::shop(&api);
    let server = &project.run(&["compile", "--json"]).json()["servers"][0];
    assert_eq!((&server["unchanged"], &server["compiled"]), (&json!(true), &json!(3)));
    project.write("mce.yaml", "servers:\n  shop:\n    openapi: ./shop.json\n");
    let ended = project.run(&["compile", "--json"]);
    assert_eq!((ended.code, &ended.error()["type"]), (1, &json!("config")), "{ended:?}");
    let mut document = shop_document();
    document["servers"] = json!([{"url": api.origin()}]);
    project.write("shop.json", &document.to_string());
    for unchanged in [Value::Null, json!(true)] {
        assert_eq!(project.run(&["compile", "--json"]).json()["servers"][0]["unchanged"], unchanged);
    }
}

#[test]
fn settings_of_a_server_take_effect_without_compiling() {
    let (api, other) = (FakeApi::start(), FakeApi::start());
    let project = Project::shop(&api);
    project.write(
        "mce.yaml",
        &shop_config(&other, "    is_read_only: true\n").replace("  shop:", "  store:"),
    );
    let functions = project.run(&["functions", "--json"]).json();
    let names: Vec<_> = functions
        .as_array()
        .unwrap()
        .iter()
        .map(|one| (one["server"].as_str().unwrap(), one["function"].as_str().unwrap()))
        .collect();
    assert_eq!(names, [("store", "get_item")]);
    let error = project.run(&["call", "store.delete_item", "--json", r#"{"id":"5"}"#]).error();
    assert_eq!(error["type"], "policy", "{error}");
    assert_eq!(project.run(&["call", "store.get_item", "--id", "5"]).code, 0);
    assert_eq!((api.requests().len(), other.requests().len()), (0, 1));
}

#[test]
fn a_dry_run_writes_nothing() {
    let api = FakeApi::start();
    let project = Project::empty().with("SHOP_TOKEN", "x-token-1");
    project.write("shop.json", &shop_document().to_string());
    project.write("mce.yaml", &shop_config(&api, ""));
    assert_eq!(
        project.run(&["compile", "--dry-run", "--json"]).json()["servers"][0]["compiled"],
        json!(3)
    );
    assert_eq!(project.run(&["functions", "--json"]).json(), json!([]));
}

#[test]
fn clean_removes_the_catalog_and_keeps_the_audit_log() {
    let api = FakeApi::start();
    let project = Project::shop(&api);
    assert_eq!(project.run(&["call", "shop.get_item", "--id", "5"]).code, 0);
    assert_eq!(project.run(&["clean"]).code, 0);
    assert!(project.file("data/audit.jsonl").exists());
    assert_eq!(project.run(&["functions", "--json"]).json(), json!([]));
    assert_eq!(project.run(&["clean", "compile"]).code, 0);
    assert_eq!(project.run(&["functions", "--json"]).json().as_array().unwrap().len(), 3);
}

#[test]
fn the_printed_client_configuration_starts_the_same_servers() {
    let api = FakeApi::start();
    let project = Project::shop(&api);
    let printed = project.run(&["compile"]).out;
    assert!(!printed.contains("shop-token-8842"));
    let at = printed.find("{\n").unwrap();
    let configuration: Value = serde_json::from_str(printed.split_at(at).1).unwrap();
    let server = &configuration["mcpServers"]["mce"];
    let command = server["command"].as_str().unwrap();
    assert!(std::path::Path::new(command).is_absolute());
    let args: Vec<_> = server["args"].as_array().unwrap().iter().map(|arg| arg.as_str().unwrap()).collect();
    assert_eq!(args[0], "serve");
    let mut list = vec!["functions", "--json"];
    list.extend(&args[1..]);
    let elsewhere = Project::empty()
        .with("SHOP_TOKEN", "x-token-1")
        .with("MCE_DATA_DIR", server["env"]["MCE_DATA_DIR"].as_str().unwrap());
    assert_eq!(elsewhere.run(&list).json().as_array().unwrap().len(), 3);
}

#[test]
fn a_document_is_read_from_a_url_and_its_relative_server_is_found() {
    let api = FakeApi::start();
    let mut document = shop_document();
    document["servers"] = json!([{"url": "/base"}]);
    let body = document.to_string();
    api.answer_with(move |request| {
        let is_document = request.target == "/docs/shop.json";
        mce_test::FakeAnswer::json(200, if is_document { body.clone() } else { "{}".to_owned() })
    });
    let project = Project::empty();
    project.write(
        "mce.yaml",
        &format!("servers:\n  shop:\n    openapi: {}/docs/shop.json\n", api.origin()),
    );
    let ended = project.run(&["compile", "--json"]);
    assert_eq!(ended.code, 0, "{ended:?}");
    assert_eq!(project.run(&["call", "shop.get_item", "--id", "5"]).code, 0);
    assert_eq!(api.requests().last().unwrap().target, "/base/items/5");
}

#[test]
fn a_configuration_of_the_seed_works_as_it_is() {
    let api = FakeApi::start();
    let project = Project::empty().with("HOTEL_API_TOKEN", "hotel-token-77");
    project.write("swaggers/hotel.json", &shop_document().to_string());
    project.write(
        "config/swaggers.yaml",
        &format!(
            "servers:\n  - name: Hotel Booking\n    swagger_url: \"../swaggers/hotel.json\"\n    base_url: \"{}\"\n    auth_header: \"Bearer ${{HOTEL_API_TOKEN}}\"\n    \
             is_read_only: false\n    extra_headers:\n      X-API-Version: \"v1\"\n    top_level_functions:\n      - getItem\n",
            api.origin()
        ),
    );
    let ended = project.run(&["compile"]);
    assert_eq!(ended.code, 0, "{ended:?}");
    let ended = project.run(&["call", "hotel_booking.get_item", "--id", "5"]);
    assert_eq!(ended.code, 0, "{ended:?}");
    let request = &api.requests()[0];
    assert_eq!(request.header("authorization"), Some("Bearer hotel-token-77"));
    assert_eq!(request.header("x-api-version"), Some("v1"));
}

#[test]
fn names_in_settings_that_the_document_does_not_have_are_told() {
    let api = FakeApi::start();
    let project = Project::shop(&api).with("KEY", "key-771-long");
    let more = "    credentials: {kk: \"${KEY}\"}\n    top_level_functions: [nope, getItem]\n";
    project.write("mce.yaml", &shop_config(&api, more));
    let problems = project.run(&["compile", "--json"]).json()["servers"][0]["problems"].to_string();
    assert!(
        problems.contains("no security scheme `kk`") && problems.contains("no function `nope`"),
        "{problems}"
    );
    assert!(!problems.contains("getItem") && !problems.contains("key-771-long"), "{problems}");
}

#[test]
fn the_state_is_readable_by_its_owner_only() {
    use std::os::unix::fs::PermissionsExt;

    let api = FakeApi::start();
    let project = Project::empty().with("SHOP_TOKEN", "x-token-1");
    project.write("shop.json", &shop_document().to_string());
    project.write("mce.yaml", &shop_config(&api, ""));
    std::fs::create_dir(project.file("data")).unwrap();
    assert_eq!(project.run(&["compile"]).code, 0);
    assert_eq!(project.run(&["call", "shop.get_item", "--id", "5"]).code, 0);
    for file in ["data/state.db", "data/audit.jsonl"] {
        let mode = std::fs::metadata(project.file(file)).unwrap().permissions().mode();
        assert_eq!(mode & 0o077, 0, "{file}: {mode:o}");
    }
}
