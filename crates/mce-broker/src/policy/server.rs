//! What configuration allows.

use mce_catalog::function::{Effect, Function};
use mce_config::ServerSettings;

use super::{Facts, Policy};
use crate::call_error::CallError;

/// Refuses requests of programs' own that do not read, where everything is read-only.
pub(crate) fn check_fetch(policy: &Policy, facts: &Facts<'_>) -> Result<(), CallError> {
    if policy.settings.is_read_only && facts.effect != Effect::Read {
        let message = format!("everything is read-only, and a request with `{}` is not", facts.operation);
        return Err(CallError::policy(message).with_hint("`GET`, `HEAD` and `OPTIONS` may be used"));
    }
    Ok(())
}

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
