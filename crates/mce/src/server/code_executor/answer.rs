//! What the tools of this surface answer with, as Code Executor MCP has it.

use std::fmt::Write;

use mce_sandbox::ProgramError;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::app::{CallGroup, Discovery, MODEL, ModelUse, RunAnswer};

/// Characters of output.
const MAX_OUTPUT_CHARS: usize = 25_000;

/// The object that a run is answered by.
pub(super) fn of_run(answer: &RunAnswer, discovery: &Discovery) -> Value {
    let mut whole = json!({
        "success": answer.success,
        "output": output(&answer.logs, answer.data.as_deref()),
        "executionTimeMs": answer.execution_time_ms,
    });
    if let Some(error) = &answer.error {
        whole["error"] = told(error).into();
    }
    // A question to the model is no call of a tool.
    let calls: Vec<&CallGroup> = answer.calls.iter().filter(|group| group.function != MODEL).collect();
    if !calls.is_empty() {
        let name = |group: &CallGroup| {
            let names = discovery.tool_names(&group.function);
            names
                .and_then(|names| names.into_iter().next())
                .unwrap_or_else(|| group.function.clone())
        };
        whole["toolCallsMade"] = calls.iter().map(|group| Value::from(name(group))).collect();
        whole["toolCallSummary"] = calls.iter().map(|group| summary(&name(group), group)).collect();
    }
    whole
}

/// How much of the client's language model a run has used, which may ask it.
pub(super) fn of_model(used: &ModelUse, answer: &RunAnswer) -> Value {
    let asked = answer.calls.iter().filter(|group| group.function == MODEL);
    json!({
        "totalRounds": used.rounds,
        "totalTokens": used.tokens,
        "totalDurationMs": asked.map(|group| group.ms).sum::<u64>(),
        "averageTokensPerRound": used.tokens / used.rounds.max(1),
        "quotaRemaining": {"rounds": used.rounds_left, "tokens": used.tokens_left},
    })
}

/// The object that a call with wrong arguments is answered by.
pub(super) fn of_wrong_arguments(problem: &str) -> Value {
    json!({"success": false, "output": "", "error": format!("Input validation failed: {problem}"), "executionTimeMs": 0})
}

/// What was printed, then the value, if there is one.
fn output(logs: &str, data: Option<&RawValue>) -> String {
    let value = data.map(RawValue::get).filter(|json| *json != "null").map(|json| {
        // A text is shown as it is.
        serde_json::from_str::<String>(json).unwrap_or_else(|_| json.to_owned())
    });
    let mut all = logs.to_owned();
    if let Some(value) = value {
        if !all.is_empty() && !all.ends_with('\n') {
            all.push('\n');
        }
        all.push_str(&value);
    }
    match all.char_indices().nth(MAX_OUTPUT_CHARS) {
        None => all,
        Some((end, _)) => {
            let more = all.chars().count() - MAX_OUTPUT_CHARS;
            all.truncate(end);
            all + &format!("\n\n[Output truncated: {more} more characters. Consider filtering or limiting output in your code.]")
        }
    }
}

fn told(error: &ProgramError) -> String {
    let mut text = error.message.clone();
    if let Some(line) = error.line {
        let source = error.source.as_deref().unwrap_or_default();
        let _ = write!(text, "\n  at line {line}: {source}");
    }
    if let Some(hint) = &error.hint {
        let _ = write!(text, "\nhint: {hint}");
    }
    text
}

fn summary(name: &str, group: &CallGroup) -> Value {
    json!({
        "toolName": name,
        "callCount": group.count,
        "successCount": group.count.saturating_sub(group.failed),
        "errorCount": group.failed,
        "totalDurationMs": group.ms,
        "averageDurationMs": group.ms / u64::from(group.count.max(1)),
    })
}

/// The schema of these objects.
pub(super) fn output_schema() -> Value {
    let (number, count) = (json!({"type": "number"}), json!({"type": "integer"}));
    json!({
        "type": "object",
        "additionalProperties": false,
        "required": ["success", "output", "executionTimeMs"],
        "properties": {
            "success": {"type": "boolean"},
            "output": {"type": "string"},
            "error": {"type": "string"},
            "executionTimeMs": number,
            "toolCallsMade": {"type": "array", "items": {"type": "string"}},
            "toolCallSummary": {"type": "array", "items": {"type": "object", "additionalProperties": false,
                "required": ["toolName", "callCount", "successCount", "errorCount", "totalDurationMs", "averageDurationMs"],
                "properties": {"toolName": {"type": "string"}, "callCount": count, "successCount": count, "errorCount": count,
                    "totalDurationMs": number, "averageDurationMs": number}}},
            "samplingMetrics": {"type": "object", "additionalProperties": false,
                "required": ["totalRounds", "totalTokens", "totalDurationMs", "averageTokensPerRound", "quotaRemaining"],
                "properties": {"totalRounds": count, "totalTokens": count, "totalDurationMs": number, "averageTokensPerRound": number,
                    "quotaRemaining": {"type": "object", "additionalProperties": false, "required": ["rounds", "tokens"],
                        "properties": {"rounds": count, "tokens": count}}}},
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn output_is_what_was_printed_and_the_value() {
        let check = |logs: &str, data: Option<&str>, expected: &str| {
            let data = data.map(|json| RawValue::from_string(json.to_owned()).unwrap());
            assert_eq!(output(logs, data.as_deref()), expected);
        };
        check("a\n", None, "a\n");
        check("a", Some("42"), "a\n42");
        check("", Some("\"text\""), "text");
        check("a\n", Some("null"), "a\n");
        check("", Some("{\"a\":1}"), "{\"a\":1}");
    }

    #[test]
    fn long_output_is_cut_with_a_word_about_it() {
        let cut = output(&"é".repeat(25_010), None);
        assert!(cut.contains("[Output truncated: 10 more characters."), "{}", cut.len());
    }
}
