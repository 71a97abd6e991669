//! A sandbox with the machine's Python and a host that plays a small API.
#![allow(dead_code, reason = "each test file uses its own part")]
#![allow(clippy::result_large_err, reason = "the type is that of the trait")]

use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use mce_sandbox::{
    BoxFuture, CallFailure, Description, FunctionStub, HostCall, HostCalls, HostValue, Language, Launcher, Limits, Outcome, PaginationStub,
    ParameterStub, Program, ResultStub, Sandbox, SandboxOptions, SearchBy, WrittenCall,
};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::sync::Barrier;

/// Options with the machine's own interpreter and the default limits.
pub(crate) fn options() -> SandboxOptions {
    SandboxOptions {
        limits: Limits::default(),
        is_warm: true,
        pool_size: 2,
        concurrent_runs: 8,
        queued_runs: 64,
        python: "python3".to_owned(),
        python_libraries: Vec::new(),
        environment: vec![("PATH".to_owned(), "/usr/local/bin:/usr/bin:/bin".to_owned())],
        launcher: Launcher {
            program: PathBuf::from(env!("CARGO_BIN_EXE_mce-sandbox-launch")),
            arguments: Vec::new(),
        },
        typescript: Launcher {
            program: PathBuf::from(env!("CARGO_BIN_EXE_mce-sandbox-typescript")),
            arguments: Vec::new(),
        },
        without_layers: Vec::new(),
        has_tracebacks: false,
        has_guard: false,
    }
}

/// A launcher on another machine: see `tests/machines/run_on.py`, whose options these are.
pub(crate) fn on(machine: &[&str], launcher: Launcher) -> Launcher {
    if machine.is_empty() {
        return launcher;
    }
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/machines/run_on.py");
    let mut arguments: Vec<String> = ["-I", script].iter().chain(machine).map(|text| (*text).to_owned()).collect();
    arguments.extend(["--".to_owned(), launcher.program.to_string_lossy().into_owned()]);
    arguments.extend(launcher.arguments);
    Launcher {
        program: PathBuf::from("/usr/bin/python3"),
        arguments,
    }
}

/// Values of variables, from an object.
pub(crate) fn inputs(values: &Value) -> mce_sandbox::Inputs {
    serde_json::from_str(&values.to_string()).unwrap()
}

pub(crate) fn program(source: &str) -> Program {
    program_in(Language::Python, source)
}

pub(crate) fn program_in(language: Language, source: &str) -> Program {
    Program {
        language,
        source: source.to_owned(),
        params: mce_sandbox::Inputs::new(),
        has_all_params: false,
        wall: None,
    }
}

pub(crate) async fn run(sandbox: &Sandbox, source: &str) -> Outcome {
    sandbox.run(program(source), Arc::new(Api::default())).await
}

/// The outcome as one JSON value, to be compared.
pub(crate) fn seen(outcome: &Outcome) -> Value {
    match &outcome.result {
        Ok(value) => json!({ "value": serde_json::from_str::<Value>(value.get()).unwrap() }),
        Err(error) => json!({ "error": error }),
    }
}

/// The servers `demo` and `locked`, without a network.
pub(crate) struct Api {
    /// Calls of functions so far.
    pub(crate) calls: AtomicUsize,
    /// Calls that must be under way together before any of `meet` is answered.
    pub(crate) meeting: Barrier,
    /// Calls whose future was dropped before it was done.
    pub(crate) dropped: Arc<AtomicUsize>,
    /// Calls under way, and the most of them at a time.
    pub(crate) under_way: AtomicUsize,
    pub(crate) most_under_way: AtomicUsize,
    /// So many calls of `three` must be under way together before any is answered.
    pub(crate) three: Barrier,
    pub(crate) pair: Barrier,
    /// What a program has saved; its id is `r_1`.
    pub(crate) saved: Mutex<Option<Box<RawValue>>>,
}

impl Default for Api {
    fn default() -> Self {
        Self {
            calls: AtomicUsize::new(0),
            meeting: Barrier::new(10),
            dropped: Arc::default(),
            under_way: AtomicUsize::new(0),
            most_under_way: AtomicUsize::new(0),
            three: Barrier::new(3),
            pair: Barrier::new(2),
            saved: Mutex::new(None),
        }
    }
}

struct CountDrop(Arc<AtomicUsize>);

