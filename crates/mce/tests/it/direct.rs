//! The surface `direct`: what MCP servers have passes through as they wrote it.

use mce_test::{FakeAnswer, FakeApi, fake_mcp_server};
use serde_json::{Value, json};

use crate::client::Client;
use crate::node_server::{node_command, node_entry};
use crate::project::{Project, shop_config, shop_document};
use crate::real_servers::installed;

const VERSIONS: [&str; 2] = ["2025-11-25", "2026-07-28"];

fn client(project: &Project, version: &str) -> Client {
    if version < "2026" {
        Client::initialize(project, version).0
    } else {
        Client::stateless(project, version)
    }
}

fn project(servers: &str) -> Project {
    let project = Project::empty().with("MCE_SURFACE", "direct");
    project.write("mce.yaml", &format!("servers:\n{servers}"));
    project
}

fn fake_entry(name: &str, behaviour: &Value) -> String {
    let (command, args) = fake_mcp_server(behaviour);
    format!("  {name}:\n    command: {command}\n    args: {}\n", json!(args))
}

/// What the revision of our client adds to a result of an older server.
fn without_additions(mut result: Value) -> Value {
    if let Some(members) = result.as_object_mut() {
        members.retain(|key, _| !["resultType", "ttlMs", "cacheScope"].contains(&key.as_str()));
    }
    result
}

fn names(list: &Value, key: &str, member: &str) -> Vec<String> {
    let items = list[key].as_array().unwrap_or_else(|| panic!("{list}"));
    items.iter().map(|item| item[member].as_str().unwrap().to_owned()).collect()
}

