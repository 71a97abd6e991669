//! Which file of each client gets our entry, and what such an entry has besides what is started.

use std::path::{Path, PathBuf};

use super::Written;
use crate::LoadOptions;
use crate::discover::{CLIENTS, Client, Root, directory};
use crate::load::{Places, existing};

/// The file of a client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientFile {
    /// As in `discover`.
    pub client: &'static str,
    /// Absolute. It need not exist.
    pub file: PathBuf,
    /// The client seems to be on this machine: the file or its folder exists.
    pub is_there: bool,
}

/// The names of all clients.
pub fn client_names() -> impl Iterator<Item = &'static str> {
    CLIENTS.iter().map(|client| client.name)
}

pub(super) fn named(name: &str) -> Option<&'static Client> {
    CLIENTS.iter().find(|client| client.name == name)
}

/// The file of each client: the person's, or with `is_project` that of the working directory. The first that exists, else the one that
/// belongs to this system.
pub fn client_files(options: &LoadOptions, is_project: bool) -> Vec<ClientFile> {
    let home = options.environment.get("HOME").map(PathBuf::from).filter(|path| path.is_absolute());
    let places = Places {
        options,
        home: home.as_deref(),
    };
    let file = |client: &'static Client| {
        if is_project {
            of_project(client, &options.working_dir)
        } else {
            of_person(client, &places)
        }
    };
    CLIENTS.iter().filter_map(file).collect()
}

fn of_project(client: &'static Client, directory: &Path) -> Option<ClientFile> {
    let files = || client.project.iter().map(|path| directory.join(path));
    let file = files().find_map(existing).or_else(|| files().next())?;
    let is_there = file.exists();
    Some(ClientFile {
        client: client.name,
        file,
        is_there,
    })
}

fn of_person(client: &'static Client, places: &Places<'_>) -> Option<ClientFile> {
    let files = || {
        client
            .user
            .iter()
            .filter_map(|(root, path)| Some((*root, directory(*root, places)?.join(path))))
    };
    let is_of_this_system = |(root, _): &(Root, PathBuf)| match root {
        Root::Support => cfg!(target_os = "macos"),
        Root::AppData => cfg!(windows),
        Root::Config => !cfg!(any(target_os = "macos", windows)) || client.user.len() == 1,
        Root::Home | Root::Claude | Root::Codex => true,
    };
    let found = files().find(|(_, file)| file.is_file());
    let (root, file) = found.or_else(|| files().find(is_of_this_system)).or_else(|| files().next())?;
    // The folder of Claude Code's file is the person's home, which says nothing.
    let folder = match root {
        Root::Claude => Some(file.with_file_name(".claude")),
        Root::Home | Root::Config | Root::Support | Root::AppData | Root::Codex => file.parent().map(Path::to_owned),
    };
    let is_there = file.is_file() || folder.is_some_and(|folder| folder.is_dir());
    Some(ClientFile {
        client: client.name,
        file,
        is_there,
    })
}

/// What a new entry has besides what is started.
pub(super) fn beside(client: &Client) -> Vec<(&'static str, Written)> {
    let text = |value: &str| Written::Text(value.to_owned());
    match client.name {
        "claude-code" | "vscode" => vec![("type", text("stdio"))],
        "opencode" => vec![("type", text("local")), ("enabled", Written::Flag(true))],
        "zed" => vec![("source", text("custom"))],
        "goose" => vec![
            ("name", text(super::NAME)),
            ("type", text("stdio")),
            ("enabled", Written::Flag(true)),
            ("timeout", Written::Number(300)),
        ],
        _ => Vec::new(),
    }
}
