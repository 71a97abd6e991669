//! `mce audit` as typed, and which records a search takes.

use clap::{Args, Subcommand};
use serde_json::Value;

use super::JsonArgs;
use super::moment::{first_moment, last_moment};

#[derive(Debug, Args)]
pub(crate) struct AuditArgs {
    #[command(subcommand)]
    pub(crate) command: AuditCommand,
}

impl AuditArgs {
    /// Whether a program reads what is printed.
    pub(crate) const fn is_json(&self) -> bool {
        match &self.command {
            AuditCommand::Tail(args) => args.json,
            AuditCommand::Search(args) => args.json,
            AuditCommand::Verify(args) => args.json,
        }
    }
}

#[derive(Debug, Subcommand)]
pub(crate) enum AuditCommand {
    /// Show the last records
    Tail(AuditTailArgs),
    /// Show the records that fit all of what is said
    Search(AuditSearchArgs),
    /// Check that no record was changed, removed or inserted; exit code 1 if one was
    Verify(JsonArgs),
}

#[derive(Debug, Args)]
pub(crate) struct AuditTailArgs {
    /// How many
    #[arg(short = 'n', long, default_value_t = 20, value_name = "N")]
    pub(crate) lines: usize,
    /// Go on with those that are written from now on
    #[arg(long, short)]
    pub(crate) follow: bool,
    /// Print records as JSON, one in a line
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct AuditSearchArgs {
    /// Of this run
    #[arg(long, value_name = "ID")]
    pub(crate) run: Option<String>,
    /// Of functions like this: `*` stands for any characters
    #[arg(long, value_name = "GLOB")]
    pub(crate) function: Option<String>,
    /// From this time on: `2026-01-31`, `2026-01-31T12:00:00Z`, or `90s`, `15m`, `2h`, `7d` ago
    #[arg(long, value_name = "TIME", value_parser = first_moment)]
    pub(crate) since: Option<String>,
    /// Up to this time; a day up to its end
    #[arg(long, value_name = "TIME", value_parser = last_moment)]
    pub(crate) until: Option<String>,
    /// Of this kind
    #[arg(long, value_name = "KIND", value_parser = ["intent", "outcome", "refused", "started", "ended", "log"])]
    pub(crate) event: Option<String>,
    /// What failed, was refused, or has no known outcome
    #[arg(long)]
    pub(crate) failed: bool,
    /// Print records as JSON, one in a line
    #[arg(long)]
    pub(crate) json: bool,
}

impl AuditSearchArgs {
    /// Whether a record is one of those that are looked for.
    pub(crate) fn takes(&self, record: &Value) -> bool {
        let text = |key: &str| record.get(key).and_then(Value::as_str).unwrap_or_default();
        let is_as = |wanted: &Option<String>, key: &str| wanted.as_deref().is_none_or(|wanted| wanted == text(key));
        let is_failure = record.get("ok") == Some(&Value::Bool(false)) || text("event") == "refused" || text("outcome") == "unknown";
        is_as(&self.run, "run")
            && is_as(&self.event, "event")
            && self.function.as_deref().is_none_or(|glob| is_like(glob, text("function")))
            // Times of one form are in the order of their texts.
            && self.since.as_deref().is_none_or(|since| text("time") >= since)
            && self.until.as_deref().is_none_or(|until| text("time") <= until)
            && (!self.failed || is_failure)
    }
}

/// Whether a name is like a pattern in which `*` stands for any characters.
fn is_like(glob: &str, name: &str) -> bool {
    let mut parts = glob.split('*');
    let Some(mut rest) = name.strip_prefix(parts.next().unwrap_or_default()) else {
        return false;
    };
    let Some(end) = parts.next_back() else {
        return rest.is_empty();
    };
    for part in parts {
        let Some((_, after)) = rest.split_once(part) else { return false };
        rest = after;
    }
    rest.ends_with(end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_any_characters() {
        for (glob, name, expected) in [
            ("shop.get_item", "shop.get_item", true),
            ("shop.get_item", "shop.get_items", false),
            ("shop.*", "shop.get_item", true),
            ("shop.*", "shopping", false),
            ("*item", "shop.get_item", true),
            ("*", "", true),
            ("s*.g*_i*m", "shop.get_item", true),
            ("a*a", "a", false),
            ("*get*get*", "shop.get", false),
        ] {
            assert_eq!(is_like(glob, name), expected, "{glob} {name}");
        }
    }
}
