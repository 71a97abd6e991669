//! Connections to the MCP servers of the settings. rmcp's types do not leave this module.
//!
//! ```text
//! Upstreams ── one Server (link) per name ── open: child process or HTTP, handshake, era
//!                      │                              │
//!                      └── Connection: tools, calls ──┴── rmcp's service ── transport (pipes, …)
//!                              ▲ results as written: RawAnswers        Handler ◀── requests of the server
//! ```

mod bounded_lines;
mod callers;
mod changes;
mod child;
mod client_requests;
mod connection;
mod handler;
mod http_client;
mod link;
mod listen;
mod logins;
mod notes;
mod open;
mod passing;
mod pipe_transport;
mod raw_answers;
mod reaper;
mod sse;
mod sse_transport;
mod streamable_client;
mod upstream_error;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use futures_util::future::BoxFuture;
use mce_config::{ConnectionSettings, Era, Origin, Secret, ServerSettings, Settings};
use rmcp::model::{CancelledNotification, CancelledNotificationParam, ClientNotification, RequestId};
use serde_json::{Map, Value};
use tokio::sync::broadcast;
use url::Url;

pub use changes::{Change, Changed};
pub use client_requests::{
    ClientAbilities, ClientAnswer, ClientRefusal, ClientRequest, ClientRequestKind, ClientRequests, LogLevel, LogMessage, NoClient,
    Progress,
};
pub use connection::{ToolAnswer, ToolList};
pub use passing::{Listed, Passed};
pub use upstream_error::{UpstreamError, UpstreamStep};

use crate::base_url::BaseUrl;
use crate::call_error::CallError;
use crate::credential::has_credential;
use crate::oauth::{Session, SessionPlace, Way};
use crate::pinned_resolver::PinnedResolver;
use crate::redact::{Learned, Redactor};
use crate::vault::Vault;
use connection::{Call, Connection};
pub(crate) use link::CallPlace;
use link::{Seen, Server};
use notes::Notes;
use open::Opening;

/// Changes that are kept for a receiver that does not read them.
const CHANGES_KEPT: usize = 256;

/// The MCP servers of the settings. Each is connected when it is first needed. One for the process.
#[derive(Debug)]
pub struct Upstreams {
    servers: BTreeMap<String, Arc<Server>>,
    changed: broadcast::Sender<Change>,
    redactor: Arc<Redactor>,
    /// Tokens of logins.
    learned: Arc<Learned>,
    vault: Arc<Vault>,
    /// The APIs that a person may log in to, by name, and the login there.
    apis: BTreeMap<String, (ServerSettings, Arc<Session>)>,
    /// Names of the others.
    other_apis: BTreeSet<String>,
}

/// One call of a tool.
pub struct ToolCall<'a> {
    /// The server's name in the settings.
    pub server: &'a str,
    /// The tool's own name.
    pub tool: &'a str,
    /// Its arguments, checked by the caller.
    pub arguments: Map<String, Value>,
    /// The client's request for which it is made; none: whoever answers what no call caused.
    pub client: Option<&'a Arc<dyn ClientRequests>>,
}

/// An MCP server as it is now.
#[derive(Debug, Clone)]
pub struct UpstreamState {
    /// Its name in the settings.
    pub server: String,
    /// Whether it is connected.
    pub status: UpstreamStatus,
    /// What it printed last, oldest first; without secrets of the settings.
    pub printed: Vec<String>,
}

/// Whether an MCP server is connected.
#[derive(Debug, Clone)]
pub enum UpstreamStatus {
    /// Nobody needed it yet, or its connection broke and nobody needed it since.
    NotStarted,
    /// It is being started or connected to.
    Starting,
    /// It answers.
    Connected {
        /// `legacy` or `modern`.
        era: Era,
        /// The revision of the protocol.
        protocol: String,
        /// The name it gives itself.
        name: String,
        /// Its version.
        version: String,
    },
    /// It could not be used.
    Failed {
        /// Why.
        error: Arc<UpstreamError>,
        /// How long a call fails at once, until it is tried again.
        retry_in: Duration,
    },
    /// [`Upstreams::close`] was called.
    Closed,
}

/// Characters of what a server calls itself.
const MAX_SAID_CHARS: usize = 200;

impl Upstreams {
    /// The MCP servers of these settings. Starts nothing.
    pub fn new(settings: &Settings) -> Self {
        Self::with_client(settings, &(Arc::new(NoClient) as Arc<dyn ClientRequests>))
    }

