//! Whether a request that only reads is sent once more, and when: after 429 and 503, when the server says so, else after a
//! random part of a time that doubles.

use std::time::{Duration, SystemTime};

use reqwest::header::{HeaderMap, RETRY_AFTER};
use tokio::time::Instant;

use super::seconds;

/// The longest wait before the second attempt; doubles.
const FIRST_WAIT: Duration = Duration::from_millis(500);

/// The attempts of one call.
#[derive(Debug)]
pub(crate) struct Again {
    left: u32,
    until: Instant,
    attempts: u32,
}

impl Again {
    /// So many attempts after the first, all of them within this time.
    pub(super) fn new(more: u32, within: Duration) -> Self {
        Self {
            left: more,
            until: Instant::now() + within,
            attempts: 1,
        }
    }

    /// Attempts so far.
    pub(crate) const fn attempts(&self) -> u32 {
        self.attempts
    }

    /// How long to wait before the next attempt; none if there is none.
    pub(crate) fn after(&mut self, status: u16, headers: &HeaderMap) -> Option<Duration> {
        if !matches!(status, 429 | 503) || self.left == 0 {
            return None;
        }
        let longest = FIRST_WAIT.saturating_mul(1 << (self.attempts - 1).min(10));
        let wait = asked_wait(headers, SystemTime::now()).unwrap_or_else(|| longest.mul_f64(0.5 + fastrand::f64() / 2.0));
        if Instant::now() + wait > self.until {
            return None;
        }
        self.left -= 1;
        self.attempts += 1;
        Some(wait)
    }
}

/// What a refused request should be told of the time to wait, if the server says one.
pub(crate) fn wait_hint(status: u16, headers: &HeaderMap) -> Option<String> {
    let wait = asked_wait(headers, SystemTime::now()).filter(|_| matches!(status, 429 | 503))?;
    Some(format!("the API asks to wait {} before the next call", seconds(wait)))
}

/// What the server asks for: seconds, or a time. (RFC 9110, 10.2.3)
pub(super) fn asked_wait(headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
    let text = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    if let Ok(seconds) = text.parse() {
        return Some(Duration::from_secs(seconds));
    }
    let time = httpdate::parse_http_date(text).ok()?;
    Some(time.duration_since(now).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use std::time::UNIX_EPOCH;

    use super::*;

    fn headers(retry_after: &str) -> HeaderMap {
        HeaderMap::from_iter([(RETRY_AFTER, retry_after.parse().unwrap())])
    }

    #[test]
    fn the_server_says_how_long_to_wait_in_seconds_or_as_a_time() {
        let now = UNIX_EPOCH + Duration::from_secs(784_111_777);
        for (text, expected) in [
            ("120", Some(120)),
            ("Sun, 06 Nov 1994 08:50:07 GMT", Some(30)),
            ("Sun, 06 Nov 1994 08:49:00 GMT", Some(0)),
            ("soon", None),
            ("-1", None),
        ] {
            assert_eq!(asked_wait(&headers(text), now), expected.map(Duration::from_secs), "{text}");
        }
        assert_eq!(asked_wait(&HeaderMap::new(), now), None);
    }

    #[test]
    fn attempts_are_few_and_within_the_time() {
        let check = |status, headers: &HeaderMap, more, within, expected: &[bool]| {
            let mut again = Again::new(more, Duration::from_secs(within));
            let found: Vec<bool> = expected.iter().map(|_| again.after(status, headers).is_some()).collect();
            assert_eq!(found, expected, "{status} {headers:?}");
        };
        let none = HeaderMap::new();
        check(503, &none, 2, 30, &[true, true, false]);
        check(429, &headers("3"), 2, 30, &[true, true, false]);
        check(429, &headers("3"), 2, 1, &[false]);
        check(503, &none, 0, 30, &[false]);
        for status in [200, 400, 404, 500, 502] {
            check(status, &none, 2, 30, &[false]);
        }
    }

    #[test]
    fn waits_double_and_are_not_the_same_for_all() {
        let wait = |number| {
            let mut again = Again::new(5, Duration::from_mins(1));
            (0..=number)
                .map(|_| again.after(503, &HeaderMap::new()).unwrap())
                .last()
                .unwrap()
                .as_millis()
        };
        assert!((250..=500).contains(&wait(0)) && (500..=1000).contains(&wait(1)) && (1000..=2000).contains(&wait(2)));
        let waits: std::collections::BTreeSet<u128> = (0..50).map(|_| wait(2)).collect();
        assert!(waits.len() > 5, "{waits:?}");
    }
}
