//! A broker with one server, `svc`, and the fake API that it calls.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use mce_broker::{
    Answer, Asker, Broker, BrokerOptions, CallError, CallErrorKind, CallLimits, CallRequest, Caller, FoundFunction, FunctionSource, Naming,
    RunContext,
};
use mce_catalog::function::{
    Body, BodyFormat, BodyVariant, Effect, Function, HttpTarget, Location, Parameter, ParameterEncoding, Style, Target,
};
use mce_config::{
    AuditArguments, AuditSettings, AuditSync, Auth, LoadOptions, Location as Place, Origin, Rate, ServerSettings, Settings, ViewSettings,
    load,
};
use mce_test::FakeApi;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tempfile::TempDir;

/// The run of every call.
pub(crate) static RUN: LazyLock<RunContext> = LazyLock::new(|| RunContext::new("r1", Asker::Person));

/// Everything for calls.
pub(crate) struct Bench {
    pub(crate) api: FakeApi,
    pub(crate) server: ServerSettings,
    pub(crate) allowed_domains: Vec<String>,
    pub(crate) limits: CallLimits,
    pub(crate) functions: Vec<FoundFunction>,
    pub(crate) audit: AuditSettings,
    /// Of each client.
    pub(crate) rate: Option<Rate>,
    folder: TempDir,
}

impl Bench {
    /// A server without credentials whose base URL is the fake API's origin.
    pub(crate) fn new(functions: impl IntoIterator<Item = Function>) -> Self {
        let api = FakeApi::start();
        let server = ServerSettings {
            base_url: Some(api.origin()),
            ..server()
        };
        let functions = functions.into_iter();
        let functions = functions.map(|function| FoundFunction {
            function,
            types: BTreeMap::new(),
            security_schemes: BTreeMap::new(),
            filled: Vec::new(),
        });
        let folder = tempfile::tempdir().unwrap();
        Self {
            api,
            server,
            audit: audit_settings(folder.path().join("audit.jsonl")),
            allowed_domains: Vec::new(),
            rate: None,
            limits: CallLimits {
                total: Duration::from_secs(5),
                ..CallLimits::default()
            },
            functions: functions.collect(),
            folder,
        }
    }

    pub(crate) fn audit_file(&self) -> PathBuf {
        self.folder.path().join("audit.jsonl")
    }

    /// The records of the audit log.
    pub(crate) fn audit(&self) -> Vec<Value> {
        fs::read_to_string(self.audit_file())
            .unwrap()
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    }

    pub(crate) fn broker(&self) -> Broker {
        Broker::new(self.options()).unwrap()
    }

    pub(crate) fn options(&self) -> BrokerOptions {
        let functions = Arc::new(Listed(self.functions.iter().cloned().map(Arc::new).collect()));
        BrokerOptions {
            settings: Arc::new(self.settings()),
            functions,
            limits: self.limits.clone(),
            client: Arc::new(mce_broker::NoClient),
        }
    }

    /// The defaults, as with no file and no variable, and the one server.
    fn settings(&self) -> Settings {
        let options = LoadOptions {
            config_file: None,
            env_file: None,
            working_dir: self.folder.path().to_owned(),
            environment: BTreeMap::new(),
            arguments: BTreeMap::new(),
        };
        let (mut settings, _) = load(&options).unwrap();
        settings.audit.clone_from(&self.audit);
        settings.servers = vec![self.server.clone()];
        settings.allowed_domains.clone_from(&self.allowed_domains);
        settings.pace.rate = self.rate;
        settings
    }

    /// Calls a function of `svc` by its operation, arguments by original names.
    pub(crate) async fn call(&self, operation: &str, arguments: &Value) -> Result<Answer, CallError> {
        call(&self.broker(), operation, &RawValue::from_string(arguments.to_string()).unwrap()).await
    }
}

/// Calls a function of `svc` by its operation, arguments by original names.
pub(crate) async fn call(broker: &Broker, operation: &str, arguments: &RawValue) -> Result<Answer, CallError> {
    let function = &format!("svc:{operation}");
    broker
        .call(CallRequest {
            run: &RUN,
            caller: Caller::Python,
            naming: Naming::Original,
            function,
            arguments,
            with_content: false,
            page: None,
            client: None,
            recipes: None,
        })
        .await
}

