//! How further pages of an answer are asked for, as far as a document tells: by names that APIs use for parameters and
//! for properties of answers. Where it does not tell, the caller of `paginate` does.

use std::{cell::RefCell, collections::BTreeMap, rc::Rc};

use serde_json::Value;

use crate::{
    function::{Advance, Effect, Function, Location, Pagination, Parameter, Types},
    schema,
};

/// Parameters that take what the last answer gave; lower case, without signs.
const CURSORS: [&str; 16] = [
    "after",
    "afterid",
    "continuationtoken",
    "continue",
    "cursor",
    "marker",
    "nextcursor",
    "nextpagetoken",
    "nexttoken",
    "pageafter",
    "pagecursor",
    "pagetoken",
    "paginationtoken",
    "startafter",
    "startcursor",
    "startingafter",
];
/// Properties of answers that hold the next cursor, the surest first.
const NEXT_CURSORS: [&str; 12] = [
    "nextcursor",
    "nextpagetoken",
    "nexttoken",
    "nextmarker",
    "nextpagecursor",
    "nextcontinuationtoken",
    "continuationtoken",
    "endcursor",
    "lastid",
    "nextpage",
    "next",
    "after",
];
/// Properties of answers that hold the address of the next page, the surest first.
const NEXT_URLS: [&str; 6] = ["odatanextlink", "nextlink", "nexturl", "nexturi", "nextpageuri", "next"];
/// Properties of answers that tell whether there is more.
const MORE: [&str; 3] = ["hasmore", "more", "hasnextpage"];
const PAGES: [&str; 6] = ["currentpage", "page", "pageindex", "pageno", "pagenum", "pagenumber"];
const OFFSETS: [&str; 7] = ["offset", "pageoffset", "skip", "start", "startat", "startindex", "startposition"];
/// Lists of an answer that hold what was asked for, the surest first.
const ITEMS: [&str; 12] = [
    "items", "data", "results", "value", "values", "entries", "records", "objects", "list", "elements", "content", "rows",
];
/// Lists that do not.
const NOT_ITEMS: [&str; 6] = ["errors", "fields", "links", "messages", "tags", "warnings"];
/// Objects that may be around the list.
const WRAPPERS: [&str; 4] = ["data", "embedded", "response", "result"];
/// Properties are looked for so deep.
const MAX_DEPTH: usize = 3;
/// Properties that are looked at in one answer.
const MAX_PROPERTIES: usize = 400;

/// A property of an answer and the way to it.
struct Property {
    path: Vec<String>,
    schema: Rc<Value>,
}

/// Named types as they look with references followed and parts joined. Functions share most of their types, so that each is
/// made once.
pub(crate) struct Wholes<'t> {
    types: &'t Types,
    known: RefCell<BTreeMap<String, Rc<Value>>>,
}

impl<'t> Wholes<'t> {
    pub(crate) fn new(types: &'t Types) -> Self {
        Self {
            types,
            known: RefCell::default(),
        }
    }

    /// The schema with references followed and parts joined; of alternatives the first that is more than `null`.
    fn of(&self, schema: &Value) -> Rc<Value> {
        let is_plain = schema.as_object().is_some_and(|members| members.len() == 1);
        let Some(name) = schema::reference(schema).filter(|_| is_plain) else {
            return Rc::new(whole(schema, self.types));
        };
        if let Some(known) = self.known.borrow().get(name) {
            return Rc::clone(known);
        }
        let made = Rc::new(whole(schema, self.types));
        self.known.borrow_mut().insert(name.to_owned(), Rc::clone(&made));
        made
    }
}

/// How a function gives further pages. It says so already where the document promises `Link` fields or names the address.
pub(crate) fn detect(function: &Function, wholes: &Wholes<'_>) -> Option<Pagination> {
    let said = function.pagination.as_ref();
    if said.is_some_and(|pagination| pagination.advance != Advance::Links) {
        return said.cloned();
    }
    let has_links = said.is_some();
    let is_read = function.effect == Effect::Read;
    let parameters = candidates(function, wholes);
    if !has_links && parameters.is_empty() {
        return None;
    }
    let answer = wholes.of(function.result.as_ref()?);
    let items = items(&answer, wholes);
    if has_links && is_read {
        return Some(Pagination {
            advance: Advance::Links,
            items,
        });
    }
    let properties = properties(&answer, wholes);
    let advance = cursor(&parameters, &properties)
        .filter(|_| is_read || items.is_some())
        .or_else(|| is_read.then(|| last_item(&parameters, &properties)).flatten())
        .or_else(|| is_read.then(|| url(&properties)).flatten())
        .or_else(|| (is_read && items.is_some()).then(|| number(&parameters)).flatten())?;
    Some(Pagination { advance, items })
}

