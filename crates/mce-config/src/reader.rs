//! Typed readers: from a written value to what it means. Each records what `config show` prints of it.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::expand::{Found, Text, expand};
use crate::field::Field;
use crate::location::{Base, http_url, resolve_location, resolve_path};
use crate::redact::{mask_arguments, mask_random, mask_url};
use crate::secret_source::{Written, is_source, read_source};
use crate::variables::Variables;
use crate::yaml::Kind;
use crate::{ConfigError, ExactValue, Location, MASK, MIN_SECRET_BYTES, Place, Rate, Report, Secret, Shown, Source, Warning};

/// The longest part of a value that an error repeats, in characters.
const MAX_FOUND_CHARS: usize = 80;

/// What all readers share.
pub(crate) struct Reader<'a> {
    pub(crate) variables: &'a Variables<'a>,
    pub(crate) home: Option<&'a Path>,
    /// Older configurations of this product wrote paths relative to the directory it ran in.
    pub(crate) legacy: Option<LegacyPaths>,
    pub(crate) report: Report,
    /// `${VAR}`s that nothing defines, with where they stand, since this was last emptied.
    pub(crate) missing: Vec<(Place, String)>,
    /// Every variable that stood in a `${VAR}`.
    pub(crate) referenced: BTreeSet<String>,
    /// The sources of `secrets:`, by name.
    pub(crate) secrets: BTreeMap<String, Written>,
    /// The files of ours. Those of other programs may come with a project, and neither name files with secrets nor commands.
    pub(crate) own_files: Vec<PathBuf>,
}

/// Directories in which a relative path of one file is also looked for.
pub(crate) struct LegacyPaths {
    pub(crate) file: PathBuf,
    pub(crate) directories: Vec<PathBuf>,
}

