//! The calls of `tests/cases`: each document is compiled, each call is made, what arrives and what comes back is compared.

use std::path::{Path, PathBuf};
use std::{env, fs};

use mce_broker::{Answer, AnswerValue, CallError, FoundFunction};
use mce_catalog::openapi::{self, Load, LoadError, Origin};
use mce_config::{Auth, Credential, Secret};
use mce_test::FakeAnswer;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use url::Url;

use crate::bench::{Bench, call};
use crate::compare::{base64, differences, is_equal};

#[derive(Deserialize)]
struct Case {
    server: Map<String, Value>,
    server_after_compile: Option<Map<String, Value>>,
    document_url: Option<String>,
    #[serde(default)]
    calls: Vec<Call>,
    config_error_contains: Option<Value>,
    config_error_contains_any: Option<Value>,
    #[serde(default)]
    may_refuse: bool,
}

#[derive(Deserialize)]
struct Call {
    operation: String,
    args: Box<RawValue>,
    respond: Option<Respond>,
    expect_request: Option<Map<String, Value>>,
    #[serde(default, deserialize_with = "present")]
    expect_value: Option<Value>,
    expect_value_base64: Option<String>,
    expect_error: Option<Map<String, Value>>,
}

#[derive(Deserialize)]
struct Respond {
    #[serde(default = "ok")]
    status: u16,
    #[serde(default)]
    headers: Map<String, Value>,
    body: Option<String>,
    body_base64: Option<String>,
}

fn ok() -> u16 {
    200
}

/// `null` is a value that is expected.
fn present<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}

#[tokio::test]
async fn every_call_of_the_cases_is_sent_and_answered_right() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/cases");
    let mut folders: Vec<_> = fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.is_dir())
        .collect();
    folders.sort();
    assert!(folders.len() >= 100, "there are only {} cases", folders.len());
    let mut faults = Vec::new();
    let mut calls = 0;
    for folder in folders {
        let name = folder.file_name().unwrap().to_string_lossy().into_owned();
        let (made, found) = run_case(&folder).await;
        calls += made;
        faults.extend(found.into_iter().map(|fault| format!("{name}: {fault}")));
    }
    println!("{calls} calls");
    assert!(faults.is_empty(), "{} faults:\n{}", faults.len(), faults.join("\n"));
}

async fn run_case(folder: &Path) -> (usize, Vec<String>) {
    let mut bench = Bench::new([]);
    let host = bench.api.origin().replace("http://", "");
    let text = fs::read_to_string(folder.join("case.json")).unwrap().replace("api.test", &host);
    let case: Case = serde_json::from_str(&text).unwrap();
    let refused = case.config_error_contains.is_some() || case.config_error_contains_any.is_some();
    match compile(folder, &case, &host) {
        Ok(functions) if !refused => bench.functions = functions,
        Ok(_) => return (0, Vec::new()),
        Err(_) if refused || case.may_refuse => return (0, Vec::new()),
        Err(e) => return (0, vec![e]),
    }
    configure(&mut bench, &case);
    let mut faults = Vec::new();
    for call in &case.calls {
        let found = run_call(&bench, call).await;
        faults.extend(found.into_iter().map(|fault| format!("{} {}: {fault}", call.operation, call.args)));
    }
    (case.calls.len(), faults)
}

fn configure(bench: &mut Bench, case: &Case) {
    let server = &mut bench.server;
    for (key, value) in case.server.iter().chain(case.server_after_compile.iter().flatten()) {
        match key.as_str() {
            "name" => {}
            "is_read_only" => server.is_read_only = value.as_bool().unwrap(),
            "base_url" => server.base_url = value.as_str().map(|url| url.trim_end_matches('/').to_owned()),
            "auth_header" => {
                server.auth = Auth::Static {
                    value: Secret::new(value.as_str().unwrap()),
                }
            }
            "credentials" => {
                let tokens = value.as_object().unwrap().iter();
                server.credentials = tokens
                    .map(|(name, token)| (name.clone(), Credential::Token(Secret::new(token.as_str().unwrap()))))
                    .collect();
            }
            other => panic!("`{other}` is no key of a server"),
        }
    }
}

fn compile(folder: &Path, case: &Case, host: &str) -> Result<Vec<FoundFunction>, String> {
    let file = ["openapi.json", "openapi.yaml"]
        .map(|name| folder.join(name))
        .into_iter()
        .find(|file| file.exists())
        .unwrap();
    let files = Files {
        folder: folder.to_owned(),
        host: host.to_owned(),
    };
    let origin = case
        .document_url
        .as_ref()
        .map_or_else(|| Origin::File(file.clone()), |url| Origin::Url(Url::parse(url).unwrap()));
    let document = openapi::read(&files.read(&file).unwrap(), &origin, &files).map_err(|e| format!("is refused: {e}"))?;
    let (types, security_schemes) = (document.types, document.security_schemes);
    let found = |mut function: mce_catalog::function::Function| {
        "svc".clone_into(&mut function.server);
        FoundFunction {
            function,
            types: types.clone(),
            security_schemes: security_schemes.clone(),
            filled: Vec::new(),
        }
    };
    Ok(document.functions.into_iter().map(found).collect())
}

