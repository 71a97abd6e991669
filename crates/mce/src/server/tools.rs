//! The tools of the default surface: what `tools/list` says, and what a call's arguments mean.
//! All definitions together cost at most 600 tokens, however many functions there are.

use std::sync::Arc;

use mce_sandbox::Language;
use rmcp::model::{JsonObject, Tool, ToolAnnotations};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value, json};

use crate::failure::Failure;

/// Names of our own tools. A promoted function never takes one of them.
pub(crate) const NAMES: [&str; 7] = [
    "list_servers",
    "search_functions",
    "get_functions",
    "execute_code",
    "run_cached_code",
    "list_skills",
    "get_server_skills",
];

/// The five tools, in the order in which a model uses them.
pub(crate) fn definitions() -> Vec<Tool> {
    let language = json!({"type": "string", "enum": ["python", "typescript"], "default": "python"});
    let bytes = json!({"type": "integer"});
    vec![
        tool(
            "list_servers",
            "Servers (APIs) whose functions code can call.",
            &json!({}),
            &[],
            true,
        ),
        tool(
            "search_functions",
            "Find functions by what they do. Answers with call-ready signatures and the types they need.",
            &json!({"query": {"type": "string"}, "server": {"type": "string"}, "language": language,
                "limit": {"type": "integer", "minimum": 1, "maximum": 50, "default": 8}}),
            &["query"],
            true,
        ),
        tool(
            "get_functions",
            "All about 1-5 functions: import line, parameters, body and result types, errors, an example. Use before calling what you do not know exactly.",
            &json!({"functions": {"type": "array", "minItems": 1, "maxItems": 5, "items": {"type": "object",
                "properties": {"server_name": {"type": "string"}, "function_name": {"type": "string"},
                    "types": {"type": "array", "items": {"type": "string"}}},
                "required": ["server_name", "function_name"]}}, "language": language}),
            &["functions"],
            true,
        ),
        tool(
            "execute_code",
            "Run a program that calls functions: `from SERVER.functions import FUNCTION`. Do the whole task in one program (loops, filters, \
             joins) and give back little: its value is what `main()` returns, else `result`, else the last expression. Keep values that may \
             change in top-level variables. No network, no files but /tmp.",
            &json!({"code": {"type": "string"}, "description": {"type": "string", "description": "what it does, in general words"},
                "language": language, "max_result_bytes": bytes}),
            &["code", "description"],
            false,
        ),
        tool(
            "run_cached_code",
            "Run an earlier program again, with other values for its top-level variables.",
            &json!({"cache_id": {"type": "string"}, "params": {"type": "object", "description": "variable: value"},
                "max_result_bytes": bytes}),
            &["cache_id"],
            false,
        ),
    ]
}

/// The two optional tools.
pub(crate) fn skill_definitions() -> Vec<Tool> {
    vec![
        tool("list_skills", "Which servers have a guide.", &json!({}), &[], true),
        tool(
            "get_server_skills",
            "A server's guide.",
            &json!({"server_name": {"type": "string"}}),
            &["server_name"],
            true,
        ),
    ]
}

fn tool(name: &'static str, description: &'static str, properties: &Value, required: &[&str], is_read_only: bool) -> Tool {
    let mut schema = json!({"type": "object", "properties": properties});
    if !required.is_empty()
        && let Some(object) = schema.as_object_mut()
    {
        object.insert("required".into(), json!(required));
    }
    let tool = Tool::new(name, description, Arc::new(object(schema)));
    if is_read_only {
        tool.with_annotations(ToolAnnotations::new().read_only(true))
    } else {
        tool
    }
}

pub(crate) fn object(value: Value) -> JsonObject {
    match value {
        Value::Object(object) => object,
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => Map::new(),
    }
}

/// Arguments of `search_functions`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SearchArguments {
    pub(crate) query: String,
    pub(crate) server: Option<String>,
    #[serde(default)]
    pub(crate) language: LanguageArgument,
    pub(crate) limit: Option<u32>,
}

/// Arguments of `get_functions`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct GetArguments {
    pub(crate) functions: Vec<FunctionArgument>,
    #[serde(default)]
    pub(crate) language: LanguageArgument,
}