/// Whether a function has the argument that leads to its next page.
pub(crate) fn fits(pagination: &Pagination, function: &Function) -> bool {
    let has = |key: &str| {
        function
            .parameters
            .iter()
            .any(|parameter| parameter.key == key || parameter.original == key)
    };
    match pagination.advance.parameter() {
        None => true,
        Some([body, _]) if body == "body" => function.body.is_some(),
        Some([key]) => has(key),
        Some(_) => false,
    }
}

/// How a server's settings say that a function gives further pages: what they say of it alone, else what they say of all if
/// the document does not tell and it reads a page at a time.
pub(crate) fn settled(function: &Function, own: Option<&Pagination>, of_server: Option<&Pagination>) -> Option<Pagination> {
    let fitting = |pagination: &&Pagination| fits(pagination, function);
    own.filter(fitting)
        .or(function.pagination.as_ref())
        .or_else(|| of_server.filter(|it| function.effect == Effect::Read && it.advance.parameter().is_some() && fitting(it)))
        .cloned()
}

/// An argument that may say which page is wanted.
struct Candidate {
    path: Vec<String>,
    name: String,
    schema: Rc<Value>,
}

fn candidates(function: &Function, wholes: &Wholes<'_>) -> Vec<Candidate> {
    let is_query = |parameter: &&Parameter| parameter.location == Location::Query;
    let of_query = function.parameters.iter().filter(is_query).map(|parameter| Candidate {
        path: vec![parameter.key.clone()],
        name: plain(&parameter.original),
        schema: wholes.of(&parameter.schema),
    });
    let mut found: Vec<Candidate> = of_query.collect();
    if let Some(variant) = function.body.as_ref().and_then(|body| body.variants.first()) {
        let body = wholes.of(&variant.schema);
        let members = body.get("properties").and_then(Value::as_object).into_iter().flatten();
        found.extend(
            members
                .filter(|(key, _)| is_in(&CURSORS, &plain(key)))
                .map(|(key, schema)| Candidate {
                    path: vec!["body".to_owned(), key.clone()],
                    name: plain(key),
                    schema: wholes.of(schema),
                }),
        );
    }
    found
}

fn cursor(parameters: &[Candidate], properties: &[Property]) -> Option<Advance> {
    let parameter = parameters.iter().find(|it| is_in(&CURSORS, &it.name))?;
    let name = parameter.name.as_str();
    let own = format!("next{}", name.trim_start_matches("next").trim_start_matches("start"));
    let wanted = [own.as_str()].into_iter().chain(NEXT_CURSORS).chain([name]);
    let next = find(wanted, properties, is_cursor)?;
    Some(Advance::Cursor {
        parameter: Some(parameter.path.clone()),
        next,
    })
}

/// The next page begins after the last item of this one.
fn last_item(parameters: &[Candidate], properties: &[Property]) -> Option<Advance> {
    let parameter = parameters
        .iter()
        .find(|it| matches!(it.name.as_str(), "startingafter" | "after" | "afterid"))?;
    find(MORE, properties, |schema| says(schema, "boolean"))?;
    Some(Advance::LastItem {
        parameter: parameter.path.clone(),
    })
}

fn url(properties: &[Property]) -> Option<Advance> {
    let is_text = |schema: &Value| says(schema, "string");
    // HAL and JSON:API have an object with the address for each relation.
    let next = find(NEXT_URLS, properties, is_text).or_else(|| {
        let is_link = |path: &[String]| matches!(path, [.., next, href] if plain(next) == "next" && plain(href) == "href");
        properties.iter().find(|it| is_link(&it.path)).map(|it| it.path.clone())
    })?;
    Some(Advance::Cursor { parameter: None, next })
}

fn number(parameters: &[Candidate]) -> Option<Advance> {
    let is_number = |it: &&Candidate| says(&it.schema, "integer") || says(&it.schema, "number");
    let find = |names: &[&str]| parameters.iter().filter(is_number).find(|it| is_in(names, &it.name));
    if let Some(parameter) = find(&PAGES) {
        let least = parameter.schema.get("minimum").and_then(Value::as_i64).filter(|least| *least == 0);
        return Some(Advance::Page {
            first: default(parameter).or(least).unwrap_or(i64::from(parameter.name != "pageindex")),
            parameter: parameter.path.clone(),
        });
    }
    let parameter = find(&OFFSETS)?;
    Some(Advance::Offset {
        first: default(parameter).unwrap_or(i64::from(parameter.name == "startindex" || parameter.name == "startposition")),
        parameter: parameter.path.clone(),
    })
}