impl Drop for CountDrop {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

impl HostCalls for Api {
    fn call(&self, call: HostCall) -> BoxFuture<'_, Result<HostValue, CallFailure>> {
        Box::pin(async move {
            match call {
                HostCall::Servers {} => Ok(raw(&json!(["demo", "locked", "calendar", "typed"]))),
                HostCall::Search { query, by, limit, .. } => match by {
                    SearchBy::Name if query == "mcp__nope__get_item" => Ok(raw(&json!([]))),
                    SearchBy::Name => Ok(raw(&json!([{ "name": query }]))),
                    by => Ok(raw(&json!([{ "name": "get_item", "query": query, "by": by, "limit": limit }]))),
                },
                HostCall::Save { value } => {
                    *self.saved.lock().unwrap() = Some(value);
                    Ok(raw(&json!("r_1")))
                }
                // What is asked comes back.
                HostCall::Ask { request } => Ok(raw(&json!(request.get()))),
                HostCall::Load { id } => {
                    let saved = self.saved.lock().unwrap().clone().filter(|_| id == "r_1");
                    let unknown = || failure("argument", &format!("no value is kept under `{id}`"));
                    saved.map(HostValue::Json).ok_or_else(unknown)
                }
                HostCall::Describe { server, names } => describe(&server, &names),
                // Of a call with `tell` the answer is what the host was asked.
                HostCall::Check { calls } => {
                    let is_told = |call: &WrittenCall| call.arguments.get().contains("\"tell\"");
                    let told = |call: &WrittenCall| format!("{} {} {:?}", call.function, call.arguments.get(), call.unknown);
                    let answer = |call| if is_told(call) { vec![told(call)] } else { Vec::new() };
                    Ok(raw(&json!(calls.iter().map(answer).collect::<Vec<_>>())))
                }
                HostCall::Call {
                    function,
                    arguments,
                    with_headers,
                    ..
                } => {
                    let value = self.answer(&function, &arguments).await?;
                    Ok(if with_headers { with_status(value) } else { value })
                }
                HostCall::Fetch {
                    method,
                    url,
                    headers,
                    body,
                    ..
                } => fetch(&method, &url, &headers, body.as_deref()),
            }
        })
    }
}

impl Api {
    async fn answer(&self, function: &str, arguments: &RawValue) -> Result<HostValue, CallFailure> {
        self.calls.fetch_add(1, Ordering::SeqCst);
        let name = function
            .strip_prefix("mcp__")
            .map_or_else(|| function.to_owned(), |name| name.replace("__", "."));
        let given: Value = serde_json::from_str(arguments.get()).map_err(|error| failure("argument", &error.to_string()))?;
        match (name.as_str(), given["id"].as_str().unwrap_or_default()) {
            ("demo.get_item", "fail") => Err(CallFailure {
                function: Some("demo.get_item".to_owned()),
                status: Some(404),
                body: Some(json!({ "detail": "no such item" })),
                ..failure("api", "`demo.get_item` answered with status 404")
            }),
            ("demo.get_item", "slow") => {
                let _count = CountDrop(Arc::clone(&self.dropped));
                std::future::pending().await
            }
            ("demo.get_item", "three") => {
                let now = self.under_way.fetch_add(1, Ordering::SeqCst) + 1;
                self.most_under_way.fetch_max(now, Ordering::SeqCst);
                self.three.wait().await;
                for _ in 0..20 {
                    tokio::task::yield_now().await;
                }
                self.under_way.fetch_sub(1, Ordering::SeqCst);
                Ok(raw(&json!(1)))
            }
            ("demo.get_item", "pair") => {
                self.pair.wait().await;
                Ok(raw(&json!("met")))
            }
            ("demo.get_item", "meet") => {
                self.meeting.wait().await;
                Ok(raw(&json!("met")))
            }
            ("demo.get_item", "bytes") => Ok(HostValue::Bytes(vec![0, 255, 7])),
            ("demo.get_item", "huge") => Ok(raw(&json!("x".repeat(6 << 20)))),
            ("demo.list_items", _) => Ok(raw(&page(&given))),
            // The argument comes back as it was written.
            ("demo.get_item" | "demo.create_item" | "locked.get_thing", _) => Ok(HostValue::Json(
                RawValue::from_string(format!("{{\"echo\":{}}}", arguments.get())).unwrap(),
            )),
            _ => Err(failure("argument", "there is no such function")),
        }
    }
}

/// An answer that tells what was asked for; the host `refused.test` is not allowed.
fn fetch(method: &str, url: &str, headers: &[(String, String)], body: Option<&[u8]>) -> Result<HostValue, CallFailure> {
    if !url.starts_with("http://a.test") {
        return Err(failure("policy", "`refused.test` is not among the allowed domains"));
    }
    let told = json!({"method": method, "headers": headers, "body": body.map(|body| STANDARD.encode(body))});
    let status = if url.ends_with("/missing") { 404 } else { 200 };
    Ok(raw(&json!({
        "status": status,
        "url": url,
        "headers": [["content-type", "application/json"], ["x-a", "1"], ["x-a", "2"]],
        "body": STANDARD.encode(told.to_string()),
    })))
}

