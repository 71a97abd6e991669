//! The successful answer that a document promises, and whether it came back.

use mce_broker::AnswerValue;
use mce_catalog::function::{EventItem, Target};
use mce_catalog::schema::View;
use serde_json::{Value, json};

use crate::arguments::Case;
use crate::body::essence;
use crate::meaning::is_same;
use crate::mock::Reply;
use crate::raw::{Node, Operation};
use crate::sample::{Extent, Sampler};

/// What comes back.
#[derive(Debug)]
pub(crate) enum Expected {
    Json(Value),
    Text(String),
    Bytes(Vec<u8>),
    Nothing,
}

/// An answer with a status and a media type of the document: the first type for [`Extent::Required`], the last otherwise.
pub(crate) fn promised(operation: &Operation<'_>, case: Case<'_>, is_swagger2: bool) -> (Reply, Expected) {
    let (status, response) = success(operation);
    let kinds: Vec<&str> = match response {
        Some(response) if is_swagger2 && response.get("schema").is_some() => operation.media_types("produces"),
        Some(response) if !is_swagger2 => {
            let content = response.get("content").map(Node::members).unwrap_or_default();
            content.into_iter().map(|(kind, _)| kind).collect()
        }
        _ => Vec::new(),
    };
    let kind = if case.extent == Extent::Required {
        kinds.first()
    } else {
        kinds.last()
    };
    let kind = match kind.map(|kind| kind.trim()) {
        None if is_swagger2 && response.is_some_and(|response| response.get("schema").is_some()) => Some("application/json"),
        Some(range) if range.contains('*') || !range.contains('/') => Some("application/json"),
        kind => kind,
    };
    let Some(kind) = kind.filter(|_| !matches!(status, 204 | 205 | 304)) else {
        return (reply(status, None, Vec::new()), Expected::Nothing);
    };
    let (body, expected) = content(kind, case);
    let is_head = operation.method == "HEAD";
    (reply(status, Some(kind), body), if is_head { Expected::Nothing } else { expected })
}

fn reply(status: u16, kind: Option<&str>, body: Vec<u8>) -> Reply {
    Reply {
        status,
        content_type: kind.map(str::to_owned),
        body,
    }
}

fn success<'a>(operation: &Operation<'a>) -> (u16, Option<Node<'a>>) {
    let responses = operation.node.get("responses").map(Node::members).unwrap_or_default();
    let mut good: Vec<(&str, Node<'a>)> = responses.iter().filter(|(status, _)| status.starts_with('2')).copied().collect();
    good.sort_by_key(|(status, node)| {
        (
            node.resolve().get("content").is_none() && node.resolve().get("schema").is_none(),
            *status,
        )
    });
    match good.first() {
        Some((status, node)) => (status.parse().unwrap_or(200), Some(node.resolve())),
        None => (
            200,
            responses
                .iter()
                .find(|(status, _)| *status == "default")
                .map(|(_, node)| node.resolve()),
        ),
    }
}

fn content(kind: &str, case: Case<'_>) -> (Vec<u8>, Expected) {
    let essence = essence(kind);
    if let Some(stream) = stream(&essence, case) {
        return stream;
    }
    if essence.ends_with("/json") || essence.ends_with("+json") {
        let sampled = case
            .function
            .result
            .as_ref()
            .and_then(|schema| Sampler::new(case.types, View::Response, case.extent, 0).value(schema));
        let value = sampled.unwrap_or_else(|| json!({"id": 9_007_199_254_740_993_i64}));
        return (value.to_string().into_bytes(), Expected::Json(value));
    }
    let is_text = essence.starts_with("text/")
        || ["xml", "yaml", "javascript", "csv", "sql", "x-www-form-urlencoded", "graphql"]
            .iter()
            .any(|word| essence.ends_with(word));
    if is_text {
        let charset = kind
            .split("charset=")
            .nth(1)
            .and_then(|label| encoding_rs::Encoding::for_label(label.trim_matches('"').as_bytes()));
        let text = "<a>text é</a>";
        let bytes = charset.unwrap_or(encoding_rs::UTF_8).encode(text).0.into_owned();
        return (bytes, Expected::Text(text.to_owned()));
    }
    let bytes = vec![0, 159, 146, 150, 13, 10];
    (bytes.clone(), Expected::Bytes(bytes))
}

/// Two items one after the other, and the list that they are.
fn stream(essence: &str, case: Case<'_>) -> Option<(Vec<u8>, Expected)> {
    let items = [json!({"n": 9_007_199_254_740_993_i64}), json!({"n": 2})];
    let Target::Http(target) = &case.function.target else { return None };
    let is_lines = ["ndjson", "jsonl", "stream+json"].iter().any(|word| essence.contains(word));
    let written = |item: &Value| match essence {
        "text/event-stream" => Some(format!(": about {item}\ndata: {item}\n\n")),
        _ if essence.contains("json-seq") => Some(format!("\u{1e}{item}\n")),
        _ => is_lines.then(|| format!("{item}\n")),
    };
    let text: Option<String> = items.iter().map(written).collect();
    let received = |item: &Value| match target.event_item {
        EventItem::Event if essence == "text/event-stream" => json!({"data": item}),
        EventItem::EventWithText if essence == "text/event-stream" => json!({"data": item.to_string()}),
        _ => item.clone(),
    };
    Some((text?.into_bytes(), Expected::Json(items.iter().map(received).collect())))
}

/// Whether this is what was answered.
pub(crate) fn is_expected(came: &AnswerValue, expected: &Expected) -> bool {
    match (came, expected) {
        (AnswerValue::Json(text), Expected::Json(value)) => {
            serde_json::from_str::<Value>(text.get()).is_ok_and(|came| is_same(&came, value))
        }
        (AnswerValue::Text(text), Expected::Text(wanted)) => text == wanted,
        (AnswerValue::Bytes(bytes), Expected::Bytes(wanted)) => bytes == wanted,
        (AnswerValue::Empty, Expected::Nothing) => true,
        _ => false,
    }
}
