//! What is meant by rules about calls. Read by `policy_fields`, judged by the broker.

use std::path::PathBuf;
use std::time::Duration;

use serde_json::Value;

use crate::{Decimal, EffectSetting, ExactValue};

/// What calls may be made, and who is asked.
#[derive(Debug, Clone, PartialEq)]
pub struct PolicySettings {
    /// `policies`: the first that fits decides.
    pub rules: Vec<PolicyRule>,
    /// `MCE_READ_ONLY`: nothing but what reads may be called, also by `fetch`. Default false.
    pub is_read_only: bool,
    /// `MCE_ALLOWED_TOOLS`, with commas: the only functions that may be called, by names in which `*` is anything. Empty: all.
    pub allowed_tools: Vec<String>,
    /// `MCE_ALLOWED_PROJECTS` or `ALLOWED_PROJECTS`: folders in one of which one must work. Empty: any will do.
    pub allowed_projects: Vec<PathBuf>,
    /// `MCE_APPROVAL_SECONDS`: how long a person has to answer, and how long an answer is good. Default 600 s; 0: what would
    /// wait for `mce approve` is denied; at most a day.
    pub approval: Duration,
}

/// A rule. Parts that are not given fit anything.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PolicyRule {
    /// As given, else the place: `policies[2]`.
    pub name: String,
    /// Where it stands: `policies.2`.
    pub key: String,
    /// Names of servers, in which `*` is anything.
    pub servers: Vec<String>,
    /// Names of functions in any form, in which `*` is anything.
    pub functions: Vec<String>,
    /// Effects.
    pub effects: Vec<EffectSetting>,
    /// Who asks.
    pub askers: Vec<AskerSetting>,
    /// What clients call themselves, in which `*` is anything.
    pub clients: Vec<String>,
    /// All must hold.
    pub conditions: Vec<Condition>,
    /// What it decides.
    pub verdict: Verdict,
    /// How much it allows.
    pub budget: Budget,
}

/// A name of a function, or a pattern, in which the method of `METHOD /path` is in upper case, as documents have it.
pub(crate) fn with_upper_method(name: String) -> String {
    match name.split_once(' ') {
        Some((method, rest)) if method.bytes().all(|byte| byte.is_ascii_alphabetic()) && rest.starts_with(['/', '*', 'h']) => {
            format!("{} {rest}", method.to_ascii_uppercase())
        }
        _ => name,
    }
}

/// Who asks for a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AskerSetting {
    /// Somebody who typed a command.
    Person,
    /// A client.
    Model,
}

/// What a rule decides.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Verdict {
    /// The call is made.
    Allow,
    /// It is not.
    #[default]
    Deny,
    /// A person decides.
    Ask,
}

impl Verdict {
    /// `allow`, `deny` or `ask`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Deny => "deny",
            Self::Ask => "ask",
        }
    }
}

/// How often a rule allows a call. What is not given has no limit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Budget {
    /// In one run.
    pub per_run: Option<u32>,
    /// In any 60 seconds.
    pub per_minute: Option<u32>,
    /// In any 24 hours.
    pub per_day: Option<u32>,
}

/// What a value among the arguments must be.
#[derive(Debug, Clone, PartialEq)]
pub struct Condition {
    /// A JSON pointer (RFC 6901) into the arguments by their original names; the body is below `/body`.
    pub pointer: String,
    /// All must hold.
    pub comparisons: Vec<Comparison>,
}

/// A comparison of a value.
#[derive(Debug, Clone, PartialEq)]
pub enum Comparison {
    /// It is this one.
    Equals(ExactValue),
    /// It is another one.
    NotEquals(ExactValue),
    /// It is one of these.
    In(Vec<ExactValue>),
    /// It is none of these.
    NotIn(Vec<ExactValue>),
    /// It is a number above this.
    GreaterThan(Decimal),
    /// It is a number below this.
    LessThan(Decimal),
    /// It is this number or above.
    AtLeast(Decimal),
    /// It is this number or below.
    AtMost(Decimal),
    /// It is a text of this form, in which `*` is anything.
    Matches(String),
    /// It is there, or is not.
    Exists(bool),
}

impl Comparison {
    /// Its key in a rule.
    pub const fn key(&self) -> &'static str {
        match self {
            Self::Equals(_) => "equals",
            Self::NotEquals(_) => "not_equals",
            Self::In(_) => "in",
            Self::NotIn(_) => "not_in",
            Self::GreaterThan(_) => "greater_than",
            Self::LessThan(_) => "less_than",
            Self::AtLeast(_) => "at_least",
            Self::AtMost(_) => "at_most",
            Self::Matches(_) => "matches",
            Self::Exists(_) => "exists",
        }
    }

    /// What it compares with, as in a rule; a number of more digits than a double always keeps, which are 15, is its text.
    pub fn operand(&self) -> Value {
        match self {
            Self::Equals(value) | Self::NotEquals(value) => value.to_value(),
            Self::In(values) | Self::NotIn(values) => values.iter().map(ExactValue::to_value).collect(),
            Self::GreaterThan(limit) | Self::LessThan(limit) | Self::AtLeast(limit) | Self::AtMost(limit) => {
                ExactValue::Number(limit.clone()).to_value()
            }
            Self::Matches(pattern) => Value::from(pattern.as_str()),
            Self::Exists(is_there) => Value::from(*is_there),
        }
    }
}
