//! The commands, one file each: typed arguments in, an exit code out.

mod approve;
mod audit;
mod audit_text;
mod auth;
mod call;
mod clean;
mod compile;
mod config;
mod doctor;
mod exec;
mod functions;
mod policy;
mod recipes;
mod run_report;
mod search;
mod serve;
mod setup;
mod setup_python;

pub(crate) use approve::approve;
pub(crate) use audit::audit;
pub(crate) use auth::auth;
pub(crate) use call::call;
pub(crate) use clean::clean;
pub(crate) use compile::compile;
pub(crate) use config::config;
pub(crate) use doctor::doctor;
pub(crate) use exec::exec;
pub(crate) use functions::functions;
pub(crate) use policy::policy;
pub(crate) use recipes::recipes;
pub(crate) use search::search;
pub(crate) use serve::{run, serve};
pub(crate) use setup::setup;
