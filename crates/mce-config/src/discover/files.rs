//! Where the files of other programs are.

use std::path::{Path, PathBuf};

use crate::discover::clients::Root;
use crate::discover::{CLIENTS, Client};
use crate::load::{Places, existing};

/// A file that exists.
#[derive(Clone)]
pub(crate) struct Found {
    pub(crate) client: &'static Client,
    pub(crate) file: PathBuf,
    /// What relative paths in it are relative to, and where its servers are started: the project, or the working directory.
    pub(crate) workspace: PathBuf,
}

/// The files of the project: of each client the nearest, from the working directory upwards.
///
/// The search ends at the directory of a Git repository and below the person's home. What stands above the working directory
/// counts only if it belongs to the administrator or to the owner of the working directory: else anybody could lay servers into
/// `/tmp` for others to start.
pub(crate) fn of_project(places: &Places<'_>) -> Vec<Found> {
    let working_dir = &places.options.working_dir;
    let directories = directories(working_dir, places.home);
    let nearest = |client: &'static Client| {
        let found = |directory: &Path| {
            let file = client.project.iter().find_map(|path| existing(directory.join(path)))?;
            (directory == working_dir || is_trusted(&file, working_dir)).then(|| Found {
                client,
                file,
                workspace: directory.to_owned(),
            })
        };
        directories.iter().find_map(|directory| found(directory))
    };
    CLIENTS.iter().filter_map(nearest).collect()
}

fn directories<'p>(working_dir: &'p Path, home: Option<&Path>) -> Vec<&'p Path> {
    let mut directories = Vec::new();
    for directory in working_dir.ancestors() {
        if directory != working_dir && Some(directory) == home {
            break;
        }
        directories.push(directory);
        if directory.join(".git").exists() {
            break;
        }
    }
    directories
}

#[cfg(unix)]
fn is_trusted(file: &Path, working_dir: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;

    let owner = |path: &Path| fs_err::metadata(path).map(|metadata| metadata.uid());
    match (owner(file), owner(working_dir)) {
        (Ok(owner), Ok(own)) => owner == own || owner == 0,
        (Ok(_) | Err(_), _) => false,
    }
}

#[cfg(not(unix))]
fn is_trusted(_: &Path, _: &Path) -> bool {
    true
}

/// The files of the person that exist.
pub(crate) fn of_person(places: &Places<'_>) -> Vec<Found> {
    let existing = |client: &'static Client| {
        client.user.iter().filter_map(move |(root, path)| {
            Some(Found {
                client,
                file: existing(directory(*root, places)?.join(path))?,
                workspace: places.options.working_dir.clone(),
            })
        })
    };
    CLIENTS.iter().flat_map(existing).collect()
}

/// The settings of Claude Code, which have no servers, but say which are refused.
pub(crate) fn settings_of_claude(places: &Places<'_>) -> Vec<Found> {
    let working_dir = &places.options.working_dir;
    let project = directories(working_dir, places.home).into_iter().flat_map(|directory| {
        let settings = directory.join(".claude");
        ["settings.local.json", "settings.json"].map(|name| settings.join(name))
    });
    let person = places
        .directory_in("CLAUDE_CONFIG_DIR")
        .or_else(|| places.home.map(|home| home.join(".claude")))
        .map(|directory| directory.join("settings.json"));
    let found = |file: PathBuf| {
        Some(Found {
            client: CLIENTS.first()?,
            file: existing(file)?,
            workspace: working_dir.clone(),
        })
    };
    project.chain(person).filter_map(found).collect()
}

/// Where the files of a root are, if this system has it.
pub(crate) fn directory(root: Root, places: &Places<'_>) -> Option<PathBuf> {
    let home = places.home;
    let named = |variable| places.directory_in(variable);
    match root {
        Root::Home => home.map(Path::to_owned),
        Root::Config => places.xdg("XDG_CONFIG_HOME", ".config"),
        Root::Support => home.map(|home| home.join("Library/Application Support")),
        Root::AppData => named("APPDATA"),
        Root::Claude => named("CLAUDE_CONFIG_DIR").or_else(|| home.map(Path::to_owned)),
        Root::Codex => named("CODEX_HOME").or_else(|| home.map(|home| home.join(".codex"))),
    }
}
