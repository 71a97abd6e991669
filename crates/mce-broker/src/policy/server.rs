//! What configuration allows.

use mce_catalog::function::{Effect, Function};
use mce_config::ServerSettings;

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
