//! Whether the body of a request is what the document says: one of its media types, and the value that was given.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value};

use crate::meaning::{is_same, is_text_of, sent_items};
use crate::mock::Received;
use crate::raw::{Node, Operation};
use crate::wire::{Notation, Pairs};

/// What is wrong with the body, for the value that was given for it.
pub(crate) fn faults(operation: &Operation<'_>, given: Option<&Value>, request: &Received, is_swagger2: bool) -> Vec<String> {
    let content_type = request.header("content-type");
    let Some(value) = given else {
        let is_there = !request.body.is_empty() || content_type.is_some();
        let is_required = required(operation, is_swagger2);
        let absent = is_required.then(|| "the required body was no argument".to_owned());
        return is_there
            .then(|| "there is a body, which was no argument".to_owned())
            .into_iter()
            .chain(absent)
            .collect();
    };
    let Some(content_type) = content_type else {
        return vec!["the body has no type".to_owned()];
    };
    let mut faults = Vec::new();
    let declared = declared_types(operation, is_swagger2);
    if !declared.iter().any(|declared| is_within(content_type, declared)) {
        faults.push(format!("the type {content_type} is none of {declared:?}"));
    }
    let kind = essence(content_type);
    let encodings = Encodings {
        operation,
        kind: &kind,
        is_swagger2,
    };
    let fault = match kind.as_str() {
        "application/x-www-form-urlencoded" => form_fault(&request.body, value, &encodings),
        multipart if multipart.starts_with("multipart/") => multipart_fault(content_type, &request.body, value, &encodings),
        json if json.ends_with("/json") || json.ends_with("+json") => json_fault(&request.body, value),
        _ => (!is_plain(&request.body, value)).then(|| format!("the body {} is not {value}", shown(&request.body))),
    };
    faults.extend(fault);
    faults
}

fn required(operation: &Operation<'_>, is_swagger2: bool) -> bool {
    if is_swagger2 {
        let is_body = |place: &str| matches!(place, "body" | "formdata");
        return operation
            .parameters
            .iter()
            .any(|parameter| is_body(&parameter.place) && parameter.is_required);
    }
    let body = operation.node.get("requestBody").map(Node::resolve);
    let has_content = body
        .and_then(|body| body.get("content"))
        .is_some_and(|content| !content.members().is_empty());
    has_content && body.and_then(|body| body.flag("required")) == Some(true)
}

fn declared_types<'a>(operation: &Operation<'a>, is_swagger2: bool) -> Vec<&'a str> {
    if !is_swagger2 {
        let content = operation.node.get("requestBody").and_then(|body| body.resolve().get("content"));
        return content
            .map(Node::members)
            .unwrap_or_default()
            .into_iter()
            .map(|(kind, _)| kind)
            .collect();
    }
    let consumes = operation.media_types("consumes");
    let is_form = operation.parameters.iter().any(|parameter| parameter.place == "formdata");
    let has_file = operation
        .parameters
        .iter()
        .any(|parameter| parameter.node.text("type") == Some("file"));
    let is_form_type = |kind: &&str| matches!(essence(kind).as_str(), "application/x-www-form-urlencoded" | "multipart/form-data");
    if has_file {
        // Swagger 2.0 leaves files no other way.
        vec!["multipart/form-data"]
    } else if is_form && !consumes.iter().any(is_form_type) {
        vec!["application/x-www-form-urlencoded"]
    } else if consumes.is_empty() {
        vec!["application/json"]
    } else {
        consumes
    }
}

pub(crate) fn essence(media_type: &str) -> String {
    media_type.split(';').next().unwrap_or_default().trim().to_lowercase()
}

fn is_within(content_type: &str, declared: &str) -> bool {
    let (own, declared) = (essence(content_type), essence(declared));
    if declared == "*" || declared == "*/*" || own == declared {
        return true;
    }
    let (kind, subtype) = declared.split_once('/').unwrap_or((&declared, ""));
    let range = subtype.split_once('*');
    range.is_some_and(|(before, after)| {
        let own = own.split_once('/').unwrap_or((&own, ""));
        own.0 == kind && own.1.starts_with(before) && (own.1.ends_with(after) || own.1 == "json")
    })
}

