//! The answer of a run within what a model should have to read: a large value is kept and becomes a handle with a preview, long
//! logs lose their middle. Nothing is cut without saying so.

use std::sync::Arc;
use std::time::SystemTime;

use mce_catalog::observed::shape_of;
use mce_catalog::pointer::escape;
use mce_config::ResultFormat;
use mce_sandbox::Language;
use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::{App, RunReport};

/// Characters of a shape.
const MAX_SHAPE_CHARS: usize = 800;
/// Lists of which the number of items is told.
const MAX_COUNTS: usize = 20;
/// How far TOON must be below JSON to be worth another notation.
const WORTH: (usize, usize) = (85, 100);
/// Shorter values are not worth it either.
const MIN_TOON_BYTES: usize = 256;
/// What a preview shows, from much to little.
const LEVELS: [Level; 5] = [
    Level::new(3, 200, 24, 5),
    Level::new(2, 120, 16, 4),
    Level::new(1, 60, 10, 3),
    Level::new(1, 30, 6, 2),
    Level::new(0, 20, 3, 1),
];

/// A value that is kept instead of shown.
#[derive(Debug, Serialize)]
pub(crate) struct Handle {
    id: String,
    /// How a later program gets it.
    code: String,
    /// Of the whole value as JSON.
    bytes: usize,
    /// Where a client reads it, in parts with `?path=/items&from=0&count=20`.
    resource: String,
    /// Names and types.
    shape: String,
    /// Items of each list, by its JSON Pointer.
    #[serde(skip_serializing_if = "Map::is_empty")]
    counts: Map<String, Value>,
    /// The value with everything long cut in the middle.
    preview: Value,
}

/// How much of each kind a preview shows.
#[derive(Clone, Copy)]
struct Level {
    items: usize,
    chars: usize,
    members: usize,
    depth: usize,
}

impl Level {
    const fn new(items: usize, chars: usize, members: usize, depth: usize) -> Self {
        Self {
            items,
            chars,
            members,
            depth,
        }
    }
}

impl App {
    /// The report as a model gets it. `wanted` replaces the limit of the settings for the value.
    pub(crate) async fn within_budget(&self, mut report: RunReport, wanted: Option<usize>) -> RunReport {
        let settings = &self.settings.results;
        report.answer.logs = cut_in_the_middle(std::mem::take(&mut report.answer.logs), settings.log_bytes);
        let limit = wanted.unwrap_or(settings.result_bytes);
        let Some(data) = report.answer.data.take() else { return report };
        if data.get().len() > limit {
            match self.keep_result(&data, report.language, limit).await {
                Some(handle) => report.answer.handle = Some(handle),
                // The run has happened: its value is told, whatever became of the place to keep it.
                None => report.answer.data = Some(data),
            }
            return report;
        }
        match toon(&data, settings.format) {
            Some(text) => {
                report.answer.format = Some("toon");
                report.text = Some(text);
            }
            None => report.answer.data = Some(data),
        }
        report
    }

    async fn keep_result(&self, data: &RawValue, language: Language, limit: usize) -> Option<Handle> {
        let text = self.broker.redacted(data.get()).into_owned();
        let value: Value = serde_json::from_str(&text).ok()?;
        let results = Arc::clone(&self.results);
        let (text, saved) = tokio::task::spawn_blocking(move || {
            let saved = results.save(&text, SystemTime::now());
            (text, saved)
        })
        .await
        .ok()?;
        let id = saved
            .inspect_err(|error| tracing::warn!("a large value was not kept: {error}"))
            .ok()?;
        Some(Handle {
            resource: format!("mce://results/{id}"),
            code: match language {
                Language::Python => format!("from mce import load; value = load('{id}')"),
                Language::TypeScript => format!("import {{ load }} from 'mce'; const value = await load('{id}');"),
            },
            id,
            bytes: text.len(),
            shape: shape_text(&value),
            counts: counts(&value),
            preview: preview(&value, (limit / 3).clamp(200, 1_500)),
        })
    }
}

/// The value in TOON, where that is wanted and says the same.
fn toon(data: &RawValue, format: ResultFormat) -> Option<String> {
    if format == ResultFormat::Json {
        return None;
    }
    let value: Value = serde_json::from_str(data.get()).ok()?;
    (value.is_array() || value.is_object()).then_some(())?;
    is_exact(&value).then_some(())?;
    let text = toon_format::encode_default(&value).ok()?;
    let is_worth = data.get().len() >= MIN_TOON_BYTES && text.len() * WORTH.1 <= data.get().len() * WORTH.0;
    let is_same = || toon_format::decode_default::<Value>(&text).is_ok_and(|again| again == value);
    (format == ResultFormat::Toon || is_worth).then_some(())?;
    is_same().then_some(text)
}

/// Whether no number was rounded when it was read.
fn is_exact(value: &Value) -> bool {
    match value {
        Value::Number(number) => !is_rounded(number),
        Value::Array(items) => items.iter().all(is_exact),
        Value::Object(members) => members.values().all(is_exact),
        Value::Null | Value::Bool(_) | Value::String(_) => true,
    }
}

