//! `mce doctor`: whether all that is needed is there, and what to do where it is not.

use std::process::ExitCode;

use mce_broker::{UpstreamError, UpstreamStatus};
use mce_config::ServerSettings;
use mce_sandbox::SandboxFacts;
use serde::Serialize;
use serde_json::json;

use crate::app::App;
use crate::cli::JsonArgs;
use crate::failure::Failure;
use crate::setup::Setup;

/// Lines that are shown of what an MCP server printed before it failed.
const PRINTED_LINES: usize = 5;

/// One thing that was looked at.
#[derive(Debug, Serialize)]
struct Check {
    name: String,
    ok: bool,
    detail: String,
    fix: String,
}

impl Check {
    fn good(name: &str, detail: impl Into<String>) -> Self {
        Self {
            name: name.to_owned(),
            ok: true,
            detail: detail.into(),
            fix: String::new(),
        }
    }

    fn bad(name: &str, detail: impl Into<String>, fix: impl Into<String>) -> Self {
        Self {
            name: name.to_owned(),
            ok: false,
            detail: detail.into(),
            fix: fix.into(),
        }
    }
}

pub(crate) async fn doctor(setup: &Setup, args: &JsonArgs) -> Result<ExitCode, Failure> {
    let (checks, is_ok) = match setup.load() {
        Ok((settings, report)) => {
            crate::logging::start("warn");
            let detail = format!("{} servers, {} warnings", settings.servers.len(), report.warnings.len());
            let mut checks = vec![Check::good("configuration", detail)];
            checks.extend(report.warnings.iter().map(|warning| Check {
                name: "configuration warning".to_owned(),
                ok: true,
                detail: warning.to_string(),
                fix: warning.hint.clone().unwrap_or_default(),
            }));
            checks.extend(report.notes.iter().map(|note| Check::good("server left out", note.to_string())));
            checks.extend(settings.servers.iter().flat_map(server));
            match App::open(setup, std::sync::Arc::new(settings)) {
                Ok(app) => {
                    checks.extend(catalog(&app));
                    checks.extend(rules(&app));
                    checks.extend(mcp_servers(&app).await);
                    let facts = app.inspect_sandbox().await;
                    app.close().await;
                    // A layer that is off is told, but what counts is whether the jail may run at all.
                    let is_jailed = facts.jail.is_ok() && facts.python.is_ok();
                    checks.extend(sandbox(&facts));
                    let is_ok = is_jailed && checks.iter().all(|check| check.ok || check.name.starts_with("layer "));
                    (checks, is_ok)
                }
                Err(failure) => {
                    checks.push(Check::bad("state", failure.message, failure.hint.unwrap_or_default()));
                    (checks, false)
                }
            }
        }
        Err(failure) => (
            vec![Check::bad("configuration", failure.message, failure.hint.unwrap_or_default())],
            false,
        ),
    };
    print(setup, args, &checks, is_ok)?;
    Ok(if is_ok { ExitCode::SUCCESS } else { ExitCode::from(1) })
}

fn print(setup: &Setup, args: &JsonArgs, checks: &[Check], is_ok: bool) -> Result<(), Failure> {
    let terminal = setup.terminal;
    if args.json {
        return terminal.json(&json!({"ok": is_ok, "checks": checks}));
    }
    for check in checks {
        terminal.line(format!(
            "{} {}: {}",
            terminal.verdict(check.ok, if check.ok { "✓" } else { "✗" }),
            check.name,
            check.detail
        ));
        if !check.fix.is_empty() {
            terminal.line(format!("    {}", check.fix));
        }
    }
    Ok(())
}

/// Where a server comes from, and which of its variables have no value.
fn server(server: &ServerSettings) -> Vec<Check> {
    let file = server.entry.file.as_ref().map_or(String::new(), |file| file.display().to_string());
    let also: Vec<String> = server.entry.also.iter().map(|file| format!(", {}", file.display())).collect();
    let from = Check::good("server", format!("`{}` from {file}{}", server.name, also.concat()));
    let missing = server.unresolved.iter().map(|missing| Check {
        name: "variables".to_owned(),
        // What another program's file lacks keeps nothing of ours from working.
        ok: server.entry.is_discovered(),
        detail: format!("{}: {}: nothing defines `${{{}}}`", missing.file, missing.key, missing.variable),
        fix: missing.advice(),
    });
    let tls = mce_broker::tls_fault(server).map(|fault| Check {
        // What another program's file names keeps nothing of ours from working.
        ok: server.entry.is_discovered(),
        ..Check::bad("TLS files", fault, format!("look at `servers.{}.tls`", server.title))
    });
    std::iter::once(from).chain(missing).chain(tls).collect()
}

