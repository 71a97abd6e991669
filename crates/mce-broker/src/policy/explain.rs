//! What the policy would decide of a call, and why, for a person.

use std::time::SystemTime;

use serde::Serialize;
use serde_json::Value;

use mce_config::{Budget, PolicyRule, Verdict};

use super::approve::rule_to_add;
use super::decide::{ALLOWED_TOOLS, DAY, MINUTE, limits};
use super::decision::Decision;
use super::facts::Facts;
use super::ledger::Question;
use super::rules::{check, scope};
use super::{Policy, check_fetch, check_function};
use crate::call::{Broker, CallRequest};
use crate::call_error::{CallError, CallErrorKind};
use crate::fetch::Hop;

/// How rules name a request of a program's own.
const FETCH_NAMES: [&str; 2] = ["mce.fetch", "fetch"];

/// What would be decided.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Explanation {
    /// `server.function`.
    pub function: String,
    /// `METHOD /path`, or the tool's own name.
    pub operation: String,
    /// `read`, `write` or `destructive`.
    pub effect: &'static str,
    /// `allow`, `deny` or `ask`.
    pub decision: &'static str,
    /// The rule that decides, or `default`.
    pub rule: String,
    /// The arguments as they would be sent, by the document's names; no secret, and nothing that the configuration hides.
    pub arguments: Value,
    /// How much of the deciding rule's budget is used up.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub budgets: Vec<BudgetUse>,
    /// The rules before that, in their order.
    pub passed: Vec<PassedRule>,
    /// What else there is to say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// One limit of a budget.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct BudgetUse {
    /// `run`, `minute` or `day`.
    pub per: &'static str,
    /// Calls that it allows.
    pub limit: u32,
    /// Calls that were made.
    pub used: u32,
}

/// A rule that does not fit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PassedRule {
    /// Its name.
    pub rule: String,
    /// What it decides.
    pub decide: &'static str,
    /// The part that does not fit, and what is there.
    pub reason: String,
}

impl Broker {
    /// What would be decided of a call. Nothing is sent, counted or asked.
    ///
    /// # Errors
    ///
    /// As a call's, for arguments that do not fit.
    pub fn explain(&self, request: CallRequest<'_>) -> Result<Explanation, CallError> {
        self.explain_found(request).map_err(|error| self.without_secrets(error))
    }

    fn explain_found(&self, request: CallRequest<'_>) -> Result<Explanation, CallError> {
        let found = match self.options.functions.find(request.function) {
            Err(error) if error.kind == CallErrorKind::Argument && FETCH_NAMES.contains(&request.function) => {
                return self.explain_fetch(request);
            }
            found => found?,
        };
        let arguments = self.checked_arguments(request, &found)?;
        let server = self.server(&found.function.server)?;
        let facts = Facts::of_call(request, server, &found, &arguments);
        let explained = self.explain_facts(&facts);
        Ok(match check_function(server, &found.function) {
            Ok(()) => explained,
            Err(error) => denied_by("servers", &error, explained),
        })
    }

    /// Of a request of a program's own.
    fn explain_fetch(&self, request: CallRequest<'_>) -> Result<Explanation, CallError> {
        let hop = Hop::explained(request.arguments)?;
        let facts = hop.facts(request.run);
        let explained = self.explain_facts(&facts);
        Ok(match (hop.check_place(&self.allowed_hosts), check_fetch(&self.policy, &facts)) {
            (Err(error), _) => denied_by("allowed_domains", &error, explained),
            (_, Err(error)) => denied_by("read_only", &error, explained),
            (Ok(()), Ok(())) => explained,
        })
    }

    fn explain_facts(&self, facts: &Facts<'_>) -> Explanation {
        let clean = self.redactor.json(&facts.shown().to_string()).into_owned();
        Explanation {
            arguments: serde_json::from_str(&clean).unwrap_or_default(),
            ..explain(&self.policy, facts)
        }
    }
}

