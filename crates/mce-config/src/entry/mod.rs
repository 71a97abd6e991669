//! Our own entry in the files of clients: where it belongs, and how it gets there with nothing else of the file touched.
//! Texts become texts; nothing is written here.

mod clients;
mod json;
mod own_entries;
mod same;
mod toml_text;
mod yaml_text;

use std::path::Path;

pub use clients::{ClientFile, client_files, client_names};

use crate::discover::{Client, parse};
use crate::file::{MAX_CLIENT_FILE_BYTES, read_text};
use crate::yaml::{Entry, Kind, Node};
use crate::{ConfigError, LoadOptions};
use own_entries::{OwnEntries, with_options_of};
use same::{is_same_beside, is_same_but};

/// What our entry is called where there is none yet.
const NAME: &str = "mce";

/// What a client starts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Launch {
    /// An absolute path.
    pub command: String,
    /// Its arguments.
    pub args: Vec<String>,
    /// Variables of its environment. What an entry says of them already stays.
    pub environment: Vec<(String, String)>,
}

/// What becomes of our entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EntryChange {
    /// It is there and starts this.
    Put(Launch),
    /// It is not there.
    Remove,
}

/// What an edit did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edited {
    /// The whole text of the file.
    pub text: String,
    /// What is other than before.
    pub outcome: EntryOutcome,
    /// Entries that start us through another program (`docker run … mce serve`); they stay as they are.
    pub left: Vec<String>,
    /// Entries that start us in parts of the file that are not edited (those of a project), by their keys.
    pub elsewhere: Vec<String>,
    /// What an entry that is changed has started, and starts now.
    pub commands: Option<[Vec<String>; 2]>,
    /// Nothing is in it that a file made for our entry alone would not have after its removal.
    pub is_bare: bool,
}

/// What is other than before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryOutcome {
    /// There was no entry of ours.
    Added,
    /// It started us in another way.
    Changed,
    /// It was there.
    Removed,
    /// Nothing.
    Unchanged,
    /// Nothing: only entries that start us through another program are there.
    Left,
}

/// Why a file is left as it is.
#[derive(Debug, thiserror::Error)]
pub enum EntryError {
    /// It cannot be read.
    #[error(transparent)]
    Read(#[from] ConfigError),
    /// It is not of its format.
    #[error("line {line}: {message}")]
    Syntax {
        /// From 1; 0 if it is not known.
        line: u64,
        /// Without words of the file, which may be secret.
        message: String,
    },
    /// What should hold the servers holds something else.
    #[error("line {line}: `{key}` is no mapping")]
    NoMapping {
        /// From 1.
        line: u64,
        /// Where servers should be.
        key: String,
    },
    /// There is an entry with our name that starts something else.
    #[error("line {line}: `{NAME}` starts another program")]
    Taken {
        /// From 1.
        line: u64,
    },
    /// The place is written in a way that cannot be edited without touching more.
    #[error("our entry cannot be put there without touching other parts of the file")]
    Form,
}

/// A value of an entry.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Written {
    Text(String),
    List(Vec<String>),
    Flag(bool),
    Number(u32),
    Texts(Vec<(String, String)>),
}

impl Written {
    fn is(&self, node: &Node) -> bool {
        let texts = |items: &[Node]| -> Option<Vec<String>> { items.iter().map(text_of).collect() };
        match (self, &node.kind) {
            (Self::Text(text), Kind::Scalar(found)) => text == found,
            (Self::List(list), Kind::List(found)) => texts(found).as_ref() == Some(list),
            (Self::Flag(flag), Kind::Scalar(found)) => flag.to_string() == *found,
            (Self::Number(number), Kind::Scalar(found)) => number.to_string() == *found,
            (Self::Texts(members), Kind::Map(found)) => {
                members.len() == found.len()
                    && members
                        .iter()
                        .all(|(key, text)| below(node, &[key]).and_then(text_of).as_ref() == Some(text))
            }
            (Self::Text(_) | Self::List(_) | Self::Flag(_) | Self::Number(_) | Self::Texts(_), _) => false,
        }
    }
}