/// One item of `get_functions`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, expecting = "an object with `server_name` and `function_name`")]
pub(crate) struct FunctionArgument {
    pub(crate) server_name: String,
    pub(crate) function_name: String,
    /// Types that its card does not show.
    #[serde(default)]
    pub(crate) types: Vec<String>,
}

/// Arguments of `execute_code`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ExecuteArguments {
    pub(crate) code: String,
    pub(crate) description: String,
    #[serde(default)]
    pub(crate) language: LanguageArgument,
    #[serde(default, deserialize_with = "result_bytes")]
    pub(crate) max_result_bytes: Option<usize>,
}

/// Arguments of `run_cached_code`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct CachedArguments {
    pub(crate) cache_id: String,
    #[serde(default)]
    pub(crate) params: Option<Map<String, Value>>,
    #[serde(default, deserialize_with = "result_bytes")]
    pub(crate) max_result_bytes: Option<usize>,
}

/// From 256 bytes to 1 MiB.
fn result_bytes<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<usize>, D::Error> {
    let given = Option::<usize>::deserialize(deserializer)?;
    match given {
        Some(bytes) if !(256..=1 << 20).contains(&bytes) => Err(serde::de::Error::custom(format!(
            "`max_result_bytes` is 256 to 1048576, not {bytes}"
        ))),
        given => Ok(given),
    }
}

/// Arguments of `get_server_skills`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SkillsArguments {
    pub(crate) server_name: String,
}

/// A language by its name.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum LanguageArgument {
    #[default]
    Python,
    #[serde(alias = "javascript")]
    Typescript,
}

impl From<LanguageArgument> for Language {
    fn from(language: LanguageArgument) -> Self {
        match language {
            LanguageArgument::Python => Self::Python,
            LanguageArgument::Typescript => Self::TypeScript,
        }
    }
}

/// The arguments of a tool.
///
/// # Errors
///
/// A failure of type `argument` that names the tool and what is wrong with which argument.
pub(crate) fn parse<T: DeserializeOwned>(tool: &str, arguments: Option<JsonObject>) -> Result<T, Failure> {
    let given = Value::Object(arguments.unwrap_or_default());
    serde_json::from_value(given).map_err(|error| {
        let known = definitions()
            .into_iter()
            .chain(skill_definitions())
            .find(|known| known.name == tool);
        let names = known
            .and_then(|known| known.input_schema.get("properties").and_then(Value::as_object).map(names_of))
            .unwrap_or_default();
        Failure::argument(format!("`{tool}`: {error}")).with_hint(format!("its arguments are {names}"))
    })
}

fn names_of(properties: &Map<String, Value>) -> String {
    properties.keys().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrong_arguments_are_refused_by_name() {
        let check = |tool: &str, arguments: Value, expected: &str| {
            let failure = match tool {
                "execute_code" => parse::<ExecuteArguments>(tool, Some(object(arguments))).unwrap_err(),
                "get_functions" => parse::<GetArguments>(tool, Some(object(arguments))).unwrap_err(),
                _ => parse::<SearchArguments>(tool, Some(object(arguments))).unwrap_err(),
            };
            assert!(failure.message.contains(expected), "{failure}");
            assert!(failure.hint.is_some());
        };
        check("execute_code", json!({"code": "1"}), "missing field `description`");
        check("execute_code", json!({"code": 1, "description": ""}), "expected a string");
        check(
            "execute_code",
            json!({"code": "1", "description": "", "lang": "python"}),
            "unknown field `lang`",
        );
        check(
            "get_functions",
            json!({"functions": ["shop.get_item"]}),
            "expected an object with `server_name` and `function_name`",
        );
        check(
            "search_functions",
            json!({"query": "x", "language": "ruby"}),
            "unknown variant `ruby`",
        );
    }

    #[test]
    fn the_names_of_our_tools_are_reserved() {
        for tool in definitions().into_iter().chain(skill_definitions()) {
            assert!(NAMES.contains(&tool.name.as_ref()), "{}", tool.name);
        }
    }
}
