//! The names of the log's files: the live one, `NAME.head`, and `NAME-DAY-NUMBER.EXTENSION` for each that is full, with the day
//! and the number of its first line.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// Digits of a line's number in a name, so that names in order are lines in order.
const DIGITS: usize = 12;

/// A file that is full.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Full {
    /// The number of its first line.
    pub(super) first: u64,
    /// Told apart where a log was begun anew.
    copy: u32,
    /// The day of its first line.
    pub(super) day: String,
    pub(super) path: PathBuf,
}

/// The head beside a live file.
pub(super) fn head(live: &Path) -> PathBuf {
    live.with_extension("head")
}

/// A name for a live file that is full, which no file has.
pub(super) fn full(live: &Path, day: &str, first: u64) -> PathBuf {
    let (stem, extension) = parts(live);
    let name = |copy: u32| {
        let more = if copy == 0 { String::new() } else { format!("-{copy}") };
        live.with_file_name(format!("{stem}-{day}-{first:0DIGITS$}{more}{extension}"))
    };
    (0..1000).map(name).find(|path| !path.exists()).unwrap_or_else(|| name(1000))
}

/// All files that are full, in the order of their lines.
///
/// # Errors
///
/// The system's.
pub(super) fn all_full(live: &Path) -> std::io::Result<Vec<Full>> {
    let directory = live.parent().filter(|directory| !directory.as_os_str().is_empty());
    let mut found = Vec::new();
    for entry in fs_err::read_dir(directory.unwrap_or(Path::new(".")))? {
        let path = entry?.path();
        found.extend(read_name(live, &path));
    }
    found.sort();
    Ok(found)
}

/// Whether a text looks like `2026-01-31`.
pub(super) fn is_day(text: &str) -> bool {
    text.len() == 10
        && text.bytes().enumerate().all(|(index, byte)| {
            if matches!(index, 4 | 7) {
                byte == b'-'
            } else {
                byte.is_ascii_digit()
            }
        })
}

fn read_name(live: &Path, path: &Path) -> Option<Full> {
    let (stem, extension) = parts(live);
    let name = path.file_name()?.to_str()?;
    let rest = name.strip_prefix(&stem)?.strip_prefix('-')?.strip_suffix(&extension)?;
    let (day, rest) = rest.split_at_checked(10)?;
    let numbers = rest.strip_prefix('-')?;
    let (first, copy) = numbers.split_once('-').unwrap_or((numbers, "0"));
    let is_ours = is_day(day) && first.len() >= DIGITS && first.bytes().all(|byte| byte.is_ascii_digit());
    Some(Full {
        first: first.parse().ok().filter(|_| is_ours)?,
        copy: copy.parse().ok()?,
        day: day.to_owned(),
        path: path.to_owned(),
    })
}

/// The name without its extension, and the extension with its dot.
fn parts(live: &Path) -> (String, String) {
    let text = |part: Option<&OsStr>| part.unwrap_or_default().to_string_lossy().into_owned();
    let extension = live.extension().map(|extension| format!(".{}", extension.to_string_lossy()));
    (text(live.file_stem()), extension.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_found_in_the_order_of_their_lines_and_others_are_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let live = folder.path().join("audit.jsonl");
        let mut expected = Vec::new();
        for (day, first) in [("2026-01-02", 9), ("2026-01-02", 9), ("2026-01-03", 10), ("2026-01-01", 1_000_000)] {
            let path = full(&live, day, first);
            fs_err::write(&path, "").unwrap();
            expected.push(path);
        }
        for other in [
            "audit.jsonl",
            "audit.head",
            "audit-x.jsonl",
            "audit-2026-01-02-1.jsonl",
            "audit-2026-01-02-000000000001.log",
        ] {
            fs_err::write(folder.path().join(other), "").unwrap();
        }
        let found: Vec<PathBuf> = all_full(&live).unwrap().into_iter().map(|file| file.path).collect();
        assert_eq!(found, expected);
        assert_eq!(head(&live), folder.path().join("audit.head"));
    }
}