impl Reader<'_> {
    /// Records a value that nobody set.
    pub(crate) fn show_default(&mut self, key: &str, value: &impl ToString) {
        self.show(key, value.to_string(), Source::Default);
    }

    fn show(&mut self, key: &str, value: String, source: Source) {
        self.report.shown.push(Shown {
            key: key.to_owned(),
            value,
            source,
        });
    }

    /// Records something a person should know.
    pub(crate) fn warn(&mut self, place: Place, message: String, hint: Option<String>) {
        self.report.warnings.push(Warning { place, message, hint });
    }

    /// How much was recorded so far, for [`Reader::rewind`].
    pub(crate) fn mark(&self) -> (usize, usize) {
        (self.report.shown.len(), self.report.warnings.len())
    }

    /// Forgets what was recorded since.
    pub(crate) fn rewind(&mut self, (shown, warnings): (usize, usize)) {
        self.report.shown.truncate(shown);
        self.report.warnings.truncate(warnings);
        self.missing.clear();
    }

    /// What a text means. What is read later can only be in a secret.
    fn expand(&mut self, field: &Field, expected: &str) -> Result<Text, ConfigError> {
        let text = self.expand_secret(field, expected)?;
        if text.later.is_empty() {
            return Ok(text);
        }
        Err(field.refuse(
            format!("{expected} that is known now"),
            "one that is read later, which only a secret may be",
        ))
    }

    fn expand_secret(&mut self, field: &Field, expected: &str) -> Result<Text, ConfigError> {
        let variables = self.variables;
        let text = expand(field.scalar(expected)?, |name| match variables.lookup(name) {
            Some(value) => Some(Found::Value(value.to_owned(), None)),
            None => self.find_source(field, name),
        });
        let missing = text.missing.iter().map(|name| (field.place.clone(), name.clone()));
        self.missing.extend(missing);
        self.referenced.extend(text.variables.iter().cloned());
        Ok(text)
    }

    /// A text that is secret: written, or a mapping that says where it is.
    fn secret_text(&mut self, key: &str, field: &Field) -> Result<Text, ConfigError> {
        if !is_source(field) {
            return self.expand_secret(field, "a text");
        }
        if !self.may_read_secrets(field) {
            return Err(field.refuse("a text in a file of another program or in `.env`", "a mapping"));
        }
        let mark = self.mark();
        let written = read_source(self, key, field.clone())?;
        // Its own line says where the secret is from.
        self.report.shown.truncate(mark.0);
        let mut text = Text::default();
        let name = match &written {
            Written::File(file) => format!("file:{}", file.display()),
            Written::Later(_) => format!("secret:{key}"),
        };
        text.variables.push(name.clone());
        match self.value_of(field, &written) {
            Some(found) => text.push_found(&format!("${{{name}}}"), found),
            None => self.missing.push((field.place.clone(), name)),
        }
        Ok(text)
    }

    /// Whether a value may name files with secrets and commands: those of our files, of variables and of arguments.
    pub(crate) fn may_read_secrets(&self, field: &Field) -> bool {
        match &field.place.source {
            Source::File { file, .. } => self.own_files.contains(file),
            Source::Argument { .. } | Source::Environment { .. } => true,
            Source::Default | Source::DotEnv { .. } => false,
        }
    }

    /// A path that stands in a field, made absolute.
    pub(crate) fn resolved(&self, field: &Field, path: &str) -> PathBuf {
        resolve_path(path, self.base(field))
    }

    /// An error if a `${VAR}` that was read so far has no value.
    pub(crate) fn check_resolved(&mut self) -> Result<(), ConfigError> {
        match self.missing.drain(..).next() {
            Some((place, variable)) => Err(ConfigError::UndefinedVariable { place, variable }),
            None => Ok(()),
        }
    }

    /// A text that may be printed.
    pub(crate) fn text(&mut self, key: &str, field: &Field) -> Result<String, ConfigError> {
        let text = self.expand(field, "a text")?;
        self.show(key, mask_url(&text.shown), field.place.source.clone());
        Ok(text.value)
    }

    /// A command, which can have arguments in it.
    pub(crate) fn command(&mut self, key: &str, field: &Field) -> Result<String, ConfigError> {
        let text = self.expand(field, "a command")?;
        let shown = mask_arguments(text.shown.split(' '));
        self.show(key, shown.join(" "), field.place.source.clone());
        Ok(text.value)
    }

    /// A text that must not be printed.
    pub(crate) fn masked(&mut self, key: &str, field: &Field) -> Result<Secret, ConfigError> {
        self.masked_if(key, field, |_| true)
    }

    /// A text that must not be printed if it is what `is_secret` says.
    pub(crate) fn masked_if(&mut self, key: &str, field: &Field, is_secret: impl Fn(&Secret) -> bool) -> Result<Secret, ConfigError> {
        let text = self.secret_text(key, field)?;
        let (shown_secret, secret) = secret_of(&text);
        let shown = if is_secret(&secret) { shown_secret } else { mask_url(&text.shown) };
        self.show(key, shown, field.place.source.clone());
        Ok(secret)
    }

    /// A secret: must not be printed, must not be empty, should not stand in a file as it is.
    pub(crate) fn secret(&mut self, key: &str, field: &Field) -> Result<Secret, ConfigError> {
        let text = self.secret_text(key, field)?;
        if text.value.is_empty() && text.variables.is_empty() {
            return Err(field.unexpected("a text that is not empty"));
        }
        if matches!(field.place.source, Source::File { .. }) && text.variables.is_empty() {
            let hint = "write `${VAR}` instead and set `VAR` in the environment or in `.env`".to_owned();
            self.warn(field.place.clone(), "a secret stands in the file itself".to_owned(), Some(hint));
        }
        let (shown, secret) = secret_of(&text);
        self.show(key, shown, field.place.source.clone());
        Ok(secret)
    }

    /// A secret that is sent to an API, which may give it back.
    pub(crate) fn credential(&mut self, key: &str, field: &Field) -> Result<Secret, ConfigError> {
        let secret = self.secret(key, field)?;
        if secret.is_short() {
            let message = format!("a secret of fewer than {MIN_SECRET_BYTES} characters is not cut out of answers");
            self.warn(field.place.clone(), message, Some("use a longer one".to_owned()));
        }
        Ok(secret)
    }

    /// `true` or `false`, also in the spellings of YAML 1.1 and of other tools' environment variables.
    pub(crate) fn flag(&mut self, key: &str, field: &Field) -> Result<bool, ConfigError> {
        let expected = "`true` or `false`";
        let text = self.expand(field, expected)?;
        let value = match text.value.to_ascii_lowercase().as_str() {
            "true" | "yes" | "on" | "1" | "t" | "y" => true,
            "false" | "no" | "off" | "0" | "f" | "n" => false,
            // It is refused later, with the variable's name; until then the careful answer holds.
            _ if !text.missing.is_empty() => true,
            _ => return Err(field.refuse(expected, found(&text.shown))),
        };
        self.show(key, value.to_string(), field.place.source.clone());
        Ok(value)
    }

    /// A whole number.
    pub(crate) fn number(&mut self, key: &str, field: &Field, range: RangeInclusive<u64>) -> Result<u64, ConfigError> {
        let expected = format!("a whole number from {} to {}", range.start(), range.end());
        let text = self.expand(field, &expected)?;
        let value = match text.value.trim().parse() {
            Ok(value) if range.contains(&value) => value,
            Ok(_) | Err(_) if !text.missing.is_empty() => *range.start(),
            Ok(_) | Err(_) => return Err(field.refuse(expected, found(&text.shown))),
        };
        self.show(key, value.to_string(), field.place.source.clone());
        Ok(value)
    }

    /// A whole number of 32 bits.
    pub(crate) fn count(&mut self, key: &str, field: &Field, range: RangeInclusive<u32>) -> Result<u32, ConfigError> {
        let number = self.number(key, field, u64::from(*range.start())..=u64::from(*range.end()))?;
        Ok(u32::try_from(number).unwrap_or(u32::MAX))
    }

    /// How often; none where a variable in it has no value.
    pub(crate) fn rate(&mut self, key: &str, field: &Field) -> Result<Option<Rate>, ConfigError> {
        let text = self.expand(field, Rate::EXPECTED)?;
        let rate = Rate::read(&text.value);
        if rate.is_none() && text.missing.is_empty() {
            return Err(field.refuse(Rate::EXPECTED, found(&text.shown)));
        }
        self.show(key, text.shown, field.place.source.clone());
        Ok(rate)
    }

    /// One of some words, in lower case.
    pub(crate) fn word(&mut self, key: &str, field: &Field, words: &[&str]) -> Result<String, ConfigError> {
        let expected = one_of(words);
        let text = self.expand(field, &expected)?;
        let value = text.value.trim().to_ascii_lowercase();
        if !words.contains(&value.as_str()) && text.missing.is_empty() {
            return Err(field.refuse(expected, found(&text.shown)));
        }
        self.show(key, text.shown.trim().to_ascii_lowercase(), field.place.source.clone());
        Ok(value)
    }

    /// An absolute http(s) URL.
    pub(crate) fn url(&mut self, key: &str, field: &Field) -> Result<String, ConfigError> {
        let expected = "an absolute http(s) URL";
        let text = self.expand(field, expected)?;
        if text.missing.is_empty() && http_url(&text.value).is_none() {
            return Err(field.refuse(expected, found_url(&text.shown)));
        }
        self.show(key, mask_random(&mask_url(&text.shown)), field.place.source.clone());
        Ok(text.value)
    }

    /// A file or an http(s) URL.
    pub(crate) fn location(&mut self, key: &str, field: &Field) -> Result<Location, ConfigError> {
        let expected = "a file or an http(s) URL";
        let text = self.expand(field, expected)?;
        let base = self.base(field);
        let location = match resolve_location(&text.value, base) {
            Some(location) => location,
            None if !text.missing.is_empty() => Location::File(resolve_path(&text.value, base)),
            None => return Err(field.refuse(expected, found_url(&text.shown))),
        };
        let location = match location {
            Location::File(path) => Location::File(self.legacy_path(field, &text.value, path)),
            Location::Url(_) => location,
        };
        let shown = match (&location, text.variables.is_empty()) {
            (Location::File(path), true) => path.display().to_string(),
            (Location::File(_) | Location::Url(_), _) => mask_url(&text.shown),
        };
        self.show(key, shown, field.place.source.clone());
        Ok(location)
    }

    /// Where the file really is, if it is not at `path`.
    fn legacy_path(&mut self, field: &Field, text: &str, path: PathBuf) -> PathBuf {
        let directories = match (&self.legacy, &field.place.source) {
            (Some(legacy), Source::File { file, .. }) if legacy.file == *file && !path.exists() => legacy.directories.as_slice(),
            (Some(_) | None, _) => return path,
        };
        let candidates = directories.iter().map(|directory| {
            let base = Base {
                directory,
                home: self.home,
            };
            resolve_path(text, base)
        });
        let Some(found) = candidates.into_iter().find(|candidate| candidate.is_file()) else {
            return path;
        };
        let hint = "write it relative to the file it stands in".to_owned();
        self.warn(
            field.place.clone(),
            "the file was found relative to another directory".to_owned(),
            Some(hint),
        );
        found
    }

    /// A path, made absolute.
    pub(crate) fn path(&mut self, key: &str, field: &Field) -> Result<PathBuf, ConfigError> {
        let text = self.expand(field, "a path")?;
        if text.value.is_empty() {
            return Err(field.unexpected("a path"));
        }
        let path = resolve_path(&text.value, self.base(field));
        let shown = if text.variables.is_empty() {
            path.display().to_string()
        } else {
            text.shown
        };
        self.show(key, shown, field.place.source.clone());
        Ok(path)
    }

    fn base<'b>(&'b self, field: &'b Field) -> Base<'b> {
        Base {
            directory: &field.directory,
            home: self.home,
        }
    }

    /// A list of texts.
    pub(crate) fn texts(&mut self, key: &str, field: &Field) -> Result<Vec<String>, ConfigError> {
        self.list_of(key, field, |texts| texts.iter().map(|text| mask_url(&text.shown)).collect())
    }

    /// A command's arguments, which can hold keys.
    pub(crate) fn arguments(&mut self, key: &str, field: &Field) -> Result<Vec<String>, ConfigError> {
        self.list_of(key, field, |texts| mask_arguments(texts.iter().map(|text| text.shown.as_str())))
    }

    /// A command that prints a secret, whose arguments may be secret themselves: only the program is shown.
    pub(crate) fn secret_command(&mut self, key: &str, field: &Field) -> Result<Vec<String>, ConfigError> {
        self.list_of(key, field, |texts| {
            let program = texts.iter().take(1).map(|text| text.shown.clone());
            program.chain((texts.len() > 1).then(|| MASK.to_owned())).collect()
        })
    }

    fn list_of(&mut self, key: &str, field: &Field, shown: fn(&[Text]) -> Vec<String>) -> Result<Vec<String>, ConfigError> {
        let items = field.clone().into_items("a list of texts")?;
        let texts: Vec<Text> = items.iter().map(|item| self.expand(item, "a text")).collect::<Result<_, _>>()?;
        self.show(key, shown(&texts).join(", "), field.place.source.clone());
        Ok(texts.into_iter().map(|text| text.value).collect())
    }

    /// Any value, as JSON: numbers and booleans without quotes are such, everything else is a text.
    pub(crate) fn json(&mut self, key: &str, field: &Field) -> Result<Value, ConfigError> {
        self.json_as(key, field)
    }

    /// The same with all digits of its numbers.
    pub(crate) fn exact(&mut self, key: &str, field: &Field) -> Result<ExactValue, ConfigError> {
        self.json_as(key, field)
    }

    fn json_as<T: DeserializeOwned>(&mut self, key: &str, field: &Field) -> Result<T, ConfigError> {
        let (text, shown) = self.json_and_shown(field)?;
        self.show(key, shown, field.place.source.clone());
        serde_json::from_str(&text).map_err(|_| field.unexpected("a value that is not nested as deeply"))
    }

    /// A value's text in JSON, and the same with the values of variables masked.
    fn json_and_shown(&mut self, field: &Field) -> Result<(String, String), ConfigError> {
        let quoted = |text: &str| Value::from(text).to_string();
        match &field.node.kind {
            Kind::Null => Ok(("null".to_owned(), "null".to_owned())),
            Kind::Scalar(text) if field.node.is_plain => {
                let lower = text.to_ascii_lowercase();
                let text = if serde_json::from_str::<Value>(&lower).is_ok() {
                    lower
                } else {
                    quoted(text)
                };
                Ok((text.clone(), text))
            }
            Kind::Scalar(_) => {
                let text = self.expand(field, "a text")?;
                Ok((quoted(&text.value), quoted(&text.shown)))
            }
            Kind::List(_) => {
                let items = field.clone().into_items("a list")?;
                let items: Vec<(String, String)> = items.iter().map(|item| self.json_and_shown(item)).collect::<Result<_, _>>()?;
                let (values, shown): (Vec<String>, Vec<String>) = items.into_iter().unzip();
                Ok((format!("[{}]", values.join(",")), format!("[{}]", shown.join(","))))
            }
            Kind::Map(_) => {
                let (mut values, mut shown) = (Vec::new(), Vec::new());
                for (name, field) in field.clone().into_entries("a mapping")? {
                    let (value, masked) = self.json_and_shown(&field)?;
                    values.push(format!("{}:{value}", quoted(&name)));
                    shown.push(format!("{}:{masked}", quoted(&name)));
                }
                Ok((format!("{{{}}}", values.join(",")), format!("{{{}}}", shown.join(","))))
            }
        }
    }

    /// A list of texts; also one text with commas, or a text that is a JSON list.
    pub(crate) fn list(&mut self, key: &str, field: &Field) -> Result<Vec<String>, ConfigError> {
        if matches!(field.node.kind, Kind::List(_)) {
            return self.texts(key, field);
        }
        let text = self.expand(field, "a list of texts, or a text with commas")?;
        self.show(key, split(&text.shown).join(", "), field.place.source.clone());
        Ok(split(&text.value))
    }
}

