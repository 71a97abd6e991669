//! What the request that starts a run takes away from it, of what the settings allow: never does it add anything.

use std::time::Duration;

use mce_broker::is_glob_match;

use super::discovery::Discovery;
use crate::failure::Failure;

/// Limits of one run beside those of the settings.
#[derive(Debug, Clone, Default)]
pub(crate) struct Narrowed {
    /// The wall-clock time.
    pub(crate) wall: Option<Duration>,
    /// Patterns of the only functions that may be called: `mcp__server__tool`, in which `*` is anything.
    pub(crate) functions: Option<Vec<String>>,
    /// The only hosts that may be fetched from.
    pub(crate) hosts: Option<Vec<String>>,
}

impl Narrowed {
    /// # Errors
    ///
    /// A failure of type `policy` if the function may not be called.
    pub(super) fn check_function(&self, discovery: &Discovery, reference: &str) -> Result<(), Failure> {
        let Some(patterns) = &self.functions else { return Ok(()) };
        // One that does not exist fails by itself, with better words.
        let Some(names) = discovery.tool_names(reference) else {
            return Ok(());
        };
        let is_allowed = |pattern: &String| names.iter().any(|name| is_glob_match(pattern, name));
        if patterns.iter().any(is_allowed) {
            return Ok(());
        }
        let name = names.first().map_or(reference, String::as_str);
        Err(Failure::new("policy", format!("Tool '{name}' not in allowlist")).with_hint(format!("Add '{name}' to allowedTools array")))
    }

    /// # Errors
    ///
    /// A failure of type `policy` if the URL's host may not be fetched from.
    pub(super) fn check_host(&self, url: &str) -> Result<(), Failure> {
        let Some(hosts) = &self.hosts else { return Ok(()) };
        let host = url::Url::parse(url).ok().and_then(|url| url.host_str().map(str::to_owned));
        match host {
            Some(host) if !hosts.iter().any(|allowed| without_port(allowed).eq_ignore_ascii_case(&host)) => {
                Err(Failure::new("policy", format!("host '{host}' not in permissions.net"))
                    .with_hint(format!("Add '{host}' to permissions.net")))
            }
            // What is no URL fails by itself.
            Some(_) | None => Ok(()),
        }
    }
}

fn without_port(host: &str) -> &str {
    match host.rsplit_once(':') {
        Some((name, port)) if !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit()) && !name.ends_with(':') => name,
        _ => host,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_named_hosts_are_fetched_from() {
        let narrowed = Narrowed {
            hosts: Some(vec!["api.example.com".to_owned(), "localhost:3000".to_owned()]),
            ..Narrowed::default()
        };
        assert!(narrowed.check_host("https://API.example.com/a").is_ok());
        assert!(narrowed.check_host("http://localhost:3000/").is_ok());
        assert!(narrowed.check_host("https://example.com/").is_err());
        assert!(Narrowed::default().check_host("https://example.com/").is_ok());
    }
}
