//! One record of the audit log in one line, for people.

use serde_json::Value;

/// `2026-01-31T12:00:00.000Z outcome  shop.get_item  GET /items/{id}  ok 200  3 bytes  12 ms  run=…`.
pub(super) fn line_of(record: &Value) -> String {
    let text = |key: &str| record.get(key).and_then(Value::as_str).map(plain);
    let number = |key: &str| record.get(key).and_then(Value::as_u64);
    let mut words = vec![text("time").unwrap_or_default(), format!("{:8}", text("event").unwrap_or_default())];
    let named = ["what", "function", "operation", "language", "effect"];
    words.extend(named.into_iter().filter_map(text));
    match record.get("ok").and_then(Value::as_bool) {
        Some(true) => words.push("ok".to_owned()),
        Some(false) => words.push("failed".to_owned()),
        None => {}
    }
    words.extend(number("status").map(|status| status.to_string()));
    words.extend(number("bytes").map(|bytes| format!("{bytes} bytes")));
    words.extend(number("calls").map(|calls| format!("{calls} calls")));
    words.extend(number("lines").map(|lines| format!("{lines} lines")));
    words.extend(number("ms").map(|ms| format!("{ms} ms")));
    if let Some(error) = record.get("error") {
        let part = |key: &str| error.get(key).and_then(Value::as_str).map(plain);
        words.push(part("type").unwrap_or_default());
        words.extend(part("message").map(|message| format!("`{message}`")));
    }
    words.extend(text("outcome").map(|outcome| format!("OUTCOME {}", outcome.to_uppercase())));
    if let Some(arguments) = record.get("arguments") {
        words.push(plain(&arguments.to_string()));
    }
    for key in ["decision", "rule", "asker", "client", "run"] {
        words.extend(text(key).map(|value| format!("{key}={value}")));
    }
    words.retain(|word| !word.is_empty());
    words.join("  ")
}

/// Clients, programs and servers chose parts of it: nothing in it may command a terminal.
fn plain(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_record_is_one_line_that_commands_no_terminal() {
        let record = json!({"time": "T", "event": "outcome", "function": "shop.get_item", "ok": false, "status": 500,
            "error": {"type": "api", "message": "a\n\u{1b}[2Jb"}, "client": "x\r\ny", "run": "r1", "ms": 7});
        assert_eq!(
            line_of(&record),
            "T  outcome   shop.get_item  failed  500  7 ms  api  `a  [2Jb`  client=x  y  run=r1"
        );
    }
}
