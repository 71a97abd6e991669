//! How fast and how often servers are called: rates, calls at the same time, further attempts, and a rest for servers that
//! fail. What is said here holds for one process.

mod again;
mod breaker;
mod bucket;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use mce_catalog::function::{Function, Target};
use mce_config::{Origin, PaceSettings, Rate, ServerSettings, Settings};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, timeout};

use self::breaker::Breaker;
use self::bucket::Bucket;
use crate::call_error::{CallError, CallErrorKind};
use crate::run_context::RunContext;

pub(crate) use self::again::{Again, wait_hint};

/// Clients whose rates are kept apart; clients choose their names.
const MAX_CLIENTS: usize = 1000;

/// Hosts of programs' own requests whose failures are counted.
const MAX_HOSTS: usize = 1000;

/// What is known of the pace of all servers.
#[derive(Debug)]
pub(crate) struct Pace {
    settings: PaceSettings,
    /// A call waits no longer for its turn.
    patience: Duration,
    servers: BTreeMap<String, ServerPace>,
    calls: PerClient,
    runs: PerClient,
    /// Of hosts that programs fetch from. Held for one look.
    hosts: Mutex<BTreeMap<String, Arc<Breaker>>>,
}

#[derive(Debug)]
struct ServerPace {
    breaker: Breaker,
    retries: u32,
    bucket: Option<Bucket>,
    /// By what settings call them.
    functions: BTreeMap<String, Bucket>,
    /// None for an MCP server, whose connection counts for itself.
    places: Option<(Arc<Semaphore>, u32)>,
}

/// A bucket for each client, by the name that it gives itself.
#[derive(Debug)]
struct PerClient {
    rate: Option<Rate>,
    // Held for one look.
    buckets: Mutex<BTreeMap<String, Arc<Bucket>>>,
}

/// The turn of a call, until it is dropped.
#[derive(Debug)]
pub(crate) struct Turn {
    _place: Option<OwnedSemaphorePermit>,
}

/// How an attempt to reach a server went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Health {
    /// It answered, whatever it said.
    Good,
    /// It could not be reached, did not answer in time, or said that it does not work.
    Bad,
}

impl Pace {
    pub(crate) fn new(settings: &Settings, patience: Duration) -> Self {
        let pace = |server: &ServerSettings| ServerPace {
            breaker: Breaker::new(server.view.breaker_failures.unwrap_or(settings.pace.breaker_failures)),
            retries: server.view.retries.unwrap_or(settings.pace.retries),
            bucket: server.view.rate.map(Bucket::new),
            functions: server
                .view
                .functions
                .iter()
                .filter_map(|(name, function)| Some((name.clone(), Bucket::new(function.rate?))))
                .collect(),
            places: places(server),
        };
        Self {
            servers: settings.servers.iter().map(|server| (server.name.clone(), pace(server))).collect(),
            calls: PerClient::new(settings.pace.rate),
            runs: PerClient::new(settings.pace.run_rate),
            hosts: Mutex::default(),
            settings: settings.pace.clone(),
            patience,
        }
    }

    /// Waits for the turn of a call.
    ///
    /// # Errors
    ///
    /// `Busy` if that would take too long; `Api` or `Tool` if its server has just failed often.
    pub(crate) async fn turn(&self, run: &RunContext, function: &Function) -> Result<Turn, CallError> {
        let Some(server) = self.servers.get(&function.server) else {
            return Ok(Turn { _place: None });
        };
        let kind = match &function.target {
            Target::Http(_) => CallErrorKind::Api { status: None, body: None },
            Target::Tool(_) => CallErrorKind::Tool { may_have_effects: false },
        };
        server.breaker.check((&function.server, kind), Instant::now())?;
        let mut patience = self.patience;
        if let Some(bucket) = self.calls.bucket(run) {
            patience = bucket.wait(patience, "calls of this client").await?;
        }
        if let Some(bucket) = &server.bucket {
            patience = bucket.wait(patience, &format!("calls of `{}`", function.server)).await?;
        }
        if let Some(bucket) = server.bucket_of(function) {
            patience = bucket
                .wait(patience, &format!("calls of `{}.{}`", function.server, function.python))
                .await?;
        }
        let Some((places, count)) = &server.places else {
            return Ok(Turn { _place: None });
        };
        match timeout(patience, Arc::clone(places).acquire_owned()).await {
            // Never closed.
            Ok(place) => Ok(Turn { _place: place.ok() }),
            Err(_) => {
                Err(busy(format!("{count} calls of `{}` are under way already", function.server))
                    .with_hint("call again when they have ended"))
            }
        }
    }

