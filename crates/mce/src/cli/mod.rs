//! The command line as typed. What is meant by it is decided by the commands themselves.

mod audit;
mod moment;
mod policy;
mod recipes;
mod setup;

use std::collections::BTreeMap;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

pub(crate) use audit::{AuditArgs, AuditCommand, AuditSearchArgs, AuditTailArgs};
pub(crate) use policy::{ApproveArgs, AskerArg, PolicyArgs, PolicyCheckArgs, PolicyCommand};
pub(crate) use recipes::{RecipesArgs, RecipesCommand, RunRecipeArgs, SaveArgs};
pub(crate) use setup::SetupArgs;

/// APIs become typed functions that a language model calls by writing code, which runs in a jail.
#[derive(Debug, Parser)]
#[command(name = "mce", version, max_term_width = 100, arg_required_else_help = false)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) global: GlobalArgs,
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
}

/// Options that every command takes, before or after its name.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct GlobalArgs {
    /// The `mce.yaml` to use [env: `MCE_CONFIG`]
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// The file with variables to use instead of `.env`
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) env_file: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Compile the configured documents into functions
    Compile(CompileArgs),
    /// Remove what was compiled and cached; `clean compile` compiles anew
    Clean(CleanArgs),
    /// Serve MCP
    Serve(ServeArgs),
    /// Compile, then serve MCP
    Run(ServeArgs),
    /// Put an entry for this program into the files of MCP clients, or take it out again
    Setup(SetupArgs),
    /// Look at the configuration
    Config(ConfigArgs),
    /// List functions, or show what a model sees of one
    Functions(FunctionsArgs),
    /// Search for functions
    Search(SearchArgs),
    /// Call one function
    Call(CallArgs),
    /// Run a program in the jail
    Exec(ExecArgs),
    /// Look at recipes, save them for good, run them
    Recipes(RecipesArgs),
    /// Look at the audit log
    Audit(AuditArgs),
    /// Look at the rules about calls
    Policy(PolicyArgs),
    /// Allow or deny calls that wait for a person; without an id, ask about all that come
    Approve(ApproveArgs),
    /// Log in to MCP servers and APIs that want that
    Auth(AuthArgs),
    /// Check whether all that is needed is there
    Doctor(JsonArgs),
    /// Play a whole conversation against a small API that is part of this program
    Demo,
}

impl Command {
    /// Settings that were typed as options, by their keys.
    pub(crate) fn settings(&self) -> BTreeMap<String, String> {
        match self {
            Self::Serve(args) | Self::Run(args) => args.settings(),
            _ => BTreeMap::new(),
        }
    }
}

#[derive(Debug, Clone, Args)]
pub(crate) struct JsonArgs {
    /// Print one JSON value
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Clone, Args)]
pub(crate) struct CompileArgs {
    /// Read and check, but write nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Only this server
    #[arg(long, value_name = "NAME")]
    pub(crate) server: Option<String>,
    /// Write the documents' hashes to `mce.lock`, beside `mce.yaml`; one that exists is always kept up to date
    #[arg(long)]
    pub(crate) lock: bool,
    /// Refuse documents that are not as they are in `mce.lock`
    #[arg(long, conflicts_with = "lock")]
    pub(crate) locked: bool,
    /// Take over changed tools of MCP servers with `pin: true`
    #[arg(long)]
    pub(crate) accept: bool,
    /// Print one JSON value
    #[arg(long)]
    pub(crate) json: bool,
    /// Accepted for compatibility; texts come from the documents alone
    #[arg(long, hide = true)]
    pub(crate) llm_enhance: bool,
}

