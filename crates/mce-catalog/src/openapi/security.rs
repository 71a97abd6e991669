//! Security schemes and requirements.

use std::collections::BTreeMap;

use super::document::{Reader, Version};
use super::operation::is_token;
use super::parameter::Declared;
use super::prose;
use super::reference::Node;
use crate::function::{Location, OAuthPlaces, SecurityScheme};

/// Alternatives that are kept of one operation.
const MAX_ALTERNATIVES: usize = 50;
/// Schemes of one alternative.
const MAX_TOGETHER: usize = 20;
/// Bytes of a URL, scopes of a scheme, and bytes of one.
const MAX_PLACE_BYTES: usize = 2000;
const MAX_SCOPES: usize = 100;
const MAX_SCOPE_BYTES: usize = 200;
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

    /// The alternatives of an operation, its own, else the document's, and the scopes that it needs of their schemes. Where
    /// alternatives differ in scopes only, the first counts.
    pub(super) fn security(&mut self, operation: &Node<'a>) -> (Vec<Vec<String>>, BTreeMap<String, Vec<String>>) {
        let top = Node::top(self.main);
        let Some(security) = operation
            .get("security")
            .filter(|it| it.value.is_array())
            .or_else(|| top.get("security"))
        else {
            return (Vec::new(), BTreeMap::new());
        };
        let mut alternatives: Vec<Vec<String>> = Vec::new();
        let mut scopes = BTreeMap::new();
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
            for (name, needed) in requirement.members().take(MAX_TOGETHER) {
                let needed = fit_scopes(needed.items().filter_map(|scope| scope.value.as_str().map(str::to_owned)).collect());
                if !needed.is_empty() {
                    scopes.entry(name.to_owned()).or_insert(needed);
                }
            }
        }
        (alternatives, scopes)
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
            Some(SecurityScheme::Bearer | SecurityScheme::OAuth2(_) | SecurityScheme::OpenIdConnect(_)) => {
                matches!(location, Location::Header | Location::Query)
                    && TOKEN_NAMES.iter().any(|name| name.eq_ignore_ascii_case(original))
                    && declared.description().to_ascii_lowercase().contains("authentication token")
            }
            Some(
                SecurityScheme::Basic
                | SecurityScheme::Digest
                | SecurityScheme::Http(_)
                | SecurityScheme::MutualTls
                | SecurityScheme::Other(_),
            )
            | None => false,
        })
    }
}

fn scheme(node: &Node<'_>) -> SecurityScheme {
    let kind = node.text("type").unwrap_or_default();
    match kind.to_ascii_lowercase().as_str() {
        "apikey" => api_key(node).unwrap_or_else(|| SecurityScheme::Other("apiKey".to_owned())),
        "basic" => SecurityScheme::Basic,
        "oauth2" => oauth(node),
        "openidconnect" => SecurityScheme::OpenIdConnect(place(node, "openIdConnectUrl").unwrap_or_default()),
        "mutualtls" => SecurityScheme::MutualTls,
        "http" => http(node.text("scheme").unwrap_or_default()),
        _ => SecurityScheme::Other(prose::line(kind, 80)),
    }
}

/// A URL of a document, if it is of a sensible length.
fn place(node: &Node<'_>, name: &str) -> Option<String> {
    let text = node.text(name)?;
    (!text.is_empty() && text.len() <= MAX_PLACE_BYTES).then(|| text.to_owned())
}

/// A scheme without flows says where its authorization server publishes them. (OpenAPI 3.2, Security Scheme Object)
fn oauth(node: &Node<'_>) -> SecurityScheme {
    let places = oauth_places(node);
    let has_flow = places.client.is_some() || places.code.is_some() || places.device.is_some();
    match place(node, "oauth2MetadataUrl").filter(|_| !has_flow) {
        Some(url) => SecurityScheme::OpenIdConnect(url),
        None => SecurityScheme::OAuth2(places),
    }
}

/// The flows of an `oauth2` scheme; in Swagger 2 it has one, named by `flow`. (OpenAPI 3.2, OAuth Flows Object)
fn oauth_places(node: &Node<'_>) -> OAuthPlaces {
    let swagger_flow = node.text("flow").unwrap_or_default();
    let flow = |name: &str, swagger_name: &str| match node.get("flows") {
        Some(flows) => flows.get(name),
        None => (swagger_flow == swagger_name).then(|| node.clone()),
    };
    let pair = |flow: &Option<Node<'_>>, first: &str| {
        let flow = flow.as_ref()?;
        Some((place(flow, first)?, place(flow, "tokenUrl")?))
    };
    let (code, device) = (flow("authorizationCode", "accessCode"), flow("deviceAuthorization", "-"));
    let scopes = code.iter().chain(&device).filter_map(|flow| flow.get("scopes"));
    let scopes = scopes.flat_map(|scopes| scopes.members().map(|(name, _)| name.to_owned()).collect::<Vec<_>>());
    OAuthPlaces {
        client: flow("clientCredentials", "application").and_then(|flow| place(&flow, "tokenUrl")),
        code: pair(&code, "authorizationUrl"),
        device: pair(&device, "deviceAuthorizationUrl"),
        scopes: fit_scopes(scopes.collect()),
    }
}

/// Those that can be asked for, sorted. (RFC 6749, section 3.3)
fn fit_scopes(mut scopes: Vec<String>) -> Vec<String> {
    scopes.retain(|scope| scope.len() <= MAX_SCOPE_BYTES && !scope.is_empty() && scope.bytes().all(|byte| byte.is_ascii_graphic()));
    scopes.sort();
    scopes.dedup();
    scopes.truncate(MAX_SCOPES);
    scopes
}

/// Schemes that answer a challenge need more than a secret. (IANA, HTTP Authentication Scheme Registry)
const CHALLENGED: [&str; 5] = ["hoba", "mutual", "negotiate", "scram-sha-1", "scram-sha-256"];

fn http(name: &str) -> SecurityScheme {
    match name.to_ascii_lowercase().as_str() {
        "basic" => SecurityScheme::Basic,
        "bearer" => SecurityScheme::Bearer,
        "digest" => SecurityScheme::Digest,
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
