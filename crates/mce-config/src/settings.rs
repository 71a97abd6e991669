//! What is meant: typed settings with all defaults filled in. Read by `load`.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::{ConnectionSettings, EntrySource, HttpServer, PolicySettings, Rate, Secret, StdioServer, UpstreamSettings, ViewSettings};

/// Everything that is configured.
#[derive(Debug, Clone)]
pub struct Settings {
    /// State: catalog, recipes, audit log. `MCE_DATA_DIR`; default `data` beside the project's `mce.yaml`, or in the working
    /// directory if only a `swaggers.yaml` was read; else `$XDG_DATA_HOME/mce`, else `~/.local/share/mce`.
    pub data_dir: PathBuf,
    /// The directory of `mce.yaml`, else the working directory.
    pub base_dir: PathBuf,
    /// The `mce.yaml` that was read.
    pub config_file: Option<PathBuf>,
    /// The `swaggers.yaml` that was read.
    pub swagger_file: Option<PathBuf>,
    /// The `.env` that was read.
    pub env_file: Option<PathBuf>,
    /// Servers in the order of their files; names are unique after normalising.
    pub servers: Vec<ServerSettings>,
    /// The server whose functions are saved recipes; none if another one has its name.
    pub recipe_server: Option<ServerSettings>,
    /// Limits of one run.
    pub limits: LimitSettings,
    /// Limits of one call.
    pub calls: CallSettings,
    /// How often and how fast servers are called.
    pub pace: PaceSettings,
    /// What is asked of the client.
    pub client: ClientSettings,
    /// How workers are kept.
    pub sandbox: SandboxSettings,
    /// What a model is told of a run.
    pub results: ResultSettings,
    /// Programs kept for `run_cached_code`.
    pub recipes: RecipeSettings,
    /// What is served.
    pub serve: ServeSettings,
    /// What may be called, and who is asked.
    pub policy: PolicySettings,
    /// Hosts that programs may fetch from, beside which only hosts that the configuration names are reached
    /// (`MCE_ALLOWED_DOMAINS`, with commas). Empty: programs fetch nothing, functions reach any host that documents name.
    pub allowed_domains: Vec<String>,
    /// `MCE_LOG_LEVEL`, default `info`; lower case.
    pub log_level: String,
    /// `MCE_DEBUG`: tracebacks in answers. Default false.
    pub is_debug: bool,
    /// `MCE_LINT_ENABLED`: programs are checked with `ruff` first, if it is installed. Default false.
    pub is_lint_enabled: bool,
    /// `MCE_TYPE_CHECK`.
    pub type_check: TypeCheck,
    /// The audit log.
    pub audit: AuditSettings,
    /// The engine `docker`.
    pub docker: DockerSettings,
    /// Better descriptions by a language model at compile time.
    pub enhance: EnhanceSettings,
}

impl Settings {
    /// The server of that name, as normalised or as written in the file.
    pub fn server(&self, name: &str) -> Option<&ServerSettings> {
        let by_name = self.servers.iter().find(|server| server.name == name);
        by_name.or_else(|| self.servers.iter().find(|server| server.title == name))
    }
}

/// One configured server.
#[derive(Clone)]
pub struct ServerSettings {
    /// Normalised: lower-case `[a-z_][a-z0-9_]*`, at most 64 characters. Unique.
    pub name: String,
    /// As written in the file. Messages for people may use it; programs use `name`.
    pub title: String,
    /// Where its entry stands.
    pub entry: EntrySource,
    /// Where its functions come from.
    pub origin: Origin,
    /// OpenAPI Overlays that its document is changed by before it is compiled, in this order.
    pub overlays: Vec<Location>,
    /// How its functions are shown and called.
    pub view: ViewSettings,
    /// How it is dealt with if it is an MCP server.
    pub upstream: UpstreamSettings,
    /// Wins over the document's own servers. Absolute http(s) URL without final slash.
    pub base_url: Option<String>,
    /// By what way it is reached.
    pub connection: ConnectionSettings,
    /// Credential of every request.
    pub auth: Auth,
    /// Secrets for the document's security schemes, by scheme name.
    pub credentials: BTreeMap<String, Credential>,
    /// Header fields of every request; values may be secret. `MCE_{SERVER}_COOKIE` is the field `Cookie`. Names are unique
    /// without regard to case; values hold no control character.
    pub extra_headers: Vec<(String, Secret)>,
    /// Only functions that read are offered and may be called. Default false.
    pub is_read_only: bool,
    /// Its hosts may be in a private network though their names are public ones (`MCE_{SERVER}_ALLOW_PRIVATE`). Default false.
    pub allow_private: bool,
    /// A Markdown guide: file or URL.
    pub skills: Option<Location>,
    /// Functions that become tools of their own: operation ids or function names.
    pub top_level_functions: Vec<String>,
    /// `${VAR}`s in this server's values that nothing defines. A server with any is not compiled, and calls to it are
    /// refused before anything is sent.
    pub unresolved: Vec<Unresolved>,
}

