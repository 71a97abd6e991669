//! Texts by format, pattern and length.

use serde_json::{Map, Value};

use crate::pattern;
use crate::sample::{Extent, count};

/// A text that must be encoded to arrive as it is.
const DIFFICULT: &str = "50% é&b/c=d+e,#f;\"g'";

/// A text for schemas that all hold; `None` if nothing that is known here fits.
pub(crate) fn sample(parts: &[&Map<String, Value>], extent: Extent, turn: usize) -> Option<String> {
    let word = |key: &str| parts.iter().find_map(|part| part.get(key)?.as_str());
    let least = count(parts, "minLength").into_iter().max().unwrap_or(0);
    let most = count(parts, "maxLength").into_iter().min().unwrap_or(usize::MAX);
    if let Some(pattern) = word("pattern") {
        let texts = [turn, 0].into_iter().filter_map(|turn| pattern::text_for(pattern, least, turn));
        let fits = |text: &String| text.chars().count() <= most && pattern::is_match(pattern, text);
        return texts.into_iter().find(fits);
    }
    let is_base64 = word("contentEncoding").is_some_and(|encoding| encoding.eq_ignore_ascii_case("base64"));
    let by_format = if is_base64 {
        Some("AAEC/w==".to_owned())
    } else {
        word("format").and_then(|format| of_format(format, turn))
    };
    if let Some(text) = by_format.filter(|text| (least..=most).contains(&text.chars().count())) {
        return Some(text);
    }
    let mut text = match extent {
        Extent::Required => format!("plain{turn}"),
        Extent::All => format!("{DIFFICULT}{turn}"),
    };
    while text.chars().count() < least {
        text.push('x');
    }
    if text.chars().count() > most {
        let plain = format!("{turn}{turn}plain");
        text = plain.chars().cycle().take(most).collect();
    }
    Some(text)
}

fn of_format(format: &str, turn: usize) -> Option<String> {
    let day = turn % 28 + 1;
    Some(match format {
        "date" | "full-date" => format!("2024-02-{day:02}"),
        "date-time" | "datetime" | "iso-8601" => format!("2024-02-{day:02}T10:20:30Z"),
        "time" => format!("10:20:{day:02}Z"),
        "duration" => format!("P{day}D"),
        "uuid" | "guid" | "UUID" => format!("3fa85f64-5717-4562-b3fc-{turn:012x}"),
        "email" | "idn-email" => format!("a{turn}@b.example"),
        "uri" | "url" | "iri" | "URI" | "URL" => format!("https://b.example/a?c={turn}&d=e#f"),
        "uri-reference" | "iri-reference" => format!("/a?c={turn}"),
        "uri-template" => format!("/a/{{b}}/{turn}"),
        "hostname" | "idn-hostname" => format!("b{turn}.example"),
        "ipv4" | "ip" => format!("192.0.2.{day}"),
        "ipv6" => format!("2001:db8::{day}"),
        "ipv4/cidr" | "cidr" => "192.0.2.0/24".to_owned(),
        "byte" | "base64" => "AAEC/w==".to_owned(),
        "json-pointer" => format!("/a~1b/{turn}"),
        "regex" => "^a+$".to_owned(),
        "int32" | "int64" | "integer" | "uint64" | "int" => format!("{turn}"),
        "decimal" | "double" | "float" | "number" => format!("{turn}.5"),
        "boolean" => "true".to_owned(),
        _ => return None,
    })
}
