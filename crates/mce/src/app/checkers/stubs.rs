//! The functions that a program names, as a type checker reads them.

use std::collections::BTreeSet;

use mce_catalog::catalog::Catalog;
use mce_catalog::function::Types;
use mce_catalog::lookup::LookupError;
use mce_catalog::text::module;
use mce_sandbox::Language;

use super::super::discovery::{name_in, text_language};

/// Functions of a server that a program may name; of one that names more nothing is checked.
const MAX_FUNCTIONS: usize = 200;

/// The functions of one server.
#[derive(Debug)]
pub(super) struct ServerStubs {
    /// An identifier.
    pub(super) name: String,
    /// A stub module, or a declaration file.
    pub(super) text: String,
    /// Names in the program's language.
    pub(super) functions: Vec<String>,
}

/// Of all servers that a program names, what it may use of them: a name that it does not write it cannot call by its types.
pub(super) fn stubs(catalog: &Catalog, words: &BTreeSet<&str>, language: Language) -> Result<Vec<ServerStubs>, LookupError> {
    let mut servers = Vec::new();
    for view in catalog.views().filter(|view| words.contains(view.name.as_str())) {
        let mut types = Types::new();
        let mut functions = Vec::new();
        for row in catalog.functions(&view.name)? {
            let name = match language {
                Language::Python => &row.function.python,
                Language::TypeScript => &row.function.typescript,
            };
            if words.contains(name.as_str()) {
                let function = catalog.function(&view.name, name)?;
                types.extend(catalog.types_for(&function)?);
                functions.push(function);
            }
        }
        if !functions.is_empty() && functions.len() <= MAX_FUNCTIONS {
            servers.push(ServerStubs {
                name: view.name.clone(),
                text: module(&functions, &types, text_language(language)),
                functions: functions.iter().map(|function| name_in(function, language).to_owned()).collect(),
            });
        }
    }
    Ok(servers)
}
