//! `mce clean`: removes what can be made again, and the recipes.

use std::process::ExitCode;

use crate::app::state_files;
use crate::cli::{CleanArgs, CleanThen};
use crate::failure::Failure;
use crate::setup::Setup;

pub(crate) async fn clean(setup: &Setup, args: CleanArgs) -> Result<ExitCode, Failure> {
    let settings = setup.settings()?;
    let terminal = setup.terminal;
    let mut removed = 0;
    for path in state_files(&settings) {
        let result = if path.is_dir() {
            fs_err::remove_dir_all(&path)
        } else {
            fs_err::remove_file(&path)
        };
        match result {
            Ok(()) => {
                removed += 1;
                terminal.note(format!("removed {}", path.display()));
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => return Err(Failure::internal(error)),
        }
    }
    if removed == 0 {
        terminal.note(format!("nothing to clean in {}", settings.data_dir.display()));
    }
    match args.then {
        Some(CleanThen::Compile(args)) => super::compile(setup, &args).await,
        None => Ok(ExitCode::SUCCESS),
    }
}
