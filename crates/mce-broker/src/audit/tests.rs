//! The log as its writer leaves it, and as others leave it.

use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use fs_err as fs;
use mce_config::{AuditArguments, AuditSettings, AuditSync};
use serde_json::json;
use tempfile::TempDir;

use super::log::Log;
use super::{AuditReader, AuditReport, files, verify_audit};

struct Folder {
    folder: TempDir,
    settings: AuditSettings,
}

impl Folder {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let settings = AuditSettings {
            file: folder.path().join("audit.jsonl"),
            arguments: AuditArguments::Names,
            max_bytes: 16 << 20,
            keep_days: 90,
            sync: AuditSync::Never,
        };
        Self { folder, settings }
    }

    /// A log with this many lines.
    fn with_lines(lines: u32) -> Self {
        let folder = Self::new();
        folder.write(lines);
        folder
    }

    fn live(&self) -> &Path {
        &self.settings.file
    }

    fn head(&self) -> PathBuf {
        files::head(self.live())
    }

    /// Adds lines, as a new process.
    fn write(&self, lines: u32) {
        let log = Log::open(&self.settings, self.folder.path()).unwrap();
        for number in 0..lines {
            log.append(&json!({"time": "2026-01-31T00:00:00.000Z", "event": "x", "number": number}))
                .unwrap();
        }
    }

    fn text(&self) -> String {
        fs::read_to_string(self.live()).unwrap()
    }

    /// Changes the lines of the live file.
    fn change(&self, change: impl FnOnce(&mut Vec<String>)) {
        let mut lines: Vec<String> = self.text().lines().map(str::to_owned).collect();
        change(&mut lines);
        fs::write(self.live(), lines.join("\n") + "\n").unwrap();
    }

    fn verify(&self) -> AuditReport {
        verify_audit(self.live(), self.folder.path()).unwrap()
    }

    /// The only fault: its line in the file, and what it is.
    fn fault(&self) -> (Option<u64>, String) {
        let faults = self.verify().faults;
        let [fault] = faults.as_slice() else { panic!("{faults:?}") };
        (fault.line, fault.what.clone())
    }

    /// What the log notes about itself.
    fn notes(&self) -> Vec<String> {
        let mut reader = AuditReader::open(self.live()).unwrap();
        let records = std::iter::from_fn(|| reader.next_record().unwrap());
        let notes = records.filter(|record| record["event"] == "log");
        notes.map(|record| record["what"].as_str().unwrap().to_owned()).collect()
    }

    fn set_day_of_live_file(&self, day: &str) {
        let head = fs::read_to_string(self.head()).unwrap();
        let today = head.split_whitespace().nth(4).unwrap().to_owned();
        fs::write(self.head(), head.replace(&today, day)).unwrap();
    }
}

#[test]
fn lines_are_numbered_and_nobody_else_can_read_them() {
    let folder = Folder::with_lines(3);
    folder.write(2);
    let report = folder.verify();
    assert_eq!((report.lines, report.first, report.last, report.faults.len()), (5, 1, 5, 0));
    for file in [folder.live(), &folder.head()] {
        assert_eq!(fs::metadata(file).unwrap().permissions().mode() & 0o777, 0o600);
    }
    assert_eq!(
        verify_audit(&folder.folder.path().join("none.jsonl"), folder.folder.path())
            .unwrap()
            .lines,
        0
    );
}

