//! Where the broker looks functions up. The catalog is the one source in the program; tests bring their own.

use std::sync::Arc;

use mce_catalog::function::{Function, SecurityScheme, Types};

use crate::call::Caller;

/// Functions by reference.
pub trait FunctionSource: Send + Sync {
    /// Finds `server.function`, `server:METHOD /path` or `mcp__server__function`.
    ///
    /// # Errors
    ///
    /// [`FunctionNotFound`], with the nearest known names as hint.
    fn find(&self, reference: &str, caller: Caller) -> Result<Arc<Function>, FunctionNotFound>;

    /// The named schemas that the arguments of this function refer to, also indirectly.
    fn types_for(&self, function: &Function) -> Types;

    /// A security scheme of a server's document.
    fn security_scheme(&self, server: &str, name: &str) -> Option<SecurityScheme>;
}

/// A reference that names no function.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FunctionNotFound {
    /// What is unknown: the server or the function.
    pub message: String,
    /// E.g. ``did you mean `shop.get_item`?``
    pub hint: Option<String>,
}
