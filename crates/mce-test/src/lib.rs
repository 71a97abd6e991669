//! Fakes for tests: an HTTP API that answers as told and keeps what it was sent, byte for byte, and an MCP server that
//! behaves as badly as it is told.

#![expect(clippy::unwrap_used, reason = "test code: a fake that cannot work ends the test")]

mod fake_api;
mod fake_mcp_server;
mod oauth_server;
mod others;
mod ways;

pub use fake_api::{FakeAnswer, FakeApi, ReceivedRequest};
pub use fake_mcp_server::{HttpServerProcess, fake_mcp_server};
pub use oauth_server::OAuthServer;
pub use others::{git_repository, installed_servers};
pub use ways::{Authority, between};
