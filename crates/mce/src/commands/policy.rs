//! `mce policy`: the rules, what they decide of a call, and what was allowed always.

use std::process::ExitCode;

use mce_broker::{ApprovalError, Asker, RuleFault};
use mce_config::PolicyRule;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::app::{App, chain};
use crate::cli::{AskerArg, PolicyArgs, PolicyCheckArgs, PolicyCommand};
use crate::failure::Failure;
use crate::setup::Setup;
use crate::terminal::Terminal;

pub(crate) fn policy(setup: &Setup, args: &PolicyArgs) -> Result<ExitCode, Failure> {
    let app = App::open(setup, setup.settings()?)?;
    match &args.command {
        PolicyCommand::List(args) => list(setup, &app, args.json),
        PolicyCommand::Check(args) => check(setup, &app, args),
        PolicyCommand::Forget(args) => {
            let count = app.approvals().forget(&args.which).map_err(|error| failure(&error))?;
            if args.json {
                setup.terminal.json(&json!({"forgotten": count}))
            } else {
                setup.terminal.line(format!("`{}` is asked about again", args.which));
                Ok(())
            }
        }
    }
    .map(|()| ExitCode::SUCCESS)
}

fn list(setup: &Setup, app: &App, is_json: bool) -> Result<(), Failure> {
    let policy = &app.settings().policy;
    let kept = app.approvals().kept().map_err(|error| failure(&error))?;
    let faults = app.rule_faults()?;
    let terminal = setup.terminal;
    if is_json {
        let rules: Vec<Value> = policy.rules.iter().map(rule_json).collect();
        return terminal.json(&json!({
            "rules": rules,
            "always": kept,
            "warnings": faults,
            "read_only": policy.is_read_only,
            "allowed_tools": policy.allowed_tools,
            "allowed_projects": policy.allowed_projects,
        }));
    }
    for rule in &policy.rules {
        terminal.line(format!("{}: {} {}", rule.name, rule.verdict.as_str(), mce_broker::scope(rule)));
    }
    terminal.line("default: reads and writes are allowed; a person is asked about what a client wants to destroy");
    warn_of(terminal, &faults);
    for one in &kept {
        let client = one.client.as_deref().unwrap_or("unknown");
        terminal.line(format!(
            "always {}: allow `{}` of the client `{client}`, where `{}` asks",
            one.id, one.function, one.rule
        ));
    }
    Ok(())
}

fn rule_json(rule: &PolicyRule) -> Value {
    let when: Vec<Value> = rule
        .conditions
        .iter()
        .map(|condition| {
            let comparisons = condition.comparisons.iter();
            let comparisons = comparisons.map(|comparison| (comparison.key().to_owned(), comparison.operand()));
            json!({"pointer": condition.pointer, "comparisons": comparisons.collect::<serde_json::Map<_, _>>()})
        })
        .collect();
    json!({
        "name": rule.name,
        "key": rule.key,
        "decide": rule.verdict.as_str(),
        "applies_to": mce_broker::scope(rule),
        "when": when,
        "budget": {"per_run": rule.budget.per_run, "per_minute": rule.budget.per_minute, "per_day": rule.budget.per_day},
    })
}

fn check(setup: &Setup, app: &App, args: &PolicyCheckArgs) -> Result<(), Failure> {
    let arguments = args.json.as_deref().unwrap_or("{}");
    let arguments: Box<RawValue> =
        serde_json::from_str(arguments).map_err(|error| Failure::argument(format!("`--json` is no JSON: {error}")))?;
    let asker = match args.asker {
        AskerArg::Person => Asker::Person,
        AskerArg::Model => Asker::Model,
    };
    let explained = app.explain(&args.function, &arguments, asker, args.client.clone())?;
    let faults = app.rule_faults()?;
    let terminal = setup.terminal;
    if args.json.is_some() {
        let mut told = serde_json::to_value(&explained).map_err(Failure::internal)?;
        if !faults.is_empty() {
            told["warnings"] = json!(faults);
        }
        return terminal.json(&told);
    }
    warn_of(terminal, &faults);
    let about = terminal.faint(&format!("{}  {}", explained.operation, explained.effect));
    terminal.line(format!("{}  {about}", explained.function));
    for passed in &explained.passed {
        terminal.line(format!("  {} ({}) does not fit: {}", passed.rule, passed.decide, passed.reason));
    }
    terminal.line(format!("  arguments: {}", explained.arguments));
    terminal.line(format!("  {} decides: {}", explained.rule, explained.decision));
    for budget in &explained.budgets {
        terminal.line(format!("  budget: {} of {} in a {} used", budget.used, budget.limit, budget.per));
    }
    if let Some(note) = &explained.note {
        terminal.line(format!("  {note}"));
    }
    Ok(())
}

/// Tells of rules that never fit.
pub(super) fn warn_of(terminal: Terminal, faults: &[RuleFault]) {
    for fault in faults {
        terminal.warning(&fault.to_string());
        if let Some(hint) = &fault.hint {
            terminal.note(format!("  hint: {hint}"));
        }
    }
}

/// Why approvals cannot be used.
pub(super) fn failure(error: &ApprovalError) -> Failure {
    match error {
        ApprovalError::Unknown { .. } => {
            Failure::argument(error.to_string()).with_hint("`mce approve --list` and `mce policy list` tell what there is")
        }
        ApprovalError::TooMany | ApprovalError::File(_) | ApprovalError::Store(_) => Failure::internal(chain(error)),
    }
}
