//! The login that requests to one MCP server use: the token from its file, renewed when it ends, by one for all.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use mce_config::{OAuthSettings, Secret};
use oauth2::http::header::WWW_AUTHENTICATE;
use reqwest::header::HeaderMap;
use rmcp::transport::auth::{
    AuthError, AuthorizationManager, CredentialStore as _, InMemoryCredentialStore, OAuthClientConfig, WWWAuthenticateParams,
};
use url::Url;

use super::grant::{Grant, GrantFile, Stamp};
use super::guarded_client::{GuardedClient, Way, plain};
use super::revoke::revoke;
use crate::redact::Learned;

/// Scopes that are remembered for the next login.
const MAX_WANTED: usize = 64;

/// Why an MCP server does not take what it got, in words for a model and a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LoginNeed {
    /// It got no credential, and names no way to get one.
    Credential,
    /// It got the credential that is configured.
    Configured,
    /// Nobody has logged in.
    Never,
    /// The authorization server has ended the login, or the server does not take its tokens any more.
    Ended,
    /// The token has ended and cannot be renewed.
    Expired,
    /// The authorization server does not know this client any more.
    Client,
    /// The login lacks these scopes, separated by blanks.
    Scopes(String),
    /// It could not be renewed just now.
    NotNow(String),
}

impl fmt::Display for LoginNeed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Credential => f.write_str("wants a credential, and none is configured"),
            Self::Configured => f.write_str("does not accept the credential that is configured"),
            Self::Never => f.write_str("wants a login"),
            Self::Ended => f.write_str("wants a new login: it has ended the last one"),
            Self::Expired => f.write_str("wants a new login: the last one has expired"),
            Self::Client => f.write_str("wants a new login: its authorization server does not know this client any more"),
            Self::Scopes(scopes) => write!(f, "wants a login with more rights: `{scopes}`"),
            Self::NotNow(why) => write!(f, "cannot be used: its login could not be renewed ({why})"),
        }
    }
}

impl LoginNeed {
    /// What to do about it.
    pub fn hint(&self, server: &str) -> String {
        match self {
            Self::Configured => "set its `auth` or `headers`".to_owned(),
            Self::Credential => format!("set its `auth` or `headers`, or run `mce auth login {server}` if people log in there"),
            Self::Never | Self::Ended | Self::Expired | Self::Client | Self::Scopes(_) => format!("run `mce auth login {server}`"),
            Self::NotNow(_) => format!("call again later; if it stays so, run `mce auth login {server}`"),
        }
    }
}

/// The scopes that a `WWW-Authenticate` names, if it is about a token that lacks some. (RFC 6750, section 3.1)
pub(crate) fn insufficient_scope(field: &str) -> Option<Vec<String>> {
    let nowhere = Url::parse("http://localhost").ok()?;
    let challenge = WWWAuthenticateParams::parse(field, &nowhere);
    let scopes = challenge.scope.as_deref().unwrap_or_default();
    let fit = |scope: &&str| scope.bytes().all(|byte| byte.is_ascii_graphic());
    let named = plain(scopes)
        .split_whitespace()
        .filter(fit)
        .take(MAX_WANTED)
        .map(str::to_owned)
        .collect();
    challenge.is_insufficient_scope().then_some(named)
}

/// What is known of the login at an MCP server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoginState {
    /// Its authorization server.
    pub issuer: String,
    /// What this client is called there.
    pub client_id: String,
    /// What was granted.
    pub scopes: Vec<String>,
    /// When the token ends, if that was said.
    pub expires_at: Option<SystemTime>,
    /// Whether it can be renewed without a person.
    pub can_be_renewed: bool,
    /// Scopes that calls needed since, and did not have.
    pub wanted: Vec<String>,
}

#[derive(Debug, Default)]
struct Cached {
    stamp: Option<Stamp>,
    grant: Option<Arc<Grant>>,
}

/// The login at one server.
#[derive(Debug)]
pub(crate) struct Session {
    pub(super) url: Url,
    pub(super) oauth: OAuthSettings,
    pub(super) file: GrantFile,
    pub(super) http: Arc<GuardedClient>,
    learned: Arc<Learned>,
    // Held for one look at the file.
    cached: Mutex<Cached>,
    // How it refused a request without a login. Held for one look.
    challenge: Mutex<Option<String>>,
    // Held by the one that renews.
    turn: tokio::sync::Mutex<()>,
}

/// What a session is made of.
#[derive(Debug)]
pub(crate) struct SessionPlace<'a> {
    pub(crate) data_dir: &'a std::path::Path,
    pub(crate) server: &'a str,
    pub(crate) url: Url,
    pub(crate) oauth: OAuthSettings,
    pub(crate) allowed_domains: &'a [String],
    /// By what way the server, and who gives tokens for it, is reached.
    pub(crate) way: Way,
    /// It is an API, and no MCP server.
    pub(crate) is_api: bool,
    pub(crate) learned: Arc<Learned>,
}