/// A source of a few functions.
struct Listed(Vec<Arc<FoundFunction>>);

impl FunctionSource for Listed {
    fn find(&self, reference: &str) -> Result<Arc<FoundFunction>, CallError> {
        let is_meant = |function: &Function| {
            reference == format!("{}:{}", function.server, function.operation)
                || reference == format!("{}.{}", function.server, function.python)
        };
        let found = self.0.iter().find(|found| is_meant(&found.function));
        found
            .cloned()
            .ok_or_else(|| CallError::new(CallErrorKind::Argument, format!("there is no `{reference}`")))
    }
}

/// A function by `METHOD /path`, without parameters; answers are JSON.
pub(crate) fn function(operation: &str) -> Function {
    let (method, path) = operation.split_once(' ').unwrap();
    let effect = match method {
        "GET" | "HEAD" => Effect::Read,
        "DELETE" => Effect::Destructive,
        _ => Effect::Write,
    };
    Function {
        server: "svc".to_owned(),
        operation: operation.to_owned(),
        operation_id: None,
        python: "do_it".to_owned(),
        typescript: "doIt".to_owned(),
        effect,
        summary: String::new(),
        description: String::new(),
        tags: Vec::new(),
        is_deprecated: false,
        parameters: Vec::new(),
        body: None,
        result: None,
        errors: BTreeMap::new(),
        pagination: None,
        target: Target::Http(HttpTarget {
            method: method.to_owned(),
            path: path.to_owned(),
            base_url: None,
            is_elsewhere: false,
            accepts: vec!["application/json".to_owned()],
            event_item: mce_catalog::function::EventItem::default(),
            security: Vec::new(),
            scopes: BTreeMap::new(),
        }),
    }
}

/// Changes how a function is called.
pub(crate) fn with_target(mut function: Function, change: impl FnOnce(&mut HttpTarget)) -> Function {
    let Target::Http(target) = &mut function.target else {
        panic!("no operation")
    };
    change(target);
    function
}

/// An optional parameter with the default style of its place and any value.
pub(crate) fn parameter(name: &str, location: Location) -> Parameter {
    let (style, explode) = match location {
        Location::Path | Location::Header => (Style::Simple, false),
        Location::Query | Location::Cookie | Location::Querystring | Location::Argument => (Style::Form, true),
    };
    Parameter {
        original: name.to_owned(),
        key: name.to_owned(),
        python: name.to_lowercase().replace('-', "_"),
        typescript: name.replace('-', ""),
        location,
        is_required: location == Location::Path,
        is_deprecated: false,
        description: String::new(),
        schema: json!({}),
        encoding: ParameterEncoding::Style {
            style,
            explode,
            allow_reserved: false,
        },
    }
}

/// A required body of one media type.
pub(crate) fn body(media_type: &str, format: BodyFormat, schema: Value) -> Body {
    let variant = BodyVariant {
        media_type: media_type.to_owned(),
        format,
        schema,
        encoding: BTreeMap::new(),
    };
    Body {
        is_required: true,
        description: String::new(),
        variants: vec![variant],
    }
}

/// The defaults, in this file.
pub(crate) fn audit_settings(file: PathBuf) -> AuditSettings {
    AuditSettings {
        file,
        arguments: AuditArguments::Names,
        max_bytes: 16 << 20,
        keep_days: 90,
        sync: AuditSync::Write,
    }
}

fn server() -> ServerSettings {
    ServerSettings {
        name: "svc".to_owned(),
        title: "svc".to_owned(),
        origin: Origin::OpenApi(Place::File("/svc.json".into())),
        overlays: Vec::new(),
        view: ViewSettings::default(),
        entry: mce_config::EntrySource::default(),
        upstream: mce_config::UpstreamSettings::default(),
        base_url: None,
        auth: Auth::None,
        connection: mce_config::ConnectionSettings::default(),
        credentials: BTreeMap::new(),
        extra_headers: Vec::new(),
        is_read_only: false,
        allow_private: false,
        skills: None,
        top_level_functions: Vec::new(),
        unresolved: Vec::new(),
    }
}
