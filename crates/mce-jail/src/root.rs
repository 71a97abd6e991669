//! The root file system of a jail: a read-only tree of binds and a few files, and nothing else.

use std::io::{self, Write as _};
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::path::{Component, Path};

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, mkdirat, openat, statat, symlinkat};
use rustix::io::Errno;
use rustix::mount::{
    FsMountFlags, FsOpenFlags, MountAttrFlags, MountPropagationFlags, MoveMountFlags, OpenTreeFlags, UnmountFlags, fsconfig_create,
    fsconfig_set_string, fsmount, fsopen, mount_change, move_mount, open_tree, unmount,
};
use rustix::process::{chdir, fchdir, pivot_root};

use crate::handshake::{DuringStep as _, Failure};
use crate::spec::{Bind, JailSpec, PlacedFile};
use crate::system_call::set_mount_attributes;

/// The only devices. `/dev/zero` is left out: a shared mapping of it is memory that no limit of a process counts.
const DEVICES: [&str; 3] = ["/dev/null", "/dev/random", "/dev/urandom"];

/// The place for temporary files. Each worker mounts another one over it.
const TMP: &str = "/tmp";

const READ_ONLY: u64 = libc::MOUNT_ATTR_RDONLY | libc::MOUNT_ATTR_NOSUID | libc::MOUNT_ATTR_NODEV;
const DEVICE: u64 = libc::MOUNT_ATTR_RDONLY | libc::MOUNT_ATTR_NOSUID | libc::MOUNT_ATTR_NOEXEC;

/// The devices that a jail has, for those who open them.
pub(crate) const fn devices() -> &'static [&'static str] {
    &DEVICES
}

/// Builds the root in the calling process's mount namespace, which must be its own, and makes it the root of the process.
/// Until the last step the process still has its old root.
pub(crate) fn build_root(spec: &JailSpec) -> Result<(), Failure> {
    mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC).during(|| "make all mounts private".to_owned())?;
    // All sources are opened before the first mount could hide one.
    let mut trees = Vec::new();
    for bind in &spec.binds {
        if let Some(tree) = open_source(bind)? {
            trees.push((tree, bind.target.as_path()));
        }
    }
    let mut devices = Vec::new();
    for device in DEVICES {
        devices.push((clone_tree(Path::new(device), DEVICE)?, Path::new(device)));
    }
    let root = make_tmpfs(&[("mode", "0755"), ("nr_inodes", "16384")])?;
    // The mount must hang somewhere before it can become the root; `/proc` exists wherever the launcher runs.
    attach(&root, CWD, "/proc")?;
    for (tree, target) in trees.iter().chain(&devices) {
        place_tree(&root, tree, target)?;
    }
    place_tmp(&root, spec.tmp_mib)?;
    for file in &spec.files {
        place_file(&root, file)?;
    }
    for link in &spec.symlinks {
        let (parent, name) = make_parent(&root, &link.path)?;
        symlinkat(&link.target, parent, name).during(|| format!("make the link `{}`", link.path.display()))?;
    }
    set_mount_attributes(root.as_fd(), READ_ONLY, false).during(|| "make the root read-only".to_owned())?;
    enter(&root)
}

fn open_source(bind: &Bind) -> Result<Option<OwnedFd>, Failure> {
    match statat(CWD, &bind.source, AtFlags::empty()) {
        Err(Errno::NOENT | Errno::NOTDIR) if bind.is_optional => Ok(None),
        Err(error) => Err(error).during(|| format!("find `{}`", bind.source.display())),
        Ok(_) => clone_tree(&bind.source, READ_ONLY).map(Some),
    }
}

/// A detached copy of the mounts at and below `path`, with attributes added to each.
fn clone_tree(path: &Path, attributes: u64) -> Result<OwnedFd, Failure> {
    let flags = OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::OPEN_TREE_CLOEXEC | OpenTreeFlags::AT_RECURSIVE;
    let tree = open_tree(CWD, path, flags).during(|| format!("bind `{}`", path.display()))?;
    set_mount_attributes(tree.as_fd(), attributes, true).during(|| format!("make `{}` read-only", path.display()))?;
    Ok(tree)
}

fn make_tmpfs(options: &[(&str, &str)]) -> Result<OwnedFd, Failure> {
    let step = || "make a tmpfs".to_owned();
    let context = fsopen("tmpfs", FsOpenFlags::FSOPEN_CLOEXEC).during(step)?;
    for (key, value) in options {
        fsconfig_set_string(context.as_fd(), *key, *value).during(|| format!("set `{key}` of a tmpfs"))?;
    }
    fsconfig_create(context.as_fd()).during(step)?;
    let attributes = MountAttrFlags::MOUNT_ATTR_NOSUID | MountAttrFlags::MOUNT_ATTR_NODEV;
    fsmount(context.as_fd(), FsMountFlags::FSMOUNT_CLOEXEC, attributes).during(step)
}

