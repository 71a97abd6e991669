//! Times as the log writes them, in UTC.

use std::time::SystemTime;

use chrono::{DateTime, Days, NaiveDate, SecondsFormat, Utc};

/// `2026-01-31T12:00:00.000Z`. (RFC 3339)
pub fn rfc3339(time: SystemTime) -> String {
    DateTime::<Utc>::from(time).to_rfc3339_opts(SecondsFormat::Millis, true)
}

/// `2026-01-31`, so many days before this time; not before 1970.
pub(super) fn day(time: SystemTime, days_before: u64) -> String {
    let day = DateTime::<Utc>::from(time).date_naive().checked_sub_days(Days::new(days_before));
    day.unwrap_or_default().max(NaiveDate::default()).to_string()
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, UNIX_EPOCH};

    use super::*;

    #[test]
    fn times_are_those_of_the_calendar() {
        for (seconds, text) in [
            (0, "1970-01-01T00:00:00.000Z"),
            (951_782_399, "2000-02-28T23:59:59.000Z"),
            (951_782_400, "2000-02-29T00:00:00.000Z"),
            (1_772_323_200, "2026-03-01T00:00:00.000Z"),
            (4_102_444_799, "2099-12-31T23:59:59.000Z"),
        ] {
            assert_eq!(rfc3339(UNIX_EPOCH + Duration::from_secs(seconds)), text);
        }
        assert_eq!(day(UNIX_EPOCH + Duration::from_hours(264_408), 1), "2000-02-29");
        assert_eq!(day(UNIX_EPOCH, u64::MAX), "1970-01-01");
    }
}
