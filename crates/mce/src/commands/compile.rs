//! `mce compile`: compiles, reports, and prints what to paste into a client's configuration.

use std::process::ExitCode;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use mce_config::Settings;
use serde_json::{Map, Value, json};

use super::policy::warn_of;
use crate::app::{App, CompileOptions, Counts, LockUse, Outcome, ServerReport, Sources};
use crate::cli::CompileArgs;
use crate::failure::Failure;
use crate::setup::Setup;
use crate::terminal::Terminal;

/// Skipped operations and problems that are printed for each server; `--json` prints all.
const LISTED: usize = 20;

pub(crate) async fn compile(setup: &Setup, args: &CompileArgs) -> Result<ExitCode, Failure> {
    let (app, reports) = compile_all(setup, args).await?;
    let terminal = setup.terminal;
    let faults = app.rule_faults()?;
    if args.json {
        let mut report = json!({"servers": reports});
        if !faults.is_empty() {
            report["policy_warnings"] = json!(faults);
        }
        terminal.json(&report)?;
    } else {
        warn_of(terminal, &faults);
        for report in &reports {
            print_report(terminal, report, |text| terminal.line(text));
        }
        if !args.dry_run {
            print_client_configuration(terminal, app.settings())?;
        }
    }
    refusals(&reports).map_or(Ok(ExitCode::SUCCESS), Err)
}

/// Compiles for `mce run`: the report goes to standard error, and what could be compiled is served.
pub(super) async fn compile_for_serving(setup: &Setup, args: &CompileArgs) -> Result<(), Failure> {
    // Rules that never fit are told by whoever serves.
    let (_, reports) = compile_all(setup, args).await?;
    for report in &reports {
        print_report(setup.terminal, report, |text| setup.terminal.note(text));
    }
    Ok(())
}

async fn compile_all(setup: &Setup, args: &CompileArgs) -> Result<(App, Vec<ServerReport>), Failure> {
    let settings = setup.settings()?;
    if let Some(name) = &args.server
        && !settings.servers.iter().any(|server| server.name == *name || server.title == *name)
    {
        let known: Vec<_> = settings.servers.iter().map(|server| format!("`{}`", server.name)).collect();
        return Err(Failure::argument(format!("there is no server `{name}`")).with_hint(format!("the servers are {}", known.join(", "))));
    }
    if settings.servers.is_empty() {
        setup.terminal.warning("no servers are configured");
        setup
            .terminal
            .note("  hint: write `mce.yaml`, such as\n    servers:\n      shop:\n        openapi: ./shop.yaml");
    }
    if args.llm_enhance {
        setup
            .terminal
            .warning("`--llm-enhance` does nothing: texts come from the documents alone");
    }
    let bar = progress(setup.terminal, settings.servers.len());
    let app = App::open(setup, settings)?;
    let options = CompileOptions {
        only: args.server.as_deref(),
        is_dry_run: args.dry_run,
        lock: match (args.lock, args.locked) {
            (_, true) => LockUse::Enforce,
            (true, false) => LockUse::Write,
            (false, false) => LockUse::Update,
        },
        sources: Sources::All,
        accepts_changes: args.accept,
    };
    let is_done = |report: &ServerReport| {
        bar.set_message(report.name.clone());
        bar.inc(1);
    };
    let reports = app.compiler().compile(options, &is_done).await;
    bar.finish_and_clear();
    Ok((app, reports?))
}

