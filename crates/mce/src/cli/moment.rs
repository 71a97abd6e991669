//! Times as typed: RFC 3339, parts of it, or so long ago.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

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
    let (date, time) = match text.split_once(['T', 't', ' ']) {
        Some((date, time)) => (date, Some(time)),
        None => (text, None),
    };
    let start = days_since_1970(date)?.checked_mul(DAY)?;
    let (offset_seconds, millis, length) = match time {
        None => (0, 0, Duration::from_secs(DAY)),
        Some(time) => {
            let (clock, east_seconds) = zone(time)?;
            let (millis, length) = millis_of_day(clock)?;
            (east_seconds, millis, length)
        }
    };
    let since = Duration::from_secs(start.checked_add_signed(-offset_seconds)?) + Duration::from_millis(millis);
    Some(Moment {
        first: UNIX_EPOCH.checked_add(since)?,
        length,
    })
}

/// `2026-01-31`, from 1970 to 9999.
fn days_since_1970(date: &str) -> Option<u64> {
    let mut parts = date.split('-');
    let (year, month, day) = (
        digits(parts.next()?, 4..=4)?,
        digits(parts.next()?, 2..=2)?,
        digits(parts.next()?, 2..=2)?,
    );
    let is_leap = |year: u64| year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let days_of = |month: u64| match month {
        2 => 28 + u64::from(is_leap(year)),
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    };
    if parts.next().is_some() || year < 1970 || !(1..=12).contains(&month) || !(1..=days_of(month)).contains(&day) {
        return None;
    }
    let years: u64 = (1970..year).map(|year| 365 + u64::from(is_leap(year))).sum();
    Some(years + (1..month).map(days_of).sum::<u64>() + day - 1)
}

/// A time of day, and how many seconds its zone is east of Greenwich.
fn zone(time: &str) -> Option<(&str, i64)> {
    if let Some(clock) = time.strip_suffix(['Z', 'z']) {
        return Some((clock, 0));
    }
    let Some(at) = time.find(['+', '-']) else {
        return Some((time, 0));
    };
    let (clock, offset) = time.split_at_checked(at)?;
    let (hours, minutes) = offset.get(1..)?.split_once(':')?;
    let (hours, minutes) = (digits(hours, 2..=2)?, digits(minutes, 2..=2)?);
    let seconds = i64::try_from(hours * 3_600 + minutes * 60).ok()?;
    let is_west = offset.starts_with('-');
    (hours < 24 && minutes < 60).then_some((clock, if is_west { -seconds } else { seconds }))
}

/// `12:00`, `12:00:00` or `12:00:00.000`, and how long that is.
fn millis_of_day(clock: &str) -> Option<(u64, Duration)> {
    let (clock, fraction) = match clock.split_once('.') {
        Some((clock, fraction)) => (clock, Some(fraction)),
        None => (clock, None),
    };
    let mut parts = clock.split(':');
    let (hour, minute) = (digits(parts.next()?, 2..=2)?, digits(parts.next()?, 2..=2)?);
    let second = parts.next().map_or(Some(None), |second| digits(second, 2..=2).map(Some))?;
    // A leap second is the last that the clock knows.
    if parts.next().is_some() || hour > 23 || minute > 59 || second.is_some_and(|second| second > 60) {
        return None;
    }
    let whole = (hour * 3_600 + minute * 60 + second.unwrap_or_default().min(59)) * 1_000;
    match (fraction, second) {
        (Some(_), None) => None,
        (Some(fraction), Some(_)) => {
            digits(fraction, 1..=9)?;
            let millis: String = fraction.chars().chain("00".chars()).take(3).collect();
            Some((whole + digits(&millis, 3..=3)?, Duration::from_millis(1)))
        }
        (None, Some(_)) => Some((whole, Duration::from_secs(1))),
        (None, None) => Some((whole, Duration::from_mins(1))),
    }
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
