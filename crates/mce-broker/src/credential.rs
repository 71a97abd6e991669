//! What proves to an API who calls. One of three places that may open a [`Secret`]; the others send it and cut it out.

#![expect(clippy::disallowed_methods, reason = "credentials are made of secrets here")]

use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use mce_catalog::function::{Function, HttpTarget, Location, SecurityScheme};
use mce_config::{Auth, Credential, Secret, ServerSettings, TokenPlace, is_secret_header};
use percent_encoding::percent_decode_str;
use url::Url;

use crate::allowed_hosts::AllowedHosts;
use crate::api_login::{self, ClientLogin, Granted, NeededLogin, TokenAt};
use crate::base_url::BaseUrl;
use crate::call_error::CallError;
use crate::digest::DigestUser;
use crate::oauth::Session;
use crate::request::{RequestParts, encode};
use crate::scopes::Needed;

/// What is added to a request.
#[derive(Debug, Clone, Default)]
pub(crate) struct Credentials {
    /// Fields; the last of equal names wins.
    pub(crate) headers: Vec<(String, Secret)>,
    /// Encoded pairs.
    pub(crate) query: Vec<Secret>,
    /// Encoded pairs.
    pub(crate) cookies: Vec<Secret>,
    /// Who proves by digest that they know a password.
    pub(crate) digest: Option<DigestUser>,
    /// Logins that give more.
    pub(crate) logins: Vec<NeededLogin>,
    /// The scopes that the operation needs.
    pub(crate) needed: Option<Needed>,
    /// The path below which they may be sent; empty for all of the host.
    pub(crate) base_path: String,
    /// What to do if the API refuses the call: the document asks for something that is not configured.
    pub(crate) advice: Option<String>,
}

impl Credentials {
    /// None, for a place that a document alone names.
    pub(crate) fn withheld(server: &ServerSettings) -> Self {
        let fields = server.extra_headers.iter().filter(|(name, value)| !is_secret_header(name, value));
        Self {
            headers: fields.cloned().collect(),
            advice: Some(format!(
                "the document puts this function at another host than its first server, where no credentials go: add that host to \
                 `MCE_ALLOWED_DOMAINS`, or set `servers.{}.base_url`",
                server.name
            )),
            ..Self::default()
        }
    }

    /// Whether a request with these may go to this path of the same host.
    pub(crate) fn may_go_to(&self, path: &str) -> bool {
        let has_none = self.headers.is_empty() && self.query.is_empty() && self.cookies.is_empty() && self.digest.is_none();
        let below = path.strip_prefix(self.base_path.as_str());
        // Some servers read these as separators.
        let leads_up = |rest: &str| {
            let decoded = percent_decode_str(rest).decode_utf8_lossy();
            decoded.split(['/', '\\', ';']).any(|segment| segment == "..")
        };
        has_none || below.is_some_and(|rest| (rest.is_empty() || rest.starts_with('/')) && !leads_up(rest))
    }

