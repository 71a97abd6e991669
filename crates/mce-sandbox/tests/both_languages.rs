//! Both languages are equals: for each rule one program in each, and what both must come to. Runs in the real jail.
#![cfg(test)]

mod support;

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use futures_util::FutureExt as _;
use mce_sandbox::{Language, Limits, Program, Sandbox, SandboxOptions};
use serde_json::{Map, Value, json};
use support::{Api, inputs, options, program_in, seen};

/// The program in Python, in TypeScript, and what both come to.
type Case<'c> = (&'c str, &'c str, Value);

/// Runs each pair; only the given members of an error are compared.
async fn check(options: SandboxOptions, cases: &[Case<'_>]) {
    let sandbox = Sandbox::new(options);
    let mut faults = Vec::new();
    for (python, typescript, expected) in cases {
        for (language, source) in [(Language::Python, python), (Language::TypeScript, typescript)] {
            let outcome = sandbox.run(program_in(language, source), Arc::new(Api::default())).await;
            let mut found = seen(&outcome);
            if expected.get("logs").is_some() {
                found["logs"] = outcome.logs.into();
            }
            if !is_within(expected, &found) {
                faults.push(format!(
                    "{}: {source:.300}\n  expected {expected:.300}\n  came     {found:.600}",
                    language.as_str()
                ));
            }
        }
    }
    sandbox.stop().await;
    assert!(faults.is_empty(), "{} programs differ\n{}", faults.len(), faults.join("\n"));
}

/// Each member of `expected` is in `found`; texts of messages may be parts.
fn is_within(expected: &Value, found: &Value) -> bool {
    match (expected, found) {
        (Value::Object(members), Value::Object(others)) if members.contains_key("error") || members.contains_key("logs") => members
            .iter()
            .all(|(name, value)| others.get(name).is_some_and(|other| is_error_within(value, other))),
        _ => expected == found,
    }
}

fn is_error_within(expected: &Value, found: &Value) -> bool {
    let Value::Object(members) = expected else {
        return expected == found;
    };
    members.iter().all(|(name, value)| match (name.as_str(), value.as_str()) {
        ("message" | "hint", Some(part)) => found[name].as_str().is_some_and(|text| text.contains(part)),
        _ => &found[name] == value,
    })
}

fn value(value: Value) -> Value {
    Value::Object(Map::from_iter([("value".to_owned(), value)]))
}

#[tokio::test]
async fn a_program_has_the_value_of_main_else_result_else_its_last_expression() {
    check(
        options(),
        &[
            ("result = 1 + 1", "result = 1 + 1", value(json!(2))),
            ("result = 1 + 1", "const result: number = 1 + 1;", value(json!(2))),
            ("x = 20\nx + 1", "const x = 20;\nx + 1", value(json!(21))),
            ("x = 20", "const x = 20;", value(json!(null))),
            ("", "", value(json!(null))),
            ("'text'", "'text'", value(json!("text"))),
            ("5\nresult = 6", "5;\nconst result = 6;", value(json!(6))),
            (
                "def main():\n    return 'main'\nresult = 'result'",
                "function main() { return 'main' }\nconst result = 'result';",
                value(json!("main")),
            ),
            (
                "async def main():\n    return 'async'",
                "async function main(): Promise<string> { return 'async' }",
                value(json!("async")),
            ),
            (
                "async def main():\n    return 'a'\nresult = await main()",
                "const main = async () => 'a';\nconst result = await main();",
                value(json!("a")),
            ),
            (
                "def main(n):\n    return n * 2\nresult = main(4)",
                "function main(n: number) { return n * 2 }\nconst result = main(4);",
                value(json!(8)),
            ),
            (
                "async def f():\n    return 3\nf()",
                "async function f() { return 3 }\nf()",
                value(json!(3)),
            ),
            ("\u{feff}result = 'bom'", "\u{feff}const result = 'bom'", value(json!("bom"))),
            (
                &format!("result = {}1", "1+".repeat(1500)),
                &format!("const result = {}1", "1+".repeat(1500)),
                value(json!(1501)),
            ),
        ],
    )
    .await;
}

#[tokio::test]
async fn main_is_called_once() {
    for (python, typescript) in [
        ("", ""),
        ("result = main()", "const result = main()"),
        ("main()", "main()"),
        ("print(main())", "console.log(main())"),
        ("x = 1", "(async () => { await main() })()"),
    ] {
        let sandbox = Sandbox::new(options());
        for (language, source) in [
            (
                Language::Python,
                format!("def main():\n    print('called')\n    return 1\n{python}"),
            ),
            (
                Language::TypeScript,
                format!("function main() {{\n  console.log('called');\n  return 1;\n}}\n{typescript}"),
            ),
        ] {
            let outcome = sandbox.run(program_in(language, &source), Arc::new(Api::default())).await;
            assert_eq!(outcome.logs.matches("called").count(), 1, "{source}");
            assert_eq!(seen(&outcome), value(json!(1)), "{source}");
        }
        sandbox.stop().await;
    }
}

#[tokio::test]
async fn values_become_json_by_the_stated_rules() {
    check(
        options(),
        &[
            (
                "result = [None, True, 1, 1.5, 'é', '😀']",
                "result = [null, true, 1, 1.5, 'é', '😀']",
                value(json!([null, true, 1, 1.5, "é", "😀"])),
            ),
            (
                "result = [float('nan'), float('inf')]",
                "result = [NaN, Infinity]",
                value(json!([null, null])),
            ),
            (
                "import datetime as d\nresult = d.datetime(2020, 1, 2, 3).isoformat() + '.000Z'",
                "result = new Date('2020-01-02T03:00:00Z')",
                value(json!("2020-01-02T03:00:00.000Z")),
            ),
            (
                "result = [{1, 2, 3}, (x for x in 'ab'), {1: 'a', 'b': 2}]",
                "result = [new Set([1, 2, 3]), 'ab'[Symbol.iterator](), new Map<any, any>([[1, 'a'], ['b', 2]])]",
                value(json!([[1, 2, 3], ["a", "b"], {"1": "a", "b": 2}])),
            ),
            (
                "result = b'abc'",
                "result = new TextEncoder().encode('abc')",
                value(json!({"base64": "YWJj"})),
            ),
            (
                "result = [ValueError('no')]",
                "class ValueError extends Error { name = 'ValueError' }\nresult = [new ValueError('no')]",
                value(json!([{"error": "ValueError: no"}])),
            ),
            (
                "result = ['\\ud800x', '\\ud83d\\ude00', {'\\udfff': 1}]",
                "result = ['\\ud800x', '\\ud83d\\ude00', {'\\udfff': 1}]",
                value(json!(["\u{fffd}x", "😀", {"\u{fffd}": 1}])),
            ),
            (
                "result = [2**63, 10**20]",
                "result = [2n ** 63n, 10n ** 20n]",
                value(serde_json::from_str("[9223372036854775808, 100000000000000000000]").unwrap()),
            ),
            (
                "class M:\n    def model_dump(self):\n        return {'dumped': 1}\nresult = M()",
                "class M { toJSON() { return { dumped: 1 } } }\nresult = new M()",
                value(json!({"dumped": 1})),
            ),
        ],
    )
    .await;
}

#[tokio::test]
async fn what_has_no_json_form_is_an_error_that_says_where() {
    check(
        options(),
        &[
            (
                "a = []\na.append(a)\nresult = {'b': a}",
                "const a: any[] = [];\na.push(a);\nresult = { b: a }",
                json!({"error": {"type": "exception", "message": "the value contains itself at `result.b[0]`"}}),
            ),
            (
                "d = None\nfor _ in range(3000): d = [d]\nresult = d",
                "let d: any = null;\nfor (let i = 0; i < 3000; i++) d = [d];\nresult = d",
                json!({"error": {"type": "exception", "message": "nested deeper than 100 levels"}}),
            ),
            (
                "async def f(): pass\nresult = [f()]",
                "result = [(async () => {})()]",
                json!({"error": {"type": "exception", "message": "`result[0]` was never awaited"}}),
            ),
            (
                "result = {'a': [lambda: 1]}",
                "result = { a: [() => 1] }",
                json!({"error": {"type": "exception", "message": "which has no JSON form"}}),
            ),
            (
                "import itertools\nresult = itertools.count()",
                "function* count() { for (let i = 0; ; i++) yield i }\nresult = count()",
                json!({"error": {"type": "output"}}),
            ),
            (
                "result = 'x' * (2 << 20)",
                "result = 'x'.repeat(2 << 20)",
                json!({"error": {"type": "output"}}),
            ),
            (
                "level = ['lol'] * 10\nfor _ in range(9): level = [level] * 10\nresult = level",
                "let level: any[] = Array(10).fill('lol');\nfor (let i = 0; i < 9; i++) level = Array(10).fill(level);\nresult = level",
                json!({"error": {"type": "output"}}),
            ),
        ],
    )
    .await;
}

#[tokio::test]
async fn a_helper_that_is_not_imported_is_told_with_its_import() {
    check(
        options(),
        &[
            (
                "result = load('r_1')",
                "result = await load('r_1')",
                json!({"error": {"type": "exception", "hint": "import"}}),
            ),
            (
                "result = parallel(lambda: 1)",
                "result = await parallel(() => 1)",
                json!({"error": {"type": "exception", "hint": "parallel"}}),
            ),
            (
                "result = paralel(lambda: 1)",
                "result = await paralel(() => 1)",
                json!({"error": {"type": "exception", "hint": "did you mean `parallel`?"}}),
            ),
        ],
    )
    .await;
}

#[tokio::test]
async fn errors_name_type_line_source_and_what_to_do() {
    check(
        options(),
        &[
            (
                "count = 1\n\nresult = cuont",
                "const count = 1;\n\nconst result = cuont;",
                json!({"error": {"type": "exception", "line": 3, "hint": "did you mean `count`?"}}),
            ),
            (
                "def f():\n    raise ValueError('no')\n\nf()",
                "function f(): never {\n    throw new Error('no')\n}\nf()",
                json!({"error": {"type": "exception", "message": "Error: no", "line": 2}}),
            ),
            (
                "import json\n\njson.loads('{')",
                "type A = { x: number };\n\nJSON.parse('{')",
                json!({"error": {"type": "exception", "line": 3}}),
            ),
            ("x = (\ny = 1", "const x = (\nconst y = 1", json!({"error": {"type": "syntax"}})),
            (
                "return 5",
                "return 5",
                json!({"error": {"type": "syntax", "line": 1, "hint": "assign to `result`, or put the code into"}}),
            ),
            (&"(".repeat(10_000), &"(".repeat(10_000), json!({"error": {"type": "syntax"}})),
            (
                &format!("result = {}1", "-".repeat(60_000)),
                &format!("const result = {}1", "- ".repeat(30_000)),
                json!({"error": {"type": "syntax"}}),
            ),
            (
                "def f(): f()\nf()",
                "function f(): void { f(); return; }\nf()",
                json!({"error": {"type": "exception", "line": 1, "hint": "use a loop"}}),
            ),
            (
                "import nope",
                "import nope from 'nope';",
                json!({"error": {"type": "exception", "message": "nope", "line": 1}}),
            ),
            (
                "x = None\n\na, b = x",
                "const x: any = null;\n\nconst { a, b } = x;",
                json!({"error": {"type": "exception", "line": 3}}),
            ),
            (
                "def f(rows):\n    total = 0\n    for a, b in rows:\n        total += a\n\nf([None])",
                "function f(rows: any) {\n    let total = 0;\n    for (const [a, b] of rows) {\n        total += a } }\n\nf([null])",
                json!({"error": {"type": "exception", "line": 3}}),
            ),
            (
                "x = None\na = b = 0\n\na, b = x",
                "const x: any = null;\nlet a = 0, b = 0;\n\n[a, b] = x",
                json!({"error": {"type": "exception", "line": 4}}),
            ),
            (
                "x = 5\n\nfor y in x: pass",
                "const x: any = 5;\n\nfor (const y of x) {}",
                json!({"error": {"type": "exception", "line": 3}}),
            ),
            (
                "x = None\n\nx.y.z",
                "const x: any = null;\n\nx!.y.z",
                json!({"error": {"type": "exception", "line": 3}}),
            ),
            (
                "def f():\n    raise Exception('text')\n\nf()",
                "function f() {\n    throw 'text';\n}\nf()",
                json!({"error": {"type": "exception", "message": "text", "line": 2}}),
            ),
            (
                "raise Exception('a' * 5000)",
                "throw new Error('a'.repeat(5000))",
                json!({"error": {"type": "exception", "line": 1}}),
            ),
        ],
    )
    .await;
}

#[tokio::test]
async fn functions_are_called_in_every_way_that_is_offered() {
    let get = "import { demo } from 'mce:servers';\n";
    check(options(), &[
        ("from demo.functions import get_item\nresult = get_item(id='1')", &format!("{get}result = await demo.getItem({{ id: '1' }})"), value(json!({"echo": {"id": "1"}}))),
        ("import demo.functions as d\nresult = d.get_item(id='1')", "import * as all from 'mce:servers';\nresult = await all.demo.getItem({ id: '1' })", value(json!({"echo": {"id": "1"}}))),
        ("import demo.functions as d\nresult = d.get_item(id='1')", "result = await demo.getItem({ id: '1' })", value(json!({"echo": {"id": "1"}}))),
        ("import demo.functions as d\nresult = getattr(d, 'get_' + 'item')(id='1')", &format!("{get}result = await (demo as any)['get' + 'Item']({{ id: '1' }})"), value(json!({"echo": {"id": "1"}}))),
        ("from mce import call_function\nresult = call_function('demo.get_item', {'id': '1'})", "import { callFunction } from 'mce';\nresult = await callFunction('demo.get_item', { id: '1' })", value(json!({"echo": {"id": "1"}}))),
        ("result = await call_mcp_tool('mcp__demo__get_item', {'id': '1'})", "result = await callMCPTool('mcp__demo__get_item', { id: '1' })", value(json!({"echo": {"id": "1"}}))),
        ("result = await search_tools('item', limit=3)", "result = await searchTools('item', 3)", value(json!([{"name": "get_item", "query": "item", "by": "words", "limit": 3}]))),
        ("result = await discover_mcp_tools()", "result = await discoverMCPTools()", value(json!([{"name": "get_item", "query": "", "by": "terms", "limit": null}]))),
        ("result = await discover_mcp_tools(['a b', 'c'])", "result = await discoverMCPTools({ search: ['a b', 'c'] })", value(json!([{"name": "get_item", "query": "a b\nc", "by": "terms", "limit": null}]))),
        ("result = await discover_mcp_tools('a')", "result = await discoverMCPTools(['a'])", value(json!([{"name": "get_item", "query": "a", "by": "terms", "limit": null}]))),
        ("result = (await get_tool_schema('mcp__demo__get_item'))['name']", "result = (await getToolSchema('mcp__demo__get_item')).name", value(json!("mcp__demo__get_item"))),
        ("result = await get_tool_schema('mcp__nope__get_item')", "result = await getToolSchema('mcp__nope__get_item')", value(json!(null))),
        ("from demo.functions import get_item\nresult = list(get_item('bytes'))", &format!("{get}result = [...(await demo.getItem({{ id: 'bytes' }}))]"), value(json!([0, 255, 7]))),
        ("from demo.functions import get_item\nresult = len(get_item('huge'))", &format!("{get}result = (await demo.getItem({{ id: 'huge' }})).length"), value(json!(6 << 20))),
        ("from demo.functions import get_item\nresult = get_item(id=10**40)", &format!("{get}result = await demo.getItem({{ id: 10n ** 40n }})"), value(serde_json::from_str(&format!("{{\"echo\":{{\"id\":1{}}}}}", "0".repeat(40))).unwrap())),
        ("from mce import parallel\nfrom demo.functions import get_item\nresult = parallel([lambda: get_item('meet')] * 10)[0]", &format!("{get}result = (await Promise.all(Array.from({{ length: 10 }}, () => demo.getItem({{ id: 'meet' }}))))[0]"), value(json!("met"))),
        ("from demo.aio import get_item\nimport asyncio\nresult = len(await asyncio.gather(*[get_item('x' * 50_000) for _ in range(200)]))", &format!("{get}result = (await Promise.all(Array.from({{ length: 200 }}, () => demo.getItem({{ id: 'x'.repeat(50_000) }})))).length"), value(json!(200))),
        ("from demo.functions import get_item\n\nget_item('fail')", &format!("{get}\nawait demo.getItem({{ id: 'fail' }})"), json!({"error": {"type": "api", "status": 404, "body": {"detail": "no such item"}, "function": "demo.get_item", "line": 3, "message": "`demo.get_item` answered with status 404"}})),
        ("from demo.functions import get_item\ntry:\n    get_item('fail')\nexcept ApiError as e:\n    result = [e.status, e.body, e.function]", &format!("{get}try {{ await demo.getItem({{ id: 'fail' }}) }} catch (e) {{ if (e instanceof ApiError) result = [e.status, e.body, e.function] }}"), value(json!([404, {"detail": "no such item"}, "demo.get_item"]))),
        ("from mce import call_function\ncall_function('demo.none', {})", "import { callFunction } from 'mce';\nawait callFunction('demo.none', {})", json!({"error": {"type": "argument", "message": "there is no such function", "line": 2}})),
    ]).await;
}

#[tokio::test]
async fn main_is_not_run_again_where_it_was_passed_on() {
    let sandbox = Sandbox::new(options());
    for (language, source, expected) in [
        (
            Language::Python,
            "from mce import parallel\nfrom demo.functions import get_item\ndef main():\n    return get_item('1')['echo']['id']\nresult = parallel([main, main])",
            json!(["1", "1"]),
        ),
        (
            Language::TypeScript,
            "import { parallel } from 'mce';\nasync function main() { return ((await demo.getItem({ id: '1' })) as any).echo.id; }\nexport default await parallel([main, main]);",
            json!(["1", "1"]),
        ),
        (
            Language::TypeScript,
            "async function main() { return ((await demo.getItem({ id: '1' })) as any).echo.id; }\nconst all = { main };\nconst result = [await all.main(), await [[main]].flat()[0]()];",
            json!(["1", "1"]),
        ),
        (
            Language::TypeScript,
            "const main = async () => { await demo.getItem({ id: '1' }); return (await demo.getItem({ id: '1' }), 'own'); };\nconst x = await main();\nexport default { x, label: 'mine' };",
            json!({"x": "own", "label": "mine"}),
        ),
    ] {
        let api = Arc::new(Api::default());
        let outcome = sandbox.run(program_in(language, source), Arc::clone(&api) as _).await;
        assert_eq!(seen(&outcome), value(expected), "{source}");
        assert_eq!(api.calls.load(Ordering::SeqCst), 2, "{source}");
    }
    let kept = sandbox
        .run(
            program_in(Language::TypeScript, "const main = 5;\nexport default main + 1;"),
            Arc::new(Api::default()),
        )
        .await;
    assert_eq!(seen(&kept), value(json!(6)));
    sandbox.stop().await;
}

#[tokio::test]
async fn what_the_catalog_refuses_is_refused_before_anything_happened() {
    let sandbox = Sandbox::new(options());
    for (python, typescript, message, hint) in [
        (
            "import demo.functions as d\nd.get_itm('1')",
            "demo.getItm({ id: '1' })",
            "server `demo` has no function",
            "did you mean",
        ),
        (
            "get_item(idd='1')",
            "demo.getItem({ idd: '1' })",
            "`demo.get_item` has no argument `idd`",
            "did you mean `id`?",
        ),
        ("get_item()", "demo.getItem()", "`demo.get_item` needs `id`", "(...)"),
        (
            "create_item(kind='smal', body={})",
            "demo.createItem({ kind: 'smal', body: {} })",
            "`kind` of `demo.create_item` cannot be 'smal'",
            "did you mean `small`?",
        ),
    ] {
        for (language, source) in [
            (
                Language::Python,
                format!("from demo.functions import get_item, create_item\nget_item('1')\n{python}"),
            ),
            (
                Language::TypeScript,
                format!("import {{ demo }} from 'mce:servers';\nawait demo.getItem({{ id: '1' }});\n\n{typescript}"),
            ),
        ] {
            let api = Arc::new(Api::default());
            let error = sandbox
                .run(program_in(language, &source), Arc::clone(&api) as _)
                .await
                .result
                .unwrap_err();
            assert!(error.message.contains(message), "{source}\n{error:?}");
            assert!(error.hint.as_deref().unwrap_or_default().contains(hint), "{source}\n{error:?}");
            assert!(error.line >= Some(3), "{error:?}");
            assert_eq!(api.calls.load(Ordering::SeqCst), 0, "{source}");
        }
    }
    sandbox.stop().await;
}

#[tokio::test]
async fn params_replace_top_level_variables_as_data() {
    let sandbox = Sandbox::new(options());
    for (python, typescript, params, expected) in [
        (
            "city = 'a'\nresult = city",
            "const city = 'a';\nconst result = city;",
            json!({"city": "b"}),
            value(json!("b")),
        ),
        (
            "city = 'a'\nresult = city",
            "let city: string = 'a';\nconst result = city;",
            json!({"city": "'; process.exit() //"}),
            value(json!("'; process.exit() //")),
        ),
        (
            "a, b = 1, 2\nresult = [a, b]",
            "const [a, b] = [1, 2];\nconst result = [a, b];",
            json!({"b": {"x": [1]}}),
            value(json!([1, {"x": [1]}])),
        ),
        (
            "n = 10\nn = n + 1\nresult = n",
            "let n = 10;\nn = n + 1;\nconst result = n;",
            json!({"n": 1}),
            value(json!(2)),
        ),
        (
            "n = 1 / 0\nresult = n",
            "const n = nothing();\nconst result = n;\nfunction nothing(): number { throw 1 }",
            json!({"n": 1}),
            value(json!(1)),
        ),
        (
            "n = 1\ndef main():\n    return n",
            "export const n: any = 1;\nexport default function main() { return n }",
            json!({"n": 12_345_678_901_234_567_890_u64}),
            value(json!(12_345_678_901_234_567_890_u64)),
        ),
    ] {
        for (language, source) in [(Language::Python, python), (Language::TypeScript, typescript)] {
            let params = inputs(&params);
            let program = Program {
                params,
                ..program_in(language, source)
            };
            assert_eq!(seen(&sandbox.run(program, Arc::new(Api::default())).await), expected, "{source}");
        }
    }
    for (language, source) in [
        (Language::Python, "city = 1\nlimit = 2\ndef f():\n    cty = 3"),
        (Language::TypeScript, "const city = 1, limit = 2;\nfunction f() { const cty = 3 }"),
    ] {
        let params = inputs(&json!({"cty": 1}));
        let program = Program {
            params,
            ..program_in(language, source)
        };
        let error = sandbox.run(program, Arc::new(Api::default())).await.result.unwrap_err();
        assert_eq!(
            error.message,
            "the program has no top-level variable `cty`; it has: `city`, `limit`"
        );
        assert_eq!(error.hint.as_deref(), Some("did you mean `city`?"));
    }
    sandbox.stop().await;
}

#[tokio::test]
async fn each_limit_has_its_own_error_and_the_next_run_works() {
    let limits = Limits {
        wall: Duration::from_secs(2),
        memory_mib: 64,
        output_bytes: 10_000,
        code_bytes: 2000,
        host_calls: 5,
        ..Limits::default()
    };
    let next = ("result = 1 + 1", "result = 1 + 1", value(json!(2)));
    let mut cases = Vec::new();
    let comment = ["#".repeat(2001), "/".repeat(2001)];
    for case in [
        (
            "while True: pass",
            "for (;;);",
            json!({"error": {"type": "timeout", "message": "longer than its limit of 2 s", "hint": "call functions at the same time"}}),
        ),
        (
            "from demo.functions import get_item\nget_item('slow')",
            "await demo.getItem({ id: 'slow' })",
            json!({"error": {"type": "timeout"}}),
        ),
        (
            "x = []\nwhile True: x.append(b'x' * 1000000)",
            "const x: any[] = [];\nfor (;;) x.push(new Uint8Array(1000000))",
            json!({"error": {"type": "memory", "message": "more memory than its limit"}}),
        ),
        (
            "while True: print('x' * 100)",
            "for (;;) console.log('x'.repeat(100))",
            json!({"error": {"type": "output", "message": "larger than its limit of 10000 bytes"}}),
        ),
        (
            "result = 'x' * 10001",
            "result = 'x'.repeat(10001)",
            json!({"error": {"type": "output"}}),
        ),
        (
            "from demo.functions import get_item\nwhile True: get_item('1')",
            "for (;;) await demo.getItem({ id: '1' })",
            json!({"error": {"type": "policy", "message": "made the 5 calls"}}),
        ),
        (
            comment[0].as_str(),
            comment[1].as_str(),
            json!({"error": {"type": "argument", "message": "2001 bytes"}}),
        ),
    ] {
        cases.extend([case, next.clone()]);
    }
    check(SandboxOptions { limits, ..options() }, &cases).await;
}

#[tokio::test]
async fn calls_that_nobody_waited_for_are_finished_and_told() {
    let sandbox = Sandbox::new(options());
    // The first call has its answer only when the second is made, which is after the program's end.
    for (language, source) in [
        (
            Language::Python,
            "import asyncio\nfrom demo.aio import get_item\nasync def later():\n    await asyncio.sleep(0.5)\n    await get_item('pair')\n\
             async def main():\n    asyncio.create_task(get_item('pair'))\n    asyncio.create_task(later())\n    return 1",
        ),
        (
            Language::TypeScript,
            "demo.getItem({ id: 'pair' });\nsetTimeout(() => demo.getItem({ id: 'pair' }), 500);\nresult = 1",
        ),
    ] {
        let api = Arc::new(Api::default());
        let outcome = sandbox.run(program_in(language, source), Arc::clone(&api) as _).await;
        assert_eq!(seen(&outcome), value(json!(1)), "{source}");
        let note = "note: the program ended before a call of `demo.get_item` had an answer; put `await` before calls";
        assert!(outcome.logs.contains(note), "{source}: {}", outcome.logs);
        assert_eq!(api.calls.load(Ordering::SeqCst), 2, "{source}");
    }
    sandbox.stop().await;
}

#[tokio::test]
async fn errors_that_nobody_handled_are_told() {
    let sandbox = Sandbox::new(options());
    let python = "import asyncio\nasync def bad():\n    raise ValueError('lost')\nasync def main():\n    asyncio.create_task(bad())\n    \
                  await asyncio.sleep(0)\n    return 1";
    let outcome = sandbox.run(program_in(Language::Python, python), Arc::new(Api::default())).await;
    assert!(outcome.logs.contains("ValueError: lost"), "{}", outcome.logs);
    let forgotten = "async def f():\n    pass\nf()\nresult = 1";
    let outcome = sandbox.run(program_in(Language::Python, forgotten), Arc::new(Api::default())).await;
    assert!(outcome.logs.contains("was never awaited"), "{}", outcome.logs);
    for typescript in [
        "async function bad() {\n  throw new Error('lost') }\nbad();\nresult = 1",
        "\nqueueMicrotask(() => { throw new Error('lost') });\nresult = 1",
    ] {
        let outcome = sandbox
            .run(program_in(Language::TypeScript, typescript), Arc::new(Api::default()))
            .await;
        let wanted = json!({"error": {"type": "exception", "message": "Error: lost", "line": 2}});
        assert!(is_within(&wanted, &seen(&outcome)), "{typescript}: {:?}", outcome.result);
    }
    sandbox.stop().await;
}

#[tokio::test]
async fn what_models_write_beside_the_usual_works() {
    check(
        options(),
        &[
            (
                "import asyncio\nloop = asyncio.get_event_loop()\nasync def f(): return 3\nresult = loop.run_until_complete(f())",
                "const f = async () => 3;\nresult = await f()",
                value(json!(3)),
            ),
            (
                "result = sorted(['b', 'C', 'a'], key=str.lower)",
                "result = ['b', 'C', 'a'].sort((a, b) => a.localeCompare(b))",
                value(json!(["a", "b", "C"])),
            ),
            (
                "result = [f'{n:,.2f}' for n in [1234.5]]",
                "result = [1234.5].map(Intl.NumberFormat('en-US', { minimumFractionDigits: 2 }).format)",
                value(json!(["1,234.50"])),
            ),
        ],
    )
    .await;
}

#[tokio::test]
async fn processor_time_is_limited_apart_from_the_wall_clock() {
    let limits = Limits {
        cpu: Some(Duration::from_secs(1)),
        ..Limits::default()
    };
    let spent = json!({"error": {"type": "timeout", "message": "more processor time than its limit of 1 s"}});
    check(
        SandboxOptions { limits, ..options() },
        &[
            ("while True: pass", "for (;;);", spent),
            ("result = 1", "result = 1", value(json!(1))),
        ],
    )
    .await;
}

#[tokio::test]
async fn no_more_calls_are_under_way_than_may_be() {
    let limits = Limits {
        parallel_calls: 3,
        ..Limits::default()
    };
    let sandbox = Sandbox::new(SandboxOptions { limits, ..options() });
    for (language, source) in [
        (
            Language::Python,
            "import asyncio\nfrom demo.aio import get_item\nresult = sum(await asyncio.gather(*[get_item('three') for _ in range(21)]))",
        ),
        (
            Language::TypeScript,
            "const all = await Promise.all(Array.from({ length: 21 }, () => demo.getItem({ id: 'three' })));\nresult = all.length",
        ),
    ] {
        let api = Arc::new(Api::default());
        let outcome = sandbox.run(program_in(language, source), Arc::clone(&api) as _).await;
        assert_eq!(seen(&outcome), value(json!(21)), "{source}");
        assert_eq!(api.most_under_way.load(Ordering::SeqCst), 3, "{source}");
    }
    sandbox.stop().await;
}

#[tokio::test]
async fn limits_of_the_kernel_name_themselves() {
    let limits = Limits {
        tmp_mib: 1,
        processes: 4,
        open_files: 24,
        ..Limits::default()
    };
    // Programs in TypeScript have no files, threads or processes at all.
    let none = |name: &str| json!({"error": {"type": "exception", "message": format!("{name} is not defined")}});
    let sandbox = Sandbox::new(SandboxOptions { limits, ..options() });
    for (python, message, typescript, name) in [
        (
            "open('/tmp/a', 'wb').write(b'x' * (2 << 20))",
            "the limit on bytes and files in /tmp is reached",
            "Deno.writeTextFile('/tmp/a', 'x')",
            "Deno",
        ),
        (
            "files = [open('/tmp/a', 'w') for _ in range(30)]",
            "the limit on open files is reached",
            "Bun.file('/tmp/a')",
            "Bun",
        ),
        (
            "import threading\nwait = threading.Event()\nfor _ in range(10): threading.Thread(target=wait.wait, daemon=True).start()",
            "the limit on threads and processes is reached",
            "new Worker('a')",
            "Worker",
        ),
    ] {
        let error = seen(&sandbox.run(program_in(Language::Python, python), Arc::new(Api::default())).await);
        assert!(
            error["error"]["message"].as_str().unwrap_or_default().contains(message),
            "{python}: {error}"
        );
        let error = seen(
            &sandbox
                .run(program_in(Language::TypeScript, typescript), Arc::new(Api::default()))
                .await,
        );
        assert!(is_within(&none(name), &error), "{typescript}: {error}");
        for language in [Language::Python, Language::TypeScript] {
            let next = sandbox.run(program_in(language, "result = 1"), Arc::new(Api::default())).await;
            assert_eq!(seen(&next), value(json!(1)));
        }
    }
    sandbox.stop().await;
}

#[tokio::test]
async fn further_pages_are_walked_by_the_same_rules() {
    let items = || value(json!([0, 1, 2, 3, 4, 5, 6]));
    check_walks(&[
        ("result = list(paginate(list_items))", "paginate(demo.listItems)", "it", items()),
        (
            "result = list(paginate(list_items, {'kind': 'address'}))",
            "paginate(demo.listItems, { kind: 'address' })",
            "it",
            items(),
        ),
        (
            "result = [page['items'] for page in paginate(list_items, pages=True)]",
            "paginate(demo.listItems, {}, { pages: true })",
            "it.items",
            value(json!([[0, 1, 2], [3, 4, 5], [6]])),
        ),
        (
            "result = list(paginate(list_items, {'kind': 'endless'}, max_pages=4))",
            "paginate(demo.listItems, { kind: 'endless' }, { maxPages: 4 })",
            "it",
            value(json!([1, 1, 1, 1])),
        ),
        (
            "result = list(paginate(list_items, how={'by': 'offset', 'parameter': 'cursor', 'items': 'items'}))",
            "paginate(demo.listItems, {}, { how: { by: 'offset', parameter: 'cursor', items: 'items' } })",
            "it",
            items(),
        ),
    ])
    .await;
}

#[tokio::test]
async fn walks_over_pages_end_with_the_same_errors() {
    let refused = |kind: &str, message: &str| json!({"error": {"type": kind, "message": message}});
    check_walks(&[
        (
            "list(paginate(list_items, {'kind': 'endless'}))",
            "paginate(demo.listItems, { kind: 'endless' })",
            "it",
            refused("output", "has more than 100 pages"),
        ),
        (
            "list(paginate(list_items, {'kind': 'stuck'}))",
            "paginate(demo.listItems, { kind: 'stuck' })",
            "it",
            refused("output", "gave the same page twice"),
        ),
        (
            "list(paginate(list_items, {'kind': 'unknown'}, how={}))",
            "paginate(demo.listItems, { kind: 'unknown' }, { how: {} })",
            "it",
            refused("argument", "has more pages, but the document does not say how"),
        ),
        (
            "list(paginate(list_items, how={'items': 'next.deep', 'by': 'links'}))\npaginate(list_items, how={'by': 'magic'})",
            "paginate(demo.listItems, {}, { how: { by: 'magic' } as any })",
            "it",
            refused("argument", "pages are not asked for by 'magic'"),
        ),
        (
            "paginate(list_items, how={'by': 'cursor'})",
            "paginate(demo.listItems, {}, { how: { by: 'cursor' } })",
            "it",
            refused("argument", "`how` by `cursor` needs `next`"),
        ),
        (
            "paginate(len)",
            "paginate(Math.max as any)",
            "it",
            refused("argument", "takes a function of a server"),
        ),
        (
            "list(paginate(list_items, {'nope': 1}))",
            "paginate(demo.listItems, { nope: 1 })",
            "it",
            refused("argument", "has no argument `nope`"),
        ),
    ])
    .await;
}

/// The end of a program in Python, what is walked in TypeScript and what is kept of each step, and what both come to.
type Walk<'c> = (&'c str, &'c str, &'c str, Value);

