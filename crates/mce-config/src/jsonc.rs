//! JSON as editors write it, with comments and trailing commas, becomes the same tree as YAML does.

use std::collections::BTreeMap;

use jsonc_parser::ast::{ObjectProp, ObjectPropName, Value};
use jsonc_parser::errors::ParseErrorKind;
use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast};

use crate::lines::Lines;
use crate::yaml::{Entry, Kind, Node, SyntaxError};

/// Reads one document. An empty one is null. Of a key that is given twice the last counts, as in the programs whose files these
/// are. The library refuses nesting deeper than 512.
pub(crate) fn parse(text: &str) -> Result<Node, SyntaxError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let options = ParseOptions {
        allow_missing_commas: false,
        ..ParseOptions::default()
    };
    // The library's own words are left out: they can repeat a secret.
    let parsed = parse_to_ast(text, &CollectOptions::default(), &options).map_err(|error| SyntaxError {
        line: u64::try_from(error.line_display()).ok(),
        message: match error.kind() {
            ParseErrorKind::NestingDepthExceeded => "the document is too deep".to_owned(),
            _ => "the text is not valid JSON".to_owned(),
        },
        hint: None,
    })?;
    let lines = Lines::new(text);
    Ok(parsed.value.map_or_else(
        || Node {
            line: 1,
            kind: Kind::Null,
            is_plain: false,
        },
        |value| settle(value, &lines),
    ))
}

fn settle(value: Value<'_>, lines: &Lines) -> Node {
    let (start, is_plain, kind) = match value {
        Value::NullKeyword(null) => (null.range.start, false, Kind::Null),
        Value::StringLit(text) => (text.range.start, false, Kind::Scalar(text.value.into_owned())),
        Value::NumberLit(number) => (number.range.start, true, Kind::Scalar(number.value.to_owned())),
        Value::BooleanLit(flag) => (flag.range.start, true, Kind::Scalar(flag.value.to_string())),
        Value::Array(array) => {
            let items = array.elements.into_iter().map(|item| settle(item, lines));
            (array.range.start, false, Kind::List(items.collect()))
        }
        Value::Object(object) => (object.range.start, false, Kind::Map(settle_object(object.properties, lines))),
    };
    Node {
        line: lines.line(start),
        kind,
        is_plain,
    }
}

fn settle_object(properties: Vec<ObjectProp<'_>>, lines: &Lines) -> Vec<Entry> {
    let mut entries: Vec<Entry> = Vec::new();
    let mut places: BTreeMap<String, usize> = BTreeMap::new();
    for property in properties {
        let key = match property.name {
            ObjectPropName::String(name) => name.value.into_owned(),
            ObjectPropName::Word(name) => name.value.to_owned(),
        };
        let entry = Entry {
            line: lines.line(property.range.start),
            value: settle(property.value, lines),
            key: key.clone(),
        };
        if let Some(known) = places.get(&key).and_then(|place| entries.get_mut(*place)) {
            *known = entry;
        } else {
            places.insert(key, entries.len());
            entries.push(entry);
        }
    }
    entries
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entries(text: &str) -> Vec<Entry> {
        match parse(text).unwrap().kind {
            Kind::Map(entries) => entries,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn comments_and_trailing_commas_are_read_and_lines_are_known() {
        let found = entries("\u{feff}// one\n{\n  /* two\n */ \"a\": [1.50, true, null,],\n  \"b\": \"x\\ny\",\n}\n");
        let Kind::List(items) = &found[0].value.kind else { panic!() };
        let kinds: Vec<&Kind> = items.iter().map(|item| &item.kind).collect();
        let scalar = |text: &str| Kind::Scalar(text.to_owned());
        assert_eq!(kinds, [&scalar("1.50"), &scalar("true"), &Kind::Null]);
        assert!(items[0].is_plain && items[1].is_plain);
        assert_eq!((found[0].line, found[1].line), (4, 5));
        assert_eq!((&found[1].value.kind, found[1].value.is_plain), (&scalar("x\ny"), false));
    }

    #[test]
    fn of_a_key_given_twice_the_last_counts() {
        let found = entries("{\"a\": 1, \"b\": 2,\n\"a\": 3}");
        let found: Vec<(&str, u64, &Kind)> = found.iter().map(|e| (e.key.as_str(), e.line, &e.value.kind)).collect();
        let scalar = |text: &str| Kind::Scalar(text.to_owned());
        assert_eq!(found, [("a", 2, &scalar("3")), ("b", 1, &scalar("2"))]);
    }

    #[test]
    fn what_is_no_json_is_refused_with_its_line_and_without_its_words() {
        let deep = "[".repeat(100_000);
        for (text, line, message) in [
            ("{\"a\": 1,\n hunter2}", Some(2), "the text is not valid JSON"),
            ("{\"a\": \"hunter2", Some(1), "the text is not valid JSON"),
            ("{} {}", Some(1), "the text is not valid JSON"),
            ("{\"a\": 1 \"b\": 2}", Some(1), "the text is not valid JSON"),
            (&deep, Some(1), "the document is too deep"),
        ] {
            let error = parse(text).unwrap_err();
            assert_eq!((error.line, error.message.as_str()), (line, message), "{text:.20}");
        }
        assert_eq!(parse("").unwrap().kind, Kind::Null);
        assert_eq!(parse("// nothing").unwrap().kind, Kind::Null);
    }
}
