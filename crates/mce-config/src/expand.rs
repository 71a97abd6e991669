//! `${VAR}` and `${VAR:-default}` in texts.

use crate::MASK;

/// A text after expansion.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Text {
    /// What is meant. A `${VAR}` that nothing defines stands in it as it is.
    pub(crate) value: String,
    /// What may be printed: values of variables are masked.
    pub(crate) shown: String,
    /// Values of variables that stand in it.
    pub(crate) values: Vec<String>,
    /// The variables that it names.
    pub(crate) variables: Vec<String>,
    /// Those that nothing defines.
    pub(crate) missing: Vec<String>,
}

/// Replaces each `${VAR}` by the variable's value, which is not expanded again.
///
/// `${env:VAR}` is the same. `$${` is `${` and begins nothing. Nothing else is special: a `$` without `{`, or without a closing `}`, stands for itself.
/// The default is used if the
/// variable is not set or empty; `lookup` gives none for both.
pub(crate) fn expand<'a>(text: &str, lookup: impl Fn(&str) -> Option<&'a str>) -> Text {
    let mut expanded = Text {
        value: String::new(),
        shown: String::new(),
        values: Vec::new(),
        variables: Vec::new(),
        missing: Vec::new(),
    };
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
            (Some(value), _) => {
                expanded.push(value, MASK);
                expanded.values.push(value.to_owned());
            }
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
            let expanded = expand(text, lookup);
            let found = (expanded.value.as_str(), expanded.shown.as_str(), expanded.missing.join(" "));
            assert_eq!(found, (value, shown, missing.to_owned()), "{text}");
        }
    }
}