async fn check_walks(walks: &[Walk<'_>]) {
    let python = |rest: &str| format!("from mce import paginate\nfrom demo.functions import list_items\n{rest}");
    let typescript = |walk: &str, each: &str| {
        format!("import {{ paginate }} from 'mce';\nconst all: any[] = [];\nfor await (const it of {walk}) all.push({each});\nresult = all")
    };
    let programs: Vec<_> = walks
        .iter()
        .map(|(rest, walk, each, expected)| (python(rest), typescript(walk, each), expected.clone()))
        .collect();
    let cases: Vec<Case<'_>> = programs
        .iter()
        .map(|(one, other, expected)| (one.as_str(), other.as_str(), expected.clone()))
        .collect();
    check(options(), &cases).await;
}

#[tokio::test]
async fn values_are_kept_for_later_runs() {
    let sandbox = Sandbox::new(options());
    for (save, load, unknown) in [
        (
            (
                Language::Python,
                "from mce import save\nresult = save({'n': 2**70, 'x': [1.5, 'é']})",
            ),
            "from mce import load\nresult = load('r_1')",
            "from mce import load\n\nload('r_2')",
        ),
        (
            (
                Language::TypeScript,
                "import { save } from 'mce';\nresult = await save({ n: 2n ** 70n, x: [1.5, 'é'] })",
            ),
            "import { load } from 'mce';\nresult = await load('r_1')",
            "import { load } from 'mce';\n\nawait load('r_2')",
        ),
    ] {
        let api = Arc::new(Api::default());
        let run = async |source: &str| seen(&sandbox.run(program_in(save.0, source), Arc::clone(&api) as _).await);
        assert_eq!(run(save.1).await, value(json!("r_1")));
        let expected = serde_json::from_str(r#"{"n": 1180591620717411303424, "x": [1.5, "é"]}"#).unwrap();
        assert_eq!(run(load).await, value(expected));
        let error = run(unknown).await;
        let wanted = json!({"error": {"type": "argument", "message": "no value is kept under `r_2`", "line": 3}});
        assert!(is_within(&wanted, &error), "{error}");
    }
    sandbox.stop().await;
}

#[tokio::test]
async fn what_cannot_be_kept_is_refused() {
    let large = "the value is larger than 16777216 bytes";
    check(
        options(),
        &[
            (
                "from mce import save\nsave('x' * (17 << 20))",
                "import { save } from 'mce';\nawait save('x'.repeat(17 << 20))",
                json!({"error": {"type": "argument", "message": large, "line": 2}}),
            ),
            (
                "from mce import save\nsave(lambda: 1)",
                "import { save } from 'mce';\nawait save(() => 1)",
                json!({"error": {"type": "argument", "message": "has no JSON form", "line": 2}}),
            ),
            (
                "from mce import load\nload(1)",
                "import { load } from 'mce';\nawait load(1 as any)",
                json!({"error": {"type": "argument", "message": "the id of a value is a text", "line": 2}}),
            ),
        ],
    )
    .await;
}

#[tokio::test]
async fn a_language_model_is_asked_in_the_same_words() {
    let one = r#"{"messages":[{"role":"user","content":"hi"}],"max_tokens":1000}"#;
    let all =
        r#"{"messages":[{"role":"system","content":"s"},{"role":"user","content":"u"}],"max_tokens":5,"model":"m","system_prompt":"p"}"#;
    let wrong = |message: &str| json!({"error": {"type": "argument", "message": message}});
    check(
        options(),
        &[
            (
                "result = await llm.ask('hi')",
                "result = await llm.ask('hi')",
                json!({"value": one}),
            ),
            (
                "import asyncio\nfrom mce import llm\nresult = await asyncio.gather(llm.ask('hi'), llm.ask('hi'))",
                "import { llm } from 'mce';\nresult = await Promise.all([llm.ask('hi'), llm.ask('hi')])",
                json!({"value": [one, one]}),
            ),
            (
                "result = await llm.think([{'role': 'system', 'content': 's'}, {'role': 'user', 'content': 'u'}], 'm', 5, 'p')",
                "result = await llm.think({ messages: [{ role: 'system', content: 's' }, { role: 'user', content: 'u' }], \
                 model: 'm', maxTokens: 5, systemPrompt: 'p' })",
                json!({"value": all}),
            ),
            (
                "result = await llm.think([{'role': 'user', 'content': 'hi'}])",
                "result = await llm.think([{ role: 'user', content: 'hi' }])",
                json!({"value": one}),
            ),
            (
                "await llm.ask('hi', max_tokens=0)",
                "await llm.ask('hi', { maxTokens: 0 })",
                json!({"error": {"type": "argument"}}),
            ),
            (
                "await llm.ask({'a': 1})",
                "await llm.ask({ a: 1 } as any)",
                wrong("a message has a `role` (`user`, `assistant` or `system`) and a `content`, which is a text"),
            ),
            (
                "await llm.think([])",
                "await llm.think([])",
                wrong("`messages` is a list with at least one message"),
            ),
            (
                "await llm.ask('hi', stream=True)",
                "await llm.ask('hi', { stream: true })",
                wrong("`stream` is not offered"),
            ),
        ],
    )
    .await;
}

#[tokio::test]
async fn prints_are_kept_in_order_and_survive_every_end() {
    let logs = "a b\nc\n\u{fffd}\n";
    check(
        options(),
        &[
            (
                "import sys\nprint('a', 'b')\nprint('c', file=sys.stderr)\nprint('\\ud800')\nresult = 1",
                "console.log('a', 'b');\nconsole.error('c');\nconsole.log('\\ud800');\nresult = 1",
                json!({"value": 1, "logs": logs}),
            ),
            (
                "import sys\nprint('a', 'b')\nprint('c', file=sys.stderr)\nprint('\\ud800')\n1 / 0",
                "console.log('a', 'b');\nconsole.error('c');\nconsole.log('\\ud800');\nthrow 1",
                json!({"logs": logs}),
            ),
        ],
    )
    .await;
}

#[tokio::test]
async fn a_dropped_run_is_killed_and_its_calls_are_dropped() {
    let sandbox = Sandbox::new(options());
    for (language, source) in [
        (Language::Python, "from demo.functions import get_item\nget_item('slow')"),
        (Language::TypeScript, "await demo.getItem({ id: 'slow' })"),
    ] {
        let api = Arc::new(Api::default());
        let mut under_way = Box::pin(sandbox.run(program_in(language, source), Arc::clone(&api) as _));
        while api.calls.load(Ordering::SeqCst) == 0 {
            assert!((&mut under_way).now_or_never().is_none());
            tokio::task::yield_now().await;
        }
        drop(under_way);
        assert_eq!(api.dropped.load(Ordering::SeqCst), 1);
        let next = sandbox.run(program_in(language, "result = 1"), Arc::new(Api::default())).await;
        assert_eq!(seen(&next), value(json!(1)));
    }
    sandbox.stop().await;
}

#[tokio::test]
async fn a_cold_sandbox_makes_a_jail_for_each_run() {
    let cold = SandboxOptions {
        is_warm: false,
        ..options()
    };
    let case = || ("result = 1 + 1", "result = 1 + 1", value(json!(2)));
    check(cold, &[case(), case()]).await;
}
