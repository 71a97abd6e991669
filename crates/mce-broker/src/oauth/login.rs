//! One login of a person: where it is made and by which way, and what is kept of it.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use mce_catalog::function::SecurityScheme;
use mce_config::OAuthSettings;
use rmcp::transport::auth::{AuthorizationManager, AuthorizationMetadata, OAuthClientConfig, StoredCredentials};
use tokio::time::timeout;
use url::Url;

use super::api_places::find_places;
use super::browser::BrowserLogin;
use super::client::Client;
use super::device::DeviceLogin;
use super::discovery::discover;
use super::grant::Grant;
use super::guarded_client::plain;
use super::login_error::LoginError;
use super::session::Session;

/// A server may name many places to ask, each of which may be slow.
const DISCOVERY_TIME: Duration = Duration::from_mins(1);

/// A login that was begun.
#[derive(Debug)]
pub enum Login {
    /// In a browser of this machine, or one whose last URL is pasted.
    Browser(Box<BrowserLogin>),
    /// At any device, by a code.
    Device(Box<DeviceLogin>),
}

/// By which way a person wants to log in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LoginWay {
    /// In a browser where the authorization server has that, else at another device.
    Any,
    /// At another device.
    Device,
}

/// A security scheme of an API's document that a person logs in for, and the scopes that its operations need.
#[derive(Debug, Clone, Copy)]
pub struct LoginScheme<'a> {
    /// Its name.
    pub name: &'a str,
    /// What it says.
    pub scheme: &'a SecurityScheme,
    /// What the operations name; empty: what the scheme declares is asked for.
    pub scopes: &'a [String],
}

/// A login that worked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoggedIn {
    /// The authorization server.
    pub issuer: String,
    /// What was granted; empty if neither side named any.
    pub scopes: Vec<String>,
    /// When the token ends, if that was said.
    pub expires_at: Option<SystemTime>,
    /// Whether it can be renewed without a person.
    pub can_be_renewed: bool,
}

/// Where a login is made.
pub(super) struct Found {
    pub(super) server: String,
    pub(super) metadata: AuthorizationMetadata,
    pub(super) oauth: OAuthSettings,
    /// Those that a document names.
    pub(super) scopes: Vec<String>,
    /// The security scheme of an API.
    pub(super) scheme: Option<String>,
    /// Nobody said who the authorization server is: it is known by its host alone.
    pub(super) is_issuer_assumed: bool,
}

impl Login {
    /// Finds out where to log in, and makes this client known there.
    ///
    /// # Errors
    ///
    /// What is missing or wrong.
    pub(crate) async fn begin(server: &str, session: &Arc<Session>, oauth: &OAuthSettings, way: LoginWay) -> Result<Self, LoginError> {
        let challenge = session.challenge();
        let discovery = discover(server, &session.url, challenge.as_deref(), &session.http);
        let found = timeout(DISCOVERY_TIME, discovery).await;
        let (manager, metadata) = found.unwrap_or_else(|_| Err(too_slow(server)))?;
        let found = Found {
            server: server.to_owned(),
            metadata,
            oauth: oauth.clone(),
            scopes: Vec::new(),
            scheme: None,
            is_issuer_assumed: false,
        };
        Self::begin_at(session, manager, found, way).await
    }