/// Whether the client runs code over tools by itself, as its own file says: it needs no second layer of that.
pub fn has_own_code_mode(found: &ClientFile, text: &str) -> bool {
    let Ok(tree) = parse(&found.file, text) else { return false };
    let (path, on) = match found.client {
        "codex" => (["features", "code_mode"].as_slice(), "true"),
        "goose" => (["extensions", "code_execution", "enabled"].as_slice(), "true"),
        _ => return false,
    };
    below(&tree, path).and_then(text_of).is_some_and(|value| value == on)
}

/// Reads a client's file; nothing if there is none.
///
/// # Errors
///
/// [`EntryError::Read`].
pub fn read_client_file(file: &Path) -> Result<Option<String>, EntryError> {
    if !file.exists() {
        return Ok(None);
    }
    Ok(Some(read_text(file, MAX_CLIENT_FILE_BYTES)?))
}

/// The text of a client's file with our entry as it should be. Comments, order and form of all else stay; of an entry that is there
/// only what starts us is changed, and options of ours that `change` does not set stay. All entries of ours are removed.
///
/// # Errors
///
/// [`EntryError`]; the file is to be left as it is then.
pub fn edit_entry(options: &LoadOptions, found: &ClientFile, text: &str, change: &EntryChange) -> Result<Edited, EntryError> {
    let client = clients::named(found.client).ok_or(EntryError::Form)?;
    let tree = tree(&found.file, text)?;
    let keys = section_keys(client, &tree);
    let entries = section(&tree, keys)?;
    let own = OwnEntries::of(options, entries);
    let mut commands = None;
    let (text, outcome) = match (change, own.direct.first()) {
        (_, None) if !own.left.is_empty() => (text.to_owned(), EntryOutcome::Left),
        (EntryChange::Remove, None) => (text.to_owned(), EntryOutcome::Unchanged),
        (EntryChange::Remove, Some(_)) => {
            let mut names = own.direct.iter().map(|(entry, _)| entry.key.as_str());
            let removed = names.try_fold(text.to_owned(), |text, name| remove(&found.file, &text, keys, name))?;
            (removed, EntryOutcome::Removed)
        }
        (EntryChange::Put(launch), None) => {
            if let Some(other) = entries.iter().find(|entry| entry.key == NAME) {
                return Err(EntryError::Taken { line: other.line });
            }
            let fields = [starting(client, launch), clients::beside(client)].concat();
            (set(&found.file, text, keys, NAME, &fields)?, EntryOutcome::Added)
        }
        (EntryChange::Put(launch), Some((own, words))) => {
            let launch = with_options_of(words, launch);
            let new = [std::slice::from_ref(&launch.command), &launch.args].concat();
            commands = (*words != new).then(|| [words.clone(), new]);
            put_again(client, found, text, keys, own, &launch)?
        }
    };
    Ok(Edited {
        is_bare: outcome == EntryOutcome::Removed && is_bare(&found.file, &text, keys),
        text,
        outcome,
        left: own.left,
        elsewhere: in_projects(options, &tree),
        commands,
    })
}

/// Whether a text is what is left of a file that was made for our entry.
fn is_bare(file: &Path, text: &str, keys: &[&str]) -> bool {
    let fields = [("command", Written::Text(NAME.to_owned()))];
    let made = set(file, "", keys, NAME, &fields).and_then(|made| remove(file, &made, keys, NAME));
    text.trim().is_empty() || made.is_ok_and(|made| made.trim() == text.trim())
}

