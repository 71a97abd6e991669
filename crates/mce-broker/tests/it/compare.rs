//! Whether a request is what a case of `tests/cases` expects. The rules are in that folder's README.

use mce_test::ReceivedRequest;
use serde_json::{Map, Value, json};

/// What differs, or nothing.
pub(crate) fn differences(request: &ReceivedRequest, expected: &Map<String, Value>, has_body_argument: bool) -> Vec<String> {
    let mut found = Vec::new();
    for (key, wanted) in expected {
        let is_met = match key.as_str() {
            "method" => wanted == &json!(request.method),
            "target" => is_target(&request.target, wanted),
            "target_any" => items(wanted).iter().any(|one| is_target(&request.target, one)),
            "headers" => wanted
                .as_object()
                .unwrap()
                .iter()
                .all(|(name, value)| is_field(request, name, value)),
            "absent_headers" => items(wanted).iter().all(|name| request.header(name.as_str().unwrap()).is_none()),
            "accepts" => admits(request.header("accept").unwrap_or("*/*"), wanted.as_str().unwrap()),
            "body_json" => serde_json::from_slice::<Value>(&request.body).is_ok_and(|body| is_equal(&body, wanted)),
            "body_text" => wanted == &json!(request.text()),
            "body_text_any" => items(wanted).contains(&json!(request.text())),
            "body_base64" => wanted == &json!(base64(&request.body)),
            "form" => is_form(&request.text(), wanted),
            "multipart" => is_multipart(request, wanted),
            "origin" => true,
            other => panic!("`{other}` is no key of a request"),
        };
        if !is_met {
            found.push(format!(
                "{key}: wanted {wanted}, came {} {} {:?} {:?}",
                request.method,
                request.target,
                request.headers,
                request.text()
            ));
        }
    }
    let has_body_key = expected
        .keys()
        .any(|key| key.starts_with("body_") || key == "form" || key == "multipart");
    if !has_body_key && !has_body_argument && !request.body.is_empty() {
        found.push(format!("there is a body: {:?}", request.text()));
    }
    found
}

/// JSON equality in which 1 and 1.0 are the same, and the order of members does not count.
pub(crate) fn is_equal(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Number(a), Value::Number(b)) => a == b || a.as_f64() == b.as_f64(),
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| is_equal(a, b)),
        (Value::Object(a), Value::Object(b)) => a.len() == b.len() && a.iter().all(|(key, a)| b.get(key).is_some_and(|b| is_equal(a, b))),
        _ => left == right,
    }
}

/// Standard base64.
pub(crate) fn base64(bytes: &[u8]) -> String {
    use base64::Engine;
    base64::engine::general_purpose::STANDARD.encode(bytes)
}

fn items(value: &Value) -> &[Value] {
    value.as_array().map_or(std::slice::from_ref(value), Vec::as_slice)
}

fn is_target(target: &str, wanted: &Value) -> bool {
    let parts = |target: &str| {
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let mut pairs: Vec<_> = query.split('&').map(upper_triples).collect();
        // Stable: the order of pairs of one name stays.
        pairs.sort_by_key(|pair| pair.split('=').next().map(str::to_owned));
        (upper_triples(path), pairs)
    };
    parts(target) == parts(wanted.as_str().unwrap())
}

fn upper_triples(text: &str) -> String {
    let mut out = String::new();
    let mut left = 0_u8;
    for c in text.chars() {
        left = if c == '%' { 3 } else { left };
        out.push(if left > 0 { c.to_ascii_uppercase() } else { c });
        left = left.saturating_sub(1);
    }
    out
}

fn is_field(request: &ReceivedRequest, name: &str, wanted: &Value) -> bool {
    let folded = |value: &str| {
        if name == "content-type" {
            value.to_lowercase().replace("; ", ";")
        } else {
            value.to_owned()
        }
    };
    let value = request.header(name).map(folded);
    items(wanted)
        .iter()
        .any(|one| value.as_deref() == Some(&folded(one.as_str().unwrap())))
}

