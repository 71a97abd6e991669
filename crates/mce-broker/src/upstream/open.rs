//! Opening a connection: the transport, and the revision of the protocol that both speak.

use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use mce_config::{ConnectionSettings, Era, HttpServer, HttpTransport, Origin, ServerSettings, StdioServer};
use reqwest::header::HeaderMap;
use rmcp::model::ProtocolVersion;
use rmcp::service::{ClientInitializeError, ClientLifecycleMode, RunningService, serve_client_with_lifecycle};
use rmcp::transport::streamable_http_client::{StreamableHttpClientTransportConfig, StreamableHttpClientWorker};
use rmcp::transport::{IntoTransport, WorkerTransport};
use rmcp::{ClientCacheConfig, RoleClient};
use tokio::sync::{Mutex, broadcast};
use tokio::time::timeout;

use super::callers::Callers;
use super::changes::{Change, Subscribed};
use super::child;
use super::client_requests::ClientRequests;
use super::connection::{Connection, MAX_LIST_BYTES, end_of};
use super::handler::Handler;
use super::http_client::{HttpClient, HttpFault};
use super::listen::listen;
use super::notes::Notes;
use super::pipe_transport::PipeTransport;
use super::raw_answers::RawAnswers;
use super::reaper::Reaper;
use super::sse_transport::SseTransport;
use super::upstream_error::{UpstreamError, UpstreamStep};
use crate::credential::fields_for;
use crate::http::{field_name, field_value, lasting_client};
use crate::oauth::Session;
use crate::pinned_resolver::PinnedResolver;
use crate::redact::Redactor;
use crate::vault::Vault;

/// Bytes of a message beside its result.
const MESSAGE_FRAME_BYTES: usize = 64 << 10;
/// Until a connection over the network stands.
const CONNECT_TIME: Duration = Duration::from_secs(10);

/// All that is needed to open connections to one server.
#[derive(Debug)]
pub(super) struct Opening {
    pub(super) settings: ServerSettings,
    /// Has the secrets that are not in `settings` yet.
    pub(super) vault: Arc<Vault>,
    pub(super) directory: Arc<Path>,
    /// Who answers what no call caused.
    pub(super) client: Arc<dyn ClientRequests>,
    pub(super) redactor: Arc<Redactor>,
    pub(super) notes: Arc<Notes>,
    pub(super) changed: broadcast::Sender<Change>,
    /// Resources of which somebody wants to know changes.
    pub(super) subscribed: Arc<Subscribed>,
    /// The login there, if one can be made.
    pub(super) session: Option<Arc<Session>>,
    /// Of all servers.
    pub(super) reaper: Arc<Reaper>,
    /// The HTTP client of all servers, made when the first needs it: that takes longer than the program may take to start.
    pub(super) http: Arc<OnceLock<Result<reqwest::Client, String>>>,
    /// Its own one, if it is reached by a way of its own.
    pub(super) own_http: OnceLock<Result<reqwest::Client, String>>,
    /// Where its connections may lead.
    pub(super) resolver: Arc<PinnedResolver>,
}

/// The way a handshake failed.
enum Failed {
    /// It spoke, and would not: another revision may do.
    Refused(UpstreamError),
    Otherwise(UpstreamError),
}

impl Opening {
    /// Opens a connection. `known` is the era in which the server was spoken to before; the one in which it is now comes back.
    ///
    /// Servers with `initialize` come first: all that speak both take it, and it costs those that start slowly nothing.
    ///
    /// # Errors
    ///
    /// Why it cannot be spoken to.
    pub(super) async fn open(&self, known: Option<Era>) -> Result<(Connection, Era), UpstreamError> {
        let filled = self.vault.filled(&self.settings).await;
        let filled = filled.map_err(|error| self.cannot(&error.to_string(), error.internal().to_owned()))?;
        let era = match self.settings.upstream.era {
            Era::Auto => known.unwrap_or(Era::Auto),
            era @ (Era::Legacy | Era::Modern) => era,
        };
        let other = match era {
            Era::Auto => {
                let refused = match self.try_era(&filled, Era::Legacy).await {
                    Ok(connection) => return Ok((connection, Era::Legacy)),
                    Err(Failed::Otherwise(error)) => return Err(error),
                    Err(Failed::Refused(error)) => error,
                };
                tracing::debug!(
                    server = self.settings.name,
                    refused = refused.internal(),
                    "trying without `initialize`"
                );
                Era::Modern
            }
            Era::Legacy | Era::Modern => era,
        };
        match self.try_era(&filled, other).await {
            Ok(connection) => {
                if other == Era::Modern {
                    let (peer, server) = (connection.peer.clone(), self.settings.name.clone());
                    tokio::spawn(listen(peer, server, self.changed.clone(), Arc::clone(&self.subscribed)));
                }
                Ok((connection, other))
            }
            Err(Failed::Refused(error) | Failed::Otherwise(error)) => Err(error),
        }
    }