/// What may be printed of a secret, and the secret.
fn secret_of(text: &Text) -> (String, Secret) {
    let shown = match text.origins.as_slice() {
        [] => MASK.to_owned(),
        origins => format!("{MASK} from {}", origins.join(" and ")),
    };
    let secret = Secret::with_parts(text.value.clone(), text.values.clone()).with_later(text.later.clone());
    (shown, secret)
}

/// Of `a, b` and of `["a", "b"]` the parts; empty ones are left out.
fn split(text: &str) -> Vec<String> {
    if let Ok(items) = serde_json::from_str::<Vec<String>>(text) {
        return items;
    }
    let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty());
    parts.map(str::to_owned).collect()
}

/// What is expected where only these words are allowed.
pub(crate) fn one_of(words: &[&str]) -> String {
    let words: Vec<String> = words.iter().map(|word| format!("`{word}`")).collect();
    format!("one of {}", words.join(", "))
}

/// A value in an error, cut where it is long.
pub(crate) fn found(shown: &str) -> String {
    if shown.is_empty() {
        return "an empty text".to_owned();
    }
    match shown.char_indices().nth(MAX_FOUND_CHARS) {
        Some((end, _)) => format!("`{}…`", shown.get(..end).unwrap_or_default()),
        None => format!("`{shown}`"),
    }
}

/// What is no URL can still hold a password.
fn found_url(shown: &str) -> String {
    if shown.contains('@') && !shown.contains("://") {
        return "a text".to_owned();
    }
    found(&mask_random(&mask_url(shown)))
}
