//! Times as typed: RFC 3339, parts of it, or so long ago.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use chrono::{DateTime, NaiveDate, NaiveTime, Timelike as _, Utc};

const FORMS: &str = "expected a time like `2026-01-31`, `2026-01-31T12:00`, `2026-01-31T12:00:00+01:00` (UTC where nothing else is said), \
                     or how long ago: `90s`, `15m`, `2h`, `7d`";

/// Seconds of a day.
const DAY: u64 = 86_400;

/// The first moment of what was typed, as the audit log writes times.
pub(super) fn first_moment(text: &str) -> Result<String, String> {
    moment(text, SystemTime::now())
        .map(|found| mce_broker::rfc3339(found.first))
        .ok_or_else(|| FORMS.to_owned())
}

/// The last moment of what was typed: that of a day is its end.
pub(super) fn last_moment(text: &str) -> Result<String, String> {
    let last = |found: Moment| found.first + found.length.saturating_sub(Duration::from_millis(1));
    moment(text, SystemTime::now())
        .map(|found| mce_broker::rfc3339(last(found)))
        .ok_or_else(|| FORMS.to_owned())
}

/// What was typed, which is as long as it is exact.
#[derive(Debug, PartialEq, Eq)]
struct Moment {
    first: SystemTime,
    length: Duration,
}

fn moment(text: &str, now: SystemTime) -> Option<Moment> {
    ago(text, now).or_else(|| calendar(text))
}

fn ago(text: &str, now: SystemTime) -> Option<Moment> {
    let (number, unit_seconds) = [("s", 1), ("m", 60), ("h", 3_600), ("d", DAY)]
        .into_iter()
        .find_map(|(unit, seconds)| Some((text.strip_suffix(unit)?, seconds)))?;
    let seconds = digits(number, 1..=12)?.checked_mul(unit_seconds)?;
    let first = now.checked_sub(Duration::from_secs(seconds)).filter(|first| *first >= UNIX_EPOCH)?;
    Some(Moment {
        first,
        length: Duration::ZERO,
    })
}

fn calendar(text: &str) -> Option<Moment> {
    const DATE: usize = "2026-01-31".len();
    const MINUTE: usize = "2026-01-31T12:00".len();
    const SECOND: usize = "2026-01-31T12:00:00".len();
    if text.len() == DATE {
        let date = NaiveDate::parse_from_str(text, "%Y-%m-%d").ok()?;
        return found(date.and_time(NaiveTime::MIN).and_utc(), Duration::from_secs(DAY));
    }
    let end = text.get(DATE..)?.find(['Z', 'z', '+', '-']).map_or(text.len(), |at| DATE + at);
    let (clock, zone) = text.split_at_checked(end)?;
    let (seconds, length) = match clock.len() {
        MINUTE => (":00", Duration::from_mins(1)),
        SECOND => ("", Duration::from_secs(1)),
        _ => ("", Duration::from_millis(1)),
    };
    let zone = if zone.is_empty() { "Z" } else { zone };
    let time = DateTime::parse_from_rfc3339(&format!("{clock}{seconds}{zone}")).ok()?;
    // A leap second is the last that the clock knows.
    found(time.with_nanosecond(time.nanosecond() % 1_000_000_000)?.to_utc(), length)
}

/// A time from 1970 on.
fn found(first: DateTime<Utc>, length: Duration) -> Option<Moment> {
    let first = SystemTime::from(first);
    (first >= UNIX_EPOCH).then_some(Moment { first, length })
}

/// A number of so many digits, and of nothing else.
fn digits(text: &str, count: std::ops::RangeInclusive<usize>) -> Option<u64> {
    let is_number = count.contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| text.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Duration = Duration::from_hours(492_312);

    fn check(text: &str, expected: Option<&str>) {
        let found = moment(text, UNIX_EPOCH + NOW).map(|found| mce_broker::rfc3339(found.first));
        assert_eq!(found.as_deref(), expected, "{text}");
    }

    #[test]
    fn times_dates_and_durations_are_understood() {
        for (text, expected) in [
            ("2026-01-31", "2026-01-31T00:00:00.000Z"),
            ("2000-02-29", "2000-02-29T00:00:00.000Z"),
            ("2026-01-31T12:00", "2026-01-31T12:00:00.000Z"),
            ("2026-01-31 12:00:01", "2026-01-31T12:00:01.000Z"),
            ("2026-01-31T12:00:01.5Z", "2026-01-31T12:00:01.500Z"),
            ("2026-01-31t12:00:01.123456789z", "2026-01-31T12:00:01.123Z"),
            ("2026-01-31T00:30:00+01:00", "2026-01-30T23:30:00.000Z"),
            ("2026-12-31T23:30:00-01:00", "2027-01-01T00:30:00.000Z"),
            ("2016-12-31T23:59:60Z", "2016-12-31T23:59:59.000Z"),
            ("90s", "2026-02-28T23:58:30.000Z"),
            ("15m", "2026-02-28T23:45:00.000Z"),
            ("2h", "2026-02-28T22:00:00.000Z"),
            ("7d", "2026-02-22T00:00:00.000Z"),
        ] {
            check(text, Some(expected));
        }
    }

    #[test]
    fn what_is_no_time_is_refused() {
        for text in [
            "",
            "yesterday",
            "garbage",
            "30/11/2026",
            "2026-02-29",
            "2026-13-01",
            "2026-1-1",
            "1969-12-31",
            "2026-01-31T",
            "2026-01-31T24:00",
            "2026-01-31T12:00+1",
            "2026-01-31T12",
            "2026-01-31T12:00.5",
            "1",
            "h",
            "-1h",
            "1.5h",
            "1w",
            "999999999999d",
            "2026-01-31T12:00é",
        ] {
            check(text, None);
        }
    }

    #[test]
    fn a_day_lasts_until_its_end() {
        for (text, expected) in [
            ("2026-01-31", "2026-01-31T23:59:59.999Z"),
            ("2026-01-31T12:00", "2026-01-31T12:00:59.999Z"),
            ("2026-01-31T12:00:01.5Z", "2026-01-31T12:00:01.500Z"),
        ] {
            assert_eq!(last_moment(text).as_deref(), Ok(expected));
        }
    }
}
