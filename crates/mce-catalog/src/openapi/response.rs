//! Answers: the type of a successful one, what to ask for, and what the document says about errors.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::document::{Reader, Version};
use super::media_type;
use super::prose;
use super::reference::{Followed, Node};
use super::stream::Stream;
use super::walk::Found;
use crate::function::EventItem;

/// Media types that are asked for.
const MAX_ACCEPTS: usize = 10;
/// Characters of an error's description.
const MAX_ERROR: usize = 200;
/// Error answers that are kept of one operation.
const MAX_ERRORS: usize = 40;

/// A Response Object by its status.
struct Answer<'a> {
    /// `200`, `2XX` or `default`.
    status: String,
    followed: Followed<'a>,
}

impl Answer<'_> {
    fn is_success(&self) -> bool {
        self.status.starts_with('2')
    }
}

/// What the answers of an operation tell.
pub(super) struct Responses {
    /// The type of a successful one.
    pub(super) result: Option<Value>,
    /// Media types to ask for.
    pub(super) accepts: Vec<String>,
    /// Descriptions of the others by status.
    pub(super) errors: BTreeMap<String, String>,
    /// A successful one has a `Link` field.
    pub(super) has_links: bool,
    /// What an item of events is.
    pub(super) event_item: EventItem,
}

impl<'a> Reader<'a> {
    pub(super) fn responses(&mut self, found: &Found<'a>) -> Responses {
        let answers = self.answers(&found.node);
        let has_success = answers.iter().any(Answer::is_success);
        // Without a success of its own, `default` is the answer of one. (OpenAPI 3.1, Responses Object.)
        let (good, bad): (Vec<_>, Vec<_>) = answers
            .into_iter()
            .partition(|answer| answer.is_success() || (!has_success && answer.status == "default"));
        let mut event_item = EventItem::Untold;
        let result = if found.method == "HEAD" {
            Some(json!({"type": "null"}))
        } else {
            self.result(&good, &found.node, &mut event_item)
        };
        let accepts = self.accepts(&good, &bad, &found.node);
        let errors = bad.iter().take(MAX_ERRORS).map(|answer| {
            let description = answer.followed.description.or_else(|| answer.followed.node.text("description"));
            (answer.status.clone(), prose::line(description.unwrap_or_default(), MAX_ERROR))
        });
        let has_links = good
            .iter()
            .filter_map(|answer| answer.followed.node.get("headers"))
            .any(|headers| headers.members().any(|(name, _)| name.eq_ignore_ascii_case("link")));
        Responses {
            result,
            accepts,
            errors: errors.collect(),
            has_links,
            event_item,
        }
    }

