//! `mce approve`: a person answers calls that wait for it.

use std::process::ExitCode;
use std::time::{Duration, SystemTime};

use mce_broker::{ApprovalAnswer, PendingApproval};
use serde_json::json;

use super::policy::failure;
use crate::app::App;
use crate::at_terminal::{ask_person, is_there};
use crate::cli::ApproveArgs;
use crate::failure::Failure;
use crate::setup::Setup;

/// Between two looks for calls that wait.
const LOOK_INTERVAL: Duration = Duration::from_millis(500);

/// Characters of arguments in a list.
const LISTED_CHARS: usize = 4_000;

pub(crate) async fn approve(setup: &Setup, args: &ApproveArgs) -> Result<ExitCode, Failure> {
    let app = App::open(setup, setup.settings()?)?;
    match &args.id {
        Some(id) => answer(setup, &app, args, id).await?,
        None if args.list || args.json => list(setup, &app, args.json)?,
        None if is_there() => watch(setup, &app).await?,
        None => {
            return Err(Failure::argument("there is no terminal to ask at")
                .with_hint("`mce approve --list` tells what waits, `mce approve ID --yes` or `--deny` answers it"));
        }
    }
    Ok(ExitCode::SUCCESS)
}

async fn answer(setup: &Setup, app: &App, args: &ApproveArgs, id: &str) -> Result<(), Failure> {
    let pending = waiting(app)?.into_iter().find(|pending| pending.id == id);
    let pending = pending.ok_or_else(|| {
        Failure::argument(format!("nothing waits under `{id}`"))
            .with_hint("it was answered or has expired; `mce approve --list` tells what waits")
    })?;
    let answer = if args.yes {
        Some(ApprovalAnswer::Once)
    } else if args.always {
        Some(ApprovalAnswer::Always)
    } else if args.deny {
        Some(ApprovalAnswer::Deny)
    } else if is_there() {
        ask_person(setup.terminal, &about(&pending)).await
    } else {
        return Err(Failure::argument("there is no terminal to ask at").with_hint("say `--yes`, `--always` or `--deny`"));
    };
    let Some(answer) = answer else { return Ok(()) };
    give(app, id, answer)?;
    if args.json {
        return setup
            .terminal
            .json(&json!({"id": id, "function": pending.function, "answer": word(answer)}));
    }
    setup.terminal.line(format!("`{}`: {}", pending.function, word(answer)));
    Ok(())
}

fn list(setup: &Setup, app: &App, is_json: bool) -> Result<(), Failure> {
    let all = app.approvals().list(SystemTime::now()).map_err(|error| failure(&error))?;
    if is_json {
        return setup.terminal.json(&all);
    }
    if all.is_empty() {
        setup.terminal.note("nothing waits");
    }
    for pending in all {
        let (id, state) = (pending.id.clone(), pending.state.clone());
        setup.terminal.line(format!("{id}  {state}\n{}\n", about(&listed(pending))));
    }
    Ok(())
}

/// Asks about all that waits and comes, until standard input ends.
async fn watch(setup: &Setup, app: &App) -> Result<(), Failure> {
    setup.terminal.note("Waiting for calls to ask about; Ctrl-C ends this.");
    loop {
        let Some(pending) = waiting(app)?.into_iter().next() else {
            tokio::time::sleep(LOOK_INTERVAL).await;
            continue;
        };
        let Some(answer) = ask_person(setup.terminal, &about(&pending)).await else {
            return Ok(());
        };
        match give(app, &pending.id, answer) {
            Ok(()) => setup.terminal.note(format!("`{}`: {}", pending.function, word(answer))),
            Err(failure) => setup.terminal.failure(&failure, false),
        }
    }
}

fn waiting(app: &App) -> Result<Vec<PendingApproval>, Failure> {
    let all = app.approvals().list(SystemTime::now()).map_err(|error| failure(&error))?;
    Ok(all.into_iter().filter(|pending| pending.state == "waiting").collect())
}

fn give(app: &App, id: &str, answer: ApprovalAnswer) -> Result<(), Failure> {
    let answered = app.approvals().answer(id, answer, SystemTime::now());
    answered.map(drop).map_err(|error| failure(&error))
}

/// The same with arguments of a length that suits a list.
fn listed(mut pending: PendingApproval) -> PendingApproval {
    let left_out = pending.arguments.chars().count().saturating_sub(LISTED_CHARS);
    if left_out > 0 {
        let start: String = pending.arguments.chars().take(LISTED_CHARS).collect();
        pending.arguments = format!("{start} [{left_out} more characters: `mce approve {}` shows them]", pending.id);
    }
    pending
}

fn about(pending: &PendingApproval) -> String {
    let client = pending.client.as_deref().unwrap_or("unknown");
    let host = pending
        .host
        .as_deref()
        .map_or_else(String::new, |host| format!("\nhost: {}", mce_broker::escaped(host)));
    format!(
        "function: {} ({})\noperation: {}{host}\narguments: {}\nclient: {}\nasked by rule: {}",
        pending.function,
        pending.effect,
        mce_broker::escaped(&pending.operation),
        pending.arguments,
        mce_broker::escaped(client),
        pending.rule
    )
}

const fn word(answer: ApprovalAnswer) -> &'static str {
    match answer {
        ApprovalAnswer::Once => "allowed once",
        ApprovalAnswer::Always => "allowed always",
        ApprovalAnswer::Deny => "denied",
    }
}
