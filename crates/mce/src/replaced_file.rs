//! A file of another program gets another text: as a whole or not at all, with its mode and owner, through symbolic links.

use std::fs::Metadata;
use std::io::{self, Write as _};
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{Gid, Uid};

/// What the copy of the file as it was before ends with.
const BACKUP: &str = ".before-mce";

/// Writes `new`, unless the file holds something else than `old` by now. Gives where the text of before is kept, if there was any.
///
/// A symbolic link stays one; a file that is made belongs to its owner alone.
///
/// # Errors
///
/// If the file has changed meanwhile, or cannot be written.
pub(crate) fn replace(file: &Path, old: Option<&str>, new: &str) -> io::Result<Option<PathBuf>> {
    let target = fs_err::canonicalize(file).unwrap_or_else(|_| file.to_owned());
    let folder = target.parent().ok_or_else(|| io::Error::other("the file has no folder"))?;
    fs_err::create_dir_all(folder)?;
    let mut written = tempfile::NamedTempFile::new_in(folder)?;
    written.write_all(new.as_bytes())?;
    let mut backup = None;
    if let Some(old) = old {
        let metadata = fs_err::metadata(&target)?;
        if metadata.permissions().readonly() {
            return Err(io::Error::from(io::ErrorKind::PermissionDenied));
        }
        let mut name = target.clone().into_os_string();
        name.push(BACKUP);
        let copy = PathBuf::from(name);
        let mut kept = tempfile::NamedTempFile::new_in(folder)?;
        kept.write_all(old.as_bytes())?;
        for file in [&written, &kept] {
            file.as_file().set_permissions(metadata.permissions())?;
            keep_owner(file.as_file(), &metadata)?;
        }
        // Clients write their files whenever they want.
        if fs_err::read(&target)? != old.as_bytes() {
            return Err(io::Error::other("it has changed meanwhile"));
        }
        kept.persist(&copy).map_err(|error| error.error)?;
        backup = Some(copy);
    } else if target.exists() {
        return Err(io::Error::other("it has changed meanwhile"));
    }
    written.as_file().sync_all()?;
    written.persist(&target).map_err(|error| error.error)?;
    Ok(backup)
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

    #[test]
    fn mode_and_links_stay_and_the_text_of_before_is_kept() {
        let folder = tempfile::tempdir().unwrap();
        let (file, link) = (folder.path().join("real.json"), folder.path().join("link.json"));
        fs_err::write(&file, "old").unwrap();
        fs_err::set_permissions(&file, std::fs::Permissions::from_mode(0o640)).unwrap();
        fs_err::os::unix::fs::symlink(&file, &link).unwrap();
        let backup = replace(&link, Some("old"), "new").unwrap().unwrap();
        assert!(fs_err::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs_err::read_to_string(&file).unwrap(), "new");
        assert_eq!(fs_err::read_to_string(&backup).unwrap(), "old");
        for file in [&file, &backup] {
            assert_eq!(fs_err::metadata(file).unwrap().permissions().mode() & 0o777, 0o640);
        }
        assert_eq!(fs_err::read_dir(folder.path()).unwrap().count(), 3);
    }

    #[test]
    fn what_another_program_wrote_meanwhile_is_not_lost() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a/b.json");
        assert_eq!(replace(&file, None, "first").unwrap(), None);
        assert_eq!(fs_err::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
        for old in [None, Some("older")] {
            replace(&file, old, "second").unwrap_err();
        }
        assert_eq!(fs_err::read_to_string(&file).unwrap(), "first");
        assert_eq!(fs_err::read_dir(folder.path().join("a")).unwrap().count(), 1);
    }
}