/// Seven items, three a page; with `kind` `stuck` or `endless` there is always another page.
fn page(given: &Value) -> Value {
    let from = given["cursor"].as_u64().unwrap_or_default();
    let items: Vec<u64> = (from..7.min(from + 3)).collect();
    match given["kind"].as_str() {
        Some("stuck") => json!({"items": [1], "next": 5}),
        Some("endless") => json!({"items": [1], "next": from + 1}),
        Some("address") => json!({"items": items, "next": (from < 4).then(|| format!("http://192.0.2.1/x?from={}&q=a", from + 3))}),
        Some("unknown") => json!({"things": [[items]], "more": true}),
        Some(_) | None => json!({"items": items, "next": (from < 4).then_some(from + 3)}),
    }
}

fn with_status(value: HostValue) -> HostValue {
    let (key, value) = match value {
        HostValue::Json(value) => ("value", serde_json::from_str(value.get()).unwrap()),
        HostValue::Bytes(bytes) => ("base64", json!(STANDARD.encode(bytes))),
    };
    raw(&json!({"status": 201, "headers": [["link", "<x>; rel=last"]], key: value}))
}

fn describe(server: &str, names: &[String]) -> Result<HostValue, CallFailure> {
    let all = match server {
        "demo" => vec![
            stub("get_item", "demo.get_item", &[("id", true, None)]),
            stub(
                "create_item",
                "demo.create_item",
                &[("kind", false, Some(vec![json!("small"), json!("large")])), ("body", true, None)],
            ),
            FunctionStub {
                parameters: vec![
                    ParameterStub {
                        query: Some("from".to_owned()),
                        whole: true,
                        ..parameter("cursor", false, None)
                    },
                    parameter("kind", false, None),
                ],
                pagination: Some(PaginationStub {
                    by: "cursor",
                    parameter: Some(vec!["cursor".to_owned()]),
                    next: Some(vec!["next".to_owned()]),
                    first: None,
                    items: None,
                }),
                ..stub("list_items", "demo.list_items", &[])
            },
        ],
        "typed" => vec![FunctionStub {
            parameters: ["string", "integer", "number"].map(typed).to_vec(),
            result: Some(ResultStub {
                list: false,
                fields: ["name", "full_name", "items"].map(str::to_owned).to_vec(),
            }),
            ..stub("find", "demo.get_item", &[])
        }],
        // It has the name of a module of the standard library.
        "calendar" => vec![stub("get_item", "demo.get_item", &[("id", true, None)])],
        "locked" => vec![stub("get_thing", "locked.get_thing", &[("id", true, None)])],
        _ => return Err(failure("argument", "there is no such server")),
    };
    // TypeScript asks by its own names.
    let known = |name: &String| {
        let stub = all.iter().find(|stub| stub.name == *name || camel_case(&stub.name) == *name)?;
        Some(FunctionStub {
            name: name.clone(),
            ..stub.clone()
        })
    };
    let functions = if names.is_empty() {
        all.clone()
    } else {
        names.iter().filter_map(known).collect()
    };
    let hint = |name: &String| {
        (
            name.clone(),
            if name.starts_with("get") {
                format!("did you mean `{}`?", all[0].name)
            } else {
                String::new()
            },
        )
    };
    let unknown = names.iter().filter(|name| known(name).is_none()).map(hint).collect();
    Ok(raw(&serde_json::to_value(Description { functions, unknown }).unwrap()))
}

fn camel_case(name: &str) -> String {
    let mut words = name.split('_');
    let first = words.next().unwrap_or_default().to_owned();
    words.fold(first, |name, word| {
        let (head, tail) = word.split_at(1);
        name + &head.to_uppercase() + tail
    })
}

fn stub(name: &str, function: &str, parameters: &[(&str, bool, Option<Vec<Value>>)]) -> FunctionStub {
    let parameters = parameters
        .iter()
        .map(|(name, required, literals)| parameter(name, *required, literals.clone()))
        .collect();
    FunctionStub {
        name: name.to_owned(),
        function: function.to_owned(),
        parameters,
        signature: format!("{name}(...) -> dict"),
        pagination: None,
        open: false,
        result: None,
    }
}

fn parameter(name: &str, required: bool, literals: Option<Vec<Value>>) -> ParameterStub {
    ParameterStub {
        name: name.to_owned(),
        required,
        literals,
        types: None,
        query: None,
        whole: false,
    }
}

/// An argument that has the name of its type.
fn typed(kind: &str) -> ParameterStub {
    ParameterStub {
        types: Some(vec![kind.to_owned()]),
        ..parameter(kind, false, None)
    }
}

fn raw(value: &Value) -> HostValue {
    HostValue::Json(RawValue::from_string(value.to_string()).unwrap())
}

pub(crate) fn failure(kind: &'static str, message: &str) -> CallFailure {
    CallFailure {
        kind,
        message: message.to_owned(),
        function: None,
        status: None,
        body: None,
        hint: None,
    }
}
