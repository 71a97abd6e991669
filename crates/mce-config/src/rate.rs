//! How often something may happen: `30/minute`, `5/s burst 1`.

use std::num::NonZeroU32;
use std::time::Duration;

/// So often, evenly; what was not used before is kept up to `burst`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rate {
    /// How often in `per`.
    pub count: NonZeroU32,
    /// A second, a minute, an hour or a day.
    pub per: Duration,
    /// At once after a pause; as many as `count` if nothing is said.
    pub burst: NonZeroU32,
}

impl Rate {
    /// What a rate looks like.
    pub const EXPECTED: &'static str = "a rate such as `30/minute` or `5/second burst 1`";

    /// Reads a rate; a number alone does not say how often.
    pub fn read(text: &str) -> Option<Self> {
        let (rate, burst) = match text.split_once("burst") {
            Some((rate, burst)) => (rate, Some(burst.trim().parse().ok()?)),
            None => (text, None),
        };
        let (count, unit) = rate.split_once('/')?;
        let count = count.trim().parse().ok()?;
        let per = match unit.trim() {
            "s" | "second" => Duration::from_secs(1),
            "m" | "min" | "minute" => Duration::from_mins(1),
            "h" | "hour" => Duration::from_hours(1),
            "d" | "day" => Duration::from_hours(24),
            _ => return None,
        };
        Some(Self {
            count,
            per,
            burst: burst.unwrap_or(count),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::tests::bench;

    #[test]
    fn a_number_without_a_unit_is_refused_with_its_place_and_an_example() {
        let server = "servers:\n  shop:\n    openapi: ./shop.yaml\n    ";
        for (yaml, key) in [
            ("rate: 5\n".to_owned(), "rate"),
            ("run_rate: 5\n".to_owned(), "run_rate"),
            (format!("{server}rate: 5\n"), "servers.shop.rate"),
            (format!("{server}functions: {{a: {{rate: 5}}}}\n"), "servers.shop.functions.a.rate"),
        ] {
            let error = crate::load(&bench(&[("mce.yaml", &yaml)], &[]).options).unwrap_err().to_string();
            assert!(
                error.contains(key) && error.contains("`30/minute`") && error.contains("`5`"),
                "{error}"
            );
        }
        // The other program's variable counts by the minute, and has no unit.
        let (settings, _) = bench(&[], &[("CODE_EXECUTOR_RATE_LIMIT_RPM", "5")]).load();
        assert_eq!(settings.pace.run_rate, Rate::read("5/minute"));
    }

    #[test]
    fn rates_are_read_as_they_are_said() {
        for (text, expected) in [
            ("30/minute", Some((30, 60, 30))),
            (" 5 / s burst 1 ", Some((5, 1, 1))),
            ("1/day", Some((1, 86_400, 1))),
            ("2/h", Some((2, 3600, 2))),
            ("30", None),
            ("0/s", None),
            ("-1/s", None),
            ("1/fortnight", None),
            ("1/s burst", None),
            ("", None),
        ] {
            let read = Rate::read(text).map(|rate| (rate.count.get(), rate.per.as_secs(), rate.burst.get()));
            assert_eq!(read, expected, "{text}");
        }
    }
}
