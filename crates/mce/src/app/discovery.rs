//! What can be called: lists, searches, cards and stubs, from the catalog, as the model and the commands get them.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

use mce_broker::{RuleFault, UpstreamStatus, Upstreams, rule_faults};
use mce_catalog::catalog::{Catalog, SearchQuery, ServerSummary};
use mce_catalog::function::{Effect, Function, Parameter, Target, Types};
use mce_catalog::lookup::LookupError;
use mce_catalog::observed;
use mce_catalog::schema;
use mce_catalog::text;
use mce_config::Settings;
use mce_sandbox::{Description, FunctionStub, Language};
use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Value, json};

use super::stub::stub;
use crate::failure::Failure;

/// Servers that `list_servers` names at most.
const LISTED_SERVERS: usize = 60;
/// Functions whose known shape is remembered.
const SEEN_SHAPES: usize = 1_000;
/// Hits of a search without a limit of its own.
const HITS: usize = 8;
/// Hits of a search at most.
const MAX_HITS: u32 = 50;
/// Characters of a search's answer for each hit of its default number: 8 hits stay below 800 tokens.
const HIT_CHARS: usize = 330;
/// Characters of the first hit's signature before its optional arguments are left out.
const FIRST_SIGNATURE_CHARS: usize = 900;
/// The same for the other hits.
const SIGNATURE_CHARS: usize = 400;
/// Characters of the types in the answer of `get_functions`, for each function.
const TYPE_CHARS: usize = 6_000;

/// Characters of types that are asked for by name.
const NAMED_TYPE_CHARS: usize = 24_000;
/// Types that one item of `get_functions` asks for.
const MAX_NAMED_TYPES: usize = 20;

/// One item of `get_functions`.
#[derive(Debug, Clone)]
pub(crate) struct Wanted {
    pub(crate) server: String,
    pub(crate) function: String,
    /// Types that its card names without showing them. None: the card is wanted.
    pub(crate) types: Vec<String>,
}

/// Questions about functions.
#[derive(Debug)]
pub(crate) struct Discovery {
    catalog: Arc<Catalog>,
    upstreams: Arc<Upstreams>,
    // The known shapes of answers, by function: most answers have nothing new. Held while one is looked up, and kept.
    seen: Mutex<HashMap<String, Value>>,
}

/// One function of `mce functions --json`.
#[derive(Debug, Serialize)]
pub(crate) struct ListedFunction {
    pub(crate) server: String,
    pub(crate) function: String,
    pub(crate) operation: String,
    pub(crate) effect: Effect,
    pub(crate) python: String,
    pub(crate) typescript: String,
}

/// One hit of `mce search --json`.
#[derive(Debug, Serialize)]
pub(crate) struct FoundFunction {
    pub(crate) server: String,
    pub(crate) function: String,
    pub(crate) operation: String,
    pub(crate) signature: String,
    pub(crate) score: f32,
}

impl Discovery {
    pub(crate) fn new(catalog: Arc<Catalog>, upstreams: Arc<Upstreams>) -> Self {
        Self {
            catalog,
            upstreams,
            seen: Mutex::default(),
        }
    }

    pub(super) fn catalog(&self) -> &Catalog {
        &self.catalog
    }

    /// MCP servers of the settings.
    pub(super) const fn upstreams(&self) -> &Arc<Upstreams> {
        &self.upstreams
    }

    /// Keeps the shape of an answer of `server.function`, whose author does not say what it answers with.
    pub(crate) fn observe(&self, function: &str, shape: &Value) {
        let has_nothing_new = |known: &Value| known == shape || observed::merged(known, shape) == *known;
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        if seen.get(function).is_some_and(has_nothing_new) {
            return;
        }
        let Some((server, name)) = function.split_once('.') else { return };
        match self.catalog.observe(server, name, shape) {
            Ok(known) => {
                if seen.len() >= SEEN_SHAPES {
                    seen.clear();
                }
                seen.insert(function.to_owned(), known);
            }
            Err(error) => tracing::warn!("the shape of an answer of `{function}` was not kept: {error}"),
        }
    }

