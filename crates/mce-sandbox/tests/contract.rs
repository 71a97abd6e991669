//! The program contract: one program and what must come of it, for each rule. Runs in the real jail.
#![cfg(test)]

mod support;

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use futures_util::FutureExt as _;
use mce_sandbox::{ErrorKind, Limits, Outcome, Program, Sandbox, SandboxOptions};
use serde_json::{Value, json};
use support::{Api, inputs, options, program, run, seen};

/// Each program must have exactly this value.
async fn check_values(cases: &[(&str, Value)]) {
    let sandbox = Sandbox::new(options());
    for (source, expected) in cases {
        assert_eq!(seen(&run(&sandbox, source).await), json!({ "value": expected }), "\n{source}");
    }
    sandbox.stop().await;
}

/// Each program must fail like this; only the given members are compared.
async fn check_errors(cases: &[(&str, Value)]) {
    let sandbox = Sandbox::new(options());
    for (source, expected) in cases {
        let found = seen(&run(&sandbox, source).await);
        for (member, value) in expected.as_object().unwrap() {
            assert_eq!(&found["error"][member], value, "`{member}` of {found:#}\n{source}");
        }
    }
    sandbox.stop().await;
}

fn kind_of(outcome: &Outcome) -> Option<ErrorKind> {
    outcome.result.as_ref().err().map(|error| error.kind)
}

#[tokio::test]
async fn a_program_has_the_value_of_main_else_result_else_its_last_expression() {
    let count = "from demo.functions import get_item\ndef main():\n    return get_item(id='1')['echo']['id']\n";
    check_values(&[
        ("result = 1 + 1", json!(2)),
        ("x = 20\nx + 1", json!(21)),
        ("x = 20", json!(null)),
        ("", json!(null)),
        ("print('only text')", json!(null)),
        ("5\nresult = 6", json!(6)),
        ("def main():\n    return 'main'\nresult = 'result'", json!("main")),
        ("def main():\n    return {'a': 1}", json!({"a": 1})),
        ("async def main():\n    return 'async'", json!("async")),
        ("async def main():\n    return 'async'\nresult = main()", json!("async")),
        ("async def main():\n    return 'async'\nresult = await main()", json!("async")),
        (
            "import asyncio\nasync def main():\n    return 'run'\nasyncio.run(main())",
            json!("run"),
        ),
        (
            "def main():\n    return 'guard'\nif __name__ == '__main__':\n    main()",
            json!("guard"),
        ),
        (
            "def main():\n    return 'guard'\nif __name__ == '__main__':\n    print(main())",
            json!("guard"),
        ),
        ("def main(n):\n    return n * 2\nresult = main(4)", json!(8)),
        ("import asyncio\nawait asyncio.sleep(0)\nresult = 'top'", json!("top")),
        (
            "import asyncio\nasync def f():\n    return 1\nawait asyncio.sleep(0)\nresult = asyncio.run(f())",
            json!(1),
        ),
        ("async def f():\n    return 3\nf()", json!(3)),
        ("import sys\nresult = 4\nsys.exit()", json!(4)),
        ("result = 4\nexit(0)", json!(4)),
        (&format!("{count}result = main()"), json!("1")),
        ("\u{feff}result = 'bom'", json!("bom")),
        (
            &format!("def main():\n    return 1\nx = {}1\nresult = main() + x", "1+".repeat(1500)),
            json!(1502),
        ),
        (
            "import dataclasses\n@dataclasses.dataclass\nclass P:\n    x: 'int'\nresult = P(1)",
            json!({"x": 1}),
        ),
    ])
    .await;
}

#[tokio::test]
async fn main_is_called_once() {
    let sandbox = Sandbox::new(options());
    for (ending, value) in [
        ("", json!(1)),
        ("result = main()", json!(1)),
        ("main()", json!(1)),
        ("if __name__ == '__main__':\n    main()", json!(1)),
        ("print(main())", json!(1)),
        ("f = main\nresult = f()", json!(1)),
        ("def run():\n    return main()\nresult = run()", json!(1)),
        ("def retry(f):\n    return f()\nresult = retry(main)", json!(1)),
        ("result = globals()['main']()", json!(1)),
        (
            "class R:\n    def __init__(self):\n        self.v = main()\nresult = R().v",
            json!(1),
        ),
        ("from mce import parallel\nresult = parallel([main])", json!([1])),
        (
            "import threading\nt = threading.Thread(target=main)\nt.start()\nt.join()",
            json!(null),
        ),
    ] {
        let source = format!("def main():\n    print('called')\n    return 1\n{ending}\n");
        let outcome = run(&sandbox, &source).await;
        assert_eq!(outcome.logs.matches("called").count(), 1, "{source}");
        assert_eq!(seen(&outcome), json!({ "value": value }), "{source}");
    }
    sandbox.stop().await;
}

