//! What proves to an API who calls. One of three places that may open a [`Secret`]; the others send it and cut it out.

#![expect(clippy::disallowed_methods, reason = "credentials are made of secrets here")]

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use mce_catalog::function::{HttpTarget, Location, SecurityScheme};
use mce_config::{Auth, Credential, Secret, ServerSettings};

use crate::base_url::BaseUrl;
use crate::call_error::CallError;
use crate::request::encode;

/// What is added to a request.
#[derive(Debug, Default)]
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
    /// Names of the pairs that every request to this place has in its query.
    pub(crate) fn query_names(&self, base: &BaseUrl) -> Vec<String> {
        let fixed = base.query.iter().flat_map(|query| query.split('&'));
        let pairs = fixed.chain(self.query.iter().map(Secret::expose));
        pairs.filter_map(|pair| pair.split('=').next()).map(str::to_owned).collect()
    }
}

/// The credentials of one call: `auth`, the first alternative of the document's security for which all is there, and
/// `extra_headers`, each stronger than the ones before.
///
/// # Errors
///
/// `Policy` for kinds of `auth` that need a login.
pub(crate) fn credentials_for(
    server: &ServerSettings,
    target: &HttpTarget,
    scheme: impl Fn(&str) -> Option<SecurityScheme>,
) -> Result<Credentials, CallError> {
    let mut credentials = Credentials::default();
    let authorization = authorization(server)?;
    let has_authorization = authorization.is_some();
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
    Ok(credentials)
}

/// The `Authorization` field that `auth` stands for.
fn authorization(server: &ServerSettings) -> Result<Option<Secret>, CallError> {
    let kind = match &server.auth {
        Auth::None => return Ok(None),
        Auth::Static { value } => return Ok(Some(value.clone())),
        Auth::Jwt { token } => return Ok(Some(with_scheme("Bearer", token))),
        Auth::Basic { username, password } => return Ok(Some(basic(username, password))),
        Auth::OAuth2 { .. } => "oauth2",
        Auth::Keycloak { .. } => "keycloak",
        Auth::Session(_) => "session",
    };
    Err(CallError::policy(format!(
        "`{}` uses auth of type `{kind}`, which this version does not support yet",
        server.name
    ))
    .with_hint("types `static`, `jwt` and `basic` work"))
}

/// The fields of every request to a server that has no functions of its own kind: its `auth` and its `extra_headers`.
///
/// # Errors
///
/// `Policy` for types of `auth` that do not work yet.
pub(crate) fn fields_for(server: &ServerSettings) -> Result<Vec<(String, Secret)>, CallError> {
    let own = authorization(server)?.map(|value| ("authorization".to_owned(), value));
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
