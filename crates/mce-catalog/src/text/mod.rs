//! Functions as text for a language model: signatures, type definitions, examples, in Python and TypeScript.
//!
//! Everything that comes from a document is escaped here; whatever it says, the text parses and runs nothing of it.

mod card;
mod definitions;
mod example;
mod identifier;
mod literal;
mod module;
mod note;
mod outline;
mod prose;
mod python;
mod schema_form;
mod shape;
mod shaper;
mod signature;
mod type_card;
mod typescript;
mod values;

use serde::{Deserialize, Serialize};

pub use self::{
    card::{BodyCard, Card, ParameterCard, card},
    module::module,
    outline::{Outline, outline},
    prose::one_line,
    signature::signature,
    type_card::{TypeBudgets, TypeCard, type_card},
};
use crate::function::Function;

/// The language of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Language {
    /// Python 3.10 or newer.
    Python,
    /// TypeScript 5.
    TypeScript,
}

impl Language {
    /// A function's name in the language.
    pub fn function_name(self, function: &Function) -> &str {
        match self {
            Self::Python => &function.python,
            Self::TypeScript => &function.typescript,
        }
    }

    /// The line that makes a function callable in a program.
    pub fn import_line(self, function: &Function) -> String {
        match self {
            Self::Python => format!("from {}.functions import {}", function.server, function.python),
            Self::TypeScript => format!("import {{ {} }} from \"mce:servers\";", function.server),
        }
    }
}

#[cfg(test)]
mod tests;
