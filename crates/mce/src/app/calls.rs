//! One call of a function that no program makes: of a command, or of a client that sees functions as tools.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use mce_broker::{Answer, AnswerValue, CallError, CallRequest, Caller, Naming};
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Value, json};

use super::recipe_calls::AtTop;
use super::{App, Behalf, run_calls};
use crate::failure::Failure;

/// What a function answered that was called as a tool.
pub(crate) enum Called {
    /// The result of a tool of an MCP server, with its content blocks.
    Result(Box<RawValue>),
    /// The value of another function.
    Value(Box<RawValue>),
}

impl App {
    /// Calls one function by original or language names.
    ///
    /// # Errors
    ///
    /// The call's failure, with its type.
    pub(crate) async fn call(&self, reference: &str, arguments: &RawValue, behalf: &Behalf) -> Result<Box<RawValue>, Failure> {
        self.check_project(behalf).await?;
        let answer = self.call_broker(reference, arguments, behalf, false).await;
        value_of(answer.map_err(|error| run_calls::failure_of(&error))?.value)
    }

    /// Calls one function as a tool: what a tool of an MCP server answers is given as it is, also where it failed.
    ///
    /// # Errors
    ///
    /// As [`App::call`].
    pub(crate) async fn call_whole(&self, reference: &str, arguments: &RawValue, behalf: &Behalf) -> Result<Called, Failure> {
        self.check_project(behalf).await?;
        match self.call_broker(reference, arguments, behalf, true).await {
            Ok(Answer { result: Some(result), .. }) => Ok(Called::Result(result)),
            Ok(answer) => value_of(answer.value).map(Called::Value),
            Err(error) => match error.result() {
                Some(result) => Ok(Called::Result(result.to_owned())),
                None => Err(run_calls::failure_of(&error)),
            },
        }
    }

    async fn call_broker(&self, reference: &str, arguments: &RawValue, behalf: &Behalf, with_content: bool) -> Result<Answer, CallError> {
        let request = CallRequest {
            run: &behalf.run(None),
            caller: Caller::Python,
            naming: Naming::Original,
            function: reference,
            arguments,
            with_content,
            page: None,
            client: Some(&behalf.client),
            recipes: Some(&AtTop {
                runner: &self.runner,
                behalf,
            }),
        };
        let answer = self.broker.call(request).await?;
        if let Some(shape) = &answer.shape {
            self.discovery.observe(&answer.function, shape);
        }
        Ok(answer)
    }
}

fn value_of(value: AnswerValue) -> Result<Box<RawValue>, Failure> {
    match value {
        AnswerValue::Json(json) => Ok(json),
        AnswerValue::Text(text) => to_raw_value(&text).map_err(Failure::internal),
        AnswerValue::Bytes(bytes) => to_raw_value(&json!({"base64": BASE64_STANDARD.encode(bytes)})).map_err(Failure::internal),
        AnswerValue::Empty => to_raw_value(&Value::Null).map_err(Failure::internal),
    }
}
