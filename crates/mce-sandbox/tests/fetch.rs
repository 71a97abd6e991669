//! Requests of programs' own, as programs make them: `mce.fetch`, `httpx`, and what fails with advice. Real jail, played host.
#![cfg(test)]

mod support;

use std::path::Path;

use mce_sandbox::{Sandbox, SandboxOptions};
use serde_json::{Value, json};
use support::{options, run, seen};

/// Each program must have exactly this value.
async fn check_values(sandbox: &Sandbox, cases: &[(&str, Value)]) {
    for (source, expected) in cases {
        assert_eq!(seen(&run(sandbox, source).await), json!({ "value": expected }), "\n{source}");
    }
}

/// Each program must fail with this type, and with these words in its message and hint.
async fn check_errors(sandbox: &Sandbox, cases: &[(&str, &str, &str)]) {
    for (source, kind, words) in cases {
        let found = seen(&run(sandbox, source).await);
        let error = &found["error"];
        let told = format!(
            "{} {}",
            error["message"].as_str().unwrap_or_default(),
            error["hint"].as_str().unwrap_or_default()
        );
        assert_eq!(error["type"], *kind, "{found:#}\n{source}");
        assert!(told.contains(words), "{found:#}\n{source}");
    }
}

#[tokio::test]
async fn fetch_sends_what_the_program_says_and_gives_the_answer() {
    let sandbox = Sandbox::new(options());
    let import = "from mce import fetch, afetch\n";
    let cases = [
        (
            "a = fetch('http://a.test/x')\n[a.status, a.ok, a.url, a.headers['Content-Type'], a.headers.get('X-A'), 'x-b' in a.headers, a.json()]",
            json!([200, true, "http://a.test/x", "application/json", "1, 2", false, {"method": "GET", "headers": [], "body": null}]),
        ),
        (
            "fetch('http://a.test', 'POST', {'A': 1}, json={'b': 12345678901234567890}).json()",
            json!({"method": "POST", "headers": [["A", "1"], ["content-type", "application/json"]], "body": "eyJiIjoxMjM0NTY3ODkwMTIzNDU2Nzg5MH0="}),
        ),
        (
            "fetch('http://a.test', method='PUT', headers=[('A', b'b'), ('A', 'c')], body='é').json()",
            json!({"method": "PUT", "headers": [["A", "b"], ["A", "c"]], "body": "w6k="}),
        ),
        (
            "a = fetch('http://a.test/missing')\n[a.status, a.ok, type(a.content).__name__, a.text[:1]]",
            json!([404, false, "bytes", "{"]),
        ),
        ("a = await afetch('http://a.test')\na.status", json!(200)),
        (
            "import asyncio\nlen(await asyncio.gather(*[afetch('http://a.test') for _ in range(20)]))",
            json!(20),
        ),
        ("fetch('http://a.test').raise_for_status().status", json!(200)),
    ];
    for (source, expected) in cases {
        check_values(&sandbox, &[(&format!("{import}{source}"), expected)]).await;
    }
    sandbox.stop().await;
}

#[tokio::test]
async fn a_request_that_cannot_be_made_fails_with_advice() {
    let sandbox = Sandbox::new(options());
    check_errors(
        &sandbox,
        &[
            (
                "from mce import fetch\nfetch('http://refused.test/')",
                "policy",
                "among the allowed domains",
            ),
            (
                "from mce import fetch\nfetch('http://a.test/missing').raise_for_status()",
                "api",
                "answered 404",
            ),
            ("from mce import fetch\nfetch(5)", "argument", "as texts"),
            ("from mce import fetch\nfetch('http://a.test', body={})", "argument", "`json=`"),
            (
                "from mce import fetch\nfetch('http://a.test', body='a', json=1)",
                "argument",
                "not both",
            ),
            (
                "from mce import fetch\nfetch('http://a.test', headers=5)",
                "argument",
                "a dict of texts",
            ),
            (
                "from mce import fetch\nfetch('http://a.test', headers={'a': 'b' * 2000000})",
                "argument",
                "larger than",
            ),
            (
                "from mce import fetch\nfetch('http://a.test', headers=[('a', 'b')] * 201)",
                "argument",
                "at most 200",
            ),
            (
                "from mce import fetch\nfetch('http://a.test', body=b'x' * 7000000)",
                "argument",
                "larger than",
            ),
            ("import requests", "exception", "`from mce import fetch`"),
            (
                "import urllib.request\nurllib.request.urlopen('http://a.test')",
                "exception",
                "`from mce import fetch`",
            ),
            (
                "import socket\nsocket.create_connection(('127.0.0.1', 80))",
                "exception",
                "`from mce import fetch`",
            ),
            (
                "import http.client\nhttp.client.HTTPConnection('a.test').request('GET', '/')",
                "exception",
                "`from mce import fetch`",
            ),
        ],
    )
    .await;
    sandbox.stop().await;
}

