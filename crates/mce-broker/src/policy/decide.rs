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

/// Runs whose calls are counted, those that called last; more are never under way at the same time.
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
        let Budget { per_run, .. } = rule.budget;
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
        if spends && !matches!(reached, Ok(None)) {
            self.unspend_in_run(&facts.run.id, rule);
        }
        let reached = reached.map_err(|error| {
            let message = format!("the calls that {} allows cannot be counted, so that none is made", named(rule));
            CallError::policy(message).with_internal(format!("budget: {error}: {:?}", std::error::Error::source(&error)))
        })?;
        let Some(reached) = reached else { return Ok(()) };
        let error = used_up(reached.limit, if reached.time == MINUTE { "in a minute" } else { "in a day" });
        Err(match reached.wait {
            Some(wait) => error.with_hint(format!(
                "one more is possible in {}; its budget is for {}",
                in_words(wait),
                scope(rule)
            )),
            None => error,
        })
    }

    /// Whether a rule may be used once more in a run, which then counts if it `spends`.
    fn may_be_used(&self, run: &str, rule: &str, (limit, spends): (u32, bool)) -> bool {
        let mut runs = self.runs.lock().unwrap_or_else(PoisonError::into_inner);
        let known = runs.iter().rposition(|uses| uses.run == run);
        let mut uses = known.and_then(|place| runs.remove(place)).unwrap_or_else(|| RunUses {
            run: run.to_owned(),
            rules: HashMap::new(),
        });
        let used = uses.rules.entry(rule.to_owned()).or_default();
        let may_be_used = *used < limit;
        *used += u32::from(may_be_used && spends);
        if runs.len() >= MAX_RUNS {
            runs.pop_front();
        }
        runs.push_back(uses);
        may_be_used
    }

    /// Takes back what a call used up of a rule's budget that was not sent after all.
    pub(super) fn unspend(&self, run: &str, rule: &PolicyRule) {
        self.unspend_in_run(run, rule);
        if !limits(rule).is_empty()
            && let Err(error) = self.approvals.unspend(&rule.name)
        {
            tracing::warn!("a call counts that was not made: {error}");
        }
    }

    fn unspend_in_run(&self, run: &str, rule: &PolicyRule) {
        let mut runs = self.runs.lock().unwrap_or_else(PoisonError::into_inner);
        let uses = runs.iter_mut().rev().find(|uses| uses.run == run);
        if let Some(used) = uses.and_then(|uses| uses.rules.get_mut(&rule.name)) {
            *used = used.saturating_sub(1);
        }
    }
}

/// A time to wait, rounded up: `40 s`, `12 min`, `3 h`.
fn in_words(wait: Duration) -> String {
    match wait.as_millis().div_ceil(1_000) {
        seconds @ 0..=119 => format!("{} s", seconds.max(1)),
        seconds @ 120..=7_199 => format!("{} min", seconds.div_ceil(60)),
        seconds => format!("{} h", seconds.div_ceil(3_600)),
    }
}

fn denied(facts: &Facts<'_>, rule: &PolicyRule) -> CallError {
    CallError::policy(format!("{} denies `{}`", named(rule), facts.function)).with_hint(format!(
        "it denies {}; what it does not fit may be allowed. Only a person can change `{}` in the configuration",
        scope(rule),
        place_of(rule)
    ))
}

fn unlisted(facts: &Facts<'_>) -> CallError {
    CallError::policy(format!("`{}` is not among the allowed tools", facts.function)).with_hint(format!(
        "a person can add `{}` to `{ALLOWED_TOOLS}` in the configuration",
        facts.function
    ))
}

/// Where a rule stands: `policies[1]`.
fn place_of(rule: &PolicyRule) -> String {
    rule.key.replacen('.', "[", 1) + "]"
}

/// A rule by its name and its place.
fn named(rule: &PolicyRule) -> String {
    let place = place_of(rule);
    if rule.name == place {
        format!("the rule `{place}`")
    } else {
        format!("the rule `{}` (`{place}`)", rule.name)
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use reqwest::header::HeaderMap;

    use super::*;
    use crate::run_context::RunContext;

    fn policy(folder: &Path) -> Policy {
        Policy {
            settings: PolicySettings {
                rules: Vec::new(),
                is_read_only: false,
                allowed_tools: Vec::new(),
                allowed_projects: Vec::new(),
                approval: Duration::ZERO,
            },
            approvals: Approvals::new(&folder.join(FILE_NAME)),
            runs: Mutex::default(),
        }
    }

    #[test]
    fn only_calls_that_are_sent_use_up_a_budget() {
        let folder = tempfile::tempdir().unwrap();
        let policy = policy(folder.path());
        let rule = PolicyRule {
            name: "few".to_owned(),
            budget: Budget {
                per_run: Some(3),
                per_minute: Some(2),
                per_day: None,
            },
            ..PolicyRule::default()
        };
        let headers = HeaderMap::new();
        let uses = |run: &str, spends| {
            let run = RunContext::new(run, Asker::Model);
            let facts = Facts::of_fetch(&run, ("GET", Effect::Read), "https://a.example/", &headers, None);
            policy.check_budget(&facts, &rule, spends).map_err(|error| error.to_string())
        };
        let in_run = |run: &str| policy.runs.lock().unwrap().iter().find(|uses| uses.run == run).unwrap().rules["few"];
        for _ in 0..2 {
            uses("one", true).unwrap();
        }
        let run = RunContext::new("one", Asker::Model);
        let facts = Facts::of_fetch(&run, ("GET", Effect::Read), "https://a.example/", &headers, None);
        let refused = policy.check_budget(&facts, &rule, false).unwrap_err();
        let hint = refused.hint().unwrap().to_owned();
        assert!(
            hint.starts_with("one more is possible in 60 s") || hint.starts_with("one more is possible in 59 s"),
            "{hint}"
        );
        // What the minute refuses does not count for the run.
        for _ in 0..5 {
            assert!(uses("one", true).unwrap_err().contains("in a minute"));
        }
        assert_eq!(in_run("one"), 2);
        // One that was not sent after all counts neither for the run nor for the minute.
        policy.unspend("one", &rule);
        assert_eq!(in_run("one"), 1);
        uses("one", true).unwrap();
        assert!(uses("two", true).unwrap_err().contains("in a minute"));
    }

    #[test]
    fn times_to_wait_are_rounded_up() {
        for (wait, words) in [
            (Duration::from_millis(1), "1 s"),
            (Duration::from_millis(40_001), "41 s"),
            (Duration::from_secs(121), "3 min"),
            (Duration::from_secs(7_201), "3 h"),
        ] {
            assert_eq!(in_words(wait), words);
        }
    }

    #[test]
    fn a_run_that_goes_on_is_not_forgotten_for_those_that_came_after_it() {
        let policy = policy(Path::new("/nowhere"));
        assert!(policy.may_be_used("long", "few", (2, true)));
        for number in 0..MAX_RUNS * 2 {
            policy.may_be_used(&number.to_string(), "few", (2, true));
            if number == MAX_RUNS / 2 {
                assert!(policy.may_be_used("long", "few", (2, true)));
            }
            if number % (MAX_RUNS / 2) == 0 && number > MAX_RUNS / 2 {
                assert!(!policy.may_be_used("long", "few", (2, true)), "{number}");
            }
        }
        assert!(policy.runs.lock().unwrap().len() <= MAX_RUNS);
    }
}