/// Keys of the entries that start us below `projects`, where Claude Code keeps those of each folder.
fn in_projects(options: &LoadOptions, tree: &Node) -> Vec<String> {
    let Some(Kind::Map(projects)) = below(tree, &["projects"]).map(|node| &node.kind) else {
        return Vec::new();
    };
    let mut found = Vec::new();
    for project in projects {
        let entries = section(&project.value, &["mcpServers"]).unwrap_or_default();
        let own = OwnEntries::of(options, entries);
        let names = own.direct.iter().map(|(entry, _)| &entry.key).chain(&own.left);
        found.extend(names.map(|name| format!("projects.{}.mcpServers.{name}", project.key)));
    }
    found
}

/// Puts what starts us in the place of what is there. Of an environment that is there only what it lacks is added.
fn put_again(
    client: &Client,
    found: &ClientFile,
    text: &str,
    keys: &[&str],
    own: &Entry,
    launch: &Launch,
) -> Result<(String, EntryOutcome), EntryError> {
    let variables = environment_key(client);
    let there = below(&own.value, &[variables]).filter(|node| matches!(&node.kind, Kind::Map(entries) if !entries.is_empty()));
    let fields: Vec<_> = starting(client, launch)
        .into_iter()
        .filter(|(key, _)| there.is_none() || *key != variables)
        .collect();
    let is_lacking = |(name, _): &&(String, String)| there.is_some_and(|there| below(there, &[name]).is_none());
    let lacking = launch.environment.iter().filter(is_lacking);
    let lacking: Vec<_> = lacking.map(|(name, value)| (name.as_str(), Written::Text(value.clone()))).collect();
    let mut edited = text.to_owned();
    if !has_fields(&own.value, &fields) {
        edited = set(&found.file, &edited, keys, &own.key, &fields)?;
    }
    if !lacking.is_empty() {
        edited = set(&found.file, &edited, &[keys, &[own.key.as_str()]].concat(), variables, &lacking)?;
    }
    let outcome = if edited == text {
        EntryOutcome::Unchanged
    } else {
        EntryOutcome::Changed
    };
    Ok((edited, outcome))
}

/// What the client calls the environment of what it starts.
fn environment_key(client: &Client) -> &'static str {
    match client.name {
        "opencode" => "environment",
        "goose" => "envs",
        _ => "env",
    }
}

/// Whatever an editor of texts did: all but our entry means what it meant, our entry has these fields, and its others mean what they
/// meant.
fn set(file: &Path, text: &str, keys: &[&str], name: &str, fields: &[(&str, Written)]) -> Result<String, EntryError> {
    let edited = Format::of(file).set(text, keys, name, fields).ok_or(EntryError::Form)?;
    let (before, after) = (tree(file, text)?, parse(file, &edited).map_err(|_| EntryError::Form)?);
    let (old, new) = (entry_of(&before, keys, name), entry_of(&after, keys, name));
    let members: Vec<&str> = fields.iter().map(|(key, _)| *key).collect();
    let is_as_it_should_be = new.is_some_and(|new| has_fields(new, fields)) && is_same_but(old, new, &members);
    if is_as_it_should_be && is_same_beside(&before, &after, keys, name) {
        Ok(edited)
    } else {
        Err(EntryError::Form)
    }
}

/// Whatever an editor of texts did: the entry is gone, and all else means what it meant.
fn remove(file: &Path, text: &str, keys: &[&str], name: &str) -> Result<String, EntryError> {
    let edited = Format::of(file).remove(text, keys, name).ok_or(EntryError::Form)?;
    let (before, after) = (tree(file, text)?, parse(file, &edited).map_err(|_| EntryError::Form)?);
    if entry_of(&after, keys, name).is_none() && is_same_beside(&before, &after, keys, name) {
        Ok(edited)
    } else {
        Err(EntryError::Form)
    }
}

fn entry_of<'n>(tree: &'n Node, keys: &[&str], name: &str) -> Option<&'n Node> {
    below(tree, keys).and_then(|section| below(section, &[name]))
}

