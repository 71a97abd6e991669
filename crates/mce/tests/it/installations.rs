//! Variables of existing installations: each has its effect, or a warning that says that it has none.

use std::collections::BTreeSet;
use std::net::TcpListener;
use std::time::{Duration, Instant};

use mce_test::{FakeAnswer, FakeApi};
use serde_json::{Value, json};

use crate::client::Client;
use crate::project::{Project, shop_document};
use crate::serve::children_of;

const VERSION: &str = "2025-11-25";
/// No change takes longer, or the test has failed.
const PATIENCE: Duration = Duration::from_mins(1);

/// All of them; `SHOP` stands for the name of a server.
const VARIABLES: [&str; 30] = [
    "ALLOWED_DOMAINS",
    "CACHE_DB_PATH",
    "CACHE_ENABLED",
    "CACHE_MAX_ENTRIES",
    "CACHE_TTL_SECONDS",
    "COMPILED_OUTPUT_DIR",
    "COMPILE_ON_STARTUP",
    "DEBUG",
    "DOCKER_HOST",
    "DOCKER_IMAGE",
    "ENABLE_ADDITIONAL_TOOLS",
    "EXECUTION_TIMEOUT_SECONDS",
    "HOST",
    "LINT_ENABLED",
    "LLM_API_KEY",
    "LLM_ENHANCE",
    "LLM_MODEL",
    "LOG_LEVEL",
    "MAX_CODE_SIZE_BYTES",
    "MAX_OUTPUT_SIZE_BYTES",
    "NETWORK_MODE",
    "PORT",
    "SANDBOX_MODE",
    "SANDBOX_REQUIREMENTS_PATH",
    "SHOP_AUTH",
    "SHOP_BASE_URL",
    "SHOP_COOKIE",
    "SHOP_EXTRA_HEADERS",
    "SWAGGER_CONFIG_FILE",
    "WARM_POOL_SIZE",
];

/// What is tested here; `LINT_ENABLED` is where `ruff` is, in `commands.rs`.
#[test]
fn every_variable_has_a_test_here() {
    let tested = [
        WITHOUT_EFFECT.as_slice(),
        &OF_PROGRAMS,
        &OF_SERVERS,
        &OF_SERVING,
        &OF_KEPT_PROGRAMS,
        &["LINT_ENABLED"],
    ]
    .concat();
    assert_eq!(tested.iter().collect::<BTreeSet<_>>(), VARIABLES.iter().collect());
}

const WITHOUT_EFFECT: [&str; 8] = [
    "COMPILED_OUTPUT_DIR",
    "DOCKER_HOST",
    "DOCKER_IMAGE",
    "LLM_API_KEY",
    "LLM_ENHANCE",
    "LLM_MODEL",
    "NETWORK_MODE",
    "SANDBOX_REQUIREMENTS_PATH",
];

#[test]
fn those_that_have_no_effect_say_so() {
    let mut project = Project::empty();
    for name in WITHOUT_EFFECT {
        project = project.with(&format!("MCE_{name}"), "1");
    }
    let ended = project.run(&["functions"]);
    for name in WITHOUT_EFFECT {
        assert!(ended.err.contains(&format!("MCE_{name}: has no effect")), "{name}: {ended:?}");
    }
}

const OF_PROGRAMS: [&str; 5] = [
    "ALLOWED_DOMAINS",
    "DEBUG",
    "EXECUTION_TIMEOUT_SECONDS",
    "MAX_CODE_SIZE_BYTES",
    "MAX_OUTPUT_SIZE_BYTES",
];

