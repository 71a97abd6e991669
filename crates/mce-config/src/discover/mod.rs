//! Finds the MCP servers that other programs have in their configuration.
//!
//! Nothing has to exist. What cannot be read is told with file and line, and is never the end.

mod clients;
mod files;
mod variables;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

pub(crate) use clients::{CLIENTS, Client, Dialect, NAMED, OURS, Root, TimeoutUnit, VariableForm};
use files::Found;
pub(crate) use files::directory;

use crate::field::Field;
use crate::file::{MAX_CLIENT_FILE_BYTES, read_text};
use crate::load::Places;
use crate::location::{Base, normalise, resolve_path};
use crate::reader::{Reader, found, one_of};
use crate::server::ServerEntry;
use crate::yaml::{Entry, Kind, Node, SyntaxError};
use crate::{ConfigError, EntrySource, Place, Source, jsonc, normalise_server_name, toml_tables, yaml};

/// More servers of one file are left out.
const MAX_SERVERS: usize = 500;

/// The longest name of a server, in bytes.
const MAX_TITLE_BYTES: usize = 256;

/// Where Claude Code has the names of servers that a person does not want.
const REJECTED: [&str; 2] = ["disabledMcpjsonServers", "disabledMcpServers"];

/// Whose files are read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Wanted {
    All,
    None,
    /// Those of these clients.
    Some(Vec<String>),
}

impl Wanted {
    /// Of `true`, `false`, or names of clients in any spelling.
    pub(crate) fn read(field: &Field, words: &[String]) -> Result<Self, ConfigError> {
        let lower: Vec<String> = words
            .iter()
            .map(|word| word.to_ascii_lowercase().replace(['_', ' '], "-"))
            .collect();
        match lower.as_slice() {
            [word] if ["true", "yes", "on", "1"].contains(&word.as_str()) => return Ok(Self::All),
            [word] if ["false", "no", "off", "0"].contains(&word.as_str()) => return Ok(Self::None),
            _ => {}
        }
        let names: Vec<&str> = CLIENTS.iter().map(|client| client.name).collect();
        match lower.iter().find(|word| !names.contains(&word.as_str())) {
            Some(unknown) => Err(field.refuse(format!("`true`, `false`, or {}", one_of(&names)), found(unknown))),
            None => Ok(Self::Some(lower)),
        }
    }

    fn has(&self, client: &Client) -> bool {
        match self {
            Self::All => true,
            Self::None => false,
            Self::Some(names) => names.iter().any(|name| name == client.name),
        }
    }
}

/// A server in another program's file.
pub(crate) struct Candidate {
    pub(crate) entry: ServerEntry,
    /// Its client says elsewhere that it is not to be used.
    pub(crate) is_rejected: bool,
}

/// The servers of all files, the most important first: files that `MCP_CONFIG_PATH` names, those of the project, those of the person.
pub(crate) fn discover(reader: &mut Reader<'_>, places: &Places<'_>, wanted: &Wanted) -> Vec<Candidate> {
    let mut search = Search {
        reader,
        places,
        seen: BTreeSet::new(),
    };
    let mut servers = search.named();
    let mut user = Vec::new();
    let mut local = Vec::new();
    let mut rejected = search.rejected(wanted);
    // Read first, since it has servers of the project, and says which of those in `.mcp.json` are refused.
    for found in files::of_person(places).into_iter().filter(|found| wanted.has(found.client)) {
        if let Some(document) = search.document(&found) {
            if let Some(project) = project_of(&document, &places.options.working_dir) {
                let (directory, project) = project;
                let found = Found {
                    workspace: directory,
                    ..found.clone()
                };
                rejected.extend(REJECTED.iter().flat_map(|key| names_in(&project, &[key])));
                local.extend(search.servers(&found, &project));
            }
            user.extend(search.servers(&found, &document));
        }
    }
    servers.extend(local);
    for found in files::of_project(places).into_iter().filter(|found| wanted.has(found.client)) {
        if let Some(document) = search.document(&found) {
            servers.extend(search.servers(&found, &document));
        }
    }
    servers.extend(user);
    for candidate in &mut servers {
        let is_of_claude = candidate.entry.source.client == Some("claude-code");
        candidate.is_rejected |= is_of_claude && rejected.contains(&candidate.entry.title);
    }
    servers
}

