//! Whether the head of a request is what the document says: path, query, header fields and cookies, each read by the
//! style that the Parameter Object gives. (OpenAPI 3.2, Parameter Object; Swagger 2.0, `collectionFormat`)

use serde_json::Value;

use crate::meaning::{decoded, form_decoded, is_same, is_text_of, leaves, sent_items, sent_members};
use crate::mock::Received;
use crate::raw::{Node, Operation, Parameter};

/// Header fields of any request.
const PLAIN_FIELDS: [&str; 6] = ["accept", "accept-encoding", "content-length", "content-type", "host", "user-agent"];
/// Header parameters that are none. (OpenAPI 3.1, Parameter Object, `name`; the others belong to the connection.)
const IGNORED_FIELDS: [&str; 7] = [
    "accept",
    "accept-encoding",
    "authorization",
    "connection",
    "content-length",
    "content-type",
    "host",
];

/// How a value is written.
pub(crate) struct Notation<'a> {
    pub(crate) style: &'a str,
    pub(crate) explode: bool,
    /// The media type, where the value is written as one.
    content: Option<&'a str>,
}

impl<'a> Notation<'a> {
    pub(crate) fn of(node: Node<'a>, place: &str, is_swagger2: bool) -> Self {
        let default = if matches!(place, "path" | "header") { "simple" } else { "form" };
        if is_swagger2 || (node.get("schema").is_none() && node.get("content").is_none() && node.get("type").is_some()) {
            let (style, explode) = match node.text("collectionFormat") {
                Some("ssv") => ("spaceDelimited", false),
                Some("tsv") => ("tabDelimited", false),
                Some("pipes") => ("pipeDelimited", false),
                Some("multi") if default == "form" => ("form", true),
                _ => (default, false),
            };
            return Self {
                style,
                explode,
                content: None,
            };
        }
        let content = node
            .get("content")
            .and_then(|content| content.members().first().map(|(kind, _)| *kind));
        let style = node.text("style").filter(|style| is_style_of(style, place)).unwrap_or(default);
        Self {
            style: if style == "cookie" { "form" } else { style },
            explode: node.flag("explode").unwrap_or(matches!(style, "form" | "cookie")),
            content,
        }
    }

    /// For fields of forms.
    pub(crate) const fn form(style: &'a str, explode: bool) -> Self {
        Self {
            style,
            explode,
            content: None,
        }
    }

    fn separators(&self) -> &'static [&'static str] {
        match self.style {
            "spaceDelimited" => &["%20", "+", " "],
            "pipeDelimited" => &["%7C", "%7c", "|"],
            "tabDelimited" => &["%09", "\t"],
            _ => &[","],
        }
    }

    fn is_content_of(&self, text: &str, value: &Value) -> Option<bool> {
        let kind = self.content?;
        Some(if kind.contains("json") || kind.contains('*') {
            serde_json::from_str::<Value>(text).is_ok_and(|came| is_same(&came, value))
        } else {
            is_text_of(text, value)
        })
    }
}

fn is_style_of(style: &str, place: &str) -> bool {
    match place {
        "path" => ["simple", "label", "matrix"].contains(&style),
        "header" => style == "simple",
        "cookie" => ["form", "cookie"].contains(&style),
        _ => ["form", "spaceDelimited", "pipeDelimited", "deepObject"].contains(&style),
    }
}

/// A parameter of the document with the value that was given for it.
pub(crate) struct Sent<'a> {
    pub(crate) parameter: &'a Parameter<'a>,
    pub(crate) value: Option<&'a Value>,
}

/// What is wrong with the request line and the fields.
pub(crate) fn faults(operation: &Operation<'_>, sent: &[Sent<'_>], request: &Received, is_swagger2: bool) -> Vec<String> {
    let mut faults = Vec::new();
    if request.method != operation.method {
        faults.push(format!("the method is {}", request.method));
    }
    for it in sent {
        let is_ignored = it.parameter.place == "header" && IGNORED_FIELDS.contains(&it.parameter.name.to_lowercase().as_str());
        let is_sent = matches!(it.parameter.place.as_str(), "path" | "query" | "querystring" | "header" | "cookie");
        let is_elsewhere = it.parameter.place == "path" && !operation.template.contains(&format!("{{{}}}", it.parameter.name));
        if it.parameter.is_required
            && it.value.is_none()
            && !is_ignored
            && is_sent
            && !is_elsewhere
            && !operation.is_credential(it.parameter)
        {
            faults.push(format!(
                "required {} parameter `{}` was no argument",
                it.parameter.place, it.parameter.name
            ));
        }
    }
    let (path, query) = request.target.split_once('?').unwrap_or((&request.target, ""));
    let (template, fixed) = operation.template.split_once('?').unwrap_or((&operation.template, ""));
    if !is_path(template, path, sent, is_swagger2) {
        faults.push(format!("the path {path} is not {template} with {:?}", values(sent, "path")));
    }
    faults.extend(query_faults(query, fixed, sent, is_swagger2));
    faults.extend(field_faults(request, sent, is_swagger2));
    faults
}

