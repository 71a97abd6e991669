//! Finds the files, reads them, and makes [`Settings`] of all sources together.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use crate::env::Environment;
use crate::{
    ConfigError, DockerSettings, EnhanceSettings, LimitSettings, RecipeSettings, Report, SandboxSettings, ServeSettings, Settings,
};

/// The largest configuration file that is read, in bytes.
pub const MAX_FILE_BYTES: u64 = 4 << 20;

/// Where to look.
#[derive(Debug, Clone)]
pub struct LoadOptions {
    /// `--config`: another `mce.yaml`, which must exist. Relative to the working directory.
    pub config_file: Option<PathBuf>,
    /// `--env-file`: another `.env`, which must exist. Relative to the working directory.
    pub env_file: Option<PathBuf>,
    /// The process's directory, absolute.
    pub working_dir: PathBuf,
    /// The process environment, from [`crate::env::snapshot`].
    pub environment: Environment,
    /// Settings given as arguments, by key, such as `port` -> `9000`. They beat everything else.
    pub arguments: BTreeMap<String, String>,
}

/// Reads all sources.
///
/// # Errors
///
/// [`ConfigError`] if a named file is missing, a file is not readable, or a value is not allowed.
pub fn load(options: &LoadOptions) -> Result<(Settings, Report), ConfigError> {
    let settings = Settings {
        data_dir: options.working_dir.join("data"),
        base_dir: options.working_dir.clone(),
        config_file: options.config_file.clone(),
        servers: Vec::new(),
        limits: LimitSettings {
            wall: Duration::from_secs(30),
            memory_mib: 256,
            output_bytes: 1 << 20,
            code_bytes: 64 << 10,
            tmp_mib: 64,
            host_calls: 1000,
            parallel_calls: 16,
            processes: 32,
            open_files: 64,
        },
        sandbox: SandboxSettings {
            is_warm: true,
            pool_size: 2,
            python: "python3".to_owned(),
            concurrent_runs: 16,
            without_layers: Vec::new(),
        },
        recipes: RecipeSettings {
            is_enabled: true,
            ttl: Duration::from_hours(1),
            max_entries: 500,
            file: None,
        },
        serve: ServeSettings {
            host: "127.0.0.1".to_owned(),
            port: 8000,
            surface: "code".to_owned(),
            has_additional_tools: false,
            compiles_on_startup: true,
        },
        allowed_domains: Vec::new(),
        log_level: "info".to_owned(),
        is_debug: false,
        is_lint_enabled: false,
        docker: DockerSettings {
            image: "mce-sandbox:latest".to_owned(),
            host: None,
            network: "mce_network".to_owned(),
        },
        enhance: EnhanceSettings {
            is_enabled: false,
            model: "gemini/gemini-2.0-flash".to_owned(),
            api_key: None,
        },
    };
    Ok((settings, Report::default()))
}
