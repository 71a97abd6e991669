//! What configuration allows.

use mce_catalog::function::{Effect, Function};
use mce_config::{Location, Origin, ServerSettings};
use url::Url;

use crate::allowed_hosts::AllowedHosts;
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

/// Refuses a host that only a document names, if there is a list of allowed ones and it is not in there. A host that a
/// person configured, as `base_url` or as the place of the document, is allowed by that.
pub(crate) fn check_host(allowed: &AllowedHosts, server: &ServerSettings, base: &BaseUrl) -> Result<(), CallError> {
    let host = base.origin.host();
    let is_configured = server.base_url.is_some() || document_host(server).is_some_and(|place| place.host() == host);
    if !allowed.is_set() || is_configured || host.is_some_and(|host| allowed.contains(&host)) {
        return Ok(());
    }
    Err(CallError::policy(format!(
        "the document of `{}` names a host that is not among the allowed domains",
        server.name
    ))
    .with_hint(format!(
        "set `servers.{}.base_url` in the configuration, or add the host to `MCE_ALLOWED_DOMAINS`",
        server.name
    ))
    .with_internal(format!("host `{}` is not among the allowed domains", base.host())))
}

fn document_host(server: &ServerSettings) -> Option<Url> {
    match &server.origin {
        Origin::OpenApi(Location::Url(url)) => Url::parse(url).ok(),
        Origin::OpenApi(Location::File(_)) | Origin::McpStdio(_) | Origin::McpHttp(_) => None,
    }
}
