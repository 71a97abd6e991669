//! What is found in a program's text before it starts, and what is not: a false alarm is worse than a miss.
#![cfg(test)]

mod support;

use std::sync::Arc;
use std::sync::atomic::Ordering;

use mce_sandbox::{Language, ProgramError, Sandbox, SandboxOptions};
use support::{Api, options, program_in};

fn guarded() -> SandboxOptions {
    SandboxOptions {
        has_guard: true,
        ..options()
    }
}

/// Runs programs that must be refused before any of their calls, and gives each error.
async fn refused(language: Language, sources: &[&str]) -> Vec<ProgramError> {
    let sandbox = Sandbox::new(guarded());
    let mut errors = Vec::new();
    for source in sources {
        let api = Arc::new(Api::default());
        let outcome = sandbox.run(program_in(language, source), Arc::clone(&api) as _).await;
        assert_eq!(api.calls.load(Ordering::SeqCst), 0, "{source}");
        errors.push(outcome.result.expect_err(source));
    }
    sandbox.stop().await;
    errors
}

/// Each program is refused with one finding, of which the message has this part and the hint that.
async fn check_each(language: Language, cases: &[(&str, &str, &str)]) {
    let sources: Vec<&str> = cases.iter().map(|(source, ..)| *source).collect();
    for ((source, message, hint), error) in cases.iter().zip(refused(language, &sources).await) {
        assert!(error.message.contains(message), "{source}\n{error:?}");
        assert!(error.hint.as_deref().unwrap_or_default().contains(hint), "{source}\n{error:?}");
        assert!(error.line.is_some() && error.also.is_empty(), "{source}\n{error:?}");
    }
}

/// Each program runs.
async fn check_accepted(language: Language, sources: &[&str]) {
    let sandbox = Sandbox::new(guarded());
    for source in sources {
        let outcome = sandbox.run(program_in(language, source), Arc::new(Api::default())).await;
        assert!(outcome.result.is_ok(), "{source}\n{:?}", outcome.result);
    }
    sandbox.stop().await;
}

/// All findings of a program: line and message.
async fn all(language: Language, source: &str) -> Vec<(u32, String)> {
    let error = refused(language, &[source]).await.remove(0);
    let also = error.also.into_iter().map(|finding| (finding.line.unwrap(), finding.message));
    [(error.line.unwrap(), error.message)].into_iter().chain(also).collect()
}

#[tokio::test]
async fn all_faults_of_a_python_program_are_told_at_once() {
    let found = all(
        Language::Python,
        "from typed.functions import find, fnd\nfrom demo.functions import create_item\nimport subprocess\n\
         def main():\n    x = find(string=5, integer='7', nope=1)\n    create_item(kind='smal')\n    subprocess.run(['ls'])\n    return x['fullName']",
    )
    .await;
    let expected = [
        (1, "server `typed` has no function `fnd`"),
        (5, "`demo.get_item` has no argument `nope`"),
        (5, "`string`: expected string, got an integer"),
        (5, "`integer`: expected integer, got the string `7`"),
        (6, "`demo.create_item` needs `body`"),
        (6, "`kind` of `demo.create_item` cannot be 'smal'"),
        (7, "`subprocess.run` cannot work in a program"),
        (8, "the value of `demo.get_item` has no `fullName`"),
    ];
    assert_eq!(found, expected.map(|(line, message)| (line, message.to_owned())));
}

#[tokio::test]
async fn all_faults_of_a_typescript_program_are_told_at_once() {
    let found = all(
        Language::TypeScript,
        "import { typed, demo } from 'mce:servers';\nconst x = await typed.find({ string: 5, integer: '7', nope: 1 });\n\
         await demo.createItem({ kind: 'smal' });\nconst home = process.env.HOME;\nawait typed.fnd({});\nexport default x.fullName;",
    )
    .await;
    let expected = [
        (2, "`string`: expected string, got an integer"),
        (2, "`integer`: expected integer, got the string `7`"),
        (2, "`demo.get_item` has no argument `nope`"),
        (3, "`kind` of `demo.create_item` cannot be 'smal'"),
        (3, "`demo.create_item` needs `body`"),
        (4, "`process` is of another runtime: programs do not have it"),
        (5, "server `typed` has no function `fnd`"),
        (6, "the value of `demo.get_item` has no `fullName`"),
    ];
    assert_eq!(found, expected.map(|(line, message)| (line, message.to_owned())));
}

