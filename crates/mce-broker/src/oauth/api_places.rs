//! Where a person logs in for an API: what its document says, as far as that may be believed. The document chooses freely where
//! the browser goes, which the person sees; it does not choose where the code and the client's secret go.

use std::collections::BTreeMap;

use mce_catalog::function::{OAuthPlaces, SecurityScheme};
use mce_config::{OAuthSettings, ServerSettings};
use rmcp::transport::auth::AuthorizationMetadata;
use serde_json::Value;
use url::Url;

use super::discovery::{DEVICE_ENDPOINT, device_endpoint, usable};
use super::guarded_client::host_of;
use super::login::{Found, LoginScheme, LoginWay};
use super::login_error::LoginError;
use super::provider::{discovered, is_of_openid};
use super::session::Session;

/// The scheme that a person logs in for: the first for which nothing else is configured.
pub fn person_scheme<'a>(
    server: &ServerSettings,
    schemes: &'a BTreeMap<String, SecurityScheme>,
) -> Option<(&'a String, &'a SecurityScheme)> {
    schemes.iter().find(|(name, scheme)| {
        let is_for_people = match scheme {
            SecurityScheme::OAuth2(places) => places.code.is_some() || places.device.is_some(),
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
    scheme: LoginScheme<'_>,
    (oauth, way): (&OAuthSettings, LoginWay),
) -> Result<Found, LoginError> {
    let failed = |reason: String| LoginError::Discovery {
        server: server.to_owned(),
        reason,
    };
    let base = &session.url;
    let (mut metadata, declared, is_issuer_assumed) = match scheme.scheme {
        SecurityScheme::OAuth2(flows) => {
            let metadata = of_flows(flows, base, (oauth, way)).map_err(failed)?;
            (metadata, flows.scopes.clone(), true)
        }
        SecurityScheme::OpenIdConnect(url) => {
            let url = absolute(base, url).map_err(failed)?;
            let metadata = discovered(&url, &session.http).await.map_err(failed)?;
            let declared = is_of_openid(&url).then(|| "openid".to_owned());
            (with_pkce(metadata), declared.into_iter().collect(), false)
        }
        _ => return Err(failed("nobody logs in for its security schemes".to_owned())),
    };
    if let Some(token_url) = &oauth.token_url {
        metadata.token_endpoint.clone_from(token_url);
    }
    if let Some(url) = &oauth.device_authorization_url {
        metadata
            .additional_fields
            .insert(DEVICE_ENDPOINT.to_owned(), Value::from(url.as_str()));
    }
    let scopes = needed_scopes(scheme.scopes, &declared, metadata.scopes_supported.as_deref());
    let mut metadata = usable(metadata, &session.http).map_err(failed)?;
    // Of the authorization server only those count that the person or the document asks for.
    metadata.scopes_supported = None;
    check_token_place(&metadata, base, (oauth, way)).map_err(failed)?;
    Ok(Found {
        server: server.to_owned(),
        metadata,
        oauth: oauth.clone(),
        scopes,
        scheme: Some(scheme.name.to_owned()),
        is_issuer_assumed,
    })
}

/// A place that a document names, which may be relative to that of the API.
fn absolute(base: &Url, text: &str) -> Result<Url, String> {
    base.join(text)
        .map_err(|_| "the document has no URL where one is needed".to_owned())
}

/// What the flows of a document say.
fn of_flows(flows: &OAuthPlaces, base: &Url, (oauth, way): (&OAuthSettings, LoginWay)) -> Result<AuthorizationMetadata, String> {
    let device = flows.device.as_ref().map(|(start, token)| (start.as_str(), token.as_str()));
    let code = flows.code.as_ref().map(|(start, token)| (start.as_str(), token.as_str()));
    let configured = oauth.device_authorization_url.as_deref();
    let is_device = way == LoginWay::Device && (device.is_some() || configured.is_some()) || code.is_none();
    let chosen = if is_device {
        // The tokens of a device are had where those of a code are, if nobody says otherwise.
        let token = device.or(code).map(|(_, token)| token).or(oauth.token_url.as_deref());
        configured.or(device.map(|(start, _)| start)).zip(token)
    } else {
        code
    };
    let (start, token) = chosen.ok_or("the document has no flow for people")?;
    let start = absolute(base, start)?;
    let mut metadata = AuthorizationMetadata::default();
    metadata.issuer = Some(start.origin().ascii_serialization());
    metadata.token_endpoint = absolute(base, token)?.into();
    if is_device {
        metadata
            .additional_fields
            .insert(DEVICE_ENDPOINT.to_owned(), Value::from(String::from(start)));
    } else {
        metadata.authorization_endpoint = start.into();
    }
    Ok(with_pkce(metadata))
}

/// Those that operations need, and what makes a login last, where it is declared; if no operation says, all that are declared.
fn needed_scopes(of_operations: &[String], declared: &[String], supported: Option<&[String]>) -> Vec<String> {
    if of_operations.is_empty() {
        return declared.to_vec();
    }
    let mut scopes = of_operations.to_vec();
    let all = declared.iter().chain(supported.into_iter().flatten());
    let lasting = all.filter(|scope| matches!(scope.as_str(), "openid" | "offline_access"));
    for scope in lasting {
        if !scopes.contains(scope) {
            scopes.push(scope.clone());
        }
    }
    scopes
}

/// A challenge is sent in any case; who does not know it leaves it aside.
fn with_pkce(mut metadata: AuthorizationMetadata) -> AuthorizationMetadata {
    metadata.code_challenge_methods_supported = Some(vec!["S256".to_owned()]);
    metadata.response_types_supported.get_or_insert_with(|| vec!["code".to_owned()]);
    metadata
}

/// The code goes to where the person logged in, so that no document gets one of another's; a secret of the client goes to where
/// `base_url` is. All else a person has to say.
fn check_token_place(metadata: &AuthorizationMetadata, base: &Url, (oauth, way): (&OAuthSettings, LoginWay)) -> Result<(), String> {
    let parsed = |text: &str| Url::parse(text).map_err(|_| "an endpoint is no URL".to_owned());
    let browser = Some(metadata.authorization_endpoint.as_str()).filter(|url| way == LoginWay::Any && !url.is_empty());
    // That there is no place to begin is told by who begins.
    let Some(start) = browser.or(device_endpoint(metadata)) else {
        return Ok(());
    };
    let start = parsed(start)?;
    let token = parsed(&metadata.token_endpoint)?;
    let is_public = oauth.client_secret.is_none();
    let refuse = |place: &Url, what: &str, key: &str| {
        let host = host_of(place);
        Err(format!(
            "its document would have {what} asked for at `{host}`; if that is right, set `{key}` below `oauth` of the server to `{place}`"
        ))
    };
    // A browser takes no secret along; a device's request for a code holds it.
    if browser.is_none() && !is_public && oauth.device_authorization_url.is_none() && start.origin() != base.origin() {
        return refuse(&start, "the code", "device_authorization_url");
    }
    if oauth.token_url.is_some() || token.origin() == start.origin() && is_public || token.origin() == base.origin() {
        return Ok(());
    }
    refuse(&token, "the token", "token_url")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_login_asks_for_what_operations_need_and_for_what_makes_it_last() {
        let check = |of_operations: &[&str], declared: &[&str], supported: Option<&[&str]>, expected: &[&str]| {
            let owned = |scopes: &[&str]| scopes.iter().map(|&scope| scope.to_owned()).collect::<Vec<_>>();
            let supported = supported.map(owned);
            let found = needed_scopes(&owned(of_operations), &owned(declared), supported.as_deref());
            assert_eq!(found, owned(expected), "{of_operations:?} {declared:?}");
        };
        check(&[], &["read", "write", "admin"], None, &["read", "write", "admin"]);
        check(&["read"], &["read", "write", "admin"], None, &["read"]);
        check(&["read"], &["read", "offline_access"], None, &["read", "offline_access"]);
        check(
            &["read"],
            &["openid"],
            Some(&["openid", "email", "offline_access"]),
            &["read", "openid", "offline_access"],
        );
    }
}
