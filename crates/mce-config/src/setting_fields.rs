//! The settings that are not a server's: their keys, and where each is looked for.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::time::Duration;

use crate::field::Field;
use crate::reader::Reader;
use crate::yaml::Node;
use crate::{ConfigError, Place, Rate, Secret, Source};

/// Every key of `mce.yaml` besides `servers`. Its variable is `MCE_` and the key in upper case.
pub(crate) const SETTING_KEYS: [&str; 70] = [
    "allowed_domains",
    "allowed_projects",
    "allowed_tools",
    "approval_seconds",
    "audit_arguments",
    "audit_fsync",
    "audit_keep_days",
    "audit_log_path",
    "audit_max_bytes",
    "breaker_failures",
    "cache_db_path",
    "cache_enabled",
    "cache_max_entries",
    "cache_ttl_seconds",
    "call_timeout_seconds",
    "client_wait_seconds",
    "compile_on_startup",
    "compiled_output_dir",
    "cpu_limit_seconds",
    "data_dir",
    "debug",
    "direct_names",
    "discover",
    "docker_host",
    "docker_image",
    "enable_additional_tools",
    "execution_timeout_seconds",
    "guard",
    "host",
    "http_allowed_hosts",
    "http_allowed_origins",
    "http_token",
    "jail_without",
    "lint_enabled",
    "llm_api_key",
    "llm_enhance",
    "llm_model",
    "log_level",
    "max_answer_size_bytes",
    "max_code_size_bytes",
    "max_concurrent_runs",
    "max_host_calls",
    "max_log_bytes",
    "max_open_files",
    "max_output_size_bytes",
    "max_parallel_calls",
    "max_processes",
    "max_result_bytes",
    "max_sampling_rounds",
    "max_sampling_tokens",
    "max_waiting_calls",
    "memory_limit_mib",
    "network_mode",
    "port",
    "python",
    "rate",
    "read_only",
    "recipes_dir",
    "result_format",
    "retries",
    "run_rate",
    "sampling_enabled",
    "sandbox_mode",
    "sandbox_requirements_path",
    "surface",
    "swagger_config_file",
    "tmp_limit_mib",
    "top_level_recipes",
    "type_check",
    "warm_pool_size",
];

/// Variables of another program that mean the same as ours, which come first.
const OTHER_NAMES: [(&str, &str); 7] = [
    ("allowed_projects", "ALLOWED_PROJECTS"),
    ("audit_keep_days", "AUDIT_LOG_RETENTION_DAYS"),
    ("audit_log_path", "AUDIT_LOG_PATH"),
    ("max_sampling_rounds", "CODE_EXECUTOR_MAX_SAMPLING_ROUNDS"),
    ("max_sampling_tokens", "CODE_EXECUTOR_MAX_SAMPLING_TOKENS"),
    ("sampling_enabled", "CODE_EXECUTOR_SAMPLING_ENABLED"),
    ("run_rate", RATE_BY_THE_MINUTE),
];

/// Of another program, which counts programs by the minute and has no unit.
const RATE_BY_THE_MINUTE: &str = "CODE_EXECUTOR_RATE_LIMIT_RPM";

/// Variables that are no settings: they say where settings are.
pub(crate) const OTHER_VARIABLES: [&str; 1] = ["MCE_CONFIG"];

/// The variable of a setting.
pub(crate) fn variable_name(key: &str) -> String {
    format!("MCE_{}", key.to_ascii_uppercase())
}

/// Where settings are looked for: arguments, then variables, then `mce.yaml`, then the default.
pub(crate) struct SettingFields<'a, 'v> {
    pub(crate) reader: &'a mut Reader<'v>,
    pub(crate) arguments: &'a BTreeMap<String, String>,
    pub(crate) file: BTreeMap<String, Field>,
}

