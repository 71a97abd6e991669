//! Functions that a person made tools of their own (`top_level_functions`).

use std::collections::BTreeSet;
use std::sync::Arc;

use mce_catalog::function::{Effect, Function, Types};
use rmcp::model::{Tool, ToolAnnotations};

use super::tools;
use crate::app::{App, arguments_schema};

/// Characters of a promoted tool's description.
const DESCRIPTION_CHARS: usize = 500;

/// A promoted function.
#[derive(Debug)]
pub(crate) struct Promoted {
    pub(crate) tool: Tool,
    /// `server.function`.
    pub(crate) reference: String,
}

/// The promoted functions of all servers. One that does not exist, or whose name is taken, is left out with a warning.
pub(crate) fn find(app: &App) -> Vec<Promoted> {
    let mut taken: BTreeSet<String> = tools::NAMES.iter().map(|name| (*name).to_owned()).collect();
    let mut promoted = Vec::new();
    let settings = app.settings();
    for server in settings.servers.iter().chain(&settings.recipe_server) {
        for name in &server.top_level_functions {
            let function = match app.discovery().function(&server.name, name) {
                Ok(function) => function,
                Err(error) => {
                    let hint = error.hint.as_ref().map_or_else(String::new, |hint| format!("; {hint}"));
                    tracing::warn!("`top_level_functions` of `{}`: `{name}` is left out: {error}{hint}", server.name);
                    continue;
                }
            };
            let tool_name = if taken.contains(&function.python) {
                format!("{}_{}", server.name, function.python)
            } else {
                function.python.clone()
            };
            if !taken.insert(tool_name.clone()) {
                tracing::warn!("`top_level_functions` of `{}`: `{name}` is there twice", server.name);
                continue;
            }
            let types = app.discovery().types_for(&function);
            promoted.push(Promoted {
                tool: tool_of(&tool_name, &function, &types),
                reference: format!("{}.{}", function.server, function.python),
            });
        }
    }
    promoted
}

/// A function as a plain tool.
pub(crate) fn tool_of(name: &str, function: &Function, types: &Types) -> Tool {
    let schema = tools::object(arguments_schema(function, types));
    let about = if function.description.is_empty() {
        &function.summary
    } else {
        &function.description
    };
    let about: String = about.chars().take(DESCRIPTION_CHARS).collect();
    let annotations = ToolAnnotations::new()
        .read_only(function.effect == Effect::Read)
        .destructive(function.effect == Effect::Destructive);
    Tool::new(name.to_owned(), about, Arc::new(schema)).with_annotations(annotations)
}