fn has_fields(entry: &Node, fields: &[(&str, Written)]) -> bool {
    let mut fields = fields.iter();
    fields.all(|(key, value)| below(entry, &[*key]).is_some_and(|node| value.is(node)))
}

#[derive(Clone, Copy)]
enum Format {
    Json,
    Toml,
    Yaml,
}

impl Format {
    fn of(file: &Path) -> Self {
        match file.extension().and_then(|extension| extension.to_str()) {
            Some("toml") => Self::Toml,
            Some("yaml" | "yml") => Self::Yaml,
            Some(_) | None => Self::Json,
        }
    }

    fn set(self, text: &str, keys: &[&str], name: &str, fields: &[(&str, Written)]) -> Option<String> {
        match self {
            Self::Json => json::set(text, keys, name, fields),
            Self::Toml => toml_text::set(text, keys, name, fields),
            Self::Yaml => yaml_text::set(text, keys, name, fields),
        }
    }

    fn remove(self, text: &str, keys: &[&str], name: &str) -> Option<String> {
        match self {
            Self::Json => json::remove(text, keys, name),
            Self::Toml => toml_text::remove(text, keys, name),
            Self::Yaml => yaml_text::remove(text, keys, name),
        }
    }
}

fn tree(file: &Path, text: &str) -> Result<Node, EntryError> {
    let tree = parse(file, text).map_err(|error| EntryError::Syntax {
        line: error.line.unwrap_or_default(),
        message: error.message,
    })?;
    match tree.kind {
        Kind::Map(_) | Kind::Null => Ok(tree),
        Kind::Scalar(_) | Kind::List(_) => Err(EntryError::NoMapping {
            line: tree.line,
            key: "the document".to_owned(),
        }),
    }
}

/// Where the servers of this file are, else where the client documents them to be.
fn section_keys(client: &Client, tree: &Node) -> &'static [&'static str] {
    let is_there = |keys: &&&'static [&'static str]| below(tree, keys).is_some();
    let documented = client.keys.iter().min_by_key(|keys| keys.len());
    client.keys.iter().find(is_there).or(documented).copied().unwrap_or_default()
}

fn section<'t>(tree: &'t Node, keys: &[&str]) -> Result<&'t [Entry], EntryError> {
    match below(tree, keys) {
        None => Ok(&[]),
        Some(Node { kind: Kind::Null, .. }) => Ok(&[]),
        Some(Node {
            kind: Kind::Map(entries), ..
        }) => Ok(entries),
        Some(other) => Err(EntryError::NoMapping {
            line: other.line,
            key: keys.join("."),
        }),
    }
}

/// What of an entry says what is started.
fn starting(client: &Client, launch: &Launch) -> Vec<(&'static str, Written)> {
    let command = Written::Text(launch.command.clone());
    let args = Written::List(launch.args.clone());
    let mut fields = match client.name {
        "opencode" => {
            let words = std::iter::once(&launch.command).chain(&launch.args).cloned().collect();
            vec![("command", Written::List(words))]
        }
        "goose" => vec![("cmd", command), ("args", args)],
        _ => vec![("command", command), ("args", args)],
    };
    if !launch.environment.is_empty() {
        fields.push((environment_key(client), Written::Texts(launch.environment.clone())));
    }
    fields
}

fn below<'n>(node: &'n Node, keys: &[&str]) -> Option<&'n Node> {
    keys.iter().try_fold(node, |node, key| match &node.kind {
        Kind::Map(entries) => entries.iter().find(|entry| entry.key == *key).map(|entry| &entry.value),
        Kind::Null | Kind::Scalar(_) | Kind::List(_) => None,
    })
}

fn text_of(node: &Node) -> Option<String> {
    match &node.kind {
        Kind::Scalar(text) => Some(text.clone()),
        Kind::Null | Kind::List(_) | Kind::Map(_) => None,
    }
}

#[cfg(test)]
mod tests;
