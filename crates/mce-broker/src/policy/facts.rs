//! What rules are judged by: who calls which function with which arguments, as they will be sent.

use std::sync::OnceLock;

use mce_catalog::function::{BodyFormat, BodyVariant, Effect, Location, ParameterEncoding, Style, Target};
use mce_catalog::view::{ArgumentPlace, FilledArgument};
use mce_config::{Origin, ServerSettings};
use reqwest::Url;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use serde_json::{Map, Value, json};

use super::condition::Written;
use crate::arguments::Arguments;
use crate::base_url::BaseUrl;
use crate::call::CallRequest;
use crate::function_source::FoundFunction;
use crate::hex::sha256_hex;
use crate::json_text::{canonical, find_big_integer, text_at};
use crate::run_context::RunContext;

/// The server that `fetch` counts as.
pub(super) const FETCH_SERVER: &str = "mce";

/// One call.
#[derive(Debug)]
pub(crate) struct Facts<'a> {
    pub(crate) run: &'a RunContext,
    /// The server by its name, then as it is written in the configuration.
    pub(crate) servers: [&'a str; 2],
    /// `server.function`.
    pub(crate) function: String,
    /// `METHOD /path`, or the tool's own name.
    pub(crate) operation: &'a str,
    pub(crate) effect: Effect,
    /// Where it goes, for a person's eyes; nothing for what runs here.
    pub(crate) host: Option<String>,
    /// It does nothing but to call what is decided by itself.
    pub(crate) is_recipe: bool,
    /// The address of a further page.
    pub(crate) page: Option<&'a str>,
    called: Called<'a>,
    // Most calls are decided without them.
    names: OnceLock<Vec<String>>,
    arguments: OnceLock<Value>,
}

/// What is called.
#[derive(Debug, Clone, Copy)]
enum Called<'a> {
    Function(&'a FoundFunction, &'a Arguments<'a>),
    Fetch {
        url: &'a str,
        headers: &'a HeaderMap,
        body: Option<&'a [u8]>,
    },
}

impl<'a> Facts<'a> {
    /// Those of a call of a function of this server.
    pub(crate) fn of_call(
        request: CallRequest<'a>,
        server: &'a ServerSettings,
        found: &'a FoundFunction,
        arguments: &'a Arguments<'a>,
    ) -> Self {
        let function = &found.function;
        Self {
            run: request.run,
            servers: [&function.server, &server.title],
            function: format!("{}.{}", function.server, function.python),
            operation: &function.operation,
            effect: function.effect,
            host: host_of_call(server, found),
            is_recipe: matches!(server.origin, Origin::Recipes(_)),
            page: request.page,
            called: Called::Function(found, arguments),
            names: OnceLock::new(),
            arguments: OnceLock::new(),
        }
    }

    /// Those of a request of a program's own: the function `fetch` of the server `mce`.
    pub(crate) fn of_fetch(
        run: &'a RunContext,
        (method, effect): (&'a str, Effect),
        url: &'a str,
        headers: &'a HeaderMap,
        body: Option<&'a [u8]>,
    ) -> Self {
        Self {
            run,
            servers: [FETCH_SERVER; 2],
            function: format!("{FETCH_SERVER}.fetch"),
            operation: method,
            effect,
            host: Url::parse(url).ok().map(|url| url.authority().to_owned()),
            is_recipe: false,
            page: None,
            called: Called::Fetch { url, headers, body },
            names: OnceLock::new(),
            arguments: OnceLock::new(),
        }
    }

    /// Whether it is a request of a program's own.
    pub(crate) const fn is_fetch(&self) -> bool {
        matches!(self.called, Called::Fetch { .. })
    }

    /// All names of the function.
    pub(crate) fn names(&self) -> &[String] {
        self.names.get_or_init(|| {
            let mut names = Vec::new();
            match self.called {
                Called::Function(found, _) => {
                    let function = &found.function;
                    let own = function.operation_id.iter().chain([&function.operation]);
                    let tool = match &function.target {
                        Target::Tool(tool) => &tool.name,
                        Target::Http(_) => &function.typescript,
                    };
                    names = names_of([&function.python, &function.typescript], own, tool, self.servers);
                }
                Called::Fetch { url, .. } => names.extend([self.function.clone(), "fetch".to_owned(), format!("{} {url}", self.operation)]),
            }
            names
        })
    }

    /// A value of the body as it is written, if it may be sent so: with all digits of its numbers.
    pub(crate) fn written(&self, pointer: &str) -> Option<Written<'_>> {
        let Called::Function(found, Arguments { body: Some(given), .. }) = self.called else {
            return None;
        };
        let variants = &found.function.body.as_ref()?.variants;
        let is_json = |variant: &BodyVariant| variant.format == BodyFormat::Json;
        let below = pointer
            .strip_prefix("/body")
            .filter(|below| variants.iter().any(is_json) && (below.is_empty() || below.starts_with('/')))?;
        Some(Written {
            text: text_at(given.text.get(), below)?,
            is_sure: variants.iter().all(is_json),
        })
    }

