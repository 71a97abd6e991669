//! What a jail consists of, as data. The host writes it, the launcher reads it. It holds no secret.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::layers::Layers;

/// The number of the control socket inside the jail.
pub const CONTROL_FD: i32 = 3;

/// The number of a descriptor of the host's `/proc`, open in the fork server for two uses only: its own
/// `self/ns/pid` (to give each worker a PID namespace of its own) and the id maps that a [`crate::SealPlan`] writes.
/// The plan closes it before hostile code runs. It is open only where the jail has namespaces.
pub const PROC_FD: i32 = 4;

/// Stands for the root of the jail in `arguments`, `environment` and `directory` of a [`JailSpec`].
///
/// It becomes nothing where the jail has its own root file system, and a private directory where it has none, in which
/// case `files` lie in that directory. Write `{root}/mce/guest.py` for a placed file and `/usr/bin/python3` for a bind.
pub const ROOT: &str = "{root}";

/// A jail and the program that becomes its first process.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct JailSpec {
    /// Parts of the host's file system that are visible inside, read-only.
    pub binds: Vec<Bind>,
    /// Files that exist only inside.
    pub files: Vec<PlacedFile>,
    /// Symbolic links of the jail's root, such as `/lib64` to `usr/lib64`. Left out where there is no own root.
    pub symlinks: Vec<Symlink>,
    /// The program's path and its arguments; the path is also argument 0.
    pub arguments: Vec<String>,
    /// The whole environment of the program. Nothing is inherited.
    pub environment: Vec<(String, String)>,
    /// The program's directory, e.g. `/`.
    pub directory: String,
    /// Size of the fork server's own `/tmp`, in mebibytes. Each worker gets another one, see [`crate::WorkerLimits`].
    pub tmp_mib: u32,
    /// Processes and threads in the jail, all workers together: at least the number of workers times their threads and one
    /// for the fork server, else one worker could keep others from starting.
    pub processes: u32,
    /// Layers to use where the machine has them. `Layers::ALL` but in tests.
    pub layers: Layers,
}

/// A file or directory of the host that is visible in the jail, read-only, without set-user-id and devices.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bind {
    /// Absolute path on the host. Symbolic links are followed.
    pub source: PathBuf,
    /// Absolute path in the jail, without `..`, and not below `/tmp`, where each worker has its own files. Where the jail has no
    /// own root, a target that is not `source` is a link below [`ROOT`] that leads to it.
    pub target: PathBuf,
    /// A missing source is skipped instead of being an error.
    pub is_optional: bool,
}

/// A file that exists only in the jail; read-only for everybody.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlacedFile {
    /// Absolute path in the jail, without `..` and not below a bind.
    pub path: PathBuf,
    /// Its content.
    #[serde(with = "crate::seal_plan::base64_bytes")]
    pub bytes: Vec<u8>,
    /// Permission bits, e.g. `0o444`.
    pub mode: u32,
}

/// A symbolic link of the jail's root.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Symlink {
    /// Absolute path in the jail, without `..`.
    pub path: PathBuf,
    /// Where it leads.
    pub target: PathBuf,
}

impl Bind {
    /// A bind to the same path, or below `/mce` where that path cannot be in a jail.
    pub fn placed(path: impl Into<PathBuf>) -> Self {
        let source = path.into();
        let below_tmp = source.strip_prefix("/").ok().filter(|_| source.starts_with("/tmp"));
        Self {
            target: below_tmp.map_or_else(|| source.clone(), |path| Path::new("/mce").join(path)),
            source,
            is_optional: false,
        }
    }

    /// The path for `arguments` of a [`JailSpec`].
    pub fn argument(&self) -> String {
        let root = if self.target == self.source { "" } else { ROOT };
        format!("{root}{}", self.target.display())
    }

    /// A bind to the same path that must exist.
    pub fn same(path: impl Into<PathBuf>) -> Self {
        let source = path.into();
        Self {
            target: source.clone(),
            source,
            is_optional: false,
        }
    }

    /// A bind to the same path that is skipped if it does not exist.
    pub fn optional(path: impl Into<PathBuf>) -> Self {
        Self {
            is_optional: true,
            ..Self::same(path)
        }
    }
}
