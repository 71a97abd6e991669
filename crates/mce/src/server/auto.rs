//! The surface `auto`: `direct` where even a task of one call costs less with it than with `code`, else `code`. Decided once, at
//! the start, by what the catalog holds then; a server that was never compiled counts as large.

use std::sync::Arc;

use serde_json::{Value, json};

use super::code::Code;
use super::direct::{Direct, listed_tools};
use super::surface::Surface;
use crate::app::App;
use crate::failure::Failure;
use crate::tokens;

/// No tool costs less: a name, a description, a schema.
const LEAST_TOKENS: usize = 20;

/// Turns of a model that calls one function and answers, each of which reads all tools again.
const TURNS_DIRECT: usize = 2;
/// The same with a search before the program.
const TURNS_CODE: usize = 3;
/// What the search and the program add where there are few functions, as `benches/tokens` measures it.
const SEARCH_TOKENS: usize = 450;

/// The cheaper surface.
///
/// # Errors
///
/// As [`Direct::new`].
pub(super) fn choose(app: &Arc<App>) -> Result<Arc<dyn Surface>, Failure> {
    let code = Code::new(Arc::clone(app));
    if is_direct_cheaper(app, &code) {
        tracing::info!("the surface is `direct`: a task of one call costs less with it");
        return Ok(Arc::new(Direct::new(Arc::clone(app))?));
    }
    tracing::info!("the surface is `code`");
    Ok(Arc::new(code))
}

fn is_direct_cheaper(app: &App, code: &Code) -> bool {
    let functions = app.discovery().summaries().unwrap_or_default();
    let count: usize = functions
        .iter()
        .map(|server| usize::try_from(server.functions).unwrap_or(usize::MAX))
        .sum();
    // Whoever has nothing compiled yet may have anything.
    if !app.discovery().is_complete() || count == 0 {
        return false;
    }
    let shown = code.shown();
    // The vocabulary takes a while to load, and is not needed where there are many.
    if count.saturating_mul(LEAST_TOKENS) > shown.len() {
        return false;
    }
    let direct = tokens::count(&as_shown(&listed_tools(app)).to_string());
    costs_less(direct, tokens::count(&shown))
}

/// Whether a task of one call costs less with tools of so many tokens than with those of `code`. Other tasks gain by `code` sooner.
const fn costs_less(direct: usize, code: usize) -> bool {
    TURNS_DIRECT * direct < TURNS_CODE * code + SEARCH_TOKENS
}

/// Of tools, what clients show a model: neither what they answer with nor annotations.
fn as_shown(tools: &Value) -> Value {
    let shown = |tool: &Value| json!({"name": tool["name"], "description": tool["description"], "input_schema": tool["inputSchema"]});
    tools.as_array().into_iter().flatten().map(shown).collect()
}

impl Code {
    /// All that a model reads of this surface each turn.
    fn shown(&self) -> String {
        let instructions = self.config().instructions.unwrap_or_default();
        format!("{}{instructions}", as_shown(&json!(self.listed())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Tokens of the tools of `direct`, of `code`, and of all that a task of one call cost then, as `benches/tokens` measured it with
    /// real servers.
    const MEASURED: [(usize, usize, usize, usize); 6] = [
        (280, 629, 631, 2300),
        (552, 637, 1175, 2324),
        (780, 644, 1631, 2459),
        (1197, 635, 2465, 2380),
        (1373, 644, 2817, 2653),
        (1971, 637, 4013, 2772),
    ];

    #[test]
    fn what_is_taken_is_what_was_measured_to_cost_less() {
        for (direct, code, measured_direct, measured_code) in MEASURED {
            assert_eq!(costs_less(direct, code), measured_direct < measured_code, "{direct}");
        }
    }
}
