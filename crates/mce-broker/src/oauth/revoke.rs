//! Telling the authorization server that a login has ended. (RFC 7009)

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use oauth2::TokenResponse as _;
use reqwest::header::{AUTHORIZATION, CONTENT_TYPE, HeaderValue};
use reqwest::{Method, Request};
use url::form_urlencoded::{Serializer, byte_serialize};

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
    let endpoint = grant.metadata.additional_fields.get("revocation_endpoint")?.as_str()?;
    let token = grant.credentials.as_ref()?.token_response.as_ref()?;
    let refresh = token.refresh_token().map(|token| token.secret().as_str());
    let mut form = Serializer::new(String::new());
    form.append_pair("token", refresh.unwrap_or(token.access_token().secret()));
    form.append_pair("token_type_hint", if refresh.is_some() { "refresh_token" } else { "access_token" });
    form.append_pair("client_id", &grant.client_id);
    let mut request = Request::new(Method::POST, endpoint.parse().ok()?);
    if let Some(secret) = &grant.client_secret {
        if takes_basic(grant) {
            let part = |text: &str| byte_serialize(text.as_bytes()).collect::<String>();
            let pair = STANDARD.encode(format!("{}:{}", part(&grant.client_id), part(secret)));
            let mut value = HeaderValue::from_str(&format!("Basic {pair}")).ok()?;
            value.set_sensitive(true);
            request.headers_mut().insert(AUTHORIZATION, value);
        } else {
            form.append_pair("client_secret", secret);
        }
    }
    request
        .headers_mut()
        .insert(CONTENT_TYPE, HeaderValue::from_static("application/x-www-form-urlencoded"));
    *request.body_mut() = Some(form.finish().into());
    Some(request)
}

/// As for tokens: Basic, unless only the other way is offered. (RFC 8414, 2: Basic is the default.)
fn takes_basic(grant: &Grant) -> bool {
    let methods = grant.metadata.additional_fields.get("token_endpoint_auth_methods_supported");
    let has = |name: &str| {
        methods
            .and_then(|methods| methods.as_array())
            .is_some_and(|methods| methods.iter().any(|method| method == name))
    };
    has("client_secret_basic") || !has("client_secret_post")
}
