//! What a client reads of a value that is kept: all of it, or a part by path and range. JSON stays as it was written.

use mce_catalog::pointer::unescape;
use serde_json::value::RawValue;

use crate::failure::Failure;

/// Bytes of what is read at once.
const MAX_BYTES: usize = 256 << 10;

/// Which part of a value is wanted.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Part {
    /// A JSON Pointer. (RFC 6901)
    path: String,
    /// Of the items of a list, or of the characters of a text.
    from: usize,
    count: Option<usize>,
}

impl Part {
    /// Reads `path=/items&from=0&count=20`.
    ///
    /// # Errors
    ///
    /// A failure of type `argument` that names what is wrong.
    pub(crate) fn read(query: &str) -> Result<Self, Failure> {
        let mut part = Self::default();
        for (name, value) in url::form_urlencoded::parse(query.as_bytes()) {
            let number = || {
                value
                    .parse()
                    .map_err(|_| Failure::argument(format!("`{name}` is a whole number from 0, not `{value}`")))
            };
            match &*name {
                "path" if value.is_empty() || value.starts_with('/') => part.path = value.into_owned(),
                "path" => {
                    return Err(Failure::argument(format!(
                        "`path` is a JSON Pointer, such as `/{value}`, not `{value}`"
                    )));
                }
                "from" => part.from = number()?,
                "count" => part.count = Some(number()?),
                _ => {
                    return Err(Failure::argument(format!(
                        "there is no `{name}`: parts are told by `path`, `from` and `count`"
                    )));
                }
            }
        }
        Ok(part)
    }

    /// The part of a value, which is valid JSON.
    ///
    /// # Errors
    ///
    /// A failure of type `argument` if there is no such part, or if it is too large to be read at once.
    pub(crate) fn of(&self, text: &str) -> Result<String, Failure> {
        let mut value: Box<RawValue> = serde_json::from_str(text).map_err(Failure::internal)?;
        for step in self.path.split('/').skip(1) {
            value = below(&value, &unescape(step))
                .ok_or_else(|| Failure::argument(format!("there is nothing at `{}` of `{}`", step, self.path)))?;
        }
        let part = if self.from > 0 || self.count.is_some() {
            self.range(&value)?
        } else {
            value.get().to_owned()
        };
        if part.len() > MAX_BYTES {
            let told = format!("this part has {} bytes, and {MAX_BYTES} are read at once", part.len());
            return Err(Failure::argument(told).with_hint("name a smaller one: `?path=/items&from=0&count=20`, or `load` it in a program"));
        }
        Ok(part)
    }

    fn range(&self, value: &RawValue) -> Result<String, Failure> {
        let count = self.count.unwrap_or(usize::MAX);
        if let Ok(items) = serde_json::from_str::<Vec<Box<RawValue>>>(value.get()) {
            let items: Vec<&str> = items.iter().skip(self.from).take(count).map(|item| item.get()).collect();
            return Ok(format!("[{}]", items.join(",")));
        }
        match serde_json::from_str::<String>(value.get()) {
            Ok(text) => {
                let part: String = text.chars().skip(self.from).take(count).collect();
                serde_json::to_string(&part).map_err(Failure::internal)
            }
            Err(_) => Err(Failure::argument(
                "`from` and `count` are for lists and texts, and this is neither".to_owned(),
            )),
        }
    }
}

fn below(value: &RawValue, step: &str) -> Option<Box<RawValue>> {
    if value.get().starts_with('{') {
        let mut members: std::collections::BTreeMap<String, Box<RawValue>> = serde_json::from_str(value.get()).ok()?;
        return members.remove(step);
    }
    let items: Vec<Box<RawValue>> = serde_json::from_str(value.get()).ok()?;
    items.into_iter().nth(step.parse().ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"{"items":[{"id":12345678901234567890123},2,3],"a/b":"héllo","~":{"x":[]}}"#;

    #[test]
    fn parts_are_told_by_path_and_range() {
        for (query, expected) in [
            ("", TEXT),
            ("path=/items/0", r#"{"id":12345678901234567890123}"#),
            ("path=/items&from=1&count=1", "[2]"),
            ("path=/items&from=9", "[]"),
            ("path=/a~1b&from=1&count=3", r#""éll""#),
            ("path=/~0/x", "[]"),
        ] {
            assert_eq!(Part::read(query).unwrap().of(TEXT).unwrap(), expected, "{query}");
        }
    }

    #[test]
    fn what_is_not_there_is_told() {
        for (query, told) in [
            ("path=/nope", "there is nothing at `nope`"),
            ("path=/items/7", "there is nothing at `7`"),
            ("path=/~0&from=1", "for lists and texts"),
        ] {
            assert!(Part::read(query).unwrap().of(TEXT).unwrap_err().message.contains(told), "{query}");
        }
        assert!(Part::read("path=items").unwrap_err().message.contains("such as `/items`"));
        assert!(Part::read("from=-1").is_err() && Part::read("nope=1").is_err());
        let large = format!("\"{}\"", "x".repeat(MAX_BYTES));
        assert!(Part::default().of(&large).unwrap_err().message.contains("read at once"));
    }
}