#[tokio::test]
async fn values_become_json_by_the_stated_rules() {
    check_values(&[
        ("result = [None, True, 1, 1.5, 'é', '😀']", json!([null, true, 1, 1.5, "é", "😀"])),
        ("result = [float('nan'), float('inf'), -float('inf')]", json!([null, null, null])),
        ("import datetime as d\nresult = [d.date(2020, 1, 2), d.datetime(2020, 1, 2, 3), d.time(4), d.timedelta(seconds=90)]", json!(["2020-01-02", "2020-01-02T03:00:00", "04:00:00", 90.0])),
        ("import decimal, fractions, uuid, pathlib\nresult = [decimal.Decimal('1.10'), fractions.Fraction(1, 3), uuid.UUID(int=1), pathlib.Path('/a/b')]", json!(["1.10", "1/3", "00000000-0000-0000-0000-000000000001", "/a/b"])),
        ("result = [{3, 1, 2}, frozenset('ba'), (1, 2), range(3), (x for x in 'ab'), {1: 2}.keys()]", json!([[1, 2, 3], ["a", "b"], [1, 2], [0, 1, 2], ["a", "b"], [1]])),
        ("result = b'abc'", json!({"base64": "YWJj"})),
        ("result = {1: 'a', None: 'b', True: 'c', 'd': 'e', 1.5: 'f'}", json!({"1": "c", "null": "b", "d": "e", "1.5": "f"})),
        ("import enum\nclass C(enum.Enum):\n    A = 'a'\nclass I(enum.IntEnum):\n    B = 2\nresult = [C.A, I.B]", json!(["a", 2])),
        ("import collections\nP = collections.namedtuple('P', 'x y')\nresult = [P(1, 2), collections.Counter('aab'), collections.deque([1]), collections.OrderedDict(a=1)]", json!([{"x": 1, "y": 2}, {"a": 2, "b": 1}, [1], {"a": 1}])),
        ("class M:\n    def model_dump(self):\n        return {'dumped': 1}\nresult = M()", json!({"dumped": 1})),
        ("result = [ValueError('no'), KeyError('k')]", json!([{"error": "ValueError: no"}, {"error": "KeyError: 'k'"}])),
        ("result = ['\\ud800x', '\\ud83d\\ude00', {'\\udfff': 1}]", json!(["\u{fffd}x", "😀", {"\u{fffd}": 1}])),
        ("class L(list):\n    def __iter__(self):\n        while True:\n            yield 1\nresult = L([1, 2])", json!([1, 2])),
        ("import asyncio\nf = asyncio.get_event_loop_policy().new_event_loop().create_future()\nf.set_result(5)\nresult = 5", json!(5)),
    ])
    .await;
}

#[tokio::test]
async fn integers_stay_exact_in_both_directions() {
    let sandbox = Sandbox::new(options());
    let source = "from demo.functions import get_item\nresult = [get_item(id=10**40)['echo']['id'], 2**63, 10**5000 % 10**30]";
    let outcome = run(&sandbox, source).await;
    let expected = format!("[1{},9223372036854775808,0]", "0".repeat(40));
    assert_eq!(outcome.result.unwrap().get(), expected);
    sandbox.stop().await;
}

#[tokio::test]
async fn what_has_no_json_form_is_an_error_that_says_where() {
    check_errors(&[
        (
            "class X: pass\nresult = {'a': [X()]}",
            json!({"type": "exception", "message": "`result.a[0]` is of type `X`, which has no JSON form"}),
        ),
        (
            "a = []\na.append(a)\nresult = {'b': a}",
            json!({"type": "exception", "message": "the value contains itself at `result.b[0]`"}),
        ),
        ("d = None\nfor _ in range(3000): d = [d]\nresult = d", json!({"type": "exception"})),
        (
            "async def f(): pass\nresult = [f()]",
            json!({"type": "exception", "message": "`result[0]` was never awaited"}),
        ),
        ("import itertools\nresult = itertools.count()", json!({"type": "output"})),
        ("result = 'x' * (2 << 20)", json!({"type": "output"})),
        (
            "level = ['lol'] * 10\nfor _ in range(9): level = [level] * 10\nresult = level",
            json!({"type": "output"}),
        ),
    ])
    .await;
}

/// Said to a program that awaits what is no awaitable.
const AT_ONCE: &str = "functions of `<server>.functions` give their values at once; awaitable ones are in `<server>.aio`";