#[test]
fn those_of_programs_bound_what_programs_do() {
    let api = FakeApi::start();
    let fetching = format!("from mce import fetch\nresult = fetch('{}/').status", api.origin());
    let long = "x".repeat(200);
    for (name, value, code, pointer, with, without) in [
        (
            "ALLOWED_DOMAINS",
            "127.0.0.1,b.example",
            fetching.as_str(),
            "/data",
            json!(200),
            Value::Null,
        ),
        (
            "EXECUTION_TIMEOUT_SECONDS",
            "1",
            "import time\ntime.sleep(1.5)\nresult = 1",
            "/error/type",
            json!("timeout"),
            Value::Null,
        ),
        (
            "MAX_CODE_SIZE_BYTES",
            "100",
            &format!("result = '{long}'"),
            "/error/type",
            json!("argument"),
            Value::Null,
        ),
        (
            "MAX_OUTPUT_SIZE_BYTES",
            "2000",
            "result = 'x' * 3000",
            "/error/type",
            json!("output"),
            Value::Null,
        ),
    ] {
        let ran = |project: Project| {
            project.write("p.py", code);
            let answer = project.run(&["exec", "p.py", "--json"]).json();
            answer.pointer(pointer).cloned().unwrap_or_default()
        };
        assert_eq!(ran(Project::empty().with(&format!("MCE_{name}"), value)), with, "{name}");
        assert_eq!(ran(Project::empty()), without, "without {name}");
    }
    for (value, has) in [("true", true), ("false", false)] {
        let project = Project::empty().with("MCE_DEBUG", value);
        project.write("p.py", "1 / 0");
        assert_eq!(
            project.run(&["exec", "p.py", "--json"]).json()["error"]["traceback"].is_string(),
            has
        );
    }
}

const OF_SERVERS: [&str; 5] = [
    "SHOP_AUTH",
    "SHOP_BASE_URL",
    "SHOP_COOKIE",
    "SHOP_EXTRA_HEADERS",
    "SWAGGER_CONFIG_FILE",
];

