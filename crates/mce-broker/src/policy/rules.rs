//! Which rule decides a call: the first that fits.

use std::fmt::Write as _;

use mce_catalog::function::Effect;
use mce_config::{AskerSetting, Condition, EffectSetting, PolicyRule, Verdict};

use super::condition::{self, Sense};
use super::facts::Facts;
use super::glob::is_glob_match;
use crate::run_context::Asker;

/// Characters of a value that are repeated.
const MAX_VALUE_CHARS: usize = 100;

/// The first rule that fits a call.
pub(crate) fn first_match<'r>(rules: &'r [PolicyRule], facts: &Facts<'_>) -> Option<&'r PolicyRule> {
    rules.iter().find(|rule| check(rule, facts).is_ok())
}

/// Whether a rule fits a call.
///
/// # Errors
///
/// Why it does not.
pub(crate) fn check(rule: &PolicyRule, facts: &Facts<'_>) -> Result<(), Misfit> {
    let is_one = |patterns: &[String], name: &str| patterns.iter().any(|pattern| is_glob_match(pattern, name));
    let server = |patterns: &[String]| facts.servers.iter().any(|name| is_one(patterns, name));
    let function = |patterns: &[String]| facts.names().iter().any(|name| is_one(patterns, name));
    if !rule.servers.is_empty() && !server(&rule.servers) {
        return Err(Misfit::Server);
    }
    if !rule.functions.is_empty() && !function(&rule.functions) {
        return Err(Misfit::Function);
    }
    if !rule.effects.is_empty() && !rule.effects.iter().any(|effect| is_effect(*effect, facts.effect)) {
        return Err(Misfit::Effect);
    }
    if !rule.askers.is_empty() && !rule.askers.iter().any(|asker| is_asker(*asker, facts.run.asker)) {
        return Err(Misfit::Asker);
    }
    if !rule.clients.is_empty() && !facts.run.client.as_deref().is_some_and(|client| is_one(&rule.clients, client)) {
        return Err(Misfit::Client);
    }
    let sense = match rule.verdict {
        Verdict::Allow => Sense::Surely,
        Verdict::Deny | Verdict::Ask => Sense::Possibly,
    };
    for condition in &rule.conditions {
        let written = condition::needs_digits(condition)
            .then(|| facts.written(&condition.pointer))
            .flatten();
        condition::check(condition, facts.arguments(), (sense, written)).map_err(|(comparison, value)| Misfit::Condition {
            wanted: format!("`{}` {} {}", condition.pointer, comparison.key(), comparison.operand()),
            value: value.map(|value| written.map_or_else(|| shown(&value.to_string()), |written| shown(written.text))),
        })?;
    }
    Ok(())
}

/// The part of a rule that does not fit a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Misfit {
    /// `server`.
    Server,
    /// `function`.
    Function,
    /// `effect`.
    Effect,
    /// `asker`.
    Asker,
    /// `client`.
    Client,
    /// One of `when`.
    Condition {
        /// What it says.
        wanted: String,
        /// The value, if there is one.
        value: Option<String>,
    },
}

impl Misfit {
    /// Why, for a person.
    pub(crate) fn explain(&self, facts: &Facts<'_>) -> String {
        match self {
            Self::Server => format!("`server` is `{}`", facts.servers[0]),
            Self::Function => format!("`function` is `{}`, `{}`", facts.function, facts.operation),
            Self::Effect => format!("`effect` is `{}`", facts.effect.as_str()),
            Self::Asker => format!("`asker` is `{}`", facts.run.asker.as_str()),
            Self::Client => match &facts.run.client {
                Some(client) => format!("`client` is `{client}`"),
                None => "`client` is not known".to_owned(),
            },
            Self::Condition {
                wanted,
                value: Some(value),
            } => format!("{wanted} does not hold of {value}"),
            Self::Condition { wanted, value: None } => format!("{wanted} does not hold: there is no such argument"),
        }
    }
}

/// What a rule is about, for who runs into it.
pub fn scope(rule: &PolicyRule) -> String {
    let mut parts = Vec::new();
    let mut list = |word: &str, names: Vec<&str>| {
        if !names.is_empty() {
            parts.push(format!(
                "{word} {}",
                names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(" or ")
            ));
        }
    };
    list("server", rule.servers.iter().map(String::as_str).collect());
    list("function", rule.functions.iter().map(String::as_str).collect());
    list("effect", rule.effects.iter().map(|effect| effect_of(*effect).as_str()).collect());
    list("asker", rule.askers.iter().map(|asker| asker_of(*asker).as_str()).collect());
    list("client", rule.clients.iter().map(String::as_str).collect());
    parts.extend(rule.conditions.iter().map(condition_text));
    if parts.is_empty() {
        "every call".to_owned()
    } else {
        parts.join(", ")
    }
}

fn condition_text(condition: &Condition) -> String {
    let mut text = format!("`{}`", condition.pointer);
    for (place, comparison) in condition.comparisons.iter().enumerate() {
        let and = if place > 0 { " and" } else { "" };
        // Writing into a text does not fail.
        let _ = write!(text, "{and} {} {}", comparison.key().replace('_', " "), comparison.operand());
    }
    text
}

fn shown(text: &str) -> String {
    match text.char_indices().nth(MAX_VALUE_CHARS) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

pub(super) fn is_effect(setting: EffectSetting, effect: Effect) -> bool {
    effect_of(setting) == effect
}

const fn effect_of(setting: EffectSetting) -> Effect {
    match setting {
        EffectSetting::Read => Effect::Read,
        EffectSetting::Write => Effect::Write,
        EffectSetting::Destructive => Effect::Destructive,
    }
}

fn is_asker(setting: AskerSetting, asker: Asker) -> bool {
    asker_of(setting) == asker
}

const fn asker_of(setting: AskerSetting) -> Asker {
    match setting {
        AskerSetting::Person => Asker::Person,
        AskerSetting::Model => Asker::Model,
    }
}
