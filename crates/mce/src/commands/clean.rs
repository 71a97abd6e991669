//! `mce clean`: forgets what was compiled and the programs that are kept for a while. Saved recipes and the audit log stay.

use std::process::ExitCode;

use crate::app::App;
use crate::cli::{CleanArgs, CleanThen};
use crate::failure::Failure;
use crate::setup::Setup;

pub(crate) async fn clean(setup: &Setup, args: CleanArgs) -> Result<ExitCode, Failure> {
    let settings = setup.settings()?;
    let directory = settings.data_dir.display().to_string();
    // Emptied, not removed: a server that runs has the file open and sees that it is empty.
    let (documents, programs) = App::open(setup, settings)?.clean()?;
    setup.terminal.note(format!(
        "forgot {documents} compiled documents and {programs} kept programs in {directory}"
    ));
    match args.then {
        Some(CleanThen::Compile(args)) => super::compile(setup, &args).await,
        None => Ok(ExitCode::SUCCESS),
    }
}
