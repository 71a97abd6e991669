//! What every command starts from: typed options and the environment, made into settings.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use mce_config::env::Environment;
use mce_config::{LoadOptions, Report, Settings};

use crate::cli::GlobalArgs;
use crate::failure::Failure;
use crate::terminal::Terminal;

/// The outside of the program, read once.
#[derive(Clone)]
pub(crate) struct Setup {
    pub(crate) global: GlobalArgs,
    /// Absolute; what paths typed by a person are relative to.
    pub(crate) working_dir: PathBuf,
    pub(crate) environment: Environment,
    pub(crate) terminal: Terminal,
    /// A program reads what the command prints.
    pub(crate) is_json: bool,
    /// Settings that were typed as options of the command, by their keys.
    pub(crate) arguments: BTreeMap<String, String>,
}

impl Setup {
    /// Where to look.
    pub(crate) fn load_options(&self) -> LoadOptions {
        LoadOptions {
            config_file: self.global.config.clone(),
            env_file: self.global.env_file.clone(),
            working_dir: self.working_dir.clone(),
            environment: self.environment.clone(),
            arguments: self.arguments.clone(),
        }
    }

    /// Loads the configuration, without saying anything.
    ///
    /// # Errors
    ///
    /// A failure of type `config` if a file or a value is wrong.
    pub(crate) fn load(&self) -> Result<(Settings, Report), Failure> {
        mce_config::load(&self.load_options())
            .map_err(|error| Failure::new("config", crate::app::chain(&error)).with_hint(error.hint().unwrap_or_default()))
    }

    /// Loads the configuration, prints its warnings, and starts the log.
    ///
    /// # Errors
    ///
    /// As [`Setup::load`].
    pub(crate) fn settings(&self) -> Result<Arc<Settings>, Failure> {
        let (settings, report) = self.load()?;
        // A program that reads standard error expects one JSON object there, if anything.
        for warning in report.warnings.iter().filter(|_| !self.is_json) {
            self.terminal.warning(&warning.to_string());
            if let Some(hint) = &warning.hint {
                self.terminal.note(format!("  hint: {hint}"));
            }
        }
        crate::logging::start(&settings.log_level);
        Ok(Arc::new(settings))
    }
}
