//! Parameters: which an operation has, where and how each is sent, and what it is called.

use serde_json::{Value, json};

use super::document::{Reader, Version};
use super::media_type;
use super::operation::is_token;
use super::prose;
use super::reference::{Followed, Node};
use super::walk::Found;
use crate::function::{Location, Parameter, ParameterEncoding, Style};
use crate::names::{self, ParameterKey};

/// Parameters of one operation; the largest known one has about 300.
const MAX_PARAMETERS: usize = 1_000;

/// A parameter counts as so many nodes besides its schema.
const PARAMETER_NODES: usize = 8;

/// Header fields that belong to the connection or to the broker. The first three by OpenAPI 3.1, Parameter Object, `name`.
const IGNORED_HEADERS: &[&str] = &[
    "accept",
    "content-type",
    "authorization",
    "accept-encoding",
    "connection",
    "content-length",
    "expect",
    "host",
    "http2-settings",
    "keep-alive",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "via",
];

/// A Parameter Object as found, for the operation or for its path.
#[derive(Debug, Clone)]
pub(super) struct Declared<'a> {
    /// `name`.
    pub(super) name: &'a str,
    /// `in`, as in the document.
    pub(super) place: &'a str,
    /// The object, behind its references.
    pub(super) followed: Followed<'a>,
}

impl<'a> Declared<'a> {
    /// The text beside the reference, else the parameter's own; at most 500 characters.
    pub(super) fn description(&self) -> String {
        let own = self.followed.node.text("description");
        prose::line(self.followed.description.or(own).unwrap_or_default(), 500)
    }

    pub(super) const fn node(&self) -> &Node<'a> {
        &self.followed.node
    }

    fn is_same(&self, other: &Self) -> bool {
        let is_header = self.place.eq_ignore_ascii_case("header");
        self.place.eq_ignore_ascii_case(other.place)
            && (self.name == other.name || (is_header && self.name.eq_ignore_ascii_case(other.name)))
    }
}

