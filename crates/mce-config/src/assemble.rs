//! The settings that are not a server's: their defaults and what is allowed.

use std::path::{Path, PathBuf};

use crate::field::Field;
use crate::policy_fields::read_policy;
use crate::reader::{found, one_of};
use crate::setting_fields::SettingFields;
use crate::{
    AuditArguments, AuditSettings, AuditSync, CallSettings, ClientSettings, ConfigError, DockerSettings, EnhanceSettings, LimitSettings,
    PaceSettings, RecipeSettings, ResultFormat, ResultSettings, SandboxSettings, ServeSettings, Settings, Surface, TypeCheck,
    python_environment,
};

const LOG_LEVELS: [&str; 8] = ["info", "trace", "debug", "warn", "warning", "error", "critical", "off"];

const LAYERS: [&str; 4] = ["namespaces", "landlock", "seccomp", "rlimits"];

const NO_DOCKER: &str = "programs run in the jail of this machine, without Docker";
const NO_ENHANCEMENT: &str = "texts come from the documents alone";

/// Settings that are accepted, so that other people's files need no change, but change nothing in this version, and why.
const WITHOUT_EFFECT: [(&str, &str); 8] = [
    (
        "compiled_output_dir",
        "compiled functions are kept in the data directory, see `data_dir`",
    ),
    ("docker_host", NO_DOCKER),
    ("docker_image", NO_DOCKER),
    ("llm_api_key", NO_ENHANCEMENT),
    ("llm_enhance", NO_ENHANCEMENT),
    ("llm_model", NO_ENHANCEMENT),
    ("network_mode", NO_DOCKER),
    ("sandbox_requirements_path", "libraries are found where Python finds them"),
];

/// What is known before the settings are read.
pub(crate) struct Known {
    pub(crate) base_dir: PathBuf,
    pub(crate) config_file: Option<PathBuf>,
    pub(crate) swagger_file: Option<PathBuf>,
    pub(crate) env_file: Option<PathBuf>,
    pub(crate) default_data_dir: PathBuf,
    /// The value of `policies`.
    pub(crate) rules: Option<Field>,
}

/// Reads all settings; `servers` is still empty.
pub(crate) fn assemble(fields: &mut SettingFields<'_, '_>, known: Known) -> Result<Settings, ConfigError> {
    warn_of_no_effect(fields);
    let data_dir = data_dir(fields, known.default_data_dir)?;
    let python = python_of_setup(&data_dir);
    let settings = Settings {
        audit: audit(fields, &data_dir)?,
        recipes: recipes(fields, &data_dir)?,
        data_dir,
        base_dir: known.base_dir,
        config_file: known.config_file,
        swagger_file: known.swagger_file,
        env_file: known.env_file,
        servers: Vec::new(),
        recipe_server: None,
        limits: limits(fields)?,
        calls: CallSettings {
            total: fields.seconds("call_timeout_seconds", 30, 1..=600)?,
            answer_bytes: fields.size("max_answer_size_bytes", 16 << 20, 1024..=1 << 30)?,
        },
        pace: PaceSettings {
            rate: fields.rate("rate")?,
            run_rate: fields.rate("run_rate")?,
            retries: fields.count("retries", 2, PaceSettings::RETRIES)?,
            breaker_failures: fields.count("breaker_failures", 5, PaceSettings::BREAKER_FAILURES)?,
        },
        client: client(fields)?,
        sandbox: sandbox(fields, &python)?,
        results: results(fields)?,
        serve: serve(fields)?,
        policy: read_policy(fields, known.rules)?,
        allowed_domains: fields.list("allowed_domains")?,
        log_level: log_level(fields)?,
        is_debug: fields.flag("debug", false)?,
        is_lint_enabled: fields.flag("lint_enabled", false)?,
        type_check: match fields.word("type_check", &["basic", "full"])?.as_str() {
            "full" => TypeCheck::Full,
            _ => TypeCheck::Basic,
        },
        docker: DockerSettings {
            image: fields.text("docker_image", "mce-sandbox:latest")?,
            host: fields.optional_text("docker_host", "")?,
            network: fields.text("network_mode", "mce_network")?,
        },
        enhance: EnhanceSettings {
            is_enabled: fields.flag("llm_enhance", false)?,
            model: fields.text("llm_model", "gemini/gemini-2.0-flash")?,
            api_key: fields.secret("llm_api_key")?,
        },
    };
    fields.reader.check_resolved()?;
    Ok(settings)
}