/// A file or a URL.
#[derive(Clone, PartialEq, Eq)]
pub enum Location {
    /// An absolute path.
    File(PathBuf),
    /// An http(s) URL.
    Url(String),
}

/// Where a server's functions come from.
#[derive(Clone, PartialEq, Eq)]
pub enum Origin {
    /// An OpenAPI document.
    OpenApi(Location),
    /// An MCP server started as a child process.
    McpStdio(StdioServer),
    /// An MCP server over HTTP.
    McpHttp(HttpServer),
    /// Saved recipes, in this folder.
    Recipes(PathBuf),
}

/// The credential of every request to a server.
#[derive(Clone, PartialEq, Eq)]
pub enum Auth {
    /// Nothing is sent.
    None,
    /// The value of `Authorization` as it stands.
    Static {
        /// E.g. `Bearer …`.
        value: Secret,
    },
    /// A JWT; `Bearer ` is put before it.
    Jwt {
        /// The token.
        token: Secret,
    },
    /// RFC 7617.
    Basic {
        /// The user.
        username: String,
        /// The password.
        password: Secret,
    },
    /// OAuth 2 client credentials. (RFC 6749, 4.4)
    OAuth2 {
        /// Where tokens are asked for.
        place: TokenPlace,
        /// The client.
        client_id: String,
        /// Its secret.
        client_secret: Secret,
        /// Empty: none is asked for.
        scope: String,
    },
    /// As `OAuth2`, with the endpoint made from base URL and realm.
    Keycloak {
        /// E.g. `https://keycloak.example.com/auth`.
        base_url: String,
        /// The realm.
        realm: String,
        /// The client.
        client_id: String,
        /// Its secret.
        client_secret: Secret,
        /// Empty: none is asked for.
        scope: String,
    },
    /// A login whose cookies or token are used.
    Session(Box<SessionAuth>),
}

/// Where a person says that a client gets its tokens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TokenPlace {
    /// `token_url`: the token endpoint.
    Url(String),
    /// `issuer`: an `OpenID` provider, which publishes where it is. (`OpenID` Connect Discovery 1.0, section 4)
    Issuer(String),
}

impl TokenPlace {
    /// What is written there.
    pub fn url(&self) -> &str {
        match self {
            Self::Url(url) | Self::Issuer(url) => url,
        }
    }
}

/// A login by user name and password.
#[derive(Clone, PartialEq, Eq)]
pub struct SessionAuth {
    /// Where to log in.
    pub login_url: String,
    /// The user.
    pub username: String,
    /// The password.
    pub password: Secret,
    /// Field of the user name. Default `username`.
    pub username_field: String,
    /// Field of the password. Default `password`.
    pub password_field: String,
    /// The login is a form instead of JSON.
    pub is_form: bool,
    /// Only this cookie is kept; empty: all.
    pub cookie_name: String,
    /// The token's field in a JSON answer; empty: cookies are used.
    pub token_field: String,
    /// How long a login is used. Default one hour.
    pub expires: Duration,
}

/// A secret for one security scheme of a document.
#[derive(Clone, PartialEq, Eq)]
pub enum Credential {
    /// An API key or a bearer token.
    Token(Secret),
    /// For scheme `basic`.
    Basic {
        /// The user.
        username: String,
        /// The password.
        password: Secret,
    },
    /// For schemes `oauth2` and `openIdConnect`: a client that logs in by itself. (RFC 6749, 4.4)
    Client {
        /// The client.
        client_id: String,
        /// Its secret.
        client_secret: Secret,
        /// Where it is sent. None: where the document says, if that is the host of `base_url`.
        place: Option<TokenPlace>,
        /// Empty: none is asked for.
        scope: String,
    },
}

