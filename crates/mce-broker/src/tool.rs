//! One call of a tool of an MCP server: the same steps as for an API, with another way to send and to read.

use std::sync::Arc;
use std::time::Instant;

use mce_catalog::catalog::is_untyped;
use mce_catalog::function::ToolTarget;
use mce_catalog::observed::shape_of;
use mce_config::Origin;
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Map, Value, json};

use crate::answer::{Answer, AnswerValue};
use crate::arguments::{Arguments, Null, read_arguments};
use crate::call::{Broker, CallRequest, qualified};
use crate::call_error::{CallError, CallErrorKind};
use crate::function_source::FoundFunction;
use crate::json_text::{MAX_DEPTH, is_shallow};
use crate::pace::Health;
use crate::policy::{self, Facts};
use crate::recipe_runs::ReadyRecipe;
use crate::tool_fault::Refused;
use crate::upstream::{ToolAnswer, ToolCall, UpstreamError};

/// Characters of what a tool says about its failure.
const MAX_FAILURE_CHARS: usize = 4_000;

/// What can be sent.
enum Ready<'a> {
    Recipe(ReadyRecipe<'a>),
    /// Its arguments.
    Tool(Map<String, Value>),
}

impl Broker {
    pub(crate) async fn call_tool(
        &self,
        request: CallRequest<'_>,
        found: &Arc<FoundFunction>,
        tool: &ToolTarget,
    ) -> Result<Answer, CallError> {
        let function = &found.function;
        let server = self.server(&function.server)?;
        let (arguments, members) = self.checked_members(request, found, tool)?;
        policy::check_function(server, function)?;
        let facts = Facts::of_call(request, server, found, &arguments);
        let members = into_object(members);
        let ready = async {
            match &server.origin {
                Origin::Recipes(_) => {
                    let refused = || CallError::policy("recipes cannot be called from here");
                    let ready = request.recipes.ok_or_else(refused)?.ready(&tool.name, members).await;
                    Ok(Ready::Recipe(ready.map_err(|error| self.without_secrets(error))?))
                }
                Origin::OpenApi(_) | Origin::McpStdio(_) | Origin::McpHttp(_) => Ok(Ready::Tool(members)),
            }
        };
        let (ready, _turn, intent) = self.admit(request, (function, &arguments), &facts, ready).await?;
        let sent = match ready {
            Ready::Recipe(recipe) => run_recipe(found, recipe, request.with_content).await,
            Ready::Tool(members) => self.send_to_tool(found, tool, members, request).await,
        };
        let outcome = sent.map_err(|error| self.without_secrets(error).on_record());
        intent.end_call(outcome.as_ref());
        outcome
    }

    /// The arguments, which fit, and as one object by the tool's own names.
    pub(crate) fn checked_members<'a>(
        &self,
        request: CallRequest<'a>,
        found: &'a Arc<FoundFunction>,
        tool: &ToolTarget,
    ) -> Result<(Arguments<'a>, Value), CallError> {
        let server = self.server(&found.function.server);
        let is_recipe = server.is_ok_and(|server| matches!(server.origin, Origin::Recipes(_)));
        let null = if is_recipe { Null::Misfit } else { Null::Missing };
        let check = || {
            let arguments = read_arguments(found, request.caller, request.naming, request.arguments, null)?;
            let validators = self.checked_parameters(found, &arguments)?;
            let members = members_of(&arguments);
            validators.check_whole(tool, &members)?;
            Ok((arguments, members))
        };
        check().map_err(|error: CallError| {
            if error.kind != CallErrorKind::Argument {
                return error;
            }
            let validators = self.validators.of(found);
            let refused = Refused {
                request,
                found,
                tool,
                validators: &validators,
            };
            refused.explain(error)
        })
    }

    async fn send_to_tool(
        &self,
        found: &FoundFunction,
        tool: &ToolTarget,
        arguments: Map<String, Value>,
        request: CallRequest<'_>,
    ) -> Result<Answer, CallError> {
        let started = Instant::now();
        let call = ToolCall {
            server: &found.function.server,
            tool: &tool.name,
            arguments,
            client: request.client,
        };
        let called = self.upstreams.call_tool_in_place(call).await;
        let is_bad = called.as_ref().is_err_and(UpstreamError::is_outage);
        self.pace
            .note(&found.function.server, if is_bad { Health::Bad } else { Health::Good });
        let answer = called.map_err(|error| upstream_failure(&error))?;
        let clean = |value: &Value| -> Result<Box<RawValue>, CallError> {
            let text = value.to_string();
            RawValue::from_string(self.answer_redactor.json(&text).into_owned())
                .map_err(|error| CallError::new(CallErrorKind::Output, format!("the answer cannot be read: {error}")))
        };
        let result = request.with_content.then(|| clean(&answer.to_result())).transpose()?;
        if answer.is_error {
            return Err(tool_failure(&answer).with_result(result));
        }
        let value = value_of(answer);
        let shape = is_untyped(&found.function).then(|| clean(&shape_of(&value))).transpose()?;
        let value = match value {
            Value::Null => AnswerValue::Empty,
            value => AnswerValue::Json(clean(&value)?),
        };
        Ok(Answer {
            attempts: 1,
            function: qualified(found),
            effect: found.function.effect,
            value,
            status: None,
            headers: Vec::new(),
            result,
            shape: shape.and_then(|shape| serde_json::from_str(shape.get()).ok()),
            elapsed: started.elapsed(),
        })
    }
}