impl<'a> Reader<'a> {
    /// The path's parameters, then the operation's; of two with the same name and place the operation's counts.
    ///
    /// # Errors
    ///
    /// If one of them cannot be known, since the call might fail without it.
    pub(super) fn declared_parameters(&mut self, found: &Found<'a>) -> Result<Vec<Declared<'a>>, String> {
        let mut declared: Vec<Declared<'a>> = Vec::new();
        let lists = [&found.item, &found.node].map(|holder| holder.get("parameters"));
        for node in lists.iter().flatten().flat_map(|list| list.items().collect::<Vec<_>>()) {
            if node.value.is_null() {
                continue;
            }
            let followed = self
                .references
                .follow(node.clone())
                .map_err(|reason| format!("a parameter cannot be known: {reason} (at `{}`)", prose::quote(&node.place())))?;
            let (Some(name), Some(place)) = (followed.node.text("name"), followed.node.text("in")) else {
                self.problem(&followed.node, "a parameter without `name` or `in` is left out");
                continue;
            };
            let parameter = Declared { name, place, followed };
            if let Some(other) = declared.iter_mut().find(|other| other.is_same(&parameter)) {
                *other = parameter;
            } else if declared.len() < MAX_PARAMETERS {
                declared.push(parameter);
            } else {
                return Err(format!("it has more than {MAX_PARAMETERS} parameters"));
            }
        }
        Ok(declared)
    }

    /// The arguments of a function but for its body; those that the broker fills in are not among them.
    pub(super) fn parameters(
        &mut self,
        found: &Found<'a>,
        declared: &[Declared<'a>],
        security: &[Vec<String>],
        has_body: bool,
    ) -> Vec<Parameter> {
        let variables = template_variables(found.path);
        let mut parameters: Vec<Parameter> = Vec::new();
        for variable in &variables {
            let is_declared = |it: &Declared<'a>| it.name == *variable && it.place.eq_ignore_ascii_case("path");
            if !declared.iter().any(is_declared) {
                let name = prose::quote(variable);
                self.problem(
                    &found.node,
                    &format!("the path's `{name}` is no declared parameter; it is taken for a text"),
                );
                parameters.push(undeclared(variable));
            }
        }
        for declared in declared {
            let Some(location) = self.location(declared) else { continue };
            if location == Location::Path && !variables.contains(&declared.name) {
                let name = prose::quote(declared.name);
                self.problem(declared.node(), &format!("the path has no `{name}`; the parameter is left out"));
            } else if !self.is_credential(security, location, declared) {
                parameters.push(self.parameter(declared, location));
            }
        }
        parameters.sort_by_key(|parameter| !parameter.is_required);
        name_all(&mut parameters, has_body);
        parameters
    }

    /// Where a parameter is sent; `None` if it is not sent as one.
    fn location(&mut self, declared: &Declared<'a>) -> Option<Location> {
        let (name, node) = (declared.name, declared.node());
        match declared.place.to_ascii_lowercase().as_str() {
            "path" => Some(Location::Path),
            "query" => Some(Location::Query),
            "cookie" => Some(Location::Cookie),
            "querystring" => Some(Location::Querystring),
            "header" if IGNORED_HEADERS.iter().any(|ignored| name.eq_ignore_ascii_case(ignored)) => None,
            "header" if is_token(name) => Some(Location::Header),
            "header" => {
                self.problem(
                    node,
                    &format!("`{}` is no name of a header field; the parameter is left out", prose::quote(name)),
                );
                None
            }
            "body" | "formdata" if self.version == Version::Swagger2 => None,
            other => {
                let (name, other) = (prose::quote(name), prose::quote(other));
                self.problem(
                    node,
                    &format!("the place `{other}` of the parameter `{name}` is unknown; it is left out"),
                );
                None
            }
        }
    }

    fn parameter(&mut self, declared: &Declared<'a>, location: Location) -> Parameter {
        let node = declared.node();
        self.spend(PARAMETER_NODES);
        let is_old = node.get("schema").is_none() && node.get("content").is_none() && node.get("type").is_some();
        let (schema, encoding) = if self.version == Version::Swagger2 || is_old {
            self.swagger_parameter(node, location)
        } else {
            self.encoded(declared, location)
        };
        Parameter {
            original: declared.name.to_owned(),
            key: String::new(),
            python: String::new(),
            typescript: String::new(),
            location,
            is_required: location == Location::Path || node.flag("required") == Some(true),
            is_deprecated: node.flag("deprecated") == Some(true),
            description: declared.description(),
            schema,
            encoding,
        }
    }

    /// Schema and encoding of a Parameter Object of OpenAPI 3.
    fn encoded(&mut self, declared: &Declared<'a>, location: Location) -> (Value, ParameterEncoding) {
        let node = declared.node();
        let is_shared = declared.followed.is_shared;
        if let Some((media_type, content)) = node.get_object("content").and_then(|content| first(&content)) {
            let media_type = if media_type::is_valid(media_type) {
                media_type
            } else {
                "application/json"
            };
            let schema = content
                .get("schema")
                .map_or_else(|| json!({}), |schema| self.shared_schema(schema, is_shared));
            return (
                schema,
                ParameterEncoding::Content {
                    media_type: media_type::concrete(media_type, false),
                },
            );
        }
        let schema = node
            .get("schema")
            .map_or_else(|| json!({}), |schema| self.shared_schema(schema, is_shared));
        let style = self.style(node, location);
        // OpenAPI 3.1, Parameter Object, `explode`: true for `form`, else false.
        let explode = node.flag("explode").unwrap_or(style == Style::Form);
        // From 3.2 on also where it is no query. A cookie of style `cookie` is sent as it is.
        let is_raw_cookie = location == Location::Cookie && node.text("style") == Some("cookie");
        let allow_reserved = node.flag("allowReserved") == Some(true) || is_raw_cookie;
        (
            schema,
            ParameterEncoding::Style {
                style,
                explode,
                allow_reserved,
            },
        )
    }

    /// The declared style, if it is one for this place, else the default. (OpenAPI 3.1, Style Values.)
    fn style(&mut self, node: &Node<'a>, location: Location) -> Style {
        let default = match location {
            Location::Path | Location::Header => Style::Simple,
            Location::Query | Location::Cookie | Location::Querystring | Location::Argument => Style::Form,
        };
        let Some(declared) = node.text("style") else { return default };
        let style = match (declared, location) {
            ("simple", Location::Path | Location::Header) => Some(Style::Simple),
            ("label", Location::Path) => Some(Style::Label),
            ("matrix", Location::Path) => Some(Style::Matrix),
            ("form", Location::Query | Location::Cookie | Location::Querystring) | ("cookie", Location::Cookie) => Some(Style::Form),
            ("spaceDelimited", Location::Query) => Some(Style::SpaceDelimited),
            ("pipeDelimited", Location::Query) => Some(Style::PipeDelimited),
            ("deepObject", Location::Query) => Some(Style::DeepObject),
            _ => None,
        };
        if style.is_none() {
            let declared = prose::quote(declared);
            self.problem(
                node,
                &format!("the style `{declared}` is not one for this place; the default is taken"),
            );
        }
        style.unwrap_or(default)
    }
}

/// The first member of an object; a parameter's `content` has just one.
fn first<'a>(node: &Node<'a>) -> Option<(&'a str, Node<'a>)> {
    node.members().next()
}

/// The names between braces, each once.
fn template_variables(path: &str) -> Vec<&str> {
    let path = path.split_once('#').map_or(path, |(path, _)| path);
    let mut variables = Vec::new();
    let mut rest = path;
    while let Some((_, from)) = rest.split_once('{') {
        let Some((name, after)) = from.split_once('}') else { break };
        if !variables.contains(&name) {
            variables.push(name);
        }
        rest = after;
    }
    variables
}

fn undeclared(name: &str) -> Parameter {
    Parameter {
        original: name.to_owned(),
        key: String::new(),
        python: String::new(),
        typescript: String::new(),
        location: Location::Path,
        is_required: true,
        is_deprecated: false,
        description: String::new(),
        schema: json!({"type": "string"}),
        encoding: ParameterEncoding::Style {
            style: Style::Simple,
            explode: false,
            allow_reserved: false,
        },
    }
}

const fn place(location: Location) -> (u8, &'static str) {
    match location {
        Location::Path => (0, "path"),
        Location::Query => (1, "query"),
        Location::Header => (2, "header"),
        Location::Cookie => (3, "cookie"),
        Location::Querystring => (4, "querystring"),
        Location::Argument => (5, "argument"),
    }
}

/// Gives each parameter its key and its identifiers.
pub(super) fn name_all(parameters: &mut [Parameter], has_body: bool) {
    let places: Vec<(String, u8)> = parameters
        .iter()
        .map(|parameter| (parameter.original.clone(), place(parameter.location).0))
        .collect();
    let keys: Vec<ParameterKey<'_>> = parameters
        .iter()
        .map(|parameter| {
            let (rank, location) = place(parameter.location);
            ParameterKey {
                original: &parameter.original,
                location,
                rank,
            }
        })
        .collect();
    let names = names::parameters(&keys, has_body);
    let mut taken = std::collections::BTreeSet::new();
    for (parameter, name) in parameters.iter_mut().zip(names) {
        let (rank, location) = place(parameter.location);
        let is_first = !places
            .iter()
            .any(|(original, other)| *original == parameter.original && *other < rank);
        let is_body = has_body && parameter.original == "body";
        let mut key = parameter.original.clone();
        if !is_first || is_body {
            key = format!("{key} ({location})");
        }
        while !taken.insert(key.clone()) {
            key = format!("{key} ({location})");
        }
        parameter.key = key;
        parameter.python = name.python;
        parameter.typescript = name.typescript;
    }
}