#[test]
fn with_one_server_and_plain_names_nothing_is_changed() {
    let Some(folder) = installed() else { return };
    let project = project(&node_entry(&folder, "everything", "server-everything", &["stdio"])).with("MCE_DIRECT_NAMES", "plain");
    let mut itself = Client::of(node_command(&folder, "server-everything", &["stdio"]));
    // What it lists depends on what its client can do, and is complete when it has asked for the client's folders.
    let abilities = json!({"roots": {"listChanged": true}, "sampling": {}, "elicitation": {"form": {}, "url": {}}});
    itself.shake_hands_with("2025-11-25", &abilities);
    itself.notice("roots/list");
    let requests = [
        ("tools/list", json!({})),
        ("prompts/list", json!({})),
        ("resources/list", json!({})),
        ("resources/templates/list", json!({})),
        ("tools/call", json!({"name": "echo", "arguments": {"message": "hé"}})),
        ("tools/call", json!({"name": "get-tiny-image", "arguments": {}})),
        (
            "tools/call",
            json!({"name": "get-structured-content", "arguments": {"location": "New York"}}),
        ),
        (
            "tools/call",
            json!({"name": "get-annotated-message", "arguments": {"messageType": "error", "includeImage": true}}),
        ),
        ("tools/call", json!({"name": "get-resource-links", "arguments": {"count": 3}})),
        (
            "prompts/get",
            json!({"name": "args-prompt", "arguments": {"city": "Oslo", "state": "x"}}),
        ),
        ("resources/read", json!({"uri": "demo://resource/static/document/architecture.md"})),
        (
            "completion/complete",
            json!({"ref": {"type": "ref/prompt", "name": "completable-prompt"}, "argument": {"name": "department", "value": "E"}}),
        ),
    ];
    for version in VERSIONS {
        let mut through_us = client(&project, version);
        for (method, parameters) in &requests {
            let mut expected = itself.request(method, parameters.clone());
            if *method == "tools/list" {
                // What can only be called as a task is left out.
                let tools = expected["tools"].as_array_mut().unwrap();
                tools.retain(|tool| tool["execution"]["taskSupport"] != "required");
                for tool in tools {
                    tool.as_object_mut().unwrap().remove("execution");
                }
            }
            assert_eq!(expected.get("code"), None, "{method}: {expected}");
            let found = without_additions(through_us.request(method, parameters.clone()));
            let (found, expected) = (found.to_string(), expected.to_string());
            let same = found.bytes().zip(expected.bytes()).take_while(|(a, b)| a == b).count();
            let rest = |text: &str| text.chars().skip(same.saturating_sub(40)).take(200).collect::<String>();
            assert!(
                found == expected,
                "{version} {method} {parameters}:\n{}\n{}",
                rest(&found),
                rest(&expected)
            );
        }
        let audit = std::fs::read_to_string(project.file("data/audit.jsonl")).unwrap();
        for passed in ["prompts/get", "resources/read", "completion/complete"] {
            let lines = audit.lines().filter(|line| line.contains(&format!(r#""operation":"{passed}""#)));
            assert!(
                lines.clone().count() >= 2 && lines.clone().all(|line| !line.contains("architecture")),
                "{passed}: {audit}"
            );
        }
        let unknown = json!({"uri": "demo://resource/nothing"});
        let (expected, found) = (
            itself.request("resources/read", unknown.clone()),
            through_us.request("resources/read", unknown),
        );
        assert_eq!((&found["code"], &found["message"]), (&expected["code"], &expected["message"]));
        assert_eq!(through_us.request("tools/call", json!({"name": "nothing"}))["code"], -32602);
    }
}

#[test]
fn what_no_type_knows_passes_through() {
    let odd = json!({"name": "odd.name", "title": "Odd", "inputSchema": {"type": "object", "zeta": 1, "properties": {"b": {}, "a": {}}},
        "annotations": {"readOnlyHint": true, "custom": [1.0, 12_345_678_901_234_567_890_u64]}, "icons": [{"src": "data:,x"}], "future": {"z": 1, "a": 2},
        "_meta": {"own/key": 1}});
    let project = project(&fake_entry("fake", &json!({"extra_tools": [odd]}))).with("MCE_DIRECT_NAMES", "plain");
    for version in VERSIONS {
        let mut client = client(&project, version);
        let list = client.request("tools/list", json!({}));
        let listed = list["tools"]
            .as_array()
            .unwrap()
            .iter()
            .find(|tool| tool["name"] == "odd.name")
            .unwrap();
        assert_eq!(listed.to_string(), odd.to_string(), "{version}");
        let result = client.request("tools/call", json!({"name": "structured", "arguments": {}}));
        assert_eq!(result["content"][0]["future"], json!([1]), "{version} {result}");
        let failed = client.request("tools/call", json!({"name": "fail", "arguments": {}}));
        assert_eq!(
            (&failed["isError"], &failed["content"][0]["text"]),
            (&json!(true), &json!("it failed")),
            "{failed}"
        );
    }
}

#[test]
fn several_servers_are_kept_apart() {
    let Some(folder) = installed() else { return };
    let root = tempfile::tempdir().unwrap();
    std::fs::write(root.path().join("a.txt"), "hello").unwrap();
    let servers = node_entry(&folder, "everything", "server-everything", &["stdio"])
        + &node_entry(&folder, "files", "server-filesystem", &[root.path().to_str().unwrap()])
        + &fake_entry(
            "fake",
            &json!({"extra_tools": [{"name": "get.sum", "inputSchema": {"type": "object"}}]}),
        );
    let project = project(&servers);
    let mut client = client(&project, "2025-11-25");
    let tools = names(&client.request("tools/list", json!({})), "tools", "name");
    assert!(
        ["everything__echo", "files__read_text_file", "fake__echo"]
            .iter()
            .all(|name| tools.iter().any(|tool| tool == name)),
        "{tools:?}"
    );
    let sum: Vec<_> = tools.iter().filter(|name| name.starts_with("fake__get_sum_")).collect();
    assert_eq!(sum.len(), 1, "{tools:?}");
    let call = json!({"name": "files__read_text_file", "arguments": {"path": root.path().join("a.txt")}});
    assert_eq!(client.request("tools/call", call)["content"][0]["text"], "hello");
    let resources = names(&client.request("resources/list", json!({})), "resources", "uri");
    let uri = &resources[0];
    assert!(uri.starts_with("mce://everything/demo://"), "{resources:?}");
    let read = client.request("resources/read", json!({"uri": uri}));
    assert_eq!(read["contents"][0]["uri"], *uri, "{read}");
    let links = client.request(
        "tools/call",
        json!({"name": "everything__get-resource-links", "arguments": {"count": 2}}),
    );
    let link = links["content"]
        .as_array()
        .unwrap()
        .iter()
        .find(|block| block["type"] == "resource_link")
        .unwrap();
    let read = client.request("resources/read", json!({"uri": link["uri"]}));
    assert_eq!(read["contents"][0]["uri"], link["uri"], "{read}");
    let prompts = names(&client.request("prompts/list", json!({})), "prompts", "name");
    assert!(prompts.contains(&"everything__simple-prompt".to_owned()), "{prompts:?}");
    let prompt = client.request("prompts/get", json!({"name": "everything__simple-prompt"}));
    assert_eq!(prompt["messages"][0]["role"], "user", "{prompt}");
    assert_eq!(client.request("prompts/get", json!({"name": "nothing__x"}))["code"], -32602);
    let completion = json!({"ref": {"type": "ref/prompt", "name": "everything__completable-prompt"},
        "argument": {"name": "department", "value": "E"}});
    let completed = client.request("completion/complete", completion);
    assert_eq!(completed["completion"]["values"], json!(["Engineering"]), "{completed}");
}

#[test]
fn changes_of_tools_are_told_in_both_eras() {
    for version in VERSIONS {
        let project = project(&fake_entry("fake", &json!({})));
        let mut client = client(&project, version);
        client.request("tools/list", json!({}));
        if version >= "2026" {
            client.ask("subscriptions/listen", json!({"notifications": {"toolsListChanged": true}}));
            client.notice("notifications/subscriptions/acknowledged");
        }
        client.request("tools/call", json!({"name": "fake__change", "arguments": {"name": "brand_new"}}));
        client.notice("notifications/tools/list_changed");
        let tools = names(&client.request("tools/list", json!({})), "tools", "name");
        assert!(tools.contains(&"fake__brand_new".to_owned()), "{version} {tools:?}");
    }
}

#[test]
fn changes_of_resources_are_told_to_who_asked_for_them() {
    let Some(folder) = installed() else { return };
    let uri = "demo://resource/dynamic/text/1";
    for version in VERSIONS {
        let project = project(&node_entry(&folder, "everything", "server-everything", &["stdio"]));
        let mut client = client(&project, version);
        if version >= "2026" {
            client.ask("subscriptions/listen", json!({"notifications": {"resourceSubscriptions": [uri]}}));
            let accepted = client.notice("notifications/subscriptions/acknowledged");
            assert_eq!(
                accepted["params"]["notifications"]["resourceSubscriptions"],
                json!([uri]),
                "{accepted}"
            );
        } else {
            assert_eq!(client.request("resources/subscribe", json!({"uri": uri})), json!({}));
        }
        client.request(
            "tools/call",
            json!({"name": "everything__toggle-subscriber-updates", "arguments": {}}),
        );
        assert_eq!(client.notice("notifications/resources/updated")["params"]["uri"], uri, "{version}");
    }
}

#[test]
fn functions_of_apis_are_tools_as_well() {
    let api = FakeApi::start();
    api.answer_next(FakeAnswer::json(200, r#"{"id":"7","name":"pen"}"#));
    let project = Project::empty().with("SHOP_TOKEN", "shop-token-8842").with("MCE_SURFACE", "direct");
    project.write("shop.json", &shop_document().to_string());
    project.write("mce.yaml", &shop_config(&api, ""));
    let mut client = client(&project, "2025-11-25");
    let list = client.request("tools/list", json!({}));
    assert_eq!(
        names(&list, "tools", "name"),
        ["shop__get_item", "shop__delete_item", "shop__create_item"],
        "{list}"
    );
    let get = &list["tools"][0];
    assert_eq!(get["inputSchema"]["required"], json!(["id"]), "{get}");
    assert_eq!(get["annotations"]["readOnlyHint"], true);
    let result = client.request("tools/call", json!({"name": "shop__get_item", "arguments": {"id": "7"}}));
    assert_eq!(result["content"][0]["text"], r#"{"id":"7","name":"pen"}"#, "{result}");
    let wrong = client.call("shop__get_item", json!({"id": "7", "currency": "XXX"}));
    assert!(wrong.1 && wrong.0["error"]["type"] == "argument", "{wrong:?}");
}

#[test]
fn many_tools_come_in_pages() {
    let project = project(&fake_entry("fake", &json!({"tools": 2500})));
    let mut client = client(&project, "2025-11-25");
    let mut found = Vec::new();
    let mut parameters = json!({});
    loop {
        let page = client.request("tools/list", parameters);
        let tools = names(&page, "tools", "name");
        assert!(tools.len() <= 1000);
        found.extend(tools);
        let Some(cursor) = page.get("nextCursor") else { break };
        parameters = json!({"cursor": cursor});
    }
    let count = found.len();
    found.sort();
    found.dedup();
    assert!(count > 2500 && found.len() == count, "{count}");
    assert_eq!(client.request("tools/list", json!({"cursor": "x"}))["code"], -32602);
}

#[test]
fn plain_names_of_several_servers_are_refused() {
    let servers = fake_entry("a", &json!({})) + &fake_entry("b", &json!({}));
    let ended = project(&servers).with("MCE_DIRECT_NAMES", "plain").run(&["serve"]);
    assert_eq!(ended.code, 1);
    assert!(ended.err.contains("for one server"), "{ended:?}");
}