    fn answers(&mut self, operation: &Node<'a>) -> Vec<Answer<'a>> {
        let mut answers = Vec::new();
        for (status, node) in operation
            .get("responses")
            .iter()
            .flat_map(|responses| responses.members().collect::<Vec<_>>())
        {
            let status = status.trim().to_ascii_uppercase();
            if status.starts_with("X-") || node.value.is_null() {
                continue;
            }
            let is_status = status.len() == 3 && status.starts_with(|c: char| c.is_ascii_digit());
            if !is_status && status != "DEFAULT" {
                self.problem(&node, &format!("`{}` is no status; the answer is left out", prose::quote(&status)));
                continue;
            }
            match self.references.follow(node.clone()) {
                Ok(followed) => answers.push(Answer {
                    status: status.replace("DEFAULT", "default"),
                    followed,
                }),
                Err(reason) => self.problem(&node, &format!("{reason}; what this answer holds is not known")),
            }
        }
        // Exact ones before ranges.
        answers.sort_by_key(|answer| (answer.status == "default", answer.status.contains('X'), answer.status.clone()));
        answers
    }

    /// The types of all successful answers, each once.
    fn result(&mut self, good: &[Answer<'a>], operation: &Node<'a>, event_item: &mut EventItem) -> Option<Value> {
        let mut types: Vec<Value> = Vec::new();
        for answer in good {
            let schema = match answer.status.as_str() {
                // No content, whatever the document says. (RFC 9110, 15.3.5 and 15.3.6.)
                "204" | "205" => Some(json!({"type": "null"})),
                _ => self.answer_type(answer, operation, event_item),
            };
            types.extend(schema.filter(|schema| !types.contains(schema)));
        }
        match types.len() {
            0 => None,
            1 => types.pop(),
            _ => Some(json!({ "anyOf": types })),
        }
    }

    /// The type of one answer: of its JSON and of the items that it may be streamed in, else of what it is as text or bytes.
    fn answer_type(&mut self, answer: &Answer<'a>, operation: &Node<'a>, event_item: &mut EventItem) -> Option<Value> {
        let node = &answer.followed.node;
        let is_shared = answer.followed.is_shared;
        if self.version == Version::Swagger2 {
            let schema = node.get("schema")?;
            let produces = self.media_types(operation, "produces");
            let is_json = produces.is_empty() || produces.iter().any(|kind| media_type::is_json(kind) || kind.contains('*'));
            let is_file = schema.text("type") == Some("file");
            return match produces.first() {
                Some(kind) if !is_json && !is_file => Some(self.other_type(kind, Some(schema), is_shared)),
                _ => Some(self.shared_schema(schema, is_shared)),
            };
        }
        let contents: Vec<(&str, Node<'a>)> = node
            .get("content")
            .iter()
            .flat_map(|content| content.members().collect::<Vec<_>>())
            .collect();
        let json = contents
            .iter()
            .find(|(kind, _)| media_type::is_json(kind) && !media_type::is_stream(kind))
            .or_else(|| contents.iter().find(|(kind, _)| kind.contains('*')));
        let stream = contents.iter().find(|(kind, _)| media_type::is_stream(kind));
        let stream = stream.map(|(kind, content)| {
            let Stream { list, item } = self.stream(kind, content, is_shared);
            *event_item = item;
            list
        });
        let (kind, content) = json.or_else(|| contents.first())?;
        let schema = content.get("schema");
        if json.is_some() {
            let whole = schema.map(|schema| self.shared_schema(schema, is_shared))?;
            return Some(stream.map_or(whole.clone(), |stream| json!({"anyOf": [whole, stream]})));
        }
        if let Some(stream) = stream.filter(|_| media_type::is_stream(kind)) {
            return Some(stream);
        }
        Some(self.other_type(kind, schema, is_shared))
    }

    /// What the broker makes of an answer that is not JSON: a text or bytes.
    fn other_type(&mut self, kind: &str, schema: Option<Node<'a>>, is_shared: bool) -> Value {
        match media_type::format(kind) {
            _ if media_type::is_stream(kind) => json!({"type": "array", "items": true}),
            None if schema.as_ref().is_some_and(|schema| schema.text("format") != Some("binary")) => {
                schema.map_or(Value::Bool(true), |schema| self.shared_schema(schema, is_shared))
            }
            _ if media_type::is_text(kind) => json!({"type": "string"}),
            _ => json!({"type": "string", "format": "binary"}),
        }
    }

    /// JSON first, then what else a success may be, then errors.
    fn accepts(&mut self, good: &[Answer<'a>], bad: &[Answer<'a>], operation: &Node<'a>) -> Vec<String> {
        if self.version == Version::Swagger2 {
            let mut kinds: Vec<String> = self.media_types(operation, "produces").into_iter().map(str::to_owned).collect();
            kinds.sort_by_key(|kind| !media_type::is_json(kind));
            kinds.truncate(MAX_ACCEPTS);
            return kinds;
        }
        let mut accepts: Vec<String> = Vec::new();
        for answers in [good, bad] {
            let mut kinds: Vec<&str> = answers
                .iter()
                .filter_map(|answer| answer.followed.node.get("content"))
                .flat_map(|content| content.members().map(|(kind, _)| kind.trim()).collect::<Vec<_>>())
                .filter(|kind| media_type::is_valid(kind))
                .collect();
            kinds.sort_by_key(|kind| !media_type::is_json(kind));
            for kind in kinds {
                if accepts.len() < MAX_ACCEPTS && !accepts.iter().any(|known| known == kind) {
                    accepts.push(kind.to_owned());
                }
            }
        }
        accepts
    }
}
