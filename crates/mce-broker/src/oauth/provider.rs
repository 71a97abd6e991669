//! What `OpenID` providers publish of themselves: for logins of people and of clients.

use mce_config::ConnectionSettings;
use reqwest::{Method, Request};
use rmcp::transport::auth::AuthorizationMetadata;
use serde_json::Value;
use url::Url;

use super::discovery::endpoint;
use super::guarded_client::{GuardedClient, Way, host_of};

const OPENID_PATH: &str = "/.well-known/openid-configuration";

/// Where a provider publishes what it is.
pub(crate) fn provider_url(issuer: &str) -> Option<Url> {
    format!("{}{OPENID_PATH}", issuer.trim_end_matches('/')).parse().ok()
}

/// Where clients of a provider get tokens, by what it publishes at this URL.
///
/// # Errors
///
/// Why that cannot be had, or may not be used.
pub(crate) async fn token_endpoint(url: &Url, way: &ConnectionSettings, allowed_domains: &[String]) -> Result<String, String> {
    let http = GuardedClient::new(url.clone(), allowed_domains, Way::Known(Box::new(way.clone()))).of_api();
    let metadata = discovered(url, &http).await?;
    endpoint(&metadata.token_endpoint, &http)
}

/// What an `OpenID` provider says of itself. (`OpenID` Connect Discovery 1.0, section 4)
///
/// # Errors
///
/// Why it cannot be had or is not usable.
pub(super) async fn discovered(url: &Url, http: &GuardedClient) -> Result<AuthorizationMetadata, String> {
    let answer = http
        .send(Request::new(Method::GET, url.clone()))
        .await
        .map_err(|trouble| trouble.words)?;
    let host = host_of(url);
    let unusable = |_| format!("what `{host}` publishes is no description of an OpenID provider");
    let mut said: Value = serde_json::from_slice(&answer.body).map_err(unusable)?;
    if let Some(members) = said.as_object_mut() {
        // Who lets only devices and clients in has none.
        members.entry("authorization_endpoint").or_insert_with(|| Value::from(""));
    }
    let metadata: AuthorizationMetadata = serde_json::from_value(said).map_err(unusable)?;
    let issuer = metadata.issuer.as_deref().unwrap_or_default();
    if format!("{}{OPENID_PATH}", issuer.trim_end_matches('/')) != url.as_str() {
        return Err(format!("what `{host}` publishes is about another provider"));
    }
    Ok(metadata)
}
