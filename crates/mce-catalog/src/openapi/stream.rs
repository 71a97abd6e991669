//! Answers that are items one after the other: lines of JSON, JSON sequences, server-sent events. A call gives them as a
//! list; here is its type. (OpenAPI 3.2, Sequential Media Types.)

use serde_json::{Value, json};

use super::document::Reader;
use super::media_type;
use super::reference::Node;
use crate::function::EventItem;

/// Alternatives of events inside each other.
const MAX_DEPTH: usize = 3;

/// The type of a streamed answer.
pub(super) struct Stream {
    pub(super) list: Value,
    /// What an event becomes.
    pub(super) item: EventItem,
}

/// A schema of whole events.
struct Events {
    schema: Value,
    /// It has the property `data`, by which it is one.
    has_data: bool,
    /// That is JSON.
    is_json: bool,
}

impl<'a> Reader<'a> {
    /// The type of the Media Type Object `content` of this kind.
    pub(super) fn stream(&mut self, kind: &str, content: &Node<'a>, is_shared: bool) -> Stream {
        let of = |items: Value| json!({"type": "array", "items": items});
        let untold = |list| Stream {
            list,
            item: EventItem::Untold,
        };
        if let Some(item) = content.get("itemSchema") {
            if !media_type::is_events(kind) {
                return untold(of(self.shared_schema(item, is_shared)));
            }
            let events = self.events(&item, 0);
            if let Some(Events { schema, is_json, .. }) = events.filter(|events| events.has_data) {
                let item = if is_json { EventItem::Event } else { EventItem::EventWithText };
                return Stream { list: of(schema), item };
            }
            return Stream {
                list: of(self.shared_schema(item, is_shared)),
                item: EventItem::Data,
            };
        }
        // Before 3.2 there is only `schema`, by which documents mean one item; a text says nothing.
        let schema = content.get("schema").map(|schema| self.shared_schema(schema, is_shared));
        let kind_of = |schema: &Value| schema.get("type").and_then(Value::as_str).unwrap_or_default().to_owned();
        match schema {
            Some(schema) if kind_of(&schema) == "array" => untold(schema),
            Some(schema) if schema.is_object() && kind_of(&schema) != "string" => Stream {
                list: of(schema),
                item: EventItem::Data,
            },
            Some(_) | None => untold(of(Value::Bool(true))),
        }
    }

    /// A schema of events, in which `data` is what the program gets of it: by OpenAPI 3.2 a text, the content of which
    /// `contentSchema` describes.
    fn events(&mut self, node: &Node<'a>, depth: usize) -> Option<Events> {
        let node = self.references.follow(node.clone()).ok()?.node;
        let mut schema = self.schema(&node);
        let data = node.get("properties").and_then(|properties| properties.get("data"));
        let content = data.as_ref().and_then(|data| data.get("contentSchema"));
        let says_json = data
            .as_ref()
            .and_then(|data| data.text("contentMediaType"))
            .is_some_and(media_type::is_json);
        let mut events = Events {
            schema: Value::Null,
            has_data: data.is_some(),
            is_json: content.is_some() || says_json,
        };
        let content = match content {
            Some(content) => self.schema(&content),
            None => Value::Bool(true),
        };
        for keyword in ["oneOf", "anyOf", "allOf"] {
            let parts: Vec<Node<'a>> = node.get(keyword).iter().flat_map(|list| list.items().collect::<Vec<_>>()).collect();
            for (index, part) in parts.iter().enumerate().filter(|_| depth < MAX_DEPTH) {
                let Some(part) = self.events(part, depth + 1).filter(|part| part.has_data) else {
                    continue;
                };
                events.has_data = true;
                events.is_json |= part.is_json;
                if let Some(place) = schema.get_mut(keyword).and_then(|list| list.get_mut(index)) {
                    *place = part.schema;
                }
            }
        }
        if let Some(data) = schema.pointer_mut("/properties/data").filter(|_| events.is_json) {
            *data = content;
        }
        events.schema = schema;
        Some(events)
    }
}
