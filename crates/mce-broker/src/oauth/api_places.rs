//! Where a person logs in for an API: what its document says, as far as that may be believed. The document chooses freely where
//! the browser goes, which the person sees; it does not choose where the code and the client's secret go.

use std::collections::BTreeMap;
use std::sync::Arc;

use mce_catalog::function::SecurityScheme;
use mce_config::{OAuthSettings, ServerSettings};
use reqwest::{Method, Request};
use rmcp::transport::auth::AuthorizationMetadata;
use url::Url;

use super::discovery::usable;
use super::guarded_client::{GuardedClient, host_of};
use super::login_error::LoginError;
use super::session::Session;

const OPENID_PATH: &str = "/.well-known/openid-configuration";

/// Where to log in.
pub(super) struct Places {
    pub(super) metadata: AuthorizationMetadata,
    /// Those that the document names.
    pub(super) scopes: Vec<String>,
    /// Nobody said who the authorization server is: it is known by its host alone.
    pub(super) is_issuer_assumed: bool,
}

/// The scheme that a person logs in for: the first for which nothing else is configured.
pub fn person_scheme<'a>(
    server: &ServerSettings,
    schemes: &'a BTreeMap<String, SecurityScheme>,
) -> Option<(&'a String, &'a SecurityScheme)> {
    schemes.iter().find(|(name, scheme)| {
        let is_for_people = match scheme {
            SecurityScheme::OAuth2(places) => places.code.is_some(),
            SecurityScheme::OpenIdConnect(_) => true,
            _ => false,
        };
        is_for_people && !server.credentials.contains_key(*name)
    })
}

/// Finds out where to log in for a scheme.
///
/// # Errors
///
/// [`LoginError::Discovery`] with what is wrong, or whose word is missing.
pub(super) async fn find_places(
    server: &str,
    session: &Session,
    scheme: &SecurityScheme,
    oauth: &OAuthSettings,
) -> Result<Places, LoginError> {
    let failed = |reason: String| LoginError::Discovery {
        server: server.to_owned(),
        reason,
    };
    let base = &session.url;
    let absolute = |text: &str| {
        base.join(text)
            .map_err(|_| failed("the document has no URL where one is needed".to_owned()))
    };
    let mut places = match scheme {
        SecurityScheme::OAuth2(flows) => {
            let (login, token) = flows
                .code
                .as_ref()
                .ok_or_else(|| failed("the document has no flow for people".to_owned()))?;
            let login = absolute(login)?;
            let mut metadata = AuthorizationMetadata::default();
            metadata.issuer = Some(login.origin().ascii_serialization());
            metadata.authorization_endpoint = login.into();
            metadata.token_endpoint = absolute(token)?.into();
            Places {
                metadata: with_pkce(metadata),
                scopes: flows.scopes.clone(),
                is_issuer_assumed: true,
            }
        }
        SecurityScheme::OpenIdConnect(url) => {
            let metadata = discovered(&absolute(url)?, &session.http).await.map_err(&failed)?;
            Places {
                metadata: with_pkce(metadata),
                scopes: vec!["openid".to_owned()],
                is_issuer_assumed: false,
            }
        }
        _ => return Err(failed("nobody logs in for its security schemes".to_owned())),
    };
    if let Some(token_url) = &oauth.token_url {
        places.metadata.token_endpoint.clone_from(token_url);
    }
    places.metadata = usable(places.metadata, &session.http).map_err(&failed)?;
    // Of the authorization server only those count that the person or the document asks for.
    places.metadata.scopes_supported = None;
    check_token_place(&places.metadata, base, oauth).map_err(failed)?;
    Ok(places)
}

/// What an `OpenID` provider says of itself. (`OpenID` Connect Discovery 1.0, section 4)
async fn discovered(url: &Url, http: &Arc<GuardedClient>) -> Result<AuthorizationMetadata, String> {
    let answer = http
        .send(Request::new(Method::GET, url.clone()))
        .await
        .map_err(|trouble| trouble.words)?;
    let host = host_of(url);
    let metadata: AuthorizationMetadata =
        serde_json::from_slice(&answer.body).map_err(|_| format!("what `{host}` publishes is no description of an OpenID provider"))?;
    let issuer = metadata.issuer.as_deref().unwrap_or_default();
    if format!("{}{OPENID_PATH}", issuer.trim_end_matches('/')) != url.as_str() {
        return Err(format!("what `{host}` publishes is about another provider"));
    }
    Ok(metadata)
}

/// A challenge is sent in any case; who does not know it leaves it aside.
fn with_pkce(mut metadata: AuthorizationMetadata) -> AuthorizationMetadata {
    metadata.code_challenge_methods_supported = Some(vec!["S256".to_owned()]);
    metadata.response_types_supported.get_or_insert_with(|| vec!["code".to_owned()]);
    metadata
}

/// The code goes to where the person logged in, so that no document gets one of another's; a secret of the client goes to where
/// `base_url` is. All else a person has to say.
fn check_token_place(metadata: &AuthorizationMetadata, base: &Url, oauth: &OAuthSettings) -> Result<(), String> {
    let parsed = |text: &str| Url::parse(text).map_err(|_| "an endpoint is no URL".to_owned());
    let (login, token) = (parsed(&metadata.authorization_endpoint)?, parsed(&metadata.token_endpoint)?);
    let is_same_place = token.origin() == login.origin() && oauth.client_secret.is_none();
    if oauth.token_url.is_some() || is_same_place || token.origin() == base.origin() {
        return Ok(());
    }
    Err(format!(
        "its document would have the token asked for at `{}`; if that is right, set `token_url` below `oauth` of the server to `{token}`",
        host_of(&token)
    ))
}
