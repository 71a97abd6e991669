//! Golden texts of a document with a trap of each kind.

use serde::Deserialize;

use super::*;
use crate::function::Types;

#[derive(Deserialize)]
struct Fixture {
    types: Types,
    functions: Vec<Function>,
}

fn fixture() -> Fixture {
    serde_json::from_str(include_str!("shop.json")).unwrap()
}

/// The card as a person reads it: JSON, with the source texts below.
fn show(name: &str, language: Language, budget: usize) -> String {
    let Fixture { types, functions } = fixture();
    let function = functions.iter().find(|function| function.python == name).unwrap();
    let mut card = card(function, &types, language, budget);
    let (source, example) = (std::mem::take(&mut card.types), std::mem::take(&mut card.example));
    format!("{}\n---\n{source}---\n{example}", serde_json::to_string_pretty(&card).unwrap())
}

#[test]
fn cards_in_python() {
    insta::assert_snapshot!("put_item_python", show("put_item", Language::Python, 4000));
    insta::assert_snapshot!("post_odd_python", show("post_odd", Language::Python, 4000));
    insta::assert_snapshot!("ping_python", show("ping", Language::Python, 4000));
}

#[test]
fn cards_in_typescript() {
    insta::assert_snapshot!("put_item_typescript", show("put_item", Language::TypeScript, 4000));
    insta::assert_snapshot!("post_odd_typescript", show("post_odd", Language::TypeScript, 4000));
    insta::assert_snapshot!("ping_typescript", show("ping", Language::TypeScript, 4000));
}