fn default(parameter: &Candidate) -> Option<i64> {
    parameter.schema.get("default").and_then(Value::as_i64)
}

fn find<'n>(names: impl IntoIterator<Item = &'n str>, properties: &[Property], fits: impl Fn(&Value) -> bool) -> Option<Vec<String>> {
    names.into_iter().find_map(|name| {
        let has_name = |it: &&Property| it.path.last().is_some_and(|last| plain(last) == name);
        let found = properties.iter().filter(has_name).find(|it| fits(&it.schema))?;
        Some(found.path.clone())
    })
}

/// The list of what was asked for: the answer itself, the only list in it, or the one with a telling name.
fn items(answer: &Value, wholes: &Wholes<'_>) -> Option<Vec<String>> {
    if says(answer, "array") {
        return Some(Vec::new());
    }
    let members = answer.get("properties")?.as_object()?;
    let lists: Vec<&String> = members
        .iter()
        .filter(|(key, schema)| !NOT_ITEMS.contains(&plain(key).as_str()) && says(&wholes.of(schema), "array"))
        .map(|(key, _)| key)
        .collect();
    let named = || ITEMS.iter().find_map(|name| lists.iter().find(|key| plain(key) == *name));
    let key = if let [one] = lists.as_slice() { Some(one) } else { named() };
    if let Some(key) = key {
        return Some(vec![(*key).clone()]);
    }
    let wrapper = members.iter().find(|(key, _)| is_in(&WRAPPERS, &plain(key)))?;
    let inner = wholes.of(wrapper.1);
    let is_new = inner.get("properties") != answer.get("properties");
    let inside = is_new.then(|| items_of_wrapper(&inner, wholes)).flatten()?;
    Some(vec![wrapper.0.clone(), inside])
}

fn items_of_wrapper(inner: &Value, wholes: &Wholes<'_>) -> Option<String> {
    let members = inner.get("properties")?.as_object()?;
    let mut lists = members.iter().filter(|(_, schema)| says(&wholes.of(schema), "array"));
    let first = lists.next()?;
    lists.next().is_none().then(|| first.0.clone())
}

/// Properties of an answer that are no lists, nearest first.
fn properties(answer: &Rc<Value>, wholes: &Wholes<'_>) -> Vec<Property> {
    let mut level = vec![Property {
        path: Vec::new(),
        schema: Rc::clone(answer),
    }];
    let mut found = Vec::new();
    for _ in 0..MAX_DEPTH {
        let mut deeper = Vec::new();
        for parent in &level {
            let members = parent.schema.get("properties").and_then(Value::as_object).into_iter().flatten();
            for (key, schema) in members.take(MAX_PROPERTIES.saturating_sub(found.len() + deeper.len())) {
                let path = parent.path.iter().cloned().chain([key.clone()]).collect();
                deeper.push(Property {
                    path,
                    schema: wholes.of(schema),
                });
            }
        }
        found.append(&mut level);
        level = deeper;
    }
    found.append(&mut level);
    found
}

/// The schema with references followed and parts joined; of alternatives the first that is more than `null`.
fn whole(schema: &Value, types: &Types) -> Value {
    let is_composed = |schema: &Value| schema.get("allOf").is_some() || schema.get("$ref").is_some();
    let whole = if is_composed(schema) {
        schema::merged(schema, types)
    } else {
        schema.clone()
    };
    let parts = ["anyOf", "oneOf"].iter().find_map(|keyword| whole.get(*keyword)?.as_array());
    let part = parts
        .into_iter()
        .flatten()
        .find(|part| part.get("type").is_none_or(|kind| kind != "null"));
    match part {
        Some(part) if whole.get("properties").is_none() && is_composed(part) => schema::merged(part, types),
        Some(part) if whole.get("properties").is_none() => part.clone(),
        Some(_) | None => whole,
    }
}

/// A cursor is a text or a number; a schema without a type may be one.
fn is_cursor(schema: &Value) -> bool {
    schema.get("properties").is_none()
        && (schema.get("type").is_none() || ["string", "integer", "number"].iter().any(|kind| says(schema, kind)))
}

fn says(schema: &Value, kind: &str) -> bool {
    match schema.get("type") {
        Some(Value::String(only)) => only == kind,
        Some(Value::Array(kinds)) => kinds.iter().any(|it| it == kind),
        Some(_) => false,
        None => kind == "array" && schema.get("items").is_some(),
    }
}

/// A name as these lists have it: lower case, letters and digits only.
fn plain(name: &str) -> String {
    name.chars()
        .filter(char::is_ascii_alphanumeric)
        .map(|c| c.to_ascii_lowercase())
        .collect()
}

fn is_in(names: &[&str], name: &str) -> bool {
    names.contains(&name)
}
