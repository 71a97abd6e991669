//! The command line of `mce setup`.

use clap::Args;

#[derive(Debug, Args)]
pub(crate) struct SetupArgs {
    /// `claude-code`, `claude-desktop`, `cursor`, `vscode`, `windsurf`, `codex`, `gemini`, `opencode`, `zed`, `goose`; without any, ask
    #[arg(value_name = "CLIENT")]
    pub(crate) clients: Vec<String>,
    /// All clients that are found
    #[arg(long, conflicts_with = "clients")]
    pub(crate) all: bool,
    /// What these clients see; by default `direct` for one that runs code over tools by itself, else `auto`
    #[arg(long, value_name = "NAME", value_parser = ["code", "code-executor", "direct", "search", "auto"], conflicts_with = "uninstall")]
    pub(crate) surface: Option<String>,
    /// The files of the project in the working directory, instead of the person's
    #[arg(long)]
    pub(crate) project: bool,
    /// Take our entry out again
    #[arg(long)]
    pub(crate) uninstall: bool,
    /// Tell what would be done, and write nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Make a virtual environment with pandas, numpy, openpyxl, httpx, pydantic and orjson in the data directory; programs use it from then on
    #[arg(long)]
    pub(crate) python: bool,
    /// Print one JSON value
    #[arg(long)]
    pub(crate) json: bool,
}
