//! GitHub's document (13 MB): its functions can be called, and the request is exactly what the document says.

use std::path::PathBuf;

use mce_test::FakeApi;
use serde_json::{Value, json};

use crate::client::Client;
use crate::project::Project;
use crate::serve::tokens;

/// A configuration with GitHub's document, compiled; nothing where the corpus is not there.
fn github(api: &FakeApi, test: &str) -> Option<Project> {
    let Some(document) = document() else {
        eprintln!("NOT RUN: {test}: the corpus is not there; set MCE_TEST_CORPUS");
        return None;
    };
    let project = Project::empty().with("GH_TOKEN", "github-token-5512");
    project.write(
        "mce.yaml",
        &format!(
            "servers:\n  github:\n    openapi: {}\n    base_url: {}\n    auth: {{type: jwt, token: \"${{GH_TOKEN}}\"}}\n",
            document.display(),
            api.origin()
        ),
    );
    let report = project.run(&["compile", "--json"]).json();
    let server = &report["servers"][0];
    let operations = server["operations"].as_u64().unwrap();
    assert_eq!(
        (
            operations,
            server["compiled"].as_u64().unwrap(),
            server["skipped"].as_array().unwrap().len()
        ),
        (1223, 1223, 0),
        "{server}"
    );
    Some(project)
}

fn document() -> Option<PathBuf> {
    #[expect(clippy::disallowed_methods, reason = "tests find other people's documents by a variable")]
    let folder = std::env::var_os("MCE_TEST_CORPUS").map_or_else(
        || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/corpus"),
        PathBuf::from,
    );
    let file = folder.join("specs/github-api.json");
    file.exists().then_some(file)
}

#[test]
fn functions_of_a_large_document_can_be_called() {
    let api = FakeApi::start();
    let Some(project) = github(&api, "functions_of_a_large_document_can_be_called") else {
        return;
    };

    let check = |operation: &str, arguments: Value, method: &str, target: &str, body: &str| {
        let ended = project.run(&["call", &format!("github:{operation}"), "--json", &arguments.to_string()]);
        assert_eq!(ended.code, 0, "{ended:?}");
        let request = &api.take_requests()[0];
        assert_eq!(
            (request.method.as_str(), request.target.as_str(), request.text().as_str()),
            (method, target, body)
        );
        assert_eq!(request.header("authorization"), Some("Bearer github-token-5512"));
    };
    check(
        "GET /repos/{owner}/{repo}/issues",
        json!({"owner": "acme", "repo": "shop", "labels": "bug,ui", "per_page": 5}),
        "GET",
        "/repos/acme/shop/issues?labels=bug%2Cui&per_page=5",
        "",
    );
    check(
        "POST /repos/{owner}/{repo}/issues",
        json!({"owner": "acme", "repo": "shop", "body": {"title": "a", "labels": ["bug"]}}),
        "POST",
        "/repos/acme/shop/issues",
        r#"{"title":"a","labels":["bug"]}"#,
    );
    check(
        "GET /repos/{owner}/{repo}/compare/{basehead}",
        json!({"owner": "acme", "repo": "shop", "basehead": "main...next"}),
        "GET",
        "/repos/acme/shop/compare/main...next",
        "",
    );
    check(
        "DELETE /repos/{owner}/{repo}/subscription",
        json!({"owner": "acme", "repo": "shop"}),
        "DELETE",
        "/repos/acme/shop/subscription",
        "",
    );
    let program = "from github.functions import reactions_create_for_issue\nresult = reactions_create_for_issue(owner='a', repo='b', issue_number=1, body={'content': '+1'})\n";
    project.write("p.py", program);
    let answer = project.run(&["exec", "p.py", "--json"]).json();
    assert_eq!(answer["success"], json!(true), "{answer}");
    assert_eq!(api.take_requests()[0].target, "/repos/a/b/issues/1/reactions");
}

#[test]
fn answers_of_a_large_catalog_stay_within_their_tokens() {
    let api = FakeApi::start();
    let Some(project) = github(&api, "answers_of_a_large_catalog_stay_within_their_tokens") else {
        return;
    };
    let queries = std::fs::read_to_string(PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/search/queries.jsonl")).unwrap();
    let (mut client, hello) = Client::initialize(&project, "2025-11-25");
    let tools = client.request("tools/list", json!({}));
    assert!(tokens(&tools.to_string()) <= 600 && tokens(hello["instructions"].as_str().unwrap()) <= 200);
    for query in queries.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()) {
        let (answer, _) = client.call("search_functions", json!({"query": query["q"]}));
        let cost = tokens(&answer.to_string());
        assert!(cost <= 800, "{cost} tokens for {}: {answer}", query["q"]);
    }
    let (answer, _) = client.call("list_servers", json!({}));
    assert!(tokens(&answer.to_string()) <= 300, "{answer}");
}