/// A bar for a person who watches; nothing otherwise.
fn progress(terminal: Terminal, servers: usize) -> ProgressBar {
    if !terminal.is_watched() || servers == 0 {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::new(u64::try_from(servers).unwrap_or(u64::MAX));
    if let Ok(style) = ProgressStyle::with_template("compiling {bar:30} {pos}/{len} {msg}") {
        bar.set_style(style);
    }
    bar.enable_steady_tick(Duration::from_millis(100));
    bar
}

fn print_report(terminal: Terminal, report: &ServerReport, print: impl Fn(String)) {
    match &report.outcome {
        Outcome::Compiled(counts) => print_counts(terminal, report, counts, &print),
        Outcome::Refused(refusal) => {
            print(format!("{} {}: {}", terminal.verdict(false, "✗"), report.name, refusal.0));
            if let Some(hint) = &refusal.0.hint {
                print(format!("    hint: {hint}"));
            }
        }
    }
    if let Some(guide) = &report.guide {
        let detail = match (&guide.error, guide.bytes) {
            (Some(error), _) => format!(": {error}"),
            (None, bytes) => format!(" ({} bytes)", bytes.unwrap_or_default()),
        };
        print(format!("    guide {} {}{detail}", guide.from, guide.state.as_str()));
    }
}

fn print_counts(terminal: Terminal, report: &ServerReport, counts: &Counts, print: &impl Fn(String)) {
    let how = if counts.unchanged {
        "unchanged".to_owned()
    } else {
        format!("{} ms", report.ms)
    };
    let skipped = if counts.skipped.is_empty() {
        String::new()
    } else {
        format!(", {} skipped", counts.skipped.len())
    };
    print(format!(
        "{} {}: {} operations, {} compiled{skipped} ({how})",
        terminal.verdict(true, "✓"),
        report.name,
        counts.operations,
        counts.compiled
    ));
    print_changes(counts, print);
    for skipped in counts.skipped.iter().take(LISTED) {
        let named = format!("{}: ", skipped.operation);
        let named = if skipped.operation.is_empty() { "" } else { &named };
        let place = format!(" ({})", skipped.pointer);
        let place = if skipped.pointer.is_empty() { "" } else { &place };
        print(format!("    skipped {named}{}{place}", skipped.reason));
    }
    for problem in counts.problems.iter().take(LISTED) {
        let place = if problem.pointer.is_empty() {
            "at the top"
        } else {
            &problem.pointer
        };
        print(format!("    problem: {} ({place})", problem.message));
    }
    let more = counts.skipped.len().saturating_sub(LISTED) + counts.problems.len().saturating_sub(LISTED);
    if more > 0 {
        print(format!("    and {more} more; `mce compile --json` lists all"));
    }
}

fn print_changes(counts: &Counts, print: &impl Fn(String)) {
    let Some(changes) = &counts.changes else { return };
    let lists = [
        ("added", &changes.listed.added),
        ("removed", &changes.listed.removed),
        ("changed", &changes.listed.changed),
    ];
    for (what, operations) in lists {
        for operation in operations.iter().take(LISTED) {
            print(format!("    {what} {operation}"));
        }
    }
    let cut: usize = lists.iter().map(|(_, operations)| operations.len().saturating_sub(LISTED)).sum();
    if cut + changes.more > 0 {
        print(format!("    and {} more changes", cut + changes.more));
    }
}

fn print_client_configuration(terminal: Terminal, settings: &Settings) -> Result<(), Failure> {
    terminal.line("\n--- MCP Server Config (add to your MCP client) ---");
    let text = serde_json::to_string_pretty(&client_configuration(settings)?).map_err(Failure::internal)?;
    terminal.line(text);
    Ok(())
}

/// Variables that say where this program's files are, for whatever environment a client starts it in.
pub(super) fn locations(settings: &Settings) -> Vec<(String, String)> {
    let data = ("MCE_DATA_DIR", Some(&settings.data_dir));
    let swagger = ("MCE_SWAGGER_CONFIG_FILE", settings.swagger_file.as_ref());
    [data, swagger]
        .into_iter()
        .filter_map(|(name, path)| Some((name.to_owned(), path?.display().to_string())))
        .collect()
}

/// What a client needs to start this program with the same configuration. Absolute paths; no secret.
fn client_configuration(settings: &Settings) -> Result<Value, Failure> {
    let program = std::env::current_exe().map_err(Failure::internal)?;
    let mut args = vec![json!("serve")];
    if let Some(file) = &settings.config_file {
        args.extend([json!("--config"), json!(file)]);
    }
    if let Some(file) = &settings.env_file {
        args.extend([json!("--env-file"), json!(file)]);
    }
    let environment: Map<String, Value> = locations(settings).into_iter().map(|(name, path)| (name, json!(path))).collect();
    Ok(json!({"mcpServers": {"mce": {"command": program, "args": args, "env": environment}}}))
}

/// The failure of the whole, if a server of ours was refused. What another program's file has wrong is told, but is no failure.
fn refusals(reports: &[ServerReport]) -> Option<Failure> {
    let refused: Vec<_> = reports
        .iter()
        .filter(|report| !report.is_discovered)
        .filter_map(|report| Some((&report.name, report.failure()?)))
        .collect();
    let (name, first) = refused.first()?;
    let mut failure = Failure::new(
        first.kind,
        format!(
            "{} of {} servers could not be compiled; `{name}`: {first}",
            refused.len(),
            reports.len()
        ),
    );
    failure.hint.clone_from(&first.hint);
    Some(failure)
}
