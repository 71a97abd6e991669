//! All servers together: ours, then those of other programs that we do not have yet.

use crate::discover::Candidate;
use crate::own::Ourselves;
use crate::reader::Reader;
use crate::respell::is_empty_list;
use crate::server::{ServerEntry, read_server};
use crate::{ConfigError, HttpServer, Origin, Place, ServerSettings, Shown, StdioServer, Warning};

/// What `type` is where a client has a server built in.
const BUILT_IN: [&str; 4] = ["builtin", "platform", "frontend", "inline_python"];

/// Reads the servers. Of those with one name the first counts; those of other programs that cannot be read are warnings.
///
/// # Errors
///
/// [`ConfigError`] for the first wrong value of ours.
pub(crate) fn read_servers(
    reader: &mut Reader<'_>,
    ours: Vec<ServerEntry>,
    candidates: Vec<Candidate>,
    ourselves: &Ourselves<'_>,
) -> Result<Vec<ServerSettings>, ConfigError> {
    let mut servers = Servers {
        reader,
        ourselves,
        kept: Vec::new(),
        disabled: Vec::new(),
    };
    for entry in ours {
        servers.add(entry)?;
    }
    for candidate in candidates {
        servers.add_candidate(candidate);
    }
    Ok(servers.finish())
}

struct Servers<'a, 'v> {
    reader: &'a mut Reader<'v>,
    ourselves: &'a Ourselves<'a>,
    kept: Vec<Kept>,
    /// By client; none for ours, which hide servers of every client.
    disabled: Vec<(Option<&'static str>, String)>,
}

struct Kept {
    server: ServerSettings,
    place: Place,
}

impl Servers<'_, '_> {
    fn add(&mut self, mut entry: ServerEntry) -> Result<(), ConfigError> {
        entry.respell();
        if entry.is_disabled(self.reader)? {
            self.disabled.push((None, entry.name));
            return Ok(());
        }
        let place = entry.place.clone();
        let (shown, warnings) = self.reader.mark();
        let server = read_server(self.reader, entry)?;
        if self.is_own(&server) {
            self.reader.rewind((shown, warnings));
            let message = format!("server `{}` starts this program itself; it is left out", server.title);
            self.reader.warn(place, message, None);
        } else {
            self.keep(server, place, shown);
        }
        Ok(())
    }

    fn add_candidate(&mut self, candidate: Candidate) {
        let mut entry = candidate.entry;
        entry.respell();
        let place = entry.place.clone();
        let mark = self.reader.mark();
        match self.read_candidate(entry, candidate.is_rejected) {
            Ok(Some(server)) => self.keep(server, place, mark.0),
            Ok(None) => self.reader.rewind(mark),
            Err(error) => {
                self.reader.rewind(mark);
                let mut warning = error.into_warning(place);
                warning.message = format!("the server is left out: {}", warning.message);
                self.reader.report.warnings.push(warning);
            }
        }
    }

    /// None if it is left out, which is noted.
    fn read_candidate(&mut self, mut entry: ServerEntry, is_rejected: bool) -> Result<Option<ServerSettings>, ConfigError> {
        let place = entry.place.clone();
        let name = (entry.source.client, entry.name.clone());
        if let Some(reason) = without_command(&entry) {
            return Ok(self.leave_out(place, reason));
        }
        if is_rejected || entry.is_disabled(self.reader)? {
            self.disabled.push(name);
            return Ok(self.leave_out(place, "it is disabled"));
        }
        if self.disabled.contains(&name) {
            return Ok(self.leave_out(place, "it is disabled for this project"));
        }
        if self.disabled.contains(&(None, name.1)) {
            return Ok(self.leave_out(place, "it is disabled in our own file"));
        }
        let server = read_server(self.reader, entry)?;
        if self.is_own(&server) {
            return Ok(self.leave_out(place, "it starts this program itself"));
        }
        let Some(known) = self.kept.iter_mut().find(|known| known.is_same_as(&server)) else {
            return Ok(Some(server));
        };
        let is_same_title = known.server.title == server.title;
        let is_same_target = has_same_target(&known.server.origin, &server.origin);
        let message = format!("server `{}` is ignored, because {} has it too", server.title, known.place);
        if is_same_target {
            known.server.entry.also.extend(server.entry.file);
        } else if is_same_title {
            return Ok(self.leave_out(place, &message));
        } else {
            // Pushed where what this entry recorded is forgotten.
            return Err(ConfigError::SameServerName {
                place: Box::new(place),
                first: known.server.title.clone(),
                second: server.title,
                name: server.name,
            });
        }
        Ok(None)
    }

