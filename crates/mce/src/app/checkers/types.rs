//! A type checker reads a program beside stubs of the functions that it names.
//!
//! The program and the stubs lie in a directory of their own. No checker is let follow what a program imports by path:
//! what is in a file of the host must not come out as a type in a message.

use std::collections::BTreeSet;
use std::io;
use std::path::Path;

use mce_catalog::catalog::Catalog;
use mce_sandbox::{ErrorKind, Language, ProgramError};
use tempfile::TempDir;

use super::stubs::{ServerStubs, stubs};
use super::{Installed, error_of, told};

const PYTHON: [&str; 2] = ["ty", "pyright"];
const TYPESCRIPT: [&str; 2] = ["tsgo", "tsc"];
const TY: [&str; 5] = ["check", "--output-format", "concise", "--project", "."];
const PYRIGHT: [&str; 4] = ["--outputjson", "--project", ".", "program.py"];
const TSC: [&str; 19] = [
    "--noEmit",
    "--noResolve",
    "--skipLibCheck",
    "--pretty",
    "false",
    "--strict",
    "false",
    "--types",
    "",
    "--target",
    "esnext",
    "--module",
    "esnext",
    "--moduleResolution",
    "bundler",
    "--moduleDetection",
    "force",
    "program.ts",
    "mce.d.ts",
];
/// The module `mce`: its helpers take functions of any kind.
const PYTHON_HELPERS: &str = "from typing import Any\n\ndef __getattr__(name: str) -> Any: ...\n";

/// Reads programs of one language with the best checker that is installed.
#[derive(Debug)]
pub(super) struct TypeChecker {
    language: Language,
    installed: Installed,
}

impl TypeChecker {
    pub(super) fn new(language: Language, path: &str) -> Self {
        let names: &[&str] = match language {
            Language::Python => &PYTHON,
            Language::TypeScript => &TYPESCRIPT,
        };
        Self {
            language,
            installed: Installed::new(path, names, "type_check: full"),
        }
    }

    /// Where a program is at odds with the types of the functions that it names.
    pub(super) async fn fault(&self, source: &str, catalog: &Catalog) -> Option<ProgramError> {
        let (name, program) = self.installed.find()?;
        let words = words(source);
        let servers = stubs(catalog, &words, self.language)
            .inspect_err(|error| tracing::warn!("types were not checked: {error}"))
            .ok()?;
        if servers.is_empty() {
            return None;
        }
        let folder = match self.language {
            Language::Python => python_folder(source, &servers),
            Language::TypeScript => typescript_folder(source, &servers),
        };
        let folder = folder.inspect_err(|error| tracing::warn!("types were not checked: {error}")).ok()?;
        let functions = servers
            .iter()
            .flat_map(|server| server.functions.iter().map(String::as_str))
            .collect();
        let said = match name {
            "ty" => told::by_ty(&self.ask(program, &TY, &folder).await?, &functions),
            "pyright" => told::by_pyright(&self.ask(program, &PYRIGHT, &folder).await?, &functions),
            _ => {
                let files: Vec<String> = servers.iter().map(file_of).collect();
                let arguments: Vec<&str> = TSC.into_iter().chain(files.iter().map(String::as_str)).collect();
                told::by_tsc(&self.ask(program, &arguments, &folder).await?)
            }
        };
        let ignore = match self.language {
            Language::Python => "with `# type: ignore`",
            Language::TypeScript => "below `// @ts-ignore`",
        };
        let hint =
            format!("`{name}` found this before the program ran, since `MCE_TYPE_CHECK` is `full`; a line that is right passes {ignore}");
        // What a dictionary is unpacked to, checkers guess from all of its values together.
        let unpacks = |line: u32| {
            let line = source.lines().nth(usize::try_from(line).unwrap_or(usize::MAX).saturating_sub(1));
            self.language == Language::Python && line.is_some_and(|line| line.contains("**"))
        };
        let said = said.into_iter().filter(|found| !unpacks(found.line)).collect();
        error_of(ErrorKind::Argument, said, source, hint)
    }

    async fn ask(&self, program: &Path, arguments: &[&str], folder: &TempDir) -> Option<String> {
        let said = self.installed.ask(program, arguments, folder.path(), "").await?;
        Some(String::from_utf8_lossy(&said).into_owned())
    }
}

/// All words that may be names.
fn words(source: &str) -> BTreeSet<&str> {
    source
        .split(|letter: char| !(letter.is_alphanumeric() || letter == '_' || letter == '$'))
        .filter(|word| !word.is_empty())
        .collect()
}

fn python_folder(source: &str, servers: &[ServerStubs]) -> io::Result<TempDir> {
    let folder = tempfile::tempdir()?;
    let at = |name: &str| folder.path().join(name);
    fs_err::write(at("program.py"), source)?;
    fs_err::write(at("mce.pyi"), PYTHON_HELPERS)?;
    // What lies here is all that is looked at beside what is installed.
    fs_err::write(
        at("pyrightconfig.json"),
        r#"{"include": ["program.py"], "typeCheckingMode": "basic"}"#,
    )?;
    fs_err::write(at("ty.toml"), "")?;
    for server in servers {
        let module = at(&server.name);
        fs_err::create_dir(&module)?;
        fs_err::write(module.join("__init__.pyi"), "from . import aio as aio, functions as functions\n")?;
        fs_err::write(module.join("functions.pyi"), &server.text)?;
        fs_err::write(module.join("aio.pyi"), server.text.replace("\ndef ", "\nasync def "))?;
    }
    Ok(folder)
}

fn typescript_folder(source: &str, servers: &[ServerStubs]) -> io::Result<TempDir> {
    let folder = tempfile::tempdir()?;
    let at = |name: &str| folder.path().join(name);
    fs_err::write(at("program.ts"), source)?;
    let lines = |begin: &str| {
        let line = |server: &ServerStubs| format!("{begin}const {0}: import(\"./server_{0}\").Functions;\n", server.name);
        servers.iter().map(line).collect::<Vec<_>>().concat()
    };
    let (inside, global) = (lines("  export "), lines("declare "));
    let modules = format!(
        "declare module \"mce\";\ndeclare module \"mce:servers\" {{\n{inside}  const servers: any;\n  export default servers;\n}}\n"
    );
    fs_err::write(at("mce.d.ts"), modules + &global)?;
    for server in servers {
        fs_err::write(at(&file_of(server)), &server.text)?;
    }
    Ok(folder)
}

/// Apart from the program's own file, whatever a server's name is.
fn file_of(server: &ServerStubs) -> String {
    format!("server_{}.d.ts", server.name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_a_program_are_what_may_be_names() {
        let found = words("from shop.functions import get_pets\nshop.getPets({a$b: 'x-y'})");
        assert_eq!(
            found,
            BTreeSet::from(["a$b", "from", "functions", "getPets", "get_pets", "import", "shop", "x", "y"])
        );
    }
}
