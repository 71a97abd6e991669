//! Where the broker looks functions up: the catalog, through a cache; tests bring their own.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

use mce_catalog::catalog::{Callable, Catalog};
use mce_catalog::function::{Function, SecurityScheme, Target, Types};
use mce_catalog::lookup::LookupError;
use mce_catalog::view::FilledArgument;

use crate::call_error::{CallError, CallErrorKind};

/// Functions that are kept ready.
const MAX_KEPT: usize = 512;

/// Functions by reference.
pub trait FunctionSource: Send + Sync {
    /// Finds `server.function`, `server:METHOD /path` or `mcp__server__function`. As long as a function is unchanged, it
    /// should be the same `Arc`, whose validators the broker keeps.
    ///
    /// # Errors
    ///
    /// [`CallErrorKind::Argument`] if there is none, with the nearest known names as hint; [`CallErrorKind::Policy`] if
    /// it may not be used.
    fn find(&self, reference: &str) -> Result<Arc<FoundFunction>, CallError>;
}

/// A function with all that a call of it needs.
#[derive(Debug, Clone, PartialEq)]
pub struct FoundFunction {
    /// The function.
    pub function: Function,
    /// The named schemas that its arguments refer to, also indirectly.
    pub types: Types,
    /// The security schemes that it names.
    pub security_schemes: BTreeMap<String, SecurityScheme>,
    /// Arguments that are filled in where a call does not give them.
    pub filled: Vec<FilledArgument>,
}

/// The catalog as a source. Keeps what was asked for until the catalog changes.
#[derive(Debug)]
pub struct CatalogSource {
    catalog: Arc<Catalog>,
    // A cache: held to look up and to insert, never while the catalog is read.
    kept: Mutex<Kept>,
}

#[derive(Debug, Default)]
struct Kept {
    generation: i64,
    functions: HashMap<String, Arc<FoundFunction>>,
}

impl CatalogSource {
    /// A source of all functions of a catalog that are not hidden.
    pub fn new(catalog: Arc<Catalog>) -> Self {
        Self {
            catalog,
            kept: Mutex::default(),
        }
    }

    fn read(&self, reference: &str) -> Result<FoundFunction, LookupError> {
        let Callable { function, filled } = self.catalog.callable(reference)?;
        let types = self.catalog.types_for(&function)?;
        let mut security_schemes = BTreeMap::new();
        let security = match &function.target {
            Target::Http(target) => target.security.as_slice(),
            Target::Tool(_) => &[],
        };
        for name in security.iter().flatten() {
            if let Some(scheme) = self.catalog.security_scheme(&function.server, name)? {
                security_schemes.insert(name.clone(), scheme);
            }
        }
        Ok(FoundFunction {
            function,
            types,
            security_schemes,
            filled,
        })
    }
}

impl FunctionSource for CatalogSource {
    fn find(&self, reference: &str) -> Result<Arc<FoundFunction>, CallError> {
        let generation = self.catalog.store().generation().map_err(|e| call_error(&LookupError::Store(e)))?;
        let lock = || self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let mut kept = lock();
        if kept.generation != generation || kept.functions.len() >= MAX_KEPT {
            *kept = Kept {
                generation,
                functions: HashMap::new(),
            };
        }
        if let Some(found) = kept.functions.get(reference) {
            return Ok(Arc::clone(found));
        }
        drop(kept);
        let found = Arc::new(self.read(reference).map_err(|e| call_error(&e))?);
        lock().functions.insert(reference.to_owned(), Arc::clone(&found));
        Ok(found)
    }
}

fn call_error(error: &LookupError) -> CallError {
    let (kind, message) = match error {
        LookupError::UnknownServer { .. }
        | LookupError::UnknownFunction { .. }
        | LookupError::NotCompiled { .. }
        | LookupError::Reference { .. } => (CallErrorKind::Argument, error.to_string()),
        LookupError::Hidden { .. } | LookupError::Misfit { .. } => (CallErrorKind::Policy, error.to_string()),
        LookupError::Store(_) => (CallErrorKind::Internal, "the catalog cannot be read".to_owned()),
    };
    let made = CallError::new(kind, message).with_internal(error.to_string());
    match error.hint() {
        Some(hint) => made.with_hint(hint),
        None => made,
    }
}
