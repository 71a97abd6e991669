//! The broker's view of the catalog.

use std::sync::Arc;

use mce_broker::{Caller, FunctionNotFound, FunctionSource};
use mce_catalog::catalog::Catalog;
use mce_catalog::function::{Function, SecurityScheme, Types};

/// Looks functions up in the catalog, which decides what is visible.
pub(crate) struct CatalogSource {
    catalog: Arc<Catalog>,
}

impl CatalogSource {
    pub(crate) fn new(catalog: Arc<Catalog>) -> Self {
        Self { catalog }
    }
}

impl FunctionSource for CatalogSource {
    fn find(&self, reference: &str, _caller: Caller) -> Result<Arc<Function>, FunctionNotFound> {
        self.catalog.resolve(reference).map(Arc::new).map_err(|error| FunctionNotFound { message: error.to_string(), hint: error.hint() })
    }

    fn types_for(&self, function: &Function) -> Types {
        self.catalog.types_for(function).unwrap_or_default()
    }

    fn security_scheme(&self, server: &str, name: &str) -> Option<SecurityScheme> {
        self.catalog.security_scheme(server, name).ok().flatten()
    }
}