/// Integers beyond 64 bits are read as the next double.
fn is_rounded(number: &serde_json::Number) -> bool {
    number.is_f64() && number.as_f64().is_some_and(|number| number.fract() == 0.0 && number.abs() >= 9e15)
}

/// The start and the end, and how much is missing.
fn cut_in_the_middle(text: String, bytes: usize) -> String {
    if text.len() <= bytes {
        return text;
    }
    let half = bytes / 2;
    let (head, rest) = text.split_at(text.floor_char_boundary(half));
    let (_, tail) = rest.split_at(rest.ceil_char_boundary(rest.len() - half));
    let head = head
        .rsplit_once('\n')
        .map_or(head, |(lines, cut)| if cut.len() < half / 2 { lines } else { head });
    let tail = tail
        .split_once('\n')
        .map_or(tail, |(cut, lines)| if cut.len() < half / 2 { lines } else { tail });
    let missing = text.len() - head.len() - tail.len();
    format!("{head}\n[... {missing} bytes of logs are left out ...]\n{tail}")
}

fn preview(value: &Value, bytes: usize) -> Value {
    let shown = LEVELS.iter().map(|level| part(value, *level, level.depth));
    shown
        .into_iter()
        .find(|shown| shown.to_string().len() <= bytes)
        .unwrap_or_else(|| Value::from(size_of(value)))
}

