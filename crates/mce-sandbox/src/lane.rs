//! A lane: all programs that one kind of fork server runs, with the pool of its workers.

use std::fmt;
use std::sync::{Arc, Once, OnceLock};

use crate::EngineError;
use crate::fork_server::ForkServer;
use crate::pool::{Engine, Pool};
use crate::worker::Worker;

/// One engine and its pool. Nothing starts before the first worker is wanted.
pub(crate) struct Lane {
    engine: Arc<dyn Engine>,
    is_warm: bool,
    pool_size: usize,
    /// Made with its first use, because it needs a runtime.
    pool: OnceLock<Pool>,
    /// Fork servers of single runs need not all say the same.
    warning: Once,
}

impl fmt::Debug for Lane {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Lane").field("pool", &self.pool).finish_non_exhaustive()
    }
}

impl Lane {
    /// A lane whose fork server lives on between runs (`is_warm`) with `pool_size` workers ready, or is made for each run.
    pub(crate) fn new(engine: Arc<dyn Engine>, is_warm: bool, pool_size: usize) -> Self {
        Self {
            engine,
            is_warm,
            pool_size,
            pool: OnceLock::new(),
            warning: Once::new(),
        }
    }

    /// A worker that waits for its program.
    ///
    /// # Errors
    ///
    /// Why none can be had.
    pub(crate) async fn worker(&self) -> Result<Worker, EngineError> {
        if self.is_warm {
            self.pool().take().await
        } else {
            // The worker holds the only handle to its fork server and ends it with itself.
            let server = self.engine.start().await?;
            self.warning.call_once(|| server.warn());
            server.fork().await
        }
    }

    /// Starts the fork server, also of a lane that is not warm, and lets workers get ready.
    ///
    /// # Errors
    ///
    /// Why it cannot start.
    pub(crate) async fn warm(&self) -> Result<Arc<ForkServer>, EngineError> {
        self.pool().warm().await
    }

    /// Ends everything and waits until it is gone.
    pub(crate) async fn stop(&self) {
        if let Some(pool) = self.pool.get() {
            pool.stop().await;
        }
    }

    fn pool(&self) -> &Pool {
        self.pool.get_or_init(|| Pool::new(Arc::clone(&self.engine), self.pool_size))
    }
}
