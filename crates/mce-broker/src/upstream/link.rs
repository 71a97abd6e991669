//! One server and its connection: opened when first needed, by one for all, and opened again when it broke.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::future::BoxFuture;
use mce_config::{Era, Origin};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::task::AbortHandle;
use tokio::time::{Instant, timeout, timeout_at};

use super::changes::Change;
use super::client_requests::ClientRequests;
use super::connection::{Call, Connection, ToolAnswer};
use super::open::Opening;
use super::upstream_error::{UpstreamError, UpstreamStep};

/// After the first failure; doubles with each further one.
const FIRST_WAIT: Duration = Duration::from_secs(1);
/// How long one that did not answer a call in time may take to answer a ping.
const PING_WAIT: Duration = Duration::from_secs(5);
/// The longest wait between two attempts.
const LONGEST_WAIT: Duration = Duration::from_mins(1);

type Opened = Result<Arc<Connection>, UpstreamError>;

/// Where a connection is.
#[derive(Debug)]
enum Link {
    /// Not needed yet, or broken.
    Down,
    Opening {
        outcome: watch::Receiver<Option<Opened>>,
        task: AbortHandle,
    },
    Up(Arc<Connection>),
    Failed {
        error: Arc<UpstreamError>,
        retry_at: Instant,
    },
    /// For good.
    Closed,
}

#[derive(Debug)]
struct Inner {
    link: Link,
    failures: u32,
    era: Option<Era>,
    was_up: bool,
}

/// A server of the settings.
#[derive(Debug)]
pub(super) struct Server {
    pub(super) opening: Opening,
    // Held for one look; never while something is awaited.
    inner: Mutex<Inner>,
    calls: Arc<Semaphore>,
}

/// The place of one call among those that are under way, until it is dropped.
#[derive(Debug)]
pub(crate) struct CallPlace {
    _permit: Option<OwnedSemaphorePermit>,
}

/// What a server's connection looks like from outside.
#[derive(Debug)]
pub(super) enum Seen {
    Down,
    Opening,
    Up(Arc<Connection>, Era),
    Failed { error: Arc<UpstreamError>, retry_in: Duration },
    Closed,
}

impl Server {
    pub(super) fn new(opening: Opening) -> Arc<Self> {
        let permits = usize::try_from(opening.settings.upstream.concurrency.max(1)).unwrap_or(1);
        let inner = Inner {
            link: Link::Down,
            failures: 0,
            era: None,
            was_up: false,
        };
        Arc::new(Self {
            opening,
            inner: Mutex::new(inner),
            calls: Arc::new(Semaphore::new(permits.min(Semaphore::MAX_PERMITS))),
        })
    }

