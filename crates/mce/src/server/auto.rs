//! The surface `auto`: `direct` where all tools together cost less tokens than what `code` shows, else `code`. Decided once, at
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

/// The cheaper surface.
///
/// # Errors
///
/// As [`Direct::new`].
pub(super) fn choose(app: &Arc<App>) -> Result<Arc<dyn Surface>, Failure> {
    let code = Code::new(Arc::clone(app));
    if is_direct_cheaper(app, &code.shown()) {
        tracing::info!("the surface is `direct`: its tools cost less than those of `code`");
        return Ok(Arc::new(Direct::new(Arc::clone(app))?));
    }
    tracing::info!("the surface is `code`");
    Ok(Arc::new(code))
}

fn is_direct_cheaper(app: &App, shown: &str) -> bool {
    let functions = app.discovery().summaries().unwrap_or_default();
    let count: usize = functions
        .iter()
        .map(|server| usize::try_from(server.functions).unwrap_or(usize::MAX))
        .sum();
    // Whoever has nothing compiled yet may have anything.
    if !app.discovery().is_complete() || count == 0 {
        return false;
    }
    // The vocabulary takes a while to load, and is not needed where there are many.
    if count.saturating_mul(LEAST_TOKENS) > shown.len() {
        return false;
    }
    tokens::count(&json!({"tools": listed_tools(app)}).to_string()) < tokens::count(shown)
}

impl Code {
    /// All that a client reads of this surface.
    fn shown(&self) -> String {
        let config = self.config();
        let instructions = config.instructions.unwrap_or_default();
        json!({"tools": self.listed(), "instructions": Value::from(instructions)}).to_string()
    }
}