fn admits(accept: &str, media_type: &str) -> bool {
    let range = format!("{}/*", media_type.split('/').next().unwrap());
    accept
        .split(',')
        .map(|one| one.split(';').next().unwrap().trim())
        .any(|one| one == media_type || one == range || one == "*/*")
}

fn is_form(text: &str, wanted: &Value) -> bool {
    let mut pairs: Vec<(String, String)> = url::form_urlencoded::parse(text.as_bytes()).into_owned().collect();
    let mut wanted: Vec<(String, Value)> = items(wanted)
        .iter()
        .map(|pair| (pair[0].as_str().unwrap().to_owned(), pair[1].clone()))
        .collect();
    pairs.sort_by(|a, b| a.0.cmp(&b.0));
    wanted.sort_by(|a, b| a.0.cmp(&b.0));
    let is_value = |text: &str, wanted: &Value| match wanted.get("json") {
        Some(wanted) => serde_json::from_str::<Value>(text).is_ok_and(|value| is_equal(&value, wanted)),
        None => wanted == text,
    };
    pairs.len() == wanted.len()
        && pairs
            .iter()
            .zip(&wanted)
            .all(|(pair, want)| pair.0 == want.0 && is_value(&pair.1, &want.1))
}

fn is_multipart(request: &ReceivedRequest, wanted: &Value) -> bool {
    let Some(boundary) = request
        .header("content-type")
        .and_then(|value| value.strip_prefix("multipart/form-data; boundary="))
    else {
        return false;
    };
    // Latin-1, so that parts which are no UTF-8 can be cut as text.
    let text: String = request.body.iter().copied().map(char::from).collect();
    let text = format!("\r\n{text}");
    let mut parts: Vec<_> = text.split(&format!("\r\n--{boundary}")).collect();
    let is_whole = parts.pop() == Some("--\r\n") && parts.remove(0).is_empty();
    let mut parts: Vec<_> = parts.into_iter().map(read_part).collect();
    let mut wanted = items(wanted).to_vec();
    parts.sort_by_key(|part| part.name.clone());
    wanted.sort_by_key(|part| part["name"].as_str().unwrap().to_owned());
    is_whole && parts.len() == wanted.len() && parts.iter().zip(&wanted).all(|(part, wanted)| part.is(wanted.as_object().unwrap()))
}

#[derive(Debug)]
struct Part {
    name: String,
    filename: Option<String>,
    content_type: Option<String>,
    bytes: Vec<u8>,
}

impl Part {
    fn is(&self, wanted: &Map<String, Value>) -> bool {
        let text = String::from_utf8_lossy(&self.bytes).into_owned();
        let has_file = wanted.contains_key("filename") == self.filename.is_some();
        has_file
            && wanted.iter().all(|(key, wanted)| match key.as_str() {
                "name" => wanted == &json!(self.name),
                "filename" => items(wanted).contains(&json!(self.filename)),
                "content_type" => items(wanted).contains(&json!(self.content_type)),
                "text" => items(wanted).contains(&json!(text)),
                "base64" => wanted == &json!(base64(&self.bytes)),
                "json" => serde_json::from_str::<Value>(&text).is_ok_and(|value| is_equal(&value, wanted)),
                other => panic!("`{other}` is no key of a part"),
            })
    }
}

fn read_part(text: &str) -> Part {
    let utf8 = |text: &str| String::from_utf8(text.chars().map(|c| u8::try_from(c).unwrap()).collect()).unwrap();
    let (head, body) = text.trim_start_matches("\r\n").split_once("\r\n\r\n").unwrap();
    let mut part = Part {
        name: String::new(),
        filename: None,
        content_type: None,
        bytes: body.chars().map(|c| u8::try_from(c).unwrap()).collect(),
    };
    for line in head.lines() {
        let (name, value) = line.split_once(": ").unwrap();
        if name.eq_ignore_ascii_case("content-type") {
            part.content_type = Some(value.to_owned());
        }
        let quoted = |key: &str| {
            value
                .split(&format!("; {key}=\""))
                .nth(1)
                .and_then(|rest| rest.split('"').next())
                .map(utf8)
        };
        part.name = quoted("name").unwrap_or(part.name);
        part.filename = quoted("filename").or(part.filename);
    }
    part
}
