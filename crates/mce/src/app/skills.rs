//! Guides to servers, written by people: local files are read when asked for, remote ones are copies made at compile time.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use mce_config::{Location, ServerSettings, Settings};
use serde::Serialize;
use serde_json::{Value, json};

use super::write_whole;
use crate::failure::Failure;

/// Characters of one guide that instructions carry; clients cut instructions at about two thousand.
const INSTRUCTION_CHARS: usize = 2_000;
/// Characters of all guides together that instructions carry.
const ALL_INSTRUCTION_CHARS: usize = 8_000;
/// Bytes of a guide. A larger one is refused.
const GUIDE_BYTES: usize = 256 << 10;

/// The guides of all servers.
#[derive(Debug)]
pub(crate) struct Skills {
    /// Server name and the file to read.
    guides: Vec<(String, PathBuf)>,
    servers: Vec<String>,
}

impl Skills {
    pub(crate) fn new(settings: &Settings) -> Self {
        let file = |server: &ServerSettings| Some((server.name.clone(), file_of(&settings.data_dir, server)?));
        Self {
            guides: settings.servers.iter().filter_map(file).collect(),
            servers: settings.servers.iter().map(|server| server.name.clone()).collect(),
        }
    }

    /// Servers that have a guide.
    pub(crate) fn servers(&self) -> impl Iterator<Item = &str> {
        self.guides.iter().map(|(server, _)| server.as_str())
    }

    /// A guide's text, as it is now.
    pub(crate) fn read(&self, server: &str) -> Option<String> {
        let (_, file) = self.guides.iter().find(|(name, _)| name == server)?;
        let bytes = fs_err::read(file).ok().filter(|bytes| bytes.len() <= GUIDE_BYTES)?;
        Some(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// The answer of `list_skills`.
    pub(crate) fn list(&self) -> Value {
        let entry = |server: &String| json!({"server": server, "has_skills": self.servers().any(|guided| guided == server)});
        json!({"skills": self.servers.iter().map(entry).collect::<Vec<_>>()})
    }

    /// The answer of `get_server_skills`.
    ///
    /// # Errors
    ///
    /// A failure of type `argument` if there is no such guide.
    pub(crate) fn get(&self, server: &str) -> Result<Value, Failure> {
        let guide = self.read(server).ok_or_else(|| {
            let known: Vec<_> = self.servers().map(|name| format!("`{name}`")).collect();
            let hint = if known.is_empty() {
                "no server has a guide".to_owned()
            } else {
                format!("these have one: {}", known.join(", "))
            };
            Failure::argument(format!("there is no guide to the server `{server}`")).with_hint(hint)
        })?;
        Ok(json!({"server": server, "skills": guide}))
    }

    /// The section of the server's instructions, bounded; the rest of a long guide is a resource.
    pub(crate) fn instructions(&self) -> Option<String> {
        let mut text = String::from("## Server Skills");
        let mut left = ALL_INSTRUCTION_CHARS;
        for server in self.servers() {
            let Some(guide) = self.read(server) else { continue };
            let shown: String = guide.chars().take(INSTRUCTION_CHARS.min(left)).collect();
            left -= shown.chars().count();
            let is_cut = shown.len() < guide.len();
            let _ = write!(text, "\n\n### `{server}`\n{}", shown.trim_end());
            if is_cut {
                let _ = write!(text, "\n(more in the resource skills://{server})");
            }
        }
        (!self.guides.is_empty()).then_some(text)
    }
}

/// What `mce compile` found of a guide.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct GuideReport {
    /// The file or URL, as it is configured.
    pub(crate) from: String,
    pub(crate) state: GuideState,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) bytes: Option<usize>,
    /// Why it is refused, or was not fetched.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) error: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum GuideState {
    /// A file, which is read whenever it is asked for.
    Read,
    /// There was no copy before.
    New,
    Changed,
    Unchanged,
    /// The last copy stays, if there is one.
    Refused,
}

impl GuideState {
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::New => "new",
            Self::Changed => "changed",
            Self::Unchanged => "unchanged",
            Self::Refused => "refused",
        }
    }
}

/// Takes what was read of a server's guide; a remote one is copied, unless nothing is to be written.
pub(super) fn take(data_dir: &Path, server: &ServerSettings, read: Result<Vec<u8>, String>, is_dry_run: bool) -> Option<GuideReport> {
    let location = server.skills.as_ref()?;
    let taken = read.and_then(|bytes| {
        if bytes.len() > GUIDE_BYTES {
            return Err(format!("it has {} bytes, more than the limit of {GUIDE_BYTES}", bytes.len()));
        }
        let state = match location {
            Location::File(_) => GuideState::Read,
            Location::Url(_) => copy(data_dir, server, &bytes, is_dry_run)?,
        };
        Ok((state, bytes.len()))
    });
    let (state, bytes, error) = match taken {
        Ok((state, bytes)) => (state, Some(bytes), None),
        Err(error) => (GuideState::Refused, None, Some(error)),
    };
    Some(GuideReport {
        from: location.to_string(),
        state,
        bytes,
        error,
    })
}

fn copy(data_dir: &Path, server: &ServerSettings, bytes: &[u8], is_dry_run: bool) -> Result<GuideState, String> {
    let file = copy_of(data_dir, &server.name);
    let state = match fs_err::read(&file) {
        Ok(known) if known == bytes => return Ok(GuideState::Unchanged),
        Ok(_) => GuideState::Changed,
        Err(_) => GuideState::New,
    };
    if !is_dry_run {
        write_whole(&file, bytes).map_err(|error| error.to_string())?;
    }
    Ok(state)
}

/// Where a server's guide is read from.
fn file_of(data_dir: &Path, server: &ServerSettings) -> Option<PathBuf> {
    match server.skills.as_ref()? {
        Location::File(file) => Some(file.clone()),
        Location::Url(_) => Some(copy_of(data_dir, &server.name)),
    }
}

/// Where copies of remote guides are kept.
pub(crate) fn copies(data_dir: &Path) -> PathBuf {
    data_dir.join("skills")
}

/// Where the copy of a remote guide is kept.
pub(crate) fn copy_of(data_dir: &Path, server: &str) -> PathBuf {
    copies(data_dir).join(format!("{server}.md"))
}
