//! Commands for people and scripts: exit codes, JSON forms, errors.

use mce_test::{FakeAnswer, FakeApi};
use serde_json::{Value, json};

use crate::project::{Ended, Project, shop_config, shop_document};

#[test]
fn a_types_name_is_told_apart_from_a_functions() {
    let api = FakeApi::start();
    let project = Project::shop(&api);
    project.write("a.py", "from shop.functions import get_item, Item\nresult = 1");
    project.write("a.ts", "import { shop } from 'mce:servers';\nexport default await shop.Item({});");
    project.write("b.py", "import shop.functions as s\ndef main():\n    return getattr(s, 'Item')");
    for (file, advice) in [
        ("a.py", "leave out its import"),
        ("a.ts", "need no import"),
        ("b.py", "leave out its import"),
    ] {
        let error = project.run(&["exec", file, "--json"]).json()["error"].clone();
        let hint = error["hint"].as_str().unwrap_or_default();
        assert!(hint.starts_with("`Item` is a type") && hint.contains(advice), "{file} {error}");
    }
    project.write(
        "c.ts",
        "import { shop } from 'mce:servers';\nconst a: Item | null = null;\nexport default a === null;",
    );
    assert_eq!(project.run(&["exec", "c.ts", "--json"]).json()["data"], true);
}

#[test]
fn options_of_every_command_may_stand_after_the_function() {
    let api = FakeApi::start();
    let project = Project::empty();
    let mut document = shop_document();
    let parameter = json!({"name": "config", "in": "query", "schema": {"type": "string"}});
    document["paths"]["/configured"]["get"] = json!({"operationId": "configured", "parameters": [parameter], "responses": {}});
    project.write("shop.json", &document.to_string());
    project.write("other/mce.yaml", &shop_config(&api, "").replace("./shop.json", "../shop.json"));
    project.write("other/.env", "SHOP_TOKEN=one-token-8842");
    project.write("two.env", "SHOP_TOKEN=two-token-8842");
    assert_eq!(project.run(&["compile", "--config", "other/mce.yaml"]).code, 0);
    let sent = |words: &[&str]| {
        let ended = project.run(&[&["call"], words].concat());
        assert_eq!(ended.code, 0, "{ended:?}");
        let request = api.take_requests().remove(0);
        (
            request.target.clone(),
            request.header("authorization").unwrap_or_default().to_owned(),
        )
    };
    let get = ["shop.get_item", "--id", "5", "--config", "other/mce.yaml"];
    assert_eq!(sent(&get), ("/v1/items/5".to_owned(), "Bearer one-token-8842".to_owned()));
    let with_variables = [&get[..], &["--env-file=two.env"]].concat();
    assert_eq!(sent(&with_variables).1, "Bearer two-token-8842");
    // The name of an argument is the argument, where the option was typed before the function.
    let both = ["--config", "other/mce.yaml", "shop.configured", "--config", "a"];
    assert_eq!(sent(&both).0, "/v1/configured?config=a");
    let ended = project.run(&["call", "shop.get_item", "--config", "none.yaml"]);
    assert!(ended.code == 1 && ended.err.contains("none.yaml"), "{ended:?}");
    let ended = project.run(&["call", "shop.get_item", "--id", "5", "--help"]);
    assert!(ended.code == 0 && ended.out.contains("Usage: mce call"), "{ended:?}");
}

#[test]
fn exit_codes_are_0_1_and_2() {
    let project = Project::empty();
    let check = |args: &[&str], code: i32| assert_eq!(project.run(args).code, code, "{args:?}");
    check(&["--version"], 0);
    check(&["--help"], 0);
    check(&[], 0);
    check(&["functions"], 0);
    check(&["call", "shop.get_item"], 1);
    check(&["exec", "no-such-file.py"], 1);
    check(&["no-such-command"], 2);
    check(&["search"], 2);
    check(&["serve", "--transport", "pigeon"], 2);
}

#[test]
fn the_version_is_that_of_the_package() {
    assert_eq!(
        Project::empty().run(&["--version"]).out.trim(),
        concat!("mce ", env!("CARGO_PKG_VERSION"))
    );
}

