//! One login of a person: the URL for the browser, its answer, and the tokens for it.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use mce_catalog::function::SecurityScheme;
use mce_config::OAuthSettings;
use rmcp::transport::auth::{
    AuthorizationManager, AuthorizationMetadata, AuthorizationRequest, AuthorizationSession, CredentialStore as _, InMemoryCredentialStore,
};
use tokio::time::timeout;
use url::Url;

use super::api_places::find_places;
use super::callback::CallbackListener;
use super::discovery::discover;
use super::grant::Grant;
use super::guarded_client::plain;
use super::login_error::{LoginError, exchange};
use super::session::Session;

/// The name that people see where they are asked whether they agree.
const CLIENT_NAME: &str = "mce";
/// A person may have to look for a password.
const PERSON_TIME: Duration = Duration::from_mins(10);
/// A server may name many places to ask, each of which may be slow.
const DISCOVERY_TIME: Duration = Duration::from_mins(1);

/// A login that was begun. Dropping it ends it.
pub struct Login {
    session: Arc<Session>,
    flow: AuthorizationSession,
    store: InMemoryCredentialStore,
    listener: CallbackListener,
    client: Client,
    metadata: AuthorizationMetadata,
    /// The security scheme of an API.
    scheme: Option<String>,
    is_issuer_assumed: bool,
    url: Url,
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

/// What this client is called at an authorization server.
struct Client {
    id: String,
    secret: Option<String>,
}

impl Login {
    /// Finds out where to log in, and makes this client known there.
    ///
    /// # Errors
    ///
    /// What is missing or wrong.
    pub(crate) async fn begin(server: &str, session: &Arc<Session>, oauth: &OAuthSettings) -> Result<Self, LoginError> {
        let challenge = session.challenge();
        let discovery = discover(server, &session.url, challenge.as_deref(), &session.http);
        let found = timeout(DISCOVERY_TIME, discovery).await;
        let (manager, metadata) = found.unwrap_or_else(|_| {
            Err(LoginError::Discovery {
                server: server.to_owned(),
                reason: format!("that takes longer than {} s", DISCOVERY_TIME.as_secs()),
            })
        })?;
        Self::begin_at(session, oauth, manager, metadata, Vec::new()).await
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
        (name, scheme): (&str, &SecurityScheme),
    ) -> Result<Self, LoginError> {
        let failed = |reason: String| LoginError::Discovery {
            server: server.to_owned(),
            reason,
        };
        let finding = timeout(DISCOVERY_TIME, find_places(server, session, scheme, oauth)).await;
        let places = finding.map_err(|_| failed(format!("that takes longer than {} s", DISCOVERY_TIME.as_secs())))??;
        let http = Arc::clone(&session.http);
        let manager = AuthorizationManager::new_with_oauth_http_client(session.url.as_str(), http).await;
        let mut manager = manager.map_err(|error| failed(plain(&error.to_string())))?;
        manager.set_metadata(places.metadata.clone());
        let mut login = Self::begin_at(session, oauth, manager, places.metadata, places.scopes).await?;
        login.scheme = Some(name.to_owned());
        login.is_issuer_assumed = places.is_issuer_assumed;
        Ok(login)
    }