struct Search<'a, 'v> {
    reader: &'a mut Reader<'v>,
    places: &'a Places<'a>,
    /// Files that were read.
    seen: BTreeSet<PathBuf>,
}

impl Search<'_, '_> {
    /// The servers of the files that `MCP_CONFIG_PATH` names: one, or several as in `PATH`.
    fn named(&mut self) -> Vec<Candidate> {
        let Some(field) = self.reader.variables.field("MCP_CONFIG_PATH") else {
            return Vec::new();
        };
        let mut servers = Vec::new();
        for path in std::env::split_paths(field.scalar("paths").unwrap_or_default()).filter(|path| !path.as_os_str().is_empty()) {
            let base = Base {
                directory: &field.directory,
                home: self.places.home,
            };
            let found = Found {
                client: &NAMED,
                file: resolve_path(&path.to_string_lossy(), base),
                workspace: self.places.options.working_dir.clone(),
            };
            if !found.file.is_file() {
                let message = format!("`{}` is no file", found.file.display());
                self.reader.warn(field.place.clone(), message, None);
            } else if let Some(document) = self.document(&found) {
                if let Some((_, project)) = project_of(&document, &self.places.options.working_dir) {
                    servers.extend(self.servers(&found, &project));
                }
                servers.extend(self.servers(&found, &document));
            }
        }
        servers
    }

    /// The names that settings of Claude Code refuse.
    fn rejected(&mut self, wanted: &Wanted) -> Vec<String> {
        let settings: Vec<Found> = files::settings_of_claude(self.places);
        let settings = settings.iter().filter(|found| wanted.has(found.client));
        let documents: Vec<Field> = settings.filter_map(|found| self.document(found)).collect();
        let names = |document: &Field| REJECTED.iter().flat_map(|key| names_in(document, &[key])).collect::<Vec<_>>();
        documents.iter().flat_map(names).collect()
    }

    /// A file as a tree; nothing if it was read before or cannot be read.
    fn document(&mut self, found: &Found) -> Option<Field> {
        let file = fs_err::canonicalize(&found.file).unwrap_or_else(|_| normalise(&found.file));
        if !self.seen.insert(file) {
            return None;
        }
        let place = |line| Place {
            source: Source::File {
                file: found.file.clone(),
                key: String::new(),
            },
            line,
        };
        let message = match read_text(&found.file, MAX_CLIENT_FILE_BYTES) {
            Ok(text) => match parse(&found.file, &text) {
                Ok(node) => {
                    return Some(Field {
                        place: place(Some(node.line)),
                        directory: found.workspace.clone(),
                        node,
                    });
                }
                Err(error) => {
                    self.reader.warn(place(error.line), error.message, None);
                    return None;
                }
            },
            Err(ConfigError::ReadFile { cause, .. }) => format!("failed to read it: {}", cause.kind()),
            Err(error) => error.to_string(),
        };
        self.reader.warn(place(None), message, None);
        None
    }

    /// The servers of a document.
    fn servers(&mut self, found: &Found, document: &Field) -> Vec<Candidate> {
        let Some(servers) = found.client.keys.iter().find_map(|keys| below(document, keys)) else {
            return Vec::new();
        };
        if servers.is_blank() {
            return Vec::new();
        }
        let place = servers.place.clone();
        let entries = match servers.into_entries("a mapping of server names") {
            Ok(entries) => entries,
            Err(error) => {
                self.reader.report.warnings.push(error.into_warning(place));
                return Vec::new();
            }
        };
        if entries.len() > MAX_SERVERS {
            let message = format!("has {} servers, of which only the first {MAX_SERVERS} are read", entries.len());
            self.reader.warn(place, message, None);
        }
        let entries = entries.into_iter().take(MAX_SERVERS);
        let mut servers: Vec<Candidate> = entries.filter_map(|(title, field)| self.candidate(found, title, field)).collect();
        // Gemini CLI has the names of servers that are not wanted beside them.
        let excluded = names_in(document, &["mcp", "excluded"]);
        for candidate in &mut servers {
            candidate.is_rejected = excluded.contains(&candidate.entry.title);
        }
        servers
    }

