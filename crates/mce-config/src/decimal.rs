//! Numbers with all the digits that were written. A double rounds from 2^53 on, and a limit must not move by that.

use std::cmp::Ordering;
use std::fmt;

/// A number in decimal notation, of any length. Compared by value, exactly; shown as it was written.
#[derive(Debug, Clone)]
pub struct Decimal {
    text: String,
    is_negative: bool,
    /// Without zeros at either end; none for zero. The decimal point is before them.
    digits: String,
    /// Of ten. One that no 64 bits hold is as far away as they go.
    exponent: i64,
}

impl Decimal {
    /// Reads a number as JSON has it (RFC 8259, section 6), and with what other readers take besides: `+1`, `01`, `.5`, `1.`.
    pub fn parse(text: &str) -> Option<Self> {
        let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
        let (mantissa, power) = match unsigned.split_once(['e', 'E']) {
            Some((mantissa, power)) => (mantissa, read_power(power)?),
            None => (unsigned, 0),
        };
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let all = [whole, fraction].concat();
        if all.is_empty() || !is_digits(&all) {
            return None;
        }
        let significant = all.trim_start_matches('0');
        let leading = i64::try_from(all.len() - significant.len()).ok()?;
        let point = i64::try_from(whole.len()).ok()? - leading;
        Some(Self {
            text: text.to_owned(),
            is_negative: text.starts_with('-'),
            digits: significant.trim_end_matches('0').to_owned(),
            exponent: point.saturating_add(power),
        })
    }

    /// As it was written.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    const fn sign(&self) -> i8 {
        match (self.digits.is_empty(), self.is_negative) {
            (true, _) => 0,
            (false, true) => -1,
            (false, false) => 1,
        }
    }
}

fn is_digits(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit())
}

fn read_power(text: &str) -> Option<i64> {
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    if digits.is_empty() || !is_digits(digits) {
        return None;
    }
    let farthest = if text.starts_with('-') { i64::MIN } else { i64::MAX };
    Some(text.parse().unwrap_or(farthest))
}

impl Ord for Decimal {
    fn cmp(&self, other: &Self) -> Ordering {
        let sign = self.sign();
        // Digits behind the point compare as texts do.
        let magnitude = || self.exponent.cmp(&other.exponent).then_with(|| self.digits.cmp(&other.digits));
        sign.cmp(&other.sign()).then_with(|| match sign {
            0 => Ordering::Equal,
            1.. => magnitude(),
            _ => magnitude().reverse(),
        })
    }
}

impl PartialOrd for Decimal {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Decimal {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Decimal {}

impl fmt::Display for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn decimal(text: &str) -> Decimal {
        Decimal::parse(text).unwrap()
    }

    #[test]
    fn numbers_of_any_length_are_in_order() {
        let ascending = [
            "-1e400",
            "-18446744073709551617",
            "-1.5",
            "-1e-400",
            "0",
            "1e-99999999999999999999",
            "1e-400",
            ".5",
            "0.50000000000000000000000001",
            "9007199254740992",
            "9007199254740993",
            "9007199254740993.00000000000000000001",
            "123456789012345678901234567890123456789012345",
            "123456789012345678901234567890123456789012346",
            "1e400",
            "1e99999999999999999999",
        ];
        for pair in ascending.windows(2) {
            assert!(decimal(pair[0]) < decimal(pair[1]), "{pair:?}");
        }
        for (one, other) in [("0", "-0.0e9"), ("100", "1E+2"), ("1.50", "+01.5"), ("0.001", "1e-3"), ("1.", "1")] {
            assert_eq!(decimal(one), decimal(other));
        }
        for text in ["", "-", ".", "e1", "1e", "1e+", "1_0", "0x1", "inf", "nan", "--1", "1e1.5", "٣"] {
            assert!(Decimal::parse(text).is_none(), "{text}");
        }
    }

    /// The same number with the point elsewhere.
    fn respelt(number: i128, places: usize) -> String {
        let sign = if number < 0 { "-" } else { "" };
        let digits = format!("{:0>width$}", number.unsigned_abs().to_string(), width = places + 1);
        let (whole, fraction) = digits.split_at(digits.len() - places);
        format!("{sign}{whole}.{fraction}e{places}")
    }

    proptest! {
        #[test]
        fn the_order_is_that_of_whole_numbers(one in any::<i128>(), step in -3_i128..=3, far in any::<i128>(), shift in 0_u32..127, places in 0_usize..45) {
            let one = one >> shift;
            for other in [one.saturating_add(step), far >> shift] {
                let expected = one.cmp(&other);
                prop_assert_eq!(decimal(&one.to_string()).cmp(&decimal(&other.to_string())), expected);
                prop_assert_eq!(decimal(&respelt(one, places)).cmp(&decimal(&other.to_string())), expected);
                prop_assert_eq!(decimal(&format!("{one}e-9")).cmp(&decimal(&format!("{other}e-9"))), expected);
            }
        }
    }
}
