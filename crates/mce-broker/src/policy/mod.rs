//! What may be done: what servers allow, then rules, then a person.

mod approve;
mod condition;
mod decide;
mod decision;
mod explain;
mod facts;
mod faults;
mod glob;
mod known;
mod ledger;
mod rules;
mod server;
mod text;
mod uses;

pub(crate) use self::decide::Policy;
pub use self::decision::Decision;
pub use self::explain::{BudgetUse, Explanation, PassedRule};
pub(crate) use self::facts::Facts;
pub use self::faults::{RuleFault, rule_faults};
pub use self::glob::is_glob_match;
pub use self::ledger::{ApprovalAnswer, ApprovalError, Approvals, KeptApproval, PendingApproval};
pub use self::rules::scope;
pub(crate) use self::server::{check_fetch, check_function};
pub use self::text::escaped;
