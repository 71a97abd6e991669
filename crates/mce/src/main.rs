//! The program: reads the command line, loads the configuration, runs one command, and turns its end into an exit code.
//! 0 success, 1 the work failed, 2 usage.

mod app;
mod at_terminal;
mod cli;
mod commands;
mod demo;
mod failure;
mod logging;
mod replaced_file;
mod server;
mod setup;
mod terminal;
mod tokens;
mod waiting_clock;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{CommandFactory, Parser};

use crate::cli::{Cli, Command};
use crate::failure::Failure;
use crate::setup::Setup;
use crate::terminal::Terminal;

/// A large document compiles in two thirds of the time that it takes with the allocator of glibc.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// The first argument that makes this executable a jail's launcher; no command has this name.
const JAIL_ROLE: &str = "__jail";

/// The first argument that makes it the fork server for TypeScript inside a jail.
const TYPESCRIPT_ROLE: &str = "__typescript";

fn main() -> ExitCode {
    // The same executable starts jails and runs in them: in these roles nothing of the program proper is run.
    let role = std::env::args_os().nth(1).unwrap_or_default();
    if role == JAIL_ROLE {
        return mce_jail::launcher_main();
    }
    if role == TYPESCRIPT_ROLE {
        return mce_sandbox::typescript_fork_server_main();
    }
    // Where the system uses huge pages everywhere, they double the memory of an idle server and of each worker. Inherited by
    // all processes that are started; without it everything works.
    let _ = rustix::thread::disable_transparent_huge_pages(true);
    let environment = mce_config::env::snapshot();
    let terminal = Terminal::new(environment.get("NO_COLOR").is_some_and(|value| !value.is_empty()));
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            // Usage goes to stderr with code 2, help and version to stdout with code 0.
            let _ = error.print();
            return ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2));
        }
    };
    let Some(command) = cli.command else {
        terminal.line(Cli::command().render_help().to_string());
        return ExitCode::SUCCESS;
    };
    let is_json = wants_json(&command);
    let arguments = command.settings();
    let started = working_dir().and_then(|working_dir| {
        start(
            &Setup {
                global: cli.global,
                working_dir,
                environment,
                terminal,
                is_json,
                arguments,
            },
            command,
        )
    });
    match started {
        Ok(_) if terminal::lost_output() => {
            terminal.failure(&Failure::internal("the output could not be written"), is_json);
            ExitCode::from(1)
        }
        Ok(code) => code,
        Err(failure) => {
            terminal.failure(&failure, is_json);
            ExitCode::from(1)
        }
    }
}

fn start(setup: &Setup, command: Command) -> Result<ExitCode, Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(Failure::internal)?;
    let result = runtime.block_on(dispatch(setup, command));
    // What still waits for input, such as a read of stdin, must not keep the process.
    runtime.shutdown_background();
    result
}

#[expect(
    clippy::disallowed_methods,
    reason = "the one place that asks for the process's directory: paths typed by a person start there"
)]
fn working_dir() -> Result<PathBuf, Failure> {
    std::env::current_dir().map_err(|error| Failure::internal(format!("the working directory cannot be read: {error}")))
}

async fn dispatch(setup: &Setup, command: Command) -> Result<ExitCode, Failure> {
    match command {
        Command::Compile(args) => commands::compile(setup, &args).await,
        Command::Clean(args) => commands::clean(setup, args).await,
        Command::Serve(args) => commands::serve(setup, &args).await,
        Command::Run(args) => commands::run(setup, &args).await,
        Command::Setup(args) => commands::setup(setup, &args).await,
        Command::Config(args) => commands::config(setup, &args),
        Command::Functions(args) => commands::functions(setup, &args),
        Command::Search(args) => commands::search(setup, &args),
        Command::Call(args) => commands::call(setup, args).await,
        Command::Exec(args) => commands::exec(setup, &args).await,
        Command::Recipes(args) => commands::recipes(setup, &args).await,
        Command::Audit(args) => commands::audit(setup, &args).await,
        Command::Policy(args) => commands::policy(setup, &args),
        Command::Approve(args) => commands::approve(setup, &args).await,
        Command::Auth(args) => Box::pin(commands::auth(setup, &args)).await,
        Command::Doctor(args) => commands::doctor(setup, &args).await,
        Command::Demo => demo::play(setup).await,
    }
}

/// Whether a program reads what this command prints.
fn wants_json(command: &Command) -> bool {
    match command {
        Command::Compile(args) => args.json,
        Command::Clean(args) => matches!(&args.then, Some(cli::CleanThen::Compile(args)) if args.json),
        Command::Config(args) => matches!(&args.command, cli::ConfigCommand::Show(args) if args.json),
        Command::Setup(args) => args.json,
        Command::Functions(args) => args.json,
        Command::Search(args) => args.json,
        Command::Call(args) => args.words.iter().any(|word| word == "--json" || word.starts_with("--json=")),
        Command::Exec(args) => args.json,
        Command::Recipes(args) => args.is_json(),
        Command::Audit(args) => args.is_json(),
        Command::Policy(args) => args.is_json(),
        Command::Approve(args) => args.json,
        Command::Auth(args) => args.is_json(),
        Command::Doctor(args) => args.json,
        Command::Serve(_) | Command::Run(_) | Command::Demo => false,
    }
}