    fn candidate(&mut self, found: &Found, title: String, mut field: Field) -> Option<Candidate> {
        if title.trim().is_empty() || title.len() > MAX_TITLE_BYTES || title.chars().any(char::is_control) {
            // The name is not repeated, since it is what is wrong.
            let Source::File { file, .. } = field.place.source else {
                return None;
            };
            let source = Source::File { file, key: String::new() };
            let message = "a server's name is empty, too long or has control characters; it is left out".to_owned();
            let line = field.place.line;
            self.reader.warn(Place { source, line }, message, None);
            return None;
        }
        let workspace = variables::Workspace {
            directory: &found.workspace,
            home: self.places.home,
        };
        let is_set = |name: &str| self.reader.variables.lookup(name).is_some();
        variables::rewrite(&mut field.node, found.client.dialect.variables, &workspace, &is_set);
        let place = field.place.clone();
        match field.into_entries("a mapping with `command` or `url`") {
            Ok(fields) => Some(Candidate {
                entry: ServerEntry {
                    name: normalise_server_name(&title),
                    title,
                    place,
                    fields: fields.into_iter().collect(),
                    dialect: found.client.dialect,
                    start_in: Some(found.workspace.clone()),
                    source: EntrySource {
                        client: Some(found.client.name),
                        file: Some(found.file.clone()),
                        also: Vec::new(),
                    },
                },
                is_rejected: false,
            }),
            Err(error) => {
                self.reader.report.warnings.push(error.into_warning(place));
                None
            }
        }
    }
}

/// The tree of a file of a client, by the kind of the file.
pub(crate) fn parse(file: &Path, text: &str) -> Result<Node, SyntaxError> {
    let extension = file.extension().unwrap_or_default().to_ascii_lowercase();
    match extension.to_str() {
        Some("toml") => toml_tables::parse(text),
        Some("yaml" | "yml") => yaml::parse(text),
        Some(_) | None => jsonc::parse(text),
    }
}

/// The value at a path of keys, if there is one.
fn below(field: &Field, keys: &[&str]) -> Option<Field> {
    let mut node = &field.node;
    let mut place = field.place.clone();
    for key in keys {
        let entry = entries_of(node).iter().find(|entry| entry.key == *key)?;
        place = place.child(&entry.key, entry.line);
        node = &entry.value;
    }
    Some(Field {
        node: node.clone(),
        place,
        directory: field.directory.clone(),
    })
}

fn entries_of(node: &Node) -> &[Entry] {
    match &node.kind {
        Kind::Map(entries) => entries,
        Kind::Null | Kind::Scalar(_) | Kind::List(_) => &[],
    }
}

/// What Claude Code has for the directory or the nearest one above it.
fn project_of(document: &Field, directory: &Path) -> Option<(PathBuf, Field)> {
    let projects = entries_of(&document.node).iter().find(|entry| entry.key == "projects")?;
    let canonical = fs_err::canonicalize(directory).unwrap_or_default();
    let above = directory.ancestors().chain(canonical.ancestors());
    let of = |directory: &Path| {
        let mut projects = entries_of(&projects.value).iter();
        let project = projects.find(|entry| Path::new(&entry.key) == directory)?;
        Some((directory.to_owned(), below(document, &["projects", &project.key])?))
    };
    above.filter(|directory| directory.parent().is_some()).find_map(of)
}

/// The texts of the list at a path of keys.
fn names_in(field: &Field, keys: &[&str]) -> Vec<String> {
    let items = below(field, keys).and_then(|list| list.into_items("a list").ok());
    let text = |item: Field| match item.node.kind {
        Kind::Scalar(text) => Some(text),
        Kind::Null | Kind::List(_) | Kind::Map(_) => None,
    };
    items.into_iter().flatten().filter_map(text).collect()
}

#[cfg(test)]
mod tests;