    /// The arguments by original names; the body is `body`.
    pub(crate) fn arguments(&self) -> &Value {
        self.arguments.get_or_init(|| match self.called {
            Called::Function(found, arguments) => sent(found, arguments),
            Called::Fetch { url, headers, body } => {
                let body = body.map(|body| String::from_utf8_lossy(body));
                let mut fields = Map::new();
                for name in headers.keys() {
                    let values = headers.get_all(name).iter().map(|value| String::from_utf8_lossy(value.as_bytes()));
                    fields.insert(name.to_string(), values.collect::<Vec<_>>().join(", ").into());
                }
                let mut sent = json!({"method": self.operation, "url": url, "body": body});
                if let (Some(sent), false) = (sent.as_object_mut(), fields.is_empty()) {
                    sent.insert("headers".to_owned(), fields.into());
                }
                sent
            }
        })
    }

    /// The arguments for a person's eyes: what the configuration hides stays hidden.
    pub(crate) fn shown(&self) -> Value {
        let mut shown = self.arguments().clone();
        let Called::Function(found, arguments) = self.called else {
            return shown;
        };
        let Value::Object(members) = &mut shown else { return shown };
        for FilledArgument { place, is_hidden, .. } in &found.filled {
            let name = match place {
                ArgumentPlace::Body => Some("body"),
                ArgumentPlace::Parameter(index) => found.function.parameters.get(*index).map(|parameter| parameter.key.as_str()),
            };
            if let Some(value) = name.filter(|_| *is_hidden).and_then(|name| members.get_mut(name)) {
                *value = Value::from("(set by the configuration)");
            }
        }
        // Numbers that would be rounded are shown as they are sent.
        if let Some(body) = arguments.body.as_ref().filter(|body| find_big_integer(body.text.get()).is_some()) {
            members.insert("body".to_owned(), Value::from(body.text.get()));
        }
        shown
    }

    /// All that is sent, in one text that is another for any other call, but the same for members of objects in another order.
    /// Where numbers in the body are exact counts, too.
    pub(crate) fn canonical(&self) -> String {
        let body = match self.called {
            Called::Function(_, arguments) => arguments.body.as_ref().map(|body| canonical(body.text.get())),
            // What is no text looks like another.
            Called::Fetch { headers, body, .. } => Some(exact_digest(headers, body)),
        };
        json!([self.function, self.operation, self.host, sorted(self.arguments()), body, self.page]).to_string()
    }
}

/// The host of a function, with its port.
fn host_of_call(server: &ServerSettings, found: &FoundFunction) -> Option<String> {
    match (&found.function.target, &server.origin) {
        (Target::Http(target), _) => Some(BaseUrl::of(server, target).ok()?.origin.authority().to_owned()),
        (Target::Tool(_), Origin::McpHttp(http)) => {
            let url = Url::parse(&http.url).ok()?;
            let port = url.port().map_or_else(String::new, |port| format!(":{port}"));
            Some(format!("{}{port}", url.host_str()?))
        }
        (Target::Tool(_), Origin::McpStdio(_) | Origin::OpenApi(_) | Origin::Recipes(_)) => None,
    }
}