    /// As [`Upstreams::new`], with a client that answers what no call caused.
    pub fn with_client(settings: &Settings, client: &Arc<dyn ClientRequests>) -> Self {
        let (changed, _) = broadcast::channel(CHANGES_KEPT);
        let learned = Arc::<Learned>::default();
        let redactor = Arc::new(Redactor::with_places(&settings.servers).learning(&learned));
        let resolver = Arc::new(PinnedResolver::of(&settings.servers, &settings.allowed_domains));
        let vault = Arc::new(Vault::new(&settings.servers, Arc::clone(&learned)));
        let http = Arc::default();
        let reaper = Arc::default();
        let is_upstream = |server: &&ServerSettings| match server.origin {
            Origin::McpStdio(_) | Origin::McpHttp(_) => true,
            Origin::OpenApi(_) | Origin::Recipes(_) => false,
        };
        let servers = settings.servers.iter().filter(is_upstream).map(|server| {
            let opening = Opening {
                settings: server.clone(),
                vault: Arc::clone(&vault),
                directory: settings.base_dir.as_path().into(),
                client: Arc::clone(client),
                redactor: Arc::clone(&redactor),
                notes: Arc::new(Notes::new(&redactor)),
                changed: changed.clone(),
                subscribed: Arc::default(),
                http: Arc::clone(&http),
                own_http: OnceLock::new(),
                resolver: Arc::clone(&resolver),
                reaper: Arc::clone(&reaper),
                session: session(settings, server, &learned, &vault),
            };
            (server.name.clone(), Server::new(opening))
        });
        let apis = settings.servers.iter().filter_map(|server| {
            let session = api_session(settings, server, &learned, &vault)?;
            Some((server.name.clone(), (server.clone(), session)))
        });
        let apis: BTreeMap<_, _> = apis.collect();
        let all = settings.servers.iter().filter(|server| !is_upstream(server));
        let other_apis = all
            .map(|server| server.name.clone())
            .filter(|name| !apis.contains_key(name))
            .collect();
        Self {
            apis,
            other_apis,
            servers: servers.collect(),
            changed,
            redactor,
            learned,
            vault,
        }
    }

    /// What has secrets that are read when they are needed.
    pub(crate) const fn vault(&self) -> &Arc<Vault> {
        &self.vault
    }

    /// What cuts secrets and places of the settings out of answers.
    pub(crate) const fn redactor(&self) -> &Arc<Redactor> {
        &self.redactor
    }

    /// Secrets that become known while connections are used.
    pub(crate) const fn learned(&self) -> &Arc<Learned> {
        &self.learned
    }

    /// By what way a server is reached, with its secrets, which are read only if the way needs one.
    ///
    /// # Errors
    ///
    /// If one cannot be read.
    pub(crate) async fn way_to(&self, server: &ServerSettings) -> Result<ConnectionSettings, CallError> {
        let own = server.connection.client_key.iter().chain(&server.connection.proxy);
        if own.flat_map(Secret::sources).next().is_none() {
            return Ok(server.connection.clone());
        }
        Ok(self.vault.filled(server).await?.connection.clone())
    }

    /// All tools of a server, as it writes them but for secrets and base URLs of the settings.
    ///
    /// # Errors
    ///
    /// If it cannot be reached, does not list them in time, or lists too many.
    pub async fn list_tools(&self, server: &str) -> Result<ToolList, UpstreamError> {
        let work = |connection: Arc<Connection>| -> BoxFuture<'static, _> { Box::pin(async move { connection.list_tools().await }) };
        let mut list = self.server(server)?.ask(UpstreamStep::List, work).await?;
        list.tools = list.tools.into_iter().map(|tool| self.without_secrets(tool)).collect();
        list.title = self.redactor.text(&list.title).into_owned();
        list.instructions = self.redactor.text(&list.instructions).into_owned();
        Ok(list)
    }

    /// Calls a tool. Dropping the future tells the server that nobody waits any more.
    ///
    /// # Errors
    ///
    /// If the tool did not answer; [`UpstreamError::may_have_effects`] says whether it may have worked. An answer that says
    /// that the tool failed is no error of this.
    pub async fn call_tool(&self, call: ToolCall<'_>) -> Result<ToolAnswer, UpstreamError> {
        let _place = self.place(call.server).await?;
        self.call_tool_in_place(call).await
    }

    /// Waits until one call more of a server's tools may be under way.
    pub(crate) async fn place(&self, server: &str) -> Result<CallPlace, UpstreamError> {
        self.server(server)?.place().await
    }

    /// As [`Upstreams::call_tool`], of one who has a place and keeps it until then.
    pub(crate) async fn call_tool_in_place(&self, call: ToolCall<'_>) -> Result<ToolAnswer, UpstreamError> {
        let server = self.server(call.server)?;
        let call = Call {
            tool: call.tool,
            arguments: &call.arguments,
            client: call.client.unwrap_or(&server.opening.client),
        };
        server.call(&call).await
    }

    /// Connects to a server now, also if it failed a moment ago.
    ///
    /// # Errors
    ///
    /// Why it cannot be used.
    pub async fn connect(&self, server: &str) -> Result<(), UpstreamError> {
        let server = self.server(server)?;
        server.retry();
        server.connection().await.map(|_| ())
    }