/// What is denied before any rule is asked, and by which setting.
fn denied_by(setting: &str, error: &CallError, explained: Explanation) -> Explanation {
    let hint = error.hint().map_or_else(String::new, |hint| format!("; {hint}"));
    Explanation {
        decision: Verdict::Deny.as_str(),
        rule: setting.to_owned(),
        passed: Vec::new(),
        note: Some(format!("{error}{hint}")),
        ..explained
    }
}

/// What changes a decision: that a person allowed the function always, or that a budget is used up. In a run of its own.
fn standing(policy: &Policy, facts: &Facts<'_>, (decision, rule): (&Decision, Option<&PolicyRule>)) -> Option<(Verdict, String)> {
    match (decision.verdict, rule) {
        (Verdict::Ask, _) => {
            let question = Question::of(facts, &decision.rule);
            let is_kept = policy.approvals.is_kept(question).unwrap_or_default();
            is_kept.then(|| (Verdict::Allow, "a person allowed it always, as `mce policy list` shows".to_owned()))
        }
        (Verdict::Allow, Some(rule)) if rule.budget.per_run == Some(0) => Some((Verdict::Deny, "it allows no call in a run".to_owned())),
        (Verdict::Allow, Some(rule)) => {
            let limits = limits(rule);
            let asked = (!limits.is_empty()).then(|| policy.approvals.reached(&rule.name, &limits, SystemTime::now()));
            let reached = asked?.ok().flatten()?;
            Some((Verdict::Deny, format!("its budget of {} is used up", reached.limit)))
        }
        (Verdict::Allow | Verdict::Deny, _) => None,
    }
}

/// How much of a rule's budget is used up, in a run of its own.
fn budgets(policy: &Policy, rule: &PolicyRule) -> Vec<BudgetUse> {
    let Budget {
        per_run,
        per_minute,
        per_day,
    } = rule.budget;
    let used = |time| policy.approvals.used(&rule.name, time, SystemTime::now()).unwrap_or_default();
    let limits = [
        ("run", per_run, 0),
        ("minute", per_minute, per_minute.map_or(0, |_| used(MINUTE))),
        ("day", per_day, per_day.map_or(0, |_| used(DAY))),
    ];
    let limits = limits.into_iter();
    limits
        .filter_map(|(per, limit, used)| Some(BudgetUse { per, limit: limit?, used }))
        .collect()
}

fn explain(policy: &Policy, facts: &Facts<'_>) -> Explanation {
    let (decision, rule) = policy.judge(facts);
    let before = policy
        .settings
        .rules
        .iter()
        .take_while(|passed| rule.is_none_or(|rule| rule.name != passed.name));
    let passed = before.filter(|_| policy.is_listed(facts)).filter_map(|passed| {
        let misfit = check(passed, facts).err()?;
        Some(PassedRule {
            rule: passed.name.clone(),
            decide: passed.verdict.as_str(),
            reason: misfit.explain(facts),
        })
    });
    let standing = standing(policy, facts, (&decision, rule));
    let note = match (rule, decision.verdict) {
        _ if standing.is_some() => standing.as_ref().map(|(_, note)| note.clone()),
        (Some(rule), _) => Some(format!("it is for {}", scope(rule))),
        (None, Verdict::Ask) => Some(format!("to allow it, {}", rule_to_add(facts, &decision.rule))),
        (None, Verdict::Deny) => Some(format!("no entry of `{ALLOWED_TOOLS}` names it")),
        (None, Verdict::Allow) => None,
    };
    Explanation {
        function: facts.function.clone(),
        operation: facts.operation.to_owned(),
        effect: facts.effect.as_str(),
        decision: standing.as_ref().map_or(decision.as_str(), |(verdict, _)| verdict.as_str()),
        passed: passed.collect(),
        arguments: Value::Null,
        budgets: rule.map(|rule| budgets(policy, rule)).unwrap_or_default(),
        rule: decision.rule,
        note,
    }
}
