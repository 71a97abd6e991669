//! One server: an entry of a file, and the variables that override it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::auth::{header_safe, read_auth, read_credential, read_static, read_variable};
use crate::connection::read_connection;
use crate::discover::Dialect;
use crate::field::Field;
use crate::file::read_variables;
use crate::headers::{Headers, read_headers, read_json_headers};
use crate::location::{Base, http_url, resolve_path};
use crate::nearest::suggestion;
use crate::reader::{Reader, found};
use crate::respell::{is_empty_list, respell};
use crate::upstream_fields::{UpstreamEntry, read_upstream};
use crate::view_fields::read_view;
use crate::yaml::Kind;
use crate::{
    Auth, ConfigError, Credential, EntrySource, HttpServer, HttpTransport, Location, Origin, Place, Secret, ServerSettings, Source,
    StdioServer, Unresolved, UpstreamSettings,
};

/// Every key of a server, besides other words for them.
pub(crate) const SERVER_KEYS: [&str; 40] = [
    "allow_private",
    "args",
    "auth",
    "auth_header",
    "base_url",
    "breaker_failures",
    "command",
    "concurrency",
    "credentials",
    "cwd",
    "description",
    "disabled",
    "enabled",
    "env",
    "env_file",
    "era",
    "exclude",
    "extra_headers",
    "functions",
    "headers",
    "include",
    "is_read_only",
    "max_answer_bytes",
    "oauth",
    "openapi",
    "overlay",
    "pagination",
    "pin",
    "proxy",
    "rate",
    "rename",
    "retries",
    "skills_url",
    "start_timeout",
    "swagger_url",
    "timeout",
    "tls",
    "top_level_functions",
    "type",
    "url",
];

/// The keys that entries in files of other programs have. What else stands there is theirs.
const CLIENT_KEYS: [&str; 15] = [
    "args",
    "command",
    "cwd",
    "disabled",
    "enabled",
    "env",
    "env_file",
    "exclude",
    "headers",
    "include",
    "oauth",
    "start_timeout",
    "timeout",
    "type",
    "url",
];

/// `MCE_{SERVER}` and one of these is a variable of a server.
pub(crate) const SERVER_SUFFIXES: [&str; 5] = ["_BASE_URL", "_AUTH", "_EXTRA_HEADERS", "_COOKIE", "_ALLOW_PRIVATE"];

/// The keys that say where functions come from; a server has one of them.
const ORIGIN_KEYS: [&str; 4] = ["openapi", "swagger_url", "command", "url"];

/// Words for servers that have a URL.
const HTTP_TYPES: [&str; 7] = [
    "http",
    "remote",
    "sse",
    "streamable-http",
    "streamable_http",
    "streamablehttp",
    "streamable",
];

/// A server as it stands in a file.
pub(crate) struct ServerEntry {
    pub(crate) name: String,
    pub(crate) title: String,
    pub(crate) place: Place,
    pub(crate) fields: BTreeMap<String, Field>,
    /// How its values are written.
    pub(crate) dialect: Dialect,
    /// Where its command is started if it does not say.
    pub(crate) start_in: Option<PathBuf>,
    pub(crate) source: EntrySource,
}

impl ServerEntry {
    /// Gives it our keys, and takes out what is blank.
    pub(crate) fn respell(&mut self) {
        self.fields.retain(|_, field| !field.is_blank());
        respell(&mut self.fields, self.dialect);
        if self.source.is_discovered() {
            self.fields.retain(|key, _| CLIENT_KEYS.contains(&key.as_str()));
            // A server has one of them.
            if self.fields.contains_key("command") {
                self.fields.remove("url");
            }
            if self.fields.get("exclude").is_some_and(is_empty_list) {
                self.fields.remove("exclude");
            }
        }
    }

    /// Whether it says that it is not to be used.
    pub(crate) fn is_disabled(&mut self, reader: &mut Reader<'_>) -> Result<bool, ConfigError> {
        let mut is_disabled = false;
        for (name, meaning) in [("disabled", true), ("enabled", false)] {
            if let Some(field) = self.fields.remove(name) {
                let key = format!("servers.{}.{name}", self.name);
                is_disabled |= reader.flag(&key, &field)? == meaning;
            }
        }
        if is_disabled {
            // Its other values are not read, so that none of their variables is asked for.
            reader.missing.clear();
        }
        Ok(is_disabled)
    }
}

