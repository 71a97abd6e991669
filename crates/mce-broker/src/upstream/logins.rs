//! What people do about logins at MCP servers and APIs: make one, end one, look at them.

use std::sync::Arc;

use mce_config::Origin;

use super::Upstreams;
use crate::api_login::is_needed;
use crate::oauth::{Login, LoginError, LoginScheme, LoginState, LoginWay, Session};

impl Upstreams {
    /// Begins a login at a server, by what it says when it is asked for its tools.
    ///
    /// # Errors
    ///
    /// Why nobody can log in there.
    pub async fn begin_login(&self, server: &str, way: LoginWay) -> Result<Login, LoginError> {
        let session = self.session(server)?;
        if session.challenge().is_none() {
            // Whatever comes of it: it may also name where to log in without being asked, or let all list its tools.
            let _ = self.list_tools(server).await;
        }
        let filled = match self.servers.get(server) {
            Some(found) => self.vault.filled(&found.opening.settings).await,
            None => return Err(LoginError::NotConfigured { server: server.to_owned() }),
        };
        let filled = filled.map_err(|error| LoginError::Discovery {
            server: server.to_owned(),
            reason: error.to_string(),
        })?;
        Login::begin(server, session, &filled.upstream.oauth, way).await
    }

    /// Begins a login at an API, for this scheme.
    ///
    /// # Errors
    ///
    /// Why nobody can log in there.
    pub async fn begin_api_login(&self, server: &str, scheme: LoginScheme<'_>, way: LoginWay) -> Result<Login, LoginError> {
        let session = self.session(server)?;
        let Some((settings, _)) = self.apis.get(server) else {
            return Err(LoginError::NotConfigured { server: server.to_owned() });
        };
        let filled = self.vault.filled(settings).await.map_err(|error| LoginError::Discovery {
            server: server.to_owned(),
            reason: error.to_string(),
        })?;
        Login::begin_at_api(server, session, &filled.upstream.oauth, (scheme, way)).await
    }

    /// What is known of the login at an API.
    pub fn api_login(&self, server: &str) -> Option<LoginState> {
        self.apis.get(server)?.1.state()
    }

    /// The login at an API, if somebody logged in, and the scheme that it is for.
    pub(crate) fn api_session(&self, server: &str) -> Option<(String, &Arc<Session>)> {
        let (_, session) = self.apis.get(server)?;
        Some((session.scheme()?, session))
    }

    /// Forgets the login at a server, and tells its authorization server so if that takes it. Says whether there was one.
    ///
    /// # Errors
    ///
    /// If there is no such server, or its login cannot be forgotten.
    pub async fn log_out(&self, server: &str) -> Result<bool, LoginError> {
        self.session(server)?
            .log_out()
            .await
            .map_err(|error| LoginError::Keep { reason: error.to_string() })
    }

    /// Whether people log in to a server at all.
    ///
    /// # Errors
    ///
    /// Why not.
    pub fn check_login(&self, server: &str) -> Result<(), LoginError> {
        self.session(server).map(|_| ())
    }

    /// The servers that one can log in to, and what is known of the login there.
    pub fn logins(&self) -> Vec<(String, Option<LoginState>)> {
        let sessions = self
            .servers
            .iter()
            .filter_map(|(name, server)| Some((name, server.opening.session.as_ref()?)));
        sessions.map(|(name, session)| (name.clone(), session.state())).collect()
    }

    fn session(&self, server: &str) -> Result<&Arc<Session>, LoginError> {
        let no_login = |why| LoginError::NoLogin {
            server: server.to_owned(),
            why,
        };
        if let Some((settings, session)) = self.apis.get(server) {
            return match settings.unresolved.first() {
                Some(_) => Err(no_login("a variable in its entry is not set; `mce doctor` says which")),
                None => Ok(session),
            };
        }
        let Some(found) = self.servers.get(server) else {
            return Err(if self.other_apis.contains(server) {
                no_login(
                    "its `base_url`, which says where the token may go, is not configured, or another credential is, or its `oauth` is `false`",
                )
            } else {
                LoginError::NotConfigured { server: server.to_owned() }
            });
        };
        let opening = &found.opening;
        if !opening.settings.unresolved.is_empty() {
            return Err(no_login("a variable in its entry is not set; `mce doctor` says which"));
        }
        match (&opening.session, &opening.settings.origin) {
            (Some(session), _) => Ok(session),
            (None, Origin::McpHttp(_)) if opening.settings.upstream.oauth.is_off => Err(no_login("its `oauth` is `false`")),
            (None, Origin::McpHttp(_)) if is_needed(&opening.settings.auth) => {
                Err(no_login("its `auth` is of a type for APIs; take it out to log in"))
            }
            (None, Origin::McpHttp(_)) => Err(no_login("a credential is configured for it, which is used instead")),
            (None, Origin::McpStdio(_) | Origin::OpenApi(_) | Origin::Recipes(_)) => Err(no_login("it is not reached over HTTP")),
        }
    }
}