#[tokio::test]
async fn errors_name_type_line_source_and_what_to_do() {
    check_errors(&[
        ("x = 1\nprnt(x)", json!({"type": "exception", "message": "NameError: name 'prnt' is not defined", "line": 2, "source": "prnt(x)", "hint": "did you mean `print`?"})),
        ("def f():\n    return 1 / 0\n\nf()", json!({"message": "ZeroDivisionError: division by zero", "line": 2, "source": "return 1 / 0"})),
        ("import json\n\njson.loads('{')", json!({"line": 3, "source": "json.loads('{')"})),
        ("result = {'name': 1}.name", json!({"line": 1, "hint": "answers are plain data: write `['name']`"})),
        ("x = (\ny = 1", json!({"type": "syntax", "line": 1, "source": "x = ("})),
        ("def f(:\n  pass", json!({"type": "syntax", "line": 1})),
        ("x = '\0'", json!({"type": "syntax"})),
        ("return 5", json!({"type": "syntax", "message": "SyntaxError: 'return' outside function", "line": 1, "hint": "assign to `result`, or put the code into `def main():`"})),
        (&"(".repeat(10_000), json!({"type": "syntax"})),
        (&format!("result = {}1", "-".repeat(60_000)), json!({"type": "syntax"})),
        ("import ast\nast.parse('(')", json!({"type": "exception", "line": 2})),
        ("import sys\nsys.exit(3)", json!({"type": "exception", "message": "SystemExit: the program ended itself with 3", "line": 2})),
        ("raise SystemExit('why')", json!({"type": "exception", "message": "SystemExit: the program ended itself with why"})),
        ("raise KeyboardInterrupt", json!({"type": "exception", "message": "KeyboardInterrupt"})),
        ("def f(): f()\nf()", json!({"type": "exception", "line": 1})),
        ("import nope", json!({"type": "exception", "message": "ModuleNotFoundError: No module named 'nope'", "hint": "import from the standard library, installed libraries, or `<server>.functions` of: `demo`, `locked`, `calendar`, `typed`"})),
        ("import dem", json!({"hint": "did you mean `demo`?"})),
        ("from demo.functions import get_item\nawait get_item(id='1')", json!({"type": "argument", "line": 2, "hint": "leave out `await`, or import it from `demo.aio`"})),
        ("from demo.functions import get_item\nf = get_item\nawait f(id='1')", json!({"type": "exception", "line": 3, "hint": AT_ONCE})),
        ("import asyncio\nfrom demo.functions import get_item\nawait asyncio.gather(get_item(id='1'))", json!({"type": "exception", "line": 3, "hint": AT_ONCE})),
        ("import multiprocessing\nmultiprocessing.Pool(2)", json!({"type": "exception", "line": 2, "hint": "programs are one process: use `concurrent.futures.ThreadPoolExecutor`, or `from mce import parallel`"})),
        ("def main(a): pass", json!({"type": "exception", "message": "TypeError: main() missing 1 required positional argument: 'a'"})),
        ("class E(Exception):\n    def __str__(self):\n        raise ValueError\nraise E", json!({"type": "exception", "message": "E: (its text cannot be read)", "line": 4})),
    ])
    .await;
}

#[tokio::test]
async fn pools_of_threads_work_by_each_of_their_names() {
    let used = "result = pool.map(lambda n: n * 2, range(4))";
    let several = format!("from multiprocessing.pool import ThreadPool\nwith ThreadPool(2) as pool:\n    {used}");
    let dummy = format!("from multiprocessing.dummy import Pool\nwith Pool(2) as pool:\n    {used}");
    let lock = "import multiprocessing\nwith multiprocessing.Lock():\n    result = [0, 2, 4, 6]";
    check_values(&[
        (&several, json!([0, 2, 4, 6])),
        (&dummy, json!([0, 2, 4, 6])),
        (lock, json!([0, 2, 4, 6])),
    ])
    .await;
}