    /// The state of each server, by name.
    pub fn states(&self) -> Vec<UpstreamState> {
        let states = self.servers.iter().map(|(name, server)| UpstreamState {
            server: name.clone(),
            status: self.status(server.seen()),
            printed: server.opening.notes.lines(),
        });
        states.collect()
    }

    /// Tells servers with `initialize` that the client has other folders now.
    pub async fn tell_roots_changed(&self) {
        futures_util::future::join_all(self.connected().map(async |connection| connection.tell_roots_changed().await)).await;
    }

    /// Tells servers with `initialize` which log messages the client between its requests wants now.
    pub async fn tell_log_level(&self) {
        futures_util::future::join_all(self.connected().map(async |connection| connection.tell_log_level().await)).await;
    }

    fn connected(&self) -> impl Iterator<Item = Arc<Connection>> {
        self.servers.values().filter_map(|server| match server.seen() {
            Seen::Up(connection, _) => Some(connection),
            Seen::Down | Seen::Opening | Seen::Failed { .. } | Seen::Closed => None,
        })
    }

    /// What may have changed: servers said so, or were connected anew. A receiver that lags behind should list all.
    pub fn changed(&self) -> broadcast::Receiver<Change> {
        self.changed.subscribe()
    }

    /// Ends all connections, and all processes that were started. Nothing can be called afterwards.
    pub async fn close(&self) {
        let closing = self.servers.values().map(|server| server.close());
        futures_util::future::join_all(closing).await;
    }

    /// What a server says of itself is kept without secrets, in short.
    fn status(&self, seen: Seen) -> UpstreamStatus {
        match seen {
            Seen::Down => UpstreamStatus::NotStarted,
            Seen::Opening => UpstreamStatus::Starting,
            Seen::Failed { error, retry_in } => UpstreamStatus::Failed { error, retry_in },
            Seen::Closed => UpstreamStatus::Closed,
            Seen::Up(connection, era) => {
                let said = |text: &str| self.redactor.text(text).chars().take(MAX_SAID_CHARS).collect::<String>();
                let info = connection.info();
                let itself = info.as_ref().and_then(|info| info.server_info.as_ref());
                UpstreamStatus::Connected {
                    era,
                    protocol: info.as_ref().map(|info| info.protocol_version.to_string()).unwrap_or_default(),
                    name: itself.map(|itself| said(&itself.name)).unwrap_or_default(),
                    version: itself.map(|itself| said(&itself.version)).unwrap_or_default(),
                }
            }
        }
    }

    fn server(&self, name: &str) -> Result<&Arc<Server>, UpstreamError> {
        let server = self
            .servers
            .get(name)
            .ok_or_else(|| UpstreamError::NotConfigured { server: name.to_owned() })?;
        match server.opening.settings.unresolved.first() {
            Some(missing) => Err(UpstreamError::Unresolved {
                server: name.to_owned(),
                variable: missing.variable.clone(),
            }),
            None => Ok(server),
        }
    }
}

/// The login that an MCP server may want: over HTTP, unless another credential is configured.
fn session(settings: &Settings, server: &ServerSettings, learned: &Arc<Learned>, vault: &Arc<Vault>) -> Option<Arc<Session>> {
    let Origin::McpHttp(http) = &server.origin else { return None };
    let url: Url = http.url.parse().ok()?;
    let is_wanted = !server.upstream.oauth.is_off && !has_credential(server) && url.username().is_empty();
    is_wanted.then(|| session_at(settings, server, (learned, vault), url))
}

/// The login that an API may want. Its tokens go to the host that a person configured.
fn api_session(settings: &Settings, server: &ServerSettings, learned: &Arc<Learned>, vault: &Arc<Vault>) -> Option<Arc<Session>> {
    let Origin::OpenApi(_) = &server.origin else { return None };
    let base = BaseUrl::parse(server.base_url.as_deref()?)?;
    let is_wanted = !server.upstream.oauth.is_off && !has_credential(server);
    is_wanted.then(|| session_at(settings, server, (learned, vault), base.origin))
}

fn session_at(settings: &Settings, server: &ServerSettings, (learned, vault): (&Arc<Learned>, &Arc<Vault>), url: Url) -> Arc<Session> {
    Arc::new(Session::new(SessionPlace {
        data_dir: &settings.data_dir,
        server: &server.name,
        url,
        oauth: server.upstream.oauth.clone(),
        allowed_domains: &settings.allowed_domains,
        way: Way::Of(Box::new(server.clone()), Arc::clone(vault)),
        is_api: matches!(server.origin, Origin::OpenApi(_)),
        learned: Arc::clone(learned),
    }))
}

fn cancellation(id: RequestId) -> ClientNotification {
    let params = CancelledNotificationParam::new(Some(id), Some("nobody waits for it any more".to_owned()));
    ClientNotification::CancelledNotification(CancelledNotification::new(params))
}

impl fmt::Debug for ToolCall<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ToolCall")
            .field("server", &self.server)
            .field("tool", &self.tool)
            .finish_non_exhaustive()
    }
}
