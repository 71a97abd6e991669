//! Security schemes and requirements.

use std::collections::BTreeMap;

use super::document::{Reader, Version};
use super::operation::is_token;
use super::parameter::Declared;
use super::prose;
use super::reference::Node;
use crate::function::{Location, SecurityScheme};

/// Alternatives that are kept of one operation.
const MAX_ALTERNATIVES: usize = 50;
/// Schemes of one alternative.
const MAX_TOGETHER: usize = 20;
/// Names of parameters that repeat a bearer token.
const TOKEN_NAMES: [&str; 2] = ["token", "access_token"];

impl<'a> Reader<'a> {
    /// The schemes of the document, by key.
    pub(super) fn read_security_schemes(&mut self, top: &Node<'a>) -> BTreeMap<String, SecurityScheme> {
        let section = match self.version {
            Version::Swagger2 => top.get("securityDefinitions"),
            _ => top.get("components").and_then(|components| components.get("securitySchemes")),
        };
        let mut schemes = BTreeMap::new();
        for (key, node) in section.iter().flat_map(|section| section.members().collect::<Vec<_>>()) {
            match self.references.follow(node.clone()) {
                Ok(followed) => {
                    schemes.insert(key.to_owned(), scheme(&followed.node));
                }
                Err(reason) => self.problem(&node, &format!("{reason}; this security scheme is left out")),
            }
        }
        schemes
    }

    /// The alternatives of an operation: its own, else the document's.
    pub(super) fn security(&mut self, operation: &Node<'a>) -> Vec<Vec<String>> {
        let top = Node::top(self.main);
        let Some(security) = operation
            .get("security")
            .filter(|it| it.value.is_array())
            .or_else(|| top.get("security"))
        else {
            return Vec::new();
        };
        let mut alternatives: Vec<Vec<String>> = Vec::new();
        for requirement in security.items().take(MAX_ALTERNATIVES) {
            let names: Vec<String> = requirement.members().map(|(name, _)| name.to_owned()).take(MAX_TOGETHER).collect();
            for name in names
                .iter()
                .filter(|name| !self.security_schemes.contains_key(*name))
                .cloned()
                .collect::<Vec<_>>()
            {
                let name = prose::quote(&name);
                self.problem(&requirement, &format!("the security scheme `{name}` is not defined"));
            }
            if requirement.object().is_some() && !alternatives.contains(&names) {
                alternatives.push(names);
            }
        }
        alternatives
    }

    /// Whether the broker itself fills in this parameter for one of the alternatives.
    ///
    /// Some documents declare the bearer token of their scheme as a parameter as well (Slack's `token`); a model must
    /// not be asked for it.
    pub(super) fn is_credential(&self, security: &[Vec<String>], location: Location, declared: &Declared<'_>) -> bool {
        let original = declared.name;
        let same = |name: &str| name == original || (location == Location::Header && name.eq_ignore_ascii_case(original));
        security.iter().flatten().any(|scheme| match self.security_schemes.get(scheme) {
            Some(SecurityScheme::ApiKey { location: place, name }) => *place == location && same(name),
            Some(SecurityScheme::Bearer) => {
                matches!(location, Location::Header | Location::Query)
                    && TOKEN_NAMES.iter().any(|name| name.eq_ignore_ascii_case(original))
                    && declared.description().to_ascii_lowercase().contains("authentication token")
            }
            Some(SecurityScheme::Basic | SecurityScheme::Http(_) | SecurityScheme::Other(_)) | None => false,
        })
    }
}

fn scheme(node: &Node<'_>) -> SecurityScheme {
    let kind = node.text("type").unwrap_or_default();
    match kind.to_ascii_lowercase().as_str() {
        "apikey" => api_key(node).unwrap_or_else(|| SecurityScheme::Other("apiKey".to_owned())),
        "basic" => SecurityScheme::Basic,
        "oauth2" | "openidconnect" => SecurityScheme::Bearer,
        "http" => http(node.text("scheme").unwrap_or_default()),
        _ => SecurityScheme::Other(prose::line(kind, 80)),
    }
}

/// Schemes that answer a challenge need more than a secret. (IANA, HTTP Authentication Scheme Registry)
const CHALLENGED: [&str; 6] = ["digest", "hoba", "mutual", "negotiate", "scram-sha-1", "scram-sha-256"];

fn http(name: &str) -> SecurityScheme {
    match name.to_ascii_lowercase().as_str() {
        "basic" => SecurityScheme::Basic,
        "bearer" => SecurityScheme::Bearer,
        other if is_token(name) && !CHALLENGED.contains(&other) => SecurityScheme::Http(prose::line(name, 80)),
        other => SecurityScheme::Other(prose::line(other, 80)),
    }
}

fn api_key(node: &Node<'_>) -> Option<SecurityScheme> {
    let name = node.text("name").filter(|name| !name.is_empty())?;
    let location = match node.text("in")? {
        "query" => Location::Query,
        "header" if is_token(name) => Location::Header,
        "cookie" if is_token(name) => Location::Cookie,
        _ => return None,
    };
    Some(SecurityScheme::ApiKey {
        location,
        name: name.to_owned(),
    })
}