impl Session {
    /// Reads nothing yet.
    pub(crate) fn new(place: SessionPlace<'_>) -> Self {
        let http = GuardedClient::new(place.url.clone(), place.allowed_domains, place.way);
        Self {
            file: GrantFile::new(place.data_dir, place.server, place.url.as_str()),
            http: Arc::new(if place.is_api { http.of_api() } else { http }),
            url: place.url,
            oauth: place.oauth,
            learned: place.learned,
            cached: Mutex::default(),
            challenge: Mutex::default(),
            turn: tokio::sync::Mutex::default(),
        }
    }

    fn cached(&self) -> MutexGuard<'_, Cached> {
        self.cached.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The grant as it is in the file now, which other processes write as well.
    pub(super) fn grant(&self) -> Option<Arc<Grant>> {
        let mut cached = self.cached();
        let stamp = self.file.stamp();
        if stamp != cached.stamp {
            let grant = stamp.and_then(|_| self.file.read()).filter(|grant| self.is_ours(grant));
            if let Some(grant) = &grant {
                self.learned.add(&grant.secrets());
            }
            *cached = Cached {
                stamp,
                grant: grant.map(Arc::new),
            };
        }
        cached.grant.clone()
    }

    /// Whether a grant is for what is configured.
    fn is_ours(&self, grant: &Grant) -> bool {
        grant.server_url == self.url.as_str() && self.oauth.client_id.as_ref().is_none_or(|id| *id == grant.client_id)
    }

    /// Whether a login was made or ended since the last look, by another process say.
    pub(crate) fn has_changed(&self) -> bool {
        let stamp = self.cached().stamp;
        self.file.stamp() != stamp
    }

    /// Keeps a grant, and has its secrets cut out from now on.
    pub(super) fn keep(&self, grant: &Grant) -> std::io::Result<()> {
        self.learned.add(&grant.secrets());
        self.file.write(grant)
    }

    pub(crate) fn state(&self) -> Option<LoginState> {
        let grant = self.grant().filter(|grant| grant.credentials.is_some())?;
        Some(LoginState {
            issuer: grant.issuer().to_owned(),
            client_id: grant.client_id.clone(),
            scopes: grant.scopes().to_vec(),
            expires_at: grant.expires_at(),
            can_be_renewed: grant.can_be_renewed(),
            wanted: grant.wanted.clone(),
        })
    }

    /// The security scheme that somebody logged in for.
    pub(crate) fn scheme(&self) -> Option<String> {
        self.grant()?.scheme.clone()
    }

    /// The token to send; `None` if nobody logged in.
    ///
    /// # Errors
    ///
    /// If there was a login, and it has ended.
    pub(crate) async fn token(&self) -> Result<Option<Secret>, LoginNeed> {
        let Some(grant) = self.grant() else { return Ok(None) };
        let Some(token) = grant.access_token() else { return Ok(None) };
        let now = SystemTime::now();
        if !grant.is_ending(now) {
            return Ok(Some(token));
        }
        match self.renewed(&token).await {
            Err(LoginNeed::NotNow(_)) if grant.expires_at().is_some_and(|end| now < end) => Ok(Some(token)),
            // It may still be taken; if not, the server says so.
            Err(LoginNeed::Expired) if grant.expires_at().is_some_and(|end| now < end) => Ok(Some(token)),
            renewed => renewed.map(Some),
        }
    }

    /// Another token than this one, which the server did not take or which ends. Whoever wants one meanwhile gets the same.
    ///
    /// # Errors
    ///
    /// Why there is none.
    pub(crate) async fn renewed(&self, old: &Secret) -> Result<Secret, LoginNeed> {
        let _turn = self.turn.lock().await;
        let _lock = self.file.lock().await.map_err(|error| LoginNeed::NotNow(error.to_string()))?;
        // Someone else may have done it while this one waited.
        let grant = self.grant().ok_or(LoginNeed::Never)?;
        let current = grant.access_token().ok_or(LoginNeed::Ended)?;
        if current != *old {
            return Ok(current);
        }
        if !grant.can_be_renewed() {
            return Err(LoginNeed::Expired);
        }
        let refreshed = self.refresh(&grant).await;
        match refreshed {
            Ok(grant) => {
                self.keep(&grant).map_err(|error| LoginNeed::NotNow(error.to_string()))?;
                grant.access_token().ok_or(LoginNeed::Ended)
            }
            Err(need) => {
                if need != LoginNeed::Expired && !matches!(need, LoginNeed::NotNow(_)) {
                    self.end(&grant);
                }
                Err(need)
            }
        }
    }

