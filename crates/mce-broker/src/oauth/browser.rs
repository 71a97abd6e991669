//! A login in a browser: the URL for it, its answer, and the tokens for that. (RFC 6749, 4.1, with PKCE)

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use rmcp::transport::auth::{
    AuthorizationManager, AuthorizationRequest, AuthorizationSession, CredentialStore as _, InMemoryCredentialStore,
};
use tokio::time::timeout;
use url::Url;

use super::callback::CallbackListener;
use super::client::{Client, GrantKind, client};
use super::discovery::check_pkce;
use super::guarded_client::plain;
use super::login::{Found, LoggedIn, issuer, keep, query, scopes_for, without};
use super::login_error::{LoginError, exchange};
use super::session::Session;

/// A person may have to look for a password.
const PERSON_TIME: Duration = Duration::from_mins(10);

/// A login that was begun. Dropping it ends it.
pub struct BrowserLogin {
    session: Arc<Session>,
    flow: AuthorizationSession,
    store: InMemoryCredentialStore,
    listener: CallbackListener,
    client: Client,
    found: Found,
    url: Url,
}

impl BrowserLogin {
    /// Waits for the browser at a port of this machine, and makes this client known.
    pub(super) async fn begin(session: &Arc<Session>, mut manager: AuthorizationManager, found: Found) -> Result<Self, LoginError> {
        check_pkce(&found.metadata).map_err(|reason| LoginError::Discovery {
            server: found.server.clone(),
            reason,
        })?;
        let configured = found.oauth.redirect_uri.as_deref();
        let listener = CallbackListener::open(configured).await.map_err(|error| LoginError::Listen {
            uri: configured.unwrap_or("127.0.0.1").to_owned(),
            reason: error.to_string(),
        })?;
        let scopes = scopes_for(session, &manager, &found).await;
        let failed = |reason: String| LoginError::Registration {
            issuer: issuer(&found.metadata),
            reason,
        };
        let redirect_uri = listener.uri().as_str().to_owned();
        let asker = (GrantKind::Code(&redirect_uri), scopes.as_slice(), &found.metadata);
        let client = client(&found.oauth, &mut manager, asker, &session.http).await;
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
            found,
            url,
        })
    }

    /// Where the person logs in.
    pub const fn url(&self) -> &Url {
        &self.url
    }

    /// The authorization server.
    pub fn issuer(&self) -> String {
        issuer(&self.found.metadata)
    }

    /// Waits for a browser to come back: the URL that it was sent to, which may be an answer to another login. May be dropped and
    /// called again.
    ///
    /// # Errors
    ///
    /// [`LoginError::NotInTime`] after ten minutes.
    pub async fn answer(&mut self) -> Result<String, LoginError> {
        let answer = timeout(PERSON_TIME, self.listener.next()).await.ok().flatten();
        answer.map(String::from).ok_or(LoginError::NotInTime {
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
        if self.found.is_issuer_assumed
            && let Some(iss) = query(&answer, "iss")
        {
            let host = |text: &str| Url::parse(text).ok()?.host_str().map(str::to_owned);
            if host(&iss) != host(&self.found.metadata.authorization_endpoint) {
                return Err(LoginError::WrongIssuer { issuer });
            }
            without(&mut answer, "iss");
        }
        if let Some(code) = query(&answer, "error") {
            if query(&answer, "iss").is_some_and(|iss| Some(iss) != self.found.metadata.issuer) {
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
        let resource = query(&self.url, "resource");
        keep(&self.session, &self.found, &self.client, (resource, credentials)).await
    }
}

impl fmt::Debug for BrowserLogin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("BrowserLogin(***)")
    }
}
