//! What the tools of this surface take, as Code Executor MCP has it.

use std::time::Duration;

use mce_sandbox::Language;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::app::{ModelLeave, Narrowed};

/// Milliseconds that a program may ask for.
const TIMEOUT_MS: std::ops::RangeInclusive<u64> = 1_000..=600_000;
/// Answers of a language model that a program may ask for.
const ROUNDS: std::ops::RangeInclusive<u32> = 1..=100;
/// Tokens of these.
const TOKENS: std::ops::RangeInclusive<u32> = 100..=100_000;

/// Arguments of the tools that run programs. Unknown ones are ignored, as that product does.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct RunArguments {
    pub(super) code: String,
    allowed_tools: Option<Vec<String>>,
    timeout_ms: Option<u64>,
    #[serde(default)]
    permissions: Permissions,
    #[serde(default)]
    enable_sampling: bool,
    max_sampling_rounds: Option<u32>,
    max_sampling_tokens: Option<u32>,
    #[serde(rename = "samplingSystemPrompt")]
    _system_prompt: Option<String>,
    #[serde(rename = "allowedSamplingModels")]
    _models: Option<Vec<String>>,
}

/// Files and hosts of a program. No file of this machine is ever there but those of its own `/tmp`.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Permissions {
    #[serde(rename = "read")]
    _read: Option<Vec<String>>,
    #[serde(rename = "write")]
    _write: Option<Vec<String>>,
    net: Option<Vec<String>>,
}

impl RunArguments {
    /// Reads them.
    ///
    /// # Errors
    ///
    /// What is wrong with them, in words.
    pub(super) fn read(arguments: Map<String, Value>) -> Result<Self, String> {
        let read: Self = serde_json::from_value(Value::Object(arguments)).map_err(|error| error.to_string())?;
        if read.code.is_empty() {
            return Err("`code` is empty".to_owned());
        }
        check("timeoutMs", read.timeout_ms, &TIMEOUT_MS)?;
        check("maxSamplingRounds", read.max_sampling_rounds, &ROUNDS)?;
        check("maxSamplingTokens", read.max_sampling_tokens, &TOKENS)?;
        Ok(read)
    }

    /// What the run may do less than the settings allow.
    pub(super) fn narrowed(&self) -> Narrowed {
        Narrowed {
            wall: self.timeout_ms.map(Duration::from_millis),
            functions: self.allowed_tools.clone(),
            hosts: self.permissions.net.clone(),
        }
    }

    /// Leave to ask the client's language model.
    pub(super) fn model(&self) -> Option<ModelLeave> {
        self.enable_sampling.then_some(ModelLeave {
            rounds: self.max_sampling_rounds,
            tokens: self.max_sampling_tokens,
        })
    }
}

fn check<T: PartialOrd + std::fmt::Display>(name: &str, value: Option<T>, range: &std::ops::RangeInclusive<T>) -> Result<(), String> {
    match value {
        Some(value) if !range.contains(&value) => Err(format!(
            "`{name}` is {value}, and must be from {} to {}",
            range.start(),
            range.end()
        )),
        Some(_) | None => Ok(()),
    }
}

/// The schema of [`RunArguments`].
pub(super) fn input_schema(language: Language) -> Value {
    let texts = json!({"type": "array", "items": {"type": "string"}});
    let about = match language {
        Language::Python => "Python. Tools: `call_mcp_tool('mcp__server__tool', {...})`; `search_tools('words')` finds them.",
        Language::TypeScript => "TypeScript. Tools: `await callMCPTool('mcp__server__tool', {...})`; `searchTools('words')` finds them.",
    };
    json!({
        "type": "object",
        "required": ["code"],
        "properties": {
            "code": {"type": "string", "minLength": 1, "description": about},
            "allowedTools": {"type": "array", "items": {"type": "string"},
                "description": "only these: `mcp__server__tool` or `mcp__server__*`; without it all that the server allows"},
            "timeoutMs": {"type": "integer", "minimum": TIMEOUT_MS.start(), "maximum": TIMEOUT_MS.end()},
            "permissions": {"type": "object", "additionalProperties": false,
                "properties": {"read": texts, "write": texts, "net": texts}},
            "enableSampling": {"type": "boolean", "default": false, "description": "`llm.ask(prompt)` asks your model"},
            "maxSamplingRounds": {"type": "integer", "minimum": ROUNDS.start(), "maximum": ROUNDS.end()},
            "maxSamplingTokens": {"type": "integer", "minimum": TOKENS.start(), "maximum": TOKENS.end()},
            "samplingSystemPrompt": {"type": "string"},
            "allowedSamplingModels": texts,
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[expect(clippy::needless_pass_by_value, reason = "so that tests can write `json!` in place")]
    fn read(arguments: Value) -> Result<RunArguments, String> {
        RunArguments::read(arguments.as_object().cloned().unwrap())
    }

    #[test]
    fn what_is_asked_for_is_handed_on() {
        let all = json!({"code": "1", "allowedTools": ["mcp__a__*"], "timeoutMs": 1500, "permissions": {"net": ["x"], "read": ["/tmp"]},
            "enableSampling": true, "maxSamplingRounds": 3, "maxSamplingTokens": 200, "samplingSystemPrompt": "", "allowedSamplingModels": [],
            "skipDangerousPatternCheck": true});
        let read = read(all).unwrap();
        let narrowed = read.narrowed();
        assert_eq!(narrowed.wall, Some(Duration::from_millis(1500)));
        assert_eq!(narrowed.functions, Some(vec!["mcp__a__*".to_owned()]));
        assert_eq!(narrowed.hosts, Some(vec!["x".to_owned()]));
        let leave = read.model().unwrap();
        assert_eq!((leave.rounds, leave.tokens), (Some(3), Some(200)));
    }

    #[test]
    fn wrong_arguments_are_told() {
        for (arguments, part) in [
            (json!({}), "code"),
            (json!({"code": ""}), "empty"),
            (json!({"code": "1", "timeoutMs": 10}), "from 1000 to 600000"),
            (json!({"code": "1", "permissions": {"run": []}}), "run"),
            (json!({"code": "1", "maxSamplingRounds": 0}), "maxSamplingRounds"),
            (json!({"code": "1", "allowedTools": "x"}), "sequence"),
        ] {
            let error = read(arguments).unwrap_err();
            assert!(error.contains(part), "{error}");
        }
        assert!(read(json!({"code": "1"})).unwrap().model().is_none());
    }
}