    /// Takes out of a request what declared parameters would put beside a credential of the same name.
    ///
    /// # Errors
    ///
    /// `Argument` if an argument adds a pair of that name which no parameter declares.
    pub(crate) fn stand_alone_in(&self, parts: &mut RequestParts, function: &Function, base: &BaseUrl) -> Result<(), CallError> {
        let cookies = self.headers.iter().filter(|(name, _)| name.eq_ignore_ascii_case("cookie"));
        let cookies = cookies.flat_map(|(_, value)| value.expose().split(';'));
        let cookies: Vec<String> = cookies.chain(self.cookies.iter().map(Secret::expose)).map(name_of).collect();
        let query: Vec<String> = self.query_names(base).iter().map(|name| name_of(name)).collect();
        let places = [
            (&mut parts.query, query, Location::Query),
            (&mut parts.cookies, cookies, Location::Cookie),
        ];
        for (pairs, own, location) in places {
            let is_own = |pair: &String| pair.split(';').any(|pair| own.contains(&name_of(pair)));
            let declares = |name: &str| {
                let mut declared = function.parameters.iter().filter(|parameter| parameter.location == location);
                declared.any(|parameter| parameter.original.eq_ignore_ascii_case(name))
            };
            if let Some(pair) = pairs.iter().find(|pair| is_own(pair) && !declares(&name_of(pair))) {
                let name: String = name_of(pair).chars().take(100).collect();
                let message = format!("an argument adds `{name}`, which is the name of the credential that is sent with every call");
                return Err(CallError::argument(message).with_hint("leave it out: the credential is added by itself"));
            }
            pairs.retain(|pair| !is_own(pair));
        }
        Ok(())
    }

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

/// Whether no credential goes to the place of a function: only the document names it, at another host than its first server, and
/// the list of allowed hosts does not.
pub(crate) fn is_withheld(server: &ServerSettings, target: &HttpTarget, allowed: &AllowedHosts) -> bool {
    let is_listed = |url: &Url| url.host().is_some_and(|host| allowed.contains(&host, url.port_or_known_default()));
    let place = target
        .base_url
        .as_deref()
        .filter(|_| target.is_elsewhere && server.base_url.is_none());
    place.and_then(|url| Url::parse(url).ok()).is_some_and(|url| !is_listed(&url))
}

/// The name of a pair, decoded and in lower case: servers differ in whether case matters.
fn name_of(pair: &str) -> String {
    let name = pair.split('=').next().unwrap_or_default().trim();
    percent_decode_str(name).decode_utf8_lossy().to_lowercase()
}

/// The credentials of one call: `auth`, the first alternative of the document's security for which all is there, and
/// `extra_headers`, each stronger than the ones before.
/// What needs a login for comes later; `person` is the scheme that a person has logged in for.
///
/// # Errors
///
/// `Policy` if a secret would go where only the document says.
pub(crate) fn credentials_for(
    server: &ServerSettings,
    target: &HttpTarget,
    scheme: impl Fn(&str) -> Option<SecurityScheme>,
    person: Option<&(String, &Arc<Session>)>,
) -> Result<Credentials, CallError> {
    let mut credentials = Credentials::default();
    let authorization = authorization(server);
    credentials
        .headers
        .extend(authorization.map(|value| ("authorization".to_owned(), value)));
    if api_login::is_needed(&server.auth) {
        credentials.logins.push(NeededLogin::Auth);
    }
    let is_logged_in = |name: &String| person.is_some_and(|(scheme, _)| scheme == name);
    let is_had = |name: &String| is_logged_in(name) || scheme(name).is_some_and(|scheme| is_had(server, name, &scheme));
    let chosen = target
        .security
        .iter()
        .find(|alternative| !alternative.is_empty() && alternative.iter().all(is_had));
    for name in chosen.into_iter().flatten() {
        let session = person.filter(|(scheme, _)| scheme == name).map(|(_, session)| *session);
        let needed = scheme(name).and_then(|scheme| Needed::of(server, (name, &scheme), target, session));
        credentials.needed = credentials.needed.take().or(needed);
        if let (Some(credential), Some(scheme)) = (server.credentials.get(name), scheme(name)) {
            add(&mut credentials, (server, name), credential, &scheme)?;
        } else if let Some(session) = session {
            credentials.logins.push(NeededLogin::Person(Arc::clone(session)));
        }
    }
    if chosen.is_none() && !target.security.iter().any(Vec::is_empty) {
        let missing = target.security.first().into_iter().flatten().find(|name| !is_had(name));
        credentials.advice = missing.map(|name| advice(&server.name, name, scheme(name).as_ref()));
    }
    credentials.headers.extend(server.extra_headers.iter().cloned());
    Ok(credentials)
}

/// Whether what a scheme asks for is configured.
fn is_had(server: &ServerSettings, name: &str, scheme: &SecurityScheme) -> bool {
    let has_authorization = has_credential(server);
    match (server.credentials.get(name), scheme) {
        (_, SecurityScheme::MutualTls) => server.connection.client_cert.is_some(),
        (_, SecurityScheme::Other(_)) => false,
        (Some(Credential::Client { .. }), SecurityScheme::OAuth2(_) | SecurityScheme::OpenIdConnect(_)) => true,
        (Some(Credential::Client { .. }), _) => false,
        (Some(Credential::Basic { .. }), SecurityScheme::Digest) => true,
        (Some(Credential::Token(_)), SecurityScheme::Digest) => false,
        (Some(Credential::Token(_) | Credential::Basic { .. }), _) => true,
        (
            None,
            SecurityScheme::ApiKey {
                location: Location::Header,
                name,
            },
        ) => name.eq_ignore_ascii_case("authorization") && has_authorization || has_extra(server, name),
        (None, SecurityScheme::ApiKey { .. }) => false,
        // `auth` fills the one field that these schemes use.
        (
            None,
            SecurityScheme::Basic
            | SecurityScheme::Bearer
            | SecurityScheme::Digest
            | SecurityScheme::Http(_)
            | SecurityScheme::OAuth2(_)
            | SecurityScheme::OpenIdConnect(_),
        ) => has_authorization,
    }
}

/// What to configure for a scheme.
fn advice(server: &str, name: &str, scheme: Option<&SecurityScheme>) -> String {
    let key = format!("servers.{server}.credentials.{name}");
    let what = match scheme {
        Some(SecurityScheme::ApiKey { .. } | SecurityScheme::Bearer | SecurityScheme::Http(_)) => format!("set `{key}` to the secret"),
        Some(SecurityScheme::Basic | SecurityScheme::Digest) => format!("set `{key}` to a mapping with `username` and `password`"),
        Some(SecurityScheme::OAuth2(_) | SecurityScheme::OpenIdConnect(_)) => {
            format!("run `mce auth login {server}`, or set `{key}` to a token, or to a mapping with `client_id` and `client_secret`")
        }
        Some(SecurityScheme::MutualTls) => format!("set `client_cert` and `client_key` in `servers.{server}.tls`"),
        Some(SecurityScheme::Other(_)) | None => format!("it cannot be filled in; set `servers.{server}.extra_headers`"),
    };
    format!("nothing is configured for security scheme `{name}`: {what}, or set `servers.{server}.auth`")
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

fn add(
    credentials: &mut Credentials,
    (server, key): (&ServerSettings, &str),
    credential: &Credential,
    scheme: &SecurityScheme,
) -> Result<(), CallError> {
    let token = match credential {
        Credential::Token(token) => token.clone(),
        Credential::Basic { username, password } => Secret::new(format!("{username}:{}", password.expose())),
        Credential::Client {
            client_id,
            client_secret,
            place,
            scope,
        } => {
            let login = ClientLogin {
                at: token_place(server, key, place.as_ref(), scheme)?,
                client_id: client_id.clone(),
                client_secret: client_secret.clone(),
                scope: scope.clone(),
            };
            credentials.logins.push(NeededLogin::Client(key.to_owned(), login));
            return Ok(());
        }
    };
    let mut authorize = |value| credentials.headers.push(("authorization".to_owned(), value));
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
        SecurityScheme::Bearer | SecurityScheme::OAuth2(_) | SecurityScheme::OpenIdConnect(_) => authorize(with_scheme("Bearer", &token)),
        SecurityScheme::Http(name) => authorize(with_scheme(name, &token)),
        SecurityScheme::Basic => authorize(match credential {
            Credential::Basic { username, password } => basic(username, password),
            Credential::Token(_) | Credential::Client { .. } => Secret::new(format!("Basic {}", STANDARD.encode(token.expose()))),
        }),
        SecurityScheme::Digest => {
            if let Credential::Basic { username, password } = credential {
                credentials.digest = Some(DigestUser {
                    username: username.clone(),
                    password: password.clone(),
                });
            }
        }
        SecurityScheme::MutualTls | SecurityScheme::Other(_) => {}
    }
    Ok(())
}

/// Where a client's secret is sent: where the person says, or where the document says on the host that the person configured.
/// A document that names another host must not get it.
fn token_place(server: &ServerSettings, key: &str, configured: Option<&TokenPlace>, scheme: &SecurityScheme) -> Result<TokenAt, CallError> {
    if let Some(place) = configured {
        return Ok(TokenAt::of(place));
    }
    let setting = format!("servers.{}.credentials.{key}.token_url", server.name);
    let written = match scheme {
        SecurityScheme::OAuth2(places) => places.client.as_deref(),
        SecurityScheme::OpenIdConnect(url) => Some(url.as_str()),
        _ => None,
    };
    let refuse = |told: &str| {
        let hint = match scheme {
            SecurityScheme::OpenIdConnect(_) => format!("set `{setting}`, or `issuer` there"),
            _ => format!("set `{setting}`"),
        };
        CallError::policy(format!("the document of `{}` {told}", server.name)).with_hint(hint)
    };
    let Some(written) = written else {
        return Err(refuse("does not say where clients get tokens"));
    };
    let base = server.base_url.as_deref().and_then(|base| Url::parse(base).ok());
    let url = match &base {
        Some(base) => base.join(written),
        None => Url::parse(written),
    };
    let url = url.map_err(|_| refuse("says where clients get tokens, but not by a URL"))?;
    let is_same = |base: &Url| {
        base.scheme() == url.scheme() && base.host() == url.host() && base.port_or_known_default() == url.port_or_known_default()
    };
    if base.as_ref().is_some_and(is_same) {
        return Ok(match scheme {
            // What is published there may name no other place either.
            SecurityScheme::OpenIdConnect(_) => TokenAt::Provider {
                url: Box::new(url),
                is_trusted: false,
            },
            _ => TokenAt::Url(url.into()),
        });
    }
    Err(
        refuse("names another host than that of `base_url` as the place of a client's secret; whether it is right is a person's to say")
            .with_internal(format!("`{written}` is not at the configured base URL")),
    )
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
