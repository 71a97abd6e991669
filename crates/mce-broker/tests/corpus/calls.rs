//! All calls of one document: arguments are made, the broker sends them, and what arrived is held against the document.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, LazyLock, Mutex};

use mce_broker::{
    Answer, Asker, Broker, BrokerOptions, CallError, CallErrorKind, CallLimits, CallRequest, Caller, FoundFunction, FunctionSource, Naming,
    RunContext, WrittenCall,
};
use mce_catalog::function::{BodyFormat, Function, Location};
use mce_catalog::openapi::{self, Document, Load, LoadError, Origin};
use mce_catalog::pointer::escape;
use mce_catalog::schema::closure;
use mce_config::{Auth, LoadOptions, Location as Place, Origin as From, ServerSettings, Settings, load};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::answer::{Expected, is_expected, promised};
use crate::arguments::Case;
use crate::mock::{Mock, Received};
use crate::raw::{Files, Operation};
use crate::sample::Extent;
use crate::{body, wire};

/// Samples that are tried until one fits its schema.
const ATTEMPTS: usize = 12;
/// The run of every call.
static RUN: LazyLock<RunContext> = LazyLock::new(|| RunContext::new("r", Asker::Person));
/// Parts of arguments of which each in turn is not known.
const UNKNOWN_PARTS: usize = 4;
/// Before the paths of the document.
const BASE: &str = "/base/v1";

/// What became of a document.
#[derive(Debug, Default)]
pub(crate) struct Outcome {
    pub(crate) file: String,
    pub(crate) version: String,
    /// The whole document is refused.
    pub(crate) refusal: Option<String>,
    pub(crate) operations: usize,
    /// Operations that are no functions, with the reasons.
    pub(crate) skipped: Vec<(String, String)>,
    /// Functions that could be called rightly.
    pub(crate) called: usize,
    pub(crate) calls: usize,
    /// By operation.
    pub(crate) faults: Vec<(String, String)>,
}

/// Reads files of the disk; no URLs.
struct Directory;

impl Load for Directory {
    fn load(&self, reference: &Origin) -> Result<Vec<u8>, LoadError> {
        match reference {
            Origin::File(path) => std::fs::read(path).map_err(|error| LoadError(error.kind().to_string())),
            Origin::Url(_) => Err(LoadError("no request is expected".to_owned())),
        }
    }
}

/// The function that is being called.
#[derive(Default)]
struct Current(Mutex<Option<Arc<FoundFunction>>>);

impl FunctionSource for Current {
    fn find(&self, reference: &str) -> Result<Arc<FoundFunction>, CallError> {
        let found = self.0.lock().unwrap().clone();
        found.ok_or_else(|| CallError::new(CallErrorKind::Internal, reference.to_owned()))
    }
}

/// What calls are made with.
struct Client<'a> {
    broker: Broker,
    current: Arc<Current>,
    mock: Mock,
    operations: BTreeMap<String, Operation<'a>>,
    is_swagger2: bool,
}