impl SettingFields<'_, '_> {
    /// The field of a setting in the first source that has it.
    pub(crate) fn field(&self, key: &str) -> Option<Field> {
        let argument = self.arguments.get(key).map(|value| Field {
            node: Node::text(value),
            place: Place {
                source: Source::Argument {
                    flag: format!("--{}", key.replace('_', "-")),
                },
                line: None,
            },
            directory: self.reader.variables.working_dir.to_owned(),
        });
        argument
            .or_else(|| self.reader.variables.field(&variable_name(key)))
            .or_else(|| {
                let (_, other) = OTHER_NAMES.iter().find(|(known, _)| *known == key)?;
                self.reader.variables.field(other)
            })
            .or_else(|| self.file.get(key).filter(|field| !field.is_blank()).cloned())
    }

    pub(crate) fn text(&mut self, key: &str, default: &str) -> Result<String, ConfigError> {
        Ok(self.optional_text(key, default)?.unwrap_or_else(|| default.to_owned()))
    }

    /// A text without default; `shown` stands for it in `config show`.
    pub(crate) fn optional_text(&mut self, key: &str, shown: &str) -> Result<Option<String>, ConfigError> {
        if let Some(field) = self.field(key) {
            self.reader.text(key, &field).map(Some)
        } else {
            self.reader.show_default(key, &shown);
            Ok(None)
        }
    }

    pub(crate) fn flag(&mut self, key: &str, default: bool) -> Result<bool, ConfigError> {
        if let Some(field) = self.field(key) {
            self.reader.flag(key, &field)
        } else {
            self.reader.show_default(key, &default);
            Ok(default)
        }
    }

    pub(crate) fn number(&mut self, key: &str, default: u64, range: RangeInclusive<u64>) -> Result<u64, ConfigError> {
        if let Some(field) = self.field(key) {
            self.reader.number(key, &field, range)
        } else {
            self.reader.show_default(key, &default);
            Ok(default)
        }
    }

    /// A number whose range fits into 32 bits.
    pub(crate) fn count(&mut self, key: &str, default: u32, range: RangeInclusive<u32>) -> Result<u32, ConfigError> {
        let number = self.number(key, default.into(), u64::from(*range.start())..=u64::from(*range.end()))?;
        Ok(u32::try_from(number).unwrap_or(u32::MAX))
    }

    /// The same as a size in memory.
    pub(crate) fn size(&mut self, key: &str, default: u32, range: RangeInclusive<u32>) -> Result<usize, ConfigError> {
        Ok(usize::try_from(self.count(key, default, range)?).unwrap_or(usize::MAX))
    }

    pub(crate) fn seconds(&mut self, key: &str, default: u64, range: RangeInclusive<u64>) -> Result<Duration, ConfigError> {
        self.number(key, default, range).map(Duration::from_secs)
    }

    pub(crate) fn rate(&mut self, key: &str) -> Result<Option<Rate>, ConfigError> {
        if let Some(mut field) = self.field(key) {
            let is_by_the_minute = field.place.source.variable() == Some(RATE_BY_THE_MINUTE);
            if let (true, Ok(count)) = (is_by_the_minute, field.scalar(Rate::EXPECTED)) {
                field.node = Node::text(&format!("{count}/minute"));
            }
            self.reader.rate(key, &field)
        } else {
            self.reader.show_default(key, &"");
            Ok(None)
        }
    }

    /// One of `words`, of which the first is the default.
    pub(crate) fn word(&mut self, key: &str, words: &[&str]) -> Result<String, ConfigError> {
        if let Some(field) = self.field(key) {
            self.reader.word(key, &field, words)
        } else {
            let default = words.first().copied().unwrap_or_default();
            self.reader.show_default(key, &default);
            Ok(default.to_owned())
        }
    }

    pub(crate) fn list(&mut self, key: &str) -> Result<Vec<String>, ConfigError> {
        if let Some(field) = self.field(key) {
            self.reader.list(key, &field)
        } else {
            self.reader.show_default(key, &"");
            Ok(Vec::new())
        }
    }

    pub(crate) fn secret(&mut self, key: &str) -> Result<Option<Secret>, ConfigError> {
        if let Some(field) = self.field(key) {
            self.reader.secret(key, &field).map(Some)
        } else {
            self.reader.show_default(key, &"");
            Ok(None)
        }
    }

    pub(crate) fn path(&mut self, key: &str) -> Result<Option<PathBuf>, ConfigError> {
        self.field(key).map(|field| self.reader.path(key, &field)).transpose()
    }
}