#[tokio::test]
async fn functions_are_called_by_position_and_by_name_in_every_way_that_is_offered() {
    check_values(&[
        ("from demo.functions import get_item\nresult = get_item('1')", json!({"echo": {"id": "1"}})),
        ("from demo.functions import get_item as g\nresult = g(id='1')", json!({"echo": {"id": "1"}})),
        ("from demo.functions import *\nresult = get_item('1')", json!({"echo": {"id": "1"}})),
        ("import demo.functions\nresult = demo.functions.get_item('1')", json!({"echo": {"id": "1"}})),
        ("import demo\nresult = demo.functions.create_item('small', {'a': 1})", json!({"echo": {"kind": "small", "body": {"a": 1}}})),
        ("from demo import functions as f\nresult = f.get_item(id=b'ab')", json!({"echo": {"id": {"base64": "YWI="}}})),
        ("from demo.aio import get_item\nresult = await get_item('1')", json!({"echo": {"id": "1"}})),
        ("from mce import call_function\nresult = call_function('demo.get_item', {'id': '1'})", json!({"echo": {"id": "1"}})),
        ("from mce import call_function\nresult = call_function('demo.get_item', id='1')", json!({"echo": {"id": "1"}})),
        ("result = await call_mcp_tool('mcp__demo__get_item', {'id': '1'})", json!({"echo": {"id": "1"}})),
        ("result = await search_tools('item', limit=3)", json!([{"name": "get_item", "query": "item", "by": "words", "limit": 3}])),
        ("result = (await get_tool_schema('mcp__demo__get_item'))['name']", json!("mcp__demo__get_item")),
        ("result = await get_tool_schema('mcp__nope__get_item')", json!(null)),
        (
            "import calendar\nfrom calendar.functions import get_item\nresult = [get_item('1'), calendar.isleap(2024)]",
            json!([{"echo": {"id": "1"}}, true]),
        ),
        ("from demo.functions import get_item\nb = get_item('bytes')\nresult = [type(b).__name__, list(b)]", json!(["bytes", [0, 255, 7]])),
        ("from demo.functions import get_item\nresult = len(get_item('huge'))", json!(6 << 20)),
        ("import demo.functions, inspect\nf = demo.functions.get_item\nresult = [f.__name__, f.__doc__, str(inspect.signature(f)), dir(demo.functions)]", json!(["get_item", "get_item(...) -> dict", "(id)", ["create_item", "get_item", "list_items"]])),
        ("try:\n    from demo.functions import none\nexcept ImportError:\n    result = 'fallback'", json!("fallback")),
        ("from demo.functions import get_item\nimport threading\nout = []\nts = [threading.Thread(target=lambda i=i: out.append(get_item(str(i))['echo']['id'])) for i in range(10)]\n[t.start() for t in ts]\n[t.join() for t in ts]\nresult = sorted(out)", json!(["0", "1", "2", "3", "4", "5", "6", "7", "8", "9"])),
    ])
    .await;
}

#[tokio::test]
async fn calls_at_the_same_time_really_overlap() {
    // The host answers none of these calls before ten of them are under way.
    check_values(&[
        ("import asyncio\nfrom demo.aio import get_item\nresult = len(await asyncio.gather(*[get_item('meet') for _ in range(10)]))", json!(10)),
        ("import asyncio\nfrom demo.aio import get_item\nasync def main():\n    return len(await asyncio.gather(*[get_item('meet') for _ in range(10)]))\nresult = asyncio.run(main())", json!(10)),
        ("from mce import parallel\nfrom demo.functions import get_item\nresult = parallel([lambda: get_item('meet')] * 10)", json!(["met", "met", "met", "met", "met", "met", "met", "met", "met", "met"])),
        ("from demo.aio import get_item\nimport asyncio\nresult = len(await asyncio.gather(*[get_item('x' * 50_000) for _ in range(200)]))", json!(200)),
    ])
    .await;
}

#[tokio::test]
async fn calls_work_from_threads_loops_and_within_each_other() {
    let both =
        "import asyncio\nfrom concurrent.futures import ThreadPoolExecutor\nfrom demo.functions import get_item\nfrom demo import aio\n";
    let one = |source: &str, expected: Value| {
        let source = format!("{both}{source}");
        (source, expected)
    };
    let cases = [
        one(
            "with ThreadPoolExecutor(10) as pool:\n    result = len(list(pool.map(get_item, ['meet'] * 10)))",
            json!(10),
        ),
        one(
            "result = get_item(get_item(get_item('1')['echo']['id'])['echo']['id'])['echo']['id']",
            json!("1"),
        ),
        one(
            "result = sorted(['2', '1'], key=lambda i: get_item(i)['echo']['id'])",
            json!(["1", "2"]),
        ),
        one("result = await asyncio.to_thread(get_item, '1')", json!({"echo": {"id": "1"}})),
        one(
            "async def main():\n    return get_item((await aio.get_item('1'))['echo']['id'])['echo']['id']",
            json!("1"),
        ),
        one(
            "async def f():\n    return await aio.get_item('1')\ndef g():\n    return asyncio.run(f())\nasync def main():\n    return g()['echo']['id']",
            json!("1"),
        ),
        one(
            "async def main():\n    tasks = [asyncio.create_task(aio.get_item(str(i))) for i in range(3)]\n    return [(await task)['echo']['id'] for task in tasks]",
            json!(["0", "1", "2"]),
        ),
        one(
            "async def main():\n    return [r['echo']['id'] async for r in each()]\nasync def each():\n    for i in '12':\n        yield await aio.get_item(i)",
            json!(["1", "2"]),
        ),
        one(
            "try:\n    await asyncio.wait_for(aio.get_item('slow'), 0.01)\nexcept (asyncio.TimeoutError, TimeoutError):\n    result = get_item('1')['echo']['id']",
            json!("1"),
        ),
        one(
            "found = await asyncio.gather(aio.get_item('1'), aio.get_item('fail'), return_exceptions=True)\nresult = [found[0]['echo']['id'], found[1].status]",
            json!(["1", 404]),
        ),
        one(
            "loop = asyncio.new_event_loop()\nresult = loop.run_until_complete(aio.get_item('1'))['echo']['id']",
            json!("1"),
        ),
    ];
    let cases: Vec<_> = cases.iter().map(|(source, expected)| (source.as_str(), expected.clone())).collect();
    check_values(&cases).await;
}

