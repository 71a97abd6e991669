//! A text that must never be printed.

use std::fmt;

use crate::SecretSource;

/// Shorter secrets are in too many texts to be cut out of answers. In bytes.
pub const MIN_SECRET_BYTES: usize = 4;

/// A secret text. `Debug` shows `***`; there is no `Display` and no `Serialize`.
#[derive(Clone)]
pub struct Secret {
    text: String,
    /// The values of the variables in it.
    parts: Vec<String>,
    /// What in it is still to be read.
    later: Vec<Later>,
}

/// A part of a secret that is read when it is first needed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Later {
    /// What stands in the text in its place.
    pub(crate) reference: String,
    pub(crate) source: SecretSource,
}

impl Secret {
    /// Wraps a text.
    pub fn new(text: impl Into<String>) -> Self {
        Self::with_parts(text, Vec::new())
    }

    /// Wraps a text and the parts of it that are secret by themselves, as `x` in `Token token="x"`.
    pub fn with_parts(text: impl Into<String>, parts: Vec<String>) -> Self {
        Self {
            text: text.into(),
            parts,
            later: Vec::new(),
        }
    }

    pub(crate) fn with_later(self, later: Vec<Later>) -> Self {
        Self { later, ..self }
    }

    /// What has to be read before it can be used.
    pub fn sources(&self) -> impl Iterator<Item = &SecretSource> {
        self.later.iter().map(|later| &later.source)
    }

    /// The same with what its sources gave. A source without a value stays one.
    #[must_use]
    pub fn filled(&self, value: impl Fn(&SecretSource) -> Option<String>) -> Self {
        let mut filled = self.clone();
        filled.later.clear();
        for later in &self.later {
            if let Some(value) = value(&later.source) {
                filled.text = filled.text.replacen(&later.reference, &value, 1);
                filled.parts.push(value);
            } else {
                filled.later.push(later.clone());
            }
        }
        filled
    }

    /// The text itself. Only the broker, which makes headers of it, may call this.
    pub fn expose(&self) -> &str {
        &self.text
    }

    /// The parts that are secret by themselves: values of variables. Under the same rule as [`Secret::expose`].
    pub fn expose_parts(&self) -> &[String] {
        &self.parts
    }

    /// Whether something in it is not written as it is.
    pub(crate) fn has_variable(&self) -> bool {
        !(self.parts.is_empty() && self.later.is_empty())
    }

    #[cfg(test)]
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
    #[must_use]
    pub fn without_prefix(&self, prefix: &str) -> Self {
        let text = self.text.trim();
        let text = match (text.get(..prefix.len()), text.get(prefix.len()..)) {
            (Some(start), Some(rest)) if start.eq_ignore_ascii_case(prefix) => rest.trim(),
            (Some(_) | None, _) => text,
        };
        Self {
            text: text.to_owned(),
            ..self.clone()
        }
    }

    /// The same after `prefix`; it is a secret of its own in that.
    #[must_use]
    pub fn with_prefix(&self, prefix: &str) -> Self {
        let parts = self.parts.iter().chain([&self.text]).cloned().collect();
        Self::with_parts(format!("{prefix}{}", self.text), parts)
    }

    /// Whether its secret part, which is what stands after a scheme or a variable's value, is too short to be cut out of answers.
    pub(crate) fn is_short(&self) -> bool {
        if !self.later.is_empty() {
            return false;
        }
        let text = self.text.trim();
        let secret = match text.split_once(char::is_whitespace) {
            Some((scheme, secret)) if scheme.bytes().all(|byte| byte.is_ascii_alphabetic()) => secret.trim(),
            _ => text,
        };
        let mut parts = self.parts.iter().map(String::as_str).chain([secret]);
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
    fn a_secret_with_a_blank_is_one_secret() {
        for (text, is_short) in [
            ("HKsecret+/= q\"7", false),
            ("Bearer abc", true),
            ("Bearer abcd", false),
            ("abc", true),
            ("correct horse x", false),
        ] {
            assert_eq!(Secret::new(text).is_short(), is_short, "{text}");
        }
    }

    #[test]
    fn what_is_read_later_takes_the_place_of_its_reference() {
        let source = |account: &str| SecretSource::Keyring {
            service: "s".to_owned(),
            account: account.to_owned(),
        };
        let later = |reference: &str, account| Later {
            reference: reference.to_owned(),
            source: source(account),
        };
        let written = Secret::new("Bearer ${secret:a} ${secret:b}").with_later(vec![later("${secret:a}", "a"), later("${secret:b}", "b")]);
        let half = written.filled(|wanted| (*wanted == source("a")).then(|| "x${secret:b}".to_owned()));
        assert_eq!(half.sources().count(), 1);
        assert!(!written.is_short() && written.has_variable());
        let whole = written.filled(|_| Some("token".to_owned()));
        assert_eq!(
            (whole.text(), whole.parts.len(), whole.sources().count()),
            ("Bearer token token", 2, 0)
        );
    }

    #[test]
    fn the_debug_form_hides_the_text() {
        assert_eq!(format!("{:?}", Secret::new("hunter2")), "***");
    }
}
