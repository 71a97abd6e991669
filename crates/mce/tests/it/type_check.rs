//! `MCE_TYPE_CHECK=full`: type checkers that others wrote read programs, in both languages, with each of them.
//! `scripts/test` installs them.

use std::path::{Path, PathBuf};

use mce_test::FakeApi;
use serde_json::{Value, json};

use crate::project::{Ended, Project, shop_config};

/// Each with the folder that it is in and the ending of its programs' files.
const CHECKERS: [(&str, &str, &str); 4] = [
    ("ty", "test-python/bin", "py"),
    ("pyright", "test-tools/node_modules/.bin", "py"),
    ("tsc", "test-tools/node_modules/.bin", "ts"),
    ("tsgo", "test-tools/node_modules/.bin", "ts"),
];

/// What each language's checkers must find: a line, and a word of the message.
const WRONG_PYTHON: &str = "\
from shop.functions import list_items, add_item
limit = \"5\".strip() or \"6\"
def main():
    items = list_items(limit=limit)
    items.values()
    add_item(body={\"price\": 3})
    return [item[\"title\"].upper() for item in items]
";
const WRONG_TYPESCRIPT: &str = "\
const limit = \"5\".trim();
async function main() {
  const items = await shop.listItems({ limit });
  items.values2();
  await shop.addItem({ body: { price: 3 } });
  return shop.listItems({}).length;
}
";

/// What models write, and what a checker must not stop.
const RIGHT_PYTHON: &str = "\
import json, asyncio, calendar
from mce import paginate, call_function, parallel
from shop.functions import list_items, add_item
from shop import aio
STATE = \"open\"
params = {\"limit\": 5}
extra = {}
def count(state: str):
    return len(list_items(state=state))
async def later():
    return await aio.list_items(limit=3)
def main():
    body = {\"title\": \"x\", \"tags\": [], \"kind\": \"new\"}
    body[\"price\"] = 5
    made = add_item(body=body)
    first = list_items(state=STATE, **params)
    extra[\"n\"] = first[0][\"undocumented\"] + made.get(\"price\", 0)
    for item in first:
        extra.setdefault(item[\"title\"], []).append(item[\"tags\"])
    rows = sorted(first, key=lambda item: item[\"price\"] or 0)
    for state in [\"open\", \"sold\"]:
        list_items(state=state)
    counts = {state: count(state) for state in \"open sold\".split()}
    wanted = {\"state\": \"open\"}
    list_items(**wanted)
    list_items(**dict(state=STATE, limit=3))
    line = {\"title\": \"y\", \"price\": 1}
    lines = []
    lines.append(line)
    for line in lines:
        add_item(body=line)
    add_item(body={\"title\": \"z\", \"tags\": [str(1)], \"kind\": STATE and \"new\".lower()})
    pages = paginate(list_items, limit=2)
    jobs = parallel(lambda: list_items(limit=1), lambda: call_function(\"shop.list_items\", {\"limit\": \"1\"}))
    return [len(rows), json.dumps(extra)]
await asyncio.sleep(0)
";
const RIGHT_TYPESCRIPT: &str = "\
import { paginate, callFunction } from \"mce\";
import { shop } from \"mce:servers\";
let state = \"open\";
const body = { title: \"x\", kind: \"new\" };
const by = {};
async function main() {
  const made = await shop.addItem({ body });
  by.made = made;
  const items = await shop.listItems({ state });
  const found = [];
  for (const item of items) { found.push(item.undocumented); by[item.title] = item.price?.toFixed(2); (by[item.kind] ||= []).push(item) }
  const whole = await shop.listItems.withHeaders({ limit: 1 });
  const named = await callFunction(\"shop.list_items\", { limit: \"1\" }).catch((e) => e.message);
  const rest = await callMCPTool(\"shop.list_items\", {});
  const pages = paginate(shop.listItems, { limit: 2 });
  const limit: any = \"7\";
  return [found.length, Object.keys(by).length > 1, data];
}
var data = 1;
";

fn document() -> Value {
    let item = json!({
        "type": "object",
        "required": ["title"],
        "properties": {
            "title": {"type": "string"},
            "price": {"type": "number"},
            "tags": {"type": "array", "items": {"type": "string"}},
            "kind": {"type": "string", "enum": ["new", "used"]},
        },
    });
    let reference = json!({"$ref": "#/components/schemas/Item"});
    let content = |schema: Value| json!({"application/json": {"schema": schema}});
    json!({
        "openapi": "3.0.3",
        "info": {"title": "Shop", "version": "1"},
        "paths": {"/items": {
            "get": {
                "operationId": "listItems",
                "parameters": [
                    {"name": "limit", "in": "query", "schema": {"type": "integer"}},
                    {"name": "state", "in": "query", "schema": {"type": "string", "enum": ["open", "sold"]}},
                ],
                "responses": {"200": {"description": "ok", "content": content(json!({"type": "array", "items": reference}))}},
            },
            "post": {
                "operationId": "addItem",
                "requestBody": {"required": true, "content": content(reference.clone())},
                "responses": {"200": {"description": "ok", "content": content(reference.clone())}},
            },
        }},
        "components": {"schemas": {"Item": item}},
    })
}

/// A folder for the search path in which one checker is, and no other.
fn folder_with(project: &Project, checker: &str, folder: &str) -> Option<PathBuf> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../target")
        .join(folder)
        .join(checker);
    let Ok(file) = file.canonicalize().map(|_| file) else {
        eprintln!("NOT RUN: no `{checker}` in {folder}; `scripts/test` installs it");
        return None;
    };
    let only = project.file(&format!("only-{checker}"));
    std::fs::create_dir_all(&only).unwrap();
    // Followed by its own path: scripts look for what lies beside them.
    std::fs::write(
        only.join(checker),
        format!(
            "#!/bin/sh\nexec '{}' \"$@\"\n",
            file.parent().unwrap().canonicalize().unwrap().join(checker).display()
        ),
    )
    .unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(only.join(checker), mode).unwrap();
    Some(only)
}

#[test]
fn type_checkers_stop_what_is_sure_to_be_wrong_and_nothing_else() {
    let api = FakeApi::start();
    let project = Project::empty().with("SHOP_TOKEN", "shop-token-8842");
    project.write("shop.json", &document().to_string());
    project.write("mce.yaml", &shop_config(&api, ""));
    assert_eq!(project.run(&["compile"]).code, 0);
    project.write("wrong.py", WRONG_PYTHON);
    project.write("wrong.ts", WRONG_TYPESCRIPT);
    project.write("right.py", RIGHT_PYTHON);
    project.write("right.ts", RIGHT_TYPESCRIPT);
    project.write(
        "ignored.py",
        "from shop.functions import list_items\nresult = list_items(limit=\"5\".strip())  # type: ignore\n",
    );
    project.write(
        "ignored.ts",
        "const limit = \"5\".trim();\n// @ts-ignore\nexport default await shop.listItems({ limit });\n",
    );
    project.write("reads.ts", "import secret from \"./mce.yaml\";\nimport other from \"/etc/hostname\";\n/// <reference path=\"/etc/passwd\" />\nconst limit = secret.length;\nshop.listItems({limit})\nexport default other.length;\n");
    for (checker, folder, end) in CHECKERS {
        let Some(only) = folder_with(&project, checker, folder) else {
            continue;
        };
        let run = |name: &str| {
            let mut command = project.command(&["exec", &format!("{name}.{end}"), "--json"]);
            let inherited = command
                .get_envs()
                .find(|(name, _)| *name == "PATH")
                .and_then(|(_, value)| value?.to_str())
                .unwrap()
                .to_owned();
            let path = format!("{}:{inherited}", only.display());
            Ended::of(command.env("PATH", path).env("MCE_TYPE_CHECK", "full").output().unwrap())
        };
        let ended = run("wrong");
        let error = ended.json()["error"].clone();
        let findings: Vec<(u64, String)> = std::iter::once(&error)
            .chain(error["also"].as_array().into_iter().flatten())
            .map(|found| (found["line"].as_u64().unwrap(), found["message"].to_string()))
            .collect();
        let lines: Vec<u64> = findings.iter().map(|(line, _)| *line).collect();
        let expected: &[u64] = if end == "py" { &[4, 5, 6] } else { &[3, 4, 5, 6] };
        assert_eq!((ended.code, &lines[..]), (1, expected), "{checker}: {findings:?} {ended:?}");
        assert_eq!(error["type"], "argument", "{error}");
        assert!(
            error["hint"].as_str().unwrap().contains(&format!("`{checker}` found this")),
            "{error}"
        );
        assert!(api.take_requests().is_empty(), "{checker}: something was sent");

        // What fails here fails later, when the program runs: the checker let it pass.
        for name in ["right", "ignored"] {
            let ended = run(name);
            assert!(!ended.out.contains("found this before"), "{checker}, {name}: {ended:?}");
            assert_eq!(api.take_requests().is_empty(), name == "ignored", "{checker}, {name}: {ended:?}");
        }
        if end == "ts" {
            let said = format!("{:?}", run("reads"));
            api.take_requests();
            assert!(!said.contains("SHOP_TOKEN") && !said.contains("found this before"), "{said}");
        }
    }
}