/// A `${VAR}` that nothing defines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unresolved {
    /// The variable's name.
    pub variable: String,
    /// The file, or `environment`.
    pub file: String,
    /// The key in it, such as `servers.shop.auth.value`.
    pub key: String,
}

impl Unresolved {
    /// What to do about it.
    pub fn advice(&self) -> String {
        match self.variable.split_once(':') {
            None => format!("set `{}` in the environment or in `.env`", self.variable),
            Some(("file", file)) => format!("write the secret into `{file}`, readable by who runs mce alone"),
            Some(("secret", name)) => format!("add `{name}` to `secrets` in `mce.yaml`; {ONLY_OURS}"),
            Some(("input", _)) => format!("VS Code asks a person for it; {IN_OUR_FILE}"),
            Some(_) => format!("only the program whose file this is knows it; {IN_OUR_FILE}"),
        }
    }
}

/// What may name secrets.
const ONLY_OURS: &str = "files of other programs and `.env` cannot name secrets";

/// What helps where a variable is no variable of the environment.
const IN_OUR_FILE: &str = "write the server in `mce.yaml`, with a `${VAR}` in its place";

/// Limits of one run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LimitSettings {
    /// Wall-clock time. `MCE_EXECUTION_TIMEOUT_SECONDS`, default 30 s; 1 s to 600 s.
    pub wall: Duration,
    /// Processor time of all threads together. `MCE_CPU_LIMIT_SECONDS`, default twice the wall-clock time and 2 s; 1 s to 3,600 s.
    pub cpu: Duration,
    /// Memory beyond the bare interpreter, in mebibytes. `MCE_MEMORY_LIMIT_MIB`, default 256.
    pub memory_mib: u32,
    /// Bytes of output and of the result, each. `MCE_MAX_OUTPUT_SIZE_BYTES`, default 1 MiB.
    pub output_bytes: usize,
    /// Bytes of a program's text. `MCE_MAX_CODE_SIZE_BYTES`, default 64 KiB.
    pub code_bytes: usize,
    /// Bytes in `/tmp`, in mebibytes. `MCE_TMP_LIMIT_MIB`, default 64.
    pub tmp_mib: u32,
    /// Host calls of one run. `MCE_MAX_HOST_CALLS`, default 1,000.
    pub host_calls: u32,
    /// Host calls of one run at the same time. `MCE_MAX_PARALLEL_CALLS`, default 16.
    pub parallel_calls: u32,
    /// Threads and processes of a worker. `MCE_MAX_PROCESSES`, default 32.
    pub processes: u32,
    /// Open files of a worker. `MCE_MAX_OPEN_FILES`, default 64.
    pub open_files: u32,
}

/// Limits of one call of a function, and of one request of a program's own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallSettings {
    /// From sending to the last byte of the answer. `MCE_CALL_TIMEOUT_SECONDS`, default 30 s; 1 s to 600 s. A run's own
    /// time holds as well.
    pub total: Duration,
    /// Bytes of an answer, decompressed. `MCE_MAX_ANSWER_SIZE_BYTES`, default 16 MiB.
    pub answer_bytes: usize,
}

/// How often and how fast servers are called.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PaceSettings {
    /// Calls of one client. `MCE_RATE`; none: as often as it likes.
    pub rate: Option<Rate>,
    /// Programs of one client. `MCE_RUN_RATE` or `CODE_EXECUTOR_RATE_LIMIT_RPM`; none: as often as it likes.
    pub run_rate: Option<Rate>,
    /// Further attempts of what only reads, after 429 and 503. `MCE_RETRIES`, default 2; 0 to 10.
    pub retries: u32,
    /// Failures in a row after which a server is left alone for 30 s. `MCE_BREAKER_FAILURES`, default 5; 0: never.
    pub breaker_failures: u32,
}

impl PaceSettings {
    /// What `retries` may be, of all servers and of one.
    pub(crate) const RETRIES: RangeInclusive<u32> = 0..=10;
    /// What `breaker_failures` may be, likewise.
    pub(crate) const BREAKER_FAILURES: RangeInclusive<u32> = 0..=1_000_000;
}

