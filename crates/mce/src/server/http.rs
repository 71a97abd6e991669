//! MCP over streamable HTTP, at `/mcp`: for clients with sessions and without. (MCP 2025-11-25 and 2026-07-28, Transports.)
//!
//! Web pages of other places are kept out by their `Origin`, names that were made to lead here by `Host`, and everybody by a
//! token where there is one. Without a token only this machine is served.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::http::header::{AUTHORIZATION, WWW_AUTHENTICATE};
use axum::middleware::{Next, from_fn, from_fn_with_state, map_response};
use axum::response::{IntoResponse, Response};
use mce_broker::read_secret;
use mce_config::{Secret, ServeSettings};
use rmcp::transport::streamable_http_server::session::local::{LocalSessionManager, SessionConfig};
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use sha2::{Digest, Sha256};
use tokio::net::TcpListener;

use super::handler::Handler;
use super::http_body::lift_messages;
use super::long_integers;
use super::standing_client::StandingClient;
use crate::app::App;
use crate::failure::Failure;

/// Bytes of a request: a program or the arguments of a tool.
const MAX_BODY_BYTES: usize = 16 << 20;
/// How long a session lasts of which nothing is heard.
const SESSION_TIME: Duration = Duration::from_mins(30);
/// How long requests under way have after the process was asked to end.
const GRACE: Duration = Duration::from_secs(5);
/// Names of this machine, as `Host` and `Origin` have them.
const LOOPBACK: [&str; 3] = ["localhost", "127.0.0.1", "::1"];
/// Origins of pages of this machine.
const LOOPBACK_ORIGINS: [&str; 6] = [
    "http://localhost:*",
    "http://127.0.0.1:*",
    "http://[::1]:*",
    "https://localhost:*",
    "https://127.0.0.1:*",
    "https://[::1]:*",
];

/// Serves until `ended`, then lets requests under way end, but not for long.
///
/// # Errors
///
/// A failure of type `config` if others than this machine would be served without a token, or the address cannot be used.
pub(crate) async fn serve_http(
    app: &Arc<App>,
    client: Arc<StandingClient>,
    ended: impl Future<Output = ()> + Send + 'static,
) -> Result<(), Failure> {
    let settings = &app.settings().serve;
    demand_token(settings)?;
    let handler = Handler::new(Arc::clone(app), client)?;
    let config = transport_config(settings);
    let stop = config.cancellation_token.clone();
    let service = StreamableHttpService::new(move || Ok(handler.for_another()), Arc::new(sessions()), config);
    let exact = |request, next| long_integers::in_body(MAX_BODY_BYTES, request, next);
    let service = Router::new().nest_service("/mcp", service);
    let mut router = service.layer(from_fn(exact)).layer(map_response(lift_messages));
    if let Some(token) = &settings.http_token {
        let token = read_secret(token).await;
        let token = token.map_err(|reason| Failure::new("config", format!("`http_token` cannot be read: {reason}")))?;
        router = router.layer(from_fn_with_state(digest_of(&token), demand));
    }
    let refused = |error: std::io::Error| Failure::new("config", format!("`{}:{}`: {error}", settings.host, settings.port));
    let listener = TcpListener::bind((settings.host.as_str(), settings.port)).await.map_err(refused)?;
    let address = listener.local_addr().map_err(refused)?;
    tracing::info!("serving MCP at http://{address}/mcp");
    let end = app.end();
    let (stopping, stopped) = tokio::sync::oneshot::channel::<()>();
    let serving = axum::serve(listener, router).with_graceful_shutdown(async move {
        ended.await;
        // Streams that wait for notices, and programs that run, would not end by themselves.
        stop.cancel();
        let _ = end.send_replace(true);
        let _ = stopping.send(());
    });
    tokio::select! {
        served = serving => served.map_err(Failure::internal),
        () = async { let _ = stopped.await; tokio::time::sleep(GRACE).await } => Ok(()),
    }
}

/// # Errors
///
/// A failure of type `config` if there is no token, and the host is not this machine alone.
fn demand_token(settings: &ServeSettings) -> Result<(), Failure> {
    if settings.http_token.is_some() || is_loopback(&settings.host) {
        return Ok(());
    }
    let message = format!("at `{}` others than this machine would be served without a token", settings.host);
    Err(Failure::new("config", message).with_hint("set `MCE_HTTP_TOKEN`, or use `--host 127.0.0.1`"))
}

fn is_loopback(host: &str) -> bool {
    host.eq_ignore_ascii_case("localhost") || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

fn transport_config(settings: &ServeSettings) -> StreamableHttpServerConfig {
    let hosts = LOOPBACK.into_iter().chain([settings.host.as_str()]).map(str::to_owned);
    let hosts = hosts.chain(settings.http_allowed_hosts.iter().cloned());
    let origins = LOOPBACK_ORIGINS.into_iter().map(str::to_owned);
    let config = StreamableHttpServerConfig::default()
        .with_json_response(true)
        .with_max_request_body_bytes(MAX_BODY_BYTES)
        .with_allowed_origins(origins.chain(settings.http_allowed_origins.iter().cloned()))
        .enforce_origin_validation();
    let is_any = settings.host.parse::<IpAddr>().is_ok_and(|address| address.is_unspecified());
    if is_any && settings.http_allowed_hosts.is_empty() {
        // Nobody said by which names it is reached; who comes by a name that leads astray has no token.
        config.disable_allowed_hosts()
    } else {
        config.with_allowed_hosts(hosts)
    }
}

fn sessions() -> LocalSessionManager {
    let mut config = SessionConfig::default();
    config.keep_alive = Some(SESSION_TIME);
    let mut sessions = LocalSessionManager::default();
    sessions.session_config = config;
    sessions
}

/// Hashes are compared, so that the time it takes tells nothing.
type TokenDigest = [u8; 32];

#[expect(clippy::disallowed_methods, reason = "it is compared with what clients send, and goes nowhere")]
fn digest_of(token: &Secret) -> TokenDigest {
    Sha256::digest(token.expose().as_bytes()).into()
}

/// Refuses who does not have the token. (RFC 6750)
async fn demand(State(expected): State<TokenDigest>, request: Request, next: Next) -> Response {
    let field = request.headers().get(AUTHORIZATION).and_then(|field| field.to_str().ok());
    let token = field.and_then(|field| {
        let (scheme, token) = field.split_once(' ')?;
        scheme.eq_ignore_ascii_case("bearer").then_some(token.trim())
    });
    let is_right = token.is_some_and(|token| <TokenDigest>::from(Sha256::digest(token.as_bytes())) == expected);
    if is_right {
        return next.run(request).await;
    }
    (StatusCode::UNAUTHORIZED, [(WWW_AUTHENTICATE, "Bearer")]).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_this_machine_is_served_without_a_token() {
        for (host, is) in [("127.0.0.1", true), ("localhost", true), ("::1", true), ("127.1.2.3", true)] {
            assert_eq!(is_loopback(host), is, "{host}");
        }
        for host in ["0.0.0.0", "::", "192.168.1.2", "localhost.example.com", ""] {
            assert!(!is_loopback(host), "{host}");
        }
    }
}