/// The variable names of a server for one suffix: made of the normalised name, and of the name as written.
pub(crate) fn server_variables(name: &str, title: &str, suffix: &str) -> [String; 2] {
    [name, title].map(|part| format!("MCE_{}{suffix}", part.to_uppercase()))
}

/// Reads a server that has our keys. Afterwards `reader.missing` is empty.
pub(crate) fn read_server(reader: &mut Reader<'_>, entry: ServerEntry) -> Result<ServerSettings, ConfigError> {
    let key = format!("servers.{}", entry.name);
    let mut fields = ServerFields { reader, entry, key };
    fields.warn_of_unknown_keys();
    let origin = fields.origin()?;
    let server = ServerSettings {
        base_url: fields.base_url()?,
        connection: read_connection(
            fields.reader,
            &fields.key,
            &mut fields.entry.fields,
            !matches!(origin, Origin::McpStdio(_)),
        )?,
        auth: fields.auth_for(&origin)?,
        credentials: fields.credentials()?,
        extra_headers: fields.extra_headers()?,
        is_read_only: fields.is_read_only()?,
        allow_private: fields.allow_private()?,
        skills: fields
            .take("skills_url")
            .map(|field| fields.reader.location(&fields.at("skills_url"), &field))
            .transpose()?,
        top_level_functions: fields.texts("top_level_functions")?,
        overlays: fields.overlays()?,
        view: read_view(fields.reader, &fields.key, &mut fields.entry.fields)?,
        upstream: fields.upstream(&origin)?,
        unresolved: fields.reader.missing.drain(..).map(unresolved).collect(),
        origin,
        name: fields.entry.name,
        title: fields.entry.title,
        entry: fields.entry.source,
    };
    Ok(server)
}

fn unresolved((place, variable): (Place, String)) -> Unresolved {
    let (file, key) = match place.source {
        Source::File { file, key } => (file.display().to_string(), key),
        Source::DotEnv { file, variable } => (file.display().to_string(), variable),
        Source::Environment { variable } => ("environment".to_owned(), variable),
        Source::Argument { flag } => ("arguments".to_owned(), flag),
        Source::Default => (String::new(), String::new()),
    };
    Unresolved { variable, file, key }
}

struct ServerFields<'a, 'v> {
    reader: &'a mut Reader<'v>,
    entry: ServerEntry,
    /// Such as `servers.shop`.
    key: String,
}

impl ServerFields<'_, '_> {
    fn at(&self, name: &str) -> String {
        format!("{}.{name}", self.key)
    }

    fn take(&mut self, name: &str) -> Option<Field> {
        self.entry.fields.remove(name)
    }

    /// The variable that overrides a value of this server.
    fn variable(&self, suffix: &str) -> Option<Field> {
        let names = server_variables(&self.entry.name, &self.entry.title, suffix);
        names.iter().find_map(|name| self.reader.variables.field(name))
    }

    fn warn_of_unknown_keys(&mut self) {
        for (name, field) in &self.entry.fields {
            if !SERVER_KEYS.contains(&name.as_str()) {
                let hint = suggestion(name, SERVER_KEYS);
                self.reader.warn(field.place.clone(), format!("a server has no key `{name}`"), hint);
            }
        }
    }

    fn origin(&mut self) -> Result<Origin, ConfigError> {
        let given: Vec<&str> = ORIGIN_KEYS
            .into_iter()
            .filter(|name| self.entry.fields.contains_key(*name))
            .collect();
        if let [first, second, ..] = given.as_slice() {
            return Err(ConfigError::ConflictingKeys {
                place: self.entry.place.clone(),
                first: (*first).to_owned(),
                second: (*second).to_owned(),
            });
        }
        let origin = given.first().copied().and_then(|name| Some((name, self.take(name)?)));
        match origin {
            Some(("command", field)) => self.stdio(&field),
            Some(("url", field)) => self.http(&field),
            Some((name, field)) => self.reader.location(&self.at(name), &field).map(Origin::OpenApi),
            None => Err(ConfigError::MissingKey {
                place: self.entry.place.clone(),
                key: "openapi".to_owned(),
                advice: "a server has `openapi` (a file or URL), `command` or `url`".to_owned(),
            }),
        }
    }