#[tokio::test]
async fn arguments_may_be_any_text_and_data_that_ends() {
    check_values(&[
        ("from demo.functions import get_item\nresult = get_item('é😀\\u2028\\0\\ud83d\\ude00')['echo']['id']", json!("é😀\u{2028}\0😀")),
        ("from demo.functions import get_item\nresult = get_item('\\ud800')['echo']['id']", json!("\u{fffd}")),
        ("from demo.functions import create_item\nimport datetime\nresult = create_item(body={'d': datetime.date(2020, 1, 2), 's': {1}})['echo']['body']", json!({"d": "2020-01-02", "s": [1]})),
        ("from demo.functions import create_item\nd = []\nfor _ in range(90): d = [d]\nn = 0\nx = create_item(body=d)['echo']['body']\nwhile x: x = x[0]; n += 1\nresult = n", json!(90)),
        ("from demo.functions import create_item\nresult = len(create_item(body='x' * (3 << 20))['echo']['body'])", json!(3 << 20)),
        ("π = 'größe'\nresult = {π: '𝒳'}", json!({"größe": "𝒳"})),
    ])
    .await;
    check_errors(&[
        (
            "from demo.functions import create_item\na = {}\na['b'] = a\ncreate_item(body=a)",
            json!({"line": 4}),
        ),
        (
            "from demo.functions import create_item\nd = []\nfor _ in range(5000): d = [d]\ncreate_item(body=d)",
            json!({"line": 4}),
        ),
        (
            "from demo.functions import create_item\ncreate_item(body=object())",
            json!({"line": 2}),
        ),
    ])
    .await;
}

#[tokio::test]
async fn failures_of_calls_are_exceptions_and_errors_of_their_type() {
    check_errors(&[
        ("from demo.functions import get_item\n\nget_item('fail')", json!({"type": "api", "status": 404, "body": {"detail": "no such item"}, "function": "demo.get_item", "line": 3, "message": "`demo.get_item` answered with status 404"})),
        ("from mce import call_function\ncall_function('demo.none', {})", json!({"type": "argument", "message": "there is no such function", "line": 2})),
        ("await call_mcp_tool(5, {})", json!({"type": "argument"})),
    ])
    .await;
    check_values(&[
        ("from demo.functions import get_item\ntry:\n    get_item('fail')\nexcept ApiError as e:\n    result = [e.status, e.body, e.function, e.message]", json!([404, {"detail": "no such item"}, "demo.get_item", "`demo.get_item` answered with status 404"])),
        ("import mce\nresult = mce.ApiError is ApiError and issubclass(ApiError, mce.CallError)", json!(true)),
    ])
    .await;
}

#[tokio::test]
async fn what_the_catalog_refuses_is_refused_before_anything_happened() {
    let sandbox = Sandbox::new(options());
    let first = "from demo.functions import get_item, create_item\nget_item('1')\n";
    for (rest, message, hint) in [
        (
            "from demo.functions import get_itm",
            "server `demo` has no function `get_itm`",
            "did you mean `get_item`?",
        ),
        ("get_item(idd='1')", "`demo.get_item` has no argument `idd`", "did you mean `id`?"),
        ("get_item()", "`demo.get_item` needs `id`", "get_item(...) -> dict"),
        (
            "get_item('1', '2')",
            "`demo.get_item` takes 1 argument, not 2",
            "get_item(...) -> dict",
        ),
        (
            "create_item(kind='smal', body={})",
            "`kind` of `demo.create_item` cannot be 'smal'",
            "did you mean `small`?",
        ),
        (
            "import demo.functions as d\ndef f():\n    d.get_itm('1')",
            "server `demo` has no function `get_itm`",
            "did you mean `get_item`?",
        ),
    ] {
        let api = Arc::new(Api::default());
        let outcome = sandbox.run(program(&format!("{first}{rest}")), Arc::clone(&api) as _).await;
        let error = outcome.result.unwrap_err();
        assert_eq!(
            (error.kind, error.message.as_str(), error.hint.as_deref()),
            (ErrorKind::Argument, message, Some(hint)),
            "{rest}"
        );
        assert!(error.line >= Some(3), "{error:?}");
        assert_eq!(api.calls.load(Ordering::SeqCst), 0, "{rest}");
    }
    sandbox.stop().await;
}

