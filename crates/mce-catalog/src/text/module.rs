//! All functions of a server with all their types, as one module for an editor or a type checker.

use super::{
    Language,
    definitions::definitions,
    shaper::{Parts, Shaper},
    signature::write,
};
use crate::function::{Function, Types};

/// The stub module (`.pyi`, Python 3.11) or the declaration file (`.d.ts`) of a server. Types are as in the texts of
/// single functions, but each is written once, and nothing is cut for want of room.
pub fn module(functions: &[Function], types: &Types, language: Language) -> String {
    let mut shaper = Shaper::of_all(functions, types);
    let parts: Vec<Parts> = functions.iter().map(|function| shaper.parts(function)).collect();
    let roots = parts
        .iter()
        .flat_map(|parts| parts.bodies.iter().chain(&parts.parameters).chain([&parts.result]));
    let definitions = definitions(&mut shaper, roots, language, usize::MAX).with_names(language);
    let signatures = functions
        .iter()
        .zip(&parts)
        .map(|(function, parts)| write(function, parts, types, language, &|number| shaper.name(number)));
    let (begin, end) = match language {
        Language::Python => ("def ", ": ...\n"),
        Language::TypeScript => ("  ", ";\n"),
    };
    let functions: Vec<String> = signatures
        .flat_map(|signature| [begin.to_owned(), signature, end.to_owned()])
        .collect();
    let functions = functions.concat();
    match language {
        Language::Python => {
            format!("from typing import Any, Literal, Never, NotRequired, TypeAlias, TypedDict\n\n{definitions}\n{functions}")
        }
        Language::TypeScript => format!("{definitions}\nexport interface Functions {{\n{functions}}}\n"),
    }
}
