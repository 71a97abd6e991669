//! Every effect: HTTP, credentials, policy, audit, recipes. [`Broker::call`] is the only way to an API, and
//! [`Broker::fetch`] to any other place.

mod address;
mod allowed_hosts;
mod answer;
mod api_login;
mod arguments;
mod audit;
mod base_url;
mod call;
mod call_error;
mod charset;
mod connection;
mod credential;
mod digest;
mod document;
mod fetch;
mod file_value;
mod function_source;
mod hex;
mod http;
mod json_text;
mod member_names;
mod nearest;
mod oauth;
mod pace;
mod page;
mod pinned_resolver;
mod policy;
mod process;
mod reach;
mod recipe_runs;
mod recipes;
mod redact;
mod request;
mod results;
mod run_context;
mod runs;
mod saved_recipes;
mod schema_fault;
mod scopes;
mod state_file;
mod stream;
mod tool;
mod tool_fault;
mod turns;
mod upstream;
mod validate;
mod vault;
mod written;

pub use answer::{Answer, AnswerValue};
pub use audit::{AuditFault, AuditReader, AuditReport, RunEnd, RunRecord, is_under_way, rfc3339, verify_audit};
pub use call::{Broker, BrokerOptions, CallLimits, CallRequest, Caller, Naming};
pub use call_error::{BrokerError, CallError, CallErrorKind};
pub use connection::tls_fault;
pub use document::{DocumentError, DocumentFetcher};
pub use fetch::{FetchAnswer, FetchRequest};
pub use function_source::{CatalogSource, FoundFunction, FunctionSource};
pub use oauth::{BrowserLogin, DeviceLogin, LoggedIn, Login, LoginError, LoginNeed, LoginScheme, LoginState, LoginWay, person_scheme};
pub use policy::{
    ApprovalAnswer, ApprovalError, Approvals, BudgetUse, Decision, Explanation, KeptApproval, PassedRule, PendingApproval, RuleFault,
    escaped, is_glob_match, rule_faults, scope,
};
pub use reach::{follows_document, host_without_credentials};
pub use recipe_runs::{ReadyRecipe, RecipeRuns};
pub use recipes::{NewRecipe, Recipe, RecipeError, Recipes};
pub use results::{ResultError, ResultLimits, Results};
pub use run_context::{Asker, RunContext};
pub use saved_recipes::{RecipeNotes, SavedRecipe, SavedRecipeError, SavedRecipes};
pub use upstream::{
    Change, Changed, ClientAbilities, ClientAnswer, ClientRefusal, ClientRequest, ClientRequestKind, ClientRequests, Listed, LogLevel,
    LogMessage, NoClient, Passed, Progress, ToolAnswer, ToolCall, ToolList, UpstreamError, UpstreamState, UpstreamStatus, UpstreamStep,
    Upstreams,
};
pub use vault::read_secret;
pub use written::WrittenCall;
