//! Rules that can never fit: told with what was probably meant, and nothing else is.

use mce_test::FakeApi;
use serde_json::json;

use crate::policy::{denied, project, python, serve};
use crate::project::{Project, shop_document};

/// Rules, the place that is told, and parts of what is said and advised.
const NEVER: [(&str, &str, &str, &str); 11] = [
    (
        "- {server: shpo, decide: deny}",
        "policies.0.server",
        "no server is called `shpo`",
        "did you mean `shop`?",
    ),
    (
        "- {function: delet_item, decide: deny}",
        "policies.0.function",
        "no function is called `delet_item`",
        "`delete_item`",
    ),
    (
        "- {function: [\"DELETE /items/{ID}\"], decide: deny}",
        "policies.0.function",
        "{ID}",
        "`DELETE /items/{id}`",
    ),
    (
        "- {function: mcp__time__drop, decide: deny}",
        "policies.0.function",
        "mcp__time__drop",
        "did you mean",
    ),
    (
        "- {function: \"shop.remove*\", decide: deny}",
        "policies.0.function",
        "`shop.remove*`",
        "",
    ),
    (
        "- {server: time, function: get_item, decide: deny}",
        "policies.0.function",
        "of the servers",
        "it is `shop.get_item`",
    ),
    (
        "- {function: get_item, effect: write, decide: deny}",
        "policies.0.effect",
        "this effect",
        "they have `read`",
    ),
    (
        "- {function: get_item, when: {/Id: 7}, decide: deny}",
        "policies.0.when./Id",
        "`/Id`",
        "did you mean `/id`?",
    ),
    (
        "- {function: closedItem, when: {/body/prize: 7}, decide: deny}",
        "policies.0.when./body/prize",
        "",
        "`/body/price`",
    ),
    (
        "- {server: readonly, effect: write, decide: deny}",
        "policies.0.effect",
        "this effect",
        "they have `read`",
    ),
    (
        "- {effect: write, decide: allow}\n- {function: create_item, decide: ask}",
        "policies.1",
        "`policies[0]` stands before it",
        "before",
    ),
];

/// The same of rules that fit all the same.
const PARTLY: [(&str, &str, &str, &str); 5] = [
    (
        "- {function: [delete_item, del_item], decide: deny}\n- {function: closedItem, decide: ask}",
        "policies.0.function",
        "no function is called `del_item`",
        "did you mean",
    ),
    (
        "- {server: [shpo, shop], decide: ask}",
        "policies.0.server",
        "no server is called `shpo`",
        "did you mean `shop`?",
    ),
    (
        "- {function: closedItem, when: {/body/nonsense: {exists: false}}, decide: deny}",
        "policies.0.when./body/nonsense",
        "so that this always holds",
        "",
    ),
    (
        "- {function: get_item, when: {/Id: {exists: false}}, decide: deny}",
        "policies.0.when./Id",
        "so that this always holds",
        "did you mean `/id`?",
    ),
    (
        "- {function: createItem, when: {/body/prize: 7}, decide: deny}",
        "policies.0.when./body/prize",
        "though it may be sent",
        "did you mean `/body/price`?",
    ),
];

/// Besides, a function whose body takes no more than it names, and the shop as a server that is only read.
fn project_with_closed(api: &FakeApi) -> Project {
    let project = project(api, "");
    let mut document = shop_document();
    let schema = json!({"type": "object", "additionalProperties": false, "properties": {"price": {"type": "number"}}});
    document["paths"]["/closed"]["post"] = json!({"operationId": "closedItem", "responses": {"204": {"description": "done"}},
        "requestBody": {"content": {"application/json": {"schema": schema}}}});
    project.write("shop.json", &document.to_string());
    let other = shop_document()
        .to_string()
        .replace("createItem", "createThing")
        .replace("deleteItem", "dropThing");
    project.write("other.json", &other);
    let config = std::fs::read_to_string(project.file("mce.yaml")).unwrap();
    let readonly = "  readonly:\n    openapi: ./other.json\n    base_url: http://127.0.0.1:9\n    is_read_only: true\n  time:\n";
    project.write("mce.yaml", &config.replace("  time:\n", readonly));
    let ended = project.run(&["compile"]);
    assert_eq!(ended.code, 0, "{ended:?}");
    project
}

