//! `mce exec FILE`: runs a program as the model's programs are run.

use std::ffi::OsStr;
use std::io::Read;
use std::path::Path;
use std::process::ExitCode;

use mce_sandbox::Language;

use super::run_report::{params, print_run};
use crate::app::{App, Behalf};
use crate::cli::{ExecArgs, LanguageArg};
use crate::failure::Failure;
use crate::setup::Setup;

pub(crate) async fn exec(setup: &Setup, args: &ExecArgs) -> Result<ExitCode, Failure> {
    let source = read_source(&args.file)?;
    let params = params(&args.params)?;
    let app = App::open(setup, setup.settings()?)?;
    let report = app
        .run_program(
            language(args.language, &args.file),
            source,
            params,
            &Behalf::person_at(setup.terminal),
        )
        .await;
    app.close().await;
    print_run(setup.terminal, &report, args.json)
}

/// By the argument, else by the file's name, else Python.
pub(super) fn language(chosen: Option<LanguageArg>, file: &Path) -> Language {
    match chosen {
        Some(LanguageArg::Python) => Language::Python,
        Some(LanguageArg::Typescript) => Language::TypeScript,
        None if file
            .extension()
            .and_then(OsStr::to_str)
            .is_some_and(|ending| matches!(ending, "ts" | "mts" | "js" | "mjs")) =>
        {
            Language::TypeScript
        }
        None => Language::Python,
    }
}

pub(super) fn read_source(file: &Path) -> Result<String, Failure> {
    let bytes = if file == Path::new("-") {
        let mut bytes = Vec::new();
        std::io::stdin().lock().read_to_end(&mut bytes).map(|_| bytes)
    } else {
        fs_err::read(file)
    };
    let bytes = bytes.map_err(|error| Failure::argument(error.to_string()))?;
    String::from_utf8(bytes).map_err(|_| Failure::argument(format!("`{}` is not UTF-8", file.display())))
}
