//! What a function answered, as the result of a tool.

use rmcp::model::{CallToolResult, ContentBlock};
use serde_json::{Value, json};

use super::as_written::carrying;
use crate::app::Called;
use crate::failure::Failure;

/// The result of a tool. That of an MCP server's tool is as the server wrote it, but for what `adapt` changes.
///
/// # Errors
///
/// A failure of type `internal` if it is no JSON.
pub(super) fn tool_result(called: Called, is_modern: bool, adapt: impl FnOnce(&mut Value)) -> Result<CallToolResult, Failure> {
    let result = match called {
        Called::Value(value) => return Ok(CallToolResult::success(vec![ContentBlock::text(value.get())])),
        Called::Result(result) => result,
    };
    let mut result: Value = serde_json::from_str(result.get()).map_err(Failure::internal)?;
    adapt(&mut result);
    if !is_modern {
        for_legacy(&mut result);
    }
    let mut answer = CallToolResult::success(Vec::new());
    answer.is_error = None;
    answer.meta = Some(carrying(result));
    Ok(answer)
}

/// Structured content was an object before 2026-07-28; another value becomes a text, unless it is one already.
fn for_legacy(result: &mut Value) {
    let Some(members) = result.as_object_mut() else { return };
    if members.get("structuredContent").is_none_or(Value::is_object) {
        return;
    }
    let text = members.shift_remove("structuredContent").unwrap_or_default().to_string();
    if let Some(blocks) = members.get_mut("content").and_then(Value::as_array_mut)
        && blocks.is_empty()
    {
        blocks.push(json!({"type": "text", "text": text}));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clients_of_before_get_objects_as_structured_content() {
        let mut result = json!({"content": [], "structuredContent": [1]});
        for_legacy(&mut result);
        assert_eq!(result, json!({"content": [{"type": "text", "text": "[1]"}]}));
        let object = json!({"content": [], "structuredContent": {"a": 1}});
        let mut same = object.clone();
        for_legacy(&mut same);
        assert_eq!(same, object);
    }
}