/// Runs a saved recipe. Its value is also the one block of its answer, as JSON. What it gives was made of what calls gave, from which secrets are gone already.
async fn run_recipe(found: &FoundFunction, recipe: ReadyRecipe<'_>, with_content: bool) -> Result<Answer, CallError> {
    let started = Instant::now();
    let value = recipe.await?;
    let result = || to_raw_value(&json!({"content": [{"type": "text", "text": value.get()}]}));
    let result = with_content.then(result).transpose();
    let shape = || serde_json::from_str(value.get()).ok().map(|value| shape_of(&value));
    Ok(Answer {
        attempts: 1,
        function: qualified(found),
        effect: found.function.effect,
        shape: is_untyped(&found.function).then(shape).flatten(),
        value: AnswerValue::Json(value),
        status: None,
        headers: Vec::new(),
        result: result.map_err(|error| CallError::new(CallErrorKind::Internal, error.to_string()))?,
        elapsed: started.elapsed(),
    })
}

/// The arguments as one object, by the tool's own names.
fn members_of(arguments: &Arguments<'_>) -> Value {
    let named = arguments.parameters.iter();
    let named = named.map(|argument| (argument.parameter.original.clone(), argument.value.clone()));
    Value::Object(named.chain(arguments.more.iter().cloned()).collect())
}

fn into_object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(members) => members,
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => Map::new(),
    }
}

/// What a program gets: the structured content; else what the only block says; else all blocks. A text that is a JSON object
/// or array is read as that. Null if there is nothing.
fn value_of(answer: ToolAnswer) -> Value {
    if let Some(structured) = answer.structured.filter(|value| !value.is_null()) {
        return structured;
    }
    let mut values: Vec<Value> = answer.content.into_iter().map(value_of_block).collect();
    match values.len() {
        0 => Value::Null,
        1 => values.pop().unwrap_or_default(),
        _ => Value::Array(values),
    }
}

fn value_of_block(block: Value) -> Value {
    match text_of(&block) {
        Some(text) => value_of_text(text),
        None => block,
    }
}

fn text_of(block: &Value) -> Option<&str> {
    let is_text = block.get("type").and_then(Value::as_str) == Some("text");
    block.get("text").and_then(Value::as_str).filter(|_| is_text)
}

fn value_of_text(text: &str) -> Value {
    let is_json = text.trim_start().starts_with(['{', '[']) && is_shallow(text, MAX_DEPTH);
    let value = is_json.then(|| serde_json::from_str(text).ok()).flatten();
    value.unwrap_or_else(|| Value::from(text))
}

/// What a tool says when it fails, in its own words.
fn tool_failure(answer: &ToolAnswer) -> CallError {
    let texts: Vec<&str> = answer.content.iter().filter_map(text_of).collect();
    let text = texts.join("\n");
    let shown: String = text.trim().chars().take(MAX_FAILURE_CHARS).collect();
    let kind = CallErrorKind::Tool { may_have_effects: true };
    CallError::new(
        kind,
        if shown.is_empty() {
            "the tool failed and does not say why".to_owned()
        } else {
            shown
        },
    )
}

pub(crate) fn upstream_failure(error: &UpstreamError) -> CallError {
    let kind = match error {
        UpstreamError::NotInTime { .. } => CallErrorKind::Timeout,
        UpstreamError::TooLarge { .. } => CallErrorKind::Output,
        UpstreamError::Busy { .. } => CallErrorKind::Busy,
        UpstreamError::Unresolved { .. } => CallErrorKind::Policy,
        _ => CallErrorKind::Tool {
            may_have_effects: error.may_have_effects(),
        },
    };
    let made = CallError::new(kind, error.to_string()).with_internal(error.internal());
    match error.hint() {
        Some(hint) => made.with_hint(hint),
        None => made,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_value_of_an_answer_is_what_its_author_meant() {
        let text = |text: &str| json!({"type": "text", "text": text});
        let image = json!({"type": "image", "data": "AA==", "mimeType": "image/png"});
        let check = |content: Vec<Value>, structured: Option<Value>, expected: Value| {
            let answer = ToolAnswer {
                content,
                structured,
                is_error: false,
                rest: Map::new(),
            };
            assert_eq!(value_of(answer), expected);
        };
        check(vec![text("x")], Some(json!({"a": 1})), json!({"a": 1}));
        check(vec![text("x")], Some(json!(null)), json!("x"));
        check(vec![text("plain")], None, json!("plain"));
        check(vec![text(" {\"a\": [1]}\n")], None, json!({"a": [1]}));
        check(vec![text("[1, 2]")], None, json!([1, 2]));
        check(vec![text("42")], None, json!("42"));
        check(vec![text("[INFO] no JSON")], None, json!("[INFO] no JSON"));
        check(vec![text("a"), image.clone()], None, json!(["a", image.clone()]));
        check(vec![image.clone()], None, image);
        check(Vec::new(), None, json!(null));
    }

    #[test]
    fn a_failure_is_told_in_the_words_of_the_tool() {
        let answer = |content: Vec<Value>| ToolAnswer {
            content,
            structured: None,
            is_error: true,
            rest: Map::new(),
        };
        let error = tool_failure(&answer(vec![
            json!({"type": "text", "text": "no such file"}),
            json!({"type": "text", "text": "x"}),
        ]));
        assert_eq!((error.kind.as_str(), error.to_string().as_str()), ("tool", "no such file\nx"));
        assert!(!tool_failure(&answer(Vec::new())).to_string().is_empty());
    }
}