    /// Forgets all documents. Gives how many there were.
    pub(crate) fn clear(&self) -> Result<usize, Failure> {
        let store = self.catalog.store();
        let documents = store.documents().map_err(Failure::internal)?.len();
        store.clear().map_err(Failure::internal)?;
        Ok(documents)
    }

    /// Whether each configured server has been compiled.
    pub(crate) fn is_complete(&self) -> bool {
        self.catalog
            .servers()
            .is_ok_and(|servers| servers.iter().all(|server| server.is_compiled))
    }

    /// Servers with functions that a model can be told about.
    pub(crate) fn summaries(&self) -> Result<Vec<ServerSummary>, Failure> {
        self.catalog.servers().map_err(Failure::internal)
    }

    /// The scopes that the functions of an API need of a security scheme.
    pub(crate) fn needed_scopes(&self, server: &str, scheme: &str) -> Result<Vec<String>, Failure> {
        self.catalog.needed_scopes(server, scheme).map_err(Failure::internal)
    }

    pub(crate) fn server_names(&self) -> Vec<String> {
        self.catalog.views().map(|view| view.name.clone()).collect()
    }

    /// The answer of `list_servers`.
    pub(crate) fn list_servers(&self, libraries: &[String]) -> Result<Value, Failure> {
        let servers = self.summaries()?;
        let more = servers.len().saturating_sub(LISTED_SERVERS);
        let states: BTreeMap<String, UpstreamStatus> = self
            .upstreams
            .states()
            .into_iter()
            .map(|state| (state.server, state.status))
            .collect();
        let listed: Vec<Value> = servers
            .iter()
            .take(LISTED_SERVERS)
            .map(|server| listed_server(server, states.get(&server.name)))
            .collect();
        let mut answer = json!({"servers": listed});
        if more > 0 {
            answer["more"] = json!(format!("{more} more servers; search_functions searches them too"));
        }
        if !libraries.is_empty() {
            answer["sandbox_libraries"] = json!(libraries);
        }
        Ok(answer)
    }

    /// The answer of `search_functions`.
    pub(crate) fn search(&self, query: &str, server: Option<&str>, limit: Option<u32>, language: Language) -> Result<Value, Failure> {
        let limit = limit.map_or(HITS, |limit| limit.clamp(1, MAX_HITS) as usize);
        let found = self
            .catalog
            .search(SearchQuery {
                text: query,
                server,
                limit,
            })
            .map_err(lookup_failure)?;
        let language = text_language(language);
        let mut left = HIT_CHARS * limit;
        let mut hits = Vec::new();
        for hit in &found.hits {
            let function = self.function(&hit.server, &hit.python)?;
            let types = self.types_for(&function);
            // The best hits get the room that the others leave.
            let room = (left / 2).saturating_sub(HIT_CHARS);
            let bound = if hits.is_empty() { FIRST_SIGNATURE_CHARS } else { SIGNATURE_CHARS };
            let (outline, optional) = outline(&function, &types, language, room, bound);
            let cost =
                outline.signature.chars().count() + outline.types.chars().count() + hit.summary.chars().count() + hit.server.len() + 40;
            if cost > left && !hits.is_empty() {
                break;
            }
            left = left.saturating_sub(cost);
            let mut entry = json!({"server": hit.server, "signature": outline.signature});
            if !hit.summary.is_empty() && !outline.signature.contains(&hit.summary) {
                entry["summary"] = json!(hit.summary);
            }
            if optional > 0 {
                entry["optional"] = json!(format!("{optional} arguments are not shown; get_functions shows them"));
            }
            if !outline.types.is_empty() {
                entry["types"] = json!(outline.types);
            }
            hits.push(entry);
        }
        let more = found.total.saturating_sub(hits.len());
        let mut answer = json!({"functions": hits});
        if more > 0 {
            answer["more"] = json!(more);
        }
        if found.total == 0 {
            answer["hint"] = json!("nothing fits; try other words, or list_servers");
        }
        Ok(answer)
    }

