//! How MCP servers are reached, and how they are dealt with.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use crate::Secret;

/// An MCP server that is started as a child process.
#[derive(Clone, PartialEq, Eq)]
pub struct StdioServer {
    /// The program: an absolute path, or a name that is looked for in `PATH`.
    pub command: String,
    /// Its arguments.
    pub args: Vec<String>,
    /// Its environment, beyond the minimum.
    pub env: BTreeMap<String, Secret>,
    /// Where it is started, absolute; `None`: in the directory of the configuration.
    pub cwd: Option<PathBuf>,
}

/// An MCP server over HTTP. The header fields of its requests are `extra_headers`, its credential `auth`.
#[derive(Clone, PartialEq, Eq)]
pub struct HttpServer {
    /// Its endpoint, absolute.
    pub url: String,
    /// How it is spoken to.
    pub transport: HttpTransport,
}

/// How messages of MCP travel over HTTP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HttpTransport {
    /// Streamable HTTP, and HTTP with SSE where the server knows only that.
    Auto,
    /// Streamable HTTP. (MCP 2025-03-26 and later.)
    Streamable,
    /// HTTP with SSE. (MCP 2024-11-05.)
    Sse,
}

/// How an MCP server is dealt with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UpstreamSettings {
    /// `era`. Default `auto`.
    pub era: Era,
    /// `start_timeout`: until it has answered the first request. Default 60 s, since `npx` may have to install it.
    pub start_timeout: Duration,
    /// `timeout`: until a call has ended; progress does not prolong it. Default 120 s.
    pub call_timeout: Duration,
    /// `concurrency`: calls at the same time; further ones wait. Default 16, for an API 64.
    pub concurrency: u32,
    /// `max_answer_bytes`: a larger answer of a call is an error. Default 16 MiB.
    pub answer_bytes: usize,
    /// `pin`: tools whose description or schema changed are held back until a person confirms them. Default false.
    pub is_pinned: bool,
    /// `oauth`: how a person logs in there.
    pub oauth: OAuthSettings,
}

/// How a person logs in to an MCP server over HTTP, or to an API by a scheme of its document. By default all of it is found out from the server.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OAuthSettings {
    /// `oauth: false`: nobody logs in there, and no login is used.
    pub is_off: bool,
    /// `client_id`, if this client was registered there before; else it registers itself.
    pub client_id: Option<String>,
    /// `client_secret` of that client.
    pub client_secret: Option<Secret>,
    /// `client_metadata_url`: an https URL where this client is described, which is its name where the authorization server
    /// takes such. (MCP 2025-11-25, Client ID Metadata Documents.)
    pub client_metadata_url: Option<String>,
    /// `redirect_uri`: a URL of this machine. Default `http://127.0.0.1:PORT/callback` with a port that is free.
    pub redirect_uri: Option<String>,
    /// `token_url`: where the document of an API is not believed about where codes and the client's secret go.
    pub token_url: Option<String>,
    /// `device_authorization_url`: where devices ask for a code, if the document of an API does not say it, or is not believed.
    pub device_authorization_url: Option<String>,
    /// `scopes` that are asked for; empty: those that the server names.
    pub scopes: Vec<String>,
}

impl Default for UpstreamSettings {
    fn default() -> Self {
        Self {
            era: Era::Auto,
            start_timeout: Duration::from_mins(1),
            call_timeout: Duration::from_mins(2),
            concurrency: 16,
            answer_bytes: 16 << 20,
            is_pinned: false,
            oauth: OAuthSettings::default(),
        }
    }
}

/// Which revisions of MCP an MCP server is spoken to in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Era {
    /// What the server takes.
    Auto,
    /// With `initialize`, up to 2025-11-25.
    Legacy,
    /// Without, from 2026-07-28 on.
    Modern,
}

/// Arguments and variables can hold keys.
impl fmt::Debug for StdioServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StdioServer")
            .field("command", &self.command.split_whitespace().next().unwrap_or_default())
            .finish_non_exhaustive()
    }
}

/// A URL can hold keys.
impl fmt::Debug for HttpServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpServer")
            .field("transport", &self.transport)
            .finish_non_exhaustive()
    }
}
