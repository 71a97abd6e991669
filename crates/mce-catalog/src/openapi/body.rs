//! Request bodies: what may be sent, the preferred media type first.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::document::Reader;
use super::media_type;
use super::prose;
use super::reference::Node;
use crate::function::{Body, BodyFormat, BodyVariant, PropertyEncoding, Style};

/// Media types that are kept of one body.
const MAX_VARIANTS: usize = 30;

impl<'a> Reader<'a> {
    /// The body of an operation of OpenAPI 3.
    ///
    /// # Errors
    ///
    /// If it is a reference to nothing.
    pub(super) fn request_body(&mut self, operation: &Node<'a>) -> Result<Option<Body>, String> {
        let Some(node) = operation.get("requestBody").filter(|node| !node.value.is_null()) else {
            return Ok(None);
        };
        let followed = self
            .references
            .follow(node)
            .map_err(|reason| format!("the request body cannot be known: {reason}"))?;
        let node = &followed.node;
        let mut variants = Vec::new();
        for (media_type, content) in node
            .get("content")
            .iter()
            .flat_map(|content| content.members().collect::<Vec<_>>())
            .take(MAX_VARIANTS)
        {
            let schema = content.get("schema").or_else(|| content.get("itemSchema"));
            let Some(media_type) = self.media_type(media_type, &content) else {
                continue;
            };
            let encoding = self.property_encodings(&content);
            variants.push(self.body_variant(media_type, schema, followed.is_shared, encoding));
        }
        if variants.is_empty() {
            self.problem(node, "the request body has no content; the function has none");
            return Ok(None);
        }
        let description = followed.description.or_else(|| node.text("description")).unwrap_or_default();
        Ok(Some(Body {
            is_required: node.flag("required") == Some(true),
            description: prose::line(description, 500),
            variants: preferred_first(variants),
        }))
    }

    /// One media type of a body.
    pub(super) fn body_variant(
        &mut self,
        media_type: &str,
        schema: Option<Node<'a>>,
        is_shared: bool,
        encoding: BTreeMap<String, PropertyEncoding>,
    ) -> RankedVariant {
        let fields = schema.as_ref().map(|schema| self.binary_fields(schema)).unwrap_or_default();
        let media_type = media_type::concrete(media_type, fields.is_whole);
        let format = match media_type::format(&media_type) {
            // A file that holds JSON, not a JSON text that holds a file.
            Some(BodyFormat::Json) if fields.is_whole => BodyFormat::Binary,
            Some(format) => format,
            // An own type of the API: what has a structure can only be JSON.
            None if fields.is_structured => BodyFormat::Json,
            None => BodyFormat::Binary,
        };
        let described = schema
            .as_ref()
            .and_then(|schema| schema.text("description"))
            .map(|text| prose::line(text, 500));
        let schema = match format {
            BodyFormat::Json => schema.map_or_else(|| json!({}), |schema| self.shared_schema(schema, is_shared)),
            BodyFormat::Form | BodyFormat::Multipart => {
                form_schema(schema.map_or_else(|| json!({}), |schema| self.shared_schema(schema, is_shared)))
            }
            BodyFormat::Text => with_description(json!({"type": "string"}), described),
            BodyFormat::Binary => with_description(json!({"type": "string", "format": "binary"}), described),
        };
        let is_plain_json = media_type::essence(&media_type) == "application/json";
        let is_json_patch = media_type::essence(&media_type).starts_with("application/json-patch");
        let rank = match format {
            BodyFormat::Multipart if fields.is_required => 0,
            BodyFormat::Json if is_plain_json => 1,
            BodyFormat::Json if !is_json_patch => 2,
            BodyFormat::Json => 3,
            BodyFormat::Multipart if fields.is_there => 4,
            BodyFormat::Form => 5,
            BodyFormat::Multipart => 6,
            BodyFormat::Text => 7,
            BodyFormat::Binary => 8,
        };
        RankedVariant {
            rank,
            variant: BodyVariant {
                media_type,
                format,
                schema,
                encoding,
            },
        }
    }