    /// Finds out where to log in at an API for this security scheme.
    ///
    /// # Errors
    ///
    /// What is missing or wrong.
    pub(crate) async fn begin_at_api(
        server: &str,
        session: &Arc<Session>,
        oauth: &OAuthSettings,
        (scheme, way): (LoginScheme<'_>, LoginWay),
    ) -> Result<Self, LoginError> {
        let finding = timeout(DISCOVERY_TIME, find_places(server, session, scheme, (oauth, way))).await;
        let found = finding.unwrap_or_else(|_| Err(too_slow(server)))?;
        let http = Arc::clone(&session.http);
        let manager = AuthorizationManager::new_with_oauth_http_client(session.url.as_str(), http).await;
        let mut manager = manager.map_err(|error| LoginError::Discovery {
            server: server.to_owned(),
            reason: plain(&error.to_string()),
        })?;
        manager.set_metadata(found.metadata.clone());
        Self::begin_at(session, manager, found, way).await
    }

    async fn begin_at(session: &Arc<Session>, manager: AuthorizationManager, found: Found, way: LoginWay) -> Result<Self, LoginError> {
        if way == LoginWay::Device || found.metadata.authorization_endpoint.is_empty() {
            let login = DeviceLogin::begin(session, manager, found).await?;
            return Ok(Self::Device(Box::new(login)));
        }
        let login = BrowserLogin::begin(session, manager, found).await?;
        Ok(Self::Browser(Box::new(login)))
    }
}

fn too_slow(server: &str) -> LoginError {
    LoginError::Discovery {
        server: server.to_owned(),
        reason: format!("that takes longer than {} s", DISCOVERY_TIME.as_secs()),
    }
}

pub(super) fn issuer(metadata: &AuthorizationMetadata) -> String {
    plain(metadata.issuer.as_deref().unwrap_or_default())
}

pub(super) fn query(url: &Url, name: &str) -> Option<String> {
    url.query_pairs().find(|(key, _)| key == name).map(|(_, value)| value.into_owned())
}

/// Takes a pair out of a URL's query.
pub(super) fn without(url: &mut Url, name: &str) {
    let kept: Vec<(String, String)> = url
        .query_pairs()
        .filter(|(key, _)| key != name)
        .map(|(key, value)| (key.into(), value.into()))
        .collect();
    url.query_pairs_mut().clear().extend_pairs(kept);
}

/// Those that are configured; else those that the server names. With them, those that calls needed since the last login,
/// and then also those that it had; else those of the document. (MCP 2025-11-25, Scope Selection Strategy, Step-Up)
pub(super) async fn scopes_for(session: &Session, manager: &AuthorizationManager, found: &Found) -> Vec<String> {
    let mut scopes = session.oauth.scopes.clone();
    if scopes.is_empty() {
        scopes = manager.select_initial_scopes(&[]).await;
    }
    if scopes.is_empty() {
        scopes.clone_from(&found.scopes);
    }
    if let Some(grant) = session
        .grant()
        .filter(|grant| !grant.wanted.is_empty() && grant.metadata.issuer == found.metadata.issuer)
    {
        for scope in grant.scopes().iter().chain(&grant.wanted) {
            if !scopes.contains(scope) {
                scopes.push(scope.clone());
            }
        }
    }
    scopes
}

/// What the tokens are asked for, where that is said: as rmcp found it out, who keeps it to itself and to URLs for browsers.
/// (RFC 8707)
pub(super) async fn resource(session: &Session, manager: &mut AuthorizationManager, client: &Client) -> Option<String> {
    if !session.http.names_resource() {
        return None;
    }
    let config = OAuthClientConfig::new(&client.id, "http://127.0.0.1/");
    let url = match manager.configure_client(config) {
        Ok(()) => manager.get_authorization_url(&[]).await.ok(),
        Err(_) => None,
    };
    let found = url.and_then(|url| query(&url.parse().ok()?, "resource"));
    Some(found.unwrap_or_else(|| session.url.to_string()))
}

/// Writes down what a login gave.
pub(super) async fn keep(
    session: &Session,
    found: &Found,
    client: &Client,
    (resource, credentials): (Option<String>, Option<StoredCredentials>),
) -> Result<LoggedIn, LoginError> {
    let grant = Grant {
        server_url: session.url.to_string(),
        resource: resource.unwrap_or_else(|| session.url.to_string()),
        metadata: found.metadata.clone(),
        client_id: client.id.clone(),
        client_secret: client.secret.clone(),
        credentials,
        wanted: Vec::new(),
        scheme: found.scheme.clone(),
    };
    let write = async || {
        // A process that renews the old login must not write it over the new one.
        let _lock = session.file.lock().await?;
        session.keep(&grant)
    };
    let written: std::io::Result<()> = write().await;
    written.map_err(|error| LoginError::Keep { reason: error.to_string() })?;
    Ok(LoggedIn {
        issuer: issuer(&found.metadata),
        scopes: grant.scopes().to_vec(),
        expires_at: grant.expires_at(),
        can_be_renewed: grant.can_be_renewed(),
    })
}