#[tokio::test]
async fn no_more_faults_are_told_than_a_model_reads() {
    for (language, source) in [
        (
            Language::Python,
            format!("from typed.functions import find\n{}", "find(nope=1)\n".repeat(50)),
        ),
        (Language::TypeScript, "await typed.find({ nope: 1 });\n".repeat(50)),
    ] {
        assert_eq!(all(language, &source).await.len(), 21);
    }
}

#[tokio::test]
async fn what_cannot_work_in_python_is_told_with_its_line() {
    check_each(
        Language::Python,
        &[
            (
                "import subprocess\nresult = subprocess.run(['ls'])",
                "`subprocess.run` cannot",
                "no other programs",
            ),
            (
                "from subprocess import check_output as run\nresult = run(['ls'])",
                "`subprocess.check_output` cannot",
                "no other programs",
            ),
            ("import os\nresult = os.system('ls')", "`os.system` cannot", "no other programs"),
            (
                "import os\nresult = os.environ['HOME']",
                "`os.environ['HOME']` is not there",
                "empty environment",
            ),
            (
                "from os import environ\nresult = environ['HOME']",
                "`os.environ['HOME']` is not there",
                "empty environment",
            ),
            (
                "import urllib.request\nresult = urllib.request.urlopen('http://a.test')",
                "`urllib.request.urlopen` cannot",
                "from mce import fetch",
            ),
            (
                "import requests as r\ndef main():\n    return r.get('http://a.test')",
                "`requests.get` cannot",
                "from mce import fetch",
            ),
            (
                "import socket\nif __name__ == '__main__':\n    socket.create_connection(('a.test', 80))",
                "`socket.create_connection` cannot",
                "mce import fetch",
            ),
            ("name = input('name? ')", "`input` cannot", "top-level variable"),
        ],
    )
    .await;
}

#[tokio::test]
async fn what_cannot_come_of_python_calls_is_told_with_its_line() {
    check_each(
        Language::Python,
        &[
            (
                "from typed.functions import find\nx = await find()",
                "gives its value at once",
                "`demo.aio`",
            ),
            (
                "from typed.aio import find\nx = find()\nresult = x['name']",
                "used before it is awaited",
                "put `await`",
            ),
            (
                "from typed.aio import find\nresult = find().get('name')",
                "used before it is awaited",
                "put `await`",
            ),
            (
                "from typed.aio import find\nfind(integer=1)\nresult = 1",
                "never awaited",
                "put `await`",
            ),
            (
                "import typed.aio as t\nfor item in t.find():\n    pass",
                "used before it is awaited",
                "put `await`",
            ),
            (
                "from typed.functions import find\nresult = find().full_name",
                "has no attribute `full_name`",
                "write `['full_name']`",
            ),
            (
                "from typed.functions import find\nresult = find()['itens']",
                "has no `itens`",
                "did you mean `items`?",
            ),
            (
                "from typed.aio import find\nx = await find()\nresult = x['itemz']",
                "has no `itemz`",
                "did you mean `items`?",
            ),
            (
                "from typed.functions import find\nfind(string=[1])",
                "expected string, got an array",
                "",
            ),
            (
                "from typed.functions import find\nfind(number=f'{1}')",
                "expected number, got a string",
                "",
            ),
            (
                "from typed.functions import find\nfind(integer=-1.5)",
                "expected integer, got a number",
                "",
            ),
        ],
    )
    .await;
}