#[tokio::test]
async fn params_replace_top_level_variables_as_data() {
    let sandbox = Sandbox::new(options());
    for (source, params, expected) in [
        ("city = 'a'\nresult = city", json!({"city": "b"}), json!({"value": "b"})),
        (
            "city: str = 'a'\nresult = city",
            json!({"city": "'; import os #"}),
            json!({"value": "'; import os #"}),
        ),
        (
            "a, (b, *c) = 1, (2, 3)\nresult = [a, b, c]",
            json!({"b": {"x": [1]}}),
            json!({"value": [1, {"x": [1]}, [3]]}),
        ),
        ("a = b = 1\nresult = [a, b]", json!({"a": 5}), json!({"value": [5, 1]})),
        ("n = 10\nn = n + 1\nresult = n", json!({"n": 1}), json!({"value": 2})),
        ("n = 1 / 0\nresult = n", json!({"n": 1}), json!({"value": 1})),
        ("if True:\n    n = 1\nresult = n", json!({"n": 2}), json!({"value": 2})),
        (
            "n = 1\ndef main():\n    return n",
            json!({"n": 12_345_678_901_234_567_890_u64}),
            json!({"value": 12_345_678_901_234_567_890_u64}),
        ),
    ] {
        let params = inputs(&params);
        let outcome = sandbox.run(Program { params, ..program(source) }, Arc::new(Api::default())).await;
        assert_eq!(seen(&outcome), expected, "{source}");
    }
    let params = inputs(&json!({"cty": 1}));
    let outcome = sandbox
        .run(
            Program {
                params,
                ..program("city = 1\nlimit = 2\ndef f():\n    cty = 3")
            },
            Arc::new(Api::default()),
        )
        .await;
    let error = outcome.result.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Argument);
    assert_eq!(
        error.message,
        "the program has no top-level variable `cty`; it has: `city`, `limit`"
    );
    assert_eq!(error.hint.as_deref(), Some("did you mean `city`?"));
    sandbox.stop().await;
}

