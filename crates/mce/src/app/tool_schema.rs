//! Functions as tools for programs that look for them: what MCP servers have as they wrote it, others from their parameters.

use mce_catalog::function::{Function, Target, Types};
use mce_catalog::schema::{View, self_contained};
use mce_sandbox::SearchBy;
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::discovery::Discovery;
use crate::failure::Failure;

/// Functions that one search gives at most.
const MAX_FOUND: usize = 1000;

/// A function as a tool.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ToolSchema {
    /// `mcp__server__tool`.
    name: String,
    description: String,
    parameters: Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    output_schema: Option<Value>,
}

/// The arguments of a function as one JSON Schema.
pub(crate) fn arguments_schema(function: &Function, types: &Types) -> Value {
    let mut properties = Map::new();
    let mut required = Vec::new();
    for parameter in &function.parameters {
        let mut schema = parameter.schema.clone();
        if let (Some(object), false) = (schema.as_object_mut(), parameter.description.is_empty()) {
            object.entry("description").or_insert_with(|| json!(parameter.description));
        }
        properties.insert(parameter.python.clone(), schema);
        if parameter.is_required {
            required.push(Value::from(parameter.python.clone()));
        }
    }
    if let Some(body) = &function.body {
        properties.insert(
            "body".to_owned(),
            body.variants.first().map_or(json!({}), |variant| variant.schema.clone()),
        );
        if body.is_required {
            required.push("body".into());
        }
    }
    self_contained(
        &json!({"type": "object", "properties": properties, "required": required}),
        types,
        View::Request,
    )
}

impl Discovery {
    /// Functions as tools.
    ///
    /// # Errors
    ///
    /// A failure if there is no such server, or the catalog cannot be read.
    pub(super) fn tool_schemas(
        &self,
        query: &str,
        by: SearchBy,
        server: Option<&str>,
        limit: Option<u32>,
    ) -> Result<Vec<ToolSchema>, Failure> {
        let most = limit.map_or(MAX_FOUND, |limit| usize::try_from(limit).unwrap_or(MAX_FOUND).min(MAX_FOUND));
        let functions = match by {
            SearchBy::Name => self.whole(query).into_iter().collect(),
            SearchBy::Words if query.trim().is_empty() => self.with_terms(&[], server, most)?,
            SearchBy::Words => {
                let found = self.find(query, server, most)?;
                found
                    .iter()
                    .filter_map(|hit| self.function(&hit.server, &hit.function).ok())
                    .collect()
            }
            SearchBy::Terms => {
                let terms: Vec<String> = query
                    .lines()
                    .map(|term| term.trim().to_lowercase())
                    .filter(|term| !term.is_empty())
                    .collect();
                self.with_terms(&terms, server, most)?
            }
        };
        Ok(functions.iter().filter_map(|function| self.tool_schema(function)).collect())
    }

    /// Functions whose name or description holds any of the terms; all where there are none.
    fn with_terms(&self, terms: &[String], server: Option<&str>, most: usize) -> Result<Vec<Function>, Failure> {
        let servers = server.map_or_else(|| self.server_names(), |server| vec![server.to_owned()]);
        let mut found = Vec::new();
        for server in servers {
            for listed in self.list_functions(Some(&server))? {
                if found.len() >= most {
                    return Ok(found);
                }
                let function = self.function(&listed.server, &listed.function)?;
                let text = format!(
                    "mcp__{}__{} {} {}",
                    listed.server, listed.operation, listed.function, function.description
                )
                .to_lowercase();
                if terms.is_empty() || terms.iter().any(|term| text.contains(term)) {
                    found.push(function);
                }
            }
        }
        Ok(found)
    }

    fn tool_schema(&self, function: &Function) -> Option<ToolSchema> {
        let reference = format!("{}.{}", function.server, function.python);
        let name = self.tool_names(&reference)?.into_iter().next()?;
        let about = if function.description.is_empty() {
            &function.summary
        } else {
            &function.description
        };
        Some(match &function.target {
            Target::Tool(tool) => {
                let definition: Value = serde_json::from_str(&tool.definition).ok()?;
                ToolSchema {
                    name,
                    description: about.clone(),
                    parameters: definition.get("inputSchema").cloned().unwrap_or_else(|| json!({"type": "object"})),
                    output_schema: definition.get("outputSchema").cloned(),
                }
            }
            Target::Http(_) => {
                let types = self.types_for(function);
                ToolSchema {
                    name,
                    description: about.clone(),
                    parameters: arguments_schema(function, &types),
                    output_schema: function
                        .result
                        .as_ref()
                        .map(|result| self_contained(result, &types, View::Response)),
                }
            }
        })
    }
}