#[test]
fn rules_that_never_fit_are_told_with_what_was_probably_meant() {
    let api = FakeApi::start();
    let project = project_with_closed(&api);
    let plain = std::fs::read_to_string(project.file("mce.yaml")).unwrap();
    let all = NEVER.map(|told| (told, true)).into_iter().chain(PARTLY.map(|told| (told, false)));
    for ((rules, place, said, hint), never_fits) in all {
        project.write("mce.yaml", &format!("{plain}policies:\n{rules}\n"));
        let told = project.run(&["policy", "list", "--json"]).json()["warnings"].clone();
        assert_eq!(
            (told.as_array().unwrap().len(), &told[0]["place"]),
            (1, &json!(place)),
            "{rules} {told}"
        );
        assert_eq!(told[0]["never_fits"], never_fits, "{told}");
        assert!(told[0]["message"].as_str().unwrap().contains(said), "{told}");
        assert!(told[0]["hint"].as_str().unwrap_or_default().contains(hint), "{told}");
    }
}

#[test]
fn they_are_told_wherever_somebody_looks() {
    let api = FakeApi::start();
    let project = project(&api, &format!("policies:\n{}\n", NEVER[10].0));
    // Everywhere where somebody looks, and once where it serves.
    for words in [
        &["compile"][..],
        &["policy", "list"],
        &["policy", "check", "shop.get_item", "--json", "{\"id\":\"1\"}"],
    ] {
        let ended = project.run(words);
        assert!(
            (ended.out + &ended.err).contains("stands before it and fits all that it fits"),
            "{words:?}"
        );
    }
    let compiled = project.run(&["compile", "--json"]).json();
    assert_eq!(compiled["policy_warnings"][0]["rule"], "policies[1]", "{compiled}");
    let checks = project.run(&["doctor", "--json"]).json()["checks"].to_string();
    assert!(
        checks.contains("policy warning") && checks.contains("put it before `policies[0]`"),
        "{checks}"
    );
    let mut command = project.command(&["serve"]);
    let log = fs_err::File::create(project.file("log")).unwrap().into_file();
    let mut serving = command
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::null())
        .stderr(log)
        .spawn()
        .unwrap();
    let deadline = std::time::Instant::now() + std::time::Duration::from_mins(1);
    while !std::fs::read_to_string(project.file("log")).unwrap().contains("stands before it") {
        assert!(std::time::Instant::now() < deadline, "it does not tell");
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    drop(serving.stdin.take());
    serving.wait().unwrap();
}

#[test]
fn rules_that_may_fit_are_not_doubted() {
    let api = FakeApi::start();
    let rules = "allowed_tools: [\"mcp__shop__*\", \"time.*\", \"delete /items/{id}\"]\npolicies:\n\
        - {function: \"post /items\", when: {/body/price: {at_most: 5}}, decide: deny}\n\
        - {function: \"POST https://api.example.com/*\", when: {/url: {matches: \"*x\"}}, decide: deny}\n\
        - {function: \"* /items/{id}\", asker: model, client: [a, b], decide: ask}\n\
        - {function: get_item, client: c, decide: deny}\n\
        - {function: \"post /items\", when: {/body/extra: {exists: true}}, decide: deny}\n\
        - {function: \"post /items\", when: {/body/nonsense: {exists: false}}, client: c, decide: deny}\n\
        - {server: time, when: {/anything: 1}, decide: deny}\n\
        - {server: unknown*, function: maybe, when: {/x/y: 1}, decide: deny}\n\
        - {function: get_item, asker: person, decide: allow, budget: {per_run: 1}}\n\
        - {effect: destructive, decide: ask}\n- {decide: allow}\n";
    let project = project(&api, rules);
    let config = std::fs::read_to_string(project.file("mce.yaml")).unwrap();
    project.write(
        "mce.yaml",
        &config.replace("  time:\n", "  unknown_yet:\n    openapi: ./none.json\n  time:\n"),
    );
    let told = project.run(&["policy", "list", "--json"]).json();
    assert_eq!(told["warnings"], json!([]), "{told}");
    assert_eq!(told["rules"][0]["applies_to"], "function `POST /items`, `/body/price` at most 5");
    let mut client = serve(&project);
    denied(&python(&mut client, "create_item(body={'name': 'a', 'price': 5})"), "policies[0]");
}