#[test]
fn those_of_servers_say_what_is_sent_and_where() {
    let api = FakeApi::start();
    api.answer_with(|_| FakeAnswer::json(200, r#"{"name":"lamp"}"#));
    let project = Project::empty()
        .with("MCE_SWAGGER_CONFIG_FILE", "elsewhere/list.yaml")
        .with("MCE_SHOP_BASE_URL", &format!("{}/v9", api.origin()))
        .with("MCE_SHOP_AUTH", "Bearer of-the-variable")
        .with("MCE_SHOP_COOKIE", "session=of-the-cookie")
        .with("MCE_SHOP_EXTRA_HEADERS", r#"{"X-Tenant": "blue"}"#);
    project.write("elsewhere/shop.json", &shop_document().to_string());
    let list = format!(
        "servers:\n  - name: shop\n    swagger_url: {}\n",
        project.file("elsewhere/shop.json").display()
    );
    project.write("elsewhere/list.yaml", &list);
    assert_eq!(project.run(&["compile"]).code, 0);
    assert_eq!(project.run(&["call", "shop.get_item", "--id", "7"]).json(), json!({"name": "lamp"}));
    let requests = api.requests();
    let header = |name: &str| requests[0].header(name).unwrap_or_default().to_owned();
    assert_eq!(requests[0].target, "/v9/items/7");
    assert_eq!(header("authorization"), "Bearer of-the-variable");
    assert_eq!(
        (header("cookie"), header("x-tenant")),
        ("session=of-the-cookie".to_owned(), "blue".to_owned())
    );
}

const OF_SERVING: [&str; 7] = [
    "COMPILE_ON_STARTUP",
    "ENABLE_ADDITIONAL_TOOLS",
    "HOST",
    "LOG_LEVEL",
    "PORT",
    "SANDBOX_MODE",
    "WARM_POOL_SIZE",
];

#[test]
fn those_of_serving_say_where_what_and_how() {
    let refused = Project::empty().with("MCE_HOST", "0.0.0.0").run(&["serve", "--transport", "http"]);
    assert!(refused.code == 1 && refused.err.contains("`0.0.0.0`"), "{refused:?}");
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let refused = Project::empty().with("MCE_PORT", &port).run(&["serve", "--transport", "http"]);
    assert!(
        refused.code == 1 && refused.err.contains(&format!("`127.0.0.1:{port}`")),
        "{refused:?}"
    );

    for (level, is_told) in [("ERROR", false), ("warning", true)] {
        let project = Project::empty().with("MCE_LOG_LEVEL", level);
        project.write("data/recipes/broken.py", "# /// mce\n");
        assert_eq!(project.run(&["recipes", "list"]).err.contains("broken.py"), is_told, "{level}");
    }

    for (value, functions) in [("false", 0), ("true", 3)] {
        let project = Project::empty().with("MCE_COMPILE_ON_STARTUP", value);
        project.write("shop.json", &shop_document().to_string());
        project.write(
            "mce.yaml",
            "servers: {shop: {openapi: ./shop.json, base_url: 'http://127.0.0.1:9'}}",
        );
        let (mut client, _) = Client::initialize(&project, VERSION);
        assert_eq!(
            client.call("list_servers", json!({})).0["servers"][0]["functions"],
            json!(functions),
            "{value}"
        );
    }
    for (value, tools) in [("false", 5), ("true", 7)] {
        let (mut client, _) = Client::initialize(&Project::empty().with("MCE_ENABLE_ADDITIONAL_TOOLS", value), VERSION);
        assert_eq!(
            client.request("tools/list", json!({}))["tools"].as_array().unwrap().len(),
            tools,
            "{value}"
        );
    }
    let processes = |mode: &str, size: &str, is_enough: &dyn Fn(usize) -> bool| {
        let project = Project::empty().with("MCE_SANDBOX_MODE", mode).with("MCE_WARM_POOL_SIZE", size);
        let (mut client, _) = Client::initialize(&project, VERSION);
        assert_eq!(client.run("result = 1")["data"], json!(1));
        let until = Instant::now() + PATIENCE;
        while !is_enough(children_of(client.process_id()).len()) {
            assert!(Instant::now() < until, "{mode} {size}: {:?}", children_of(client.process_id()));
        }
    };
    processes("cold", "2", &|count| count == 0);
    // Launchers and fork servers of both languages, and twice as many workers as were asked for.
    processes("warm", "3", &|count| count >= 10);
}

const OF_KEPT_PROGRAMS: [&str; 4] = ["CACHE_DB_PATH", "CACHE_ENABLED", "CACHE_MAX_ENTRIES", "CACHE_TTL_SECONDS"];

#[test]
fn those_of_kept_programs_say_whether_where_how_many_and_how_long() {
    let kept = |project: &Project| {
        let (mut client, _) = Client::initialize(project, VERSION);
        let ids: Vec<Value> = ["result = 1", "result = 2", "result = 3"]
            .iter()
            .map(|code| client.run(code)["cache_id"].clone())
            .collect();
        ids
    };
    let listed = |project: &Project| project.run(&["recipes", "list", "--json"]).json().as_array().unwrap().len();
    assert!(
        kept(&Project::empty().with("MCE_CACHE_ENABLED", "false"))
            .iter()
            .all(Value::is_null)
    );
    let few = Project::empty()
        .with("MCE_CACHE_MAX_ENTRIES", "2")
        .with("MCE_CACHE_DB_PATH", "own/cache.db");
    assert!(kept(&few).iter().all(Value::is_string));
    assert_eq!(listed(&few), 2);
    assert!(few.file("own/cache.db").exists());
    let short = Project::empty().with("MCE_CACHE_TTL_SECONDS", "1");
    kept(&short);
    let until = Instant::now() + PATIENCE;
    while listed(&short) > 0 {
        assert!(Instant::now() < until);
    }
    // An id that is given out is good, also for a program that was forgotten.
    let id = kept(&short).pop().unwrap();
    let (mut client, _) = Client::initialize(&short, VERSION);
    let again = client.run("result = 3");
    assert_eq!(again["cache_id"], id);
    assert_eq!(client.call("run_cached_code", json!({"cache_id": id})).0["data"], json!(3));
}
