//! `mce policy` and `mce approve` as typed.

use clap::{Args, Subcommand, ValueEnum};

use super::JsonArgs;

#[derive(Debug, Args)]
pub(crate) struct PolicyArgs {
    #[command(subcommand)]
    pub(crate) command: PolicyCommand,
}

impl PolicyArgs {
    /// Whether a program reads what is printed.
    pub(crate) const fn is_json(&self) -> bool {
        match &self.command {
            PolicyCommand::Check(args) => args.json.is_some(),
            PolicyCommand::List(args) => args.json,
            PolicyCommand::Forget(args) => args.json,
        }
    }
}

#[derive(Debug, Subcommand)]
pub(crate) enum PolicyCommand {
    /// List the rules, and what was allowed always
    List(JsonArgs),
    /// Say what would be decided of a call, and why; nothing is called
    Check(PolicyCheckArgs),
    /// Ask again about what was allowed always
    Forget(ForgetArgs),
}

#[derive(Debug, Args)]
pub(crate) struct PolicyCheckArgs {
    /// `SERVER.FUNCTION` or `SERVER:METHOD /path`; `mce.fetch` for a program's own requests
    pub(crate) function: String,
    /// All arguments, as one JSON object; prints one JSON value
    #[arg(long, value_name = "ARGUMENTS")]
    pub(crate) json: Option<String>,
    /// Who asks
    #[arg(long, value_enum, default_value_t = AskerArg::Model)]
    pub(crate) asker: AskerArg,
    /// What the client calls itself
    #[arg(long, value_name = "NAME")]
    pub(crate) client: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum AskerArg {
    /// Somebody who types a command
    Person,
    /// A client
    Model,
}

#[derive(Debug, Args)]
pub(crate) struct ForgetArgs {
    /// Its number in `mce policy list`, or `SERVER.FUNCTION`
    pub(crate) which: String,
    /// Print one JSON value
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ApproveArgs {
    /// The call's id, as the client was told it
    pub(crate) id: Option<String>,
    /// Allow it, once
    #[arg(long, requires = "id", conflicts_with_all = ["always", "deny"])]
    pub(crate) yes: bool,
    /// Allow this function to this client always, where the same rule asks
    #[arg(long, requires = "id", conflicts_with = "deny")]
    pub(crate) always: bool,
    /// Deny it
    #[arg(long, requires = "id")]
    pub(crate) deny: bool,
    /// List what waits
    #[arg(long, conflicts_with = "id")]
    pub(crate) list: bool,
    /// Print one JSON value
    #[arg(long)]
    pub(crate) json: bool,
}