    /// A media type that can be sent; a misspelt one of JSON is JSON.
    fn media_type(&mut self, declared: &'a str, content: &Node<'a>) -> Option<&'a str> {
        let declared = declared.trim();
        if declared == "*" || media_type::is_valid(declared) {
            return Some(declared);
        }
        let is_json = declared.to_ascii_lowercase().contains("json");
        let done = if is_json { "application/json is sent" } else { "it is left out" };
        self.problem(content, &format!("`{}` is no media type; {done}", prose::quote(declared)));
        is_json.then_some("application/json")
    }

    fn property_encodings(&mut self, content: &Node<'a>) -> BTreeMap<String, PropertyEncoding> {
        let mut encodings = BTreeMap::new();
        for (property, node) in content
            .get("encoding")
            .iter()
            .flat_map(|encoding| encoding.members().collect::<Vec<_>>())
        {
            let node = match self.references.follow(node.clone()) {
                Ok(followed) => followed.node,
                Err(reason) => {
                    self.problem(&node, &reason);
                    continue;
                }
            };
            let style = match node.text("style") {
                Some("form") => Some(Style::Form),
                Some("spaceDelimited") => Some(Style::SpaceDelimited),
                Some("pipeDelimited") => Some(Style::PipeDelimited),
                Some("deepObject") => Some(Style::DeepObject),
                _ => None,
            };
            let content_type = node
                .text("contentType")
                .filter(|list| list.split(',').all(|one| media_type::is_valid(one.trim())));
            encodings.insert(
                property.to_owned(),
                PropertyEncoding {
                    content_type: content_type.map(str::to_owned),
                    style,
                    explode: node.flag("explode"),
                    allow_reserved: node.flag("allowReserved"),
                },
            );
        }
        encodings
    }

    /// Looks for files among the properties of a schema; through references and `allOf`, but not below properties.
    fn binary_fields(&mut self, schema: &Node<'a>) -> BinaryFields {
        let Ok(schema) = self.references.follow(schema.clone()).map(|followed| followed.node) else {
            return BinaryFields::default();
        };
        let place = (schema.file.index, schema.pointer.clone());
        if let Some(known) = self.binary_fields.get(&place) {
            return *known;
        }
        let fields = self.find_binary_fields(schema);
        self.binary_fields.insert(place, fields);
        fields
    }

    fn find_binary_fields(&self, schema: Node<'a>) -> BinaryFields {
        let mut fields = BinaryFields::default();
        let mut required: Vec<&str> = Vec::new();
        let mut binary: Vec<&str> = Vec::new();
        let mut waiting = vec![schema];
        // More parts than this would be no form that somebody fills in.
        for _ in 0..64 {
            let Some(node) = waiting.pop() else { break };
            let Ok(node) = self.references.follow(node).map(|followed| followed.node) else {
                continue;
            };
            fields.is_whole |= is_binary(node.value);
            let kind = node.text("type");
            fields.is_structured |= matches!(kind, Some("object" | "array")) || (kind.is_none() && node.get("properties").is_some());
            fields.is_structured |= ["allOf", "oneOf", "anyOf"].iter().any(|key| node.get(key).is_some());
            required.extend(
                node.get("required")
                    .iter()
                    .flat_map(|list| list.items().filter_map(|name| name.value.as_str()).collect::<Vec<_>>()),
            );
            for (name, property) in node
                .get("properties")
                .iter()
                .flat_map(|properties| properties.members().collect::<Vec<_>>())
            {
                let Ok(property) = self.references.follow(property).map(|followed| followed.node) else {
                    continue;
                };
                let item = property.get("items").and_then(|item| self.references.follow(item).ok());
                if is_binary(property.value) || item.is_some_and(|item| is_binary(item.node.value)) {
                    binary.push(name);
                }
            }
            waiting.extend(node.get("allOf").iter().flat_map(|parts| parts.items().collect::<Vec<_>>()));
        }
        fields.is_there = !binary.is_empty();
        fields.is_required = binary.iter().any(|name| required.contains(name));
        fields
    }
}

/// A variant and its place in the order of preference, lowest first.
#[derive(Debug)]
pub(super) struct RankedVariant {
    rank: u8,
    variant: BodyVariant,
}

impl RankedVariant {
    /// For a schema that the document does not have as one.
    pub(super) fn set_schema(&mut self, schema: Value) {
        self.variant.schema = schema;
    }
}

/// By rank, those of the same rank in document order.
pub(super) fn preferred_first(mut variants: Vec<RankedVariant>) -> Vec<BodyVariant> {
    variants.sort_by_key(|ranked| ranked.rank);
    variants.into_iter().map(|ranked| ranked.variant).collect()
}

/// Files in a body.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct BinaryFields {
    /// The whole is one.
    is_whole: bool,
    /// Some property is one.
    is_there: bool,
    /// Some required property is one.
    is_required: bool,
    /// An object, a list, or a composition.
    is_structured: bool,
}

/// Bytes: `format: binary`, Swagger 2.0's `type: file`, or a media type that is no text without an encoding.
fn is_binary(schema: &Value) -> bool {
    let text = |key: &str| schema.get(key).and_then(Value::as_str);
    let is_content = text("contentEncoding").is_none()
        && text("contentMediaType").is_some_and(|media_type| !media_type::is_json(media_type) && !media_type::is_text(media_type));
    text("format") == Some("binary") || text("type") == Some("file") || is_content
}

/// A form is an object. One of which the document says only that it is a text or a file has fields of any name.
fn form_schema(mut schema: Value) -> Value {
    let Some(members) = schema.as_object_mut() else {
        return json!({"type": "object"});
    };
    if members.get("type").is_some_and(|kind| kind == "string") {
        return json!({"type": "object", "additionalProperties": schema});
    }
    if !["type", "$ref", "allOf", "anyOf", "oneOf"]
        .iter()
        .any(|key| members.contains_key(*key))
    {
        members.insert("type".to_owned(), "object".into());
    }
    schema
}

fn with_description(mut schema: Value, description: Option<String>) -> Value {
    if let (Some(members), Some(text)) = (schema.as_object_mut(), description.filter(|text| !text.is_empty())) {
        members.insert("description".to_owned(), text.into());
    }
    schema
}