/// Compiles a document and calls its functions.
pub(crate) fn run(folder: &Path, file: &str) -> Outcome {
    let path = folder.join("specs").join(file);
    let mut outcome = Outcome {
        file: file.to_owned(),
        ..Outcome::default()
    };
    let document = match openapi::read(&std::fs::read(&path).unwrap(), &Origin::File(path.clone()), &Directory) {
        Ok(document) => document,
        Err(error) => {
            outcome.refusal = Some(error.to_string());
            return outcome;
        }
    };
    outcome.version.clone_from(&document.version);
    outcome.operations = document.operations;
    outcome.skipped = document
        .skipped
        .iter()
        .map(|it| (it.operation.clone(), it.reason.clone()))
        .collect();
    let files = match Files::read(&path) {
        Ok(files) => files,
        Err(error) => {
            outcome
                .faults
                .push(("the document".to_owned(), format!("cannot be read independently: {error}")));
            return outcome;
        }
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(call_all(&files, &document, &mut outcome));
    outcome
}

async fn call_all(files: &Files, document: &Document, outcome: &mut Outcome) {
    let home = tempfile::tempdir().unwrap();
    std::fs::create_dir(home.path().join("data")).unwrap();
    let mock = Mock::start().await;
    let current = Arc::new(Current::default());
    let options = BrokerOptions {
        settings: Arc::new(settings(home.path(), mock.port)),
        functions: Arc::clone(&current) as Arc<dyn FunctionSource>,
        limits: CallLimits::default(),
        client: Arc::new(mce_broker::NoClient),
    };
    let caller = Client {
        broker: Broker::new(options).unwrap(),
        current,
        mock,
        operations: files.operations(),
        is_swagger2: files.is_swagger2(),
    };
    let skipped: Vec<&str> = document.skipped.iter().map(|skipped| skipped.operation.as_str()).collect();
    for operation in caller.operations.keys() {
        let is_known = skipped.contains(&operation.as_str()) || document.functions.iter().any(|function| function.operation == *operation);
        if !is_known {
            outcome
                .faults
                .push((operation.clone(), "is neither a function nor skipped".to_owned()));
        }
    }
    for function in &document.functions {
        let Some(operation) = caller.operations.get(&function.operation) else {
            outcome
                .faults
                .push((function.operation.clone(), "is no operation of the document".to_owned()));
            continue;
        };
        let faults = caller
            .call_function(operation, &found(function, document), &mut outcome.calls)
            .await;
        outcome.called += usize::from(faults.is_empty());
        outcome
            .faults
            .extend(faults.into_iter().map(|fault| (function.operation.clone(), fault)));
    }
}

fn found(function: &Function, document: &Document) -> Arc<FoundFunction> {
    let mut function = function.clone();
    "svc".clone_into(&mut function.server);
    let types = closure(function.schemas(), &document.types)
        .into_iter()
        .filter_map(|name| document.types.get_key_value(&name))
        .map(|(name, schema)| (name.clone(), schema.clone()));
    Arc::new(FoundFunction {
        filled: Vec::new(),
        types: types.collect(),
        security_schemes: document.security_schemes.clone(),
        function,
    })
}

/// Arguments by their keys.
type Arguments = Map<String, Value>;

impl Client<'_> {
    async fn call_function(&self, operation: &Operation<'_>, found: &Arc<FoundFunction>, calls: &mut usize) -> Vec<String> {
        *self.current.0.lock().unwrap() = Some(Arc::clone(found));
        let variants = found.function.body.as_ref().map_or(&[][..], |body| &body.variants);
        let mut faults = Vec::new();
        let mut formats: Vec<BodyFormat> = Vec::new();
        let mut cases = vec![(Extent::Required, 0)];
        for (index, variant) in variants.iter().enumerate() {
            if !formats.contains(&variant.format) {
                formats.push(variant.format);
                cases.push((Extent::All, index));
            }
        }
        if variants.is_empty() && !found.function.parameters.is_empty() {
            cases.push((Extent::All, 0));
        }
        for (extent, variant) in cases {
            *calls += 1;
            let case = Case {
                function: &found.function,
                types: &found.types,
                extent,
                variant,
            };
            let made = self.call_case(operation, case).await;
            faults.extend(made.into_iter().map(|fault| format!("{extent:?}: {fault}")));
        }
        faults
    }

    /// One call with arguments that fit. The broker says whether they do: it checks them before anything is sent.
    async fn call_case(&self, operation: &Operation<'_>, case: Case<'_>) -> Vec<String> {
        let mut fault = String::new();
        for attempt in 0..=ATTEMPTS {
            let made = if attempt < ATTEMPTS { case.sampled(attempt) } else { case.fitted() };
            let arguments = match made {
                Ok(arguments) => arguments,
                Err(name) => {
                    fault = format!("no value for `{name}`");
                    continue;
                }
            };
            let (reply, expected) = promised(operation, case, self.is_swagger2);
            self.mock.expect(reply);
            let text = RawValue::from_string(Value::Object(arguments.clone()).to_string()).unwrap();
            let request = CallRequest {
                run: &RUN,
                caller: Caller::Python,
                naming: Naming::Original,
                function: &case.function.python,
                arguments: &text,
                with_content: false,
                page: None,
                client: None,
                recipes: None,
            };
            let came = self.broker.call(request).await;
            let requests = self.mock.take();
            match (came, requests.as_slice()) {
                (came, [request]) => {
                    let mut faults = self.faults(operation, case.function, &arguments, request, (came, &expected));
                    faults.extend(self.false_alarms(case.function, &arguments));
                    return faults;
                }
                (Err(error), []) if error.kind == CallErrorKind::Argument => fault = format!("{error} {text}"),
                (Err(error), []) => return vec![format!("{error} ({})", error.internal())],
                (_, several) => return vec![format!("{} requests were sent", several.len())],
            }
        }
        vec![fault]
    }

    /// What is found wrong, before a program starts, with arguments that fit, whatever part of them is not known.
    fn false_alarms(&self, function: &Function, arguments: &Map<String, Value>) -> Vec<String> {
        let whole = Value::Object(arguments.clone());
        let mut pointers = Vec::new();
        pointers_of(&whole, "", &mut pointers);
        let step = pointers.len() / UNKNOWN_PARTS + 1;
        let parts = pointers.iter().step_by(step).map(|pointer| vec![pointer.clone()]);
        let mut found = Vec::new();
        for unknown in parts.chain([Vec::new(), pointers.iter().step_by(2).cloned().collect()]) {
            let mut written = whole.clone();
            for pointer in &unknown {
                if let Some(value) = written.pointer_mut(pointer) {
                    *value = Value::Null;
                }
            }
            let text = RawValue::from_string(written.to_string()).unwrap();
            let call = WrittenCall {
                function: &function.python,
                caller: Caller::Python,
                arguments: &text,
                unknown: &unknown,
            };
            let alarms = self.broker.written_faults(call);
            found.extend(
                alarms
                    .into_iter()
                    .map(|alarm| format!("false alarm: {alarm} where {unknown:?} is not known of {whole}")),
            );
        }
        found
    }

    fn faults(
        &self,
        operation: &Operation<'_>,
        function: &Function,
        arguments: &Arguments,
        request: &Received,
        (came, expected): (Result<Answer, CallError>, &Expected),
    ) -> Vec<String> {
        let Some(target) = request.target.strip_prefix(BASE) else {
            return vec![format!("{} is not below the base URL", request.target)];
        };
        let request = Received {
            target: target.to_owned(),
            method: request.method.clone(),
            headers: request.headers.clone(),
            body: request.body.clone(),
        };
        let mut faults = Vec::new();
        let sent: Vec<_> = operation
            .parameters
            .iter()
            .map(|parameter| wire::Sent {
                parameter,
                value: key_of(function, &parameter.place, parameter.name).and_then(|key| arguments.get(key)),
            })
            .collect();
        faults.extend(wire::faults(operation, &sent, &request, self.is_swagger2));
        faults.extend(body::faults(
            operation,
            arguments.get("body").filter(|_| function.body.is_some()),
            &request,
            self.is_swagger2,
        ));
        match came {
            Ok(answer) if is_expected(&answer.value, expected) => {}
            Ok(answer) => faults.push(format!("{expected:?} came back as {:?}", answer.value)),
            Err(error) => faults.push(format!("the answer is an error: {error}")),
        }
        faults
    }
}

