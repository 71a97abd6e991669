//! What is TypeScript's own: its syntax, promises, globals. Runs in the real jail.
#![cfg(test)]

mod support;

use std::sync::Arc;
use std::time::Instant;

use mce_sandbox::{Language, Outcome, Sandbox};
use serde_json::{Value, json};
use support::{Api, options, program_in, seen};

async fn run(sandbox: &Sandbox, source: &str) -> Outcome {
    sandbox
        .run(program_in(Language::TypeScript, source), Arc::new(Api::default()))
        .await
}

/// Each program must have exactly this value.
async fn check_values(cases: &[(&str, Value)]) {
    let sandbox = Sandbox::new(options());
    let mut faults = Vec::new();
    for (source, expected) in cases {
        let found = seen(&run(&sandbox, source).await);
        if found != json!({ "value": expected }) {
            faults.push(format!("{source}\n  expected {expected}\n  came     {found}"));
        }
    }
    sandbox.stop().await;
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// Each program must fail like this: kind, line, and a part of message or hint.
async fn check_errors(cases: &[(&str, &str, Option<u32>, &str)]) {
    let sandbox = Sandbox::new(options());
    let mut faults = Vec::new();
    for (source, kind, line, words) in cases {
        let found = seen(&run(&sandbox, source).await)["error"].clone();
        let text = format!("{} {}", found["message"], found["hint"]);
        if found["type"] != *kind || found.get("line") != line.map(Value::from).as_ref() || !text.contains(words) {
            faults.push(format!("{source}\n  expected {kind} {line:?} {words}\n  came     {found}"));
        }
    }
    sandbox.stop().await;
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[tokio::test]
async fn the_language_of_todays_models_runs() {
    check_values(&[
        ("enum E { A = 1, B }\nresult = [E.A, E.B, E[2]]", json!([1, 2, "B"])),
        ("const enum E { X = 'x' }\nresult = E.X", json!("x")),
        ("namespace N { export const a = 1; export namespace M { export const b = a + 1 } }\nresult = N.M.b", json!(2)),
        ("const a = { x: 1 } satisfies Record<string, number>;\nresult = (a as any)!.x", json!(1)),
        ("class P { constructor(private readonly x: number, public y = 2) {} sum(): number { return this.x + this.y } }\nresult = new P(1).sum()", json!(3)),
        ("class A { #x = 1; static s = 5; get x() { return this.#x } static { A.s++ } }\nresult = [new A().x, A.s]", json!([1, 6])),
        ("function log(t: any, k: string, d: PropertyDescriptor) { const f = d.value; d.value = () => f() + 1; return d }\nclass A { @log m() { return 1 } }\nresult = new A().m()", json!(2)),
        ("abstract class B<T> { abstract f(): T }\nclass C extends B<number> { override f() { return 7 } }\nresult = new C().f()", json!(7)),
        ("function f(x: string): string;\nfunction f(x: number): number;\nfunction f(x: any) { return x }\nresult = f(4)", json!(4)),
        ("type T = { a?: { b: number } };\nconst t: T = {};\nresult = t.a?.b ?? 'none'", json!("none")),
        ("interface I { x: number }\nexport interface J extends I {}\nexport const result: J = { x: 1 }", json!({"x": 1})),
        ("const m = /(?<year>\\d{4})-(?<month>\\d\\d)/u.exec('2024-05')!;\nresult = m.groups!.year", json!("2024")),
        ("const g = function* () { yield* [1, 2] };\nresult = [...g()]", json!([1, 2])),
        ("const out: number[] = [];\nfor await (const x of (async function* () { yield 1; yield 2 })()) out.push(x);\nout", json!([1, 2])),
        ("label: for (const i of [1, 2]) { for (;;) { continue label } }\nresult = [3, 1, 2].toSorted().at(-1)", json!(3)),
        ("const { a, ...rest } = { a: 1, b: 2, c: 3 };\nresult = [rest, Object.groupBy([1, 2, 3], (n) => n % 2 ? 'odd' : 'even')]", json!([{"b": 2, "c": 3}, {"odd": [1, 3], "even": [2]}])),
        ("x = 5\nresult = x + 1", json!(6)),
        ("export default { a: 1 }", json!({"a": 1})),
        ("export default async function () { return 8 }", json!(8)),
        ("async function run() { return 9 }\nrun()", json!(9)),
        ("let value: unknown = 'abc';\nresult = (<string>value).length", json!(3)),
        ("import type { demo } from 'mce:servers';\nresult = 1", json!(1)),
        ("const x = { undefined: undefined, list: [undefined], nested: { deep: null } };\nx", json!({"list": [null], "nested": {"deep": null}})),
    ])
    .await;
}

#[tokio::test]
async fn errors_are_where_the_text_says_whatever_types_stand_before() {
    check_errors(&[
        ("interface A {\n  x: number;\n}\ntype B = {\n  y: string;\n};\nenum E {\n  Q,\n}\nconst a: A = { x: 1 };\n(a as any).b.c;", "exception", Some(11), "TypeError"),
        ("function f(\n  x: number,\n  y: number,\n): number {\n  if (x > y) {\n    throw new RangeError('far');\n  }\n  return 1;\n}\nf(2, 1)", "exception", Some(6), "RangeError: far"),
        ("const list = [1].map((x) => {\n  return x;\n}) as any;\nlist.a.b", "exception", Some(4), "undefined"),
        ("let x = 1;\nlet x = 2;", "syntax", Some(2), "x"),
        ("const a = 1;\na = 2", "exception", Some(2), "read-only"),
        ("await demo.getItem({ id: '1' });\nthrow 'text'", "exception", Some(2), "the program threw text"),
        ("import fs from 'node:fs';\nfs", "exception", Some(1), "there is no module `node:fs`"),
        ("const fs = require('fs')", "exception", Some(1), "mce:servers"),
        ("import { wether } from 'mce:servers';\nwether", "argument", Some(1), "there is no server `wether`"),
        ("import { dem } from 'mce:servers';\ndem", "argument", Some(1), "did you mean `demo`?"),
        ("import { paralel } from 'mce';\nparalel", "argument", Some(1), "did you mean `parallel`?"),
        ("const id = 'a';\nawait (demo as any)['get' + 'Itm']({ id })", "argument", Some(2), "did you mean"),
        ("await (demo as any)['get' + 'Item']({ idd: 1 })", "argument", Some(1), "has no argument `idd`"),
        ("await demo.getItem('1')", "argument", Some(1), "as one object"),
    ])
    .await;
}

#[tokio::test]
async fn no_failure_is_swallowed() {
    check_errors(&[
        ("demo.getItem({ id: 'fail' });\nresult = 'done'", "api", Some(1), "status 404"),
        ("await fetch('http://refused.test/')", "policy", Some(1), "allowed domains"),
        ("Promise.reject(new Error('lost'));\nresult = 1", "exception", Some(1), "lost"),
        (
            "setTimeout(() => { throw new Error('late') }, 1);\nawait new Promise((done) => setTimeout(done, 50));",
            "exception",
            Some(1),
            "late",
        ),
        ("await new Promise(() => {})", "exception", None, "nothing will settle"),
        (
            "async function f() { await demo.getItem({ id: 'fail' }) }\nf();\nawait new Promise(() => {})",
            "api",
            Some(1),
            "status 404",
        ),
    ])
    .await;
    let sandbox = Sandbox::new(options());
    let outcome = run(&sandbox, "demo.getItem({ id: '1' });\nresult = 'done'").await;
    assert_eq!(seen(&outcome), json!({ "value": "done" }));
    assert!(
        outcome
            .logs
            .contains("note: the program ended before a call of `demo.get_item` had an answer"),
        "{}",
        outcome.logs
    );
    // Handled late, but handled.
    let late = "const p = demo.getItem({ id: 'fail' });\nawait demo.getItem({ id: '1' });\ntry { await p } catch (e) { result = e.status }";
    assert_eq!(seen(&run(&sandbox, late).await), json!({ "value": 404 }));
    sandbox.stop().await;
}

#[tokio::test]
async fn globals_are_as_people_expect() {
    check_values(&[
        ("const u = new URL('/b?x=1#h', 'https://u:p@example.com:8080/a');\nu.searchParams.append('y', 'a b&c');\nresult = [u.href, u.host, u.pathname, u.searchParams.get('y')]", json!(["https://u:p@example.com:8080/b?x=1&y=a+b%26c#h", "example.com:8080", "/b", "a b&c"])),
        ("const u = new URL('https://a.b/');\nu.pathname = '/ü';\nu.port = '81';\nresult = [String(u), URL.canParse('no')]", json!(["https://a.b:81/%C3%BC", false])),
        ("result = [...new URLSearchParams({ a: '1', b: 'ü +' })].join(';') + new URLSearchParams('a=1&a=2').getAll('a')", json!("a,1;b,ü +1,2")),
        ("result = [...new TextEncoder().encode('é'), new TextDecoder().decode(new Uint8Array([0xc3, 0xa9, 0xff]))]", json!([195, 169, "é\u{fffd}"])),
        ("result = [btoa('hi'), atob('aGk='), Buffer.from('é').toString('base64'), Buffer.from('68c3a9', 'hex').toString()]", json!(["aGk=", "hi", "w6k=", "hé"])),
        ("const a: any = { d: new Date(0), m: new Map([[1, { x: 1 }]]) };\na.self = a;\nconst b = structuredClone(a);\nresult = [b.self === b, b.m.get(1).x, b.d.getTime(), b !== a]", json!([true, 1, 0, true])),
        ("const d = await crypto.subtle.digest('SHA-256', new TextEncoder().encode('abc'));\nresult = Buffer.from(d).toString('hex').slice(0, 16)", json!("ba7816bf8f01cfea")),
        ("const d = await crypto.subtle.digest('SHA-1', new TextEncoder().encode('abc'));\nresult = Buffer.from(d).toString('hex')", json!("a9993e364706816aba3e25717850c26c9cd0d89d")),
        ("result = [/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/.test(crypto.randomUUID()), crypto.getRandomValues(new Uint32Array(2)).length, Math.random() < 1]", json!([true, 2, true])),
        ("const c = new AbortController();\nlet seen = 0;\nc.signal.addEventListener('abort', () => seen++);\nc.abort();\nresult = [seen, c.signal.aborted, c.signal.reason.name]", json!([1, true, "AbortError"])),
        ("const order: number[] = [];\nsetTimeout(() => order.push(3), 5);\nsetTimeout(() => order.push(2));\nqueueMicrotask(() => order.push(1));\nconst i = setInterval(() => { clearInterval(i); order.push(4) }, 10);\nawait new Promise((done) => setTimeout(done, 40));\nresult = order", json!([1, 2, 3, 4])),
        ("const t = performance.now();\nawait new Promise((done) => setTimeout(done, 20));\nresult = performance.now() - t >= 19", json!(true)),
        ("result = [(1234567.891).toLocaleString(), new Intl.NumberFormat('en-US', { style: 'currency', currency: 'USD' }).format(12.5), (0.256).toLocaleString('en-US', { style: 'percent' }), new Date(0).toLocaleDateString('en-US'), new Date(0).toLocaleDateString('en-US', { dateStyle: 'medium' } as any)]", json!(["1,234,567.891", "$12.50", "26%", "1/1/1970", "Jan 1, 1970"])),
        ("const h = new Headers({ A: '1' });\nh.append('a', '2');\nresult = [h.get('A'), new Response('{\"x\":1}', { status: 201 }).ok, await new Response('{\"x\":1}').json()]", json!(["1, 2", true, {"x": 1}])),
        (
            "const r = await fetch('http://a.test/x', { method: 'POST', headers: { A: '1' }, body: 'é' });\nresult = [r.status, r.ok, r.headers.get('x-a'), (await r.json()).method]",
            json!([200, true, "1, 2", "POST"]),
        ),
        (
            "const answer = await demo.getItem.withHeaders({ id: '1' });\nresult = [answer.status, answer.headers.get('link'), answer.value.echo.id]",
            json!([201, "<x>; rel=last", "1"]),
        ),
        ("result = JSON.stringify({ a: (await demo.getItem({ id: 12345678901234567890n })).echo.id })", json!("{\"a\":12345678901234567890}")),
        ("result = typeof (await demo.getItem({ id: 12345678901234567890n })).echo.id", json!("bigint")),
        ("result = (await demo.getItem({ id: 9007199254740991 })).echo.id + 1", json!(9_007_199_254_740_992_u64)),
    ])
    .await;
}

#[tokio::test]
async fn the_console_writes_values_as_people_read_them() {
    let sandbox = Sandbox::new(options());
    for (source, logs) in [
        ("console.log('a', 1, true, null, undefined, 5n)", "a 1 true null undefined 5n\n"),
        (
            "console.log({ a: 1, b: 'x', c: [1, 2], d: { e: new Date(0) } })",
            "{ a: 1, b: 'x', c: [ 1, 2 ], d: { e: 1970-01-01T00:00:00.000Z } }\n",
        ),
        (
            "console.info(new Map([['k', 1]]), new Set([1]))",
            "Map(1) { 'k' => 1 } Set(1) { 1 }\n",
        ),
        ("console.warn('%s is %d %j', 'x', 4, { a: 1 })", "x is 4 {\"a\":1}\n"),
        (
            "const a: any = {}; a.a = a; console.debug(a, () => 1, class X {})",
            "{ a: [Circular] } [Function (anonymous)] [class X]\n",
        ),
        (
            "console.group('g'); console.error('in'); console.groupEnd(); console.log()",
            "g\n  in\n\n",
        ),
        (
            "console.table([{ a: 1, b: 'x' }])",
            "| (index) | a | b |\n|---------|---|---|\n| 0       | 1 | x |\n",
        ),
        (
            "type A = 1;\nfunction f() { return new Error('no') }\nconsole.log(f())",
            "Error: no\n    at f (program.ts:2:27)\n    at <anonymous> (program.ts:3:13)\n",
        ),
    ] {
        assert_eq!(run(&sandbox, source).await.logs, logs, "{source}");
    }
    sandbox.stop().await;
}

#[tokio::test]
async fn runs_share_nothing() {
    let sandbox = Sandbox::new(options());
    let plant = "globalThis.planted = 1;\nObject.prototype.planted = 1;\nresult = Math.random()";
    let look = "result = ['planted' in globalThis, 'planted' in {}, Math.random()]";
    let mut numbers = Vec::new();
    for _ in 0..4 {
        numbers.push(seen(&run(&sandbox, plant).await)["value"].to_string());
        let found = seen(&run(&sandbox, look).await)["value"].clone();
        assert_eq!((&found[0], &found[1]), (&json!(false), &json!(false)));
        numbers.push(found[2].to_string());
    }
    numbers.sort();
    numbers.dedup();
    assert_eq!(numbers.len(), 8, "chance is the same in two runs");
    sandbox.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn latency_is_printed() {
    let sandbox = Sandbox::new(options());
    sandbox.start().await.unwrap();
    for source in [
        "result = 1+1",
        "import { demo } from 'mce:servers';\nresult = await demo.getItem({ id: '1' })",
    ] {
        let mut times = Vec::new();
        for _ in 0..100 {
            let began = Instant::now();
            let outcome = run(&sandbox, source).await;
            outcome.result.unwrap();
            times.push((began.elapsed(), outcome.elapsed));
        }
        times.sort_unstable();
        let mut inside: Vec<_> = times.iter().map(|(_, inside)| inside).collect();
        inside.sort_unstable();
        println!(
            "median of 100 runs of `{source}`: {:?}, on a ready worker {:?}",
            times[50].0, inside[50]
        );
    }
    sandbox.stop().await;
}
