//! Places for runs: a bounded number at the same time, a bounded and fair queue before them, `busy` beyond it.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use tokio::sync::{Semaphore, SemaphorePermit};

/// Who may run now. The semaphore serves in order of arrival.
#[derive(Debug)]
pub(crate) struct Places {
    free: Semaphore,
    count: usize,
    queue: usize,
    waiting: AtomicUsize,
    /// How long runs take, in microseconds, as a moving average.
    usual_us: AtomicU64,
}

/// All places are taken and the queue is full.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Full {
    /// Runs at the same time.
    pub(crate) count: usize,
    /// Runs that wait.
    pub(crate) queue: usize,
    /// When a place is likely to be free.
    pub(crate) wait: Duration,
}

/// Counts one who waits for as long as it lives, also if it is dropped.
struct Waiting<'a>(&'a AtomicUsize);

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Places {
    pub(crate) fn new(count: usize, queue: usize) -> Self {
        let count = count.max(1);
        Self {
            free: Semaphore::new(count),
            count,
            queue,
            waiting: AtomicUsize::new(0),
            usual_us: AtomicU64::new(0),
        }
    }

    /// Waits for a place.
    ///
    /// # Errors
    ///
    /// [`Full`] if as many wait already as may.
    pub(crate) async fn enter(&self) -> Result<SemaphorePermit<'_>, Full> {
        if let Ok(place) = self.free.try_acquire() {
            return Ok(place);
        }
        let before = self.waiting.fetch_add(1, Ordering::Relaxed);
        let _waiting = Waiting(&self.waiting);
        if before >= self.queue {
            return Err(self.full());
        }
        self.free.acquire().await.map_err(|_| self.full())
    }

    /// Learns how long a run took.
    pub(crate) fn learn(&self, elapsed: Duration) {
        let new = u64::try_from(elapsed.as_micros()).unwrap_or(u64::MAX);
        let old = self.usual_us.load(Ordering::Relaxed);
        let usual = if old == 0 { new } else { old - old / 8 + new / 8 };
        // A lost update between two runs does not matter: this is an estimate.
        self.usual_us.store(usual, Ordering::Relaxed);
    }

    fn full(&self) -> Full {
        let rounds = u64::try_from(self.queue / self.count + 1).unwrap_or(u64::MAX);
        let wait = Duration::from_micros(self.usual_us.load(Ordering::Relaxed).saturating_mul(rounds));
        Full {
            count: self.count,
            queue: self.queue,
            wait: wait.max(Duration::from_secs(1)),
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;

    #[tokio::test]
    async fn beyond_places_and_queue_it_is_full_and_a_freed_place_is_given_on() {
        let places = Places::new(1, 1);
        let first = places.enter().await.unwrap();
        let mut second = Box::pin(places.enter());
        assert!((&mut second).now_or_never().is_none());
        let Full { count: 1, queue: 1, wait } = places.enter().await.unwrap_err() else {
            panic!("other numbers")
        };
        assert!(wait >= Duration::from_secs(1));
        drop(first);
        assert!(second.await.is_ok());
    }

    #[tokio::test]
    async fn places_are_given_in_the_order_of_arrival() {
        let places = Places::new(1, 3);
        let mut place = places.enter().await.unwrap();
        let mut waiting: std::collections::VecDeque<_> = (0..3).map(|_| Box::pin(places.enter())).collect();
        for one in &mut waiting {
            assert!(one.now_or_never().is_none());
        }
        while let Some(next) = waiting.pop_front() {
            drop(place);
            // Neither who comes later nor who is new gets the freed place.
            for later in &mut waiting {
                assert!(later.now_or_never().is_none());
            }
            assert!(Box::pin(places.enter()).now_or_never().is_none_or(|entered| entered.is_err()));
            place = next.now_or_never().unwrap().unwrap();
        }
    }

    #[tokio::test]
    async fn the_estimate_follows_how_long_runs_take_and_how_many_wait() {
        for (count, queue, runs, seconds) in [
            (2, 4, &[10][..], 30),
            (1, 0, &[3], 3),
            (4, 8, &[8, 16], 27),
            (1, 0, &[0], 1),
            (1, 5, &[], 1),
        ] {
            let places = Places::new(count, queue);
            for run in runs {
                places.learn(Duration::from_secs(*run));
            }
            assert_eq!(places.full().wait.as_secs(), seconds, "{count} {queue} {runs:?}");
        }
    }

    #[tokio::test]
    async fn who_stops_waiting_leaves_the_queue() {
        let places = Places::new(1, 1);
        let _first = places.enter().await.unwrap();
        let mut second = Box::pin(places.enter());
        assert!((&mut second).now_or_never().is_none());
        drop(second);
        let mut third = Box::pin(places.enter());
        assert!((&mut third).now_or_never().is_none());
    }
}