    /// One exchange of the refresh token, with the authorization server that gave it.
    async fn refresh(&self, grant: &Grant) -> Result<Grant, LoginNeed> {
        let broken = |error: &dyn fmt::Display| LoginNeed::NotNow(plain(&error.to_string()));
        let http: Arc<GuardedClient> = Arc::clone(&self.http);
        // Of the URL only the resource is made, and that is this.
        let manager = AuthorizationManager::new_with_oauth_http_client(grant.resource.as_str(), http).await;
        let mut manager = manager.map_err(|error| broken(&error))?;
        manager.set_metadata(grant.metadata.clone());
        let store = InMemoryCredentialStore::new();
        let credentials = grant.credentials.clone().ok_or(LoginNeed::Ended)?;
        store.save(credentials).await.map_err(|error| broken(&error))?;
        manager.set_credential_store(store.clone());
        // There is no redirect in a refresh.
        let mut client = OAuthClientConfig::new(&grant.client_id, "http://127.0.0.1/");
        if let Some(secret) = &grant.client_secret {
            client = client.with_client_secret(secret);
        }
        manager.configure_client(client).map_err(|error| broken(&error))?;
        match manager.refresh_token().await {
            Ok(_) => {
                let credentials = store.load().await.ok().flatten();
                Ok(Grant {
                    credentials,
                    ..grant.clone()
                })
            }
            Err(AuthError::TokenRefreshRejected(_)) => Err(LoginNeed::Ended),
            Err(AuthError::AuthorizationRequired) => Err(LoginNeed::Expired),
            Err(error) => match self.http.trouble() {
                Some(trouble) if matches!(trouble.code.as_deref(), Some("invalid_client" | "unauthorized_client")) => {
                    Err(LoginNeed::Client)
                }
                Some(trouble) if trouble.code.as_deref() == Some("invalid_grant") => Err(LoginNeed::Ended),
                Some(trouble) => Err(LoginNeed::NotNow(trouble.words)),
                None => Err(broken(&error)),
            },
        }
    }

    /// Forgets the tokens of a login that has ended, and the client that nobody knows any more.
    fn end(&self, grant: &Grant) {
        let ended = Grant {
            credentials: None,
            client_secret: None,
            ..grant.clone()
        };
        if let Err(error) = self.file.write(&ended) {
            tracing::warn!("a login that has ended cannot be forgotten: {error}");
        }
    }

    /// Forgets the login; says whether there was one.
    pub(crate) async fn log_out(&self) -> std::io::Result<bool> {
        let _turn = self.turn.lock().await;
        let _lock = self.file.lock().await?;
        let grant = self.grant();
        if let Some(grant) = &grant {
            revoke(grant, &self.http).await;
        }
        self.file.remove()?;
        Ok(grant.is_some_and(|grant| grant.credentials.is_some()))
    }

    /// What a server that refused a request needs. `was_sent` says that it got a token.
    pub(crate) async fn need(&self, status: u16, headers: &HeaderMap, was_sent: bool) -> LoginNeed {
        let fields = headers.get_all(WWW_AUTHENTICATE).iter().filter_map(|value| value.to_str().ok());
        let challenges: Vec<(&str, WWWAuthenticateParams)> = fields
            .map(|field| (field, WWWAuthenticateParams::parse(field, &self.url)))
            .collect();
        if status == 401 {
            // Of several, the one that says where to read on.
            let leading = challenges.iter().find(|(_, challenge)| challenge.resource_metadata_url.is_some());
            let leading = leading.or_else(|| challenges.first()).map(|(field, _)| (*field).to_owned());
            *self.challenge.lock().unwrap_or_else(PoisonError::into_inner) = leading;
        }
        let lacking = challenges
            .iter()
            .map(|(_, challenge)| challenge)
            .find(|challenge| challenge.is_insufficient_scope() || status == 403 && challenge.scope.is_some());
        match lacking {
            Some(challenge) if was_sent => {
                let scopes = plain(challenge.scope.as_deref().unwrap_or_default());
                self.want(&scopes).await;
                LoginNeed::Scopes(scopes)
            }
            Some(_) | None if was_sent => LoginNeed::Ended,
            Some(_) | None if challenges.is_empty() && self.grant().is_none() => LoginNeed::Credential,
            Some(_) | None => match self.grant() {
                Some(grant) if grant.credentials.is_none() => LoginNeed::Ended,
                Some(_) | None => LoginNeed::Never,
            },
        }
    }

    /// How the server refused the last request that it refused for want of a login.
    pub(crate) fn challenge(&self) -> Option<String> {
        self.challenge.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Whether it is known that the login has not all of these.
    pub(crate) fn lacks(&self, scopes: &[String]) -> bool {
        let grant = self.grant().filter(|grant| !grant.scopes().is_empty());
        grant.is_some_and(|grant| scopes.iter().any(|scope| !grant.scopes().contains(scope)))
    }

    /// Remembers scopes for the next login.
    pub(crate) async fn want(&self, scopes: &str) {
        let lacks = |grant: &Grant| {
            let mut scopes = scopes.split_whitespace();
            grant.wanted.len() < MAX_WANTED && scopes.any(|scope| !grant.wanted.iter().any(|known| known == scope))
        };
        if !self.grant().is_some_and(|grant| lacks(&grant)) {
            return;
        }
        // Nobody writes new tokens meanwhile, which would be lost.
        let lock = self.file.lock().await;
        let Some(grant) = self.grant() else { return };
        let mut grant = (*grant).clone();
        for scope in scopes.split_whitespace() {
            if grant.wanted.len() < MAX_WANTED && !grant.wanted.iter().any(|known| known == scope) {
                grant.wanted.push(scope.to_owned());
            }
        }
        if let Err(error) = lock.and_then(|_lock| self.file.write(&grant)) {
            tracing::warn!("what a login lacks cannot be remembered: {error}");
        }
    }
}
