//! `mce search WORDS`: functions that match, best first.

use std::process::ExitCode;

use crate::app::App;
use crate::cli::SearchArgs;
use crate::failure::Failure;
use crate::setup::Setup;

pub(crate) fn search(setup: &Setup, args: &SearchArgs) -> Result<ExitCode, Failure> {
    let app = App::open(setup, setup.settings()?)?;
    let found = app
        .discovery()
        .find(&args.words.join(" "), args.server.as_deref(), usize::from(args.limit))?;
    let terminal = setup.terminal;
    if args.json {
        terminal.json(&found)?;
        return Ok(ExitCode::SUCCESS);
    }
    for hit in &found {
        terminal.line(format!("{}.{}", hit.server, hit.signature));
        terminal.line(terminal.faint(&format!("    {}", hit.operation)));
    }
    if found.is_empty() {
        terminal.note("nothing was found");
    }
    Ok(ExitCode::SUCCESS)
}
