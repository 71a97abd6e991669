//! What the policy decides of a call: the list of allowed functions, then the first rule that fits, then the default.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use mce_catalog::function::Effect;
use mce_config::{Budget, PolicyRule, PolicySettings, Settings, Verdict};

use super::decision::{DEFAULT, Decision};
use super::facts::Facts;
use super::glob::is_glob_match;
use super::ledger::Approvals;
use super::rules::{first_match, scope};
use crate::call_error::CallError;
use crate::run_context::Asker;

/// Runs whose calls are counted; more are never under way at the same time.
const MAX_RUNS: usize = 2048;
/// What the policy keeps across restarts, in the data directory.
const FILE_NAME: &str = "approvals.db";
pub(super) const MINUTE: Duration = Duration::from_mins(1);
pub(super) const DAY: Duration = Duration::from_hours(24);

/// What is allowed where no rule says it, by the name under which denials tell it.
pub(crate) const ALLOWED_TOOLS: &str = "allowed_tools";

/// The policy, and what it counts.
#[derive(Debug)]
pub(crate) struct Policy {
    pub(crate) settings: PolicySettings,
    pub(crate) approvals: Approvals,
    // Held to count one call.
    runs: Mutex<VecDeque<RunUses>>,
}

/// How often a run has used each rule that counts runs.
#[derive(Debug)]
struct RunUses {
    run: String,
    rules: HashMap<String, u32>,
}

/// How often a rule may be used in which times.
pub(super) fn limits(rule: &PolicyRule) -> Vec<(u32, Duration)> {
    let Budget { per_minute, per_day, .. } = rule.budget;
    let limits = [per_minute.map(|limit| (limit, MINUTE)), per_day.map(|limit| (limit, DAY))];
    limits.into_iter().flatten().collect()
}

impl Policy {
    pub(crate) fn new(settings: &Settings) -> Self {
        Self {
            settings: settings.policy.clone(),
            approvals: Approvals::new(&settings.data_dir.join(FILE_NAME)),
            runs: Mutex::default(),
        }
    }

    /// What is decided of a call, without counting it.
    pub(crate) fn judge(&self, facts: &Facts<'_>) -> (Decision, Option<&PolicyRule>) {
        let decision = |verdict, rule: &str| Decision {
            verdict,
            rule: rule.to_owned(),
            approval: None,
        };
        if !self.is_listed(facts) {
            return (decision(Verdict::Deny, ALLOWED_TOOLS), None);
        }
        if let Some(rule) = first_match(&self.settings.rules, facts) {
            return (decision(rule.verdict, &rule.name), Some(rule));
        }
        let verdict = match (facts.effect, facts.run.asker) {
            (Effect::Destructive, Asker::Model) if !facts.is_recipe => Verdict::Ask,
            (Effect::Read | Effect::Write | Effect::Destructive, _) => Verdict::Allow,
        };
        (decision(verdict, DEFAULT), None)
    }

    /// Whether the list of allowed functions has it, if there is one. What programs fetch has a list of its own.
    pub(crate) fn is_listed(&self, facts: &Facts<'_>) -> bool {
        let allowed = &self.settings.allowed_tools;
        let is_named = |pattern: &String| facts.names().iter().any(|name| is_glob_match(pattern, name));
        allowed.is_empty() || facts.is_fetch() || allowed.iter().any(is_named)
    }

    /// What is decided of a call, and the rule whose budget it will use up. It does not count yet.
    ///
    /// # Errors
    ///
    /// `Policy`, with the rule that denies it, or whose budget is used up.
    pub(crate) fn decide(&self, facts: &Facts<'_>) -> Result<(Decision, Option<&PolicyRule>), CallError> {
        let (decision, rule) = self.judge(facts);
        let spends = rule.filter(|rule| decision.verdict == Verdict::Allow && rule.budget != Budget::default());
        let decided = match (decision.verdict, rule) {
            (Verdict::Deny, Some(rule)) => Err(denied(facts, rule)),
            (Verdict::Deny, None) => Err(unlisted(facts)),
            (Verdict::Allow | Verdict::Ask, _) => spends.map_or(Ok(()), |rule| self.check_budget(facts, rule, false)),
        };
        match decided {
            Ok(()) => Ok((decision, spends)),
            Err(error) => Err(error.with_decision(Decision {
                verdict: Verdict::Deny,
                ..decision
            })),
        }
    }

    /// Whether a rule allows a call more, which then counts if it `spends`.
    ///
    /// # Errors
    ///
    /// `Policy` if not.
    pub(super) fn check_budget(&self, facts: &Facts<'_>, rule: &PolicyRule, spends: bool) -> Result<(), CallError> {
        let Budget { per_run, per_minute, .. } = rule.budget;
        let used_up = |limit: u32, time: &str| {
            let calls = if limit == 1 { "call" } else { "calls" };
            let message = format!("{} allows {limit} {calls} {time}, which were made", named(rule));
            CallError::policy(message).with_hint(format!("its budget is for {}", scope(rule)))
        };
        if let Some(limit) = per_run
            && !self.may_be_used(&facts.run.id, &rule.name, (limit, spends))
        {
            return Err(used_up(limit, "in one run"));
        }
        let (limits, now) = (limits(rule), SystemTime::now());
        let reached = match (limits.as_slice(), spends) {
            ([], _) => Ok(None),
            (limits, true) => self.approvals.spend(&rule.name, limits, now),
            (limits, false) => self.approvals.reached(&rule.name, limits, now),
        };
        let reached = reached.map_err(|error| {
            let message = format!("the calls that {} allows cannot be counted, so that none is made", named(rule));
            CallError::policy(message).with_internal(format!("budget: {error}: {:?}", std::error::Error::source(&error)))
        })?;
        match reached {
            Some(limit) if per_minute == Some(limit) => Err(used_up(limit, "in a minute")),
            Some(limit) => Err(used_up(limit, "in a day")),
            None => Ok(()),
        }
    }

    /// Whether a rule may be used once more in a run, which then counts if it `spends`.
    fn may_be_used(&self, run: &str, rule: &str, (limit, spends): (u32, bool)) -> bool {
        let mut runs = self.runs.lock().unwrap_or_else(PoisonError::into_inner);
        if !runs.iter().any(|uses| uses.run == run) {
            if runs.len() >= MAX_RUNS {
                runs.pop_front();
            }
            runs.push_back(RunUses {
                run: run.to_owned(),
                rules: HashMap::new(),
            });
        }
        let Some(uses) = runs.iter_mut().rev().find(|uses| uses.run == run) else {
            return false;
        };
        let used = uses.rules.entry(rule.to_owned()).or_default();
        let may_be_used = *used < limit;
        *used += u32::from(may_be_used && spends);
        may_be_used
    }
}

fn denied(facts: &Facts<'_>, rule: &PolicyRule) -> CallError {
    CallError::policy(format!("{} denies `{}`", named(rule), facts.function)).with_hint(format!(
        "it denies {}; what it does not fit may be allowed. Only a person can change `{}` in the configuration",
        scope(rule),
        rule.key
    ))
}

fn unlisted(facts: &Facts<'_>) -> CallError {
    CallError::policy(format!("`{}` is not among the allowed tools", facts.function)).with_hint(format!(
        "a person can add `{}` to `{ALLOWED_TOOLS}` in the configuration",
        facts.function
    ))
}

/// A rule by its name and its place.
fn named(rule: &PolicyRule) -> String {
    let place = rule.key.replacen('.', "[", 1) + "]";
    if rule.name == place {
        format!("the rule `{place}`")
    } else {
        format!("the rule `{}` (`{place}`)", rule.name)
    }
}
