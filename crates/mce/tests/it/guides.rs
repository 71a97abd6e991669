//! Guides to servers (`skills_url`), from compiling to what a model sees; and functions that are tools of their own.

use mce_test::{FakeAnswer, FakeApi};
use serde_json::{Value, json};

use crate::client::Client;
use crate::project::{Project, shop_config};

const VERSION: &str = "2025-11-25";

fn guide_of(project: &Project) -> Value {
    project.run(&["compile", "--json"]).json()["servers"][0]["guide"].clone()
}

#[test]
fn a_remote_guide_is_copied_by_each_compile_which_says_what_became_of_it() {
    let (api, guides) = (FakeApi::start(), FakeApi::start());
    let project = Project::shop(&api).with("MCE_COMPILE_ON_STARTUP", "false");
    project.write(
        "mce.yaml",
        &shop_config(&api, &format!("    skills_url: {}/guide.md\n", guides.origin())),
    );
    let check = |body: String, state: &str, read: &str| {
        guides.answer_next(FakeAnswer::new(200, "text/markdown", body));
        let guide = guide_of(&project);
        assert_eq!(guide["state"], state, "{guide}");
        assert_eq!(guide["error"].is_string(), state == "refused", "{guide}");
        let (mut client, _) = Client::initialize(&project, VERSION);
        let resource = client.request("resources/read", json!({"uri": "skills://shop"}));
        assert_eq!(resource["contents"][0]["text"], read, "{resource}");
    };
    check("Prices are in euros.".to_owned(), "new", "Prices are in euros.");
    check("Prices are in euros.".to_owned(), "unchanged", "Prices are in euros.");
    check("Prices are in crowns.".to_owned(), "changed", "Prices are in crowns.");
    check("x".repeat((256 << 10) + 1), "refused", "Prices are in crowns.");
    guides.answer_next(FakeAnswer::new(500, "text/plain", "no"));
    assert_eq!(guide_of(&project)["state"], "refused");
}

#[test]
fn guides_are_in_the_instructions_as_far_as_there_is_room_and_else_named() {
    let api = FakeApi::start();
    let project = Project::shop(&api).with("MCE_ENABLE_ADDITIONAL_TOOLS", "true");
    let mut servers = String::from("servers:\n");
    for number in 0..8 {
        project.write(&format!("guide_{number}.md"), &format!("{}END", "word ".repeat(600)));
        let keys = format!("openapi: ./shop.json, base_url: 'http://127.0.0.1:9', skills_url: ./guide_{number}.md");
        servers.extend([format!("  shop_{number}: {{{keys}}}\n")]);
    }
    project.write("mce.yaml", &servers);
    let (mut client, hello) = Client::initialize(&project, VERSION);
    let instructions = hello["instructions"].as_str().unwrap();
    assert!(
        instructions.len() < 10_000 && !instructions.contains("END"),
        "{}",
        instructions.len()
    );
    let listed = client.request("resources/list", json!({}));
    for number in 0..8 {
        assert!(instructions.contains(&format!("skills://shop_{number})")), "{instructions}");
        assert_eq!(listed["resources"][number]["uri"], format!("skills://shop_{number}"));
    }
    let (whole, _) = client.call("get_server_skills", json!({"server_name": "shop_7"}));
    assert!(whole["skills"].as_str().unwrap().ends_with("END"));
    let (missing, is_error) = client.call("get_server_skills", json!({"server_name": "shop_9"}));
    assert!(
        is_error && missing["error"]["hint"].as_str().unwrap().contains("shop_0"),
        "{missing}"
    );
}

#[test]
fn a_server_of_any_kind_may_have_a_guide_and_a_local_one_that_is_too_large_is_refused() {
    let project = Project::empty();
    project.write("large.md", &"x".repeat((256 << 10) + 1));
    project.write("mce.yaml", "servers:\n  tool: {command: /bin/false, skills_url: ./large.md}\n");
    let guide = guide_of(&project);
    assert_eq!(guide["state"], "refused");
    assert!(guide["error"].as_str().unwrap().contains("262144"), "{guide}");
    project.write("large.md", "short");
    assert_eq!(guide_of(&project)["state"], "read");
}

#[test]
fn functions_become_tools_by_any_of_their_names_and_an_unknown_one_is_told_with_the_nearest() {
    let api = FakeApi::start();
    let project = Project::shop(&api);
    project.write(
        "mce.yaml",
        &shop_config(&api, "    top_level_functions: [getItem, create_item, getItme]\n"),
    );
    let ended = project.run(&["compile"]);
    assert!(ended.out.contains("no function `getItme`; did you mean"), "{ended:?}");
    let (mut client, _) = Client::initialize(&project, VERSION);
    let tools = client.request("tools/list", json!({}));
    let names: Vec<_> = tools["tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| tool["name"].as_str().unwrap())
        .collect();
    assert_eq!(&names[5..], ["get_item", "create_item"]);
}