    fn stdio(&mut self, command: &Field) -> Result<Origin, ConfigError> {
        self.transport(&["stdio", "local"])?;
        let program = self.reader.command(&self.at("command"), command)?;
        let args = match self.take("args") {
            Some(field) => self.reader.arguments(&self.at("args"), &field)?,
            None => Vec::new(),
        };
        let env = self.environment()?;
        let cwd = match self.take("cwd") {
            Some(field) => Some(self.reader.path(&self.at("cwd"), &field)?),
            None => self.entry.start_in.take(),
        };
        let command = self.program(program, cwd.as_deref().unwrap_or(&command.directory));
        Ok(Origin::McpStdio(StdioServer { command, args, env, cwd }))
    }

    /// A path to a program becomes absolute, since what it is relative to would depend on the system; a name stays one.
    fn program(&self, command: String, directory: &Path) -> String {
        let is_relative = command.contains('/') && !command.contains("${") && !Path::new(&command).is_absolute();
        if !is_relative {
            return command;
        }
        let base = Base {
            directory,
            home: self.reader.home,
        };
        resolve_path(&command, base).display().to_string()
    }

    /// The variables of `env`, and those of `env_file` that are not there.
    fn environment(&mut self) -> Result<BTreeMap<String, Secret>, ConfigError> {
        let mut env = BTreeMap::new();
        if let Some(field) = self.take("env_file") {
            let file = self.reader.path(&self.at("env_file"), &field)?;
            let is_known = self.reader.missing.is_empty();
            if is_known {
                env.extend(read_variables(&file)?);
            }
        }
        if let Some(field) = self.take("env") {
            for (name, value) in field.into_entries("a mapping of variables to texts")? {
                if value.node.kind == Kind::Null {
                    continue;
                }
                if name.is_empty() || name.contains(['=', '\0']) {
                    return Err(value.refuse("a variable's name", found(&name)));
                }
                let key = self.at(&format!("env.{name}"));
                env.insert(name, self.reader.masked(&key, &value)?);
            }
        }
        Ok(env)
    }

    fn http(&mut self, url: &Field) -> Result<Origin, ConfigError> {
        let transport = match self.transport(&HTTP_TYPES)?.as_deref() {
            // Many write `http` for whatever has a URL.
            None | Some("http" | "remote") => HttpTransport::Auto,
            Some("sse") => HttpTransport::Sse,
            Some(_) => HttpTransport::Streamable,
        };
        let url = self.reader.url(&self.at("url"), url)?;
        Ok(Origin::McpHttp(HttpServer { url, transport }))
    }

    fn upstream(&mut self, origin: &Origin) -> Result<UpstreamSettings, ConfigError> {
        let entry = UpstreamEntry {
            is_mcp: !matches!(origin, Origin::OpenApi(_)),
            is_ours: !self.entry.source.is_discovered(),
        };
        read_upstream(self.reader, &self.key, &mut self.entry.fields, entry)
    }

    /// `type:` is how other tools' files say what `command` and `url` say already.
    fn transport(&mut self, words: &[&str]) -> Result<Option<String>, ConfigError> {
        let Some(field) = self.take("type") else { return Ok(None) };
        self.reader.word(&self.at("type"), &field, words).map(Some)
    }

    fn base_url(&mut self) -> Result<Option<String>, ConfigError> {
        let written = self.take("base_url");
        let Some(field) = self.variable("_BASE_URL").or(written) else {
            return Ok(None);
        };
        let url = self.reader.url(&self.at("base_url"), &field)?;
        if http_url(&url).is_some_and(|url| url.query().is_some() || url.fragment().is_some()) {
            return Err(field.refuse("a URL without query and fragment", "one with"));
        }
        Ok(Some(url.trim_end_matches('/').to_owned()))
    }

