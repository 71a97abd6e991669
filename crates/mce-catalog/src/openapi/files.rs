//! The files of a document: which may be read, each read once and kept until the end.

use std::cell::{Cell, OnceCell, RefCell};
use std::collections::BTreeMap;

use percent_encoding::percent_decode_str;
use serde_json::Value;
use url::Url;

use super::parse::parse;
use super::{FurtherFile, Load, Origin, Problem, prose};
use crate::digest::sha256_hex;

/// Files that one document may consist of; the largest known one has about 1,500.
const MAX_FILES: usize = 5_000;
/// Bytes of all further files together.
const MAX_FURTHER_BYTES: usize = 256 * 1024 * 1024;

/// One file of a document.
#[derive(Debug)]
pub(super) struct File {
    /// Unique among the files of a document; 0 is the main one.
    pub(super) index: usize,
    /// The name in messages and of the file in [`Files`]: relative to the main document's directory; empty for the main
    /// document.
    pub(super) name: String,
    /// Where further references start from.
    origin: Origin,
    /// Its content.
    pub(super) value: Value,
}

/// Files in the order of reading. A list of cells, so that a file once read stays where it is while others are added.
#[derive(Debug, Default)]
pub(super) struct Shelf {
    first: OnceCell<Box<Place>>,
}

#[derive(Debug)]
struct Place {
    file: File,
    next: OnceCell<Box<Self>>,
}

impl Drop for Shelf {
    /// One by one, since thousands of nested boxes would overflow the stack.
    fn drop(&mut self) {
        let mut next = self.first.take();
        while let Some(mut place) = next {
            next = place.next.take();
        }
    }
}

/// Finds and reads files.
pub(super) struct Files<'a> {
    load: &'a dyn Load,
    root: Origin,
    end: Cell<&'a OnceCell<Box<Place>>>,
    by_name: RefCell<BTreeMap<String, Result<&'a File, String>>>,
    read: RefCell<Vec<FurtherFile>>,
    problems: RefCell<Vec<Problem>>,
    bytes_left: Cell<usize>,
}

impl<'a> Files<'a> {
    /// Starts with the main document.
    pub(super) fn new(shelf: &'a Shelf, value: Value, origin: &Origin, load: &'a dyn Load) -> (Self, &'a File) {
        let files = Self {
            load,
            root: origin.clone(),
            end: Cell::new(&shelf.first),
            by_name: RefCell::default(),
            read: RefCell::default(),
            problems: RefCell::default(),
            bytes_left: Cell::new(MAX_FURTHER_BYTES),
        };
        let main = files.keep(File {
            index: 0,
            name: String::new(),
            origin: origin.clone(),
            value,
        });
        (files, main)
    }

    /// The file that `reference`, a relative reference without fragment, means in `base`.
    ///
    /// # Errors
    ///
    /// Why it is not read, without any content.
    pub(super) fn find(&self, base: &'a File, reference: &str) -> Result<&'a File, String> {
        if reference.is_empty() {
            return Ok(base);
        }
        let origin = self.resolve(&base.origin, reference)?;
        if origin == self.root {
            return self.by_name.borrow().get("").cloned().unwrap_or(Ok(base));
        }
        let name = self.name(&origin);
        if let Some(known) = self.by_name.borrow().get(&name) {
            return known.clone();
        }
        let file = self.read(&name, origin);
        self.by_name.borrow_mut().insert(name, file.clone());
        file
    }

    /// What was read besides the main document, and what was wrong in it.
    pub(super) fn into_read(self) -> (Vec<FurtherFile>, Vec<Problem>) {
        (self.read.into_inner(), self.problems.into_inner())
    }

    fn read(&self, name: &str, origin: Origin) -> Result<&'a File, String> {
        let index = self.read.borrow().len() + 1;
        if index > MAX_FILES {
            return Err(format!("the document consists of more than {MAX_FILES} files"));
        }
        let bytes = self.load.load(&origin).map_err(|error| format!("it cannot be read: {error}"))?;
        let left = self.bytes_left.get().checked_sub(bytes.len());
        self.bytes_left.set(left.ok_or("the files of the document are too large together")?);
        self.read.borrow_mut().push(FurtherFile {
            origin: origin.clone(),
            sha256: sha256_hex(&bytes),
        });
        // A parser's message may quote the content, which need not be meant for the reader: only the place is told.
        let (value, problems) = parse(&bytes).map_err(|error| match error {
            super::CompileError::Syntax { format, line, column, .. } => format!("it is not valid {format} (line {line}, column {column})"),
            other => other.to_string(),
        })?;
        let problems = problems.into_iter().map(|problem| Problem {
            pointer: format!("{name}#{}", problem.pointer),
            ..problem
        });
        self.problems.borrow_mut().extend(problems);
        Ok(self.keep(File {
            index,
            name: name.to_owned(),
            origin,
            value,
        }))
    }