    /// Hits for `mce search`.
    pub(crate) fn find(&self, query: &str, server: Option<&str>, limit: usize) -> Result<Vec<FoundFunction>, Failure> {
        let found = self
            .catalog
            .search(SearchQuery {
                text: query,
                server,
                limit,
            })
            .map_err(lookup_failure)?;
        let hits = found.hits.into_iter().map(|hit| {
            let function = self.function(&hit.server, &hit.python)?;
            let signature = text::signature(&function, &self.types_for(&function), text::Language::Python);
            Ok(FoundFunction {
                server: hit.server,
                function: hit.python,
                operation: hit.operation,
                signature,
                score: hit.score,
            })
        });
        hits.collect()
    }

    /// The answer of `get_functions`: one card for each, or why there is none.
    pub(crate) fn get_functions(&self, wanted: &[Wanted], language: Language) -> Result<Value, Failure> {
        if wanted.is_empty() || wanted.len() > 5 {
            return Err(Failure::argument(format!("`functions` has {} items", wanted.len())).with_hint("ask for 1 to 5 functions at once"));
        }
        if let Some(item) = wanted.iter().find(|item| item.types.len() > MAX_NAMED_TYPES) {
            let message = format!("`types` of `{}` has {} items", item.function, item.types.len());
            return Err(Failure::argument(message).with_hint(format!("ask for at most {MAX_NAMED_TYPES} types of a function at once")));
        }
        let cards: Vec<Value> = wanted.iter().map(|item| self.card(item, text_language(language))).collect();
        Ok(json!({"functions": cards}))
    }

    fn card(&self, wanted: &Wanted, language: text::Language) -> Value {
        match self.catalog.function(&wanted.server, &wanted.function) {
            Ok(function) if wanted.types.is_empty() => {
                let card = text::card(&function, &self.types_for(&function), language, TYPE_CHARS);
                serde_json::to_value(card).unwrap_or_default()
            }
            Ok(function) => self.type_card(&function, &wanted.types, language),
            Err(error) => {
                let error = self.in_language(error, language);
                let Wanted { server, function, .. } = wanted;
                let mut entry =
                    json!({"server": server, "function": function, "error": error.to_string(), "error_type": error_type(&error)});
                if let Some(hint) = self.type_hint(wanted, &error).or_else(|| error.hint()) {
                    entry["hint"] = json!(hint);
                }
                entry
            }
        }
    }

    /// Types that the card of a function names, first as the card has them, then as the document has them.
    fn type_card(&self, function: &Function, names: &[String], language: text::Language) -> Value {
        let budgets = text::TypeBudgets {
            card: TYPE_CHARS,
            types: NAMED_TYPE_CHARS,
        };
        let near = text::type_card(function, &self.types_for(function), language, names, budgets);
        let mut entry = json!({"server": function.server, "function": language.function_name(function), "types": near.types});
        let far = self.catalog.types_named(&function.server, &near.unknown).unwrap_or_default();
        let (names, unknown): (Vec<String>, Vec<String>) = near.unknown.into_iter().partition(|name| far.contains_key(name));
        if !names.is_empty() {
            let far = text::type_card(function, &far, language, &names, budgets);
            entry["types"] = json!(format!("{}{}", near.types, far.types));
        }
        if !unknown.is_empty() {
            entry["error"] = json!(format!("there are no types {}", listed(&unknown)));
            entry["error_type"] = json!("type_not_found");
            entry["hint"] = json!("names of types are those of the function's signature and types");
        }
        entry
    }