    fn name(&self) -> String {
        self.opening.settings.name.clone()
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Asks for something that asking does not change; again if the connection breaks.
    pub(super) async fn ask<T>(
        self: &Arc<Self>,
        step: UpstreamStep,
        work: impl Fn(Arc<Connection>) -> BoxFuture<'static, Result<T, UpstreamError>>,
    ) -> Result<T, UpstreamError> {
        let mut is_first = true;
        loop {
            let connection = self.connection().await?;
            let nobody = &self.opening.client;
            let asked = self.within_time(step, nobody, work(Arc::clone(&connection))).await;
            match asked {
                Err(UpstreamError::Disconnected { .. }) if is_first => is_first = false,
                asked => return asked,
            }
            self.drop_broken(&connection);
        }
    }

    fn busy(&self) -> UpstreamError {
        UpstreamError::Busy {
            server: self.name(),
            limit: self.opening.settings.upstream.concurrency,
        }
    }

    /// Waits until one call more may be under way.
    pub(super) async fn place(&self) -> Result<CallPlace, UpstreamError> {
        let acquired = timeout(self.opening.settings.upstream.call_timeout, Arc::clone(&self.calls).acquire_owned()).await;
        // The semaphore is never closed.
        Ok(CallPlace {
            _permit: acquired.map_err(|_| self.busy())?.ok(),
        })
    }

    /// Calls a tool, in a place of its own. It is sent a second time only if the connection had broken before it was sent.
    pub(super) async fn call(self: &Arc<Self>, call: &Call<'_>) -> Result<ToolAnswer, UpstreamError> {
        let settings = &self.opening.settings.upstream;
        let mut is_first = true;
        loop {
            let connection = self.connection().await?;
            let entering = connection.callers.enter(call.client);
            let entered = timeout(settings.call_timeout, entering).await.map_err(|_| self.busy())?;
            let answered = self
                .within_time(UpstreamStep::Call, call.client, connection.call(call, &entered))
                .await;
            drop(entered);
            match answered {
                Err(UpstreamError::Disconnected { was_sent: false, .. }) if is_first => is_first = false,
                Err(UpstreamError::NotInTime { .. }) => {
                    self.end_if_hung(connection);
                    return answered;
                }
                answered => return answered,
            }
            self.drop_broken(&connection);
        }
    }

    /// A process that has not answered in time, and then not a ping either, will answer nothing: the next call starts
    /// another. Over HTTP each request is a connection of its own.
    fn end_if_hung(self: &Arc<Self>, connection: Arc<Connection>) {
        if !matches!(self.opening.settings.origin, Origin::McpStdio(_)) {
            return;
        }
        let server = Arc::clone(self);
        tokio::spawn(async move {
            if !connection.is_closed() && !connection.answers_ping(PING_WAIT).await {
                tracing::warn!(server = server.name(), "an MCP server does not answer any more and is ended");
                server.drop_broken(&connection);
                connection.close().await;
            }
        });
    }

    /// Ends work that takes too long, without the time for which the client is waited for.
    async fn within_time<T>(
        &self,
        step: UpstreamStep,
        client: &Arc<dyn ClientRequests>,
        work: impl Future<Output = Result<T, UpstreamError>>,
    ) -> Result<T, UpstreamError> {
        let settings = &self.opening.settings.upstream;
        let limit = match step {
            // One that is ready lists at once; the person who starts it should not wait for the time of a call.
            UpstreamStep::Start | UpstreamStep::List => settings.call_timeout.min(settings.start_timeout),
            UpstreamStep::Call => settings.call_timeout,
        };
        let (start, before) = (Instant::now(), client.waited());
        let mut waited = Duration::ZERO;
        tokio::pin!(work);
        loop {
            if let Ok(done) = timeout_at(start + limit + waited, &mut work).await {
                return done;
            }
            let waited_now = client.waited().saturating_sub(before);
            if waited_now <= waited {
                return Err(UpstreamError::NotInTime {
                    server: self.name(),
                    step,
                    limit,
                });
            }
            waited = waited_now;
        }
    }

    /// Forgets a connection that broke, if it is still the one in use.
    fn drop_broken(&self, broken: &Arc<Connection>) {
        let mut inner = self.inner();
        if matches!(&inner.link, Link::Up(connection) if Arc::ptr_eq(connection, broken)) {
            inner.link = Link::Down;
        }
    }

    /// The connection, opened if there is none. Whoever needs it meanwhile waits for the same attempt; one who stops waiting
    /// does not stop it.
    pub(super) async fn connection(self: &Arc<Self>) -> Result<Arc<Connection>, UpstreamError> {
        let mut outcome = {
            let mut inner = self.inner();
            match &inner.link {
                Link::Up(connection) if !connection.is_closed() => return Ok(Arc::clone(connection)),
                Link::Opening { outcome, .. } => outcome.clone(),
                Link::Failed { error, retry_at, .. } if *retry_at > Instant::now() && !self.may_be_let_in(error) => {
                    return Err(UpstreamError::NotYet {
                        after: retry_at.saturating_duration_since(Instant::now()),
                        cause: Arc::clone(error),
                    });
                }
                Link::Closed => return Err(UpstreamError::Closed { server: self.name() }),
                Link::Up(_) | Link::Down | Link::Failed { .. } => self.begin(&mut inner),
            }
        };
        let closed = || Err(UpstreamError::Closed { server: self.name() });
        match outcome.wait_for(Option::is_some).await {
            Ok(opened) => opened.clone().unwrap_or_else(closed),
            // The attempt was ended.
            Err(_) => closed(),
        }
    }

    /// Whether what kept it from being used was a login, and there is another now.
    fn may_be_let_in(&self, error: &UpstreamError) -> bool {
        let is_login = matches!(error, UpstreamError::Unauthorized { .. });
        is_login && self.opening.session.as_ref().is_some_and(|session| session.has_changed())
    }

    fn begin(self: &Arc<Self>, inner: &mut Inner) -> watch::Receiver<Option<Opened>> {
        let (sender, outcome) = watch::channel(None);
        let server = Arc::clone(self);
        let known = inner.era;
        let task = tokio::spawn(async move {
            let opened = server.opening.open(known).await;
            sender.send_replace(Some(server.settle(opened)));
        });
        inner.link = Link::Opening {
            outcome: outcome.clone(),
            task: task.abort_handle(),
        };
        outcome
    }

    /// Takes the outcome of an attempt as the state.
    fn settle(&self, opened: Result<(Connection, Era), UpstreamError>) -> Opened {
        let mut inner = self.inner();
        if matches!(inner.link, Link::Closed) {
            return Err(UpstreamError::Closed { server: self.name() });
        }
        match opened {
            Ok((connection, era)) => {
                let connection = Arc::new(connection);
                let subscribed = self.opening.subscribed.uris();
                if era == Era::Legacy && !subscribed.is_empty() {
                    let connection = Arc::clone(&connection);
                    tokio::spawn(async move { connection.subscribe_again(subscribed).await });
                }
                inner.link = Link::Up(Arc::clone(&connection));
                let told = Arc::clone(&connection);
                tokio::spawn(async move { told.tell_log_level().await });
                inner.failures = 0;
                inner.era = Some(era);
                if std::mem::replace(&mut inner.was_up, true) {
                    // All may be others now. Fails if nobody listens.
                    for change in Change::all(&self.name()) {
                        let _ = self.opening.changed.send(change);
                    }
                }
                Ok(connection)
            }
            Err(error) => {
                tracing::warn!(server = self.name(), error = error.internal(), "an MCP server cannot be used");
                let failures = inner.failures;
                inner.failures = failures.saturating_add(1);
                // What it speaks may have changed with its version.
                inner.era = None;
                inner.link = Link::Failed {
                    error: Arc::new(error.clone()),
                    retry_at: Instant::now() + wait_after(failures),
                };
                Err(error)
            }
        }
    }

    /// Forgets that it failed, so that it is tried again at once.
    pub(super) fn retry(&self) {
        let mut inner = self.inner();
        if matches!(inner.link, Link::Failed { .. }) {
            inner.link = Link::Down;
        }
    }

    pub(super) fn seen(&self) -> Seen {
        let inner = self.inner();
        match &inner.link {
            Link::Down => Seen::Down,
            Link::Opening { .. } => Seen::Opening,
            Link::Up(connection) if connection.is_closed() => Seen::Down,
            Link::Up(connection) => Seen::Up(Arc::clone(connection), inner.era.unwrap_or(Era::Legacy)),
            Link::Failed { error, retry_at, .. } => Seen::Failed {
                error: Arc::clone(error),
                retry_in: retry_at.saturating_duration_since(Instant::now()),
            },
            Link::Closed => Seen::Closed,
        }
    }

    /// Ends it for good.
    pub(super) async fn close(&self) {
        let link = std::mem::replace(&mut self.inner().link, Link::Closed);
        match link {
            Link::Up(connection) => connection.close().await,
            // What it started ends with it.
            Link::Opening { task, .. } => task.abort(),
            Link::Down | Link::Failed { .. } | Link::Closed => {}
        }
    }
}

fn wait_after(failures: u32) -> Duration {
    FIRST_WAIT.saturating_mul(2_u32.saturating_pow(failures.min(16))).min(LONGEST_WAIT)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_wait_doubles_up_to_a_minute() {
        let waits: Vec<u64> = [0, 1, 2, 5, 6, 7, 4_000_000_000]
            .into_iter()
            .map(|n| wait_after(n).as_secs())
            .collect();
        assert_eq!(waits, [1, 2, 4, 32, 60, 60, 60]);
    }
}