#[test]
fn an_env_file_may_be_named_before_or_after_the_command() {
    let api = FakeApi::start();
    let project = Project::empty();
    project.write("shop.json", &shop_document().to_string());
    project.write("mce.yaml", &shop_config(&api, ""));
    project.write("production.env", "SHOP_TOKEN=from-the-file-31\n");
    for args in [
        ["--env-file", "production.env", "compile"],
        ["compile", "--env-file", "production.env"],
    ] {
        let ended = project.run(&args);
        assert_eq!(ended.code, 0, "{ended:?}");
    }
    assert_eq!(
        project
            .run(&["--env-file", "production.env", "call", "shop.get_item", "--id", "5"])
            .code,
        0
    );
    assert_eq!(api.requests()[0].header("authorization"), Some("Bearer from-the-file-31"));
    assert_eq!(project.run(&["--env-file", "missing.env", "compile"]).code, 1);
}

#[test]
fn an_undefined_variable_is_told_before_anything_is_sent() {
    let api = FakeApi::start();
    let project = Project::empty();
    project.write("shop.json", &shop_document().to_string());
    project.write("mce.yaml", &shop_config(&api, ""));
    let ended = project.run(&["compile", "--json"]);
    assert_eq!(ended.code, 1);
    let error = ended.error();
    let told = error.to_string();
    for part in ["SHOP_TOKEN", "mce.yaml", "servers.shop.auth.value"] {
        assert!(told.contains(part), "{told}");
    }
    assert_eq!(project.run(&["call", "shop.get_item", "--id", "5"]).code, 1);
    assert_eq!(api.requests(), []);
}

#[test]
fn shown_values_have_sources_and_no_secrets() {
    let api = FakeApi::start();
    let project = Project::shop(&api).with("MCE_EXECUTION_TIMEOUT_SECONDS", "7");
    let ended = project.run(&["config", "show", "--json"]);
    assert!(!ended.out.contains("shop-token-8842"));
    let shown = ended.json();
    let find = |key: &str| {
        shown
            .as_array()
            .unwrap()
            .iter()
            .find(|one| one["key"] == key)
            .cloned()
            .unwrap_or_default()
    };
    assert_eq!(
        find("execution_timeout_seconds")["source"],
        "environment MCE_EXECUTION_TIMEOUT_SECONDS"
    );
    assert_eq!(find("execution_timeout_seconds")["value"], "7");
    let base_url = find("servers.shop.base_url");
    assert!(
        base_url["source"].as_str().unwrap().ends_with("mce.yaml: servers.shop.base_url"),
        "{base_url}"
    );
}