#[test]
fn every_change_by_somebody_else_is_found_at_its_place() {
    let check = |change: fn(&mut Vec<String>), line: Option<u64>, what: &str| {
        let folder = Folder::with_lines(6);
        folder.change(change);
        let (found_line, found) = folder.fault();
        assert_eq!(found_line, line, "{found}");
        assert!(found.contains(what), "{found}");
        // What is written afterwards does not hide it.
        folder.write(1);
        assert!(!folder.verify().faults.is_empty(), "{what}");
    };
    check(
        |lines| lines[2] = lines[2].replace("\"number\":2", "\"number\":9"),
        Some(3),
        "line 3 of the log was changed",
    );
    check(
        |lines| lines[0] = lines[0].replace("\"number\":0", "\"number\":9"),
        Some(1),
        "line 1 of the log was changed",
    );
    check(
        |lines| lines[5] = lines[5].replace("\"number\":5", "\"number\":9"),
        None,
        "line 6 of the log, the last one, was changed",
    );
    check(|lines| drop(lines.remove(2)), Some(3), "lines 3 to 3 of the log are missing");
    check(|lines| drop(lines.drain(..2)), None, "lines 1 to 2 of the log are missing");
    check(|lines| lines.truncate(4), None, "lines 5 to 6 of the log are missing");
    check(
        |lines| lines.insert(3, "{\"event\":\"x\"}".to_owned()),
        Some(4),
        "no line of this log",
    );
    check(|lines| lines.insert(3, "torn".to_owned()), Some(4), "no line of this log");
}

#[test]
fn lines_in_another_order_are_found() {
    let folder = Folder::with_lines(6);
    folder.change(|lines| lines.swap(2, 3));
    assert!(!folder.verify().faults.is_empty());
    let folder = Folder::with_lines(6);
    folder.change(|lines| lines.insert(4, lines[2].clone()));
    assert!(!folder.verify().faults.is_empty());
}

#[test]
fn a_line_that_was_not_written_whole_is_ended_and_is_no_fault() {
    let folder = Folder::with_lines(3);
    let mut file = fs::OpenOptions::new().append(true).open(folder.live()).unwrap();
    file.write_all(b"{\"seq\":4,\"prev\":\"00").unwrap();
    let report = folder.verify();
    assert_eq!((report.torn, report.lines, report.faults.len()), (1, 3, 0));
    folder.write(2);
    let report = folder.verify();
    assert_eq!((report.torn, report.lines, report.last), (1, 6, 6), "{report:?}");
    assert_eq!(report.faults, []);
    assert_eq!(folder.notes(), ["torn"]);
    // A line cannot be made to look torn.
    folder.change(|lines| lines[1] = "{\"seq\":2,\"prev\":\"00".to_owned());
    assert!(!folder.verify().faults.is_empty());
}

#[test]
fn lines_behind_the_head_are_taken_in() {
    let folder = Folder::with_lines(2);
    let head = fs::read(folder.head()).unwrap();
    folder.write(2);
    // Killed after the line, before the head.
    fs::write(folder.head(), head).unwrap();
    assert_eq!(folder.verify().faults, []);
    folder.write(1);
    let report = folder.verify();
    assert_eq!((report.last, report.faults.len()), (5, 0), "{report:?}");
    assert!(folder.notes().is_empty());
}

#[test]
fn a_log_without_its_head_goes_on_and_says_so() {
    for damage in [None, Some("nonsense"), Some("")] {
        let folder = Folder::with_lines(3);
        match damage {
            None => fs::remove_file(folder.head()).unwrap(),
            Some(text) => fs::write(folder.head(), text).unwrap(),
        }
        assert!(folder.fault().1.contains("missing or damaged"));
        folder.write(1);
        assert_eq!((folder.verify().last, folder.notes()), (5, vec!["no_head".to_owned()]));
        // Nobody knows any more how long it was.
        let (line, what) = folder.fault();
        assert!(line == Some(4) && what.contains("may have been cut off"), "{line:?} {what}");
    }
}

#[test]
fn a_file_that_others_move_or_cut_is_noticed_while_it_is_open() {
    let check = |damage: fn(&Folder), missing: &str| {
        let folder = Folder::new();
        let log = Log::open(&folder.settings, folder.folder.path()).unwrap();
        let write = || log.append(&json!({"time": "t", "event": "x"})).map(drop).unwrap();
        (0..3).for_each(|_| write());
        damage(&folder);
        (0..3).for_each(|_| write());
        assert_eq!(folder.notes(), ["missing"]);
        let (_, what) = folder.fault();
        assert!(what.contains(missing), "{what}");
    };
    check(
        |folder| fs::rename(folder.live(), folder.folder.path().join("audit.jsonl.1")).unwrap(),
        "lines 1 to 3",
    );
    check(|folder| fs::remove_file(folder.live()).unwrap(), "lines 1 to 3");
    check(|folder| fs::write(folder.live(), "").unwrap(), "lines 1 to 3");
    check(|folder| folder.change(|lines| lines.truncate(1)), "lines 2 to 3");
}

