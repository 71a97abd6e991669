//! `mce serve` over stdio: transcripts, limits on tokens, ends without leftovers.

use mce_test::{FakeAnswer, FakeApi};
use serde_json::{Value, json};

use crate::client::Client;
use crate::project::{Project, shop_document};

const VERSIONS: [&str; 2] = ["2025-06-18", "2025-11-25"];
const STATELESS: &str = "2026-07-28";

/// A snapshot without what differs from run to run.
macro_rules! snapshot {
    ($name:expr, $value:expr) => {
        insta::with_settings!({filters => vec![
            (r#""(execution_time_ms|ms)": \d+"#, r#""$1": 0"#),
            (r#"\\"(execution_time_ms|ms)\\":\d+"#, r#"\"$1\":0"#),
            (r"\b[0-9a-f]{16,64}\b", "[ID]"),
        ]}, { insta::assert_json_snapshot!($name, $value) })
    };
}

pub(crate) fn tokens(text: &str) -> usize {
    tiktoken_rs::o200k_base_singleton().encode_ordinary(text).len()
}

#[test]
fn definitions_and_instructions_stay_within_their_tokens() {
    let project = Project::shop(&FakeApi::start());
    let (mut client, hello) = Client::initialize(&project, "2025-11-25");
    let tools = client.request("tools/list", json!({}));
    let (definitions, instructions) = (tokens(&tools.to_string()), tokens(hello["instructions"].as_str().unwrap()));
    assert!(definitions <= 600, "{definitions} tokens of tools");
    assert!(instructions <= 200, "{instructions} tokens of instructions");
    snapshot!("tools", tools);

    // As many servers as one likes.
    project.write(
        "mce.yaml",
        &format!(
            "servers:\n{}",
            (0..300)
                .map(|number| format!("  server_{number}: {{openapi: ./shop.json}}\n"))
                .collect::<Vec<_>>()
                .concat()
        ),
    );
    let (mut client, _) = Client::initialize(&project, "2025-11-25");
    let definitions = tokens(&client.request("tools/list", json!({})).to_string());
    assert!(definitions <= 600, "{definitions} tokens of tools");
}

#[test]
fn every_version_is_spoken() {
    let project = Project::shop(&FakeApi::start());
    for version in VERSIONS {
        let (mut client, hello) = Client::initialize(&project, version);
        assert_eq!(hello["protocolVersion"], version);
        assert_eq!(client.run("result = 1 + 1")["data"], json!(2));
        assert_eq!(client.close(), Some(0));
    }
    let mut client = Client::stateless(&project, STATELESS);
    let found = client.request("server/discover", json!({}));
    assert!(
        found["supportedVersions"].as_array().unwrap().contains(&json!(STATELESS)),
        "{found}"
    );
    assert_eq!(client.run("result = 1 + 1")["data"], json!(2));
    let listed = client.request("tools/list", json!({}));
    assert!(listed["ttlMs"].is_number() && listed["cacheScope"].is_string(), "{listed}");
    assert_eq!(client.close(), Some(0));
}

#[test]
fn a_conversation_is_as_written_down() {
    let api = FakeApi::start();
    let project = Project::shop(&api);
    let (mut client, _) = Client::initialize(&project, "2025-11-25");
    let mut talk = Vec::new();
    let mut ask = |client: &mut Client, tool: &str, arguments: Value| {
        let (mut answer, is_error) = client.call(tool, arguments.clone());
        // What is installed differs from machine to machine.
        answer.as_object_mut().unwrap().remove("sandbox_libraries");
        talk.push(json!({"tool": tool, "arguments": arguments, "answer": answer, "isError": is_error}));
        answer
    };
    ask(&mut client, "list_servers", json!({}));
    ask(&mut client, "search_functions", json!({"query": "create an item"}));
    let named = |name: &str| json!({"server_name": "shop", "function_name": name});
    ask(
        &mut client,
        "get_functions",
        json!({"functions": [named("create_item"), named("get_itm")]}),
    );
    ask(
        &mut client,
        "get_functions",
        json!({"functions": [named("getItem")], "language": "typescript"}),
    );
    api.answer_next(FakeAnswer::json(201, r#"{"id":"i9","name":"chair"}"#));
    let code = "from shop.functions import create_item\nname = 'chair'\nprint('creating', name)\nresult = create_item(body={'name': name})['id']\n";
    let recipe = ask(&mut client, "execute_code", json!({"code": code, "description": "create an item"}))["cache_id"].clone();
    api.answer_next(FakeAnswer::json(201, r#"{"id":"i10","name":"table"}"#));
    ask(
        &mut client,
        "run_cached_code",
        json!({"cache_id": recipe, "params": {"name": "table"}}),
    );
    ask(
        &mut client,
        "run_cached_code",
        json!({"cache_id": recipe, "params": {"nam": "table"}}),
    );
    ask(&mut client, "run_cached_code", json!({"cache_id": "nothing-of-this-name"}));
    api.answer_next(FakeAnswer::json(409, r#"{"detail":"name is taken"}"#));
    ask(&mut client, "execute_code", json!({"code": code, "description": "create an item"}));
    ask(
        &mut client,
        "execute_code",
        json!({"code": "from shop.functions import get_item\nresult = get_item(idd='1')\n", "description": "a wrong argument"}),
    );
    ask(
        &mut client,
        "execute_code",
        json!({"code": "def main():\n    return 1 +\n", "description": "a syntax error"}),
    );
    ask(
        &mut client,
        "execute_code",
        json!({"code": "x = {}\nx['a']['b']\n", "description": "an exception"}),
    );
    ask(&mut client, "execute_code", json!({"kode": "1"}));
    snapshot!("conversation", talk);
    let bodies: Vec<_> = api.requests().iter().map(mce_test::ReceivedRequest::text).collect();
    assert_eq!(bodies, [r#"{"name":"chair"}"#, r#"{"name":"table"}"#, r#"{"name":"chair"}"#]);
}

#[test]
fn promoted_functions_guides_and_prompts_are_served() {
    let api = FakeApi::start();
    let project = Project::shop(&api).with("MCE_ENABLE_ADDITIONAL_TOOLS", "true");
    project.write("guide.md", "# Shop\nPrices are in euros.\n");
    let config = crate::project::shop_config(
        &api,
        "    skills_url: ./guide.md\n    top_level_functions: [getItem, no_such_function]\n",
    );
    project.write("mce.yaml", &config);
    let (mut client, hello) = Client::initialize(&project, "2025-11-25");
    let instructions = hello["instructions"].as_str().unwrap();
    assert!(
        instructions.contains("Prices are in euros.") && instructions.contains("get_item"),
        "{instructions}"
    );
    let tools = client.request("tools/list", json!({}));
    let names: Vec<_> = tools["tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| tool["name"].as_str().unwrap())
        .collect();
    assert_eq!(
        names,
        [
            "list_servers",
            "search_functions",
            "get_functions",
            "execute_code",
            "run_cached_code",
            "list_skills",
            "get_server_skills",
            "get_item"
        ]
    );
    api.answer_next(FakeAnswer::json(200, r#"{"id":"7","name":"lamp"}"#));
    assert_eq!(client.call("get_item", json!({"id": "7"})).0, json!({"id": "7", "name": "lamp"}));
    assert_eq!(
        client.call("list_skills", json!({})).0,
        json!({"skills": [{"server": "shop", "has_skills": true}]})
    );
    assert!(
        client.call("get_server_skills", json!({"server_name": "shop"})).0["skills"]
            .as_str()
            .unwrap()
            .contains("euros")
    );
    let guide = client.request("resources/read", json!({"uri": "skills://shop"}));
    assert_eq!(guide["contents"][0]["text"], "# Shop\nPrices are in euros.\n");
    let prompt = client.request("prompts/get", json!({"name": "reusable_code_guide"}));
    assert!(
        prompt["messages"][0]["content"]["text"]
            .as_str()
            .unwrap()
            .contains("run_cached_code"),
        "{prompt}"
    );
}

#[test]
fn a_server_that_was_never_compiled_is_compiled_in_the_background() {
    let api = FakeApi::start();
    let project = Project::empty().with("SHOP_TOKEN", "x-token-1");
    project.write("shop.json", &shop_document().to_string());
    project.write("mce.yaml", &crate::project::shop_config(&api, ""));
    let (mut client, _) = Client::initialize(&project, "2025-11-25");
    assert_eq!(client.call("list_servers", json!({})).0["servers"][0]["functions"], json!(3));
}

#[test]
fn a_running_server_sees_what_clean_and_compile_do() {
    let project = Project::shop(&FakeApi::start());
    let (mut client, _) = Client::initialize(&project, "2025-11-25");
    assert_eq!(client.call("list_servers", json!({})).0["servers"][0]["functions"], json!(3));
    assert_eq!(project.run(&["clean"]).code, 0);
    assert_eq!(client.call("list_servers", json!({})).0["servers"][0]["functions"], json!(0));
    assert_eq!(project.run(&["compile"]).code, 0);
    assert_eq!(client.call("list_servers", json!({})).0["servers"][0]["functions"], json!(3));
}

#[test]
fn the_end_of_stdin_ends_everything() {
    let project = Project::shop(&FakeApi::start());
    let (mut client, _) = Client::initialize(&project, "2025-11-25");
    assert_eq!(client.run("result = 1")["data"], json!(1));
    let children = children_of(client.process_id());
    assert!(!children.is_empty());
    // A run that is under way must not keep it.
    client.ask(
        "tools/call",
        json!({"name": "execute_code", "arguments": {"code": "while True: pass", "description": "endless"}}),
    );
    assert_eq!(client.close(), Some(0));
    let alive: Vec<_> = children.into_iter().filter(|child| is_running(*child)).collect();
    assert_eq!(alive, Vec::<u32>::new());
}

#[test]
fn limits_have_their_own_errors_and_the_next_run_works() {
    let project = Project::shop(&FakeApi::start()).with("MCE_EXECUTION_TIMEOUT_SECONDS", "1");
    let (mut client, _) = Client::initialize(&project, "2025-11-25");
    let mut check = |code: &str, kind: &str| {
        let answer = client.run(code);
        assert_eq!(answer["error"]["type"], kind, "{answer}");
        assert_eq!(client.run("result = 1")["data"], json!(1), "after {kind}");
    };
    check("print('before', flush=True)\nwhile True: pass", "timeout");
    check("x = bytearray(10**9)", "memory");
    check("while True: print('x' * 1000)", "output");
    check("result = 'x' * 2_000_000", "output");
    check(&format!("x = '{}'", "x".repeat(70_000)), "argument");
    check("import os\nos._exit(3)", "exception");
}

#[test]
fn a_call_under_way_when_the_run_ends_is_told() {
    let api = FakeApi::start();
    let project = Project::shop(&api).with("MCE_EXECUTION_TIMEOUT_SECONDS", "1");
    let (mut client, _) = Client::initialize(&project, "2025-11-25");
    api.answer_next(FakeAnswer::silence());
    let answer = client.run("from shop.functions import create_item\ncreate_item(body={'name': 'chair'})\n");
    assert_eq!(answer["error"]["type"], "timeout", "{answer}");
    let call = &answer["calls"][0];
    assert_eq!(
        (&call["function"], &call["count"], &call["failed"], &call["effect"]),
        (&json!("shop.create_item"), &json!(1), &json!(1), &json!("write")),
        "{answer}"
    );
    // What it did is not known.
    assert_eq!(call["unfinished"], json!(1), "{answer}");
    assert_eq!(api.requests().len(), 1);
}

#[test]
fn cancelling_a_request_ends_its_run() {
    let api = FakeApi::start();
    let project = Project::shop(&api).with("MCE_MAX_CONCURRENT_RUNS", "1");
    let (mut client, _) = Client::initialize(&project, "2025-11-25");
    let id = client.ask(
        "tools/call",
        json!({"name": "execute_code", "arguments": {"code": "while True: pass", "description": "endless"}}),
    );
    client.send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id, "reason": "test"}}));
    // With one place only, the next run could not start if the first had not ended.
    assert_eq!(client.run("result = 1")["data"], json!(1));
}

#[test]
fn a_write_in_flight_that_nobody_waits_for_any_more_ends_and_is_reported() {
    for (language, code) in [
        (
            "python",
            "from shop.functions import create_item\ncreate_item(body={'name': 'chair'})\n",
        ),
        ("typescript", "await shop.createItem({ body: { name: 'chair' } })"),
    ] {
        for has_gone in [false, true] {
            let api = FakeApi::start();
            let project = Project::shop(&api).with("MCE_MAX_CONCURRENT_RUNS", "1");
            let (mut client, _) = Client::initialize(&project, "2025-11-25");
            api.answer_next(FakeAnswer::silence());
            let arguments = json!({"code": code, "description": "writes", "language": language});
            let id = client.ask("tools/call", json!({"name": "execute_code", "arguments": arguments}));
            while api.requests().is_empty() {
                std::thread::yield_now();
            }
            if has_gone {
                assert_eq!(client.close(), Some(0));
            } else {
                client.send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}}));
                // With one place only, this starts when the first run has ended.
                assert_eq!(client.run("result = 1")["data"], json!(1));
            }
            let audit = std::fs::read_to_string(project.file("data").join("audit.jsonl")).unwrap();
            let mut records = audit.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
            let outcome = records.find(|record| record["event"] == "outcome").unwrap();
            assert_eq!(
                (&outcome["event"], &outcome["ok"], &outcome["error"]["type"]),
                (&json!("outcome"), &json!(false), &json!("cancelled")),
                "{language} {has_gone}: {audit}"
            );
            assert_eq!(api.requests().len(), 1);
        }
    }
}

#[test]
fn what_a_run_saves_a_later_one_loads_in_either_language() {
    let project = Project::shop(&FakeApi::start());
    let (mut client, _) = Client::initialize(&project, "2025-11-25");
    let saved = client.run("from mce import save\nresult = save({'n': 2**70, 'token': 'shop-token'})");
    let id = saved["data"].as_str().unwrap().to_owned();
    assert!(id.starts_with("r_") && id.len() == 34, "{saved}");
    let code = format!("import {{ load }} from 'mce';\nexport default String((await load('{id}')).n)");
    let arguments = json!({"code": code, "description": "loads", "language": "typescript"});
    let (loaded, _) = client.call("execute_code", arguments);
    assert_eq!(loaded["data"], "1180591620717411303424", "{loaded}");
    let unknown = client.run("from mce import load\nload('r_0')");
    assert_eq!(unknown["error"]["type"], "argument", "{unknown}");
    assert!(unknown["error"]["message"].as_str().unwrap().contains("has expired"), "{unknown}");
}

#[test]
fn a_program_whose_functions_have_changed_is_not_run_again() {
    let api = FakeApi::start();
    let project = Project::shop(&api);
    for (language, code) in [
        ("python", "from shop.functions import get_item\nid = '1'\nresult = get_item(id)"),
        ("typescript", "const id = '1';\nexport default await shop.getItem({ id });"),
    ] {
        project.write("shop.json", &shop_document().to_string());
        assert_eq!(project.run(&["compile"]).code, 0);
        let (mut client, _) = Client::initialize(&project, "2025-11-25");
        let arguments = json!({"code": code, "description": "gets", "language": language});
        let cache_id = client.call("execute_code", arguments).0["cache_id"].clone();
        let again = |client: &mut Client| {
            client
                .call("run_cached_code", json!({"cache_id": cache_id, "params": {"id": "2"}}))
                .0
        };
        assert_eq!(again(&mut client)["success"], true);
        let mut document = shop_document();
        document["paths"]["/items/{id}"]["get"]["parameters"][1]["required"] = json!(true);
        project.write("shop.json", &document.to_string());
        assert_eq!(project.run(&["compile"]).code, 0);
        api.take_requests();
        let refused = again(&mut client);
        let message = refused["error"]["message"].as_str().unwrap();
        assert!(
            message.starts_with("functions of this program have changed: `shop.get_item` was `"),
            "{refused}"
        );
        assert!(message.contains("currency?") || message.contains("currency: Literal"), "{refused}");
        assert!(api.take_requests().is_empty());
    }
}

#[test]
fn servers_are_told_with_the_tools_and_again_when_they_are_others() {
    let api = FakeApi::start();
    let (release, released) = std::sync::mpsc::channel::<()>();
    let released = std::sync::Mutex::new(released);
    let mut document = shop_document();
    document["info"]["title"] = json!("Things for sale");
    let text = document.to_string();
    api.answer_with(move |_| {
        released.lock().unwrap().recv().ok();
        FakeAnswer::json(200, text.clone())
    });
    let project = Project::empty();
    project.write(
        "mce.yaml",
        &format!("servers:\n  shop:\n    openapi: {}/openapi.json\n", api.origin()),
    );
    let (mut client, _) = Client::initialize(&project, "2025-11-25");
    let description = |client: &mut Client| {
        let tools = client.request("tools/list", json!({}))["tools"].clone();
        let tool = tools
            .as_array()
            .unwrap()
            .iter()
            .find(|tool| tool["name"] == "execute_code")
            .cloned();
        tool.unwrap()["description"].as_str().unwrap().to_owned()
    };
    assert!(description(&mut client).ends_with(" Servers: shop."));
    release.send(()).unwrap();
    client.notice("notifications/tools/list_changed");
    assert!(description(&mut client).ends_with(" Servers: shop (Things for sale)."));
    assert_eq!(description(&mut client), description(&mut client));
}

/// The processes below `process`; none of one that has ended by now.
pub(crate) fn children_of(process: u32) -> Vec<u32> {
    let tasks = std::fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten();
    let children: Vec<u32> = tasks
        .flatten()
        .filter_map(|task| std::fs::read_to_string(task.path().join("children")).ok())
        .flat_map(|listed| listed.split_whitespace().map(|pid| pid.parse().unwrap()).collect::<Vec<_>>())
        .collect();
    let deeper = children.iter().flat_map(|child| children_of(*child)).collect::<Vec<_>>();
    children.into_iter().chain(deeper).collect()
}

/// Neither gone nor only waiting to be reaped.
fn is_running(process: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    stat.rsplit(')')
        .next()
        .is_some_and(|rest| !rest.trim().is_empty() && !rest.trim_start().starts_with('Z'))
}

#[test]
fn a_request_with_half_a_character_is_answered() {
    let (mut client, _) = Client::initialize(&Project::empty(), "2025-11-25");
    client.send_line(
        r#"{"jsonrpc":"2.0","id":9000,"method":"tools/call","params":{"name":"execute_code","arguments":{"code":"result = '\ud83d' + '\ud83d\ude00'","description":"x"}}}"#,
    );
    let answer = client.wait(9000);
    let text = answer["content"][0]["text"].as_str().unwrap();
    assert!(text.contains("\u{fffd}\u{1f600}"), "{text}");
}

#[test]
fn an_image_in_a_value_is_a_block_of_its_own() {
    let (mut client, _) = Client::initialize(&Project::empty(), "2025-11-25");
    let code = "result = ['seen', {'type': 'image', 'data': 'AAEC', 'mimeType': 'image/png'}]";
    let result = client.request(
        "tools/call",
        json!({"name": "execute_code", "arguments": {"code": code, "description": "x"}}),
    );
    assert_eq!(
        result["content"][1],
        json!({"type": "image", "data": "AAEC", "mimeType": "image/png"})
    );
    let text = result["content"][0]["text"].as_str().unwrap();
    assert!(!text.contains("AAEC"), "{text}");
}

#[test]
fn a_line_that_is_no_json_is_answered_and_ends_nothing() {
    let project = Project::empty();
    for has_begun in [false, true] {
        let mut client = Client::start(&project);
        if has_begun {
            client.shake_hands("2025-11-25");
        }
        client.send_line("{\"jsonrpc\": \"2.0\", no json");
        let answer = client.next("no answer to a line that is no JSON");
        assert_eq!((&answer["error"]["code"], answer.get("id")), (&json!(-32700), None), "{answer}");
        if !has_begun {
            client.shake_hands("2025-11-25");
        }
        assert_eq!(client.request("ping", json!({})), json!({}));
    }
}