    /// The error with the names that a program of this language uses.
    fn in_language(&self, error: LookupError, language: text::Language) -> LookupError {
        let LookupError::UnknownFunction { server, function, closest } = error else {
            return error;
        };
        // Other names, such as `GET /items`, are the same in all languages.
        let named = |name: &String| {
            let found = self.catalog.function(&server, name).ok().filter(|found| found.python == *name);
            found.map_or_else(|| name.clone(), |found| language.function_name(&found).to_owned())
        };
        let closest = closest.iter().map(named).collect();
        LookupError::UnknownFunction { server, function, closest }
    }

    /// A type that was asked for as if it were a function.
    fn type_hint(&self, wanted: &Wanted, error: &LookupError) -> Option<String> {
        let name = &wanted.function;
        let is_type = matches!(error, LookupError::UnknownFunction { .. })
            && self
                .catalog
                .types_named(&wanted.server, std::slice::from_ref(name))
                .is_ok_and(|types| types.contains_key(name));
        is_type.then(|| format!("`{name}` is a type: name a function that uses it, with `\"types\": [\"{name}\"]`"))
    }

    /// Stubs of the functions that a program imports.
    pub(crate) fn describe(&self, server: &str, names: &[String], language: Language) -> Result<Description, Failure> {
        let mut description = Description {
            functions: Vec::new(),
            unknown: Vec::new(),
        };
        if names.is_empty() {
            for row in self.catalog.functions(server).map_err(lookup_failure)? {
                let function = self.function(server, &row.function.python)?;
                description.functions.push(self.stub(&function, language));
            }
            return Ok(description);
        }
        self.catalog.view(server).map_err(lookup_failure)?;
        for name in names {
            match self.catalog.function(server, name) {
                Ok(function) if name_in(&function, language) == name => description.functions.push(self.stub(&function, language)),
                Ok(function) => description
                    .unknown
                    .push((name.clone(), format!("did you mean `{}`?", name_in(&function, language)))),
                Err(LookupError::Store(error)) => return Err(Failure::internal(error)),
                Err(LookupError::UnknownFunction { .. }) if self.is_type(server, name) => {
                    description.unknown.push((name.clone(), about_type(name, language)));
                }
                Err(error) => description
                    .unknown
                    .push((name.clone(), refusal(&self.in_language(error, text_language(language))))),
            }
        }
        Ok(description)
    }

    fn stub(&self, function: &Function, language: Language) -> FunctionStub {
        stub(function, &self.types_for(function), language)
    }

    /// All functions of one server or of all, for `mce functions`.
    pub(crate) fn list_functions(&self, server: Option<&str>) -> Result<Vec<ListedFunction>, Failure> {
        let servers = match server {
            Some(server) => vec![server.to_owned()],
            None => self.server_names(),
        };
        let mut functions = Vec::new();
        for server in servers {
            let rows = self.catalog.functions(&server).map_err(lookup_failure)?;
            functions.extend(rows.into_iter().map(|row| ListedFunction {
                server: row.server,
                function: row.function.python.clone(),
                operation: row.function.operation,
                effect: row.function.effect,
                python: row.function.python,
                typescript: row.function.typescript,
            }));
        }
        Ok(functions)
    }

    /// All functions of a server, whole.
    pub(crate) fn all_functions(&self, server: &str) -> Result<Vec<Function>, Failure> {
        let rows = self.catalog.functions(server).map_err(lookup_failure)?;
        rows.iter().map(|row| self.function(server, &row.function.python)).collect()
    }

    /// A function by any of its names.
    pub(crate) fn function(&self, server: &str, name: &str) -> Result<Function, Failure> {
        self.catalog.function(server, name).map_err(lookup_failure)
    }

    /// The named types that a function needs.
    pub(crate) fn types_for(&self, function: &Function) -> Types {
        self.catalog.types_to_show(function).unwrap_or_default()
    }