fn attach(tree: &OwnedFd, parent: BorrowedFd<'_>, name: &str) -> Result<(), Failure> {
    move_mount(tree, "", parent, name, MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH).during(|| format!("mount `{name}`"))
}

/// Puts a tree at `target`, after making a directory or an empty file to put it on.
fn place_tree(root: &OwnedFd, tree: &OwnedFd, target: &Path) -> Result<(), Failure> {
    if target != Path::new(TMP) && target.starts_with(TMP) {
        let cause = format!("nothing can lie below `{TMP}`, where each worker has a file system of its own");
        return Err(io::Error::other(cause)).during(|| format!("bind `{}`", target.display()));
    }
    let (parent, name) = make_parent(root, target)?;
    let status = statat(tree, "", AtFlags::EMPTY_PATH).during(|| format!("look at `{}`", target.display()))?;
    if FileType::from_raw_mode(status.st_mode) == FileType::Directory {
        make_directory(parent.as_fd(), name)?;
    } else {
        let flags = OFlags::CREATE | OFlags::WRONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        openat(&parent, name, flags, Mode::from_raw_mode(0o444)).during(|| format!("make `{}`", target.display()))?;
    }
    attach(tree, parent.as_fd(), name)
}

fn place_tmp(root: &OwnedFd, mib: u32) -> Result<(), Failure> {
    let tmp = make_tmpfs(&[("mode", "1777"), ("size", &format!("{mib}m")), ("nr_inodes", "4096")])?;
    set_mount_attributes(tmp.as_fd(), libc::MOUNT_ATTR_NOEXEC, false).during(|| "make `/tmp` not executable".to_owned())?;
    place_tree(root, &tmp, Path::new(TMP))
}

fn place_file(root: &OwnedFd, file: &PlacedFile) -> Result<(), Failure> {
    let step = || format!("write `{}`", file.path.display());
    let (parent, name) = make_parent(root, &file.path)?;
    let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC;
    let open = openat(parent, name, flags, Mode::from_raw_mode(file.mode)).during(step)?;
    fs_err::File::from_parts(open.into(), &file.path)
        .write_all(&file.bytes)
        .during(step)
}

/// Makes the directories above `target` and opens the last of them. Directories of binds are walked through, links in
/// them are not followed.
fn make_parent<'t>(root: &OwnedFd, target: &'t Path) -> Result<(OwnedFd, &'t str), Failure> {
    let mut names = names_of(target)?;
    // `names_of` gives at least one.
    let last = names.pop().unwrap_or_default();
    let mut folder = root.try_clone().during(|| "open the root".to_owned())?;
    for name in names {
        make_directory(folder.as_fd(), name)?;
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        folder = openat(&folder, name, flags, Mode::empty()).during(|| format!("open `{name}` of `{}`", target.display()))?;
    }
    Ok((folder, last))
}

/// The names that an absolute path consists of, one at least.
pub(crate) fn names_of(path: &Path) -> Result<Vec<&str>, Failure> {
    let names = path.components().skip(1).map(|component| match component {
        Component::Normal(name) => name.to_str(),
        Component::Prefix(_) | Component::RootDir | Component::CurDir | Component::ParentDir => None,
    });
    names
        .collect::<Option<Vec<_>>>()
        .filter(|names| path.is_absolute() && !names.is_empty())
        .ok_or_else(|| Failure {
            step: "build the root".to_owned(),
            cause: format!("`{}` is no absolute path without `..` that is text", path.display()),
            errno: None,
            is_refusal: false,
        })
}

fn make_directory(parent: BorrowedFd<'_>, name: &str) -> Result<(), Failure> {
    match mkdirat(parent, name, Mode::from_raw_mode(0o755)) {
        Err(Errno::EXIST) => Ok(()),
        // A read-only bind says this also of a directory that exists, which is all that is needed.
        Err(Errno::ROFS) if statat(parent, name, AtFlags::SYMLINK_NOFOLLOW).is_ok() => Ok(()),
        other => other.during(|| format!("make the directory `{name}`")),
    }
}

/// Makes `root` the root and forgets the old one: afterwards no path leads to it.
fn enter(root: &OwnedFd) -> Result<(), Failure> {
    fchdir(root).during(|| "enter the new root".to_owned())?;
    // With both paths equal, the old root ends up mounted over the new one and is then the first to be unmounted.
    pivot_root(".", ".").during(|| "change the root".to_owned())?;
    unmount(".", UnmountFlags::DETACH).during(|| "detach the old root".to_owned())?;
    chdir("/").during(|| "enter the new root".to_owned())
}
