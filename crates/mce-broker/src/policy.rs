//! What configuration allows.

use mce_catalog::function::{Effect, Function};
use mce_config::ServerSettings;

use crate::base_url::BaseUrl;
use crate::call_error::CallError;

/// Refuses functions of servers with undefined variables, and all but reading ones of read-only servers.
pub(crate) fn check_function(server: &ServerSettings, function: &Function) -> Result<(), CallError> {
    if let Some(first) = server.unresolved.first() {
        return Err(
            CallError::policy(format!("`{}` is not usable: `${{{}}}` is not defined", server.name, first.variable)).with_hint(format!(
                "define `{}`; it is used in `{}`, key `{}`",
                first.variable, first.file, first.key
            )),
        );
    }
    match function.effect {
        Effect::Write | Effect::Destructive if server.is_read_only => {
            let effect = function.effect.as_str();
            Err(CallError::policy(format!(
                "`{}` is read-only, and `{}` is a {effect} function",
                server.name, function.python
            ))
            .with_hint("only functions that read may be called on this server"))
        }
        Effect::Read | Effect::Write | Effect::Destructive => Ok(()),
    }
}

/// Refuses hosts that are not among the allowed ones, if there are any. `*.example.com` allows all hosts below.
pub(crate) fn check_host(allowed: &[String], server: &ServerSettings, base: &BaseUrl) -> Result<(), CallError> {
    let host = base.host().to_ascii_lowercase();
    let is_allowed = |domain: &String| {
        let domain = domain.trim().to_ascii_lowercase();
        domain
            .strip_prefix('*')
            .filter(|rest| rest.starts_with('.'))
            .map_or(host == domain, |rest| host.ends_with(rest))
    };
    if allowed.is_empty() || allowed.iter().any(is_allowed) {
        return Ok(());
    }
    Err(
        CallError::policy(format!("the host of `{}` is not among the allowed domains", server.name))
            .with_hint("add it to `MCE_ALLOWED_DOMAINS`")
            .with_internal(format!("host `{host}` is not among the allowed domains")),
    )
}
