//! What the policy says of one call.

use mce_config::Verdict;

/// What was decided, and by what. The audit log keeps it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decision {
    /// What was decided before anybody was asked.
    pub verdict: Verdict,
    /// The rule's name, such as `no refunds` or `policies[2]`; `default` where none fits.
    pub rule: String,
    /// How a person allowed it where the verdict is to ask: `client`, `terminal`, `always`, or the id of an approval.
    pub approval: Option<String>,
}

impl Decision {
    /// Allowed, because no rule says otherwise.
    pub fn by_default() -> Self {
        Self {
            verdict: Verdict::Allow,
            rule: DEFAULT.to_owned(),
            approval: None,
        }
    }

    /// `allow`, `deny` or `ask`.
    pub const fn as_str(&self) -> &'static str {
        self.verdict.as_str()
    }
}

/// What is named where no rule fits.
pub(crate) const DEFAULT: &str = "default";