/// What MCP servers and programs ask of the client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientSettings {
    /// How long an answer is waited for. `MCE_CLIENT_WAIT_SECONDS`, default 300 s; 1 s to 3,600 s. Calls and runs stand still
    /// meanwhile.
    pub wait: Duration,
    /// Calls that wait for a client which answers by a new request. `MCE_MAX_WAITING_CALLS`, default 8.
    pub waiting_calls: usize,
    /// Whether programs may ask the client's language model. `MCE_SAMPLING_ENABLED` or `CODE_EXECUTOR_SAMPLING_ENABLED`;
    /// none: only those that were started with leave to.
    pub sampling: Option<bool>,
    /// Questions of one run. `MCE_MAX_SAMPLING_ROUNDS` or `CODE_EXECUTOR_MAX_SAMPLING_ROUNDS`, default 10; 1 to 100.
    pub sampling_rounds: u32,
    /// Tokens of all answers of one run. `MCE_MAX_SAMPLING_TOKENS` or `CODE_EXECUTOR_MAX_SAMPLING_TOKENS`, default 10,000;
    /// 100 to 100,000.
    pub sampling_tokens: u32,
}

/// How the value and the logs of a run are told to a model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResultSettings {
    /// A larger value is kept and becomes a handle. `MCE_MAX_RESULT_BYTES`, default 8 KiB; 256 to 1 MiB.
    pub result_bytes: usize,
    /// Longer logs lose their middle. `MCE_MAX_LOG_BYTES`, default 8 KiB; 256 to 1 MiB.
    pub log_bytes: usize,
    /// `MCE_RESULT_FORMAT`.
    pub format: ResultFormat,
}

/// Who reads a program for its types before it starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TypeCheck {
    /// `basic`, the default: we do, where the program's text says a type itself.
    Basic,
    /// `full`: so does a type checker, if one is installed: `ty` or `pyright`, `tsgo` or `tsc`.
    Full,
}

/// The notation of a run's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ResultFormat {
    /// `json`, the default.
    Json,
    /// `toon`: Token-Oriented Object Notation, in which uniform lists name their fields once.
    Toon,
    /// `auto`: TOON where it is at least 15 % shorter.
    Auto,
}

/// How workers are kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SandboxSettings {
    /// `MCE_SANDBOX_MODE`: fork servers start with the program (`warm`, the default) or a new jail is made for each run (`cold`).
    pub is_warm: bool,
    /// Workers kept ready. `MCE_WARM_POOL_SIZE`, default 2.
    pub pool_size: usize,
    /// The interpreter: a path or a name in `PATH`. `MCE_PYTHON`, default that of
    /// [`python_environment`] where there is one, else `python3`.
    pub python: String,
    /// Runs at the same time. `MCE_MAX_CONCURRENT_RUNS`, default 16.
    pub concurrent_runs: usize,
    /// Layers that are switched off, for tests and hosts that lack them. `MCE_JAIL_WITHOUT`, with commas: `namespaces`,
    /// `landlock`, `seccomp`, `rlimits`.
    pub without_layers: Vec<String>,
    /// Programs that use what cannot work in the jail are refused with advice before they start. `MCE_GUARD`, default true.
    pub has_guard: bool,
}

/// Programs kept for `run_cached_code`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecipeSettings {
    /// `MCE_CACHE_ENABLED`, default true.
    pub is_enabled: bool,
    /// Time since last use after which one is forgotten. `MCE_CACHE_TTL_SECONDS`, default one hour.
    pub ttl: Duration,
    /// `MCE_CACHE_MAX_ENTRIES`, default 500; the least recently used go first.
    pub max_entries: usize,
    /// `MCE_CACHE_DB_PATH`: a file of their own; default: the state file in the data directory.
    pub file: Option<PathBuf>,
    /// `MCE_RECIPES_DIR`: where a person keeps recipes for good, as files. Default `recipes` in the data directory.
    pub folder: PathBuf,
    /// `MCE_TOP_LEVEL_RECIPES`: saved recipes that become tools of their own.
    pub promoted: Vec<String>,
}