fn key_of<'f>(function: &'f Function, place: &str, name: &str) -> Option<&'f str> {
    let is_place = |location: Location| match location {
        Location::Path => place == "path",
        Location::Query => place == "query",
        Location::Header => place == "header",
        Location::Cookie => place == "cookie",
        Location::Querystring => place == "querystring",
        Location::Argument => false,
    };
    let mut parameters = function.parameters.iter();
    let own = parameters.find(|parameter| is_place(parameter.location) && parameter.original == name);
    own.map(|parameter| parameter.key.as_str())
}

/// The defaults, and one server.
fn settings(home: &Path, port: u16) -> Settings {
    let options = LoadOptions {
        config_file: None,
        env_file: None,
        working_dir: home.to_owned(),
        environment: BTreeMap::new(),
        arguments: BTreeMap::new(),
    };
    let (mut settings, _) = load(&options).unwrap();
    settings.servers = vec![ServerSettings {
        overlays: Vec::new(),
        view: mce_config::ViewSettings::default(),
        entry: mce_config::EntrySource::default(),
        upstream: mce_config::UpstreamSettings::default(),
        name: "svc".to_owned(),
        title: "svc".to_owned(),
        origin: From::OpenApi(Place::File("/svc.json".into())),
        base_url: Some(format!("http://127.0.0.1:{port}{BASE}")),
        auth: Auth::None,
        connection: mce_config::ConnectionSettings::default(),
        credentials: BTreeMap::new(),
        extra_headers: Vec::new(),
        is_read_only: false,
        allow_private: false,
        skills: None,
        top_level_functions: Vec::new(),
        unresolved: Vec::new(),
    }];
    settings
}

/// The places of all values within a value.
fn pointers_of(value: &Value, place: &str, pointers: &mut Vec<String>) {
    let mut add = |name: &str, part: &Value| {
        let place = format!("{place}/{}", escape(name));
        pointers.push(place.clone());
        pointers_of(part, &place, pointers);
    };
    match value {
        Value::Object(members) => members.iter().for_each(|(name, part)| add(name, part)),
        Value::Array(items) => items.iter().enumerate().for_each(|(index, part)| add(&index.to_string(), part)),
        _ => {}
    }
}
