//! Rates and the rest of servers that fail, through the whole program.

use mce_test::{FakeApi, fake_mcp_server};
use serde_json::json;

use crate::client::Client;
use crate::project::{Project, shop_config};

#[test]
fn a_client_that_starts_too_many_programs_is_told_when_to_try_again() {
    let api = FakeApi::start();
    let project = Project::shop(&api).with("CODE_EXECUTOR_RATE_LIMIT_RPM", "2");
    let (mut client, _) = Client::initialize(&project, "2025-11-25");
    let ends: Vec<_> = (0..3).map(|_| client.run("result = 1")).collect();
    assert_eq!((&ends[0]["data"], &ends[1]["data"]), (&json!(1), &json!(1)));
    let error = &ends[2]["error"];
    assert_eq!(
        (&error["type"], &error["message"]),
        (&json!("busy"), &json!("the limit of 2 programs of this client in 60 s is reached"))
    );
    assert!(error["hint"].as_str().unwrap().starts_with("try again in "), "{error}");
    let audit = std::fs::read_to_string(project.file("data/audit.jsonl")).unwrap();
    assert!(audit.lines().last().unwrap().contains(r#""error":{"type":"busy"}"#), "{audit}");
}

#[test]
fn a_function_that_is_called_too_often_is_an_error_of_type_busy() {
    let api = FakeApi::start();
    let project = Project::shop(&api);
    project.write("mce.yaml", &shop_config(&api, "    functions: {getItem: {rate: 1/hour}}\n"));
    project.write("p.py", "from shop.functions import get_item\nget_item(id='1')\nget_item(id='2')\n");
    let answer = project.run(&["exec", "p.py", "--json"]).json();
    assert_eq!(answer["error"]["type"], "busy", "{answer}");
    assert!(
        answer["error"]["hint"].as_str().unwrap().contains("3600 s") || answer["error"]["hint"].as_str().unwrap().contains("35"),
        "{answer}"
    );
    assert_eq!(api.requests().len(), 1);
}

#[test]
fn an_mcp_server_that_dies_of_every_call_is_left_alone() {
    let (command, args) = fake_mcp_server(&json!({}));
    let project = Project::empty();
    project.write(
        "mce.yaml",
        &format!("servers:\n  frail:\n    command: {command}\n    args: {}\n", json!(args)),
    );
    assert_eq!(project.run(&["compile"]).code, 0);
    let program = "from mce import ToolError\nfrom frail.functions import die\nsaid = []\nfor n in range(7):\n    try:\n        die()\n    except ToolError as e:\n        said.append(str(e))\nresult = said";
    project.write("p.py", program);
    let answer = project.run(&["exec", "p.py", "--json"]).json();
    let said: Vec<&str> = answer["data"]
        .as_array()
        .unwrap_or_else(|| panic!("{answer}"))
        .iter()
        .map(|text| text.as_str().unwrap())
        .collect();
    assert_eq!(said.len(), 7);
    let alone: Vec<bool> = said.iter().map(|text| text.contains("left alone")).collect();
    assert_eq!(alone, [false, false, false, false, false, true, true], "{said:?}");
}
