//! Telling the authorization server that a login has ended. (RFC 7009)

use oauth2::TokenResponse as _;
use reqwest::Request;
use url::form_urlencoded::Serializer;

use super::client::signed_form;
use super::discovery::member;
use super::grant::Grant;
use super::guarded_client::GuardedClient;

/// Takes the tokens back, where the authorization server offers that. That it does not work keeps nobody from logging out.
pub(super) async fn revoke(grant: &Grant, http: &GuardedClient) {
    let Some(request) = request(grant) else { return };
    match http.send(request).await {
        Ok(answer) if answer.status < 400 => {}
        Ok(answer) => tracing::warn!("the authorization server did not take the tokens back: status {}", answer.status),
        Err(trouble) => tracing::warn!("the authorization server did not take the tokens back: {trouble}"),
    }
}

/// The refresh token goes if there is one: with it go those that were made of it.
fn request(grant: &Grant) -> Option<Request> {
    let endpoint = member(&grant.metadata, "revocation_endpoint")?.as_str()?;
    let token = grant.credentials.as_ref()?.token_response.as_ref()?;
    let refresh = token.refresh_token().map(|token| token.secret().as_str());
    let mut form = Serializer::new(String::new());
    form.append_pair("token", refresh.unwrap_or(token.access_token().secret()));
    form.append_pair("token_type_hint", if refresh.is_some() { "refresh_token" } else { "access_token" });
    signed_form(endpoint, form, (&grant.client_id, grant.client_secret.as_deref()), &grant.metadata)
}