    fn leave_out(&mut self, place: Place, reason: &str) -> Option<ServerSettings> {
        self.reader.report.notes.push(Warning {
            place,
            message: reason.to_owned(),
            hint: None,
        });
        None
    }

    fn is_own(&self, server: &ServerSettings) -> bool {
        match &server.origin {
            Origin::McpStdio(StdioServer { command, args, .. }) => self.ourselves.is_started_by(command, args),
            Origin::McpHttp(_) | Origin::OpenApi(_) | Origin::Recipes(_) => false,
        }
    }

    /// `at` is where what is shown of the server begins.
    fn keep(&mut self, server: ServerSettings, place: Place, at: usize) {
        let kind = Shown {
            key: format!("servers.{}.kind", server.name),
            value: kind(&server),
            source: place.source.clone(),
        };
        self.reader.report.shown.insert(at, kind);
        self.kept.push(Kept { server, place });
    }

    /// Shows which other files have a server.
    fn finish(self) -> Vec<ServerSettings> {
        let shown = &mut self.reader.report.shown;
        for Kept { server, place } in self.kept.iter().filter(|kept| !kept.server.entry.also.is_empty()) {
            let key = format!("servers.{}.kind", server.name);
            let at = shown.iter().position(|shown| shown.key == key).map_or(shown.len(), |at| at + 1);
            let files: Vec<String> = server.entry.also.iter().map(|file| file.display().to_string()).collect();
            let also = Shown {
                key: format!("servers.{}.also_in", server.name),
                value: files.join(", "),
                source: place.source.clone(),
            };
            shown.insert(at, also);
        }
        self.kept.into_iter().map(|kept| kept.server).collect()
    }
}

impl Kept {
    /// Whether it has the other's name, or is the same under another name in another file.
    fn is_same_as(&self, other: &ServerSettings) -> bool {
        let is_elsewhere = self.server.entry.file != other.entry.file;
        let has_same_secrets = match (&self.server.origin, &other.origin) {
            (Origin::McpStdio(own), Origin::McpStdio(other)) => own.env == other.env,
            (Origin::OpenApi(_) | Origin::McpStdio(_) | Origin::McpHttp(_) | Origin::Recipes(_), _) => {
                self.server.extra_headers == other.extra_headers
            }
        };
        let is_equal = has_same_secrets && has_same_target(&self.server.origin, &other.origin);
        self.server.name == other.name || (is_elsewhere && is_equal)
    }
}

/// Whether two entries reach the same server, wherever it is started and however it is spoken to.
fn has_same_target(first: &Origin, second: &Origin) -> bool {
    match (first, second) {
        (Origin::McpStdio(first), Origin::McpStdio(second)) => (&first.command, &first.args) == (&second.command, &second.args),
        (Origin::McpHttp(HttpServer { url: first, .. }), Origin::McpHttp(HttpServer { url: second, .. })) => {
            first.trim_end_matches('/') == second.trim_end_matches('/')
        }
        (Origin::OpenApi(_) | Origin::McpStdio(_) | Origin::McpHttp(_) | Origin::Recipes(_), _) => false,
    }
}

/// Why an entry is no server that can be reached.
fn without_command(entry: &ServerEntry) -> Option<&'static str> {
    let kind = entry.fields.get("type").and_then(|field| field.scalar("a word").ok());
    if kind.is_some_and(|kind| BUILT_IN.contains(&kind)) {
        return Some("it is built into its client");
    }
    if entry.fields.get("include").is_some_and(is_empty_list) {
        return Some("it allows no tool");
    }
    let has_target = entry.fields.contains_key("command") || entry.fields.contains_key("url");
    (!has_target).then_some("it has no command and no URL")
}

/// What `config show` says of a server as a whole.
fn kind(server: &ServerSettings) -> String {
    let kind = match &server.origin {
        Origin::OpenApi(_) => "openapi",
        Origin::McpStdio(_) => "mcp stdio",
        Origin::McpHttp(_) => "mcp http",
        Origin::Recipes(_) => "saved recipes",
    };
    match server.entry.client {
        Some(client) => format!("{kind}, found in the configuration of {client}"),
        None => kind.to_owned(),
    }
}
