//! Every type of error that a model can get, in both languages, as one text to be reviewed: each names cause, place and next step
//! within 200 tokens.

use std::fmt::Write as _;

use mce_test::{FakeAnswer, FakeApi};
use serde_json::{Value, json};

use crate::client::Client;
use crate::project::{Project, shop_config, shop_document};
use crate::serve::tokens;

const TOOLS: &str = r#"
import json, sys
for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message: continue
    answer = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "files", "version": "1"}}
    if message["method"] == "tools/list":
        answer = {"tools": [{"name": "read_file", "inputSchema": {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}}]}
    elif message["method"] == "tools/call":
        answer = {"content": [{"type": "text", "text": "ENOENT: no such file, open '/data/x'"}], "isError": True}
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": answer}), flush=True)
"#;

/// What happens, the type, and the program in Python and in TypeScript.
const CASES: [(&str, &str, &str, &str); 17] = [
    ("a text that is no program", "syntax", "def main(:\n    pass", "const x = ;"),
    (
        "a function that does not exist",
        "argument",
        "from shop.functions import get_itm\nresult = get_itm('1')",
        "export default await shop.getItm({ id: '1' });",
    ),
    (
        "several wrong arguments",
        "argument",
        "from shop.functions import get_item, create_item\nget_item(id=5, currency='USD')\ncreate_item()",
        "await shop.getItem({ id: 5, currency: 'USD' });\nawait shop.createItem({});",
    ),
    (
        "a body that does not fit, known only when it is sent",
        "argument",
        "from shop.functions import create_item\nitem = {'price': 'much'}\ncreate_item(body=item)",
        "const item: any = { price: 'much' };\nawait shop.createItem({ body: item });",
    ),
    (
        "a value that nothing is kept under",
        "argument",
        "from mce import load\nload('r_0')",
        "import { load } from 'mce';\nawait load('r_0');",
    ),
    (
        "an answer of the API that is an error, after a write",
        "api",
        "from shop.functions import get_item, create_item\ncreate_item(body={'name': 'a'})\nget_item('missing')",
        "await shop.createItem({ body: { name: 'a' } });\nawait shop.getItem({ id: 'missing' });",
    ),
    (
        "a tool that fails",
        "tool",
        "from mce import call_function\ncall_function('files.read_file', {'path': '/data/x'})",
        "await files.readFile({ path: '/data/x' });",
    ),
    (
        "a server that may only be read",
        "policy",
        "from mce import call_function\ncall_function('frozen.create_item', {'body': {'name': 'a'}})",
        "import { callFunction } from 'mce';\nawait callFunction('frozen.create_item', { body: { name: 'a' } });",
    ),
    (
        "a host that is not allowed",
        "policy",
        "from mce import fetch\nfetch('https://example.com/')",
        "await fetch('https://example.com/');",
    ),
    (
        "what cannot work in a jail",
        "policy",
        "import subprocess\nsubprocess.run(['ls'])",
        "const home = process.env.HOME;",
    ),
    ("a loop without an end", "timeout", "while True:\n    pass", "while (true) {}"),
    (
        "too much memory",
        "memory",
        "result = 'x' * (1 << 33)",
        "const all = [];\nfor (;;) all.push(new ArrayBuffer(1 << 26));",
    ),
    (
        "a value that is too large",
        "output",
        "result = 'x' * (2 << 20)",
        "export default 'x'.repeat(2 << 20);",
    ),
    (
        "a value that has no JSON form",
        "exception",
        "result = {'f': print}",
        "export default { f: new WeakMap() };",
    ),
    (
        "an exception of the program's own",
        "exception",
        "def main():\n    return [1][3]",
        "function main() { return (undefined as any).x; }",
    ),
    (
        "a name that is not defined",
        "exception",
        "total = 1\nresult = totl",
        "const total = 1;\nexport default totl;",
    ),
    (
        "a connection to the host that the program broke",
        "internal",
        "import os\nfor descriptor in range(3, 20):\n    try:\n        os.write(descriptor, b'nonsense')\n    except OSError:\n        pass",
        "",
    ),
];

fn project(api: &FakeApi) -> Project {
    let project = Project::empty()
        .with("SHOP_TOKEN", "shop-token-8842")
        .with("MCE_EXECUTION_TIMEOUT_SECONDS", "1");
    project.write("shop.json", &shop_document().to_string());
    project.write("tools.py", TOOLS);
    let more = format!(
        "  frozen:\n    openapi: ./shop.json\n    base_url: {}/v1\n    is_read_only: true\n  files:\n    command: python3\n    args: [-I, tools.py]\n",
        api.origin()
    );
    project.write("mce.yaml", &format!("{}{more}", shop_config(api, "")));
    assert_eq!(project.run(&["compile"]).code, 0);
    project
}

#[test]
fn each_error_teaches_what_to_do_next() {
    let api = FakeApi::start();
    api.answer_with(|request| {
        if request.target.contains("missing") {
            return FakeAnswer::json(
                404,
                json!({"message": "no item `missing`", "documentation": "https://shop.example/docs#items"}).to_string(),
            );
        }
        FakeAnswer::json(200, "{\"name\": \"a\"}")
    });
    let project = project(&api);
    let (mut client, _) = Client::initialize(&project, "2025-11-25");
    let mut golden = String::new();
    for (what, kind, python, typescript) in CASES {
        writeln!(golden, "# {what}\n").unwrap();
        for (language, code) in [("python", python), ("typescript", typescript)] {
            if code.is_empty() {
                continue;
            }
            let arguments = json!({"code": code, "description": "errs", "language": language});
            let (mut answer, is_error) = client.call("execute_code", arguments);
            let error = &answer["error"];
            assert!(is_error && error["type"] == kind, "{what} in {language}: {answer}");
            assert!(
                tokens(&error.to_string()) <= 200,
                "{what} in {language}: {} tokens",
                tokens(&error.to_string())
            );
            for group in answer.get_mut("calls").and_then(Value::as_array_mut).into_iter().flatten() {
                group["ms"] = json!(0);
            }
            let shown: serde_json::Map<String, Value> = ["error", "calls"]
                .into_iter()
                .filter_map(|key| Some((key.to_owned(), answer.get(key)?.clone())))
                .collect();
            writeln!(
                golden,
                "{language}:\n{code}\n=> {}\n",
                serde_json::to_string_pretty(&shown).unwrap()
            )
            .unwrap();
        }
    }
    let (unknown, _) = client.call("run_cached_code", json!({"cache_id": "0123456789abcdef0123"}));
    writeln!(
        golden,
        "# a program that is not kept\n\nrun_cached_code:\n=> {}",
        serde_json::to_string_pretty(&unknown["error"]).unwrap()
    )
    .unwrap();
    insta::with_settings!({prepend_module_to_snapshot => true, omit_expression => true}, { insta::assert_snapshot!("errors", golden) });
}
