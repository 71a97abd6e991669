//! `mce audit`: shows the audit log, searches it, and checks that nobody changed it.

use std::collections::{HashMap, VecDeque};
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use mce_broker::{AuditReader, AuditReport, is_under_way, verify_audit};
use serde_json::{Value, json};

use super::audit_text::line_of;
use crate::cli::{AuditArgs, AuditCommand, AuditSearchArgs, AuditTailArgs, JsonArgs};
use crate::failure::Failure;
use crate::setup::Setup;
use crate::terminal::Terminal;

/// Between two looks whether there is more.
const PAUSE: Duration = Duration::from_millis(200);

pub(crate) async fn audit(setup: &Setup, args: &AuditArgs) -> Result<ExitCode, Failure> {
    let settings = setup.settings()?;
    let live = &settings.audit.file;
    match &args.command {
        AuditCommand::Tail(args) => tail(setup.terminal, live, args).await,
        AuditCommand::Search(args) => search(setup.terminal, live, args),
        AuditCommand::Verify(args) => verify(setup.terminal, (live, &settings.data_dir), args),
    }
}

async fn tail(terminal: Terminal, live: &Path, args: &AuditTailArgs) -> Result<ExitCode, Failure> {
    let mut reader = open(live)?;
    let mut last = VecDeque::new();
    while let Some(record) = next(&mut reader)? {
        last.push_back(record);
        if last.len() > args.lines {
            last.pop_front();
        }
    }
    for record in &last {
        show(terminal, record, args.json);
    }
    if !args.follow {
        return Ok(ExitCode::SUCCESS);
    }
    // Until somebody ends the process.
    loop {
        match next(&mut reader)? {
            Some(record) => show(terminal, &record, args.json),
            None => tokio::time::sleep(PAUSE).await,
        }
    }
}

fn search(terminal: Terminal, live: &Path, args: &AuditSearchArgs) -> Result<ExitCode, Failure> {
    let mut reader = open(live)?;
    let mut found = Vec::new();
    // Where the beginning of what has no end yet is among them.
    let mut open = HashMap::new();
    while let Some(record) = next(&mut reader)? {
        let text = |key: &str| record.get(key).and_then(Value::as_str);
        let key = beginning(&record);
        match (text("event"), key) {
            (Some("intent" | "started"), Some(key)) => {
                if args.takes(&record) || args.failed {
                    open.insert(key, found.len());
                    found.push(Some(record));
                }
                continue;
            }
            (Some("outcome" | "ended"), Some(key)) => {
                let place = open.remove(&key).and_then(|place| found.get_mut(place));
                // One that ended is told by its end where only failures are wanted.
                if let Some(place) = place.filter(|_| args.failed) {
                    place.take();
                }
            }
            _ => {}
        }
        if args.takes(&record) {
            found.push(Some(record));
        }
    }
    for place in open.into_values() {
        if let Some(Some(record)) = found.get_mut(place) {
            tell_no_end(record);
        }
    }
    let found: Vec<_> = found.into_iter().flatten().filter(|record| args.takes(record)).collect();
    for record in &found {
        show(terminal, record, args.json);
    }
    if found.is_empty() {
        terminal.note("no record fits");
    }
    Ok(ExitCode::SUCCESS)
}

/// What ties a beginning to its end: the call, or the run.
fn beginning(record: &Value) -> Option<String> {
    let text = |key: &str| record.get(key).and_then(Value::as_str).map(str::to_owned);
    text("call").or_else(|| text("run"))
}

/// What has begun and has no end goes on, or its process was killed and nobody knows what became of it.
fn tell_no_end(record: &mut Value) {
    let process = record.get("process").or_else(|| record.get("call")).and_then(Value::as_str);
    let goes_on = process.and_then(is_under_way).unwrap_or_default();
    record["outcome"] = if goes_on { json!("under way") } else { json!("unknown") };
}

fn verify(terminal: Terminal, (live, data_dir): (&Path, &Path), args: &JsonArgs) -> Result<ExitCode, Failure> {
    let report = verify_audit(live, data_dir).map_err(|error| Failure::internal(crate::app::chain(&error)))?;
    let code = ExitCode::from(u8::from(!report.faults.is_empty()));
    if args.json {
        terminal.json(&report)?;
        return Ok(code);
    }
    report.faults.iter().for_each(|fault| terminal.line(fault.to_string()));
    terminal.line(summary(&report));
    Ok(code)
}

fn summary(report: &AuditReport) -> String {
    let counted = |count: u64, what: &str| format!("{count} {what}{}", if count == 1 { "" } else { "s" });
    let mut text = match report.faults.len() as u64 {
        0 if report.lines == 0 => "there is no audit log yet".to_owned(),
        0 => format!(
            "{}, {} to {}: all as they were written",
            counted(report.lines, "line"),
            report.first,
            report.last
        ),
        faults => format!("{} in {}", counted(faults, "fault"), counted(report.lines, "line")),
    };
    for (count, what) in [
        (report.torn, "not written whole, when a process was killed or the disk was full"),
        (report.unrecorded, "lost, because the log could not be written"),
        (report.unchained, "from before there was a chain, which cannot be checked"),
    ] {
        if count > 0 {
            text = format!("{text}\n{count} {what}");
        }
    }
    text
}

fn open(live: &Path) -> Result<AuditReader, Failure> {
    AuditReader::open(live).map_err(|error| Failure::internal(crate::app::chain(&error)))
}

fn next(reader: &mut AuditReader) -> Result<Option<Value>, Failure> {
    reader.next_record().map_err(|error| Failure::internal(crate::app::chain(&error)))
}

fn show(terminal: Terminal, record: &Value, is_json: bool) {
    terminal.line(if is_json { record.to_string() } else { line_of(record) });
}
