//! Who gives tokens for an MCP server: what the server says of it, and whether that can be used.

use std::sync::Arc;

use rmcp::transport::auth::{AuthError, AuthorizationManager, AuthorizationMetadata, AuthorizationMetadataSource};
use serde_json::Value;
use url::Url;

use super::guarded_client::{GuardedClient, host_of, plain};
use super::login_error::{LoginError, discovery};

/// RFC 8628, section 4.
pub(super) const DEVICE_ENDPOINT: &str = "device_authorization_endpoint";

/// Further members of an authorization server's metadata that are kept.
const KEPT_MEMBERS: [&str; 5] = [
    "authorization_response_iss_parameter_supported",
    "client_id_metadata_document_supported",
    DEVICE_ENDPOINT,
    "revocation_endpoint",
    "token_endpoint_auth_methods_supported",
];

/// Finds out what the server's refusal names, or where servers without one have it. (RFC 9728)
///
/// # Errors
///
/// [`LoginError::NothingPublished`], or [`LoginError::Discovery`] with what is wrong.
pub(super) async fn discover(
    server: &str,
    url: &Url,
    challenge: Option<&str>,
    http: &Arc<GuardedClient>,
) -> Result<(AuthorizationManager, AuthorizationMetadata), LoginError> {
    let failed = |error: &AuthError| discovery(server, error, http);
    let manager = AuthorizationManager::new_with_oauth_http_client(url.as_str(), Arc::<GuardedClient>::clone(http)).await;
    let mut manager = manager.map_err(|error| failed(&error))?;
    let found = manager.resolve_metadata_from_challenge(challenge).await;
    let found = found.map_err(|error| failed(&error))?;
    if found.source == AuthorizationMetadataSource::LegacyEndpointFallback {
        return Err(LoginError::NothingPublished { server: server.to_owned() });
    }
    let metadata = usable(found.metadata, http).map_err(|reason| LoginError::Discovery {
        server: server.to_owned(),
        reason,
    })?;
    manager.set_metadata(metadata.clone());
    Ok((manager, metadata))
}

/// The part of the metadata that is used, if all of it may be.
pub(super) fn usable(found: AuthorizationMetadata, http: &GuardedClient) -> Result<AuthorizationMetadata, String> {
    let mut metadata = AuthorizationMetadata::default();
    // Who has no place for browsers has one for devices.
    if !found.authorization_endpoint.is_empty() || device_endpoint(&found).is_none() {
        metadata.authorization_endpoint = endpoint(&found.authorization_endpoint, http)?;
    }
    if let Some(url) = device_endpoint(&found) {
        endpoint(url, http)?;
    }
    metadata.token_endpoint = endpoint(&found.token_endpoint, http)?;
    metadata.registration_endpoint = found.registration_endpoint.map(|url| endpoint(&url, http)).transpose()?;
    let Some(issuer) = found.issuer else {
        return Err("the authorization server does not say who it is".to_owned());
    };
    metadata.issuer = Some(issuer);
    metadata.scopes_supported = found.scopes_supported;
    metadata.response_types_supported = found.response_types_supported;
    metadata.code_challenge_methods_supported = found.code_challenge_methods_supported;
    metadata.additional_fields = found.additional_fields;
    metadata.additional_fields.retain(|name, _| KEPT_MEMBERS.contains(&name.as_str()));
    Ok(metadata)
}

/// # Errors
///
/// If nobody knows whether a code that was stolen is of use. (MCP 2025-11-25, Authorization Code Protection)
pub(super) fn check_pkce(metadata: &AuthorizationMetadata) -> Result<(), String> {
    let has_pkce = |methods: &Vec<String>| methods.iter().any(|method| method == "S256");
    if metadata.code_challenge_methods_supported.as_ref().is_some_and(has_pkce) {
        return Ok(());
    }
    let issuer = plain(metadata.issuer.as_deref().unwrap_or_default());
    Err(format!("`{issuer}` does not say that it supports PKCE with S256"))
}

/// A member of the metadata that rmcp has no name for.
pub(super) fn member<'a>(metadata: &'a AuthorizationMetadata, name: &str) -> Option<&'a Value> {
    metadata.additional_fields.get(name)
}

/// Where a device asks for a code.
pub(super) fn device_endpoint(metadata: &AuthorizationMetadata) -> Option<&str> {
    member(metadata, DEVICE_ENDPOINT)?.as_str()
}

/// A browser goes to one of them, codes and secrets to the others.
pub(super) fn endpoint(text: &str, http: &GuardedClient) -> Result<String, String> {
    let url: Url = text.parse().map_err(|_| format!("an endpoint is no URL: `{}`", plain(text)))?;
    http.check(&url).map_err(|trouble| trouble.words)?;
    if !url.username().is_empty() || url.password().is_some() || url.fragment().is_some() {
        return Err(format!("an endpoint at `{}` has more in it than a place", host_of(&url)));
    }
    Ok(text.to_owned())
}
