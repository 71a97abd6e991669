//! What `OpenID` providers publish of themselves: for logins of people and of clients.

use mce_config::ConnectionSettings;
use reqwest::{Method, Request};
use rmcp::transport::auth::AuthorizationMetadata;
use serde_json::Value;
use url::Url;

use super::discovery::endpoint;
use super::guarded_client::{GuardedClient, Way, host_of};

const OPENID_PATH: &str = "/.well-known/openid-configuration";
const OAUTH_PATH: &str = "/.well-known/oauth-authorization-server";

/// Where a provider publishes what it is.
pub(crate) fn provider_url(issuer: &str) -> Option<Url> {
    format!("{}{OPENID_PATH}", issuer.trim_end_matches('/')).parse().ok()
}

/// Where an authorization server that is no `OpenID` provider does: with the path of the issuer behind it. (RFC 8414, section 3.1)
fn oauth_url(issuer: &str) -> Option<Url> {
    let mut url: Url = issuer.parse().ok()?;
    let path = format!("{OAUTH_PATH}{}", url.path().trim_end_matches('/'));
    url.set_path(&path);
    Some(url)
}

/// Whether it is an `OpenID` provider that publishes something at this URL.
pub(super) fn is_of_openid(url: &Url) -> bool {
    url.path().ends_with(OPENID_PATH)
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

/// What a provider says of itself at this URL, or, if an `OpenID` provider says nothing there, where other authorization servers do.
/// (`OpenID` Connect Discovery 1.0, section 4; RFC 8414, section 3)
///
/// # Errors
///
/// Why it cannot be had or is not usable.
pub(super) async fn discovered(url: &Url, http: &GuardedClient) -> Result<AuthorizationMetadata, String> {
    let get = async |url: &Url| {
        let answer = http.send(Request::new(Method::GET, url.clone())).await;
        answer.map_err(|trouble| trouble.words)
    };
    let (mut place, mut answer) = (url.clone(), get(url).await?);
    let other = url.as_str().strip_suffix(OPENID_PATH).and_then(oauth_url);
    if let Some(other) = other.filter(|_| answer.status == 404) {
        answer = get(&other).await?;
        place = other;
    }
    let host = host_of(url);
    let unusable = |_| format!("what `{host}` publishes is no description of an OpenID provider or authorization server");
    let mut said: Value = serde_json::from_slice(&answer.body).map_err(unusable)?;
    if let Some(members) = said.as_object_mut() {
        // Who lets only devices and clients in has none.
        members.entry("authorization_endpoint").or_insert_with(|| Value::from(""));
    }
    let metadata: AuthorizationMetadata = serde_json::from_value(said).map_err(unusable)?;
    let issuer = metadata.issuer.as_deref().unwrap_or_default();
    if ![provider_url(issuer), oauth_url(issuer)].contains(&Some(place)) {
        return Err(format!("what `{host}` publishes is about another provider"));
    }
    Ok(metadata)
}