#[tokio::test]
async fn an_answer_with_headers_has_value_status_and_headers() {
    let sandbox = Sandbox::new(options());
    let import = "from demo.functions import get_item\n";
    let cases = [
        (
            "a = get_item.with_headers(id='1')\n[a.value, a.status, a.headers['Link']]",
            json!([{"echo": {"id": "1"}}, 201, "<x>; rel=last"]),
        ),
        ("a = get_item.with_headers(id='bytes')\na.value == b'\\x00\\xff\\x07'", json!(true)),
        (
            "from demo.aio import get_item\na = await get_item.with_headers('1')\na",
            json!({"value": {"echo": {"id": "1"}}, "status": 201, "headers": {"link": "<x>; rel=last"}}),
        ),
        ("get_item(id='1')", json!({"echo": {"id": "1"}})),
    ];
    for (source, expected) in cases {
        check_values(&sandbox, &[(&format!("{import}{source}"), expected)]).await;
    }
    // Checked before the program starts, as every call.
    let outcome = run(&sandbox, &format!("{import}print('started')\nget_item.with_headers(ids='1')")).await;
    assert_eq!(
        (seen(&outcome)["error"]["type"].clone(), outcome.logs.as_str()),
        (json!("argument"), "")
    );
    sandbox.stop().await;
}

#[tokio::test]
async fn an_error_of_an_api_shows_its_body_once() {
    let sandbox = Sandbox::new(options());
    let import = "from demo.functions import get_item\nfrom mce import ApiError\n";
    let source = format!("{import}try:\n    get_item(id='fail')\nexcept ApiError as error:\n    result = [str(error), error.message]");
    let message = "`demo.get_item` answered with status 404";
    check_values(
        &sandbox,
        &[(&source, json!([format!("{message}: {{\"detail\": \"no such item\"}}"), message]))],
    )
    .await;
    let error = seen(&run(&sandbox, &format!("{import}get_item(id='fail')")).await)["error"].clone();
    assert_eq!(
        (&error["message"], &error["body"]),
        (&json!(message), &json!({"detail": "no such item"}))
    );
    sandbox.stop().await;
}

/// A sandbox whose interpreter has `httpx`. `None`, loudly, where there is none.
fn sandbox_with_httpx() -> Option<Sandbox> {
    let python = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/test-python/bin/python");
    if !python.is_file() {
        println!(
            "NOT RUN: there is no Python with data libraries at `{}`; `scripts/test` makes one",
            python.display()
        );
        return None;
    }
    let python = python.to_string_lossy().into_owned();
    Some(Sandbox::new(SandboxOptions { python, ..options() }))
}

#[tokio::test]
async fn httpx_goes_through_the_host() {
    let Some(sandbox) = sandbox_with_httpx() else { return };
    let cases = [
        (
            "a = httpx.get('http://a.test/x', params={'k': 'v w'}, headers={'A': 'b'})\n[a.status_code, str(a.url), a.headers['x-a'], a.json()['method'], ['A', 'b'] in a.json()['headers']]",
            json!([200, "http://a.test/x?k=v+w", "1, 2", "GET", true]),
        ),
        (
            "a = httpx.post('http://a.test', json={'a': 1})\n[a.json()['body'], a.elapsed.total_seconds() >= 0, a.is_success]",
            json!(["eyJhIjoxfQ==", true, true]),
        ),
        (
            "with httpx.Client(base_url='http://a.test', auth=('u', 'p')) as client:\n    a = client.put('/x', content=iter([b'a', b'b']))\n[a.json()['body'], dict(a.json()['headers'])['Authorization']]",
            json!(["YWI=", "Basic dTpw"]),
        ),
        (
            "async with httpx.AsyncClient() as client:\n    a = await client.get('http://u:p@a.test/missing')\n[a.status_code, len(a.json()['headers']) > 0]",
            json!([404, true]),
        ),
        (
            "with httpx.stream('GET', 'http://a.test') as a:\n    result = len(b''.join(a.iter_bytes())) > 10",
            json!(true),
        ),
        (
            "httpx.Client(transport=httpx.HTTPTransport(retries=2), verify=False).get('http://a.test').status_code",
            json!(200),
        ),
    ];
    for (source, expected) in cases {
        check_values(&sandbox, &[(&format!("import httpx\n{source}"), expected)]).await;
    }
    check_errors(
        &sandbox,
        &[
            (
                "import httpx\nhttpx.get('http://refused.test')",
                "policy",
                "among the allowed domains",
            ),
            (
                "import httpx\nhttpx.get('http://a.test/missing').raise_for_status()",
                "exception",
                "404",
            ),
        ],
    )
    .await;
    sandbox.stop().await;
}
