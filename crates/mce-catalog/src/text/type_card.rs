//! Types that the card of a function names without showing them, when they are asked for.

use super::{Language, card::roots, definitions::definitions, shape::Shape, shaper::Shaper};
use crate::function::{Function, Types};

/// Types by the names that the texts of a function give them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TypeCard {
    /// Their source text and that of the types they need, as far as the budget goes. What is cut is named at the end, with
    /// how to ask for it.
    pub types: String,
    /// Names that no type at hand has.
    pub unknown: Vec<String>,
}

/// The types of these names. `card_budget` is what [`super::card`] was given: names of types that have none in the document
/// depend on what was shown.
pub fn type_card(function: &Function, types: &Types, language: Language, wanted: &[String], budgets: TypeBudgets) -> TypeCard {
    let mut shaper = Shaper::new(function, types);
    let parts = shaper.parts(function);
    definitions(&mut shaper, roots(function, &parts), language, budgets.card);
    shaper.list_all_values();
    let mut found: Vec<Shape> = Vec::new();
    let mut unknown = Vec::new();
    for name in wanted {
        match shaper.find(name) {
            Some(shape) => found.push(shape),
            None => unknown.push(name.clone()),
        }
    }
    TypeCard {
        types: definitions(&mut shaper, found.iter(), language, budgets.types).with_advice(language),
        unknown,
    }
}

/// How many characters source texts may take.
#[derive(Debug, Clone, Copy)]
pub struct TypeBudgets {
    /// In the card of the function.
    pub card: usize,
    /// Here.
    pub types: usize,
}
