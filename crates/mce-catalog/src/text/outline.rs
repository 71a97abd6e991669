//! A function in a few lines, as search results show it.

use serde::Serialize;

use super::{
    Language,
    definitions::definitions,
    shaper::Shaper,
    signature::{body_shape, write},
};
use crate::function::{Function, Types};

/// A function as search results show it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Outline {
    /// How it is called.
    pub signature: String,
    /// Source text of the types that its arguments need, as far as the budget goes.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub types: String,
}

/// The signature and the types of the arguments; those take at most `budget` characters. With a budget of 0 only the
/// signature is made.
pub fn outline(function: &Function, types: &Types, language: Language, budget: usize) -> Outline {
    let mut shaper = Shaper::new(function, types);
    let parts = shaper.parts(function);
    let signature = write(function, &parts, types, language, &|number| shaper.name(number));
    if budget == 0 {
        return Outline {
            signature,
            types: String::new(),
        };
    }
    let roots = function.body.iter().map(|_| body_shape(&parts)).chain(&parts.parameters);
    Outline {
        signature,
        types: definitions(&mut shaper, roots, language, budget).with_names(language),
    }
}
