//! Every function as a tool: those of MCP servers as these wrote them, those of APIs from their parameters and body.

use std::collections::HashMap;

use mce_catalog::function::{Function, Target};
use serde_json::Value;

use super::names;
use crate::app::App;
use crate::server::promoted::tool_of;

/// A function as a tool.
#[derive(Debug, Clone)]
pub(super) struct DirectTool {
    /// The server of the function.
    pub(super) server: String,
    /// `server.function`.
    pub(super) reference: String,
    /// The `Tool` of the protocol.
    pub(super) definition: Value,
}

/// All tools, in the order of servers and of what each lists.
#[derive(Debug, Default)]
pub(super) struct DirectTools {
    pub(super) all: Vec<DirectTool>,
    by_name: HashMap<String, usize>,
}

impl DirectTools {
    /// The tools of the catalog as it is now.
    pub(super) fn of_catalog(app: &App, has_plain_names: bool) -> Self {
        let mut tools = Self::default();
        for server in app.discovery().server_names() {
            let functions = app.discovery().all_functions(&server).unwrap_or_default();
            for function in &functions {
                tools.add(app, function, has_plain_names);
            }
        }
        tools
    }

    pub(super) fn get(&self, name: &str) -> Option<&DirectTool> {
        self.all.get(*self.by_name.get(name)?)
    }

    fn add(&mut self, app: &App, function: &Function, has_plain_names: bool) {
        let own = match &function.target {
            Target::Tool(tool) => &tool.name,
            Target::Http(_) => &function.python,
        };
        let name = if has_plain_names {
            own.clone()
        } else {
            names::joined(&function.server, own)
        };
        if self.by_name.contains_key(&name) {
            tracing::warn!("two tools have the name `{name}`; `{own}` of `{}` is left out", function.server);
            return;
        }
        let Some(definition) = definition(app, function, &name) else {
            return;
        };
        self.by_name.insert(name, self.all.len());
        self.all.push(DirectTool {
            server: function.server.clone(),
            reference: format!("{}.{}", function.server, function.python),
            definition,
        });
    }
}

fn definition(app: &App, function: &Function, name: &str) -> Option<Value> {
    match &function.target {
        Target::Tool(tool) => {
            let mut definition: Value = serde_json::from_str(&tool.definition).ok()?;
            let members = definition.as_object_mut()?;
            // The name stays in its place.
            *members.entry("name").or_insert(Value::Null) = Value::from(name);
            // Calls are answered when they are done, never by a task.
            members.shift_remove("execution");
            Some(definition)
        }
        Target::Http(_) => serde_json::to_value(tool_of(name, function, &app.discovery().types_for(function))).ok(),
    }
}

/// Makes a definition fit for clients before 2026-07-28: what a tool answers with was an object then.
pub(super) fn for_legacy(definition: &mut Value) {
    let is_object = |schema: &Value| schema.get("type").and_then(Value::as_str) == Some("object");
    if let Some(members) = definition.as_object_mut()
        && members.get("outputSchema").is_some_and(|schema| !is_object(schema))
    {
        members.shift_remove("outputSchema");
    }
}