#[tokio::test]
async fn what_may_work_in_python_is_left_alone() {
    check_accepted(
        Language::Python,
        &[
            "import re\nresult = re.compile('os.system').pattern",
            "# subprocess.run(['ls'])\nresult = 'import socket; socket.socket()'",
            "import subprocess\ntry:\n    subprocess.run(['ls'])\nexcept Exception:\n    result = 1",
            "import subprocess\ndef f():\n    raise subprocess.CalledProcessError(1, 'x')\nresult = 1",
            "import os\nif os.path.exists('/nope'):\n    os.system('ls')\nresult = 1",
            "import os\nos.environ['A'] = 'b'\nresult = os.environ.get('A')",
            "import os\nresult = os.getenv('HOME')",
            "class os:\n    @staticmethod\n    def system(x):\n        return 1\nresult = os.system('ls')",
            "def input(text):\n    return 'x'\nresult = input('?')",
            "class R:\n    def get(self, x): return x\nrequests = R()\nresult = requests.get('http://a.test')",
            "eval('1')\nexec('x = 1')\nresult = 1",
            "from typed.functions import find\nx = find()\nresult = x.get('itens')",
            "from typed.functions import find\nx = find()\nx = {'itens': 1}\nresult = x['itens']",
            "from typed.functions import find\nresult = find.with_headers().value",
            "from typed.functions import find\ntry:\n    result = find()['itens']\nexcept KeyError:\n    result = 1",
            "from typed.functions import find\nfind(string='a', integer=1.0, number=1)\nfind(integer=None)\nresult = 1",
            "from typed.functions import find\nvalue = 5\nresult = find(string=str(value))",
            "from typed.aio import find\nimport asyncio\nresult = await asyncio.gather(find(), find())",
            "from typed.aio import find\nfind()",
            "from typed.aio import find\nx = find()\nresult = await x",
            "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from typed.functions import Item\nresult = 1",
        ],
    )
    .await;
}

#[tokio::test]
async fn what_cannot_work_in_typescript_is_told_with_its_line() {
    check_each(
        Language::TypeScript,
        &[
            (
                "export default process.env.HOME",
                "`process` is of another runtime",
                "no environment",
            ),
            ("const fs = require('fs');", "`require` is of another runtime", "mce:servers"),
            (
                "function main() { return Deno.readTextFile('/etc/passwd'); }",
                "`Deno` is of another runtime",
                "no environment",
            ),
            (
                "new WebSocket('ws://a.test')",
                "`WebSocket` is of another runtime",
                "`fetch` reaches",
            ),
            (
                "const x = typed.find({});\nexport default x.name;",
                "used before it is awaited",
                "put `await`",
            ),
            ("const { name } = typed.find({});", "used before it is awaited", "put `await`"),
            ("for (const x of typed.find({})) { }", "used before it is awaited", "put `await`"),
            (
                "export default (await typed.find({})).itens;",
                "has no `itens`",
                "did you mean `items`?",
            ),
            (
                "const { fullName } = await typed.find({});",
                "has no `fullName`",
                "did you mean `full_name`?",
            ),
            ("await typed.find({ string: [1] })", "expected string, got an array", ""),
            ("await typed.find({ number: `${1}` })", "expected number, got a string", ""),
            ("await typed.find({ integer: 1.5 })", "expected integer, got a number", ""),
        ],
    )
    .await;
}

#[tokio::test]
async fn what_may_work_in_typescript_is_left_alone() {
    check_accepted(
        Language::TypeScript,
        &[
            "export default /process.env/.exec('process.env') !== null",
            "// require('fs')\nexport default 'Deno.exit()'",
            "export default typeof process === 'undefined' ? 1 : process.env",
            "if (typeof window !== 'undefined') { window.alert(1) }\nexport default 1",
            "let x = 1; try { x = process.pid } catch { x = 2 }\nexport default x",
            "const process = { env: { A: 1 } };\nexport default process.env.A",
            "function f(require: any) { return require(1) }\nexport default f((x: number) => x)",
            "export default await typed.find({}).then((x: any) => 1)",
            "const x = await typed.find({});\nexport default x?.itens ?? 1",
            "const { itens = 1 } = await typed.find({});\nexport default itens",
            "const p = typed.find({});\nexport default (await p) !== null",
            "let x = await typed.find({}); x = { itens: 1 };\nexport default x.itens",
            "await typed.find({ string: 'a', integer: 1, number: 2 });\nexport default 1",
            "const value: any = 'x';\nawait typed.find({ string: value });\nexport default 1",
            "typed.find({});\nexport default 1",
        ],
    )
    .await;
}