/// What is served.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServeSettings {
    /// `MCE_HOST`, default `127.0.0.1`: where HTTP is served.
    pub host: String,
    /// `MCE_PORT`, default 8000; 0 for any that is free.
    pub port: u16,
    /// `MCE_HTTP_TOKEN`: what clients must send as `Authorization: Bearer …`. Needed unless `host` is this machine alone.
    pub http_token: Option<Secret>,
    /// `MCE_HTTP_ALLOWED_HOSTS`, with commas: names under which clients reach it, besides those of this machine and `host`.
    pub http_allowed_hosts: Vec<String>,
    /// `MCE_HTTP_ALLOWED_ORIGINS`, with commas: origins of web pages that may use it, besides those of this machine.
    pub http_allowed_origins: Vec<String>,
    /// `MCE_SURFACE`, default `code`.
    pub surface: Surface,
    /// `MCE_DIRECT_NAMES`, `joined` (default) or `plain`: tools of the surface `direct` have no server in their names.
    pub has_plain_names: bool,
    /// `MCE_ENABLE_ADDITIONAL_TOOLS`, default false: `list_skills` and `get_server_skills`.
    pub has_additional_tools: bool,
    /// `MCE_COMPILE_ON_STARTUP`, default true: documents that changed are compiled in the background.
    pub compiles_on_startup: bool,
}

/// What a client sees.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Surface {
    /// Five tools; functions are called from programs.
    Code,
    /// The tools of Code Executor MCP.
    CodeExecutor,
    /// Every function is a tool, and what MCP servers have passes through.
    Direct,
    /// One tool finds functions, another calls one.
    Search,
    /// `direct` where that costs less tokens, else `code`.
    Auto,
}

impl Surface {
    /// All, the default first.
    pub(crate) const ALL: [Self; 5] = [Self::Code, Self::CodeExecutor, Self::Direct, Self::Search, Self::Auto];

    /// Its name in settings.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Code => "code",
            Self::CodeExecutor => "code-executor",
            Self::Direct => "direct",
            Self::Search => "search",
            Self::Auto => "auto",
        }
    }
}

/// The audit log. It cannot be switched off.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditSettings {
    /// The file that is written. `MCE_AUDIT_LOG_PATH` or `AUDIT_LOG_PATH`; default `audit.jsonl` in the data directory. Files
    /// that are full stand beside it.
    pub file: PathBuf,
    /// What of arguments is written. `MCE_AUDIT_ARGUMENTS`.
    pub arguments: AuditArguments,
    /// Bytes after which a new file is begun, as it is each day. `MCE_AUDIT_MAX_BYTES`, default 16 MiB.
    pub max_bytes: u64,
    /// Days for which full files are kept. `MCE_AUDIT_KEEP_DAYS` or `AUDIT_LOG_RETENTION_DAYS`, default 90.
    pub keep_days: u32,
    /// What must have reached the disk before the call is made. `MCE_AUDIT_FSYNC`.
    pub sync: AuditSync,
}

/// What the audit log holds of arguments, besides their hash.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AuditArguments {
    /// Nothing.
    None,
    /// Their names. The default.
    Names,
    /// Names and values, without secrets and cut.
    Masked,
}

/// Which records must have reached the disk before one goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AuditSync {
    /// None: the system writes them when it likes.
    Never,
    /// The intents of functions that write. The default.
    Write,
    /// All.
    Always,
}

/// The engine `docker`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DockerSettings {
    /// `MCE_DOCKER_IMAGE`, default `mce-sandbox:latest`.
    pub image: String,
    /// `MCE_DOCKER_HOST`, such as `unix:///var/run/docker.sock`; default: that of Docker.
    pub host: Option<String>,
    /// `MCE_NETWORK_MODE`, default `mce_network`.
    pub network: String,
}

/// Better descriptions by a language model at compile time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EnhanceSettings {
    /// `MCE_LLM_ENHANCE`, default false.
    pub is_enabled: bool,
    /// `MCE_LLM_MODEL` as `provider/model`, default `gemini/gemini-2.0-flash`.
    pub model: String,
    /// `MCE_LLM_API_KEY`.
    pub api_key: Option<Secret>,
}

/// Where `mce setup --python` makes a virtual environment with the data libraries.
pub fn python_environment(data_dir: &Path) -> PathBuf {
    data_dir.join("python")
}
