//! The surfaces `code-executor`, `search` and `auto`.

use mce_test::fake_mcp_server;
use serde_json::{Value, json};

use crate::client::Client;
use crate::node_server::node_entry;
use crate::project::Project;
use crate::real_servers::installed;

/// A project with the filesystem server on a folder of its own, in which `notes.txt` lies; and that folder.
fn with_files(surface: &str) -> Option<(Project, String)> {
    let folder = installed()?;
    let project = Project::empty().with("MCE_SURFACE", surface);
    project.write("files/notes.txt", "hello");
    let root = project.file("files").canonicalize().unwrap().to_str().unwrap().to_owned();
    let entry = node_entry(&folder, "filesystem", "server-filesystem", &[&root]);
    // The server says of writing files that it destroys, and these clients can ask nobody.
    let rules = "policies:\n- {server: filesystem, function: write_file, decide: allow}\n";
    project.write("mce.yaml", &format!("servers:\n{entry}{rules}"));
    Some((project, root))
}

fn fake(surface: &str) -> Project {
    let (command, args) = fake_mcp_server(&json!({}));
    let project = Project::empty().with("MCE_SURFACE", surface);
    project.write(
        "mce.yaml",
        &format!("servers:\n  time:\n    command: {command}\n    args: {}\n", json!(args)),
    );
    project
}

/// Calls a tool of the surface `code-executor`, and holds its answer against the schema that it lists.
#[expect(clippy::needless_pass_by_value, reason = "so that tests can write `json!` in place")]
fn run(client: &mut Client, tool: &str, arguments: Value) -> Value {
    let listed = client.request("tools/list", json!({}));
    let definition = listed["tools"].as_array().unwrap().iter().find(|one| one["name"] == tool).unwrap();
    let result = client.request("tools/call", json!({"name": tool, "arguments": arguments}));
    let answer = &result["structuredContent"];
    let schema = jsonschema::validator_for(&definition["outputSchema"]).unwrap();
    let faults: Vec<_> = schema.iter_errors(answer).map(|fault| fault.to_string()).collect();
    assert!(faults.is_empty(), "{faults:?} {result}");
    if tool != "health" {
        assert_eq!(result["isError"], json!(answer["success"] == false), "{result}");
    }
    assert_eq!(
        serde_json::from_str::<Value>(result["content"][0]["text"].as_str().unwrap()).unwrap(),
        *answer
    );
    answer.clone()
}