    async fn begin_at(
        session: &Arc<Session>,
        oauth: &OAuthSettings,
        mut manager: AuthorizationManager,
        metadata: AuthorizationMetadata,
        named_scopes: Vec<String>,
    ) -> Result<Self, LoginError> {
        let configured = oauth.redirect_uri.as_deref();
        let listener = CallbackListener::open(configured).await.map_err(|error| LoginError::Listen {
            uri: configured.unwrap_or("127.0.0.1").to_owned(),
            reason: error.to_string(),
        })?;
        let mut scopes = scopes(session, &manager, &metadata).await;
        if scopes.is_empty() {
            scopes = named_scopes;
        }
        let failed = |reason: String| LoginError::Registration {
            issuer: issuer(&metadata),
            reason,
        };
        let redirect_uri = listener.uri().as_str().to_owned();
        let client = client(oauth, &mut manager, (&redirect_uri, &scopes, &metadata)).await;
        let client = client.map_err(|reason| failed(session.http.trouble().map_or(reason, |trouble| trouble.words)))?;
        let store = InMemoryCredentialStore::new();
        manager.set_credential_store(store.clone());
        let mut request = AuthorizationRequest::new(redirect_uri).with_preregistered_client(&client.id);
        if let Some(secret) = &client.secret {
            request = request.with_client_secret(secret);
        }
        // With none, none is asked for: those of the authorization server are of other resources, too.
        request = if scopes.is_empty() {
            request.with_initial_scope_selection()
        } else {
            request.with_scopes(scopes)
        };
        let flow = AuthorizationSession::new(manager, request).await;
        let flow = flow.map_err(|(_, error)| failed(plain(&error.to_string())))?;
        let mut url: Url = flow
            .auth_url
            .parse()
            .map_err(|_| failed("it has no URL for a browser".to_owned()))?;
        if !session.http.names_resource() {
            without(&mut url, "resource");
        }
        Ok(Self {
            session: Arc::clone(session),
            flow,
            store,
            listener,
            client,
            metadata,
            scheme: None,
            is_issuer_assumed: false,
            url,
        })
    }

    /// Where the person logs in.
    pub const fn url(&self) -> &Url {
        &self.url
    }

    /// The authorization server.
    pub fn issuer(&self) -> String {
        issuer(&self.metadata)
    }

    /// Waits for the browser to come back: the URL that it was sent to. May be dropped and called again.
    ///
    /// # Errors
    ///
    /// [`LoginError::NotInTime`] after ten minutes.
    pub async fn answer(&mut self) -> Result<String, LoginError> {
        let waiting = async {
            loop {
                match self.listener.next().await {
                    // Others may call this port, too.
                    Some(url) if query(&url, "state") == query(&self.url, "state") => return Some(url.to_string()),
                    Some(_) => {}
                    None => return None,
                }
            }
        };
        let answer = timeout(PERSON_TIME, waiting).await.ok().flatten();
        answer.ok_or(LoginError::NotInTime {
            minutes: PERSON_TIME.as_secs() / 60,
        })
    }

    /// Takes the URL at which the browser ended, gets the tokens for it, and keeps them.
    ///
    /// # Errors
    ///
    /// [`LoginError::NoAnswer`] if it is no answer to this login, which may be tried again then; else what went wrong.
    pub async fn finish(&self, answer: &str) -> Result<LoggedIn, LoginError> {
        let mut answer: Url = answer.trim().parse().map_err(|_| LoginError::NoAnswer { why: "it is no URL" })?;
        if query(&answer, "state") != query(&self.url, "state") {
            return Err(LoginError::NoAnswer {
                why: "it belongs to another login",
            });
        }
        let issuer = self.issuer();
        if self.is_issuer_assumed
            && let Some(iss) = query(&answer, "iss")
        {
            let host = |text: &str| Url::parse(text).ok()?.host_str().map(str::to_owned);
            if host(&iss) != host(&self.metadata.authorization_endpoint) {
                return Err(LoginError::WrongIssuer { issuer });
            }
            without(&mut answer, "iss");
        }
        if let Some(code) = query(&answer, "error") {
            if query(&answer, "iss").is_some_and(|iss| Some(iss) != self.metadata.issuer) {
                return Err(LoginError::WrongIssuer { issuer });
            }
            let code = plain(&code);
            let reason = match query(&answer, "error_description") {
                Some(description) => format!("`{code}`: {}", plain(&description)),
                None => format!("`{code}`"),
            };
            return Err(LoginError::Denied { issuer, reason });
        }
        if query(&answer, "code").is_none() {
            return Err(LoginError::NoAnswer { why: "it holds no code" });
        }
        let redeemed = self.flow.handle_callback_url(answer.as_str()).await;
        redeemed.map_err(|error| exchange(&issuer, &error, &self.session.http))?;
        let credentials = self.store.load().await.ok().flatten();
        let grant = Grant {
            server_url: self.session.url.to_string(),
            resource: query(&self.url, "resource").unwrap_or_else(|| self.session.url.to_string()),
            metadata: self.metadata.clone(),
            client_id: self.client.id.clone(),
            client_secret: self.client.secret.clone(),
            credentials,
            wanted: Vec::new(),
            scheme: self.scheme.clone(),
        };
        self.keep(&grant)
            .await
            .map_err(|error| LoginError::Keep { reason: error.to_string() })?;
        Ok(LoggedIn {
            issuer,
            scopes: grant.scopes().to_vec(),
            expires_at: grant.expires_at(),
            can_be_renewed: grant.can_be_renewed(),
        })
    }