fn catalog(app: &App) -> Vec<Check> {
    let servers = match app.discovery().summaries() {
        Ok(servers) => servers,
        Err(failure) => return vec![Check::bad("catalog", failure.message, failure.hint.unwrap_or_default())],
    };
    let missing = servers.iter().filter(|server| !server.is_compiled);
    let mut checks: Vec<_> = missing
        .map(|server| Check {
            name: "catalog".to_owned(),
            // What another program's file has keeps nothing of ours from working.
            ok: is_discovered(app, &server.name),
            detail: format!("`{}` is not compiled", server.name),
            fix: "run `mce compile`".to_owned(),
        })
        .collect();
    let functions: u32 = servers.iter().map(|server| server.functions).sum();
    checks.push(Check::good(
        "catalog",
        format!("{functions} functions of {} servers", servers.len()),
    ));
    checks
}

/// Rules that never fit.
fn rules(app: &App) -> Vec<Check> {
    let faults = app.rule_faults().unwrap_or_default().into_iter();
    let checks = faults.map(|fault| Check {
        fix: fault.hint.clone().unwrap_or_default(),
        ..Check::good("policy warning", fault.to_string())
    });
    checks.collect()
}

fn is_discovered(app: &App, name: &str) -> bool {
    app.settings().server(name).is_some_and(|server| server.entry.is_discovered())
}

/// Connects to every MCP server, all at the same time.
async fn mcp_servers(app: &App) -> Vec<Check> {
    let states = app.connect_upstreams().await;
    let checks = states.into_iter().map(|state| match state.status {
        UpstreamStatus::Connected {
            protocol, name, version, ..
        } => Check::good(
            "MCP server",
            format!("`{}` is connected: {name} {version}, MCP {protocol}", state.server),
        ),
        UpstreamStatus::Failed { error, .. } => {
            let printed: Vec<String> = state.printed.iter().rev().take(PRINTED_LINES).rev().cloned().collect();
            let printed = if printed.is_empty() {
                String::new()
            } else {
                format!("; it printed: {}", printed.join(" | "))
            };
            Check {
                name: "MCP server".to_owned(),
                ok: is_discovered(app, &state.server),
                detail: format!("{error}{printed}"),
                fix: match &*error {
                    // Its usual advice is to come here.
                    UpstreamError::CannotStart { .. } | UpstreamError::Exited { .. } => {
                        format!("look at `command`, `args`, `env` and `cwd` of `{}`", state.server)
                    }
                    other => other.hint().unwrap_or_default(),
                },
            }
        }
        UpstreamStatus::NotStarted | UpstreamStatus::Starting | UpstreamStatus::Closed => Check {
            name: "MCP server".to_owned(),
            ok: true,
            detail: format!("`{}` is not connected", state.server),
            fix: String::new(),
        },
    });
    checks.collect()
}

fn sandbox(facts: &SandboxFacts) -> Vec<Check> {
    let mut checks = Vec::new();
    match &facts.python {
        Ok(python) => {
            let libraries: Vec<_> = python.libraries.iter().map(|(name, version)| format!("{name} {version}")).collect();
            let libraries = if libraries.is_empty() {
                "no data libraries".to_owned()
            } else {
                libraries.join(", ")
            };
            checks.push(Check::good(
                "python",
                format!("{} {}; {libraries}", python.executable.display(), python.version),
            ));
        }
        Err(error) => checks.push(Check::bad("python", error.to_string(), error.hint().unwrap_or_default())),
    }
    for layer in &facts.layers {
        let name = format!("layer {}", layer.name);
        checks.push(Check {
            name,
            ok: layer.is_on,
            detail: layer.detail.clone(),
            fix: layer.fix.clone(),
        });
    }
    match &facts.jail {
        Ok(_) => checks.push(Check::good("jail", "a worker starts in it")),
        Err(error) => checks.push(Check::bad("jail", error.to_string(), error.hint().unwrap_or_default())),
    }
    checks
}