/// What the host is asked about arguments that are written out: function, arguments, what is not known.
async fn asked(language: Language, source: &str) -> Vec<String> {
    all(language, source).await.into_iter().map(|(_, message)| message).collect()
}

#[tokio::test]
async fn the_host_is_asked_about_what_is_written_out_in_python() {
    let imports = "from demo.functions import create_item, get_item\n";
    for (source, wanted) in [
        (
            r#"create_item(body={"tell": [1, -2.5, None, {"a/b": x}], **more, "n": True, "t": f"{x}"}, kind="small")"#,
            r#"demo.create_item {"body":{"tell":null,"n":true,"t":null},"kind":"small"} ["/body/tell/3/a~1b", "/body", "/body/tell", "/body/t"]"#,
        ),
        (
            r#"create_item("small", {"tell": [1, *rest, 2]})"#,
            r#"demo.create_item {"kind":"small","body":{"tell":[1]}} ["/body/tell"]"#,
        ),
        (
            "payload = {'tell': 1}\ncreate_item(body=payload)",
            r#"demo.create_item {"body":{"tell":1}} []"#,
        ),
        (
            "def main():\n  tell = {'tell': {'x': 10**30, 1: 2}}\n  create_item(body=tell)",
            r#"demo.create_item {"body":{"tell":null}} ["/body/tell"]"#,
        ),
    ] {
        assert_eq!(asked(Language::Python, &format!("{imports}{source}")).await, [wanted], "{source}");
    }
    // What is wrong already is not asked about again.
    let both = asked(Language::Python, &format!("{imports}create_item(kind='tiny', body={{'tell': 1}})")).await;
    assert_eq!(both.len(), 2, "{both:?}");
    assert!(
        both[0].contains("cannot be 'tiny'") && both[1].starts_with(r#"demo.create_item {"body":"#),
        "{both:?}"
    );
    let accepted = [
        // It is changed before it is sent, or is an input.
        "payload = {'tell': 1}\npayload.pop('tell')\ncreate_item(body=payload)",
        "payload = {'tell': 1} if get_item('1') else {}\ncreate_item(body=payload)",
        "create_item(body=dict(tell=1))",
    ];
    let accepted = accepted.map(|source| format!("{imports}{source}"));
    check_accepted(Language::Python, &accepted.each_ref().map(String::as_str)).await;
}

#[tokio::test]
async fn the_host_is_asked_about_what_is_written_out_in_typescript() {
    for (source, wanted) in [
        (
            r#"await demo.create_item({ body: { tell: [1, -2.5, null, { "a/b": x }], ...more, n: true, t: `${x}`, u: undefined } , kind: `small` })"#,
            r#"demo.create_item {"body":{"tell":null,"n":true,"t":null},"kind":"small"} ["/body/tell", "/body", "/body/t"]"#,
        ),
        (
            "await demo.create_item({ body: { tell: [1, ...rest, 2] } as any })",
            r#"demo.create_item {"body":{"tell":[1]}} ["/body/tell"]"#,
        ),
        (
            "const payload = { tell: 1 };\nawait demo.create_item({ body: payload })",
            r#"demo.create_item {"body":{"tell":1}} []"#,
        ),
        (
            "const { create_item: make } = demo;\nawait make({ body: { tell: 1 } })",
            r#"demo.create_item {"body":{"tell":1}} []"#,
        ),
        (
            "import { demo as shop } from 'mce:servers';\nawait shop['create_item']({ body: { tell: 12345678901234567890n } })",
            r#"demo.create_item {"body":{"tell":null}} ["/body/tell"]"#,
        ),
    ] {
        let source = format!("declare const x: any, more: any, rest: any[];\n{source}");
        assert_eq!(asked(Language::TypeScript, &source).await, [wanted], "{source}");
    }
    check_accepted(
        Language::TypeScript,
        &[
            "const payload: any = { tell: 1 };\ndelete payload.tell;\nawait demo.create_item({ body: payload })",
            "let payload = { tell: 1 };\nawait demo.create_item({ body: payload })",
            "await demo.create_item({ body: { tell: 1, toJSON() { return {} } } })",
        ],
    )
    .await;
}
