//! Telling the authorization server that a login has ended. (RFC 7009)

use oauth2::TokenResponse as _;
use reqwest::Request;
use url::Url;
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
    // Where the tokens came from, and nowhere else: whoever wrote the metadata may have named a place of another.
    let origin = |text: &str| text.parse::<Url>().ok().map(|url| url.origin());
    if origin(endpoint)? != origin(&grant.metadata.token_endpoint)? {
        tracing::warn!("the tokens are not taken back: that would be asked for at another place than they came from");
        return None;
    }
    let token = grant.credentials.as_ref()?.token_response.as_ref()?;
    let refresh = token.refresh_token().map(|token| token.secret().as_str());
    let mut form = Serializer::new(String::new());
    form.append_pair("token", refresh.unwrap_or(token.access_token().secret()));
    form.append_pair("token_type_hint", if refresh.is_some() { "refresh_token" } else { "access_token" });
    signed_form(endpoint, form, (&grant.client_id, grant.client_secret.as_deref()), &grant.metadata)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn tokens_are_taken_back_where_they_came_from_and_nowhere_else() {
        let asked = |endpoint: &str| {
            let grant: Grant = serde_json::from_value(json!({
                "server_url": "https://api.example.com/",
                "resource": "https://api.example.com/",
                "metadata": {
                    "issuer": "https://auth.example.com",
                    "authorization_endpoint": "https://auth.example.com/authorize",
                    "token_endpoint": "https://auth.example.com/token",
                    "revocation_endpoint": endpoint,
                },
                "client_id": "client",
                "client_secret": null,
                "credentials": {
                    "client_id": "client",
                    "token_response": {"access_token": "a-token", "token_type": "bearer", "refresh_token": "r-token"},
                    "granted_scopes": [],
                    "token_received_at": null,
                },
            }))
            .unwrap();
            request(&grant).map(|request| request.url().to_string())
        };
        let own = "https://auth.example.com/revoke";
        assert_eq!(asked(own).as_deref(), Some(own));
        for other in [
            "https://evil.example.com/r",
            "https://auth.example.com:8443/r",
            "http://auth.example.com/r",
            "r",
        ] {
            assert_eq!(asked(other), None, "{other}");
        }
    }
}