/// A hash of each byte of a request but those of its method and URL.
fn exact_digest(headers: &HeaderMap, body: Option<&[u8]>) -> String {
    let field = |(name, value): (&HeaderName, &HeaderValue)| [name.as_str().as_bytes(), b":", value.as_bytes(), b"\n"].concat();
    let mut bytes: Vec<Vec<u8>> = headers.iter().map(field).collect();
    bytes.sort();
    bytes.push(body.map_or_else(Vec::new, |body| [b"\n", body].concat()));
    sha256_hex(bytes.concat())
}

/// All names of a function: in both languages, its own, and with each name of its server.
pub(super) fn names_of<'a>(
    languages: [&'a String; 2],
    own: impl Iterator<Item = &'a String>,
    tool: &str,
    servers: [&str; 2],
) -> Vec<String> {
    let [python, _] = languages;
    let mut names: Vec<String> = languages.into_iter().chain(own).cloned().collect();
    let whole = |server: &&str| [tool, python].map(|name| format!("mcp__{server}__{name}"));
    names.extend(servers.iter().flat_map(whole));
    names.extend(servers.map(|server| format!("{server}.{python}")));
    names
}

fn sent(found: &FoundFunction, arguments: &Arguments<'_>) -> Value {
    let mut members = Map::new();
    for argument in &arguments.parameters {
        members.insert(argument.parameter.key.clone(), argument.value.clone());
    }
    // A tool's argument of this name wins over the former, as where it is sent.
    members.extend(arguments.more.iter().cloned());
    // Properties of an exploded object become parameters of their own on the way. (OpenAPI 3.1, Style Examples.)
    let is_exploded = |encoding: &ParameterEncoding| {
        matches!(
            encoding,
            ParameterEncoding::Style {
                style: Style::Form,
                explode: true,
                ..
            }
        )
    };
    for argument in &arguments.parameters {
        if argument.parameter.location == Location::Query && is_exploded(&argument.parameter.encoding) {
            for (name, value) in argument.value.as_object().into_iter().flatten() {
                let both = members.remove(name).map(|first| json!([first, value]));
                members.insert(name.clone(), both.unwrap_or_else(|| value.clone()));
            }
        }
    }
    if let Some(body) = arguments.body.as_ref().filter(|_| found.function.body.is_some()) {
        members.insert("body".to_owned(), body.value.clone());
    }
    Value::Object(members)
}

fn sorted(value: &Value) -> Value {
    match value {
        Value::Object(members) => {
            let mut members: Vec<_> = members.iter().collect();
            members.sort_by_key(|(name, _)| *name);
            Value::Object(members.into_iter().map(|(name, value)| (name.clone(), sorted(value))).collect())
        }
        Value::Array(items) => Value::Array(items.iter().map(sorted).collect()),
        scalar @ (Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_)) => scalar.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run_context::Asker;

    #[test]
    fn a_request_with_other_header_fields_or_bytes_is_another_call() {
        let run = RunContext::new("run", Asker::Model);
        let canonical = |fields: &[(&'static str, &'static str)], body: Option<&[u8]>| {
            let mut headers = HeaderMap::new();
            for (name, value) in fields {
                headers.append(*name, HeaderValue::from_static(value));
            }
            let facts = Facts::of_fetch(&run, ("DELETE", Effect::Destructive), "https://a.example/x", &headers, body);
            facts.canonical()
        };
        let one = canonical(&[("x-a", "1"), ("x-b", "2")], Some(b"\xff"));
        assert_eq!(one, canonical(&[("x-b", "2"), ("x-a", "1")], Some(b"\xff")));
        for other in [
            canonical(&[("x-a", "1")], Some(b"\xff")),
            canonical(&[("x-a", "2"), ("x-b", "2")], Some(b"\xff")),
            canonical(&[("x-a", "1"), ("x-b", "2")], Some(b"\xfe")),
            canonical(&[("x-a", "1"), ("x-b", "2")], None),
        ] {
            assert_ne!(one, other);
        }
    }
}
