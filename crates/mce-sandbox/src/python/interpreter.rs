//! Finds the machine's Python: asks the configured one, which may be a script of a version manager, what it really is.

use std::io::Read as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use serde::Deserialize;

use crate::{EngineError, PythonFacts};

/// The oldest version that the guest runs on.
const OLDEST: (u32, u32) = (3, 10);

/// How long the interpreter may take to answer.
const PATIENCE: Duration = Duration::from_secs(20);

/// More than any answer has.
const ANSWER_BYTES: u64 = 1 << 20;

const PROBE: &str = include_str!("../../guest/python/probe.py");

/// What a jail must contain for this interpreter to start.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Interpreter {
    version: (u32, u32, u32),
    /// The real executable, no link.
    pub(crate) executable: PathBuf,
    /// Folders of the standard library.
    pub(crate) standard: Vec<PathBuf>,
    /// Folders of installed packages.
    pub(crate) site: Vec<PathBuf>,
    /// Shared libraries in use.
    pub(crate) shared: Vec<PathBuf>,
    /// Debian's name for the architecture, such as `x86_64-linux-gnu`; empty elsewhere.
    pub(crate) multiarch: String,
    /// Data libraries, with their versions.
    pub(crate) libraries: Vec<(String, String)>,
}

impl Interpreter {
    /// The first of these, or of those with this name in `PATH`, that can be used. `is_open` says whether a file can be
    /// read in the jail; where it cannot, the next one of the name is taken.
    ///
    /// # Errors
    ///
    /// [`EngineError::Interpreter`] with the reason of the first.
    pub(crate) fn choose(
        python: &str,
        environment: &[(String, String)],
        folders: &[PathBuf],
        is_open: impl Fn(&Path) -> bool,
    ) -> Result<Self, EngineError> {
        let first = Self::find(python, environment, folders)?;
        let Some(closed) = first.closed(&is_open) else { return Ok(first) };
        let reason = format!(
            "the jail has no namespaces here, so that programs run as `nobody`, who cannot read `{}`",
            closed.display()
        );
        let others = all_in_path(python, environment).into_iter().skip(1);
        let mut usable = others.filter_map(|other| Self::find(&other.to_string_lossy(), environment, folders).ok());
        match usable.find(|other| other.closed(&is_open).is_none()) {
            Some(other) => {
                tracing::warn!(target: "mce_sandbox", %reason, taken = %other.executable.display(), "another python is taken");
                Ok(other)
            }
            None => Err(EngineError::Interpreter {
                python: python.to_owned(),
                reason,
            }),
        }
    }

    /// What it cannot start without and cannot be read.
    fn closed(&self, is_open: impl Fn(&Path) -> bool) -> Option<&Path> {
        let needed = std::iter::once(&self.executable).chain(&self.standard);
        needed
            .map(PathBuf::as_path)
            .filter(|path| path.exists())
            .find(|path| !is_open(path))
    }

    /// Asks the interpreter, which also looks into these folders for packages. Blocks until it answers, at most 20 s.
    ///
    /// # Errors
    ///
    /// [`EngineError::Interpreter`] if it is missing, does not answer, is too old, or has no `ctypes`.
    pub(crate) fn find(python: &str, environment: &[(String, String)], folders: &[PathBuf]) -> Result<Self, EngineError> {
        let refuse = |reason: String| EngineError::Interpreter {
            python: python.to_owned(),
            reason,
        };
        let program = look_up(python, environment).ok_or_else(|| refuse("there is no such program in PATH".to_owned()))?;
        let mut command = mce_jail::command(&program, Path::new("/"));
        command
            .args(["-I", "-B", "-c", PROBE])
            .args(folders)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command.envs(environment.iter().map(|(name, value)| (name, value)));
        let child = mce_jail::with_lasting_parent(move || command.spawn()).and_then(|spawned| spawned);
        let (output, errors) = child.and_then(answer_of).map_err(|error| refuse(error.to_string()))?;
        let found: Self = serde_json::from_str(&output).map_err(|_| refuse(last_line(&errors)))?;
        let (major, minor, _) = found.version;
        if (major, minor) < OLDEST {
            return Err(refuse(format!(
                "it is version {major}.{minor}, older than {}.{}",
                OLDEST.0, OLDEST.1
            )));
        }
        Ok(found)
    }

    /// For `doctor`.
    pub(crate) fn facts(&self) -> PythonFacts {
        let (major, minor, patch) = self.version;
        PythonFacts {
            executable: self.executable.clone(),
            version: format!("{major}.{minor}.{patch}"),
            libraries: self.libraries.clone(),
        }
    }
}

/// Everybody may read this file or folder, and may enter all folders above it.
pub(crate) fn is_open_to_all(path: &Path) -> bool {
    let has = |path: &Path, bits: u32| fs_err::metadata(path).is_ok_and(|status| status.permissions().mode() & bits == bits);
    let own = if path.is_dir() { 0o005 } else { 0o004 };
    has(path, own) && path.ancestors().skip(1).all(|folder| has(folder, 0o001))
}

