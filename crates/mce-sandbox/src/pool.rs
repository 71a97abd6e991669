//! Workers that wait ready. One task owns them and their fork server, and replaces a fork server that has ended.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;

use crate::fork_server::ForkServer;
use crate::worker::Worker;
use crate::{BoxFuture, EngineError};

/// How long a place in the pool stays empty while other workers are ready: most programs are done by then, and do not share
/// their processor with the making of the next worker.
const REFILL_DELAY: Duration = Duration::from_millis(3);

/// What runs programs of one language: how its fork servers are started.
pub(crate) trait Engine: Send + Sync + 'static {
    /// Starts a fork server.
    fn start(&self) -> BoxFuture<'_, Result<Arc<ForkServer>, EngineError>>;
}

/// A handle to the task. Dropping it ends the fork server once no run uses it.
#[derive(Debug, Clone)]
pub(crate) struct Pool {
    requests: mpsc::Sender<Request>,
}

#[derive(Debug)]
enum Request {
    Take(oneshot::Sender<Result<Worker, EngineError>>),
    Warm(oneshot::Sender<Result<Arc<ForkServer>, EngineError>>),
    Stop(oneshot::Sender<()>),
}

struct State {
    engine: Arc<dyn Engine>,
    size: usize,
    server: Option<Arc<ForkServer>>,
    ready: VecDeque<Worker>,
    waiting: VecDeque<oneshot::Sender<Result<Worker, EngineError>>>,
    preparing: usize,
    /// The last worker could not be made: none is made ahead until one is wanted.
    is_failing: bool,
    /// Until then a place that became empty stays so, unless no worker is ready at all.
    refill_at: Option<Instant>,
    prepared: mpsc::UnboundedSender<Result<Worker, EngineError>>,
}

impl Pool {
    /// A pool that keeps `size` workers ready once it has been used or warmed.
    pub(crate) fn new(engine: Arc<dyn Engine>, size: usize) -> Self {
        let (requests, inbox) = mpsc::channel(64);
        // Bounded by the number of forks under way.
        let (prepared, arrivals) = mpsc::unbounded_channel();
        let state = State {
            engine,
            size,
            server: None,
            ready: VecDeque::new(),
            waiting: VecDeque::new(),
            preparing: 0,
            is_failing: false,
            refill_at: None,
            prepared,
        };
        tokio::spawn(serve(state, inbox, arrivals));
        Self { requests }
    }

    /// A worker that waits for its program.
    ///
    /// # Errors
    ///
    /// Why none can be had.
    pub(crate) async fn take(&self) -> Result<Worker, EngineError> {
        self.ask(Request::Take).await?
    }

    /// Starts the fork server, and lets workers get ready.
    ///
    /// # Errors
    ///
    /// Why it cannot start.
    pub(crate) async fn warm(&self) -> Result<Arc<ForkServer>, EngineError> {
        self.ask(Request::Warm).await?
    }

    /// Ends everything and waits until it is gone.
    pub(crate) async fn stop(&self) {
        // A pool that has stopped already has nothing left.
        let _ = self.ask(Request::Stop).await;
    }

    async fn ask<T>(&self, request: impl FnOnce(oneshot::Sender<T>) -> Request) -> Result<T, EngineError> {
        let (sender, answer) = oneshot::channel();
        self.requests.send(request(sender)).await.map_err(|_| EngineError::Stopped)?;
        answer.await.map_err(|_| EngineError::Stopped)
    }
}

async fn serve(mut state: State, mut inbox: mpsc::Receiver<Request>, mut arrivals: mpsc::UnboundedReceiver<Result<Worker, EngineError>>) {
    loop {
        let refill = async {
            match state.refill_at {
                Some(refill_at) => tokio::time::sleep_until(refill_at).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            request = inbox.recv() => match request {
                Some(Request::Take(waiter)) => state.waiting.push_back(waiter),
                Some(Request::Warm(waiter)) => {
                    // Whoever asked may have gone; the server is started all the same.
                    let _ = waiter.send(state.live_server().await);
                }
                Some(Request::Stop(done)) => {
                    state.stop().await;
                    let _ = done.send(());
                    return;
                }
                None => return,
            },
            Some(arrival) = arrivals.recv() => state.arrive(arrival),
            () = refill => state.refill_at = None,
        }
        state.settle().await;
    }
}

impl State {
    fn arrive(&mut self, arrival: Result<Worker, EngineError>) {
        self.preparing = self.preparing.saturating_sub(1);
        self.is_failing = arrival.is_err();
        match arrival {
            Ok(worker) => self.ready.push_back(worker),
            Err(error) => {
                if let Some(waiter) = self.waiting.pop_front() {
                    let _ = waiter.send(Err(error));
                } else {
                    tracing::warn!(target: "mce_sandbox", %error, "a worker could not be made ready");
                }
            }
        }
    }

    /// Serves who waits, and has as many workers made as are missing.
    async fn settle(&mut self) {
        self.waiting.retain(|waiter| !waiter.is_closed());
        self.ready.retain_mut(Worker::is_alive);
        while let Some(waiter) = self.waiting.pop_front() {
            let Some(worker) = self.ready.pop_front() else {
                self.waiting.push_front(waiter);
                break;
            };
            match waiter.send(Ok(worker)) {
                Ok(()) => self.refill_at = Some(Instant::now() + REFILL_DELAY),
                Err(Ok(worker)) => self.ready.push_front(worker),
                Err(Err(_)) => {}
            }
        }
        let is_refilled = self.server.is_some() && !self.is_failing && (self.refill_at.is_none() || self.ready.is_empty());
        let wanted = self.waiting.len() + if is_refilled { self.size } else { 0 };
        let missing = wanted.saturating_sub(self.ready.len() + self.preparing);
        if missing == 0 {
            return;
        }
        match self.live_server().await {
            Ok(server) => {
                for _ in 0..missing {
                    self.prepare(Arc::clone(&server));
                }
            }
            Err(error) => {
                for waiter in self.waiting.drain(..) {
                    let _ = waiter.send(Err(error.clone()));
                }
            }
        }
    }

    fn prepare(&mut self, server: Arc<ForkServer>) {
        self.preparing += 1;
        let prepared = self.prepared.clone();
        tokio::spawn(async move {
            let worker = server.fork().await;
            // The server must not outlive the pool because of this task.
            drop(server);
            let _ = prepared.send(worker);
        });
    }

    async fn live_server(&mut self) -> Result<Arc<ForkServer>, EngineError> {
        if let Some(server) = &self.server {
            if server.is_alive() {
                return Ok(Arc::clone(server));
            }
            tracing::warn!(target: "mce_sandbox", "the fork server has ended and is replaced");
            self.server = None;
            self.ready.clear();
        }
        let server = self.engine.start().await?;
        server.warn();
        self.server = Some(Arc::clone(&server));
        Ok(server)
    }

    async fn stop(&mut self) {
        self.ready.clear();
        self.waiting.clear();
        if let Some(server) = self.server.take() {
            server.stop().await;
        }
    }
}
