//! Writes what type checkers judge: for each document `NAME_NUMBER.pyi` and `NAME_NUMBER.d.ts` with all its functions and types.
//!
//! `types DIRECTORY DOCUMENT…`; a document may also be the answer of an MCP server to `tools/list`. It prints one line for each document: its name and the number of its functions. A document
//! that cannot be read is named with the reason instead, on standard error.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a program for scripts")]

use std::path::{Path, PathBuf};

use mce_catalog::{
    openapi::{self, Document, Load, LoadError, Origin},
    text::{Language, module},
};

/// A file with more functions is too complex for pyright.
const FUNCTIONS: usize = 4_000;

/// Reads files of the disk; no URLs.
struct Directory;

impl Load for Directory {
    fn load(&self, reference: &Origin) -> Result<Vec<u8>, LoadError> {
        match reference {
            Origin::File(path) => fs_err::read(path).map_err(|error| LoadError(error.kind().to_string())),
            Origin::Url(_) => Err(LoadError("URLs are not read here".to_owned())),
        }
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args_os().skip(1).map(PathBuf::from);
    let directory = arguments.next().ok_or("usage: types DIRECTORY DOCUMENT…")?;
    for (number, path) in arguments.enumerate() {
        write(&directory, &path, number)?;
    }
    Ok(())
}

/// The number keeps apart documents of one name in several folders.
fn write(directory: &Path, path: &Path, number: usize) -> Result<(), Box<dyn std::error::Error>> {
    let name = path.file_name().ok_or("a document has no name")?.to_string_lossy();
    let name = format!("{}_{number}", name.replace('.', "_"));
    let bytes = fs_err::read(path)?;
    let document = match tools(&bytes).map_or_else(|| openapi::read(&bytes, &Origin::File(path.to_owned()), &Directory), Ok) {
        Ok(document) => document,
        Err(error) => {
            eprintln!("{name}: {error}");
            return Ok(());
        }
    };
    for (language, end) in [(Language::Python, "pyi"), (Language::TypeScript, "d.ts")] {
        for (part, functions) in document.functions.chunks(FUNCTIONS).enumerate() {
            let text = module(functions, &document.types, language);
            fs_err::write(directory.join(format!("{name}_{part}.{end}")), text)?;
        }
    }
    println!("{name}\t{}", document.functions.len());
    Ok(())
}

/// The answer of an MCP server to `tools/list`, if that is what the file holds.
fn tools(bytes: &[u8]) -> Option<Document> {
    let mut answer: serde_json::Value = serde_json::from_slice(bytes).ok()?;
    let tools = answer.get_mut("tools")?.as_array_mut()?;
    Some(openapi::read_tools(std::mem::take(tools)))
}