    /// `filled` are the settings with all secrets.
    async fn try_era(&self, filled: &ServerSettings, era: Era) -> Result<Connection, Failed> {
        match &filled.origin {
            Origin::McpStdio(server) => self.over_pipes(server, era).await,
            Origin::McpHttp(server) => self.over_http((server, filled), era).await,
            Origin::OpenApi(_) | Origin::Recipes(_) => Err(Failed::Otherwise(UpstreamError::NotConfigured {
                server: self.settings.name.clone(),
            })),
        }
    }

    async fn over_pipes(&self, server: &StdioServer, era: Era) -> Result<Connection, Failed> {
        let name = &self.settings.name;
        let started = child::start(name, server, &self.directory, (&self.notes, &self.reaper)).await;
        let (process, pipes) = started.map_err(|error| {
            Failed::Otherwise(UpstreamError::CannotStart {
                server: name.clone(),
                reason: reason(&error),
                internal: format!("`{}`: {error}", server.command),
            })
        })?;
        let ended = process.end();
        let answers = Arc::<RawAnswers>::default();
        let transport = PipeTransport::new(
            name,
            (process, pipes),
            self.message_bytes(),
            Arc::clone(&answers),
            Arc::clone(&self.notes),
        );
        let (service, callers) = match self.shake_hands(transport, era, &answers).await {
            Ok(connected) => connected,
            Err(Failed::Otherwise(UpstreamError::Exited { server, .. })) => {
                let status = end_of(Some(ended)).await;
                return Err(Failed::Otherwise(UpstreamError::Exited { server, status }));
            }
            Err(failed) => return Err(failed),
        };
        Ok(self.connection((service, callers), answers, era, Some(ended)))
    }

    async fn over_http(&self, (server, filled): (&HttpServer, &ServerSettings), era: Era) -> Result<Connection, Failed> {
        let client = self.http_client(filled).map_err(Failed::Otherwise)?;
        let answers = Arc::clone(&client.answers);
        if server.transport == HttpTransport::Sse {
            return self.over_sse(server, client).await;
        }
        let mut config = StreamableHttpClientTransportConfig::with_uri(server.url.as_str());
        config.max_concurrent_requests = usize::try_from(self.settings.upstream.concurrency.max(1)).unwrap_or(1);
        let worker = StreamableHttpClientWorker::new(client.clone(), config);
        let shaken = self.shake_hands(WorkerTransport::spawn(worker), era, &answers).await;
        match (shaken, answers.take_fault()) {
            (Ok((service, callers)), _) => Ok(self.connection((service, callers), answers, era, None)),
            // So a client tells a server that knows only the older transport. (MCP 2025-11-25, Transports, Backwards
            // Compatibility.)
            (Err(_), Some(HttpFault::Status(400 | 404 | 405))) if server.transport == HttpTransport::Auto && era == Era::Legacy => {
                self.over_sse(server, client).await
            }
            (Err(Failed::Otherwise(UpstreamError::Exited { .. } | UpstreamError::Protocol { .. })), Some(fault)) => {
                Err(self.http_failure(fault))
            }
            (Err(failed), _) => Err(failed),
        }
    }

    async fn over_sse(&self, server: &HttpServer, client: HttpClient) -> Result<Connection, Failed> {
        let limit = self.settings.upstream.start_timeout;
        let answers = Arc::clone(&client.answers);
        let Ok(opened) = timeout(limit, SseTransport::open(client, &server.url)).await else {
            return Err(Failed::Otherwise(self.not_in_time()));
        };
        let transport = opened.map_err(|fault| self.http_failure(fault))?;
        let (service, callers) = self.shake_hands(transport, Era::Legacy, &answers).await?;
        Ok(self.connection((service, callers), answers, Era::Legacy, None))
    }

    fn cannot(&self, reason: &str, internal: String) -> UpstreamError {
        UpstreamError::CannotStart {
            server: self.settings.name.clone(),
            reason: reason.to_owned(),
            internal,
        }
    }

    fn http_client(&self, filled: &ServerSettings) -> Result<HttpClient, UpstreamError> {
        let cannot = |reason: &str, internal: String| self.cannot(reason, internal);
        let way = &filled.connection;
        let http = if *way == ConnectionSettings::default() {
            &self.http
        } else {
            &self.own_http
        };
        let made = http.get_or_init(|| lasting_client(CONNECT_TIME, &self.resolver, way));
        let client = made.as_ref().map_err(|error| cannot(error, error.clone()))?;
        let fields = fields_for(filled).map_err(|error| cannot(&error.to_string(), error.internal().to_owned()))?;
        let mut headers = HeaderMap::new();
        for (name, value) in &fields {
            #[expect(clippy::disallowed_methods, reason = "this is where the credentials of a server are meant to go")]
            let field = field_name(name).and_then(|field| Ok((field, field_value(name, value.expose())?)));
            let (field, mut value) = field.map_err(|error| cannot(&error.to_string(), error.internal().to_owned()))?;
            value.set_sensitive(true);
            headers.insert(field, value);
        }
        Ok(HttpClient {
            client: client.clone(),
            way: Arc::new(way.clone()),
            headers,
            session: self.session.clone(),
            is_listening: Arc::new(tokio::sync::watch::Sender::new(false)),
            answers: Arc::new(RawAnswers::with_tools_read()),
            message_bytes: self.message_bytes(),
        })
    }