struct Files {
    folder: PathBuf,
    host: String,
}

impl Files {
    fn read(&self, file: &Path) -> Result<Vec<u8>, LoadError> {
        let bytes = fs::read(file).map_err(|e| LoadError(e.to_string()))?;
        Ok(match String::from_utf8(bytes) {
            Ok(text) => text.replace("api.test", &self.host).into_bytes(),
            Err(e) => e.into_bytes(),
        })
    }
}

impl Load for Files {
    fn load(&self, reference: &Origin) -> Result<Vec<u8>, LoadError> {
        match reference {
            Origin::File(file) => self.read(file),
            Origin::Url(url) => self.read(
                &self.folder.join(
                    url.path_segments()
                        .and_then(|mut segments| segments.next_back())
                        .unwrap_or_default(),
                ),
            ),
        }
    }
}

async fn run_call(bench: &Bench, made: &Call) -> Vec<String> {
    bench.api.take_requests();
    let answer = made.respond.as_ref().map_or_else(|| FakeAnswer::json(200, "{}"), fake_answer);
    bench.api.answer_with(move |_| answer.clone());
    let outcome = call(&bench.broker(), &made.operation, &made.args).await;
    let requests = bench.api.take_requests();
    let mut faults = match &made.expect_request {
        None if requests.is_empty() => Vec::new(),
        None => vec!["a request was sent".to_owned()],
        Some(expected) => match requests.as_slice() {
            [request] => differences(
                request,
                expected,
                serde_json::from_str::<Value>(made.args.get()).unwrap().get("body").is_some(),
            ),
            other => vec![format!("{} requests were sent: {:?}", other.len(), outcome.as_ref().err())],
        },
    };
    faults.extend(outcome_fault(made, &outcome));
    faults
}

fn fake_answer(respond: &Respond) -> FakeAnswer {
    let mut answer = FakeAnswer::empty(respond.status);
    for (name, value) in &respond.headers {
        answer = answer.with_header(name, value.as_str().unwrap());
    }
    let decode = |text: &String| {
        use base64::Engine;
        base64::engine::general_purpose::STANDARD.decode(text).unwrap()
    };
    let body = respond
        .body
        .clone()
        .map(String::into_bytes)
        .or_else(|| respond.body_base64.as_ref().map(decode));
    answer.with_body(body.unwrap_or_default())
}

fn outcome_fault(made: &Call, outcome: &Result<Answer, CallError>) -> Option<String> {
    match (outcome, &made.expect_error) {
        (Err(error), Some(wanted)) => error_fault(error, wanted),
        (Err(error), None) => Some(format!("failed: {error} ({})", error.internal())),
        (Ok(_), Some(_)) => Some("an error was expected".to_owned()),
        (Ok(answer), None) => {
            let (value, bytes) = match &answer.value {
                AnswerValue::Json(text) => (serde_json::from_str(text.get()).unwrap(), None),
                AnswerValue::Text(text) => (Value::from(text.as_str()), None),
                AnswerValue::Bytes(bytes) => (Value::Null, Some(base64(bytes))),
                AnswerValue::Empty => (Value::Null, None),
            };
            let is_value = made
                .expect_value
                .as_ref()
                .is_none_or(|wanted| bytes.is_none() && is_equal(&value, wanted));
            let is_bytes = made
                .expect_value_base64
                .as_ref()
                .is_none_or(|wanted| bytes.as_ref() == Some(wanted));
            (!is_value || !is_bytes).then(|| format!("came back as {:?}", answer.value))
        }
    }
}

fn error_fault(error: &CallError, wanted: &Map<String, Value>) -> Option<String> {
    let body = error.body().map(Value::to_string).unwrap_or_default();
    let told = format!("{error} {} {body}", error.hint().unwrap_or_default()).to_lowercase();
    let list = |value: &Value| value.as_array().cloned().unwrap_or_else(|| vec![value.clone()]);
    let occurs = |text: &Value| told.contains(&text.as_str().unwrap().to_lowercase());
    let is_right = wanted.iter().all(|(key, value)| match key.as_str() {
        "type" => list(value).contains(&Value::from(error.kind.as_str())),
        "status" => value.as_u64() == error.status().map(u64::from),
        "contains" => list(value).iter().all(occurs),
        "contains_any" => list(value).iter().any(occurs),
        other => panic!("`{other}` is no key of an error"),
    });
    (!is_right).then(|| format!("wanted {wanted:?}, came {} {told}", error.kind.as_str()))
}
