//! Finds the machine's Python: asks the configured one, which may be a script of a version manager, what it really is.

use std::io::Read as _;
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

/// A name without a slash is looked up in `PATH`.
fn look_up(python: &str, environment: &[(String, String)]) -> Option<PathBuf> {
    if python.contains('/') {
        return Some(PathBuf::from(python));
    }
    let path = environment
        .iter()
        .find(|(name, _)| name == "PATH")
        .map_or("/usr/local/bin:/usr/bin:/bin", |(_, value)| value);
    path.split(':')
        .map(|folder| Path::new(folder).join(python))
        .find(|file| file.is_absolute() && file.is_file())
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
    crate::frames::shortened(line.trim().to_owned(), 300)
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
