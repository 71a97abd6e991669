//! What this client is called at an authorization server, and how it proves that.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use mce_config::OAuthSettings;
use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderValue};
use reqwest::{Method, Request};
use rmcp::transport::auth::{AuthorizationManager, AuthorizationMetadata};
use serde::Deserialize;
use serde_json::{Value, json};
use url::form_urlencoded::{Serializer, byte_serialize};

use super::discovery::member;
use super::guarded_client::{GuardedClient, plain};

/// The name that people see where they are asked whether they agree.
const CLIENT_NAME: &str = "mce";

/// What this client is called at an authorization server.
pub(super) struct Client {
    pub(super) id: String,
    pub(super) secret: Option<String>,
}

/// How tokens are asked for. (RFC 7591, section 2, `grant_types`)
#[derive(Clone, Copy)]
pub(super) enum GrantKind<'a> {
    /// By a code that the browser brings to this URL.
    Code(&'a str),
    /// By a code that a person types elsewhere.
    Device,
}

/// RFC 7591, section 3.2.1.
#[derive(Deserialize)]
struct Registered {
    client_id: String,
    client_secret: Option<String>,
}

/// A client that is registered already, else its document, else a new registration. (MCP 2025-11-25, Client Registration
/// Approaches)
///
/// A registration is never used again: it holds the port of this login.
///
/// # Errors
///
/// Why there is none.
pub(super) async fn client(
    oauth: &OAuthSettings,
    manager: &mut AuthorizationManager,
    (kind, scopes, metadata): (GrantKind<'_>, &[String], &AuthorizationMetadata),
    http: &GuardedClient,
) -> Result<Client, String> {
    #[expect(
        clippy::disallowed_methods,
        reason = "it is sent to the authorization server that the person registered with"
    )]
    if let Some(id) = &oauth.client_id {
        return Ok(Client {
            id: id.clone(),
            secret: oauth.client_secret.as_ref().map(|secret| secret.expose().to_owned()),
        });
    }
    let takes_documents = member(metadata, "client_id_metadata_document_supported").and_then(Value::as_bool);
    if let (Some(url), Some(true)) = (&oauth.client_metadata_url, takes_documents) {
        return Ok(Client {
            id: url.clone(),
            secret: None,
        });
    }
    let Some(endpoint) = &metadata.registration_endpoint else {
        return Err("it has no registration of clients by themselves".to_owned());
    };
    match kind {
        GrantKind::Code(redirect_uri) => {
            let scopes: Vec<&str> = scopes.iter().map(String::as_str).collect();
            let registered = manager.register_client(CLIENT_NAME, redirect_uri, &scopes).await;
            let registered = registered.map_err(|error| plain(&error.to_string()))?;
            Ok(Client {
                id: registered.client_id,
                secret: registered.client_secret,
            })
        }
        GrantKind::Device => register_device(endpoint, scopes, http).await,
    }
}

/// Registers a client that has no browser, which rmcp does not do.
async fn register_device(endpoint: &str, scopes: &[String], http: &GuardedClient) -> Result<Client, String> {
    let mut wanted = json!({
        "client_name": CLIENT_NAME, "application_type": "native", "token_endpoint_auth_method": "none",
        "grant_types": [super::device::GRANT_TYPE, "refresh_token"], "response_types": [], "redirect_uris": [],
    });
    if !scopes.is_empty() {
        wanted["scope"] = Value::from(scopes.join(" "));
    }
    let mut request = Request::new(Method::POST, endpoint.parse().map_err(|_| "its registration is no URL".to_owned())?);
    request
        .headers_mut()
        .insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    *request.body_mut() = Some(wanted.to_string().into());
    let answer = http.send(request).await.map_err(|trouble| trouble.words)?;
    let registered: Registered = serde_json::from_slice(&answer.body).map_err(|_| format!("status {}", answer.status))?;
    Ok(Client {
        id: registered.client_id,
        secret: registered.client_secret,
    })
}

/// A form to the authorization server, in which the client names itself and proves it: by Basic, unless only the other way is
/// offered. (RFC 6749, 2.3.1; RFC 8414, 2: Basic is the default.)
///
/// `None` if the endpoint is no URL, or the secret cannot be sent.
pub(super) fn signed_form(
    endpoint: &str,
    mut form: Serializer<'_, String>,
    (id, secret): (&str, Option<&str>),
    metadata: &AuthorizationMetadata,
) -> Option<Request> {
    form.append_pair("client_id", id);
    let mut request = Request::new(Method::POST, endpoint.parse().ok()?);
    if let Some(secret) = secret {
        if takes_basic(metadata) {
            let part = |text: &str| byte_serialize(text.as_bytes()).collect::<String>();
            let pair = STANDARD.encode(format!("{}:{}", part(id), part(secret)));
            let mut value = HeaderValue::from_str(&format!("Basic {pair}")).ok()?;
            value.set_sensitive(true);
            request.headers_mut().insert(AUTHORIZATION, value);
        } else {
            form.append_pair("client_secret", secret);
        }
    }
    let headers = request.headers_mut();
    headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/x-www-form-urlencoded"));
    *request.body_mut() = Some(form.finish().into());
    Some(request)
}

fn takes_basic(metadata: &AuthorizationMetadata) -> bool {
    let methods = member(metadata, "token_endpoint_auth_methods_supported");
    let has = |name: &str| {
        methods
            .and_then(|methods| methods.as_array())
            .is_some_and(|methods| methods.iter().any(|method| method == name))
    };
    has("client_secret_basic") || !has("client_secret_post")
}
