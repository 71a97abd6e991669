//! Times as the log writes them, in UTC.

use std::time::{SystemTime, UNIX_EPOCH};

/// Seconds of a day.
const DAY: u64 = 86_400;

/// `2026-01-31T12:00:00.000Z`. (RFC 3339)
pub fn rfc3339(time: SystemTime) -> String {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    let second = since.as_secs() % DAY;
    let (hour, minute, second, millisecond) = (second / 3_600, second / 60 % 60, second % 60, since.subsec_millis());
    let date = date(since.as_secs() / DAY);
    format!("{date}T{hour:02}:{minute:02}:{second:02}.{millisecond:03}Z")
}

/// `2026-01-31`, so many days before this time.
pub(super) fn day(time: SystemTime, days_before: u64) -> String {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    date((since.as_secs() / DAY).saturating_sub(days_before))
}

/// The date of a day since 1970.
fn date(days: u64) -> String {
    // Years start in March, so that the leap day is the last of its year: eras of 400 years, 146,097 days each.
    let shifted = days + 719_468;
    let (era, day_of_era) = (shifted / 146_097, shifted % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 {
        month_from_march + 3
    } else {
        month_from_march - 9
    };
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02}")
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

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
    }
}
