//! A whole compile: any bytes become functions, each with text in both languages, or an error.

#![no_main]

use std::path::PathBuf;

use libfuzzer_sys::fuzz_target;
use mce_catalog::openapi::{NoFurtherFiles, Origin, read};
use mce_catalog::text::{Language, card};

const BUDGET: usize = 2_000;

fuzz_target!(|bytes: &[u8]| {
    let origin = Origin::File(PathBuf::from("/document"));
    let Ok(document) = read(bytes, &origin, &NoFurtherFiles) else { return };
    assert_eq!(document.operations, document.functions.len() + document.skipped.len());
    for function in &document.functions {
        for language in [Language::Python, Language::TypeScript] {
            let _ = card(function, &document.types, language, BUDGET);
        }
    }
});