fn json_fault(body: &[u8], value: &Value) -> Option<String> {
    let is_right = serde_json::from_slice::<Value>(body).is_ok_and(|came| is_same(&came, value));
    (!is_right).then(|| format!("the body {} is not {value}", shown(body)))
}

/// A text, or bytes, as they stand.
fn is_plain(body: &[u8], value: &Value) -> bool {
    match value {
        Value::String(text) => body == text.as_bytes(),
        file => {
            file_bytes(file).is_some_and(|bytes| bytes == body)
                || serde_json::from_slice::<Value>(body).is_ok_and(|came| is_same(&came, value))
        }
    }
}

fn file_bytes(value: &Value) -> Option<Vec<u8>> {
    STANDARD.decode(value.get("base64")?.as_str()?).ok()
}

fn shown(body: &[u8]) -> String {
    String::from_utf8_lossy(body).chars().take(600).collect()
}

/// What the document says about the fields of a form.
struct Encodings<'a> {
    operation: &'a Operation<'a>,
    kind: &'a str,
    is_swagger2: bool,
}

/// About one field.
struct Field<'a> {
    /// Only where the document says something about style.
    notation: Option<Notation<'a>>,
    content_type: Option<&'a str>,
}

impl Encodings<'_> {
    fn of(&self, name: &str) -> Field<'_> {
        if self.is_swagger2 {
            let mut fields = self.operation.parameters.iter().filter(|parameter| parameter.place == "formdata");
            let field = fields.find(|field| field.name == name && field.node.text("type") == Some("array"));
            return Field {
                notation: field.map(|field| Notation::of(field.node, "formdata", true)),
                content_type: None,
            };
        }
        let content = self
            .operation
            .node
            .get("requestBody")
            .and_then(|body| body.resolve().get("content"));
        let members = content.map(Node::members).unwrap_or_default();
        let own = members.into_iter().find(|(kind, _)| essence(kind) == self.kind);
        let encoding = own.and_then(|(_, media)| media.get("encoding")?.get(name)).map(Node::resolve);
        let is_styled = encoding.is_some_and(|it| ["style", "explode", "allowReserved"].iter().any(|key| it.get(key).is_some()));
        let notation = encoding.filter(|_| is_styled).map(|it| {
            let style = it.text("style").unwrap_or("form");
            Notation::form(style, it.flag("explode").unwrap_or(style == "form"))
        });
        Field {
            notation,
            content_type: encoding.and_then(|it| it.text("contentType")),
        }
    }
}

/// Without a style, items are repeated, and objects are JSON. (OpenAPI 3.1, Encoding Object, `contentType`)
fn form_fault(body: &[u8], value: &Value, encodings: &Encodings<'_>) -> Option<String> {
    let text = String::from_utf8_lossy(body).into_owned();
    let Value::Object(members) = value else {
        return Some(format!("{value} is no form"));
    };
    let mut pairs = Pairs::of(&text);
    for (name, value) in members.iter().filter(|(_, value)| !value.is_null()) {
        let plain = match value {
            Value::Object(_) => Notation::form("form", false),
            _ => Notation::form("form", true),
        };
        let field = encodings.of(name);
        let is_json = field.notation.is_none() && value.is_object();
        let value = if is_json { &Value::String(value.to_string()) } else { value };
        let notation = field.notation.unwrap_or(plain);
        if !pairs.has(name, value, &notation) {
            return Some(format!(
                "field `{name}` in {text} is not {value} ({}, {})",
                notation.style, notation.explode
            ));
        }
    }
    (!pairs.rest.is_empty()).then(|| format!("{:?} were not given", pairs.rest))
}

struct Part {
    name: String,
    has_file_name: bool,
    content_type: Option<String>,
    bytes: Vec<u8>,
}

