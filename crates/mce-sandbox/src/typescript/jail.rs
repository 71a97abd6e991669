//! The jail of TypeScript: the program's own executable and, if it is linked dynamically, the libraries that it loads.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};

use mce_jail::{Bind, JailSpec, Layers, Symlink};

use crate::Launcher;

/// The jail of one fork server.
///
/// # Errors
///
/// If the libraries that this process has loaded cannot be listed.
pub(super) fn spec(worker: &Launcher, layers: Layers, processes: u32) -> io::Result<JailSpec> {
    let mut binds = libraries()?;
    let executable = Bind::placed(&worker.program);
    let program = executable.argument();
    binds.push(executable);
    Ok(JailSpec {
        binds,
        files: Vec::new(),
        symlinks: links(),
        arguments: [vec![program], worker.arguments.clone()].concat(),
        environment: Vec::new(),
        directory: "/".to_owned(),
        tmp_mib: 1,
        processes,
        layers,
    })
}

/// The folders of the libraries that this process has loaded: the fork server loads the same ones, found in the same way. A
/// static executable has none.
fn libraries() -> io::Result<Vec<Bind>> {
    let maps = fs_err::read_to_string("/proc/self/maps")?;
    let libraries = maps
        .lines()
        .filter_map(|line| line.split_whitespace().nth(5))
        .filter(|path| path.starts_with('/') && path.contains(".so"));
    let mut folders: BTreeSet<PathBuf> = libraries
        .filter_map(|path| Path::new(path).parent())
        .map(Path::to_path_buf)
        .collect();
    if !folders.is_empty() {
        // The loader, and where it looks first.
        folders.extend(["/lib", "/lib64", "/usr/lib64", "/etc/ld.so.cache"].map(PathBuf::from));
    }
    let is_link = |path: &Path| fs_err::symlink_metadata(path).is_ok_and(|metadata| metadata.is_symlink());
    let real: BTreeSet<PathBuf> = folders.into_iter().filter(|path| !is_link(path)).collect();
    // What lies below another bind is visible already.
    let is_covered = |path: &PathBuf| path.ancestors().skip(1).any(|above| real.contains(above));
    Ok(real.iter().filter(|path| !is_covered(path)).map(Bind::optional).collect())
}

/// `/lib` and the like where they are links, as on most machines.
fn links() -> Vec<Symlink> {
    ["/lib", "/lib64", "/usr/lib64"]
        .into_iter()
        .filter_map(|path| {
            Some(Symlink {
                path: PathBuf::from(path),
                target: fs_err::read_link(path).ok()?,
            })
        })
        .collect()
}
