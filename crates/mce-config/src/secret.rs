//! A text that must never be printed.

use std::fmt;

/// A secret text. `Debug` shows `***`; there is no `Display` and no `Serialize`.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Wraps a text.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The text itself. Only the broker, which makes headers of it, may call this.
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// Whether it can be the value of a header field: no control characters, so that none can end the header.
    pub fn is_header_value(&self) -> bool {
        !self.0.chars().any(char::is_control)
    }

    /// The same without `prefix`, in any case, and without blanks around it.
    pub(crate) fn without_prefix(&self, prefix: &str) -> Self {
        let text = self.0.trim();
        match (text.get(..prefix.len()), text.get(prefix.len()..)) {
            (Some(start), Some(rest)) if start.eq_ignore_ascii_case(prefix) => Self::new(rest.trim()),
            (Some(_) | None, _) => Self::new(text),
        }
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_name_before_the_value_is_left_out() {
        for (text, expected) in [
            ("Authorization: Bearer x", "Bearer x"),
            ("authorization:Bearer x", "Bearer x"),
            (" Bearer x ", "Bearer x"),
            ("Authorization", "Authorization"),
            ("é", "é"),
        ] {
            assert!(
                Secret::new(text).without_prefix("Authorization:") == Secret::new(expected),
                "{text}"
            );
        }
    }

    #[test]
    fn the_debug_form_hides_the_text() {
        assert_eq!(format!("{:?}", Secret::new("hunter2")), "***");
    }
}
