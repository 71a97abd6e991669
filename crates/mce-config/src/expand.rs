//! `${VAR}` and `${VAR:-default}` in texts.

use crate::secret::Later;
use crate::{MASK, SecretSource};

/// A text after expansion.
#[derive(Clone, Default, PartialEq, Eq)]
pub(crate) struct Text {
    /// What is meant. A `${VAR}` that nothing defines stands in it as it is, and so does one whose value comes later.
    pub(crate) value: String,
    /// What may be printed: values of variables are masked.
    pub(crate) shown: String,
    /// Values of variables that stand in it.
    pub(crate) values: Vec<String>,
    /// The variables that it names.
    pub(crate) variables: Vec<String>,
    /// Those that nothing defines.
    pub(crate) missing: Vec<String>,
    /// Those whose values come later.
    pub(crate) later: Vec<Later>,
    /// Where values are from that are no variable's.
    pub(crate) origins: Vec<String>,
}

/// What a reference stands for.
pub(crate) enum Found {
    /// A value, and where it is from if that is no variable.
    Value(String, Option<String>),
    /// It is read when it is first needed.
    Later(SecretSource),
}

/// Replaces each `${VAR}` by the variable's value, which is not expanded again.
///
/// `${env:VAR}` is the same. `$${` is `${` and begins nothing. Nothing else is special: a `$` without `{`, or without a closing `}`, stands for itself.
/// The default is used if the
/// variable is not set or empty; `lookup` gives none for both.
pub(crate) fn expand(text: &str, mut lookup: impl FnMut(&str) -> Option<Found>) -> Text {
    let mut expanded = Text::default();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${") {
        if let Some(before) = before.strip_suffix('$') {
            expanded.push(before, before);
            expanded.push("${", "${");
            rest = after;
            continue;
        }
        let Some((name, fallback, after)) = reference(after) else { break };
        expanded.push(before, before);
        expanded.variables.push(name.to_owned());
        match (lookup(name), fallback) {
            (Some(found), _) => expanded.push_found(&format!("${{{name}}}"), found),
            (None, Some(fallback)) => expanded.push(fallback, fallback),
            (None, None) => {
                expanded.missing.push(name.to_owned());
                let reference = format!("${{{name}}}");
                expanded.push(&reference, &reference);
            }
        }
        rest = after;
    }
    expanded.push(rest, rest);
    expanded
}

impl Text {
    fn push(&mut self, value: &str, shown: &str) {
        self.value.push_str(value);
        self.shown.push_str(shown);
    }

    /// Adds what a reference stands for.
    pub(crate) fn push_found(&mut self, reference: &str, found: Found) {
        match found {
            Found::Value(value, origin) => {
                self.push(&value, MASK);
                self.values.push(value);
                self.origins.extend(origin);
            }
            Found::Later(source) => {
                self.push(reference, MASK);
                self.origins.push(source.to_string());
                self.later.push(Later {
                    reference: reference.to_owned(),
                    source,
                });
            }
        }
    }
}

/// The name of a reference whose `${` is left out, its default, and the text after it.
fn reference(text: &str) -> Option<(&str, Option<&str>, &str)> {
    let (inner, after) = text.split_once('}')?;
    let (name, fallback) = match inner.split_once(":-") {
        Some((name, fallback)) => (name, Some(fallback)),
        None => (inner, None),
    };
    // As editors write it.
    Some((name.strip_prefix("env:").unwrap_or(name), fallback, after))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lookup(name: &str) -> Option<&'static str> {
        match name {
            "TOKEN" => Some("s3cr3t"),
            "NESTED" => Some("${TOKEN}"),
            _ => None,
        }
    }

    #[test]
    fn references_are_replaced_once_and_masked() {
        for (text, value, shown, missing) in [
            ("plain", "plain", "plain", ""),
            ("Bearer ${TOKEN}", "Bearer s3cr3t", "Bearer ***", ""),
            ("${TOKEN}${TOKEN}", "s3cr3ts3cr3t", "******", ""),
            ("${NESTED}", "${TOKEN}", "***", ""),
            ("${NO:-x y}z", "x yz", "x yz", ""),
            ("${TOKEN:-x}", "s3cr3t", "***", ""),
            ("${NO:-}", "", "", ""),
            ("a ${NO} b ${NO2}", "a ${NO} b ${NO2}", "a ${NO} b ${NO2}", "NO NO2"),
            ("${env:TOKEN} ${env:NO:-x}", "s3cr3t x", "*** x", ""),
            ("${env:NO}", "${NO}", "${NO}", "NO"),
            ("${input:NO}", "${input:NO}", "${input:NO}", "input:NO"),
            ("$${TOKEN} ${TOKEN} a$${b", "${TOKEN} s3cr3t a${b", "${TOKEN} *** a${b", ""),
            ("$TOKEN $$ ${TOKEN", "$TOKEN $$ ${TOKEN", "$TOKEN $$ ${TOKEN", ""),
        ] {
            let expanded = expand(text, |name| Some(Found::Value(lookup(name)?.to_owned(), None)));
            let found = (expanded.value.as_str(), expanded.shown.as_str(), expanded.missing.join(" "));
            assert_eq!(found, (value, shown, missing.to_owned()), "{text}");
        }
    }
}
