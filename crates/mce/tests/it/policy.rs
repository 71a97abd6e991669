//! Rules about calls: what they decide, for whom, and what is told of it.

use mce_test::{FakeApi, fake_mcp_server};
use serde_json::{Value, json};

use crate::client::Client;
use crate::project::{Project, shop_config, shop_document};

/// The shop, and an MCP server `time` with a tool that destroys, under these rules.
pub(crate) fn project(api: &FakeApi, rules: &str) -> Project {
    let tools = json!([{"name": "drop-all", "annotations": {"destructiveHint": true},
        "inputSchema": {"type": "object", "properties": {"name": {"type": "string"}}}}]);
    let (command, args) = fake_mcp_server(&json!({"extra_tools": tools}));
    let project = Project::empty().with("SHOP_TOKEN", "shop-token-8842");
    project.write("shop.json", &shop_document().to_string());
    let time = format!("  time:\n    command: {command}\n    args: {}\n", json!(args));
    project.write("mce.yaml", &(shop_config(api, &time) + rules));
    let ended = project.run(&["compile"]);
    assert_eq!(ended.code, 0, "{ended:?}");
    project
}

pub(crate) fn serve(project: &Project) -> Client {
    Client::initialize(project, "2025-11-25").0
}

/// The error of a run that a rule ended.
#[track_caller]
pub(crate) fn denied(answer: &Value, rule: &str) {
    assert_eq!(answer["error"]["type"], "policy", "{answer}");
    assert!(answer["error"]["message"].as_str().unwrap().contains(rule), "{answer}");
    assert!(answer["error"]["hint"].is_string(), "{answer}");
}

pub(crate) fn python(client: &mut Client, code: &str) -> Value {
    client.run(&format!("from shop.functions import *\nfrom time_.functions import *\n{code}"))
}

fn typescript(client: &mut Client, code: &str) -> Value {
    let code = format!("import {{ shop, time_ }} from 'mce:servers';\nimport {{ callFunction }} from 'mce';\nexport default {code};");
    let arguments = json!({"code": code, "description": "test", "language": "typescript"});
    client.call("execute_code", arguments).0
}

