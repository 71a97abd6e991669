//! A text that must never be printed.

use std::fmt;

/// Shorter secrets are in too many texts to be cut out of answers. In bytes.
pub const MIN_SECRET_BYTES: usize = 4;

/// A secret text. `Debug` shows `***`; there is no `Display` and no `Serialize`.
#[derive(Clone)]
pub struct Secret {
    text: String,
    /// The values of the variables in it.
    parts: Vec<String>,
}

impl Secret {
    /// Wraps a text.
    pub fn new(text: impl Into<String>) -> Self {
        Self::with_parts(text, Vec::new())
    }

    /// Wraps a text and the parts of it that are secret by themselves, as `x` in `Token token="x"`.
    pub fn with_parts(text: impl Into<String>, parts: Vec<String>) -> Self {
        Self { text: text.into(), parts }
    }

    /// The text itself. Only the broker, which makes headers of it, may call this.
    pub fn expose(&self) -> &str {
        &self.text
    }

    /// The parts that are secret by themselves: values of variables. Under the same rule as [`Secret::expose`].
    pub fn expose_parts(&self) -> &[String] {
        &self.parts
    }

    /// Whether the values of variables in it are these.
    pub(crate) fn has_parts(&self, parts: &[&str]) -> bool {
        self.parts == parts
    }

    /// The text, to decide what it is.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Whether it can be the value of a header field: no control characters, so that none can end the header.
    pub fn is_header_value(&self) -> bool {
        !self.text.chars().any(char::is_control)
    }

    /// The same without `prefix`, in any case, and without blanks around it.
    pub(crate) fn without_prefix(&self, prefix: &str) -> Self {
        let text = self.text.trim();
        let text = match (text.get(..prefix.len()), text.get(prefix.len()..)) {
            (Some(start), Some(rest)) if start.eq_ignore_ascii_case(prefix) => rest.trim(),
            (Some(_) | None, _) => text,
        };
        Self::with_parts(text, self.parts.clone())
    }

    /// Whether its secret part, which is the last word or a variable's value, is too short to be cut out of answers.
    pub(crate) fn is_short(&self) -> bool {
        let last = self.text.split_whitespace().last().unwrap_or_default();
        let mut parts = self.parts.iter().map(String::as_str).chain([last]);
        parts.any(|part| part.len() < MIN_SECRET_BYTES)
    }
}

/// By the text alone.
impl PartialEq for Secret {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for Secret {}

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
