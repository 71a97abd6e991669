//! Rules of the code base that no compiler checks: the direction of dependencies, the size of files, their first lines.

#![cfg(test)]

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// What each crate may use of the others. Whatever is not here is forbidden.
const MAY_USE: [(&str, &[&str]); 7] = [
    (
        "mce",
        &["mce-broker", "mce-catalog", "mce-config", "mce-jail", "mce-sandbox", "mce-test"],
    ),
    ("mce-broker", &["mce-catalog", "mce-config", "mce-jail", "mce-test"]),
    ("mce-sandbox", &["mce-jail", "mce-test"]),
    ("mce-catalog", &[]),
    ("mce-config", &[]),
    ("mce-jail", &[]),
    ("mce-test", &[]),
];
/// Lines of a file without its tests.
const MAX_LINES: usize = 600;

fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

fn crates() -> BTreeMap<String, PathBuf> {
    let folders = std::fs::read_dir(workspace().join("crates"))
        .unwrap()
        .map(|entry| entry.unwrap().path());
    folders
        .map(|path| (path.file_name().unwrap().to_str().unwrap().to_owned(), path))
        .collect()
}

fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).into_iter().flatten() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|ending| ending == "rs") {
                found.push(path);
            }
        }
    }
    found
}

#[test]
fn dependencies_between_crates_point_downwards() {
    let allowed: BTreeMap<&str, BTreeSet<&str>> = MAY_USE.iter().map(|(name, uses)| (*name, uses.iter().copied().collect())).collect();
    for (name, folder) in crates() {
        let manifest = std::fs::read_to_string(folder.join("Cargo.toml")).unwrap();
        let used = manifest
            .lines()
            .filter(|line| line.starts_with("mce-"))
            .filter_map(|line| line.split(['.', ' ', '=']).next());
        for used in used {
            assert!(
                allowed.get(name.as_str()).is_some_and(|uses| uses.contains(used)),
                "`{name}` must not use `{used}`"
            );
        }
    }
}

#[test]
fn only_the_jail_may_be_unsafe() {
    for (name, folder) in crates().into_iter().filter(|(name, _)| name != "mce-jail") {
        for file in sources(&folder) {
            let text = std::fs::read_to_string(&file).unwrap();
            let code = text.lines().filter(|line| !line.trim_start().starts_with("//"));
            let lifted = ["allow", "expect"].map(|lint| format!("{lint}(unsafe{}", "_code"));
            let mut code = code.into_iter();
            assert!(
                !code.any(|line| lifted.iter().any(|lint| line.contains(lint))),
                "{name}: {}",
                file.display()
            );
        }
    }
}

#[test]
fn files_say_what_they_are_for_and_stay_small() {
    for folder in crates().into_values() {
        for file in sources(&folder.join("src")) {
            let text = std::fs::read_to_string(&file).unwrap();
            assert!(text.starts_with("//!"), "{} does not start with `//!`", file.display());
            let is_tests = file.file_stem().is_some_and(|stem| stem == "tests");
            let lines = text.split("#[cfg(test)]").next().unwrap_or_default().lines().count();
            assert!(
                is_tests || lines <= MAX_LINES,
                "{} has {lines} lines without its tests",
                file.display()
            );
        }
    }
}

/// The names of tests, of files with tests, and of programs of the red team.
fn test_names() -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for file in crates().into_values().flat_map(|folder| sources(&folder)) {
        let text = std::fs::read_to_string(&file).unwrap();
        let lines = text.lines().map(|line| line.trim_start().trim_start_matches("async "));
        let functions = lines.filter_map(|line| line.strip_prefix("fn ")?.split(['(', '<']).next());
        names.extend(functions.map(str::to_owned));
        names.insert(file.strip_prefix(workspace()).unwrap().display().to_string());
    }
    for folder in ["tests/redteam/python", "tests/redteam/typescript", "fuzz/fuzz_targets"] {
        let entries = std::fs::read_dir(workspace().join(folder)).unwrap();
        names.extend(entries.filter_map(|entry| Some(entry.unwrap().path().file_stem()?.to_str()?.to_owned())));
    }
    names
}

#[test]
fn what_the_table_of_threats_names_is_there() {
    let text = std::fs::read_to_string(workspace().join("SECURITY.md")).unwrap();
    let names = test_names();
    let is_there = |name: &str| match name.strip_suffix('*') {
        Some(start) => names.iter().any(|known| known.starts_with(start)),
        None if name.contains('/') => workspace().join(name).exists() || names.iter().any(|known| known.ends_with(&format!("/{name}"))),
        None => names.contains(name) || names.iter().any(|known| known.ends_with(&format!("/{name}"))),
    };
    let mut rows = 0;
    let mut columns = 0;
    for line in text.lines() {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        match cells.get(1) {
            Some(&("attempt" | "threat")) => columns = cells.len(),
            Some(first) if columns == cells.len() && !first.starts_with('-') => {
                let tests = cells[3..].iter().flat_map(|cell| cell.split('`').skip(1).step_by(2));
                let named: Vec<&str> = tests.filter(|word| !word.ends_with('/')).collect();
                let elsewhere = cells[3..].contains(&"the same");
                assert!(!named.is_empty() || elsewhere, "no test: {line}");
                for name in named {
                    assert!(is_there(name), "SECURITY.md: there is no `{name}`");
                }
                rows += 1;
            }
            Some(_) => {}
            None => columns = 0,
        }
    }
    assert!(rows > 30, "{rows}");
}
