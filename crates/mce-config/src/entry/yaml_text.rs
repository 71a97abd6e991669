//! An entry in YAML, line by line: there is no editor of YAML that keeps its form. Only sections with a line for each key are edited.

use super::Written;
use crate::yaml::{self, Entry, Kind, Node};

pub(super) fn set(text: &str, keys: &[&str], name: &str, fields: &[(&str, Written)]) -> Option<String> {
    let tree = yaml::parse(text).ok()?;
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let [section] = keys else {
        let path: Vec<&str> = keys.iter().copied().chain([name]).collect();
        return set_fields(text, lines, super::below(&tree, &path)?, fields);
    };
    let Some(found) = entries(&tree).iter().find(|entry| entry.key == *section) else {
        lines.push(format!("{section}:"));
        lines.extend(whole(name, fields, 2));
        return Some(joined(text, &lines));
    };
    let line = usize::try_from(found.line).ok()?;
    let servers = entries(&found.value);
    if let Some(own) = servers.iter().find(|entry| entry.key == name) {
        return set_fields(text, lines, &own.value, fields);
    }
    // The line of the section has nothing behind its colon but a comment, or an empty mapping.
    let header = lines.get_mut(line.checked_sub(1)?)?;
    let (code, comment) = code_and_comment(header)?;
    let bare = if servers.is_empty() {
        code.trim_end_matches("{}").trim_end()
    } else {
        code
    };
    if !bare.ends_with(':') {
        return None;
    }
    *header = format!("{bare}{comment}");
    let indent = servers.first().map_or(Some(2), |first| indent(&lines, first.line))?;
    lines.splice(line..line, whole(name, fields, indent));
    Some(joined(text, &lines))
}

pub(super) fn remove(text: &str, keys: &[&str], name: &str) -> Option<String> {
    let [section] = keys else { return None };
    let tree = yaml::parse(text).ok()?;
    let found = entries(&tree).iter().find(|entry| entry.key == *section)?;
    let servers = entries(&found.value);
    let own = servers.iter().find(|entry| entry.key == name)?;
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let start = usize::try_from(own.line).ok()?.checked_sub(1)?;
    let header = usize::try_from(found.line).ok()?.checked_sub(1)?;
    if start <= header {
        return None;
    }
    lines.drain(start..end(&lines, start)?);
    if servers.len() == 1 {
        // A section without anything is no mapping.
        let header = lines.get_mut(header)?;
        let (code, comment) = code_and_comment(header)?;
        if !code.ends_with(':') {
            return None;
        }
        *header = format!("{code} {{}}{comment}");
    }
    Some(joined(text, &lines))
}

/// A line up to its comment, and the comment with the space before it.
fn code_and_comment(line: &str) -> Option<(&str, &str)> {
    let code = line.split('#').next()?.trim_end();
    Some((code, line.strip_prefix(code)?))
}

/// Puts these values in the place of those that are there; others of the entry stay.
fn set_fields(text: &str, mut lines: Vec<String>, entry: &Node, fields: &[(&str, Written)]) -> Option<String> {
    let first = entries(entry).first()?;
    let depth = indent(&lines, first.line)?;
    let insert_at = usize::try_from(first.line).ok()?.checked_sub(1)?;
    let mut edits: Vec<(usize, usize, String)> = Vec::new();
    for (key, value) in fields {
        let new = field(key, value, depth);
        match entries(entry).iter().find(|entry| entry.key == *key) {
            Some(old) => {
                let start = usize::try_from(old.line).ok()?.checked_sub(1)?;
                edits.push((start, end(&lines, start)?, new));
            }
            None => edits.push((insert_at, insert_at, new)),
        }
    }
    // From the end, so that the lines before stay where they are.
    edits.sort_by_key(|(start, ..)| std::cmp::Reverse(*start));
    for (start, end, new) in edits {
        lines.splice(start..end, [new]);
    }
    Some(joined(text, &lines))
}

/// Behind the last line that belongs to the key of this line: deeper ones, and items of a list at its own depth.
fn end(lines: &[String], start: usize) -> Option<usize> {
    let depth = depth_of(lines.get(start)?);
    let mut end = start + 1;
    for (index, line) in lines.iter().enumerate().skip(start + 1) {
        let is_blank = line.trim().is_empty() || line.trim_start().starts_with('#');
        let is_item = depth_of(line) == depth && line.trim_start().starts_with("- ");
        if is_blank {
            continue;
        }
        if depth_of(line) <= depth && !is_item {
            break;
        }
        end = index + 1;
    }
    Some(end)
}

fn whole(name: &str, fields: &[(&str, Written)], indent: usize) -> Vec<String> {
    let mut lines = vec![format!("{}{name}:", " ".repeat(indent))];
    lines.extend(fields.iter().map(|(key, value)| field(key, value, indent * 2)));
    lines
}

fn field(key: &str, value: &Written, indent: usize) -> String {
    // JSON is YAML.
    let value = match value {
        Written::Text(text) => quoted(text),
        Written::List(items) => format!("[{}]", items.iter().map(|item| quoted(item)).collect::<Vec<_>>().join(", ")),
        Written::Flag(flag) => flag.to_string(),
        Written::Number(number) => number.to_string(),
        Written::Texts(members) => {
            let members = members.iter().map(|(key, text)| format!("{}: {}", quoted(key), quoted(text)));
            format!("{{{}}}", members.collect::<Vec<_>>().join(", "))
        }
    };
    format!("{}{key}: {value}", " ".repeat(indent))
}

fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

fn entries(node: &Node) -> &[Entry] {
    match &node.kind {
        Kind::Map(entries) => entries,
        Kind::Null | Kind::Scalar(_) | Kind::List(_) => &[],
    }
}

fn indent(lines: &[String], line: u64) -> Option<usize> {
    lines.get(usize::try_from(line).ok()?.checked_sub(1)?).map(|line| depth_of(line))
}

fn depth_of(line: &str) -> usize {
    line.len() - line.trim_start_matches(' ').len()
}

/// With the ends of lines that the text had before.
fn joined(before: &str, lines: &[String]) -> String {
    let end = if before.contains("\r\n") { "\r\n" } else { "\n" };
    lines.iter().fold(String::new(), |text, line| text + line + end)
}