    fn keep(&self, file: File) -> &'a File {
        let name = file.name.clone();
        let place = self.end.get().get_or_init(|| {
            Box::new(Place {
                file,
                next: OnceCell::new(),
            })
        });
        self.end.set(&place.next);
        self.by_name.borrow_mut().insert(name, Ok(&place.file));
        &place.file
    }

    /// Decides whether a reference may be followed; the only place that does.
    fn resolve(&self, base: &Origin, reference: &str) -> Result<Origin, String> {
        match (base, &self.root) {
            (Origin::File(base), Origin::File(root)) => {
                let directory = root.parent().ok_or("the document has no directory")?;
                let inside = base
                    .parent()
                    .and_then(|base| base.strip_prefix(directory).ok())
                    .ok_or("it leaves the document's directory")?;
                let mut segments: Vec<String> = inside.iter().map(|segment| segment.to_string_lossy().into_owned()).collect();
                follow_path(&mut segments, reference)?;
                Ok(Origin::File(
                    segments.iter().fold(directory.to_path_buf(), |path, segment| path.join(segment)),
                ))
            }
            (Origin::Url(base), Origin::Url(root)) => follow_url(base, root, reference).map(Origin::Url),
            _ => Err("it leaves the document's place".to_owned()),
        }
    }

    fn name(&self, origin: &Origin) -> String {
        match (origin, &self.root) {
            (Origin::File(path), Origin::File(root)) => {
                let inside = root
                    .parent()
                    .and_then(|directory| path.strip_prefix(directory).ok())
                    .unwrap_or(path);
                inside.to_string_lossy().into_owned()
            }
            (Origin::File(path), Origin::Url(_)) => path.to_string_lossy().into_owned(),
            (Origin::Url(url), Origin::Url(root)) => {
                let inside = root.join(".").ok().and_then(|directory| directory.make_relative(url));
                inside.unwrap_or_else(|| url.path().to_owned())
            }
            (Origin::Url(url), Origin::File(_)) => url.path().to_owned(),
        }
    }
}

/// Follows a relative reference by names alone, never above the directory in which it starts at level 0.
fn follow_path(segments: &mut Vec<String>, reference: &str) -> Result<(), String> {
    if has_scheme(reference) {
        return Err("only files of the document's own directory are read, no URLs".to_owned());
    }
    let path = percent_decode_str(reference)
        .decode_utf8()
        .map_err(|_| "its escapes are no UTF-8".to_owned())?;
    if path.starts_with('/') || path.contains(['\\', '\0']) {
        return Err("only relative references inside the document's directory are followed".to_owned());
    }
    for segment in path.split('/') {
        match segment {
            "" | "." => {}
            ".." => {
                segments.pop().ok_or("it leaves the document's directory")?;
            }
            name => segments.push(name.to_owned()),
        }
    }
    if segments.is_empty() {
        Err("it names a directory".to_owned())
    } else {
        Ok(())
    }
}

/// Follows a reference to the same origin, not above the directory of the main document.
fn follow_url(base: &Url, root: &Url, reference: &str) -> Result<Url, String> {
    let url = base.join(reference).map_err(|error| format!("it is no URL: {error}"))?;
    if url.origin() != root.origin() || !matches!(url.scheme(), "http" | "https") {
        return Err("only references to the document's own host are followed".to_owned());
    }
    let directory = root
        .join(".")
        .map_err(|error| format!("the document's URL has no directory: {error}"))?;
    let path = url.path().to_ascii_lowercase();
    // An escaped separator could be undone by the host, and lead out of the directory.
    if path.contains("%2f") || path.contains("%5c") || !url.path().starts_with(directory.path()) {
        return Err("it leaves the document's directory".to_owned());
    }
    if url.username() != root.username() || url.password() != root.password() {
        return Err("it has credentials of its own".to_owned());
    }
    Ok(url)
}

/// Whether a reference starts with a scheme such as `http:`. A letter alone is a drive of Windows; it is refused as well.
fn has_scheme(reference: &str) -> bool {
    let Some((scheme, _)) = reference.split_once(':') else {
        return false;
    };
    scheme.starts_with(|c: char| c.is_ascii_alphabetic()) && scheme.bytes().all(|b| b.is_ascii_alphanumeric() || b"+.-".contains(&b))
}

/// A message about a reference that is not followed.
pub(super) fn refusal(reference: &str, reason: &str) -> String {
    format!("the reference `{}` is not followed: {reason}", prose::quote(reference))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(start: &[&str], reference: &str) -> Result<String, String> {
        let mut segments = start.iter().map(|segment| (*segment).to_owned()).collect();
        follow_path(&mut segments, reference).map(|()| segments.join("/"))
    }

    #[test]
    fn references_stay_below_the_directory_of_the_document() {
        assert_eq!(path(&["paths"], "../schemas/pet.json").unwrap(), "schemas/pet.json");
        assert_eq!(path(&[], "./a%20b.yaml").unwrap(), "a b.yaml");
        for bad in [
            "../x",
            "sub/../../x",
            "/etc/passwd",
            "file:///etc/passwd",
            "%2e%2e/x",
            "%2Fetc",
            "..\\x",
            "a%00b",
            "http://h/x",
            "C:x",
            ".",
        ] {
            assert!(path(&[], bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn references_stay_on_the_host_of_the_document() {
        let root = Url::parse("https://h.example/api/v1/openapi.yaml").unwrap();
        let follow = |reference: &str| follow_url(&root, &root, reference).map(|url| url.to_string());
        assert_eq!(follow("schemas/pet.yaml").unwrap(), "https://h.example/api/v1/schemas/pet.yaml");
        for bad in [
            "../other.yaml",
            "/other.yaml",
            "//evil.example/api/v1/x",
            "http://h.example/api/v1/x",
            "https://h.example:8443/api/v1/x",
            "%2e%2e/x",
            "..%2fx",
            "https://a:b@h.example/api/v1/x",
            "file:///etc/passwd",
        ] {
            assert!(follow(bad).is_err(), "{bad}");
        }
    }
}