#[test]
fn numbers_keep_all_their_digits_from_the_file_to_the_call() {
    let api = FakeApi::start();
    let long = "1".repeat(60);
    let rules = format!(
        "policies:\n\
        - {{name: above, function: get_item, when: {{/id: {{greater_than: 9007199254740992}}}}, decide: deny}}\n\
        - {{name: within, function: createItem, when: {{/body/price: {{at_most: 9007199254740992}}}}, decide: allow}}\n\
        - {{name: long, function: createItem, when: {{/body/price: {{at_least: {long}2, at_most: {long}2}}}}, decide: allow}}\n\
        - {{name: exactly, function: createItem, when: {{/body/price: {{in: [18446744073709551616, 9007199254740993.5]}}}}, decide: allow}}\n\
        - {{name: other, function: createItem, decide: deny}}\n"
    );
    let project = project(&api, &rules);
    let check = |function: &str, arguments: &str| project.run(&["policy", "check", function, "--json", arguments]).json()["rule"].clone();
    assert_eq!(check("shop.get_item", r#"{"id":"9007199254740993"}"#), "above");
    assert_ne!(check("shop.get_item", r#"{"id":"9007199254740992"}"#), "above");
    for (price, rule) in [
        ("9007199254740992", "within"),
        ("9007199254740993", "other"),
        ("18446744073709551616", "exactly"),
        ("18446744073709551616.0", "exactly"),
        ("18446744073709551617", "other"),
        ("9007199254740993.50", "exactly"),
        ("9007199254740993.50000000000000000001", "other"),
        (&format!("{long}1"), "other"),
        (&format!("{long}2"), "long"),
        (&format!("{long}2.0000000000000000000001"), "other"),
    ] {
        let arguments = format!(r#"{{"body":{{"name":"a","price":{price}}}}}"#);
        assert_eq!(check("shop.create_item", &arguments), rule, "{price}");
    }
    let listed = project.run(&["policy", "list"]);
    assert!(listed.out.contains(&format!("at most \"{long}2\"")), "{listed:?}");
    let shown = project.run(&["config", "show"]).out;
    let has = |key: &str, value: &str| shown.lines().any(|line| line.contains(key) && line.contains(&format!(" {value} ")));
    assert!(has("/price.at_most", &format!("{long}2")), "{shown}");
    assert!(has("/price.in", "[18446744073709551616,9007199254740993.5]"), "{shown}");
}

#[test]
fn the_first_rule_that_fits_decides_in_both_languages_and_for_both_kinds_of_server() {
    let api = FakeApi::start();
    let rules = "policies:\n\
        - {name: cheap, function: createItem, when: {/body/price: {at_most: 10}}, decide: allow}\n\
        - {name: dear, server: shop, function: \"POST /items\", decide: deny}\n\
        - {function: mcp__time__ech*, asker: model, when: {/to: prod}, decide: deny}\n\
        - {name: no strangers, client: stranger*, decide: deny}\n";
    let project = project(&api, rules);
    let mut client = serve(&project);
    for (code, rule) in [
        ("create_item(body={'name': 'a', 'price': 10})", None),
        ("create_item(body={'name': 'a', 'price': 10.5})", Some("`dear` (`policies[1]`)")),
        ("create_item(body={'name': 'a'})", Some("dear")),
        ("echo(to='dev')", None),
        ("echo(to='prod')", Some("`policies[2]`")),
        ("echo(to=['dev', 'prod'])", Some("policies[2]")),
        ("get_item(id='1')", None),
    ] {
        let answer = python(&mut client, &format!("result = {code}"));
        match rule {
            Some(rule) => denied(&answer, rule),
            None => assert_eq!(answer["success"], true, "{code} {answer}"),
        }
    }
    let dear = "await shop.createItem({ body: { name: 'a', price: 11 } })";
    let by_name = "await callFunction('shop:POST /items', { body: { name: 'a', price: 1e3 } })";
    for (code, rule) in [
        (dear, "dear"),
        (by_name, "dear"),
        ("await time_.echo({ to: 'prod' })", "policies[2]"),
    ] {
        denied(&typescript(&mut client, code), rule);
    }
    let sent = api.take_requests();
    assert_eq!(sent.iter().filter(|request| request.method == "POST").count(), 1);
    // A person is not a model.
    let ended = project.run(&["call", "time.echo", "--json", r#"{"to": "prod"}"#]);
    assert_eq!(ended.json(), json!({"to": "prod"}));
    let audit = std::fs::read_to_string(project.file("data/audit.jsonl")).unwrap();
    let records: Vec<Value> = audit.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let intent = records
        .iter()
        .find(|record| record["function"] == "shop.create_item" && record["event"] == "intent")
        .unwrap();
    assert_eq!(
        (&intent["decision"], &intent["rule"]),
        (&json!("allow"), &json!("cheap")),
        "{intent}"
    );
    // What was denied is known as well, by whatever name it was called.
    let denied = |record: &&Value| record["event"] == "refused" && record["rule"] == "dear";
    let denied: Vec<_> = records.iter().filter(denied).collect();
    assert_eq!(denied.len(), 4, "{denied:?}");
    for record in denied {
        let what = [&record["function"], &record["operation"], &record["effect"], &record["decision"]];
        assert_eq!(what, ["shop.create_item", "POST /items", "write", "deny"], "{record}");
        let hashes = [&record["arguments_sha256"], &record["code_sha256"]];
        assert!(hashes.iter().all(|hash| hash.as_str().unwrap().len() == 64), "{record}");
    }
}

#[test]
fn names_aliases_and_defaults_do_not_get_around_a_rule() {
    let api = FakeApi::start();
    let rules = "policies:\n- {name: only euros, when: {/currency: {not_equals: EUR}}, decide: deny}\n\
        - {name: not seven, when: {/id: 7}, decide: deny}\n";
    let project = project(&api, rules);
    let config = std::fs::read_to_string(project.file("mce.yaml")).unwrap();
    let defaults = "    functions: {getItem: {defaults: {currency: NOK}}}\n  time:";
    let mut client = serve(&project);
    for id in ["'7'", "'07'", "' 7'", "'7.0'", "'7e0'"] {
        denied(&python(&mut client, &format!("get_item(id={id})")), "not seven");
        denied(
            &python(
                &mut client,
                &format!("from mce import call_function\ncall_function('shop:GET /items/{{id}}', {{'id': {id}}})"),
            ),
            "not seven",
        );
    }
    denied(&python(&mut client, "get_item(id='1', currency='NOK')"), "only euros");
    assert_eq!(python(&mut client, "get_item(id='1', currency='EUR')")["success"], true);
    // What is not there meets no comparison.
    assert_eq!(python(&mut client, "get_item(id='1')")["success"], true);
    project.write("mce.yaml", &config.replace("  time:", defaults));
    denied(&python(&mut serve(&project), "get_item(id='1')"), "only euros");
    assert_eq!(api.take_requests().len(), 2);
}

#[test]
fn budgets_are_used_up_by_run_and_by_day_across_restarts() {
    let api = FakeApi::start();
    let rules = "policies:\n- {name: few, function: get_item, decide: allow, budget: {per_run: 2, per_day: 3}}\n\
        - {name: minutes, function: create_item, decide: allow, budget: {per_minute: 1}}\n";
    let project = project(&api, rules);
    let mut client = serve(&project);
    let often = "from mce import PolicyError\nmade = 0\ntry:\n    for _ in range(5):\n        get_item(id='1')\n        made += 1\n\
        except PolicyError as error:\n    result = [made, str(error)]";
    let answer = python(&mut client, often);
    assert_eq!(
        answer["data"],
        json!([2, "the rule `few` (`policies[0]`) allows 2 calls in one run, which were made"])
    );
    let answer = python(&mut client, often);
    assert_eq!(
        answer["data"],
        json!([1, "the rule `few` (`policies[0]`) allows 3 calls in a day, which were made"])
    );
    let answer = python(&mut serve(&project), often);
    assert_eq!(answer["data"][0], 0, "{answer}");
    let explained = project
        .run(&["policy", "check", "shop.get_item", "--json", "{\"id\": \"1\"}"])
        .json();
    assert_eq!(
        (&explained["decision"], &explained["rule"], &explained["note"]),
        (&json!("deny"), &json!("few"), &json!("its budget of 3 is used up"))
    );
    let day = json!({"per": "day", "limit": 3, "used": 3});
    assert!(explained["budgets"].as_array().unwrap().contains(&day), "{explained}");
    assert_eq!(explained["arguments"], json!({"id": "1"}));
    let create = "result = create_item(body={'name': 'a'})";
    assert_eq!(python(&mut client, create)["success"], true);
    denied(&python(&mut serve(&project), create), "1 call in a minute");
    assert_eq!(api.requests().len(), 4);
}

#[test]
fn a_check_explains_and_calls_nothing() {
    let api = FakeApi::start();
    let rules = "policies:\n\
        - {name: ids, function: get_item, when: {/id: {matches: \"x*\"}}, decide: deny}\n\
        - {name: people, asker: person, decide: allow}\n\
        - {name: friends, client: friend*, decide: ask}\n";
    let project = project(&api, rules);
    let check = |words: &[&str]| project.run(&[&["policy", "check"], words].concat());
    let explained = check(&["shop.get_item", "--json", r#"{"id": "y"}"#, "--client", "friendly"]).json();
    assert_eq!(
        (&explained["decision"], &explained["rule"]),
        (&json!("ask"), &json!("friends")),
        "{explained}"
    );
    assert_eq!(
        explained["passed"],
        json!([
            {"rule": "ids", "decide": "deny", "reason": "`/id` matches \"x*\" does not hold of \"y\""},
            {"rule": "people", "decide": "allow", "reason": "`asker` is `model`"},
        ])
    );
    let ended = check(&["shop.get_item", "--json", r#"{"id": "xy"}"#]);
    assert_eq!((ended.code, &ended.json()["decision"]), (0, &json!("deny")));
    let explained = check(&["shop:DELETE /items/{id}", "--json", r#"{"id": "1"}"#]).json();
    assert_eq!((&explained["decision"], &explained["rule"]), (&json!("ask"), &json!("default")));
    assert!(
        explained["note"]
            .as_str()
            .unwrap()
            .contains("- {server: shop, function: delete_item, decide: allow}"),
        "{explained}"
    );
    let explained = check(&["shop.delete_item", "--json", r#"{"id": "1"}"#, "--asker", "person"]).json();
    assert_eq!(explained["rule"], "people");
    let ended = check(&["time.drop_all"]);
    assert!(
        ended.out.contains("default decides: ask") && ended.out.contains("ids (deny) does not fit"),
        "{ended:?}"
    );
    assert_eq!(check(&["shop.get_item", "--json", "{}"]).error()["type"], "argument");
    let listed = project.run(&["policy", "list", "--json"]).json();
    assert_eq!(listed["rules"][0]["applies_to"], "function `get_item`, `/id` matches \"x*\"");
    let shown = project.run(&["config", "show"]).out;
    assert!(shown.contains("policies.0.when./id.matches"), "{shown}");
    assert!(api.requests().is_empty());
}

#[test]
fn read_only_and_allowed_tools_hold_for_all() {
    let api = FakeApi::start();
    let project = project(&api, "allowed_tools: [\"mcp__shop__*\", time.echo]\n");
    let mut client = serve(&project);
    assert_eq!(python(&mut client, "echo(a=1); get_item(id='1')")["success"], true);
    denied(&python(&mut client, "drop_all()"), "not among the allowed tools");
    denied(&typescript(&mut client, "await time_.seen()"), "not among the allowed tools");
    let only_reading = project
        .with("MCE_READ_ONLY", "true")
        .with("MCE_ALLOWED_DOMAINS", "localhost,127.0.0.1");
    let mut client = serve(&only_reading);
    let call = "from mce import call_function\nresult = call_function('shop:POST /items', {'body': {'name': 'a'}})";
    let answer = client.run(call);
    assert_eq!(answer["error"]["type"], "policy", "{answer}");
    assert!(answer["error"]["message"].as_str().unwrap().contains("read-only"), "{answer}");
    let fetch = |method: &str| {
        format!(
            "from mce import fetch\nresult = fetch('{}/x', method='{method}').status",
            api.origin()
        )
    };
    assert_eq!(client.run(&fetch("GET"))["data"], 200);
    denied(&client.run(&fetch("POST")), "everything is read-only");
    assert!(api.requests().iter().all(|request| request.method == "GET"));
}

#[test]
fn what_a_program_would_fetch_is_explained() {
    let api = FakeApi::start();
    let rules = "allowed_domains: [127.0.0.1]\npolicies:\n\
        - {name: no posts, function: mce.fetch, when: {/method: POST}, decide: deny}\n\
        - {name: few, server: mce, effect: read, decide: allow, budget: {per_day: 5}}\n";
    let project = project(&api, rules);
    let check = |name: &str, arguments: &Value| {
        let ended = project.run(&["policy", "check", name, "--json", &arguments.to_string()]);
        assert_eq!(ended.code, 0, "{ended:?}");
        let explained = ended.json();
        (explained["decision"].clone(), explained["rule"].clone(), explained)
    };
    let url = format!("{}/x", api.origin());
    let (decision, rule, explained) = check("mce.fetch", &json!({"url": url}));
    assert_eq!((decision, rule), (json!("allow"), json!("few")));
    assert_eq!(explained["passed"][0]["rule"], "no posts");
    assert_eq!(explained["arguments"]["url"], json!(url));
    assert_eq!(explained["budgets"], json!([{"per": "day", "limit": 5, "used": 0}]));
    let (decision, rule, _) = check(
        "fetch",
        &json!({"url": url, "method": "post", "headers": {"X-A": "1"}, "body": "b"}),
    );
    assert_eq!((decision, rule), (json!("deny"), json!("no posts")));
    let (decision, rule, _) = check("mce.fetch", &json!({"url": url, "method": "DELETE"}));
    assert_eq!((decision, rule), (json!("ask"), json!("default")));
    let (decision, rule, explained) = check("mce.fetch", &json!({"url": "https://else.example/"}));
    assert_eq!((decision, rule), (json!("deny"), json!("allowed_domains")));
    assert!(explained["note"].as_str().unwrap().contains("`else.example`"), "{explained}");
    for wrong in [r#"{"uri": "https://a.example"}"#, r#"{"url": "a.example"}"#] {
        let ended = project.run(&["policy", "check", "mce.fetch", "--json", wrong]);
        assert_eq!(ended.error()["type"], "argument", "{ended:?}");
    }
    let read_only = project.with("MCE_READ_ONLY", "true");
    let arguments = json!({"url": url, "method": "PUT"}).to_string();
    let explained = read_only.run(&["policy", "check", "mce.fetch", "--json", &arguments]).json();
    assert_eq!((&explained["decision"], &explained["rule"]), (&json!("deny"), &json!("read_only")));
    assert!(api.requests().is_empty());
}

#[test]
fn rules_hold_for_what_programs_fetch() {
    let api = FakeApi::start();
    let rules = format!(
        "allowed_domains: [127.0.0.1]\npolicies:\n- {{name: no posts, function: \"POST {}/*\", decide: deny}}\n",
        api.origin()
    );
    let project = project(&api, &rules);
    let mut client = serve(&project);
    let fetch = |method: &str| {
        format!(
            "from mce import fetch\nresult = fetch('{}/x', method='{method}').status",
            api.origin()
        )
    };
    denied(&client.run(&fetch("POST")), "no posts");
    assert_eq!(client.run(&fetch("DELETE"))["error"]["type"], "approval");
    assert_eq!(client.run(&fetch("PUT"))["data"], 200);
    assert_eq!(api.requests().len(), 1);
}

#[test]
fn only_allowed_projects_are_served() {
    let api = FakeApi::start();
    let project = project(&api, "").with("ALLOWED_PROJECTS", "/nowhere/at/all:/nor/here");
    let mut client = serve(&project);
    denied(&client.run("result = 1"), "not among the allowed ones");
    assert_eq!(
        project.run(&["call", "shop.get_item", "--json", r#"{"id": "1"}"#]).error()["type"],
        "policy"
    );
    let own = project.path().to_str().unwrap().to_owned();
    let project = project.with("ALLOWED_PROJECTS", &format!("/nowhere:{own}"));
    assert_eq!(serve(&project).run("result = 1")["data"], 1);
    assert!(api.requests().is_empty());
}

#[test]
fn wrong_rules_are_errors_that_say_where() {
    let project = Project::empty();
    for (text, said) in [
        ("policies:\n- {server: shop}", "mce.yaml:2: policies.0: `decide` is missing"),
        (
            "policies:\n- {functon: a, decide: deny}",
            "policies.0.functon: expected one of `asker`",
        ),
        ("policies:\n- {functon: a, decide: deny}", "did you mean `function`?"),
        ("policies:\n- {decide: denny}", "did you mean `deny`?"),
        (
            "policies:\n- {decide: ask, budget: {per_day: 1}}",
            "a `budget` only beside `decide: allow`",
        ),
        ("policies:\n- {decide: deny, when: {amount: 1}}", "such as `/amount`"),
        ("policies:\n- {decide: deny, when: {/a: {greater: 1}}}", "expected one of `equals`"),
        (
            "policies:\n- {decide: deny, when: {/a: {at_most: \"1\"}}}",
            "a number without quotes",
        ),
        ("policies:\n- {decide: deny, effect: wirte}", "did you mean `write`?"),
        (
            "policies:\n- {decide: deny, name: a}\n- {decide: deny, name: a}",
            "a name that no other rule has",
        ),
        ("policies:\n- {decide: deny, server: []}", "an empty list"),
        ("policys:\n- {decide: deny}", "`policies`, a list of rules"),
    ] {
        project.write("mce.yaml", text);
        let ended = project.run(&["policy", "list", "--json"]);
        let error = ended.error();
        assert_eq!(error["type"], "config", "{text} {error}");
        assert!(error["message"].as_str().unwrap().contains(said), "{text}: {error}");
    }
}
