//! Answers that are items one after the other, as a list of them in JSON. They are bounded as answers are.

use mce_catalog::function::EventItem;
use serde::Serialize;
use serde_json::value::RawValue;

/// What is sent at the end of a stream by many APIs of language models, and is no item.
const END_MARK: &str = "[DONE]";
/// The name of events that have none. (HTML, 9.2.6.)
const DEFAULT_EVENT: &str = "message";

/// How items are told apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stream {
    /// Each is JSON in a line of its own.
    Lines,
    /// Each is JSON after a record separator. (RFC 7464)
    Sequence,
    /// Server-sent events. (HTML, 9.2)
    Events,
}

/// The items of a text as a JSON list, in which numbers are as they were sent. `None` if one of them is no JSON.
pub(crate) fn items(stream: Stream, text: &str, event_item: EventItem) -> Option<String> {
    match stream {
        Stream::Lines => list(text.lines()),
        Stream::Sequence => list(text.split('\u{1e}')),
        Stream::Events => events(text, event_item),
    }
}

fn list<'t>(parts: impl Iterator<Item = &'t str>) -> Option<String> {
    let items = parts.map(str::trim).filter(|part| !part.is_empty());
    let items: Option<Vec<&RawValue>> = items.map(|item| serde_json::from_str(item).ok()).collect();
    serde_json::to_string(&items?).ok()
}

/// One event, as a program gets it.
#[derive(Debug, Default, Serialize)]
struct Event<'t> {
    #[serde(rename = "event", skip_serializing_if = "Option::is_none")]
    name: Option<&'t str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    data: Option<Box<RawValue>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'t str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    retry: Option<u64>,
    /// The lines of `data` so far.
    #[serde(skip)]
    lines: Vec<&'t str>,
}

fn events(text: &str, event_item: EventItem) -> Option<String> {
    let mut found = Vec::new();
    let mut event = Event::default();
    let mut is_stream = text.trim().is_empty();
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    // The last event counts even if the connection ended before its empty line.
    for line in text.split('\n').chain([""]) {
        if line.is_empty() {
            found.extend(finished(std::mem::take(&mut event), event_item));
            continue;
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        is_stream |= matches!(field, "" | "data" | "event" | "id" | "retry");
        match field {
            "data" => event.lines.push(value),
            "event" => event.name = Some(value),
            "id" => event.id = Some(value),
            "retry" => event.retry = value.parse().ok(),
            // Comments and unknown fields.
            _ => {}
        }
    }
    if !is_stream {
        return None;
    }
    let is_named = |event: &Event<'_>| event.name.is_some_and(|name| name != DEFAULT_EVENT);
    let is_whole = match event_item {
        EventItem::Untold => found.iter().any(is_named),
        EventItem::Data => false,
        EventItem::Event | EventItem::EventWithText => true,
    };
    if is_whole {
        return serde_json::to_string(&found).ok();
    }
    let data: Vec<Box<RawValue>> = found.into_iter().filter_map(|event| event.data).collect();
    serde_json::to_string(&data).ok()
}

/// The event with its data; `None` if it has none.
fn finished(mut event: Event<'_>, event_item: EventItem) -> Option<Event<'_>> {
    if event.lines.is_empty() {
        return None;
    }
    let text = event.lines.join("\n");
    if text.trim() == END_MARK {
        return None;
    }
    let as_json = (event_item != EventItem::EventWithText)
        .then(|| serde_json::from_str(&text).ok())
        .flatten();
    event.data = as_json.or_else(|| serde_json::value::to_raw_value(&text).ok());
    Some(event)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(stream: Stream, item: EventItem, text: &str, expected: Option<&str>) {
        assert_eq!(items(stream, text, item).as_deref(), expected, "{text:?}");
    }

    #[test]
    fn lines_and_sequences_are_lists_with_numbers_as_sent() {
        let lines = |text, expected| check(Stream::Lines, EventItem::Untold, text, expected);
        lines(
            "{\"a\":1}\r\n\n 1.50 \n12345678901234567890\n",
            Some("[{\"a\":1},1.50,12345678901234567890]"),
        );
        lines("", Some("[]"));
        lines("{\"a\":1}\nnot json", None);
        check(
            Stream::Sequence,
            EventItem::Untold,
            "\u{1e}{\"a\":\n1}\n\u{1e}2\n",
            Some("[{\"a\":\n1},2]"),
        );
    }

    #[test]
    fn events_are_their_data_or_whole_as_the_document_says() {
        let text = ": hello\nevent: add\nid: 7\ndata: {\"n\":\ndata: 1}\n\ndata: plain\r\rdata: [DONE]\n\nevent: none\n\ndata:2";
        let events = |item, expected| check(Stream::Events, item, text, Some(expected));
        events(EventItem::Data, "[{\"n\":\n1},\"plain\",2]");
        events(
            EventItem::Event,
            "[{\"event\":\"add\",\"data\":{\"n\":\n1},\"id\":\"7\"},{\"data\":\"plain\"},{\"data\":2}]",
        );
        events(
            EventItem::EventWithText,
            "[{\"event\":\"add\",\"data\":\"{\\\"n\\\":\\n1}\",\"id\":\"7\"},{\"data\":\"plain\"},{\"data\":\"2\"}]",
        );
        // A name is told where nobody said that there are none.
        events(
            EventItem::Untold,
            "[{\"event\":\"add\",\"data\":{\"n\":\n1},\"id\":\"7\"},{\"data\":\"plain\"},{\"data\":2}]",
        );
        check(
            Stream::Events,
            EventItem::Untold,
            "data: 1\n\nevent: message\ndata: 2\n\n",
            Some("[1,2]"),
        );
        check(Stream::Events, EventItem::Untold, "", Some("[]"));
        check(Stream::Events, EventItem::Untold, ": nothing yet\n\n", Some("[]"));
        check(Stream::Events, EventItem::Untold, "{\"is\": \"no stream\"}", None);
    }
}