fn part(value: &Value, level: Level, depth: usize) -> Value {
    match value {
        Value::String(text) => Value::from(cut(text, level.chars)),
        Value::Number(number) if is_rounded(number) => Value::from("[an integer of more than 64 bits]"),
        Value::Array(items) if !items.is_empty() && depth == 0 => Value::from(size_of(value)),
        Value::Array(items) if items.len() > level.items + 2 => {
            let first = items.iter().take(level.items).map(|item| part(item, level, depth - 1));
            let note = Value::from(format!("[... {} more ...]", items.len() - level.items - 1));
            let last = items.last().map(|item| part(item, level, depth - 1));
            first.chain([note]).chain(last).collect()
        }
        Value::Array(items) => items.iter().map(|item| part(item, level, depth.saturating_sub(1))).collect(),
        Value::Object(members) if !members.is_empty() && depth == 0 => Value::from(size_of(value)),
        Value::Object(members) => {
            let shown = members.iter().take(level.members);
            let mut shown: Map<String, Value> = shown
                .map(|(name, member)| (cut(name, level.chars), part(member, level, depth.saturating_sub(1))))
                .collect();
            if members.len() > level.members {
                shown.insert("...".to_owned(), Value::from(format!("[{} more]", members.len() - level.members)));
            }
            Value::Object(shown)
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    }
}

fn size_of(value: &Value) -> String {
    match value {
        Value::Array(items) => format!("[{} items]", items.len()),
        Value::Object(members) => format!("[object of {}]", members.len()),
        Value::String(text) => format!("[text of {} characters]", text.chars().count()),
        Value::Null | Value::Bool(_) | Value::Number(_) => value.to_string(),
    }
}

/// A text of at most about so many characters: its start and its end.
fn cut(text: &str, chars: usize) -> String {
    let all = text.chars().count();
    if all <= chars + 20 {
        return text.to_owned();
    }
    let head: String = text.chars().take(chars * 2 / 3).collect();
    let tail: String = text.chars().skip(all - chars / 3).collect();
    format!("{head}[... {} more ...]{tail}", all - chars * 2 / 3 - chars / 3)
}

/// How many items each list has that stands in no other.
fn counts(value: &Value) -> Map<String, Value> {
    let mut found = Map::new();
    let mut waiting = vec![(String::new(), value)];
    while let Some((path, value)) = waiting.pop() {
        match value {
            Value::Array(items) if found.len() < MAX_COUNTS => {
                found.insert(path, items.len().into());
            }
            Value::Object(members) if path.matches('/').count() < 4 => {
                let below = members.iter().rev().take(MAX_COUNTS);
                waiting.extend(below.map(|(name, member)| (format!("{path}/{}", escape(name)), member)));
            }
            _ => {}
        }
    }
    found
}

/// Names and types in one line.
fn shape_text(value: &Value) -> String {
    let mut text = String::new();
    write_shape(&shape_of(value), &mut text);
    if text.chars().count() > MAX_SHAPE_CHARS {
        text = text.chars().take(MAX_SHAPE_CHARS).chain("...".chars()).collect();
    }
    text
}

fn write_shape(schema: &Value, text: &mut String) {
    if text.len() > 4 * MAX_SHAPE_CHARS {
        return;
    }
    if let Some(Value::Array(alternatives)) = schema.get("anyOf") {
        for (index, alternative) in alternatives.iter().enumerate() {
            text.push_str(if index == 0 { "" } else { " | " });
            write_shape(alternative, text);
        }
        return;
    }
    let kind = schema.get("type").and_then(Value::as_str).unwrap_or("any");
    let required = schema.get("required").and_then(Value::as_array);
    match (
        kind,
        schema.get("properties"),
        schema.get("items"),
        schema.get("additionalProperties"),
    ) {
        ("object", Some(Value::Object(properties)), _, _) => {
            text.push('{');
            for (index, (name, property)) in properties.iter().enumerate() {
                let is_required = required.is_none_or(|required| required.iter().any(|known| known == name));
                text.push_str(if index == 0 { "" } else { ", " });
                text.extend([name.as_str(), if is_required { ": " } else { "?: " }]);
                write_shape(property, text);
            }
            text.push('}');
        }
        ("object", _, _, Some(values @ Value::Object(_))) => {
            text.push_str("{[name]: ");
            write_shape(values, text);
            text.push('}');
        }
        ("array", _, Some(items), _) => {
            text.push('[');
            write_shape(items, text);
            text.push(']');
        }
        (kind, ..) => text.push_str(kind),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn raw(value: &Value) -> Box<RawValue> {
        RawValue::from_string(value.to_string()).unwrap()
    }

    fn rows(count: usize) -> Value {
        (0..count)
            .map(|number| json!({"id": number, "name": format!("item {number}"), "tags": ["a", "b"], "note": null}))
            .collect()
    }

    #[test]
    fn a_preview_shows_head_and_tail_and_what_is_missing() {
        let value = json!({"total": 1200, "items": rows(1200), "text": "x".repeat(5000)});
        let shown = preview(&value, 1500);
        assert!(shown.to_string().len() <= 1500);
        assert_eq!((&shown["total"], &shown["items"][0]["id"]), (&json!(1200), &json!(0)));
        let items = shown["items"].as_array().unwrap();
        assert_eq!(items.last().unwrap()["id"], 1199);
        assert!(items.iter().any(|item| item == "[... 1196 more ...]"), "{shown}");
        assert!(shown["text"].as_str().unwrap().contains("more ...]"), "{shown}");
    }

    #[test]
    fn a_preview_keeps_to_its_bytes_whatever_it_is_of() {
        let deep = (0..100).fold(json!(1), |inner, _| json!({"a": inner, "b": ["x".repeat(100)]}));
        let wide: Value = (0..5000)
            .map(|number| (format!("key{number}"), json!(number)))
            .collect::<Map<_, _>>()
            .into();
        for value in [deep, wide, rows(5000), json!("😀".repeat(9000)), json!([[[[[1, 2, 3]]]]])] {
            for bytes in [200, 1500] {
                assert!(preview(&value, bytes).to_string().len() <= bytes, "{value:.100}");
            }
        }
    }

    #[test]
    fn shape_and_counts_tell_what_a_value_has() {
        let value = json!({"total": 2, "items": rows(30), "by": {"a/b": [1]}});
        assert_eq!(
            shape_text(&value),
            "{total: integer, items: [{id: integer, name: string, tags: [string], note: null}], by: {[name]: [integer]}}"
        );
        assert_eq!(Value::Object(counts(&value)), json!({"/items": 30, "/by/a~1b": 1}));
        assert_eq!(Value::Object(counts(&rows(7))), json!({"": 7}));
    }

    #[test]
    fn logs_lose_their_middle_at_ends_of_lines() {
        let lines: Vec<String> = (0..1000).map(|number| format!("line {number}\n")).collect();
        let logs = lines.concat();
        let cut = cut_in_the_middle(logs.clone(), 1000);
        assert!(
            cut.len() < 1100 && cut.starts_with("line 0\n") && cut.ends_with("line 999\n"),
            "{cut}"
        );
        let missing = logs.len() - cut.len() + "\n[... 0000 bytes of logs are left out ...]\n".len();
        assert!(
            cut.contains(&format!("\n[... {missing} bytes of logs are left out ...]\nline ")),
            "{cut}"
        );
        assert_eq!(cut_in_the_middle("é".repeat(10), 20), "é".repeat(10));
        assert!(cut_in_the_middle("é".repeat(1000), 101).contains("bytes of logs"));
    }

    #[test]
    fn toon_is_taken_where_it_says_the_same_in_less() {
        let uniform = raw(&(0..20).map(|number| json!({"id": number, "name": "a"})).collect());
        let text = toon(&uniform, ResultFormat::Auto).unwrap();
        assert!(text.starts_with("[20]{id,name}:"), "{text}");
        assert_eq!(toon(&uniform, ResultFormat::Json), None);
        assert_eq!(toon(&raw(&json!("a text")), ResultFormat::Toon), None);
        assert_eq!(toon(&raw(&json!({"a": 1})), ResultFormat::Auto), None);
        assert_eq!(toon(&raw(&json!({"a": 1})), ResultFormat::Toon).unwrap(), "a: 1");
        let big = RawValue::from_string("[{\"n\":123456789012345678901234567890},{\"n\":1},{\"n\":2}]".to_owned()).unwrap();
        assert_eq!(toon(&big, ResultFormat::Toon), None, "it would be rounded");
    }
}