/// A name without a slash is looked up in `PATH`.
fn look_up(python: &str, environment: &[(String, String)]) -> Option<PathBuf> {
    if python.contains('/') {
        return Some(PathBuf::from(python));
    }
    all_in_path(python, environment).into_iter().next()
}

/// All programs of a name, best first; none for a path.
fn all_in_path(python: &str, environment: &[(String, String)]) -> Vec<PathBuf> {
    if python.contains('/') {
        return Vec::new();
    }
    let path = environment
        .iter()
        .find(|(name, _)| name == "PATH")
        .map_or("/usr/local/bin:/usr/bin:/bin", |(_, value)| value);
    path.split(':')
        .map(|folder| Path::new(folder).join(python))
        .filter(|file| file.is_absolute() && file.is_file())
        .collect()
}

/// What it wrote to both streams. A child that takes too long is killed.
fn answer_of(mut child: Child) -> std::io::Result<(String, String)> {
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    let output = std::thread::spawn(move || stdout.map_or_else(String::new, read));
    let errors = std::thread::spawn(move || stderr.map_or_else(String::new, read));
    let deadline = Instant::now() + PATIENCE;
    while child.try_wait()?.is_none() {
        if Instant::now() > deadline {
            child.kill()?;
            child.wait()?;
            return Err(std::io::Error::other("it gave no answer within 20 s"));
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    Ok((output.join().unwrap_or_default(), errors.join().unwrap_or_default()))
}

fn read(stream: impl std::io::Read) -> String {
    let mut bytes = Vec::new();
    // A stream that breaks off shows in an answer that is no JSON.
    let _ = stream.take(ANSWER_BYTES).read_to_end(&mut bytes);
    String::from_utf8_lossy(&bytes).into_owned()
}

fn last_line(text: &str) -> String {
    let line = text
        .lines()
        .rev()
        .find(|line| !line.trim().is_empty())
        .unwrap_or("it gave no answer");
    crate::program::shortened(line.trim().to_owned(), 300)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment() -> Vec<(String, String)> {
        vec![("PATH".to_owned(), "/usr/local/bin:/usr/bin:/bin".to_owned())]
    }

    #[test]
    fn the_machines_python_is_found_and_says_what_it_needs() {
        let found = Interpreter::find("python3", &environment(), &[]).unwrap();
        assert!(found.executable.is_absolute());
        assert!(found.standard[0].join("os.py").is_file());
    }

    #[test]
    fn where_the_first_cannot_be_read_the_next_is_taken() {
        let folder = tempfile::tempdir().unwrap();
        fs_err::os::unix::fs::symlink("/usr/bin/python3", folder.path().join("python3")).unwrap();
        let path = format!("{}:/usr/bin:/bin", folder.path().display());
        let environment = [("PATH".to_owned(), path)];
        let real = Interpreter::find("/usr/bin/python3", &environment, &[]).unwrap().executable;
        let found = Interpreter::choose("python3", &environment, &[], is_open_to_all).unwrap();
        assert_eq!(found.executable, real);
        // Nothing is open: the reason names what is closed.
        for python in ["python3", "/usr/bin/python3"] {
            let error = Interpreter::choose(python, &environment, &[], |_| false).unwrap_err().to_string();
            assert!(error.ends_with(&format!("who cannot read `{}`", real.display())), "{error}");
        }
        // The first asked is refused, a later one of the name is not.
        let asked = std::cell::Cell::new(0);
        let is_open = |_: &Path| asked.replace(asked.get() + 1) > 0;
        assert_eq!(Interpreter::choose("python3", &environment, &[], is_open).unwrap().executable, real);
    }

    #[test]
    fn what_root_keeps_to_itself_is_not_open_to_all() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        fs_err::write(&file, "").unwrap();
        let set = |path: &Path, mode| fs_err::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
        for (folder_mode, file_mode, expected) in [
            (0o755, 0o644, true),
            (0o711, 0o644, true),
            (0o700, 0o644, false),
            (0o755, 0o640, false),
        ] {
            set(folder.path(), folder_mode);
            set(&file, file_mode);
            assert_eq!(is_open_to_all(&file), expected, "{folder_mode:o} {file_mode:o}");
        }
        set(folder.path(), 0o711);
        assert!(!is_open_to_all(folder.path()), "it cannot be listed");
        assert!(!is_open_to_all(Path::new("/no/such/file")));
    }

    #[test]
    fn what_is_no_python_is_refused_with_a_reason() {
        let folder = tempfile::tempdir().unwrap();
        let old = folder.path().join("old");
        fs_err::write(&old, "#!/bin/sh\necho '{\"version\":[3,9,1],\"executable\":\"/x\",\"standard\":[],\"site\":[],\"shared\":[],\"multiarch\":\"\",\"libraries\":[]}'\n").unwrap();
        fs_err::set_permissions(&old, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        for (python, reason) in [
            ("no-such-python", "there is no such program in PATH"),
            ("/bin/false", "it gave no answer"),
            (old.to_str().unwrap(), "it is version 3.9, older than 3.10"),
        ] {
            let EngineError::Interpreter { reason: found, .. } = Interpreter::find(python, &environment(), &[]).unwrap_err() else {
                panic!("another error")
            };
            assert_eq!(found, reason);
        }
    }
}
