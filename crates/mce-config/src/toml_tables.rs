//! TOML becomes the same tree as YAML does.

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::lines::Lines;
use crate::yaml::{Entry, Kind, Node, SyntaxError};

/// Reads one document. A key that is given twice is an error, as TOML has it; so is nesting that is too deep for the library.
pub(crate) fn parse(text: &str) -> Result<Node, SyntaxError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let lines = Lines::new(text);
    // The library's own words are left out: they can repeat a secret.
    let table = DeTable::parse(text).map_err(|error| SyntaxError {
        line: error.span().map(|span| lines.line(span.start)),
        message: "the text is not valid TOML".to_owned(),
        hint: None,
    })?;
    let start = table.span().start;
    Ok(node(lines.line(start), false, Kind::Map(settle_table(table.into_inner(), &lines))))
}

fn node(line: u64, is_plain: bool, kind: Kind) -> Node {
    Node { line, kind, is_plain }
}

fn settle_table(table: DeTable<'_>, lines: &Lines) -> Vec<Entry> {
    let entry = |(key, value): (Spanned<std::borrow::Cow<'_, str>>, Spanned<DeValue<'_>>)| Entry {
        line: lines.line(key.span().start),
        key: key.into_inner().into_owned(),
        value: settle(value, lines),
    };
    table.into_iter().map(entry).collect()
}

fn settle(value: Spanned<DeValue<'_>>, lines: &Lines) -> Node {
    let line = lines.line(value.span().start);
    match value.into_inner() {
        DeValue::String(text) => node(line, false, Kind::Scalar(text.into_owned())),
        DeValue::Integer(number) => node(line, true, Kind::Scalar(number.as_str().to_owned())),
        DeValue::Float(number) => node(line, true, Kind::Scalar(number.as_str().to_owned())),
        DeValue::Boolean(flag) => node(line, true, Kind::Scalar(flag.to_string())),
        DeValue::Datetime(time) => node(line, false, Kind::Scalar(time.to_string())),
        DeValue::Array(items) => {
            let items = items.into_iter().map(|item| settle(item, lines));
            node(line, false, Kind::List(items.collect()))
        }
        DeValue::Table(table) => node(line, false, Kind::Map(settle_table(table, lines))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_read_and_lines_are_known() {
        let text = "# one\nmodel = \"x\"\n[mcp_servers.docs]\ncommand = \"npx\"\nargs = [\"-y\"]\n[mcp_servers.docs.env]\nA = 'b'\n";
        let Kind::Map(top) = parse(text).unwrap().kind else { panic!() };
        let servers = top.iter().find(|entry| entry.key == "mcp_servers").unwrap();
        let Kind::Map(servers) = &servers.value.kind else { panic!() };
        let Kind::Map(docs) = &servers[0].value.kind else { panic!() };
        let command = docs.iter().find(|entry| entry.key == "command").unwrap();
        assert_eq!((command.line, &command.value.kind), (4, &Kind::Scalar("npx".to_owned())));
    }

    #[test]
    fn what_is_no_toml_is_refused_with_its_line_and_without_its_words() {
        let deep = format!("a = {}", "[".repeat(100_000));
        for (text, line) in [("a = 1\nb = hunter2", 2), ("a = 1\na = 2", 2), (&deep, 1)] {
            let error = parse(text).unwrap_err();
            assert_eq!(
                (error.line, error.message.as_str()),
                (Some(line), "the text is not valid TOML"),
                "{text:.20}"
            );
        }
        assert_eq!(parse("").unwrap().kind, Kind::Map(Vec::new()));
    }
}