#[test]
fn code_executor_has_the_tools_of_that_product() {
    let mut client = Client::initialize(&fake("code-executor"), "2025-06-18").0;
    let listed = client.request("tools/list", json!({}));
    let names: Vec<_> = listed["tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| tool["name"].as_str().unwrap())
        .collect();
    assert_eq!(
        names,
        [
            "run-typescript-code",
            "run-python-code",
            "executeTypescript",
            "executePython",
            "health"
        ]
    );
    let health = run(&mut client, "health", json!({}));
    assert_eq!(health["healthy"], true);
    assert_eq!(client.request("tools/call", json!({"name": "execute_code"}))["code"], -32602);
}

#[test]
fn programs_written_for_code_executor_run() {
    let Some((project, root)) = with_files("code-executor") else {
        return;
    };
    let mut client = Client::initialize(&project, "2025-11-25").0;
    let chain = format!(
        "const code = await callMCPTool('mcp__filesystem__read_text_file', {{ path: '{root}/notes.txt' }});\n\
         const text = typeof code === 'string' ? code : code.content;\n\
         const fixed = text.replace(/hello/g, 'good-bye');\n\
         await callMCPTool('mcp__filesystem__write_file', {{ path: '{root}/notes.txt', content: fixed }});\n\
         console.log('fixes applied');"
    );
    let answer = run(&mut client, "run-typescript-code", json!({"code": chain}));
    assert_eq!(
        (&answer["success"], &answer["output"]),
        (&json!(true), &json!("fixes applied\n")),
        "{answer}"
    );
    assert_eq!(
        answer["toolCallsMade"],
        json!(["mcp__filesystem__read_text_file", "mcp__filesystem__write_file"])
    );
    assert_eq!(answer["toolCallSummary"][0]["callCount"], 1);
    assert_eq!(answer["toolCallSummary"][0]["successCount"], 1);
    assert_eq!(std::fs::read_to_string(project.file("files/notes.txt")).unwrap(), "good-bye");
    let python =
        format!("data = await call_mcp_tool('mcp__filesystem__read_text_file', {{'path': '{root}/notes.txt'}})\nprint('read')\n40 + 2");
    let answer = run(&mut client, "executePython", json!({"code": python}));
    assert_eq!(answer["output"], "read\n42", "{answer}");
    // As that product's own examples have it, without `await`; and what is meant to be awaited still is.
    let call = format!("call_mcp_tool('mcp__filesystem__read_text_file', {{'path': '{root}/notes.txt'}})");
    let python = format!(
        "import asyncio\ndata = {call}\nprint(data['content'], {call}['content'], f\"{{{call}}}\")\nlater = {call}\n\
         many = [{call} for _ in range(2)]\nboth = await asyncio.gather(*many)\n{call}\n\
         (await later)['content'] + both[1]['content'] + (await {call})['content']"
    );
    let answer = run(&mut client, "run-python-code", json!({"code": python}));
    let read = "good-bye good-bye {'content': 'good-bye'}\n";
    assert_eq!(answer["output"], format!("{read}good-byegood-byegood-bye"), "{answer}");
    let missing = "await callMCPTool('mcp__filesystem__read_text_file', { path: '/nope' })";
    let answer = run(&mut client, "executeTypescript", json!({"code": missing}));
    assert_eq!(answer["success"], false);
    assert_eq!(answer["toolCallSummary"][0]["errorCount"], 1, "{answer}");
}

#[test]
fn functions_are_discovered_as_that_product_does() {
    let Some((project, _)) = with_files("code-executor") else { return };
    let mut client = Client::initialize(&project, "2025-11-25").0;
    let typescript = "const tools = await discoverMCPTools();\n\
        const some = await discoverMCPTools({ search: ['DIRECTORY', 'nothing at all'] });\n\
        const found = await searchTools('file read write');\n\
        const schema = await getToolSchema('mcp__filesystem__read_text_file');\n\
        const none = await getToolSchema('mcp__filesystem__nope');\n\
        for (let i = 0; i < 40; i += 1) await searchTools('file', 1);\n\
        export default [tools.length, some.every((one) => /directory/i.test(one.name + one.description)), some.length > 0, found.length <= 10,\n\
            found[0].name.startsWith('mcp__filesystem__'), schema.parameters.properties.path.type, typeof schema.outputSchema, none];";
    let python = "tools = await discover_mcp_tools()\n\
        some = await discover_mcp_tools(['DIRECTORY', 'nothing at all'])\n\
        found = await search_tools('file read write')\n\
        schema = await get_tool_schema('mcp__filesystem__read_text_file')\n\
        none = await get_tool_schema('mcp__filesystem__nope')\n\
        for _ in range(40):\n    await search_tools('file', 1)\n\
        [len(tools), all('directory' in (one['name'] + one['description']).lower() for one in some), len(some) > 0, len(found) <= 10,\n \
         found[0]['name'].startswith('mcp__filesystem__'), schema['parameters']['properties']['path']['type'],\n \
         'object' if isinstance(schema['outputSchema'], dict) else '', none]";
    for (tool, code) in [("run-typescript-code", typescript), ("run-python-code", python)] {
        let answer = run(&mut client, tool, json!({"code": code}));
        let value: Value = serde_json::from_str(answer["output"].as_str().unwrap()).unwrap_or_else(|_| panic!("{answer}"));
        assert_eq!(value, json!([14, true, true, true, true, "string", "object", null]), "{tool}");
    }
}

#[test]
fn allowed_tools_only_take_away() {
    let project = fake("code-executor");
    let mut client = Client::initialize(&project, "2025-11-25").0;
    let python = |tool: &str| format!("print(await call_mcp_tool('{tool}', {{'x': 1}}))");
    for (tool, allowed, expected) in [
        ("mcp__time___echo", json!(["mcp__time___echo"]), true),
        ("mcp__time__echo", json!(["mcp__time___*"]), true),
        ("time_.echo", json!(["mcp__time__echo"]), true),
        ("mcp__time___echo", json!(["*"]), true),
        ("mcp__time___echo", json!(["mcp__time___seen", "mcp__git__*"]), false),
        ("time_:echo", json!(["mcp__time___seen"]), false),
        ("mcp__time___echo", json!([]), false),
    ] {
        let answer = run(
            &mut client,
            "run-python-code",
            json!({"code": python(tool), "allowedTools": allowed}),
        );
        assert_eq!(answer["success"], expected, "{tool} {allowed}: {answer}");
        if !expected {
            assert!(answer["error"].as_str().unwrap().contains("not in allowlist"), "{answer}");
            assert_eq!(answer.get("toolCallsMade"), None, "{answer}");
        }
    }
    let import = "from time_.functions import echo\nprint(echo(x=1))";
    let answer = run(&mut client, "run-python-code", json!({"code": import, "allowedTools": []}));
    assert_eq!(answer["success"], false, "{answer}");
    let seen = "import json\nprint(json.dumps([one['params']['name'] for one in await call_mcp_tool('mcp__time__seen', {}) if one['method'] == 'tools/call']))";
    let answer = run(&mut client, "run-python-code", json!({"code": seen}));
    let calls: Vec<String> = serde_json::from_str(answer["output"].as_str().unwrap().trim()).unwrap();
    assert_eq!(calls.iter().filter(|name| *name == "echo").count(), 4, "{calls:?}");
}

#[test]
fn time_and_hosts_can_be_taken_away_and_wrong_arguments_are_told() {
    let project = fake("code-executor").with("MCE_ALLOWED_DOMAINS", "localhost, 127.0.0.1");
    let mut client = Client::initialize(&project, "2025-11-25").0;
    let slow = json!({"code": "import time\nprint('begun')\ntime.sleep(20)", "timeoutMs": 1500});
    let answer = run(&mut client, "run-python-code", slow);
    assert!(answer["error"].as_str().unwrap().contains("1.5"), "{answer}");
    assert_eq!(answer["output"], "begun\n");
    assert!(answer["executionTimeMs"].as_u64().unwrap() < 10_000, "{answer}");
    let fetch = "import mce\nmce.fetch('http://localhost:9/')";
    let answer = run(
        &mut client,
        "run-python-code",
        json!({"code": fetch, "permissions": {"net": ["example.com"]}}),
    );
    assert!(answer["error"].as_str().unwrap().contains("not in permissions.net"), "{answer}");
    // What the settings do not allow is not allowed by asking for it.
    let other = "import mce\nmce.fetch('http://example.com/')";
    let answer = run(
        &mut client,
        "run-python-code",
        json!({"code": other, "permissions": {"net": ["example.com"]}}),
    );
    assert_eq!(answer["success"], false, "{answer}");
    assert!(!answer["error"].as_str().unwrap().contains("permissions.net"), "{answer}");
    for arguments in [
        json!({"code": "1", "timeoutMs": 5}),
        json!({"code": ""}),
        json!({}),
        json!({"code": "1", "permissions": {"run": []}}),
    ] {
        let answer = run(&mut client, "run-typescript-code", arguments);
        assert!(
            answer["error"].as_str().unwrap().starts_with("Input validation failed: "),
            "{answer}"
        );
    }
}

#[test]
fn search_finds_a_function_and_calls_it() {
    let Some((project, root)) = with_files("search") else { return };
    let mut client = Client::initialize(&project, "2025-11-25").0;
    let listed = client.request("tools/list", json!({}));
    assert_eq!(listed["tools"].as_array().unwrap().len(), 2, "{listed}");
    let found = client.call("search_functions", json!({"query": "read a text file"})).0;
    assert!(
        found["functions"][0]["signature"].as_str().unwrap().contains("read_text_file"),
        "{found}"
    );
    let call = json!({"name": "call_function", "arguments": {"function": "filesystem.read_text_file", "arguments": {"path": format!("{root}/notes.txt")}}});
    let result = client.request("tools/call", call);
    assert_eq!(
        (&result["content"][0]["text"], &result["structuredContent"]["content"]),
        (&json!("hello"), &json!("hello")),
        "{result}"
    );
    let wrong = client.call("call_function", json!({"function": "filesystem.read_txt_file"}));
    assert!(
        wrong.1 && wrong.0["error"]["hint"].as_str().unwrap().contains("read_text_file"),
        "{wrong:?}"
    );
}

#[test]
fn auto_takes_what_costs_less() {
    let names = |project: &Project| {
        let mut client = Client::initialize(project, "2025-11-25").0;
        let listed = client.request("tools/list", json!({}));
        listed["tools"][0]["name"].as_str().unwrap().to_owned()
    };
    // Nothing is known of the server yet.
    let project = fake("auto");
    assert_eq!(names(&project), "list_servers");
    assert_eq!(project.run(&["compile"]).code, 0);
    // 22 tools of few words cost less than five of many.
    assert_eq!(names(&project), "time___echo");
    let Some((project, _)) = with_files("auto") else { return };
    assert_eq!(project.run(&["compile"]).code, 0);
    assert_eq!(names(&project), "list_servers");
}
