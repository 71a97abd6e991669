//! The jail of Python: which parts of the machine a worker sees, and the guest's own files.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use mce_jail::{Bind, JailSpec, PlacedFile, ROOT, Symlink};

use super::interpreter::Interpreter;

/// The guest, as it lies in the jail below `/mce`.
const GUEST: [(&str, &str); 22] = [
    ("fork_server.py", include_str!("../../guest/python/fork_server.py")),
    ("mce.py", include_str!("../../guest/python/mce.py")),
    ("mce_guest/__init__.py", include_str!("../../guest/python/mce_guest/__init__.py")),
    ("mce_guest/at_once.py", include_str!("../../guest/python/mce_guest/at_once.py")),
    ("mce_guest/channel.py", include_str!("../../guest/python/mce_guest/channel.py")),
    ("mce_guest/check.py", include_str!("../../guest/python/mce_guest/check.py")),
    ("mce_guest/guard.py", include_str!("../../guest/python/mce_guest/guard.py")),
    ("mce_guest/failures.py", include_str!("../../guest/python/mce_guest/failures.py")),
    ("mce_guest/fetching.py", include_str!("../../guest/python/mce_guest/fetching.py")),
    ("mce_guest/host.py", include_str!("../../guest/python/mce_guest/host.py")),
    (
        "mce_guest/httpx_transport.py",
        include_str!("../../guest/python/mce_guest/httpx_transport.py"),
    ),
    ("mce_guest/libraries.py", include_str!("../../guest/python/mce_guest/libraries.py")),
    ("mce_guest/outline.py", include_str!("../../guest/python/mce_guest/outline.py")),
    ("mce_guest/output.py", include_str!("../../guest/python/mce_guest/output.py")),
    ("mce_guest/models.py", include_str!("../../guest/python/mce_guest/models.py")),
    ("mce_guest/paging.py", include_str!("../../guest/python/mce_guest/paging.py")),
    ("mce_guest/program.py", include_str!("../../guest/python/mce_guest/program.py")),
    ("mce_guest/seal.py", mce_jail::SEAL_PY),
    ("mce_guest/servers.py", include_str!("../../guest/python/mce_guest/servers.py")),
    ("mce_guest/values.py", include_str!("../../guest/python/mce_guest/values.py")),
    ("mce_guest/written.py", include_str!("../../guest/python/mce_guest/written.py")),
    ("mce_guest/worker.py", include_str!("../../guest/python/mce_guest/worker.py")),
];

/// So that a library that asks who it is gets an answer.
const PASSWD: &str = "worker:x:1000:1000:worker:/tmp:/bin/false\n";

/// A program alone on its processors gains nothing by threads of numerical libraries, which would count against its limits.
const ENVIRONMENT: [(&str, &str); 2] = [("OMP_NUM_THREADS", "1"), ("OPENBLAS_NUM_THREADS", "1")];

/// The jail of one fork server.
pub(crate) fn spec(interpreter: &Interpreter, libraries: &[PathBuf], layers: mce_jail::Layers, processes: u32) -> JailSpec {
    let mut files: Vec<PlacedFile> = GUEST.iter().map(|(name, text)| placed(&format!("/mce/{name}"), text)).collect();
    files.push(placed("/etc/passwd", PASSWD));
    files.push(placed("/etc/group", "worker:x:1000:\n"));
    let executable = Bind::placed(&interpreter.executable).argument();
    let flags = ["-I", "-S", "-B", "-X", "utf8"].map(str::to_owned);
    JailSpec {
        binds: binds(interpreter, libraries),
        files,
        symlinks: links(),
        arguments: [vec![executable], flags.to_vec(), vec![format!("{ROOT}/mce/fork_server.py")]].concat(),
        environment: ENVIRONMENT.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec(),
        directory: "/".to_owned(),
        tmp_mib: 16,
        processes,
        layers,
    }
}

fn placed(path: &str, text: &str) -> PlacedFile {
    PlacedFile {
        path: PathBuf::from(path),
        bytes: text.as_bytes().to_vec(),
        mode: 0o444,
    }
}

/// Executable, standard library, shared libraries, installed packages, time zones; nothing else.
fn binds(interpreter: &Interpreter, libraries: &[PathBuf]) -> Vec<Bind> {
    let mut folders: BTreeSet<PathBuf> = BTreeSet::new();
    folders.extend(interpreter.standard.iter().cloned());
    folders.extend(interpreter.site.iter().cloned());
    folders.extend(libraries.iter().cloned());
    folders.extend(interpreter.shared.iter().filter_map(|file| file.parent()).map(Path::to_path_buf));
    if !interpreter.multiarch.is_empty() {
        folders.insert(Path::new("/usr/lib").join(&interpreter.multiarch));
    }
    folders.extend(["/lib", "/lib64", "/usr/lib64", "/usr/share/zoneinfo", "/etc/ld.so.cache"].map(PathBuf::from));
    folders.insert(interpreter.executable.clone());
    let real: BTreeSet<PathBuf> = folders.into_iter().filter(|path| path.is_absolute() && !is_link(path)).collect();
    // What lies below another bind is visible already.
    let is_covered = |path: &PathBuf| path.ancestors().skip(1).any(|above| real.contains(above));
    let uncovered = real.iter().filter(|path| !is_covered(path));
    uncovered
        .map(|path| Bind {
            is_optional: true,
            ..Bind::placed(path)
        })
        .collect()
}

/// `/lib` and the like where they are links, as on most machines; and where semaphores are made, as `multiprocessing` does for
/// its threads.
fn links() -> Vec<Symlink> {
    let of_machine = ["/lib", "/lib64", "/usr/lib64"].into_iter().filter_map(|path| {
        Some(Symlink {
            path: PathBuf::from(path),
            target: std::fs::read_link(path).ok()?,
        })
    });
    let semaphores = Symlink {
        path: PathBuf::from("/dev/shm"),
        target: PathBuf::from("/tmp"),
    };
    of_machine.chain([semaphores]).collect()
}

fn is_link(path: &Path) -> bool {
    std::fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_symlink())
}
