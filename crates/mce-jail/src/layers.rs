//! The layers of the jail: which to use, and which this machine has.

use serde::{Deserialize, Serialize};

/// A choice of layers. Each alone stops what it is for; together they stop it twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Layers {
    /// User, mount, PID, network, IPC, UTS and cgroup namespaces with an own root file system.
    pub namespaces: bool,
    /// Landlock: files, TCP ports, signals and abstract sockets.
    pub landlock: bool,
    /// The list of allowed system calls.
    pub seccomp: bool,
    /// Resource limits.
    pub rlimits: bool,
}

impl Layers {
    /// All layers.
    pub const ALL: Self = Self {
        namespaces: true,
        landlock: true,
        seccomp: true,
        rlimits: true,
    };

    /// All layers but the named ones: `namespaces`, `landlock`, `seccomp`, `rlimits`. `None` if a name is unknown.
    pub fn without<'a>(names: impl IntoIterator<Item = &'a str>) -> Option<Self> {
        let mut layers = Self::ALL;
        for name in names {
            match name {
                "namespaces" => layers.namespaces = false,
                "landlock" => layers.landlock = false,
                "seccomp" => layers.seccomp = false,
                "rlimits" => layers.rlimits = false,
                _ => return None,
            }
        }
        Some(layers)
    }
}

/// What `mce doctor` says about one layer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LayerStatus {
    /// `namespaces`, `landlock`, `seccomp` or `rlimits`.
    pub name: &'static str,
    /// A jail started now would have it.
    pub is_on: bool,
    /// What was found, in words.
    pub detail: String,
    /// What to do to get it; empty if it is on.
    pub fix: String,
}

/// Tries each layer in a process of its own and says what this machine has.
pub fn probe() -> Vec<LayerStatus> {
    Vec::new()
}
