//! Variables of the environment and of `.env`, the former first.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::env::Environment;
use crate::field::Field;
use crate::yaml::Node;
use crate::{Place, Source};

/// A `.env` file that was read.
#[derive(Default)]
pub(crate) struct DotEnv {
    /// As shown: `.env` for the one that was found, else its path.
    pub(crate) label: PathBuf,
    /// Relative paths in it are relative to this.
    pub(crate) directory: PathBuf,
    pub(crate) variables: BTreeMap<String, String>,
}

impl DotEnv {
    /// The file itself, absolute.
    pub(crate) fn file(&self) -> PathBuf {
        self.directory.join(self.label.file_name().unwrap_or_default())
    }
}

/// All variables. An empty one counts as not set, because files with blank lines to fill in (`TOKEN=`) are common.
pub(crate) struct Variables<'a> {
    pub(crate) environment: &'a Environment,
    /// Relative paths in the environment are relative to this.
    pub(crate) working_dir: &'a Path,
    pub(crate) dotenv: Option<DotEnv>,
}

impl Variables<'_> {
    /// The value of a variable, wherever it is set.
    pub(crate) fn lookup(&self, name: &str) -> Option<&str> {
        let in_file = || self.dotenv.as_ref()?.variables.get(name);
        let value = self.environment.get(name).filter(|value| !value.is_empty());
        value.or_else(in_file).map(String::as_str).filter(|value| !value.is_empty())
    }

    /// The same, with where it is set.
    pub(crate) fn field(&self, name: &str) -> Option<Field> {
        let value = self.lookup(name)?;
        let in_environment = self.environment.get(name).is_some_and(|value| !value.is_empty());
        let (source, directory) = match &self.dotenv {
            Some(dotenv) if !in_environment => (dotenv.source(name), dotenv.directory.clone()),
            Some(_) | None => (environment_source(name), self.working_dir.to_owned()),
        };
        Some(Field {
            node: Node::text(value),
            place: Place { source, line: None },
            directory,
        })
    }

    /// Every variable's name, with where it is set.
    pub(crate) fn names(&self) -> Vec<(&str, Source)> {
        let environment = self.environment.keys().map(|name| (name.as_str(), environment_source(name)));
        let dotenv = self.dotenv.iter().flat_map(|dotenv| {
            let names = dotenv.variables.keys().filter(|name| !self.environment.contains_key(*name));
            names.map(|name| (name.as_str(), dotenv.source(name)))
        });
        environment.chain(dotenv).collect()
    }
}

impl DotEnv {
    fn source(&self, name: &str) -> Source {
        Source::DotEnv {
            file: self.label.clone(),
            variable: name.to_owned(),
        }
    }
}

fn environment_source(name: &str) -> Source {
    Source::Environment { variable: name.to_owned() }
}
