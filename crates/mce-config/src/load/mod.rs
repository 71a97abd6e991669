//! Finds the files, reads them, and makes [`Settings`] of all sources together.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::{Path, PathBuf};

use crate::assemble::{Known, assemble};
use crate::discover::{Wanted, discover};
use crate::env::{self, Environment};
use crate::field::Field;
use crate::file::{read_config, read_dotenv};
use crate::location::{Base, normalise, resolve_path};
use crate::merge::read_servers;
use crate::own::Ourselves;
use crate::policy_fields::{POLICIES, refuse_misspelt};
use crate::reader::{LegacyPaths, Reader};
use crate::recipe_server::recipe_server;
use crate::secret_source::read_secrets;
use crate::server::ServerEntry;
use crate::servers::{collect_servers, merge_servers};
use crate::setting_fields::{SETTING_KEYS, SettingFields};
use crate::unknown::{warn_of_unknown_keys, warn_of_unknown_variables};
use crate::variables::{DotEnv, Variables};
use crate::{ConfigError, Report, Settings};

/// Where to look. `Debug` shows no value of a variable.
#[derive(Clone)]
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

impl fmt::Debug for LoadOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LoadOptions")
            .field("config_file", &self.config_file)
            .field("env_file", &self.env_file)
            .field("working_dir", &self.working_dir)
            .field("arguments", &self.arguments.keys())
            .finish_non_exhaustive()
    }
}

/// Reads all sources. Arguments beat the environment, which beats `.env`, then `mce.yaml`, then `config/swaggers.yaml`, then the
/// files of other programs that have MCP servers in them, unless `discover` says otherwise.
///
/// `mce.yaml` is the named one, else `MCE_CONFIG`, else `mce.yaml` or `mce.yml` in the working directory, else
/// `$XDG_CONFIG_HOME/mce/mce.yaml` or `~/.config/mce/mce.yaml`. `.env` is the named one, else that of the working
/// directory, else that beside `mce.yaml`. None has to exist unless it is named. An empty variable counts as not set.
///
/// # Errors
///
/// [`ConfigError`] for the first file that cannot be read and the first value that is not allowed, in files of ours; what is
/// wrong in those of other programs is a warning. A `${VAR}` that nothing
/// defines is an error for a setting; for a server it is in [`crate::ServerSettings::unresolved`].
pub fn load(options: &LoadOptions) -> Result<(Settings, Report), ConfigError> {
    let variable = |name: &str| options.environment.get(name).filter(|value| !value.is_empty());
    let home = variable("HOME")
        .or_else(|| variable("USERPROFILE").filter(|_| cfg!(windows)))
        .map(PathBuf::from);
    let places = Places {
        options,
        home: home.as_deref(),
    };
    let mut variables = Variables {
        environment: &options.environment,
        working_dir: &options.working_dir,
        dotenv: places.dotenv()?,
    };
    let config = places.config(&variables);
    if let (None, Some(Config { file, .. })) = (&variables.dotenv, &config) {
        variables.dotenv = existing(file.with_file_name(".env"))
            .map(|file| read_dotenv(&file, &file))
            .transpose()?;
    }
    let mut reader = Reader {
        variables: &variables,
        home: home.as_deref(),
        legacy: None,
        report: Report::default(),
        missing: Vec::new(),
        referenced: BTreeSet::new(),
        secrets: BTreeMap::new(),
        own_files: Vec::new(),
    };
    let settings = read_all(&places, config, &mut reader)?;
    warn_of_unknown_variables(&mut reader, &settings.servers);
    Ok((settings, reader.report))
}

fn read_all(places: &Places<'_>, config: Option<Config>, reader: &mut Reader<'_>) -> Result<Settings, ConfigError> {
    let working_dir = &places.options.working_dir;
    let mut file: BTreeMap<String, Field> = BTreeMap::new();
    if let Some(config) = &config {
        file = read_config(&config.file)?.into_iter().collect();
        reader.own_files.push(config.file.clone());
    }
    let servers = file.remove("servers");
    read_secrets(reader, file.remove("secrets"))?;
    let rules = file.remove(POLICIES);
    refuse_misspelt(file.iter())?;
    warn_of_unknown_keys(reader, &file, &SETTING_KEYS);
    let base_dir = match &config {
        Some(config) => config.file.parent().unwrap_or(working_dir).to_owned(),
        None => working_dir.clone(),
    };
    let mut fields = SettingFields {
        reader,
        arguments: &places.options.arguments,
        file,
    };
    let swaggers = places.swaggers(&mut fields, &base_dir)?;
    let others = match &swaggers {
        Some(swaggers) => read_swaggers(fields.reader, swaggers, working_dir)?,
        None => Vec::new(),
    };
    let ours = merge_servers(fields.reader, collect_servers(servers)?, others);
    let wanted = wanted(&mut fields)?;
    let known = Known {
        rules,
        default_data_dir: places.data_dir(config.as_ref(), swaggers.is_some()),
        base_dir,
        config_file: config.map(|config| config.file),
        swagger_file: swaggers,
        env_file: fields.reader.variables.dotenv.as_ref().map(DotEnv::file),
    };
    let mut settings = assemble(&mut fields, known)?;
    let candidates = discover(fields.reader, places, &wanted);
    let ourselves = Ourselves {
        executable: env::executable(),
        path: places.options.environment.get("PATH").map(String::as_str),
        directory: working_dir,
        home: places.home,
    };
    settings.servers = read_servers(fields.reader, ours, candidates, &ourselves)?;
    settings.recipe_server = recipe_server(fields.reader, &settings);
    if settings.policy.is_read_only {
        settings.servers.iter_mut().for_each(|server| server.is_read_only = true);
    }
    Ok(settings)
}