fn multipart_fault(content_type: &str, body: &[u8], value: &Value, encodings: &Encodings<'_>) -> Option<String> {
    let Some(mut parts) = parts(content_type, body) else {
        return Some(format!("{} has no parts by {content_type}", shown(body)));
    };
    let Value::Object(members) = value else {
        return Some(format!("{value} is no form"));
    };
    for (name, value) in members.iter().filter(|(_, value)| !value.is_null()) {
        let (own, rest): (Vec<Part>, Vec<Part>) = parts.into_iter().partition(|part| part.name == *name);
        parts = rest;
        let field = encodings.of(name);
        let is_joined = field.notation.as_ref().is_some_and(|notation| !notation.explode);
        let items = match value {
            Value::Array(items) if !is_joined || items.is_empty() => sent_items(items),
            other => vec![other],
        };
        let is_right = own.len() == items.len() && own.iter().zip(items).all(|(part, item)| is_part(part, item, &field));
        if !is_right {
            return Some(format!("part `{name}` in {} is not {value}", shown(body)));
        }
    }
    (!parts.is_empty()).then(|| "there are parts that were not given".to_owned())
}

fn is_part(part: &Part, value: &Value, field: &Field<'_>) -> bool {
    let declared = field.content_type.is_none_or(|list| {
        let own = part.content_type.as_deref().unwrap_or("text/plain");
        list.split(',').any(|one| is_within(own, one) || one.contains('*'))
    });
    if let Some(bytes) = file_bytes(value).filter(|_| value.is_object()) {
        return declared && part.has_file_name && part.bytes == bytes;
    }
    let text = String::from_utf8_lossy(&part.bytes);
    let is_json = part.content_type.as_deref().is_some_and(|kind| kind.contains("json"));
    let is_object = matches!(value, Value::Object(_));
    declared
        && match &field.notation {
            Some(notation) if !notation.explode && value.is_array() => {
                crate::wire::is_joined(&text, value, &[",", " ", "|", "\t"], false, str::to_owned)
            }
            _ => is_text_of(&text, value) && (!is_object || is_json || field.content_type.is_some()),
        }
}

/// RFC 2046, section 5.1; RFC 7578.
fn parts(content_type: &str, body: &[u8]) -> Option<Vec<Part>> {
    let boundary = content_type.split("boundary=").nth(1)?.trim_matches('"');
    let delimiter = format!("--{boundary}");
    let mut parts = Vec::new();
    let mut rest = body.strip_prefix(delimiter.as_bytes())?;
    while let Some(after) = rest.strip_prefix(b"\r\n") {
        let wanted = format!("\r\n{delimiter}");
        let end = position(after, wanted.as_bytes())?;
        let part = &after[..end];
        let head_end = position(part, b"\r\n\r\n")?;
        let head = std::str::from_utf8(&part[..head_end]).ok()?;
        let field = |name: &str| head.split("\r\n").find_map(|line| line.strip_prefix(name)).map(str::trim);
        let disposition = field("Content-Disposition:")?;
        parts.push(Part {
            name: unquoted(disposition.split("; name=\"").nth(1)?.split('"').next()?),
            has_file_name: disposition.contains("; filename=\""),
            content_type: field("Content-Type:").map(str::to_owned),
            bytes: part[head_end + 4..].to_vec(),
        });
        rest = &after[end + wanted.len()..];
    }
    (rest == b"--\r\n" || rest == b"--").then_some(parts)
}

fn unquoted(name: &str) -> String {
    name.replace("%22", "\"").replace("%0D", "\r").replace("%0A", "\n")
}

fn position(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    bytes.windows(wanted.len()).position(|window| window == wanted)
}

/// Files where the schema of a form has bytes, so that not all of them are texts.
pub(crate) fn with_files(value: Value, is_binary: impl Fn(&str) -> bool) -> Value {
    let Value::Object(members) = value else { return value };
    let file = |value: Value| match value {
        Value::String(_) => serde_json::json!({"base64": "AAH+/w0K", "filename": "a b.bin"}),
        other => other,
    };
    let members = members.into_iter().map(|(name, value)| {
        let value = match value {
            value if !is_binary(&name) => value,
            Value::Array(items) => Value::Array(items.into_iter().map(file).collect()),
            other => file(other),
        };
        (name, value)
    });
    Value::Object(members.collect::<Map<_, _>>())
}