#[test]
fn a_call_sends_what_the_document_says() {
    let api = FakeApi::start();
    let project = Project::shop(&api);
    api.answer_next(FakeAnswer::json(200, r#"{"id":"a/b","name":"one","big":9007199254740993}"#));
    let ended = project.run(&["call", "shop.get_item", "--json", r#"{"id":"a/b","fields":["x","y z"]}"#]);
    assert_eq!(ended.out.trim(), r#"{"id":"a/b","name":"one","big":9007199254740993}"#);
    let request = &api.take_requests()[0];
    assert_eq!(
        (request.method.as_str(), request.target.as_str()),
        ("GET", "/v1/items/a%2Fb?fields=x&fields=y%20z")
    );
    assert_eq!(request.header("authorization"), Some("Bearer shop-token-8842"));

    let ended = project.run(&["call", "shop:POST /items", "--body", r#"{"name":"new"}"#]);
    assert_eq!(ended.code, 0, "{ended:?}");
    assert_eq!(api.take_requests()[0].text(), r#"{"name":"new"}"#);
}

#[test]
fn a_failing_call_is_one_json_object() {
    let api = FakeApi::start();
    let project = Project::shop(&api);
    api.answer_next(FakeAnswer::json(404, r#"{"detail":"no such item"}"#));
    let ended = project.run(&["call", "shop.get_item", "--json", r#"{"id":"5"}"#]);
    assert_eq!(ended.code, 1);
    let error = ended.error();
    assert_eq!(
        (&error["type"], &error["status"], &error["body"]),
        (&json!("api"), &json!(404), &json!({"detail": "no such item"}))
    );

    let check = |function: &str, arguments: &str, kind: &str, part: &str| {
        let error = project.run(&["call", function, "--json", arguments]).error();
        assert_eq!(error["type"], kind, "{error}");
        assert!(error.to_string().contains(part), "{error}");
    };
    check(
        "shop.get_item",
        r#"{"id":"5","currencyy":"EUR"}"#,
        "argument",
        "did you mean `currency`?",
    );
    check("shop.get_item", r#"{"id":"5","currency":"USD"}"#, "argument", "NOK");
    check("shop.get_item", "{}", "argument", "id");
    check("shop.get_itm", r#"{"id":"5"}"#, "argument", "get_item");
    check("shp.get_item", r#"{"id":"5"}"#, "argument", "shop");
    assert_eq!(api.requests().len(), 1);
}

#[test]
fn functions_and_searches_have_stable_forms() {
    let api = FakeApi::start();
    let project = Project::shop(&api);
    let functions = project.run(&["functions", "shop", "--json"]).json();
    let item = json!({"server": "shop", "function": "get_item", "operation": "GET /items/{id}", "effect": "read",
        "python": "get_item", "typescript": "getItem"});
    assert!(functions.as_array().unwrap().contains(&item), "{functions}");
    let found = project.run(&["search", "create", "item", "--json"]).json();
    assert_eq!(found[0]["function"], "create_item", "{found}");
    assert_eq!(found[0]["operation"], "POST /items");
    assert!(
        found[0]["score"].is_number() && found[0]["signature"].as_str().unwrap().contains("create_item("),
        "{found}"
    );
    let shown = project.run(&["functions", "--show", "shop.create_item"]).out;
    assert!(
        shown.contains("from shop.functions import create_item") && shown.contains("tokens"),
        "{shown}"
    );
}

#[test]
fn programs_run_from_files_and_standard_input() {
    let api = FakeApi::start();
    let project = Project::shop(&api);
    project.write(
        "p.py",
        "from shop.functions import get_item\nid = '1'\nprint('hello')\nresult = [id, get_item(id=id)]\n",
    );
    let answer = project.run(&["exec", "p.py", "--json"]).json();
    assert_eq!(
        (&answer["success"], &answer["data"], &answer["logs"]),
        (&json!(true), &json!(["1", {}]), &json!("hello\n")),
        "{answer}"
    );
    assert_eq!(answer["calls"][0]["function"], "shop.get_item");
    let answer = project.run(&["exec", "p.py", "--json", "--param", "id=\"2\""]).json();
    assert_eq!(answer["data"], json!(["2", {}]), "{answer}");
    project.write("bad.py", "x = 1\nraise ValueError('no')\n");
    let ended = project.run(&["exec", "bad.py", "--json"]);
    let error = &ended.json()["error"];
    assert_eq!(
        (ended.code, &error["type"], &error["line"]),
        (1, &json!("exception"), &json!(2)),
        "{error}"
    );
}

#[test]
fn the_doctor_says_what_is_there() {
    let api = FakeApi::start();
    let project = Project::shop(&api);
    let ended = project.run(&["doctor", "--json"]);
    let report = ended.json();
    assert_eq!((ended.code, &report["ok"]), (0, &json!(true)), "{report}");
    let names: Vec<_> = report["checks"]
        .as_array()
        .unwrap()
        .iter()
        .map(|check| check["name"].as_str().unwrap())
        .collect();
    for name in [
        "configuration",
        "catalog",
        "python",
        "jail",
        "layer namespaces",
        "layer landlock",
        "layer seccomp",
        "layer rlimits",
    ] {
        assert!(names.contains(&name), "{names:?}");
    }
    let broken = Project::shop(&api).with("MCE_PYTHON", "/no/such/python");
    let ended = broken.run(&["doctor", "--json"]);
    let python = ended.json()["checks"]
        .as_array()
        .unwrap()
        .iter()
        .find(|check| check["name"] == "python")
        .cloned()
        .unwrap_or(Value::Null);
    assert_eq!((ended.code, &python["ok"]), (1, &json!(false)), "{python}");
}

#[test]
fn numbers_are_sent_as_they_were_written() {
    let api = FakeApi::start();
    let project = Project::shop(&api);
    let big = "12345678901234567890123";
    for arguments in [
        ["--json", &format!(r#"{{"body":{{"name":"a","price":{big}}}}}"#)],
        ["--body", &format!(r#"{{"name":"a","price":{big}}}"#)],
    ] {
        assert_eq!(project.run(&["call", "shop.create_item", arguments[0], arguments[1]]).code, 0);
        assert_eq!(api.take_requests()[0].text(), format!(r#"{{"name":"a","price":{big}}}"#));
    }
}

#[test]
fn standard_error_of_a_machine_readable_command_is_one_json_object() {
    let api = FakeApi::start();
    let project = Project::shop(&api);
    project.write("mce.yaml", &format!("log_levle: info\n{}", shop_config(&api, "")));
    let ended = project.run(&["search", "--json", "--server", "nosuch", "item"]);
    assert_eq!(ended.code, 1);
    assert!(serde_json::from_str::<Value>(ended.err.trim()).is_ok(), "{}", ended.err);
    assert!(project.run(&["doctor"]).out.contains("log_levle"));
}

#[test]
fn servers_of_other_programs_are_told_and_keep_nothing_from_working() {
    let api = FakeApi::start();
    let project = Project::shop(&api);
    project.write(
        ".mcp.json",
        r#"{"mcpServers": {"files": {"command": "/no/such/program", "args": ["--token", "hunter2"]}, "gateway": {"command": "mce", "args": ["serve"]}}}"#,
    );
    project.write(
        "home/.cursor/mcp.json",
        r#"{"mcpServers": {"far": {"url": "https://mcp.example.com/mcp", "headers": {"Authorization": "${NOBODY}"}}}}"#,
    );
    project.write("home/.gemini/settings.json", "{broken");
    let ended = project.run(&["config", "show"]);
    for part in [
        "mcp stdio, found in the configuration of claude-code",
        ".mcp.json: mcpServers.files)",
        "mcp http, found in the configuration of cursor",
        "home/.cursor/mcp.json: mcpServers.far)",
    ] {
        assert!(ended.out.contains(part), "{part}: {}", ended.out);
    }
    for part in [
        "home/.gemini/settings.json:1: the text is not valid JSON",
        "nothing defines `${NOBODY}`",
        "mcpServers.gateway: it starts this program itself",
    ] {
        assert!(ended.err.contains(part), "{part}: {}", ended.err);
    }
    assert!(!format!("{}{}", ended.out, ended.err).contains("hunter2"));
    let compiled = project.run(&["compile", "--json"]);
    let servers = compiled.json()["servers"].clone();
    assert_eq!((compiled.code, servers.as_array().unwrap().len()), (0, 3), "{servers}");
    let doctor = project.run(&["doctor", "--json"]).json();
    assert_eq!(doctor["ok"], json!(true), "{doctor}");
    assert!(doctor.to_string().contains("`files` from "), "{doctor}");
    assert!(doctor.to_string().contains("`files` cannot be started"), "{doctor}");
    assert_eq!(project.run(&["call", "shop.get_item", "--id", "5"]).code, 0);
    let without = project.with("MCE_DISCOVER", "false").run(&["config", "show"]);
    assert!(!without.out.contains("servers.files.") && without.err.is_empty(), "{}", without.err);
}

/// `ruff` is in the virtual environment that `scripts/test` makes.
#[test]
fn programs_are_read_by_ruff_first_where_that_is_wanted() {
    let bin = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/test-python/bin");
    if !bin.join("ruff").exists() {
        eprintln!("NOT RUN: no `ruff` in {}; `scripts/test` installs it", bin.display());
        return;
    }
    let project = Project::empty();
    let python = project.command(&[]);
    let inherited = python
        .get_envs()
        .find(|(name, _)| *name == "PATH")
        .and_then(|(_, value)| value?.to_str())
        .unwrap();
    let path = format!("{}:{inherited}", bin.canonicalize().unwrap().display());
    project.write("wrong.py", "import os\nx = 1\nresult = y + f'nothing'\n");
    project.write("right.py", "import asyncio\nawait asyncio.sleep(0)\nresult = 'a line that is long: ' + 'x' * 100  # and a comment that makes it longer still\n");
    let run = |file: &str, is_enabled: &str| {
        let mut command = project.command(&["exec", file, "--json"]);
        Ended::of(command.env("PATH", &path).env("MCE_LINT_ENABLED", is_enabled).output().unwrap())
    };
    let ended = run("wrong.py", "true");
    let error = ended.json()["error"].clone();
    assert_eq!(
        (ended.code, &error["type"], &error["line"]),
        (1, &json!("syntax"), &json!(1)),
        "{ended:?}"
    );
    let messages: Vec<_> = error["also"]
        .as_array()
        .unwrap()
        .iter()
        .map(|found| found["message"].to_string())
        .collect();
    assert!(
        error["message"].as_str().unwrap().contains("F401") && messages.iter().any(|message| message.contains("F821")),
        "{error}"
    );
    assert_eq!(run("right.py", "true").code, 0);
    // Also what was refused before it started is on record.
    let ended: Vec<Value> = std::fs::read_to_string(project.file("data/audit.jsonl"))
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap())
        .filter(|record| record["event"] == "ended")
        .collect();
    assert_eq!(
        (&ended[0]["error"]["type"], &ended[1]["ok"]),
        (&json!("syntax"), &json!(true)),
        "{ended:?}"
    );
    assert!(
        run("wrong.py", "false").json()["error"]["message"]
            .as_str()
            .unwrap()
            .starts_with("NameError")
    );
}