    /// What logs in at an API cannot log in at an MCP server.
    fn auth_for(&mut self, origin: &Origin) -> Result<Auth, ConfigError> {
        let place = self.entry.fields.get("auth").map(|field| field.place.clone());
        let auth = self.auth()?;
        let is_for_apis = matches!(auth, Auth::OAuth2 { .. } | Auth::Keycloak { .. } | Auth::Session(_));
        if let (Some(place), true, Origin::McpHttp(_)) = (place, is_for_apis, origin) {
            let message = format!(
                "`auth` of type `{}` is for APIs: this MCP server cannot be used with it",
                auth.type_name()
            );
            let hint = format!(
                "take it out and run `mce auth login {}`, or use type `static`, `jwt` or `basic`",
                self.entry.name
            );
            self.reader.warn(place, message, Some(hint));
        }
        Ok(auth)
    }

    fn auth(&mut self) -> Result<Auth, ConfigError> {
        let typed = self.take("auth");
        let legacy = self.take("auth_header");
        if let Some(field) = self.variable("_AUTH") {
            return read_variable(self.reader, &self.at("auth"), field);
        }
        if let (Some(_), Some(ignored)) = (&typed, &legacy) {
            self.reader
                .warn(ignored.place.clone(), "has no effect beside `auth`".to_owned(), None);
        }
        match (typed, legacy) {
            (Some(field), _) => read_auth(self.reader, &self.at("auth"), field),
            (None, Some(field)) => read_static(self.reader, &self.at("auth_header"), &field),
            (None, None) => Ok(Auth::None),
        }
    }

    fn credentials(&mut self) -> Result<BTreeMap<String, Credential>, ConfigError> {
        let Some(field) = self.take("credentials") else {
            return Ok(BTreeMap::new());
        };
        let mut credentials = BTreeMap::new();
        for (scheme, field) in field.into_entries("a mapping of security schemes to secrets")? {
            let key = self.at(&format!("credentials.{scheme}"));
            credentials.insert(scheme, read_credential(self.reader, &key, field)?);
        }
        Ok(credentials)
    }

    /// A variable replaces the fields of the file as a whole. `MCE_{SERVER}_COOKIE` is the field `Cookie`.
    fn extra_headers(&mut self) -> Result<Headers, ConfigError> {
        let mut headers = Headers::new();
        let key = self.at("extra_headers");
        if let Some(field) = self.variable("_COOKIE") {
            let value = self.reader.masked(&self.at("extra_headers.Cookie"), &field)?;
            headers.push(("Cookie".to_owned(), header_safe(&field, value)?));
        }
        let written = [self.take("extra_headers"), self.take("headers")];
        if let Some(field) = self.variable("_EXTRA_HEADERS") {
            read_json_headers(self.reader, &key, &field, &mut headers)?;
            return Ok(headers);
        }
        for field in written.into_iter().flatten() {
            read_headers(self.reader, &key, field, &mut headers)?;
        }
        Ok(headers)
    }

    fn is_read_only(&mut self) -> Result<bool, ConfigError> {
        let key = self.at("is_read_only");
        if let Some(field) = self.take("is_read_only") {
            self.reader.flag(&key, &field)
        } else {
            self.reader.show_default(&key, &false);
            Ok(false)
        }
    }

    fn allow_private(&mut self) -> Result<bool, ConfigError> {
        let key = self.at("allow_private");
        let written = self.take("allow_private");
        match self.variable("_ALLOW_PRIVATE").or(written) {
            Some(field) => self.reader.flag(&key, &field),
            None => Ok(false),
        }
    }

    /// One location, or a list of them.
    fn overlays(&mut self) -> Result<Vec<Location>, ConfigError> {
        let key = self.at("overlay");
        let Some(field) = self.take("overlay") else {
            return Ok(Vec::new());
        };
        if !matches!(field.node.kind, Kind::List(_)) {
            return Ok(vec![self.reader.location(&key, &field)?]);
        }
        let items = field.into_items("a file or URL, or a list of them")?.into_iter().enumerate();
        items
            .map(|(index, item)| self.reader.location(&format!("{key}.{index}"), &item))
            .collect()
    }

    fn texts(&mut self, name: &str) -> Result<Vec<String>, ConfigError> {
        let Some(field) = self.take(name) else {
            return Ok(Vec::new());
        };
        self.reader.texts(&self.at(name), &field)
    }
}