fn values<'a>(sent: &'a [Sent<'a>], place: &str) -> Vec<&'a Value> {
    sent.iter()
        .filter(|it| it.parameter.place == place)
        .filter_map(|it| it.value)
        .collect()
}

/// Whether a path, raw, is the template with these values.
fn is_path(template: &str, path: &str, sent: &[Sent<'_>], is_swagger2: bool) -> bool {
    let Some((literal, after)) = template.split_once('{') else {
        return is_literal(template, path);
    };
    let Some((name, rest)) = after.split_once('}') else {
        return is_literal(template, path);
    };
    let parameter = sent.iter().find(|it| it.parameter.place == "path" && it.parameter.name == name);
    let is_value = |text: &str| match parameter.and_then(|it| Some((it, it.value?))) {
        Some((it, value)) => is_expansion(name, text, value, &Notation::of(it.parameter.node, "path", is_swagger2)),
        // A variable that the document does not declare: any text.
        None => !text.is_empty() && !text.contains('/'),
    };
    cuts(path)
        .filter(|(before, _)| is_literal(literal, before))
        .any(|(_, after)| cuts(after).any(|(text, after)| is_value(text) && is_path(rest, after, sent, is_swagger2)))
}

/// All ways to cut a text in two.
fn cuts(text: &str) -> impl Iterator<Item = (&str, &str)> {
    let places = (0..=text.len()).filter(|place| text.is_char_boundary(*place));
    places.map(|place| text.split_at(place))
}

fn is_literal(literal: &str, path: &str) -> bool {
    literal == path || decoded(literal) == decoded(path)
}

/// RFC 6570, sections 3.2.2, 3.2.5 and 3.2.7.
fn is_expansion(name: &str, text: &str, value: &Value, notation: &Notation<'_>) -> bool {
    if let Some(is_right) = notation.is_content_of(&decoded(text), value) {
        return is_right;
    }
    match notation.style {
        "label" => {
            let separator = if notation.explode { "." } else { "," };
            text.strip_prefix('.')
                .is_some_and(|text| is_joined(text, value, &[separator], notation.explode, decoded))
        }
        "matrix" if notation.explode && value.is_array() => {
            let items = sent_items(value.as_array().map_or(&[], Vec::as_slice));
            let texts: Vec<_> = text
                .split(';')
                .skip(1)
                .map(|pair| pair.split_once('=').unwrap_or((pair, "")))
                .collect();
            texts.len() == items.len()
                && texts
                    .iter()
                    .zip(items)
                    .all(|((key, text), item)| decoded(key) == name && is_text_of(&decoded(text), item))
        }
        "matrix" if notation.explode && value.is_object() => text
            .strip_prefix(';')
            .is_some_and(|text| is_joined(text, value, &[";"], true, decoded)),
        "matrix" => {
            let rest = text.strip_prefix(';').and_then(|text| text.split_once('='));
            rest.is_some_and(|(key, text)| decoded(key) == name && is_joined(text, value, &[","], false, decoded))
        }
        _ => is_joined(text, value, notation.separators(), notation.explode, decoded),
    }
}

/// Whether a text holds all parts of a value, with separators between them.
pub(crate) fn is_joined(text: &str, value: &Value, separators: &[&str], explode: bool, decode: fn(&str) -> String) -> bool {
    let between = explode.then_some("=");
    match value {
        Value::Array(items) => {
            let items = sent_items(items);
            let is_split = separators.iter().any(|separator| {
                let texts: Vec<_> = text.split(separator).collect();
                texts.len() == items.len() && texts.iter().zip(&items).all(|(text, item)| is_text_of(&decode(text), item))
            });
            let parts: Vec<_> = items.iter().map(|item| vec![plain(item)]).collect();
            is_split || is_whole(text, &parts, separators, None, decode)
        }
        Value::Object(_) => {
            let members = sent_members(value);
            let is_split = separators.iter().any(|separator| {
                let mut texts: Vec<&str> = text.split(separator).collect();
                if explode {
                    let pairs = texts.iter().map(|pair| pair.split_once('=').unwrap_or((pair, "")));
                    texts = pairs.flat_map(|(key, text)| [key, text]).collect();
                }
                let mut pairs = members.iter().zip(texts.chunks(2));
                texts.len() == members.len() * 2
                    && pairs.all(|((key, value), pair)| decode(pair[0]) == **key && is_text_of(&decode(pair[1]), value))
            });
            let parts: Vec<_> = members.iter().map(|(key, value)| vec![(*key).clone(), plain(value)]).collect();
            is_split || is_whole(text, &parts, separators, between, decode)
        }
        scalar => is_text_of(&decode(text), scalar),
    }
}

/// Parts that hold the separator themselves: then only the whole can be compared.
fn is_whole(text: &str, parts: &[Vec<String>], separators: &[&str], between: Option<&str>, decode: fn(&str) -> String) -> bool {
    separators.iter().any(|separator| {
        let separator = decoded(separator);
        let holds_it = |part: &String| part.contains(&separator) || between.is_some_and(|between| part.contains(between));
        let between = between.unwrap_or(&separator);
        let joined: Vec<String> = parts.iter().map(|part| part.join(between)).collect();
        parts.iter().flatten().any(holds_it) && decode(text) == joined.join(&separator)
    })
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// Pairs of a query or a form, raw.
pub(crate) struct Pairs<'a> {
    pub(crate) rest: Vec<(&'a str, &'a str)>,
}

impl<'a> Pairs<'a> {
    pub(crate) fn of(text: &'a str) -> Self {
        let pairs = text.split('&').filter(|pair| !pair.is_empty());
        Self {
            rest: pairs.map(|pair| pair.split_once('=').unwrap_or((pair, ""))).collect(),
        }
    }

    fn take(&mut self, is_meant: impl Fn(&str) -> bool) -> Vec<(&'a str, &'a str)> {
        let (taken, rest) = std::mem::take(&mut self.rest)
            .into_iter()
            .partition(|(name, _)| is_meant(&form_decoded(name)));
        self.rest = rest;
        taken
    }

    /// Takes the pairs of a value out; whether they are right.
    pub(crate) fn has(&mut self, name: &str, value: &Value, notation: &Notation<'_>) -> bool {
        if notation.content.is_some() {
            let taken = self.take(|key| key == name);
            return matches!(taken.as_slice(), [(_, text)] if notation.is_content_of(&form_decoded(text), value) == Some(true));
        }
        if notation.style == "deepObject" {
            return self.has_deep(name, value);
        }
        match value {
            Value::Array(items) if notation.explode => {
                let items = sent_items(items);
                let taken = self.take(|key| key == name);
                taken.len() == items.len()
                    && taken
                        .iter()
                        .zip(items)
                        .all(|((_, text), item)| is_text_of(&form_decoded(text), item))
            }
            Value::Object(_) if notation.explode => sent_members(value).into_iter().all(|(key, value)| {
                let place = self
                    .rest
                    .iter()
                    .position(|(name, text)| form_decoded(name) == *key && is_text_of(&form_decoded(text), value));
                place.map(|place| self.rest.remove(place)).is_some()
            }),
            _ => {
                let taken = self.take(|key| key == name);
                let is_empty = value.as_array().is_some_and(|items| sent_items(items).is_empty())
                    || (value.is_object() && sent_members(value).is_empty());
                match taken.as_slice() {
                    [] => is_empty,
                    [(_, text)] => is_joined(text, value, notation.separators(), false, form_decoded),
                    _ => false,
                }
            }
        }
    }

    /// `name[key]=value`; of items both `[]` and a number are understood by servers.
    fn has_deep(&mut self, name: &str, value: &Value) -> bool {
        let mut wanted = Vec::new();
        leaves(name, value, &mut wanted);
        let taken = self.take(|key| key == name || key.starts_with(&format!("{name}[")));
        taken.len() == wanted.len()
            && wanted.iter().zip(&taken).all(|((path, value), (key, text))| {
                without_numbers(&form_decoded(key)) == without_numbers(path) && is_text_of(&form_decoded(text), value)
            })
    }
}

fn without_numbers(path: &str) -> String {
    let parts = path.split('[').map(|part| {
        let inside = part.strip_suffix(']').unwrap_or(part);
        if !inside.is_empty() && inside.bytes().all(|byte| byte.is_ascii_digit()) {
            "]"
        } else {
            part
        }
    });
    parts.collect::<Vec<_>>().join("[")
}

fn query_faults(query: &str, fixed: &str, sent: &[Sent<'_>], is_swagger2: bool) -> Vec<String> {
    let mut faults = Vec::new();
    let mut pairs = Pairs::of(query);
    for (name, text) in Pairs::of(fixed).rest {
        // An argument that is declared as well says what is sent in its place.
        let is_argument = |it: &&Sent<'_>| it.parameter.place == "query" && it.parameter.name == decoded(name);
        if sent.iter().find(is_argument).is_some_and(|it| it.value.is_some()) {
            continue;
        }
        let place = pairs
            .rest
            .iter()
            .position(|pair| decoded(pair.0) == decoded(name) && decoded(pair.1) == decoded(text));
        if place.map(|place| pairs.rest.remove(place)).is_none() {
            faults.push(format!("`{name}={text}` of the path itself is not in the query {query}"));
        }
    }
    // Members of exploded objects have any name, also that of another parameter.
    let mut ordered: Vec<&Sent<'_>> = sent.iter().filter(|it| it.parameter.place.starts_with("query")).collect();
    ordered.sort_by_key(|it| !it.value.is_some_and(Value::is_object));
    for it in ordered {
        let (Some(value), name) = (it.value, it.parameter.name) else {
            continue;
        };
        let mut notation = Notation::of(it.parameter.node, "query", is_swagger2);
        if it.parameter.place == "querystring" {
            let kind = notation.content.take().unwrap_or_default();
            if kind.contains("json") {
                let is_right = serde_json::from_str::<Value>(&decoded(query)).is_ok_and(|came| is_same(&came, value));
                return (!is_right)
                    .then(|| format!("the query {query} is not {value}"))
                    .into_iter()
                    .collect();
            }
            for (key, member) in sent_members(value) {
                if !pairs.has(key, member, &Notation::form("form", true)) {
                    faults.push(format!("member `{key}` in {query} is not {member}"));
                }
            }
            continue;
        }
        if !pairs.has(name, value, &notation) {
            faults.push(format!(
                "query parameter `{name}` in {query} is not {value} ({}, {})",
                notation.style, notation.explode
            ));
        }
    }
    faults.extend(
        pairs
            .rest
            .iter()
            .map(|(name, text)| format!("the query has `{name}={text}`, which was no argument")),
    );
    faults
}

fn field_faults(request: &Received, sent: &[Sent<'_>], is_swagger2: bool) -> Vec<String> {
    let mut faults = Vec::new();
    let mut left: Vec<&(String, String)> = request.headers.iter().collect();
    for it in sent.iter().filter(|it| it.parameter.place == "header") {
        let (Some(value), name) = (it.value, it.parameter.name.to_lowercase()) else {
            continue;
        };
        let notation = Notation::of(it.parameter.node, "header", is_swagger2);
        let field = left.iter().position(|(key, _)| *key == name).map(|place| left.remove(place));
        let is_right = field.is_some_and(|(_, text)| {
            let is_content = notation.is_content_of(text, value);
            is_content.unwrap_or_else(|| is_joined(text, value, notation.separators(), notation.explode, str::to_owned))
        });
        if !is_right {
            faults.push(format!("header field `{name}` is {field:?} and not {value}"));
        }
    }
    let cookies = left
        .iter()
        .position(|(name, _)| name == "cookie")
        .map(|place| &left.remove(place).1);
    let joined = cookies.map(|text| text.replace("; ", "&")).unwrap_or_default();
    let mut pairs = Pairs::of(&joined);
    for it in sent.iter().filter(|it| it.parameter.place == "cookie") {
        let Some(value) = it.value else { continue };
        if !pairs.has(it.parameter.name, value, &Notation::of(it.parameter.node, "cookie", is_swagger2)) {
            faults.push(format!("cookie `{}` in {joined} is not {value}", it.parameter.name));
        }
    }
    faults.extend(
        pairs
            .rest
            .iter()
            .map(|(name, _)| format!("there is a cookie `{name}`, which was no argument")),
    );
    left.retain(|(name, _)| !PLAIN_FIELDS.contains(&name.as_str()));
    faults.extend(
        left.iter()
            .map(|(name, _)| format!("there is a header field `{name}`, which was no argument")),
    );
    faults
}