    /// Waits for the turn of a program's own request to a host, which is a call of its client's.
    ///
    /// # Errors
    ///
    /// As [`Pace::turn`].
    pub(crate) async fn fetch_turn(&self, run: &RunContext, host: &str, patience: Duration) -> Result<(), CallError> {
        let kind = CallErrorKind::Api { status: None, body: None };
        self.host(host).check((host, kind), Instant::now())?;
        match self.calls.bucket(run) {
            Some(bucket) => bucket.wait(patience, "calls of this client").await.map(drop),
            None => Ok(()),
        }
    }

    /// Takes into account how a program's own request went.
    pub(crate) fn note_fetch(&self, host: &str, health: Health) {
        self.host(host).note(health, Instant::now());
    }

    fn host(&self, host: &str) -> Arc<Breaker> {
        let mut hosts = self.hosts.lock().unwrap_or_else(PoisonError::into_inner);
        // Programs choose names where a list of hosts has `*`; what they fail at is forgotten rather than kept without end.
        if hosts.len() >= MAX_HOSTS && !hosts.contains_key(host) {
            hosts.clear();
        }
        let new = || Arc::new(Breaker::new(self.settings.breaker_failures));
        Arc::clone(hosts.entry(host.to_owned()).or_insert_with(new))
    }

    /// Whether a client may start a program now. Programs do not wait.
    ///
    /// # Errors
    ///
    /// `Busy`, with the time after which one may.
    pub(crate) async fn start_run(&self, run: &RunContext) -> Result<(), CallError> {
        match self.runs.bucket(run) {
            Some(bucket) => bucket.wait(Duration::ZERO, "programs of this client").await.map(drop),
            None => Ok(()),
        }
    }

    /// Takes into account how an attempt went.
    pub(crate) fn note(&self, server: &str, health: Health) {
        if let Some(server) = self.servers.get(server) {
            server.breaker.note(health, Instant::now());
        }
    }

    /// How often an attempt may be repeated for a function of a server.
    pub(crate) fn again(&self, server: &str, is_repeatable: bool) -> Again {
        let retries = self.servers.get(server).map_or(self.settings.retries, |server| server.retries);
        Again::new(if is_repeatable { retries } else { 0 }, self.patience)
    }
}

impl ServerPace {
    fn bucket_of(&self, function: &Function) -> Option<&Bucket> {
        let names = [
            Some(function.operation.as_str()),
            function.operation_id.as_deref(),
            Some(function.python.as_str()),
            Some(function.typescript.as_str()),
        ];
        names.into_iter().flatten().find_map(|name| self.functions.get(name))
    }
}

impl PerClient {
    fn new(rate: Option<Rate>) -> Self {
        Self {
            rate,
            buckets: Mutex::default(),
        }
    }

    fn bucket(&self, run: &RunContext) -> Option<Arc<Bucket>> {
        let rate = self.rate?;
        let mut buckets = self.buckets.lock().unwrap_or_else(PoisonError::into_inner);
        // Further ones share one: names are cheap.
        let name = run
            .client
            .as_deref()
            .filter(|name| buckets.contains_key(*name) || buckets.len() < MAX_CLIENTS);
        let name = name.unwrap_or_default().to_owned();
        Some(Arc::clone(buckets.entry(name).or_insert_with(|| Arc::new(Bucket::new(rate)))))
    }
}

fn places(server: &ServerSettings) -> Option<(Arc<Semaphore>, u32)> {
    match server.origin {
        Origin::OpenApi(_) => {
            let count = server.upstream.concurrency.max(1);
            let permits = usize::try_from(count).unwrap_or(1).min(Semaphore::MAX_PERMITS);
            Some((Arc::new(Semaphore::new(permits)), count))
        }
        // What a recipe calls may be a recipe.
        Origin::McpStdio(_) | Origin::McpHttp(_) | Origin::Recipes(_) => None,
    }
}

fn busy(message: impl Into<String>) -> CallError {
    CallError::new(CallErrorKind::Busy, message)
}

/// A time for people: whole seconds, and less for less than one.
fn seconds(time: Duration) -> String {
    if time < Duration::from_secs(1) {
        format!("{} ms", time.as_millis().max(1))
    } else {
        format!("{} s", time.as_millis().div_ceil(1000))
    }
}

#[cfg(test)]
mod tests;