#[tokio::test]
async fn prints_are_kept_in_order_and_survive_every_end() {
    let sandbox = Sandbox::new(SandboxOptions {
        limits: Limits {
            wall: Duration::from_secs(1),
            ..Limits::default()
        },
        ..options()
    });
    let start =
        "import sys\nprint('a', 'b')\nprint('c', file=sys.stderr)\nsys.stdout.buffer.write('é\\n'.encode())\nprint('\\ud800', end='')\n";
    for ending in [
        "",
        "1 / 0",
        "import os\nsys.stdout.flush()\nos._exit(0)",
        "sys.stdout.flush()\nwhile True: pass",
        "import os\nos.abort()",
    ] {
        let outcome = run(&sandbox, &format!("{start}print()\n{ending}")).await;
        assert_eq!(outcome.logs, "a b\nc\né\n\u{fffd}\n", "{ending}");
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
    let sandbox = Sandbox::new(SandboxOptions { limits, ..options() });
    let get = "from demo.functions import get_item\n";
    for (source, kind, words) in [
        ("while True: pass".to_owned(), ErrorKind::Timeout, "longer than its limit of 2 s"),
        (format!("{get}get_item('slow')"), ErrorKind::Timeout, "longer than its limit of 2 s"),
        (
            "x = []\nwhile True: x.append(b'x' * 1000000)".to_owned(),
            ErrorKind::Memory,
            "memory than its limit of 64 MiB",
        ),
        (
            "x = 'x' * (1 << 32)".to_owned(),
            ErrorKind::Memory,
            "memory than its limit of 64 MiB",
        ),
        (
            "while True: print('x' * 100)".to_owned(),
            ErrorKind::Output,
            "larger than its limit of 10000 bytes",
        ),
        ("result = 'x' * 10001".to_owned(), ErrorKind::Output, "10000 bytes"),
        (format!("{get}while True: get_item('1')"), ErrorKind::Policy, "made the 5 calls"),
        (
            format!("{get}while True:\n  try: get_item('1')\n  except Exception: pass"),
            ErrorKind::Policy,
            "made the 5 calls",
        ),
        ("#".repeat(2001), ErrorKind::Argument, "2001 bytes"),
        (
            "f = open('/tmp/x', 'wb', buffering=0)\nwhile True: f.write(b'x' * 1000000)".to_owned(),
            ErrorKind::Exception,
            "/tmp",
        ),
        (
            "import os\nf = os.open('/tmp/x', os.O_CREAT)\nwhile True: os.dup(f)".to_owned(),
            ErrorKind::Exception,
            "limit on open files",
        ),
        (
            "import threading, time\nwhile True: threading.Thread(target=time.sleep, args=(9,), daemon=True).start()".to_owned(),
            ErrorKind::Exception,
            "limit on threads",
        ),
        ("import os\nos._exit(0)".to_owned(), ErrorKind::Exception, "status 0"),
        ("import os\nos.closerange(0, 64)".to_owned(), ErrorKind::Exception, ""),
        (
            "import os\nos.write(3, b'\\xff' * 8)\nimport time\ntime.sleep(9)".to_owned(),
            ErrorKind::Internal,
            "broke the connection",
        ),
    ] {
        let outcome = run(&sandbox, &source).await;
        assert_eq!(kind_of(&outcome), Some(kind), "{source:.200} {outcome:?}");
        let message = outcome.result.unwrap_err().message;
        assert!(message.contains(words), "{source:.200}\n{message}");
        assert_eq!(
            seen(&run(&sandbox, "result = 1 + 1").await),
            json!({ "value": 2 }),
            "after {source:.200}"
        );
    }
    sandbox.stop().await;
}

#[tokio::test]
async fn what_the_kernel_ends_is_told_as_the_limit_that_was_met() {
    let limits = Limits {
        cpu: Some(Duration::from_secs(1)),
        memory_mib: 64,
        ..Limits::default()
    };
    let sandbox = Sandbox::new(SandboxOptions { limits, ..options() });
    let (memory, processor) = ("more memory than its limit of 64 MiB", "more processor time than its limit of 1 s");
    let fill = "x = []\ntry:\n  while True: x.append(bytearray(1 << 18))\nexcept MemoryError: ";
    for (source, kind, words) in [
        ("while True: pass", ErrorKind::Timeout, processor),
        (
            "import hashlib\nhashlib.pbkdf2_hmac('sha256', b'x', b'y', 1 << 30)",
            ErrorKind::Timeout,
            processor,
        ),
        (
            "import signal\nsignal.signal(signal.SIGXCPU, signal.SIG_IGN)\nwhile True: pass",
            ErrorKind::Timeout,
            processor,
        ),
        (&format!("import os\n{fill}os.abort()"), ErrorKind::Memory, memory),
        (&format!("import ctypes\n{fill}ctypes.string_at(0)"), ErrorKind::Memory, memory),
        ("import os\nos.abort()", ErrorKind::Exception, "crashed its interpreter (SIG"),
        (
            "import ctypes\nctypes.string_at(0)",
            ErrorKind::Exception,
            "crashed its interpreter (SIGSEGV)",
        ),
    ] {
        let error = run(&sandbox, source).await.result.unwrap_err();
        assert_eq!(error.kind, kind, "{source} {error:?}");
        assert!(error.message.contains(words), "{source}\n{}", error.message);
    }
    sandbox.stop().await;
}

#[tokio::test]
async fn a_dropped_run_is_killed_and_its_calls_are_dropped() {
    let sandbox = Sandbox::new(options());
    let api = Arc::new(Api::default());
    let slow = program("from demo.functions import get_item\nget_item('slow')");
    let mut under_way = Box::pin(sandbox.run(slow, Arc::clone(&api) as _));
    while api.calls.load(Ordering::SeqCst) == 0 {
        assert!((&mut under_way).now_or_never().is_none());
        tokio::task::yield_now().await;
    }
    drop(under_way);
    assert_eq!(api.dropped.load(Ordering::SeqCst), 1);
    assert_eq!(seen(&run(&sandbox, "result = 1").await), json!({ "value": 1 }));
    sandbox.stop().await;
}

#[tokio::test]
async fn too_many_runs_are_told_to_wait() {
    let sandbox = Sandbox::new(SandboxOptions {
        concurrent_runs: 1,
        queued_runs: 0,
        ..options()
    });
    let api = Arc::new(Api::default());
    let slow = program("from demo.functions import get_item\nget_item('slow')");
    let mut under_way = Box::pin(sandbox.run(slow, Arc::clone(&api) as _));
    while api.calls.load(Ordering::SeqCst) == 0 {
        assert!((&mut under_way).now_or_never().is_none());
        tokio::task::yield_now().await;
    }
    let error = run(&sandbox, "result = 1").await.result.unwrap_err();
    assert_eq!((error.kind, error.hint.as_deref()), (ErrorKind::Busy, Some("try again in 1 s")));
    drop(under_way);
    assert_eq!(seen(&run(&sandbox, "result = 1").await), json!({ "value": 1 }));
    sandbox.stop().await;
}

#[tokio::test]
async fn runs_share_nothing() {
    let sandbox = Sandbox::new(options());
    let plant = "import builtins, json, sys\nbuiltins.planted = 1\njson.planted = 1\nsys.modules['planted'] = sys\nopen('/tmp/planted', 'w').close()\nresult = 1";
    let look = "import builtins, json, sys, os\nresult = [hasattr(builtins, 'planted'), hasattr(json, 'planted'), 'planted' in sys.modules, os.listdir('/tmp')]";
    for _ in 0..4 {
        assert_eq!(seen(&run(&sandbox, plant).await), json!({ "value": 1 }));
        assert_eq!(seen(&run(&sandbox, look).await), json!({ "value": [false, false, false, []] }));
    }
    sandbox.stop().await;
}

#[tokio::test]
async fn a_cold_sandbox_makes_a_jail_for_each_run() {
    let sandbox = Sandbox::new(SandboxOptions {
        is_warm: false,
        ..options()
    });
    for _ in 0..2 {
        assert_eq!(seen(&run(&sandbox, "result = 1 + 1").await), json!({ "value": 2 }));
    }
    sandbox.stop().await;
    assert_eq!(kind_of(&run(&sandbox, "result = 1").await), Some(ErrorKind::Internal));
}

#[tokio::test]
async fn an_interpreter_that_is_missing_is_an_internal_error_with_advice() {
    let sandbox = Sandbox::new(SandboxOptions {
        python: "/nonexistent/python".to_owned(),
        ..options()
    });
    let error = run(&sandbox, "result = 1").await.result.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Internal);
    assert_eq!(
        error.hint.as_deref(),
        Some("install Python 3.10 or newer, or set `MCE_PYTHON` to its path")
    );
}