#[test]
fn full_files_are_put_aside_and_the_chain_goes_on() {
    let mut folder = Folder::new();
    folder.settings.max_bytes = 1000;
    folder.write(30);
    folder.write(30);
    let full = files::all_full(folder.live()).unwrap();
    assert!(full.len() > 5, "{full:?}");
    let report = folder.verify();
    assert_eq!(
        (report.lines, report.faults.len(), report.files),
        (60, 0, full.len() + 1),
        "{report:?}"
    );
    fs::remove_file(&full[2].path).unwrap();
    assert!(folder.fault().1.contains("are missing before it"));
}

#[test]
fn a_new_file_is_begun_each_day_and_old_ones_are_forgotten() {
    let folder = Folder::with_lines(3);
    folder.set_day_of_live_file("2026-01-31");
    folder.write(1);
    assert!(
        !folder.folder.path().join("audit-2026-01-31-000000000001.jsonl").exists(),
        "older than 90 days"
    );
    let report = folder.verify();
    assert_eq!((report.first, report.last, report.faults.len()), (4, 5, 0), "{report:?}");
    assert_eq!(folder.notes(), ["forgotten"]);

    let mut folder = Folder::with_lines(3);
    folder.settings.keep_days = 36_500;
    folder.set_day_of_live_file("2026-01-31");
    folder.write(1);
    assert!(folder.folder.path().join("audit-2026-01-31-000000000001.jsonl").exists());
    let report = folder.verify();
    assert_eq!((report.first, report.last, report.faults.len()), (1, 4, 0), "{report:?}");
}

#[test]
fn a_process_that_is_killed_while_it_begins_a_file_leaves_a_good_log() {
    let folder = Folder::with_lines(3);
    let head = fs::read_to_string(folder.head()).unwrap();
    let day = head.split_whitespace().nth(4).unwrap();
    fs::rename(folder.live(), files::full(folder.live(), day, 1)).unwrap();
    folder.write(1);
    let report = folder.verify();
    assert_eq!((report.lines, report.faults.len()), (4, 0), "{report:?}");
    assert!(folder.notes().is_empty());
}

#[test]
fn lines_from_before_there_was_a_chain_are_kept() {
    let folder = Folder::new();
    fs::write(folder.live(), "{\"event\":\"intent\"}\n{\"event\":\"outcome\"}\n").unwrap();
    folder.write(2);
    let report = folder.verify();
    assert_eq!((report.unchained, report.lines, report.faults.len()), (2, 2, 0), "{report:?}");
    folder.change(|lines| drop(lines.remove(1)));
    assert!(!folder.verify().faults.is_empty());
}

#[test]
fn many_writers_make_one_chain() {
    let mut folder = Folder::new();
    folder.settings.max_bytes = 20_000;
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| folder.write(200));
        }
    });
    let report = folder.verify();
    assert_eq!((report.lines, report.last, report.faults.len()), (800, 800, 0), "{report:?}");
    let mut reader = AuditReader::open(folder.live()).unwrap();
    let mut read = 0;
    while let Some(record) = reader.next_record().unwrap() {
        read += 1;
        assert_eq!(record["seq"], json!(read));
    }
    assert_eq!(read, 800);
}

#[test]
fn a_reader_follows_the_log_into_a_new_file() {
    let mut folder = Folder::with_lines(2);
    let mut reader = AuditReader::open(folder.live()).unwrap();
    let mut read = || std::iter::from_fn(|| reader.next_record().unwrap()).count();
    assert_eq!((read(), read()), (2, 0));
    folder.write(1);
    folder.settings.max_bytes = 10;
    folder.write(1);
    assert_eq!(read(), 2);
}
