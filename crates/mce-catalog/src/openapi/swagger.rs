//! What Swagger 2.0 says in its own way: parameters with types of their own, `in: body`, `in: formData`, `consumes`.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::body::preferred_first;
use super::document::Reader;
use super::media_type;
use super::parameter::Declared;
use super::prose;
use super::reference::Node;
use crate::function::{Body, Location, ParameterEncoding, PropertyEncoding, Style};

const URLENCODED: &str = "application/x-www-form-urlencoded";
const MULTIPART: &str = "multipart/form-data";

impl<'a> Reader<'a> {
    /// Schema and encoding of a Parameter Object that is no body.
    pub(super) fn swagger_parameter(&mut self, node: &Node<'a>, location: Location) -> (Value, ParameterEncoding) {
        let schema = match node.get("schema").filter(|_| node.get("type").is_none()) {
            Some(schema) => self.schema(&schema),
            None => Value::Object(self.own_schema(node)),
        };
        let (style, explode) = collection_format(node, location);
        (
            schema,
            ParameterEncoding::Style {
                style,
                explode,
                allow_reserved: false,
            },
        )
    }

    /// The body of an operation: its `in: body` parameter, or all `in: formData` parameters as one object.
    pub(super) fn swagger_body(&mut self, operation: &Node<'a>, declared: &[Declared<'a>]) -> Option<Body> {
        let of_place = |place: &str| {
            declared
                .iter()
                .filter(|it| it.place.eq_ignore_ascii_case(place))
                .collect::<Vec<_>>()
        };
        let (bodies, fields) = (of_place("body"), of_place("formData"));
        let consumes = self.media_types(operation, "consumes");
        let Some(body) = bodies.first() else {
            return (!fields.is_empty()).then(|| self.form(&fields, &consumes));
        };
        if bodies.len() > 1 || !fields.is_empty() {
            self.problem(
                operation,
                "the operation has more than one body; the first `in: body` parameter is taken",
            );
        }
        let node = body.node();
        let schema = node.get("schema").or_else(|| node.get("type").map(|_| node.clone()));
        let consumes = if consumes.is_empty() { vec!["application/json"] } else { consumes };
        let is_shared = body.followed.is_shared;
        let variants = consumes
            .into_iter()
            .map(|kind| self.body_variant(kind, schema.clone(), is_shared, BTreeMap::new()))
            .collect();
        Some(Body {
            is_required: node.flag("required") == Some(true),
            description: body.description(),
            variants: preferred_first(variants),
        })
    }

    fn form(&mut self, fields: &[&Declared<'a>], consumes: &[&str]) -> Body {
        let mut properties = Map::new();
        let mut required = Vec::new();
        let mut encoding = BTreeMap::new();
        let mut has_file = false;
        for field in fields {
            let node = field.node();
            let mut schema = self.own_schema(node);
            let description = field.description();
            if !description.is_empty() {
                schema.insert("description".to_owned(), description.into());
            }
            has_file |= node.text("type") == Some("file");
            if node.flag("required") == Some(true) {
                required.push(Value::from(field.name));
            }
            if node.text("type") == Some("array") {
                let (style, explode) = collection_format(node, Location::Query);
                encoding.insert(
                    field.name.to_owned(),
                    PropertyEncoding {
                        style: Some(style),
                        explode: Some(explode),
                        ..Default::default()
                    },
                );
            }
            properties.insert(field.name.to_owned(), Value::Object(schema));
        }
        let is_required = !required.is_empty();
        let mut schema = Map::new();
        schema.insert("type".to_owned(), "object".into());
        schema.insert("properties".to_owned(), Value::Object(properties));
        if is_required {
            schema.insert("required".to_owned(), Value::Array(required));
        }
        let allows = |wanted: &str| consumes.iter().any(|kind| media_type::essence(kind) == wanted);
        // A file needs multipart, whatever `consumes` says.
        let media_types = match (has_file, allows(URLENCODED), allows(MULTIPART)) {
            (true, ..) | (false, false, true) => vec![MULTIPART],
            (false, true, true) => vec![URLENCODED, MULTIPART],
            (false, _, false) => vec![URLENCODED],
        };
        let variants = media_types.into_iter().map(|kind| {
            let mut ranked = self.body_variant(kind, None, false, encoding.clone());
            ranked.set_schema(Value::Object(schema.clone()));
            ranked
        });
        let variants = variants.collect();
        Body {
            is_required,
            description: String::new(),
            variants: preferred_first(variants),
        }
    }

    /// The Parameter Object itself as a schema; it has the keywords of one.
    fn own_schema(&mut self, node: &Node<'a>) -> Map<String, Value> {
        let mut schema = match self.schema(node) {
            Value::Object(schema) => schema,
            _ => Map::new(),
        };
        // They are the parameter's.
        schema.shift_remove("description");
        schema.shift_remove("deprecated");
        schema
    }

    /// `consumes` or `produces`: the operation's, which may be empty to clear the document's.
    pub(super) fn media_types(&mut self, operation: &Node<'a>, key: &str) -> Vec<&'a str> {
        let top = Node::top(self.main);
        let Some(list) = operation.get(key).filter(|list| list.value.is_array()).or_else(|| top.get(key)) else {
            return Vec::new();
        };
        let mut kinds = Vec::new();
        for item in list.items() {
            match item.value.as_str().map(str::trim) {
                Some(kind) if kind == "*" || media_type::is_valid(kind) => kinds.push(kind),
                Some(kind) => self.problem(&item, &format!("`{}` is no media type; it is left out", prose::quote(kind))),
                None => {}
            }
        }
        kinds
    }
}

/// Swagger 2.0, Parameter Object, `collectionFormat`: `csv` if nothing is said, `multi` only for query and form.
fn collection_format(node: &Node<'_>, location: Location) -> (Style, bool) {
    let in_query = matches!(location, Location::Query | Location::Cookie | Location::Querystring);
    match node.text("collectionFormat") {
        Some("multi") if in_query => (Style::Form, true),
        Some("ssv") => (Style::SpaceDelimited, false),
        Some("tsv") => (Style::TabDelimited, false),
        Some("pipes") => (Style::PipeDelimited, false),
        _ if in_query => (Style::Form, false),
        _ => (Style::Simple, false),
    }
}
