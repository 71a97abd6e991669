//! One operation to one function.

use super::document::{Reader, Version};
use super::prose;
use super::reference::Node;
use super::response::Responses;
use super::schema::weight;
use super::walk::Found;
use crate::function::{Advance, Effect, Function, HttpTarget, Pagination, Target};

/// Tags that are kept of one operation.
const MAX_TAGS: usize = 20;
/// Bytes of a path.
const MAX_PATH: usize = 8_000;
/// An operation counts as so many nodes at most before its schemas, most of which are examples.
const MAX_WEIGHT: usize = 2_000;

impl<'a> Reader<'a> {
    /// The function of an operation, without its names.
    ///
    /// # Errors
    ///
    /// Why it cannot be called.
    pub(super) fn operation(&mut self, found: &Found<'a>) -> Result<Function, String> {
        self.check(found)?;
        let node = &found.node;
        let (security, scopes) = self.security(node);
        let declared = self.declared_parameters(found)?;
        let body = match self.version {
            Version::Swagger2 => self.swagger_body(node, &declared),
            _ => self.request_body(node)?,
        };
        let parameters = self.parameters(found, &declared, &security, body.is_some());
        let Responses {
            result,
            accepts,
            errors,
            has_links,
            event_item,
        } = self.responses(found);
        Ok(Function {
            server: String::new(),
            operation: String::new(),
            operation_id: None,
            python: String::new(),
            typescript: String::new(),
            effect: effect(&found.method),
            summary: summary(found),
            description: description(found),
            tags: node
                .get("tags")
                .iter()
                .flat_map(|tags| tags.items().collect::<Vec<_>>())
                .filter_map(|tag| tag.value.as_str())
                .take(MAX_TAGS)
                .map(|tag| prose::line(tag, 80))
                .collect(),
            is_deprecated: node.flag("deprecated") == Some(true),
            parameters,
            body,
            result,
            errors,
            pagination: pageable(node).or_else(|| {
                has_links.then_some(Pagination {
                    advance: Advance::Links,
                    items: None,
                })
            }),
            target: Target::Http(HttpTarget {
                method: found.method.clone(),
                path: path_on_the_wire(found.path),
                base_url: self.base_url(found),
                // Known when all servers are.
                is_elsewhere: false,
                accepts,
                event_item,
                security,
                scopes,
            }),
        })
    }

    /// Whether the operation can be compiled at all, within what is left of the document's budget.
    fn check(&mut self, found: &Found<'a>) -> Result<(), String> {
        let node = &found.node;
        if node.object().is_none() {
            return Err("the operation is no object".to_owned());
        }
        if node.text("$ref").is_some() {
            self.references.follow(node.clone())?;
        }
        if !is_token(&found.method) {
            return Err("the method is no token of HTTP".to_owned());
        }
        if found.method.eq_ignore_ascii_case("CONNECT") {
            return Err("a method that makes a tunnel cannot be called".to_owned());
        }
        if found.path.len() > MAX_PATH {
            return Err(format!("its path is longer than {MAX_PATH} bytes"));
        }
        // Paths can share operations, which are then compiled for each of them.
        let shared = found.item.get("parameters").map_or(0, |list| weight(list.value, MAX_WEIGHT));
        if !self.spend(weight(node.value, MAX_WEIGHT) + shared) {
            return Err("the document becomes too large".to_owned());
        }
        Ok(())
    }
}

/// The operation's summary, else the first sentence of its description, else those of its path.
fn summary(found: &Found<'_>) -> String {
    let own = found.node.text("summary").filter(|text| !text.trim().is_empty());
    if let Some(text) = own {
        return prose::line(text, 120);
    }
    let others = [found.node.text("description"), found.item.text("summary")];
    let mut sentences = others.into_iter().flatten().map(|text| prose::first_sentence(text, 120));
    sentences.find(|text| !text.is_empty()).unwrap_or_default()
}

/// Where the answer has the address of the next page, and the items. (`x-ms-pageable`, an extension of `AutoRest`.)
fn pageable(operation: &Node<'_>) -> Option<Pagination> {
    let pageable = operation.get("x-ms-pageable")?;
    let next = pageable.text("nextLinkName")?.to_owned();
    Some(Pagination {
        advance: Advance::Cursor {
            parameter: None,
            next: vec![next],
        },
        items: Some(vec![pageable.text("itemName").unwrap_or("value").to_owned()]),
    })
}

/// The operation's description, else that of its path.
fn description(found: &Found<'_>) -> String {
    let own = found.node.text("description").filter(|text| !text.trim().is_empty());
    prose::paragraphs(own.or_else(|| found.item.text("description")).unwrap_or_default(), 1000)
}

/// By method, as long as the configuration says nothing else.
fn effect(method: &str) -> Effect {
    match method {
        "GET" | "HEAD" | "OPTIONS" | "QUERY" | "TRACE" => Effect::Read,
        "DELETE" => Effect::Destructive,
        _ => Effect::Write,
    }
}

/// The key of the Paths Object without its fragment, which only tells operations apart; with a slash in front.
fn path_on_the_wire(key: &str) -> String {
    let path = key.split_once('#').map_or(key, |(path, _)| path);
    if path.starts_with('/') {
        path.to_owned()
    } else {
        format!("/{path}")
    }
}

/// RFC 9110, 5.6.2.
pub(super) fn is_token(text: &str) -> bool {
    !text.is_empty() && text.len() <= 100 && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b))
}