    fn http_failure(&self, fault: HttpFault) -> Failed {
        Failed::Otherwise(UpstreamError::from_http(&self.settings.name, fault, UpstreamStep::Start))
    }

    /// The longest message that is read.
    fn message_bytes(&self) -> usize {
        self.settings.upstream.answer_bytes.max(MAX_LIST_BYTES) + MESSAGE_FRAME_BYTES
    }

    fn not_in_time(&self) -> UpstreamError {
        UpstreamError::NotInTime {
            server: self.settings.name.clone(),
            step: UpstreamStep::Start,
            limit: self.settings.upstream.start_timeout,
        }
    }

    fn connection(
        &self,
        (service, callers): (RunningService<RoleClient, Handler>, Arc<Callers>),
        answers: Arc<RawAnswers>,
        era: Era,
        ended: Option<tokio::sync::watch::Receiver<Option<std::process::ExitStatus>>>,
    ) -> Connection {
        Connection {
            server: self.settings.name.as_str().into(),
            peer: service.peer().clone(),
            service: Mutex::new(service),
            answers,
            callers,
            era,
            ended,
            answer_bytes: self.settings.upstream.answer_bytes,
        }
    }

    async fn shake_hands<T, E, A>(
        &self,
        transport: T,
        era: Era,
        answers: &Arc<RawAnswers>,
    ) -> Result<(RunningService<RoleClient, Handler>, Arc<Callers>), Failed>
    where
        T: IntoTransport<RoleClient, E, A>,
        E: std::error::Error + Send + Sync + 'static,
    {
        let callers = Callers::new(&self.settings.name, Arc::clone(&self.client), Arc::clone(&self.redactor));
        let callers = Arc::new(callers);
        let handler = Handler {
            callers: Arc::clone(&callers),
            answers: Arc::clone(answers),
            changed: self.changed.clone(),
        };
        let lifecycle = match era {
            Era::Auto | Era::Legacy => ClientLifecycleMode::Initialize,
            Era::Modern => ClientLifecycleMode::Discover {
                preferred_versions: vec![ProtocolVersion::V_2026_07_28],
            },
        };
        let limit = self.settings.upstream.start_timeout;
        let server = || self.settings.name.clone();
        let Ok(shaken) = timeout(limit, serve_client_with_lifecycle(handler, transport, lifecycle)).await else {
            return Err(Failed::Otherwise(self.not_in_time()));
        };
        let mut service = shaken.map_err(|error| self.refusal(&error))?;
        let version = service
            .peer_info()
            .map(|info| info.protocol_version.to_string())
            .unwrap_or_default();
        if !is_known(&version) {
            // An error is a panic of the task that served it, which has ended then.
            let _ = service.close().await;
            return Err(Failed::Refused(UpstreamError::NoCommonVersion {
                server: server(),
                internal: format!("it wants `{}`", version.chars().take(40).collect::<String>()),
            }));
        }
        service.set_response_cache_config(ClientCacheConfig::disabled()).await;
        Ok((service, callers))
    }

    fn refusal(&self, error: &ClientInitializeError) -> Failed {
        let server = self.settings.name.clone();
        match error {
            ClientInitializeError::JsonRpcError(error) => Failed::Refused(UpstreamError::NoCommonVersion {
                server,
                internal: format!("{}: {}", error.code.0, error.message.chars().take(400).collect::<String>()),
            }),
            ClientInitializeError::NoCompatibleProtocolVersion { .. } => Failed::Refused(UpstreamError::NoCommonVersion {
                server,
                internal: "it offers other revisions only".to_owned(),
            }),
            ClientInitializeError::ConnectionClosed(_) | ClientInitializeError::TransportError { .. } => {
                Failed::Otherwise(UpstreamError::Exited { server, status: None })
            }
            _ => Failed::Otherwise(UpstreamError::Protocol {
                server,
                problem: "its first answer is none that the protocol knows".to_owned(),
                step: UpstreamStep::Start,
            }),
        }
    }
}

/// A revision that is spoken here. Clients of rmcp and of the TypeScript SDK have always taken the oldest one, too.
fn is_known(version: &str) -> bool {
    version == "2024-10-07" || ProtocolVersion::KNOWN_VERSIONS.iter().any(|known| known.as_str() == version)
}

/// What went wrong, without the program's name.
fn reason(error: &std::io::Error) -> String {
    match error.kind() {
        std::io::ErrorKind::NotFound => "its program or its directory is not there".to_owned(),
        std::io::ErrorKind::PermissionDenied => "its program may not be executed".to_owned(),
        kind => kind.to_string(),
    }
}