fn warn_of_no_effect(fields: &mut SettingFields<'_, '_>) {
    for (key, reason) in WITHOUT_EFFECT {
        if let Some(field) = fields.field(key) {
            fields.reader.warn(field.place, "has no effect".to_owned(), Some(reason.to_owned()));
        }
    }
}

fn data_dir(fields: &mut SettingFields<'_, '_>, default: PathBuf) -> Result<PathBuf, ConfigError> {
    Ok(if let Some(path) = fields.path("data_dir")? {
        path
    } else {
        fields.reader.show_default("data_dir", &default.display());
        default
    })
}

fn audit(fields: &mut SettingFields<'_, '_>, data_dir: &Path) -> Result<AuditSettings, ConfigError> {
    warn_of_no_audit(fields);
    let file = if let Some(file) = fields.path("audit_log_path")? {
        file
    } else {
        let file = data_dir.join("audit.jsonl");
        fields.reader.show_default("audit_log_path", &file.display());
        file
    };
    Ok(AuditSettings {
        file,
        arguments: match fields.word("audit_arguments", &["names", "none", "masked"])?.as_str() {
            "none" => AuditArguments::None,
            "masked" => AuditArguments::Masked,
            _ => AuditArguments::Names,
        },
        max_bytes: fields.number("audit_max_bytes", 16 << 20, 4096..=1 << 40)?,
        keep_days: fields.count("audit_keep_days", 90, 1..=36_500)?,
        sync: match fields.word("audit_fsync", &["write", "never", "always"])?.as_str() {
            "never" => AuditSync::Never,
            "always" => AuditSync::Always,
            _ => AuditSync::Write,
        },
    })
}

/// The seed's switch. What happened is on record, whoever wishes.
fn warn_of_no_audit(fields: &mut SettingFields<'_, '_>) {
    let Some(field) = fields.reader.variables.field("ENABLE_AUDIT_LOG") else {
        return;
    };
    let is_off = field
        .scalar("")
        .is_ok_and(|text| matches!(text.trim().to_ascii_lowercase().as_str(), "false" | "0" | "no" | "off"));
    if is_off {
        let reason = "the audit log cannot be switched off; `audit_log_path` says where it is, `audit_arguments: none` keeps arguments out";
        fields.reader.warn(field.place, "has no effect".to_owned(), Some(reason.to_owned()));
    }
}

fn limits(fields: &mut SettingFields<'_, '_>) -> Result<LimitSettings, ConfigError> {
    let wall = fields.seconds("execution_timeout_seconds", 30, 1..=600)?;
    Ok(LimitSettings {
        wall,
        cpu: fields.seconds("cpu_limit_seconds", 2 * wall.as_secs() + 2, 1..=3600)?,
        memory_mib: fields.count("memory_limit_mib", 256, 16..=1 << 20)?,
        output_bytes: fields.size("max_output_size_bytes", 1 << 20, 1024..=1 << 30)?,
        code_bytes: fields.size("max_code_size_bytes", 64 << 10, 1..=16 << 20)?,
        tmp_mib: fields.count("tmp_limit_mib", 64, 1..=1 << 20)?,
        host_calls: fields.count("max_host_calls", 1000, 0..=1_000_000)?,
        parallel_calls: fields.count("max_parallel_calls", 16, 1..=1024)?,
        processes: fields.count("max_processes", 32, 1..=4096)?,
        open_files: fields.count("max_open_files", 64, 16..=65_536)?,
    })
}

fn client(fields: &mut SettingFields<'_, '_>) -> Result<ClientSettings, ConfigError> {
    let is_said = fields.field("sampling_enabled").is_some();
    let is_enabled = fields.flag("sampling_enabled", false)?;
    Ok(ClientSettings {
        wait: fields.seconds("client_wait_seconds", 300, 1..=3600)?,
        waiting_calls: fields.size("max_waiting_calls", 8, 0..=1024)?,
        sampling: is_said.then_some(is_enabled),
        sampling_rounds: fields.count("max_sampling_rounds", 10, 1..=100)?,
        sampling_tokens: fields.count("max_sampling_tokens", 10_000, 100..=100_000)?,
    })
}

