//! A file of another program gets another text: as a whole or not at all, with its mode and owner, through symbolic links.

use std::fs::Metadata;
use std::io::{self, Write as _};
use std::os::fd::AsFd;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::{Access, Gid, Uid, access};

/// Writes `new`, unless the file holds something else than `old` by now. In `copies` the first text that was ever replaced is kept (a
/// later one was written by us, at least in part), until the file holds it again. Gives where it is, if it is.
///
/// A symbolic link stays one; a file that is made belongs to its owner alone, and so do copies: files of clients hold secrets.
///
/// # Errors
///
/// If the file has changed meanwhile, or cannot be written, or is a symbolic link to nothing.
pub(crate) fn replace(file: &Path, old: Option<&str>, new: &str, copies: Option<&Path>) -> io::Result<Option<PathBuf>> {
    let target = target_of(file)?;
    // Refused before anything is made.
    if old.is_some() {
        writable(&target)?;
    }
    let folder = folder_of(&target)?;
    fs_err::create_dir_all(folder)?;
    let mut written = tempfile::NamedTempFile::new_in(folder)?;
    written.write_all(new.as_bytes())?;
    written.as_file().sync_all()?;
    let Some(old) = old else {
        // What is there by now was written by another program.
        written.persist_noclobber(&target).map_err(|error| changed_or(error.error))?;
        if let Some(copies) = copies {
            note_made(copies, &fs_err::canonicalize(&target)?)?;
        }
        return Ok(None);
    };
    let metadata = writable(&target)?;
    written.as_file().set_permissions(metadata.permissions())?;
    keep_owner(written.as_file(), &metadata)?;
    // Clients write their files whenever they want.
    if fs_err::read(&target)? != old.as_bytes() {
        return Err(changed());
    }
    // A file that was made here was nothing at first.
    let copies = copies.filter(|folder| !mark_of(folder, &target).exists());
    let copy = copies.map(|folder| kept(folder, &target, old)).transpose()?;
    written.persist(&target).map_err(|error| error.error)?;
    if let Some(copy) = copy
        .as_ref()
        .filter(|copy| fs_err::read(copy).is_ok_and(|kept| kept == new.as_bytes()))
    {
        fs_err::remove_file(copy)?;
        return Ok(None);
    }
    Ok(copy)
}

/// Removes a file that [`replace`] has made, unless it holds something else than `old` by now. Gives whether it did.
///
/// # Errors
///
/// If it cannot be removed.
pub(crate) fn remove_made(file: &Path, old: &str, copies: &Path) -> io::Result<bool> {
    let target = target_of(file)?;
    let mark = mark_of(copies, &target);
    if !mark.exists() || fs_err::read(&target)? != old.as_bytes() {
        return Ok(false);
    }
    fs_err::remove_file(&target)?;
    fs_err::remove_file(&mark)?;
    Ok(true)
}

/// Whether [`replace`] has made a file.
pub(crate) fn is_made(file: &Path, copies: &Path) -> bool {
    target_of(file).is_ok_and(|target| mark_of(copies, &target).exists())
}

/// Where it stands that a file was made here: beside the place of its copy.
fn mark_of(copies: &Path, target: &Path) -> PathBuf {
    let mut mark = copy_of(copies, target).into_os_string();
    mark.push(".made");
    mark.into()
}

fn note_made(copies: &Path, target: &Path) -> io::Result<()> {
    let mark = mark_of(copies, target);
    let folder = mark.parent().unwrap_or(copies);
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    fs_err::write(&mark, "")
}

/// Where the copy of a file is: at the path that the file has below the root.
fn copy_of(copies: &Path, target: &Path) -> PathBuf {
    copies.join(target.strip_prefix("/").unwrap_or(target))
}

/// Whether [`replace`] can be expected to work, by what is there now. Nothing is written.
///
/// # Errors
///
/// As those of [`replace`].
pub(crate) fn check_replaceable(file: &Path) -> io::Result<()> {
    let target = target_of(file)?;
    if target.exists() {
        writable(&target)?;
    }
    let mut folder = folder_of(&target)?;
    while !folder.exists() {
        folder = folder_of(folder)?;
    }
    if !folder.is_dir() {
        return Err(io::Error::from(io::ErrorKind::NotADirectory));
    }
    Ok(access(folder, Access::WRITE_OK)?)
}

fn folder_of(path: &Path) -> io::Result<&Path> {
    path.parent().ok_or_else(|| io::Error::other("the file has no folder"))
}

/// The facts of a file that its owner has not protected.
fn writable(target: &Path) -> io::Result<Metadata> {
    let metadata = fs_err::metadata(target)?;
    if metadata.permissions().readonly() {
        return Err(io::Error::from(io::ErrorKind::PermissionDenied));
    }
    Ok(metadata)
}