#[tokio::test]
async fn a_dead_fork_server_is_replaced() {
    let sandbox = Sandbox::new(options());
    sandbox.start().await.unwrap();
    let api = Arc::new(Api::default());
    let slow = program("from demo.functions import get_item\nget_item('slow')");
    let mut under_way = Box::pin(sandbox.run(slow, Arc::clone(&api) as _));
    while api.calls.load(Ordering::SeqCst) == 0 {
        assert!((&mut under_way).now_or_never().is_none());
        tokio::task::yield_now().await;
    }
    let pid = sandbox.inspect().await.jail.unwrap();
    assert!(
        mce_jail::command("/bin/kill", "/".as_ref())
            .args(["-9", &pid.to_string()])
            .status()
            .unwrap()
            .success()
    );
    assert_eq!(
        under_way.await.result.unwrap_err().message,
        "the fork server ended while the program ran"
    );
    assert_eq!(seen(&run(&sandbox, "result = 1").await), json!({ "value": 1 }));
    sandbox.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn many_clients_at_once_are_all_served() {
    let sandbox = Arc::new(Sandbox::new(options()));
    sandbox.start().await.unwrap();
    let started = Instant::now();
    let runs: Vec<_> = (0..64)
        .map(|number| {
            let sandbox = Arc::clone(&sandbox);
            tokio::spawn(async move { (number, seen(&run(&sandbox, &format!("result = {number}")).await)) })
        })
        .collect();
    for run in runs {
        let (number, value) = run.await.unwrap();
        assert_eq!(value, json!({ "value": number }));
    }
    println!("64 runs at once took {:?}", started.elapsed());
    let mut times = Vec::new();
    for _ in 0..100 {
        let began = Instant::now();
        let Outcome { result, elapsed, .. } = run(&sandbox, "result = 1+1").await;
        result.unwrap();
        times.push((began.elapsed(), elapsed));
    }
    times.sort_unstable();
    let mut inside: Vec<_> = times.iter().map(|(_, elapsed)| elapsed).collect();
    inside.sort_unstable();
    println!(
        "median of 100 runs of `result = 1+1`: {:?}, on a ready worker {:?}",
        times[50].0, inside[50]
    );
    sandbox.stop().await;
}