fn results(fields: &mut SettingFields<'_, '_>) -> Result<ResultSettings, ConfigError> {
    Ok(ResultSettings {
        result_bytes: fields.size("max_result_bytes", 8 << 10, 256..=1 << 20)?,
        log_bytes: fields.size("max_log_bytes", 8 << 10, 256..=1 << 20)?,
        format: match fields.word("result_format", &["json", "toon", "auto"])?.as_str() {
            "toon" => ResultFormat::Toon,
            "auto" => ResultFormat::Auto,
            _ => ResultFormat::Json,
        },
    })
}

/// The interpreter of the virtual environment that `mce setup --python` made, if it did, else that of the machine.
fn python_of_setup(data_dir: &Path) -> String {
    let python = python_environment(data_dir).join("bin/python");
    if python.is_file() {
        python.display().to_string()
    } else {
        "python3".to_owned()
    }
}

fn sandbox(fields: &mut SettingFields<'_, '_>, python_of_setup: &str) -> Result<SandboxSettings, ConfigError> {
    let is_path = |field: &Field| field.scalar("").is_ok_and(|text| text.contains('/'));
    let python = match fields.field("python") {
        Some(field) if is_path(&field) => fields.reader.path("python", &field)?.display().to_string(),
        Some(_) | None => fields.text("python", python_of_setup)?,
    };
    Ok(SandboxSettings {
        is_warm: fields.word("sandbox_mode", &["warm", "cold"])? == "warm",
        pool_size: fields.size("warm_pool_size", 2, 0..=64)?,
        python,
        concurrent_runs: fields.size("max_concurrent_runs", 16, 1..=1024)?,
        without_layers: without_layers(fields)?,
        has_guard: fields.flag("guard", true)?,
    })
}

fn without_layers(fields: &mut SettingFields<'_, '_>) -> Result<Vec<String>, ConfigError> {
    let layers = fields.list("jail_without")?;
    match (
        layers.iter().find(|layer| !LAYERS.contains(&layer.as_str())),
        fields.field("jail_without"),
    ) {
        (Some(unknown), Some(field)) => Err(field.refuse(one_of(&LAYERS), found(unknown))),
        (Some(_) | None, _) => Ok(layers),
    }
}

fn recipes(fields: &mut SettingFields<'_, '_>, data_dir: &Path) -> Result<RecipeSettings, ConfigError> {
    let file = fields.path("cache_db_path")?;
    if file.is_none() {
        fields.reader.show_default("cache_db_path", &"");
    }
    let folder = fields.path("recipes_dir")?.unwrap_or_else(|| {
        let folder = data_dir.join("recipes");
        fields.reader.show_default("recipes_dir", &folder.display());
        folder
    });
    Ok(RecipeSettings {
        folder,
        promoted: fields.list("top_level_recipes")?,
        is_enabled: fields.flag("cache_enabled", true)?,
        ttl: fields.seconds("cache_ttl_seconds", 3600, 1..=315_360_000)?,
        max_entries: fields.size("cache_max_entries", 500, 1..=1_000_000)?,
        file,
    })
}

fn serve(fields: &mut SettingFields<'_, '_>) -> Result<ServeSettings, ConfigError> {
    Ok(ServeSettings {
        host: fields.text("host", "127.0.0.1")?,
        port: u16::try_from(fields.count("port", 8000, 0..=65_535)?).unwrap_or(u16::MAX),
        http_token: fields.secret("http_token")?,
        http_allowed_hosts: fields.list("http_allowed_hosts")?,
        http_allowed_origins: fields.list("http_allowed_origins")?,
        surface: surface(fields)?,
        has_plain_names: fields.word("direct_names", &["joined", "plain"])? == "plain",
        has_additional_tools: fields.flag("enable_additional_tools", false)?,
        compiles_on_startup: fields.flag("compile_on_startup", true)?,
    })
}

fn surface(fields: &mut SettingFields<'_, '_>) -> Result<Surface, ConfigError> {
    let word = fields.word("surface", &Surface::ALL.map(Surface::as_str))?;
    Ok(Surface::ALL
        .into_iter()
        .find(|surface| surface.as_str() == word)
        .unwrap_or(Surface::Code))
}

fn log_level(fields: &mut SettingFields<'_, '_>) -> Result<String, ConfigError> {
    let level = fields.word("log_level", &LOG_LEVELS)?;
    Ok(match level.as_str() {
        "warning" => "warn".to_owned(),
        "critical" => "error".to_owned(),
        _ => level,
    })
}
