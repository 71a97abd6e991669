//! The Landlock ruleset of a worker, as steps of a seal plan.
//!
//! Numbers are those of the kernel's `include/uapi/linux/landlock.h`. They are written here and not taken from a library
//! because the calls are made by the worker, which may be Python.

use std::path::{Path, PathBuf};

use crate::root::devices;
use crate::seal_plan::{Argument, Buffer, Patch, Value};
use crate::seal_steps::{Steps, number, text};

const WRITE_FILE: u64 = 1 << 1;
const READ_FILE: u64 = 1 << 2;
const READ_DIR: u64 = 1 << 3;
const REMOVE_DIR: u64 = 1 << 4;
const REMOVE_FILE: u64 = 1 << 5;
const MAKE_DIR: u64 = 1 << 7;
const MAKE_REG: u64 = 1 << 8;
const MAKE_FIFO: u64 = 1 << 10;
const MAKE_SYM: u64 = 1 << 12;
const REFER: u64 = 1 << 13;
const TRUNCATE: u64 = 1 << 14;

/// What a worker may do below `/tmp`: all but executing, devices and sockets.
const PRIVATE: u64 =
    WRITE_FILE | READ_FILE | READ_DIR | REMOVE_DIR | REMOVE_FILE | MAKE_DIR | MAKE_REG | MAKE_FIFO | MAKE_SYM | REFER | TRUNCATE;

/// TCP ports: to bind and to connect.
const ALL_NETWORK: u64 = 0b11;
/// Abstract Unix sockets and signals.
const ALL_SCOPES: u64 = 0b11;

const RULE_PATH_BENEATH: i64 = 1;

/// `LANDLOCK_RESTRICT_SELF_LOG_SAME_EXEC_OFF`: a worker never executes anything.
const LOG_NOTHING: i64 = 1;

/// A file or directory that workers may read.
#[derive(Debug, Clone)]
pub(crate) struct Readable {
    pub(crate) path: PathBuf,
    pub(crate) is_directory: bool,
}

/// Adds the steps that make the ruleset and enforce it. `version` is the kernel's.
pub(crate) fn add_landlock(steps: &mut Steps, version: u32, readable: &[Readable], has_own_root: bool) {
    let handled = all_file_rights(version);
    let mut attributes = handled.to_ne_bytes().to_vec();
    if version >= 4 {
        attributes.extend(ALL_NETWORK.to_ne_bytes());
    }
    if version >= 6 {
        attributes.extend(ALL_SCOPES.to_ne_bytes());
    }
    let size = number(i64::try_from(attributes.len()).unwrap_or_default());
    let attributes = Argument::Buffer(Buffer {
        bytes: attributes,
        patches: Vec::new(),
    });
    let ruleset = steps.must(
        "make a Landlock ruleset",
        libc::SYS_landlock_create_ruleset,
        vec![attributes, size, number(0)],
    );
    // Without an own root a part may lie where the worker cannot look. It can then not be read, rule or no rule.
    let mut allow = |path: &Path, rights: u64| add_rule(steps, ruleset, path, rights & handled, has_own_root);
    for Readable { path, is_directory } in readable {
        allow(path, if *is_directory { READ_FILE | READ_DIR } else { READ_FILE });
    }
    for device in devices() {
        allow(Path::new(device), READ_FILE | WRITE_FILE);
    }
    if has_own_root {
        allow(Path::new("/tmp"), PRIVATE);
    }
    // A program must not be able to fill the host's audit log with what it is refused.
    let flags = if version >= 7 { LOG_NOTHING } else { 0 };
    let arguments = vec![Argument::Result(ruleset), number(flags)];
    steps.must("enforce Landlock", libc::SYS_landlock_restrict_self, arguments);
}

/// All rights on files that this version knows: what is not allowed by a rule is refused.
fn all_file_rights(version: u32) -> u64 {
    let known = match version {
        0 | 1 => 13,
        2 => 14,
        3 | 4 => 15,
        // Device control.
        _ => 16,
    };
    (1 << known) - 1
}

fn add_rule(steps: &mut Steps, ruleset: usize, path: &Path, rights: u64, is_fatal: bool) {
    let name = format!("allow `{}`", path.display());
    let flags = i64::from(libc::O_PATH | libc::O_CLOEXEC);
    let open = vec![
        number(libc::AT_FDCWD.into()),
        text(&path.to_string_lossy()),
        number(flags),
        number(0),
    ];
    let folder = steps.add(&name, libc::SYS_openat, open, is_fatal);
    // `struct landlock_path_beneath_attr` is packed: the rights, then the descriptor.
    let bytes = [rights.to_ne_bytes().as_slice(), &[0; 4]].concat();
    let beneath = Argument::Buffer(Buffer {
        bytes,
        patches: vec![Patch {
            offset: 8,
            size: 4,
            value: Value::Result(folder),
        }],
    });
    let arguments = vec![Argument::Result(ruleset), number(RULE_PATH_BENEATH), beneath, number(0)];
    steps.add(&name, libc::SYS_landlock_add_rule, arguments, is_fatal);
}