/// Whose files are searched for servers.
fn wanted(fields: &mut SettingFields<'_, '_>) -> Result<Wanted, ConfigError> {
    let key = "discover";
    let Some(field) = fields.field(key) else {
        fields.reader.show_default(key, &true);
        return Ok(Wanted::All);
    };
    let words = fields.reader.list(key, &field)?;
    fields.reader.check_resolved()?;
    Wanted::read(&field, &words)
}

fn read_swaggers(reader: &mut Reader<'_>, file: &Path, working_dir: &Path) -> Result<Vec<ServerEntry>, ConfigError> {
    let mut entries: BTreeMap<String, Field> = read_config(file)?.into_iter().collect();
    let servers = collect_servers(entries.remove("servers"))?;
    warn_of_unknown_keys(reader, &entries, &["servers"]);
    reader.own_files.push(file.to_owned());
    let above = file.parent().and_then(Path::parent);
    reader.legacy = Some(LegacyPaths {
        file: file.to_owned(),
        directories: [Some(working_dir), above].into_iter().flatten().map(Path::to_owned).collect(),
    });
    Ok(servers)
}

/// The `mce.yaml` that is read.
struct Config {
    file: PathBuf,
    /// It belongs to the person, not to a project.
    is_personal: bool,
}

/// Where files may be.
pub(crate) struct Places<'a> {
    pub(crate) options: &'a LoadOptions,
    pub(crate) home: Option<&'a Path>,
}

impl Places<'_> {
    fn resolve(&self, path: &Path) -> PathBuf {
        normalise(&self.options.working_dir.join(path))
    }

    fn dotenv(&self) -> Result<Option<DotEnv>, ConfigError> {
        match &self.options.env_file {
            Some(file) => read_dotenv(&self.resolve(file), file).map(Some),
            None => existing(self.options.working_dir.join(".env"))
                .map(|file| read_dotenv(&file, Path::new(".env")))
                .transpose(),
        }
    }

    fn config(&self, variables: &Variables<'_>) -> Option<Config> {
        let named = self.options.config_file.as_deref().map(|file| self.resolve(file)).or_else(|| {
            let field = variables.field("MCE_CONFIG")?;
            let base = Base {
                directory: &field.directory,
                home: self.home,
            };
            Some(resolve_path(field.scalar("a path").ok()?, base))
        });
        let working_dir = &self.options.working_dir;
        let of_project = || {
            ["mce.yaml", "mce.yml"]
                .into_iter()
                .find_map(|name| existing(working_dir.join(name)))
        };
        let of_person = || existing(self.xdg("XDG_CONFIG_HOME", ".config")?.join("mce/mce.yaml"));
        let config = |is_personal| move |file| Config { file, is_personal };
        named
            .or_else(of_project)
            .map(config(false))
            .or_else(|| of_person().map(config(true)))
    }

    /// The file that is named must exist; the usual places need not have one.
    fn swaggers(&self, fields: &mut SettingFields<'_, '_>, base_dir: &Path) -> Result<Option<PathBuf>, ConfigError> {
        let key = "swagger_config_file";
        if let Some(file) = fields.path(key)? {
            fields.reader.check_resolved()?;
            return Ok(Some(file));
        }
        let found = [&self.options.working_dir, base_dir]
            .into_iter()
            .find_map(|dir| existing(dir.join("config/swaggers.yaml")));
        let shown = found.as_ref().map_or(String::new(), |file| file.display().to_string());
        fields.reader.show_default(key, &shown);
        Ok(found)
    }

    fn data_dir(&self, config: Option<&Config>, has_swaggers: bool) -> PathBuf {
        let beside = match config {
            Some(config) if !config.is_personal => config.file.parent(),
            None if has_swaggers => Some(self.options.working_dir.as_path()),
            Some(_) | None => None,
        };
        match beside {
            Some(directory) => directory.join("data"),
            None => self
                .xdg("XDG_DATA_HOME", ".local/share")
                .map_or_else(|| self.options.working_dir.join("data"), |dir| dir.join("mce")),
        }
    }

    /// A directory of the XDG Base Directory Specification; a relative one is to be ignored.
    pub(crate) fn xdg(&self, variable: &str, below_home: &str) -> Option<PathBuf> {
        self.directory_in(variable).or_else(|| self.home.map(|home| home.join(below_home)))
    }

    /// The absolute path in a variable.
    pub(crate) fn directory_in(&self, variable: &str) -> Option<PathBuf> {
        let path = self.options.environment.get(variable).map(PathBuf::from);
        path.filter(|path| path.is_absolute())
    }
}

pub(crate) fn existing(file: PathBuf) -> Option<PathBuf> {
    file.is_file().then_some(file)
}

#[cfg(test)]
pub(crate) mod tests;
