//! A rest for a server that fails again and again: calls fail at once, and from time to time one is let through to see.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use super::{Health, seconds};
use crate::call_error::{CallError, CallErrorKind};

/// How long a server is left alone.
const REST: Duration = Duration::from_secs(30);

/// Of one server.
#[derive(Debug)]
pub(super) struct Breaker {
    /// Failures in a row after which it opens; 0: never.
    limit: u32,
    // Held for one look.
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    failures: u32,
    /// Until then nothing is let through. Past: the next one is let through, and it rests again until that has succeeded.
    rests_until: Option<Instant>,
}

impl Breaker {
    pub(super) fn new(limit: u32) -> Self {
        Self {
            limit,
            state: Mutex::default(),
        }
    }

    /// Lets a call through, or says when one will be.
    pub(super) fn check(&self, (name, kind): (&str, CallErrorKind), now: Instant) -> Result<(), CallError> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(until) = state.rests_until else { return Ok(()) };
        if until <= now {
            state.rests_until = Some(now + REST);
            return Ok(());
        }
        let failures = state.failures;
        let message = format!("`{name}` failed {failures} times in a row and is left alone: nothing was sent");
        Err(CallError::new(kind, message).with_hint(format!("it is tried again in {}", seconds(until - now))))
    }

    pub(super) fn note(&self, health: Health, now: Instant) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        match health {
            Health::Good => *state = State::default(),
            Health::Bad => {
                state.failures = state.failures.saturating_add(1);
                if self.limit > 0 && state.failures >= self.limit {
                    state.rests_until = Some(now + REST);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(breaker: &Breaker, now: Instant) -> Result<(), CallError> {
        breaker.check(("svc", CallErrorKind::Api { status: None, body: None }), now)
    }

    #[test]
    fn it_opens_after_failures_in_a_row_and_lets_one_through_from_time_to_time() {
        let breaker = Breaker::new(3);
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        let is_open = |now| check(&breaker, now).is_err();
        for health in [Health::Bad, Health::Bad, Health::Good, Health::Bad, Health::Bad] {
            breaker.note(health, at(0));
            assert!(!is_open(at(0)));
        }
        breaker.note(Health::Bad, at(0));
        let error = check(&breaker, at(10)).unwrap_err();
        assert_eq!(
            error.to_string(),
            "`svc` failed 3 times in a row and is left alone: nothing was sent"
        );
        assert_eq!(error.hint(), Some("it is tried again in 20 s"));
        // One is let through, others wait for how that goes.
        assert!(!is_open(at(30)) && is_open(at(30)));
        breaker.note(Health::Bad, at(31));
        assert!(is_open(at(60)) && !is_open(at(61)));
        breaker.note(Health::Good, at(62));
        assert!(!is_open(at(62)) && !is_open(at(62)));
    }

    #[test]
    fn it_can_be_switched_off() {
        let breaker = Breaker::new(0);
        for _ in 0..100 {
            breaker.note(Health::Bad, Instant::now());
        }
        assert!(check(&breaker, Instant::now()).is_ok());
    }
}
