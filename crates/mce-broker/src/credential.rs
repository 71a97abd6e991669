//! What proves to an API who calls. One of three places that may open a [`Secret`]; the others send it and cut it out.

#![expect(clippy::disallowed_methods, reason = "credentials are made of secrets here")]

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use mce_catalog::function::{HttpTarget, Location, SecurityScheme};
use mce_config::{Auth, Credential, Secret, ServerSettings};

use crate::api_login::{self, Granted};
use crate::base_url::BaseUrl;
use crate::call_error::CallError;
use crate::request::encode;

/// What is added to a request.
#[derive(Debug, Clone, Default)]
pub(crate) struct Credentials {
    /// Fields; the last of equal names wins.
    pub(crate) headers: Vec<(String, Secret)>,
    /// Encoded pairs.
    pub(crate) query: Vec<Secret>,
    /// Encoded pairs.
    pub(crate) cookies: Vec<Secret>,
    /// Security schemes that the document asks for and for which nothing is configured.
    pub(crate) missing: Vec<String>,
}

impl Credentials {
    /// These, and what a login gave. What the document and the settings say besides is stronger.
    pub(crate) fn with_login(&self, granted: &Granted) -> Self {
        let mut all = self.clone();
        match granted {
            Granted::Authorization(value) => all.headers.insert(0, ("authorization".to_owned(), value.clone())),
            Granted::Cookies(pairs) => all.cookies.extend(pairs.iter().cloned()),
        }
        all
    }

    /// Names of the pairs that every request to this place has in its query.
    pub(crate) fn query_names(&self, base: &BaseUrl) -> Vec<String> {
        let fixed = base.query.iter().flat_map(|query| query.split('&'));
        let pairs = fixed.chain(self.query.iter().map(Secret::expose));
        pairs.filter_map(|pair| pair.split('=').next()).map(str::to_owned).collect()
    }
}

/// The credentials of one call: `auth`, the first alternative of the document's security for which all is there, and
/// `extra_headers`, each stronger than the ones before.
/// What `auth` needs a login for comes later.
pub(crate) fn credentials_for(
    server: &ServerSettings,
    target: &HttpTarget,
    scheme: impl Fn(&str) -> Option<SecurityScheme>,
) -> Credentials {
    let mut credentials = Credentials::default();
    let authorization = authorization(server);
    let has_authorization = authorization.is_some() || api_login::is_needed(&server.auth);
    credentials
        .headers
        .extend(authorization.map(|value| ("authorization".to_owned(), value)));

    let is_had = |name: &String| match (server.credentials.get(name), scheme(name)) {
        (Some(_), Some(scheme)) => !matches!(scheme, SecurityScheme::Other(_)),
        // `auth` fills the one field that these schemes use.
        (None, Some(SecurityScheme::Basic | SecurityScheme::Bearer | SecurityScheme::Http(_))) => has_authorization,
        (
            None,
            Some(SecurityScheme::ApiKey {
                location: Location::Header,
                name,
            }),
        ) => name.eq_ignore_ascii_case("authorization") && has_authorization || has_extra(server, &name),
        _ => false,
    };
    let chosen = target
        .security
        .iter()
        .find(|alternative| !alternative.is_empty() && alternative.iter().all(is_had));
    for name in chosen.into_iter().flatten() {
        if let (Some(credential), Some(scheme)) = (server.credentials.get(name), scheme(name)) {
            add(&mut credentials, credential, &scheme);
        }
    }
    if chosen.is_none() && !target.security.iter().any(Vec::is_empty) {
        credentials.missing = target.security.first().cloned().unwrap_or_default();
    }
    credentials.headers.extend(server.extra_headers.iter().cloned());
    credentials
}

/// The `Authorization` field that `auth` stands for, if it needs no login.
fn authorization(server: &ServerSettings) -> Option<Secret> {
    match &server.auth {
        Auth::Static { value } => Some(value.clone()),
        Auth::Jwt { token } => Some(with_scheme("Bearer", token)),
        Auth::Basic { username, password } => Some(basic(username, password)),
        Auth::None | Auth::OAuth2 { .. } | Auth::Keycloak { .. } | Auth::Session(_) => None,
    }
}

/// The fields of every request to a server that has no functions of its own kind: its `auth` and its `extra_headers`.
///
/// # Errors
///
/// `Policy` for types of `auth` that are for APIs only.
pub(crate) fn fields_for(server: &ServerSettings) -> Result<Vec<(String, Secret)>, CallError> {
    if api_login::is_needed(&server.auth) {
        let told = format!(
            "`auth` of type `{}` is for APIs, and `{}` is an MCP server",
            server.auth.type_name(),
            server.name
        );
        return Err(CallError::policy(told).with_hint("types `static`, `jwt` and `basic` work, and `mce auth login`"));
    }
    let own = authorization(server).map(|value| ("authorization".to_owned(), value));
    Ok(own.into_iter().chain(server.extra_headers.iter().cloned()).collect())
}

/// Whether something is configured that says who calls.
pub(crate) fn has_credential(server: &ServerSettings) -> bool {
    server.auth != Auth::None || has_extra(server, "authorization")
}

fn add(credentials: &mut Credentials, credential: &Credential, scheme: &SecurityScheme) {
    let token = match credential {
        Credential::Token(token) => token.clone(),
        Credential::Basic { username, password } => Secret::new(format!("{username}:{}", password.expose())),
    };
    match scheme {
        SecurityScheme::ApiKey {
            location: Location::Header,
            name,
        } => credentials.headers.push((name.clone(), token)),
        SecurityScheme::ApiKey {
            location: Location::Cookie,
            name,
        } => credentials.cookies.push(pair(name, &token)),
        SecurityScheme::ApiKey {
            location: Location::Query | Location::Querystring | Location::Path | Location::Argument,
            name,
        } => {
            credentials.query.push(pair(name, &token));
        }
        SecurityScheme::Bearer => credentials
            .headers
            .push(("authorization".to_owned(), with_scheme("Bearer", &token))),
        SecurityScheme::Http(name) => credentials.headers.push(("authorization".to_owned(), with_scheme(name, &token))),
        SecurityScheme::Basic => {
            let value = match credential {
                Credential::Basic { username, password } => basic(username, password),
                Credential::Token(token) => Secret::new(format!("Basic {}", STANDARD.encode(token.expose()))),
            };
            credentials.headers.push(("authorization".to_owned(), value));
        }
        SecurityScheme::Other(_) => {}
    }
}

fn has_extra(server: &ServerSettings, name: &str) -> bool {
    server.extra_headers.iter().any(|(known, _)| known.eq_ignore_ascii_case(name))
}

fn pair(name: &str, token: &Secret) -> Secret {
    Secret::new(format!("{}={}", encode(name), encode(token.expose())))
}

/// The scheme's name and the secret, which may begin with that name already. (RFC 9110, section 11.4)
fn with_scheme(name: &str, token: &Secret) -> Secret {
    let text = token.expose();
    let start = text.get(..name.len()).unwrap_or_default();
    if start.eq_ignore_ascii_case(name) && text.get(start.len()..).is_some_and(|rest| rest.starts_with(' ')) {
        token.clone()
    } else {
        Secret::new(format!("{name} {text}"))
    }
}

/// RFC 7617, section 2.
fn basic(username: &str, password: &Secret) -> Secret {
    Secret::new(format!("Basic {}", STANDARD.encode(format!("{username}:{}", password.expose()))))
}
