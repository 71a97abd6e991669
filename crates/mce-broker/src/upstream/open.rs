//! Opening a connection: the transport, and the revision of the protocol that both speak.

use std::path::Path;
use std::sync::Arc;

use mce_config::{Era, Origin, ServerSettings, StdioServer};
use rmcp::model::ProtocolVersion;
use rmcp::service::{ClientInitializeError, ClientLifecycleMode, RunningService, serve_client_with_lifecycle};
use rmcp::transport::IntoTransport;
use rmcp::{ClientCacheConfig, RoleClient};
use tokio::sync::{Mutex, broadcast};
use tokio::time::timeout;

use super::child;
use super::client_requests::ClientRequests;
use super::connection::{Connection, MAX_LIST_BYTES, end_of};
use super::handler::{Handler, ProgressSinks};
use super::notes::Notes;
use super::pipe_transport::PipeTransport;
use super::raw_answers::RawAnswers;
use super::upstream_error::{UpstreamError, UpstreamStep};

/// Bytes of a message beside its result.
const MESSAGE_FRAME_BYTES: usize = 64 << 10;

/// All that is needed to open connections to one server.
#[derive(Debug)]
pub(super) struct Opening {
    pub(super) settings: ServerSettings,
    pub(super) directory: Arc<Path>,
    pub(super) client: Arc<dyn ClientRequests>,
    pub(super) notes: Arc<Notes>,
    pub(super) changed: broadcast::Sender<String>,
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
        let era = match self.settings.upstream.era {
            Era::Auto => known.unwrap_or(Era::Auto),
            era @ (Era::Legacy | Era::Modern) => era,
        };
        let other = match era {
            Era::Auto => {
                let refused = match self.try_era(Era::Legacy).await {
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
        match self.try_era(other).await {
            Ok(connection) => Ok((connection, other)),
            Err(Failed::Refused(error) | Failed::Otherwise(error)) => Err(error),
        }
    }

    async fn try_era(&self, era: Era) -> Result<Connection, Failed> {
        match &self.settings.origin {
            Origin::McpStdio(server) => self.over_pipes(server, era).await,
            Origin::McpHttp(_) | Origin::OpenApi(_) => Err(Failed::Otherwise(UpstreamError::NotConfigured {
                server: self.settings.name.clone(),
            })),
        }
    }

    async fn over_pipes(&self, server: &StdioServer, era: Era) -> Result<Connection, Failed> {
        let name = &self.settings.name;
        let started = child::start(name, server, &self.directory, &self.notes).await;
        let (process, pipes) = started.map_err(|error| {
            Failed::Otherwise(UpstreamError::CannotStart {
                server: name.clone(),
                reason: reason(&error),
                internal: format!("`{}`: {error}", server.command),
            })
        })?;
        let ended = process.end();
        let answers = Arc::<RawAnswers>::default();
        let line_bytes = self.settings.upstream.answer_bytes.max(MAX_LIST_BYTES) + MESSAGE_FRAME_BYTES;
        let transport = PipeTransport::new(name, (process, pipes), line_bytes, Arc::clone(&answers), Arc::clone(&self.notes));
        let (service, progress) = match self.shake_hands(transport, era).await {
            Ok(connected) => connected,
            Err(Failed::Otherwise(UpstreamError::Exited { server, .. })) => {
                let status = end_of(Some(ended)).await;
                return Err(Failed::Otherwise(UpstreamError::Exited { server, status }));
            }
            Err(failed) => return Err(failed),
        };
        Ok(self.connection(service, answers, progress, Some(ended)))
    }

    fn connection(
        &self,
        service: RunningService<RoleClient, Handler>,
        answers: Arc<RawAnswers>,
        progress: Arc<ProgressSinks>,
        ended: Option<tokio::sync::watch::Receiver<Option<std::process::ExitStatus>>>,
    ) -> Connection {
        Connection {
            server: self.settings.name.as_str().into(),
            peer: service.peer().clone(),
            service: Mutex::new(service),
            answers,
            progress,
            client: Arc::clone(&self.client),
            ended,
            answer_bytes: self.settings.upstream.answer_bytes,
        }
    }

    async fn shake_hands<T, E, A>(
        &self,
        transport: T,
        era: Era,
    ) -> Result<(RunningService<RoleClient, Handler>, Arc<ProgressSinks>), Failed>
    where
        T: IntoTransport<RoleClient, E, A>,
        E: std::error::Error + Send + Sync + 'static,
    {
        let progress = Arc::<ProgressSinks>::default();
        let handler = Handler {
            server: self.settings.name.as_str().into(),
            client: Arc::clone(&self.client),
            progress: Arc::clone(&progress),
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
            return Err(Failed::Otherwise(UpstreamError::NotInTime {
                server: server(),
                step: UpstreamStep::Start,
                limit,
            }));
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
        Ok((service, progress))
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