    /// The signature of `server.function` as a program of this language sees it, without what was only seen of answers.
    ///
    /// # Errors
    ///
    /// Why there is none: it is not there any more, or settings hide it.
    pub(super) fn signature(&self, name: &str, language: Language) -> Result<String, LookupError> {
        let (server, function) = name.split_once('.').unwrap_or((name, ""));
        let mut function = self.catalog.function(server, function)?;
        function.result.take_if(|result| observed::is_observed(result));
        Ok(text::signature(&function, &self.types_for(&function), text_language(language)))
    }

    /// A function by any of its names.
    pub(super) fn whole(&self, reference: &str) -> Option<Function> {
        self.catalog.resolve(reference).ok()
    }

    /// The names of a function as a tool, the best one first: `mcp__server__tool`.
    pub(crate) fn tool_names(&self, reference: &str) -> Option<Vec<String>> {
        let function = self.catalog.resolve(reference).ok()?;
        let title = self.catalog.view(&function.server).ok().map(|view| view.title.clone());
        let own = match &function.target {
            Target::Tool(tool) => tool.name.as_str(),
            Target::Http(_) => function.python.as_str(),
        };
        let mut names = Vec::new();
        for server in std::iter::once(function.server.clone()).chain(title) {
            for name in [own, &function.python] {
                let whole = format!("mcp__{server}__{name}");
                if !names.contains(&whole) {
                    names.push(whole);
                }
            }
        }
        Some(names)
    }

    /// A function's own name, `server.function`, and what calling it does, if it can be found.
    pub(crate) fn named(&self, reference: &str) -> Option<(String, Effect)> {
        let function = self.catalog.resolve(reference).ok()?;
        Some((format!("{}.{}", function.server, function.python), function.effect))
    }

    fn is_type(&self, server: &str, name: &str) -> bool {
        let found = self.catalog.types_named(server, &[name.to_owned()]);
        found.is_ok_and(|types| types.contains_key(name))
    }

    /// Parts of rules that fit nothing.
    ///
    /// # Errors
    ///
    /// A failure if the catalog cannot be read.
    pub(crate) fn rule_faults(&self, settings: &Settings) -> Result<Vec<RuleFault>, Failure> {
        rule_faults(settings, &self.catalog).map_err(Failure::internal)
    }

    /// Whether a function, if it can be found, has an argument of this name beside its body.
    pub(crate) fn has_argument(&self, reference: &str, name: &str) -> bool {
        let function = self.catalog.resolve(reference).ok();
        function.is_some_and(|function| parameter_of(&function, name).is_some())
    }

    /// What a word of the command line means as the value of this argument: a text where only a text will do, else JSON.
    pub(crate) fn argument_from_text(&self, reference: &str, name: &str, text: &str) -> Result<Box<RawValue>, Failure> {
        let function = self.catalog.resolve(reference).ok();
        let wanted = function.as_ref().and_then(|function| parameter_of(function, name));
        let is_text = wanted.zip(function.as_ref()).is_some_and(|(parameter, function)| {
            let types = self.types_for(function);
            schema::resolve(&parameter.schema, &types)
                .and_then(|schema| schema.get("type"))
                .is_some_and(|kind| kind == "string")
        });
        match serde_json::from_str(text) {
            Ok(json) if !is_text => Ok(json),
            Ok(_) | Err(_) => to_raw_value(text).map_err(Failure::internal),
        }
    }
}

/// What to do with a name that is one of a type: it stands in texts about functions only.
fn about_type(name: &str, language: Language) -> String {
    match language {
        Language::Python => format!(
            "`{name}` is a type, which only describes plain values: leave out its import, and annotate with `dict` or the text \"{name}\""
        ),
        Language::TypeScript => format!(
            "`{name}` is a type, which only describes plain values: annotations `: {name}` need no import, and there is nothing else of it"
        ),
    }
}

fn parameter_of<'f>(function: &'f Function, name: &str) -> Option<&'f Parameter> {
    function.parameters.iter().find(|parameter| {
        [&parameter.key, &parameter.original, &parameter.python]
            .into_iter()
            .any(|known| known == name)
    })
}

