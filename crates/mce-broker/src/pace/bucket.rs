//! A token bucket.

use std::time::Duration;

use governor::clock::Clock;
use governor::middleware::NoOpMiddleware;
use governor::state::{InMemoryState, NotKeyed};
use governor::{Quota, RateLimiter};
use mce_config::Rate;
use tokio::time::{Instant, sleep};

use super::{busy, seconds};
use crate::call_error::CallError;

/// Tokio's time, which tests can hold.
#[derive(Debug, Clone)]
struct SinceStart(Instant);

impl Clock for SinceStart {
    type Instant = Duration;

    fn now(&self) -> Duration {
        self.0.elapsed()
    }
}

/// Fills evenly; whoever takes from it waits until there is something.
#[derive(Debug)]
pub(super) struct Bucket {
    limiter: RateLimiter<NotKeyed, InMemoryState, SinceStart, NoOpMiddleware<Duration>>,
    clock: SinceStart,
    rate: Rate,
}

impl Bucket {
    pub(super) fn new(rate: Rate) -> Self {
        let clock = SinceStart(Instant::now());
        let every = rate.per / rate.count.get();
        // None only for a rate without time, which there is not.
        let quota = Quota::with_period(every)
            .unwrap_or(Quota::per_second(rate.count))
            .allow_burst(rate.burst);
        Self {
            limiter: RateLimiter::direct_with_clock(quota, clock.clone()),
            clock,
            rate,
        }
    }

    /// Waits for a turn, and gives what is left of the patience.
    ///
    /// # Errors
    ///
    /// `Busy` if that takes longer. Then nothing was taken.
    pub(super) async fn wait(&self, patience: Duration, of_what: &str) -> Result<Duration, CallError> {
        let until = self.clock.now() + patience;
        loop {
            let Err(not_yet) = self.limiter.check() else {
                return Ok(until.saturating_sub(self.clock.now()));
            };
            let wait = not_yet.wait_time_from(self.clock.now());
            if self.clock.now() + wait > until {
                let (count, per) = (self.rate.count, seconds(self.rate.per));
                return Err(busy(format!("the limit of {count} {of_what} in {per} is reached"))
                    .with_hint(format!("try again in {}", seconds(wait))));
            }
            sleep(wait).await;
        }
    }
}