#[derive(Debug, Args)]
pub(crate) struct CleanArgs {
    #[command(subcommand)]
    pub(crate) then: Option<CleanThen>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum CleanThen {
    /// Compile after cleaning
    Compile(CompileArgs),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Transport {
    /// Standard input and output
    Stdio,
    /// Streamable HTTP at `/mcp`
    #[value(alias = "streamable-http")]
    Http,
}

#[derive(Debug, Args)]
pub(crate) struct ServeArgs {
    /// How clients reach it
    #[arg(long, value_enum, default_value_t = Transport::Stdio)]
    pub(crate) transport: Transport,
    /// Where HTTP is served [env: `MCE_HOST`] [default: 127.0.0.1]
    #[arg(long, value_name = "HOST")]
    pub(crate) host: Option<String>,
    /// Its port [env: `MCE_PORT`] [default: 8000]
    #[arg(long, value_name = "PORT")]
    pub(crate) port: Option<String>,
    /// What clients see [env: `MCE_SURFACE`] [default: code]
    #[arg(long, value_name = "NAME", value_parser = ["code", "code-executor", "direct", "search", "auto"])]
    pub(crate) surface: Option<String>,
}

impl ServeArgs {
    /// What was typed of settings, by their keys.
    fn settings(&self) -> BTreeMap<String, String> {
        let typed = [
            ("host", self.host.clone()),
            ("port", self.port.clone()),
            ("surface", self.surface.clone()),
        ];
        typed
            .into_iter()
            .filter_map(|(key, value)| Some((key.to_owned(), value?)))
            .collect()
    }
}

#[derive(Debug, Args)]
pub(crate) struct ConfigArgs {
    #[command(subcommand)]
    pub(crate) command: ConfigCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// Print every value and where it came from; secrets are masked
    Show(JsonArgs),
}

#[derive(Debug, Args)]
pub(crate) struct FunctionsArgs {
    /// Only this server
    pub(crate) server: Option<String>,
    /// Show what a model sees of this function: `SERVER.FUNCTION`
    #[arg(long, value_name = "NAME", conflicts_with_all = ["server", "json"])]
    pub(crate) show: Option<String>,
    /// Show this type, which what a model sees of the function names without showing it (may be repeated)
    #[arg(long = "type", value_name = "NAME", requires = "show")]
    pub(crate) types: Vec<String>,
    /// The language of what is shown
    #[arg(long, value_enum, default_value_t = LanguageArg::Python, requires = "show")]
    pub(crate) language: LanguageArg,
    /// Print one JSON value
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct SearchArgs {
    /// What to look for
    #[arg(required = true, value_name = "WORDS")]
    pub(crate) words: Vec<String>,
    /// Only this server
    #[arg(long)]
    pub(crate) server: Option<String>,
    /// At most so many
    #[arg(long, default_value_t = 8, value_parser = clap::value_parser!(u16).range(1..=100))]
    pub(crate) limit: u16,
    /// Print one JSON value
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct CallArgs {
    /// `SERVER.FUNCTION` or `SERVER:METHOD /path`, then `--json '{"argument": value}'`, or `--ARGUMENT VALUE` for each; a value is
    /// JSON, else a text. `--config` and `--env-file` are this program's after the function too, unless that has an argument of
    /// the same name: then type them before it
    #[arg(value_names = ["FUNCTION", "ARGUMENTS"], num_args = 1.., required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    pub(crate) words: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum LanguageArg {
    /// `CPython`
    Python,
    /// TypeScript
    Typescript,
}

#[derive(Debug, Args)]
pub(crate) struct ExecArgs {
    /// The program's file; `-` for standard input
    pub(crate) file: PathBuf,
    /// The program's language; by default that of the file's name, else Python
    #[arg(long, value_enum)]
    pub(crate) language: Option<LanguageArg>,
    /// A top-level variable's value, as JSON, else a text
    #[arg(long = "param", value_name = "NAME=VALUE")]
    pub(crate) params: Vec<String>,
    /// Print one JSON value
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct AuthArgs {
    #[command(subcommand)]
    pub(crate) command: AuthCommand,
}

impl AuthArgs {
    /// Whether a program reads what is printed.
    pub(crate) const fn is_json(&self) -> bool {
        match &self.command {
            AuthCommand::Login(args) => args.json,
            AuthCommand::Logout(args) => args.json,
            AuthCommand::Status(args) => args.json,
        }
    }
}

#[derive(Debug, Subcommand)]
pub(crate) enum AuthCommand {
    /// Log in to a server, in a browser
    Login(LoginArgs),
    /// Forget the login at a server
    Logout(LogoutArgs),
    /// Show where somebody is logged in
    Status(StatusArgs),
}

#[derive(Debug, Args)]
pub(crate) struct LoginArgs {
    /// The server's name
    pub(crate) server: String,
    /// Only print the URL; what the browser ends at may be pasted
    #[arg(long)]
    pub(crate) no_browser: bool,
    /// Log in at another device, by a code that is typed there: for machines without a browser
    #[arg(long)]
    pub(crate) device: bool,
    /// Print one JSON value, and the URL (and the code) as one on standard error
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct LogoutArgs {
    /// The server's name
    pub(crate) server: String,
    /// Print one JSON value
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct StatusArgs {
    /// Only this server
    pub(crate) server: Option<String>,
    /// Print one JSON value
    #[arg(long)]
    pub(crate) json: bool,
}