fn listed(names: &[String]) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("`{}`", text::one_line(name, 80))).collect();
    quoted.join(", ")
}

/// A function in a few lines. One with a long signature is shown without its optional arguments; gives their number.
fn outline(function: &Function, types: &Types, language: text::Language, room: usize, bound: usize) -> (text::Outline, usize) {
    let whole = text::outline(function, types, language, room);
    let optional = function.parameters.iter().filter(|parameter| !parameter.is_required).count();
    if optional == 0 || whole.signature.chars().count() <= bound {
        return (whole, 0);
    }
    let mut brief = function.clone();
    brief.parameters.retain(|parameter| parameter.is_required);
    (text::outline(&brief, types, language, room), optional)
}

fn listed_server(server: &ServerSummary, upstream: Option<&UpstreamStatus>) -> Value {
    let kind = match upstream {
        Some(_) => "mcp",
        None if server.is_optional => "recipes",
        None => "openapi",
    };
    let mut entry = json!({"name": server.name, "description": server.description, "kind": kind, "functions": server.functions});
    if server.description.is_empty() || server.description == server.title {
        entry["description"] = json!(server.title);
    }
    if server.is_read_only {
        entry["read_only"] = json!(true);
    }
    match upstream {
        Some(UpstreamStatus::Failed { error, .. }) => {
            entry["error"] = json!(error.to_string());
            if let Some(hint) = error.hint() {
                entry["hint"] = json!(hint);
            }
        }
        Some(UpstreamStatus::Starting) if !server.is_compiled => entry["state"] = json!("starting; ask again in some seconds"),
        Some(_) if !server.is_compiled => {
            entry["error"] = json!("its tools are not known yet; the person who runs mce lists them with `mce compile`");
        }
        None if !server.is_compiled => {
            entry["error"] = json!("its document could not be compiled; the person who runs mce sees why with `mce compile`");
        }
        Some(_) | None => {}
    }
    entry
}

/// The only values that a parameter may have, where they are few.
pub(super) fn name_in(function: &Function, language: Language) -> &str {
    match language {
        Language::Python => &function.python,
        Language::TypeScript => &function.typescript,
    }
}

pub(super) fn text_language(language: Language) -> text::Language {
    match language {
        Language::Python => text::Language::Python,
        Language::TypeScript => text::Language::TypeScript,
    }
}

fn refusal(error: &LookupError) -> String {
    match error {
        LookupError::Hidden { .. } | LookupError::Misfit { .. } => error.to_string(),
        LookupError::NotCompiled { .. } => format!("{error}: {}", error.hint().unwrap_or_default()),
        LookupError::UnknownServer { .. } | LookupError::UnknownFunction { .. } | LookupError::Reference { .. } | LookupError::Store(_) => {
            error.hint().unwrap_or_default()
        }
    }
}

/// The words of `error_type` in an item of `get_functions`.
fn error_type(error: &LookupError) -> &'static str {
    match error {
        LookupError::UnknownServer { .. } => "server_not_found",
        LookupError::UnknownFunction { .. } | LookupError::NotCompiled { .. } | LookupError::Reference { .. } => "function_not_found",
        LookupError::Hidden { .. } | LookupError::Misfit { .. } => "policy",
        LookupError::Store(_) => "internal",
    }
}

#[expect(clippy::needless_pass_by_value, reason = "used as `map_err(lookup_failure)`")]
fn lookup_failure(error: LookupError) -> Failure {
    let kind = match error {
        LookupError::UnknownServer { .. }
        | LookupError::UnknownFunction { .. }
        | LookupError::NotCompiled { .. }
        | LookupError::Reference { .. } => "argument",
        LookupError::Hidden { .. } | LookupError::Misfit { .. } => "policy",
        LookupError::Store(_) => "internal",
    };
    Failure::new(kind, error.to_string()).with_hint(error.hint().unwrap_or_default())
}
