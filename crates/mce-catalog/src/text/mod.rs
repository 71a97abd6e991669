//! Functions as text for a language model: signatures, type definitions, examples, in Python and TypeScript.
//!
//! Everything that comes from a document is escaped here; whatever it says, the text parses and runs nothing of it.

mod card;
mod prose;

use serde::{Deserialize, Serialize};

use crate::function::{Function, Types};

pub use self::card::{BodyCard, Card, ParameterCard, card};
pub use self::prose::one_line;

/// The language of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Language {
    /// Python 3.10 or newer.
    Python,
    /// TypeScript 5.
    TypeScript,
}

/// One line that says how a function is called: `get_item(id: str, *, limit: int = 10) -> Item`, or
/// `getItem(args: { id: string; limit?: number }): Promise<Item>`.
pub fn signature(function: &Function, types: &Types, language: Language) -> String {
    let _ = types;
    match language {
        Language::Python => format!("{}() -> Any", function.python),
        Language::TypeScript => format!("{}(): Promise<any>", function.typescript),
    }
}