/// The file itself, which need not exist; behind symbolic links it must.
fn target_of(file: &Path) -> io::Result<PathBuf> {
    match fs_err::canonicalize(file) {
        Ok(target) => Ok(target),
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        Err(_) if fs_err::symlink_metadata(file).is_ok() => Err(io::Error::other("it is a symbolic link to a file that does not exist")),
        Err(_) => Ok(file.to_owned()),
    }
}

/// The copy of a file, which is made if there is none.
fn kept(copies: &Path, target: &Path, text: &str) -> io::Result<PathBuf> {
    let copy = copy_of(copies, target);
    if copy.exists() {
        return Ok(copy);
    }
    let folder = copy.parent().unwrap_or(copies);
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    let mut made = tempfile::NamedTempFile::new_in(folder)?;
    made.write_all(text.as_bytes())?;
    made.as_file().sync_all()?;
    made.persist_noclobber(&copy).map_err(|error| error.error)?;
    Ok(copy)
}

fn changed() -> io::Error {
    io::Error::other("it has changed meanwhile")
}

fn changed_or(error: io::Error) -> io::Error {
    if error.kind() == io::ErrorKind::AlreadyExists {
        changed()
    } else {
        error
    }
}

/// Only the administrator may give files away, and only then it is needed.
fn keep_owner(file: impl AsFd, metadata: &Metadata) -> io::Result<()> {
    let own = rustix::fs::fstat(&file)?;
    if (own.st_uid, own.st_gid) != (metadata.uid(), metadata.gid()) {
        rustix::fs::fchown(&file, Some(Uid::from_raw(metadata.uid())), Some(Gid::from_raw(metadata.gid())))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn mode(file: &Path) -> u32 {
        fs_err::metadata(file).unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn mode_and_links_stay_and_the_first_text_is_kept_for_its_owner_until_it_is_there_again() {
        let folder = tempfile::tempdir().unwrap();
        let copies = folder.path().join("data/copies");
        let (file, link) = (folder.path().join("real.json"), folder.path().join("link.json"));
        fs_err::write(&file, "old").unwrap();
        fs_err::set_permissions(&file, std::fs::Permissions::from_mode(0o644)).unwrap();
        fs_err::os::unix::fs::symlink(&file, &link).unwrap();
        let first = replace(&link, Some("old"), "new", Some(&copies)).unwrap().unwrap();
        let second = replace(&file, Some("new"), "newer", Some(&copies)).unwrap().unwrap();
        assert!(fs_err::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs_err::read_to_string(&file).unwrap(), "newer");
        assert_eq!((&first, fs_err::read_to_string(&first).unwrap().as_str()), (&second, "old"));
        assert_eq!((mode(&file), mode(&first), mode(&copies)), (0o644, 0o600, 0o700));
        // Nothing more stands beside the file.
        assert_eq!(fs_err::read_dir(folder.path()).unwrap().count(), 3);
        assert_eq!(replace(&file, Some("newer"), "old", Some(&copies)).unwrap(), None);
        assert!(!first.exists());
    }

    #[test]
    fn a_link_to_nothing_stays_one() {
        let folder = tempfile::tempdir().unwrap();
        let link = folder.path().join("link.json");
        fs_err::os::unix::fs::symlink("nowhere.json", &link).unwrap();
        for error in [
            replace(&link, None, "new", None).unwrap_err(),
            check_replaceable(&link).unwrap_err(),
        ] {
            assert!(error.to_string().contains("symbolic link"), "{error}");
        }
        assert!(fs_err::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs_err::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_file_that_may_not_be_written_is_known_before() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file.json");
        fs_err::write(&file, "old").unwrap();
        assert!(check_replaceable(&file).is_ok() && check_replaceable(&folder.path().join("a/b/c.json")).is_ok());
        assert!(check_replaceable(&file.join("below.json")).is_err());
        fs_err::set_permissions(&file, std::fs::Permissions::from_mode(0o444)).unwrap();
        let (real, dry) = (
            replace(&file, Some("old"), "new", None).unwrap_err(),
            check_replaceable(&file).unwrap_err(),
        );
        assert_eq!(real.to_string(), dry.to_string());
        // Nothing was left beside it.
        assert_eq!(fs_err::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn what_another_program_wrote_meanwhile_is_not_lost() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a/b.json");
        assert_eq!(replace(&file, None, "first", None).unwrap(), None);
        assert_eq!(mode(&file), 0o600);
        for old in [None, Some("older")] {
            let error = replace(&file, old, "second", Some(folder.path())).unwrap_err().to_string();
            assert!(error.contains("has changed meanwhile"), "{error}");
        }
        assert_eq!(fs_err::read_to_string(&file).unwrap(), "first");
        assert_eq!(fs_err::read_dir(folder.path()).unwrap().count(), 1);
        assert_eq!(fs_err::read_dir(folder.path().join("a")).unwrap().count(), 1);
    }
}
