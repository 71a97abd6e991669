//! Why a login did not work, in plain words.

use rmcp::transport::auth::{AuthError, ProtectedResourceMetadataInvalidReason};
use thiserror::Error;
use url::Url;

use super::guarded_client::{GuardedClient, host_of, plain};

/// A login that did not work. Texts of servers are part of it, bounded and in one line; no token, code or secret is.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum LoginError {
    /// No such server is configured.
    #[error("there is no server `{server}`")]
    NotConfigured {
        /// As asked for.
        server: String,
    },
    /// It is no server that one logs in to.
    #[error("nobody logs in to `{server}`: {why}")]
    NoLogin {
        /// The server.
        server: String,
        /// Why not.
        why: &'static str,
    },
    /// It says nothing of an authorization server.
    #[error("`{server}` names no authorization server, so that nobody can log in there")]
    NothingPublished {
        /// The server.
        server: String,
    },
    /// What it or its authorization server says of the login cannot be had, or not be used.
    #[error("how to log in to `{server}` cannot be found out: {reason}")]
    Discovery {
        /// The server.
        server: String,
        /// What is wrong.
        reason: String,
    },
    /// It has no place for devices.
    #[error("`{issuer}` does not say that one can log in there at another device")]
    NoDevice {
        /// The authorization server.
        issuer: String,
    },
    /// This client cannot be made known to the authorization server.
    #[error("`{issuer}` does not register this client: {reason}")]
    Registration {
        /// The authorization server.
        issuer: String,
        /// What is wrong.
        reason: String,
    },
    /// The browser's answer cannot be waited for.
    #[error("the answer of the browser cannot be waited for at `{uri}`: {reason}")]
    Listen {
        /// The URL of this machine.
        uri: String,
        /// Why.
        reason: String,
    },
    /// What was pasted is no answer to this login.
    #[error("this is no answer to this login: {why}")]
    NoAnswer {
        /// What is missing.
        why: &'static str,
    },
    /// The person, or the authorization server, said no.
    #[error("`{issuer}` did not let you in: {reason}")]
    Denied {
        /// The authorization server.
        issuer: String,
        /// Its words.
        reason: String,
    },
    /// Another authorization server answered. (RFC 9207)
    #[error("the answer comes from another authorization server than `{issuer}`: nothing was sent to it")]
    WrongIssuer {
        /// The one that was asked.
        issuer: String,
    },
    /// It gave no token.
    #[error("`{issuer}` gave no token: {reason}")]
    Exchange {
        /// The authorization server.
        issuer: String,
        /// What is wrong.
        reason: String,
    },
    /// The login cannot be kept.
    #[error("the login cannot be written down: {reason}")]
    Keep {
        /// In the words of the system.
        reason: String,
    },
    /// Nobody came back.
    #[error("nobody logged in within {minutes} minutes")]
    NotInTime {
        /// The time there was.
        minutes: u64,
    },
}

impl LoginError {
    /// What to do about it.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::NotConfigured { .. } => Some("`mce auth status` lists those that there are".to_owned()),
            Self::NothingPublished { server } => Some(format!("set `auth` or `headers` of `{server}`, if it wants a credential")),
            Self::Registration { .. } => Some("register a client there yourself, and write its `client_id` below `oauth`".to_owned()),
            Self::NoDevice { .. } => Some("without `--device` a browser is used; `--no-browser` prints the URL for one".to_owned()),
            Self::Listen { .. } => Some("set `redirect_uri` below `oauth` to a port that is free".to_owned()),
            Self::NoAnswer { .. } => Some("paste the whole URL at which the browser ended".to_owned()),
            Self::NotInTime { .. } | Self::Denied { .. } => Some("try again".to_owned()),
            Self::NoLogin { .. } | Self::Discovery { .. } | Self::WrongIssuer { .. } | Self::Exchange { .. } | Self::Keep { .. } => None,
        }
    }
}

/// The words for what rmcp says of discovery.
pub(super) fn discovery(server: &str, error: &AuthError, http: &GuardedClient) -> LoginError {
    let at = |url: &Url| format!("`{}`", host_of(url));
    let reason = match error {
        AuthError::DiscoveryRequestFailed { url, .. } => match http.trouble() {
            // It names the place where that is another one.
            Some(trouble) if trouble.words.starts_with('`') && trouble.code.is_none() => trouble.words,
            Some(trouble) => format!("{} says {}", at(url), trouble.words),
            None => match error_text(error) {
                text if text.contains("non-same-origin") => format!("{} redirects to another place", at(url)),
                text => format!("{}: {text}", at(url)),
            },
        },
        AuthError::ProtectedResourceMetadataInvalid { url, reason } => match **reason {
            ProtectedResourceMetadataInvalidReason::ResourceMismatch { ref permitted, .. } => format!(
                "what {} publishes is about another server, `{}`",
                at(url),
                plain(permitted.as_str())
            ),
            _ => format!("what {} publishes is not usable", at(url)),
        },
        AuthError::AuthorizationServersUnavailable { authorization_servers, .. } => {
            let names = plain(&authorization_servers.join(", "));
            match http.trouble() {
                Some(trouble) => format!("its authorization server `{names}` publishes nothing usable ({})", trouble.words),
                None => format!("its authorization server `{names}` publishes nothing usable, or may not be reached"),
            }
        }
        AuthError::AuthorizationServerMismatch {
            expected_issuer,
            received_issuer,
        } => format!(
            "the authorization server says that it is `{}`, not `{}`",
            plain(received_issuer),
            plain(expected_issuer)
        ),
        AuthError::AuthorizationServerMissingIssuer { expected_issuer } => {
            format!("the authorization server `{}` does not say who it is", plain(expected_issuer))
        }
        AuthError::PkceUnsupported => "the authorization server does not support PKCE with S256".to_owned(),
        other => http.trouble().map_or_else(|| plain(&other.to_string()), |trouble| trouble.words),
    };
    LoginError::Discovery {
        server: server.to_owned(),
        reason,
    }
}

fn error_text(error: &AuthError) -> String {
    let cause = std::error::Error::source(error).map(ToString::to_string);
    plain(&cause.unwrap_or_else(|| error.to_string()))
}

/// The words for what rmcp says of the answer of the browser and of the exchange of the code.
pub(super) fn exchange(issuer: &str, error: &AuthError, http: &GuardedClient) -> LoginError {
    let issuer = issuer.to_owned();
    match error {
        AuthError::AuthorizationServerMismatch { .. } | AuthError::AuthorizationServerMissingIssuer { .. } => {
            LoginError::WrongIssuer { issuer }
        }
        other => LoginError::Exchange {
            issuer,
            reason: http.trouble().map_or_else(|| plain(&other.to_string()), |trouble| trouble.words),
        },
    }
}