    async fn keep(&self, grant: &Grant) -> std::io::Result<()> {
        // A process that renews the old login must not write it over the new one.
        let _lock = self.session.file.lock().await?;
        self.session.keep(grant)
    }
}

impl fmt::Debug for Login {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Login(***)")
    }
}

fn issuer(metadata: &AuthorizationMetadata) -> String {
    plain(metadata.issuer.as_deref().unwrap_or_default())
}

fn query(url: &Url, name: &str) -> Option<String> {
    url.query_pairs().find(|(key, _)| key == name).map(|(_, value)| value.into_owned())
}

/// Takes a pair out of a URL's query.
fn without(url: &mut Url, name: &str) {
    let kept: Vec<(String, String)> = url
        .query_pairs()
        .filter(|(key, _)| key != name)
        .map(|(key, value)| (key.into(), value.into()))
        .collect();
    url.query_pairs_mut().clear().extend_pairs(kept);
}

/// Those that are configured; else those that the server names. With them, those that calls needed since the last login,
/// and then also those that it had. (MCP 2025-11-25, Scope Selection Strategy, Step-Up)
async fn scopes(session: &Session, manager: &AuthorizationManager, metadata: &AuthorizationMetadata) -> Vec<String> {
    let mut scopes = session.oauth.scopes.clone();
    if scopes.is_empty() {
        scopes = manager.select_initial_scopes(&[]).await;
    }
    if let Some(grant) = session
        .grant()
        .filter(|grant| !grant.wanted.is_empty() && grant.metadata.issuer == metadata.issuer)
    {
        for scope in grant.scopes().iter().chain(&grant.wanted) {
            if !scopes.contains(scope) {
                scopes.push(scope.clone());
            }
        }
    }
    scopes
}

/// A client that is registered already, else its document, else a new registration. (MCP 2025-11-25, Client Registration
/// Approaches)
///
/// A registration is never used again: it holds the port of this login.
async fn client(
    oauth: &OAuthSettings,
    manager: &mut AuthorizationManager,
    (redirect_uri, scopes, metadata): (&str, &[String], &AuthorizationMetadata),
) -> Result<Client, String> {
    #[expect(
        clippy::disallowed_methods,
        reason = "it is sent to the authorization server that the person registered with"
    )]
    if let Some(id) = &oauth.client_id {
        return Ok(Client {
            id: id.clone(),
            secret: oauth.client_secret.as_ref().map(|secret| secret.expose().to_owned()),
        });
    }
    let takes_documents = metadata
        .additional_fields
        .get("client_id_metadata_document_supported")
        .and_then(serde_json::Value::as_bool);
    if let (Some(url), Some(true)) = (&oauth.client_metadata_url, takes_documents) {
        return Ok(Client {
            id: url.clone(),
            secret: None,
        });
    }
    if metadata.registration_endpoint.is_none() {
        return Err("it has no registration of clients by themselves".to_owned());
    }
    let scopes: Vec<&str> = scopes.iter().map(String::as_str).collect();
    let registered = manager.register_client(CLIENT_NAME, redirect_uri, &scopes).await;
    let registered = registered.map_err(|error| plain(&error.to_string()))?;
    Ok(Client {
        id: registered.client_id,
        secret: registered.client_secret,
    })
}
