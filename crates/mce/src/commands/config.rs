//! `mce config show`: every value with its source.

use std::process::ExitCode;

use crate::cli::{ConfigArgs, ConfigCommand};
use crate::failure::Failure;
use crate::setup::Setup;

pub(crate) fn config(setup: &Setup, args: &ConfigArgs) -> Result<ExitCode, Failure> {
    let ConfigCommand::Show(args) = &args.command;
    let (settings, report) = setup.load()?;
    let terminal = setup.terminal;
    if args.json {
        terminal.json(&report.shown)?;
        return Ok(ExitCode::SUCCESS);
    }
    let width = report.shown.iter().map(|shown| shown.key.chars().count()).max().unwrap_or(0);
    for shown in &report.shown {
        let source = terminal.faint(&format!("({})", shown.source));
        terminal.line(format!("{:width$}  {}  {source}", shown.key, shown.value));
    }
    for warning in &report.warnings {
        terminal.warning(&warning.to_string());
    }
    for server in &settings.servers {
        for unresolved in &server.unresolved {
            terminal.warning(&format!(
                "{}: {}: nothing defines `${{{}}}`; the server `{}` cannot be used",
                unresolved.file, unresolved.key, unresolved.variable, server.name
            ));
            terminal.note(format!("  hint: {}", unresolved.advice()));
        }
    }
    for note in &report.notes {
        terminal.note(format!("left out: {note}"));
    }
    Ok(ExitCode::SUCCESS)
}
