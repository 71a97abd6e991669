//! Why an MCP server did not do what was asked.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use thiserror::Error;

use super::http_client::HttpFault;
use crate::connection::tls_trouble;
use crate::oauth::LoginNeed;

/// What was going on with an MCP server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UpstreamStep {
    /// It was started or connected to.
    Start,
    /// Its tools, prompts or resources were listed.
    List,
    /// One of its tools was called, or something else was asked of it.
    Call,
}

impl UpstreamStep {
    const fn doing(self) -> &'static str {
        match self {
            Self::Start => "being started",
            Self::List => "listing what it has",
            Self::Call => "a call",
        }
    }
}

/// A failure of an MCP server, or of reaching it. `Display` is fit for a model: it names the server, never a URL, a command
/// line or a secret. Texts of the server itself are part of it, bounded.
#[derive(Debug, Clone, Error)]
pub enum UpstreamError {
    /// No such MCP server is configured.
    #[error("there is no MCP server `{server}`")]
    NotConfigured {
        /// As asked for.
        server: String,
    },
    /// Variables of its configuration have no value.
    #[error("MCP server `{server}` is not used: `{variable}` is not set")]
    Unresolved {
        /// The server.
        server: String,
        /// The first of them.
        variable: String,
    },
    /// Its program cannot be started.
    #[error("MCP server `{server}` cannot be started: {reason}")]
    CannotStart {
        /// The server.
        server: String,
        /// In the words of the system.
        reason: String,
        /// With the program, for people.
        internal: String,
    },
    /// Its process ended, or it closed the connection, before it was connected.
    #[error("MCP server `{server}` ended before it was ready{}", status.as_ref().map(|s| format!(" ({s})")).unwrap_or_default())]
    Exited {
        /// The server.
        server: String,
        /// E.g. `exit status: 1`.
        status: Option<String>,
    },
    /// It cannot be reached over the network.
    #[error("MCP server `{server}` cannot be reached{trouble}")]
    Unreachable {
        /// The server.
        server: String,
        /// What is wrong with its certificate, after a colon; else empty.
        trouble: String,
        /// May name the host.
        internal: String,
    },
    /// Its name leads into a private network, and nobody said that it may.
    #[error("the name of MCP server `{server}` leads to a private address")]
    Private {
        /// The server.
        server: String,
        /// Name and address.
        internal: String,
    },
    /// It wants a login, or does not accept the one it got.
    #[error("MCP server `{server}` {need}")]
    Unauthorized {
        /// The server.
        server: String,
        /// What it wants.
        need: LoginNeed,
    },
    /// It answered with a status that says nothing in the protocol's own words.
    #[error("MCP server `{server}` answered with status {status}")]
    Status {
        /// The server.
        server: String,
        /// Of HTTP.
        status: u16,
        /// What had been asked.
        step: UpstreamStep,
    },
    /// It sends elsewhere, where its credential must not go.
    #[error("MCP server `{server}` redirects to another place")]
    Redirected {
        /// The server.
        server: String,
    },
    /// It speaks no revision of the protocol that was tried.
    #[error("MCP server `{server}` speaks no revision of MCP that is spoken here")]
    NoCommonVersion {
        /// The server.
        server: String,
        /// What it said.
        internal: String,
    },
    /// It is not tried at the moment, since it failed before.
    #[error("{cause}")]
    NotYet {
        /// Until it is tried again.
        after: Duration,
        /// Why it failed.
        cause: Arc<Self>,
    },
    /// It took too long.
    #[error("MCP server `{server}` did not answer within {} s ({})", limit.as_secs_f64(), step.doing())]
    NotInTime {
        /// The server.
        server: String,
        /// What took too long.
        step: UpstreamStep,
        /// The time it had.
        limit: Duration,
    },
    /// As many calls as allowed were under way all the time that this one could wait.
    #[error("MCP server `{server}` is busy: {limit} calls are under way")]
    Busy {
        /// The server.
        server: String,
        /// `concurrency`.
        limit: u32,
    },
    /// It answered with an error of the protocol.
    #[error("MCP server `{server}` refused: {message}")]
    Refused {
        /// The server.
        server: String,
        /// Of JSON-RPC.
        code: i64,
        /// Its own words, bounded.
        message: String,
    },
    /// It answered with something that the protocol does not allow.
    #[error("MCP server `{server}` answered wrongly: {problem}")]
    Protocol {
        /// The server.
        server: String,
        /// What is wrong.
        problem: String,
        /// What had been asked.
        step: UpstreamStep,
    },
    /// Its answer is too large.
    #[error("the answer of MCP server `{server}` is larger than {limit_bytes} bytes")]
    TooLarge {
        /// The server.
        server: String,
        /// What it may have.
        limit_bytes: usize,
        /// What had been asked.
        step: UpstreamStep,
    },
    /// One of its lists is too long.
    #[error("MCP server `{server}` has more than {limit} {what}")]
    TooMany {
        /// The server.
        server: String,
        /// Of what, such as `tools`.
        what: &'static str,
        /// What it may have.
        limit: usize,
    },
    /// The connection broke while it worked.
    #[error("the connection to MCP server `{server}` broke{}", status.as_ref().map(|s| format!(" ({s})")).unwrap_or_default())]
    Disconnected {
        /// The server.
        server: String,
        /// How its process ended.
        status: Option<String>,
        /// Whether it had the request.
        was_sent: bool,
        /// What was going on.
        step: UpstreamStep,
    },
    /// It asked for something that the client cannot give, and could not go on.
    #[error("MCP server `{server}` cannot go on: {reason}")]
    InputRefused {
        /// The server.
        server: String,
        /// What it asked, and why that got no answer.
        reason: String,
    },
    /// The user has to be somewhere else first. (MCP 2025-11-25, URL Elicitation Required Errors.)
    #[error("MCP server `{server}` refused: {message}")]
    PagesFirst {
        /// The server.
        server: String,
        /// Its own words, bounded.
        message: String,
        /// Elicitations of the mode `url`, as it wrote them.
        pages: Vec<Value>,
    },
    /// We are ending.
    #[error("MCP server `{server}` is not used any more: the program ends")]
    Closed {
        /// The server.
        server: String,
    },
}

impl UpstreamError {
    fn unreachable(server: String, internal: String) -> Self {
        Self::Unreachable {
            server,
            trouble: tls_trouble(&internal).map_or(String::new(), |(what, _)| format!(": {what}")),
            internal,
        }
    }

    /// What a fault of HTTP is called.
    pub(super) fn from_http(server: &str, fault: HttpFault, step: UpstreamStep) -> Self {
        let server = server.to_owned();
        match fault {
            HttpFault::Unreachable(internal) => Self::unreachable(server, internal),
            // A client's certificate is missed after the connection stands.
            HttpFault::Broken(internal) if tls_trouble(&internal).is_some() => Self::unreachable(server, internal),
            HttpFault::Proxy(what, hint) => Self::Unreachable {
                server,
                trouble: format!(": {what}"),
                internal: hint,
            },
            HttpFault::Private(internal) => Self::Private { server, internal },
            HttpFault::Broken(_) => Self::Disconnected {
                server,
                status: None,
                was_sent: true,
                step,
            },
            HttpFault::Unauthorized(need) => Self::Unauthorized { server, need },
            HttpFault::Status(status) => Self::Status { server, status, step },
            HttpFault::Redirected => Self::Redirected { server },
        }
    }

    /// Whether what was asked may have been done, in whole or in part.
    pub fn may_have_effects(&self) -> bool {
        match self {
            Self::NotConfigured { .. }
            | Self::Unresolved { .. }
            | Self::CannotStart { .. }
            | Self::Exited { .. }
            | Self::Unreachable { .. }
            | Self::Private { .. }
            | Self::Unauthorized { .. }
            | Self::Redirected { .. }
            | Self::NoCommonVersion { .. }
            | Self::NotYet { .. }
            | Self::Busy { .. }
            | Self::TooMany { .. }
            | Self::PagesFirst { .. }
            | Self::Closed { .. } => false,
            // The server has seen the call: it may have failed half-way.
            Self::Refused { .. } | Self::InputRefused { .. } => true,
            Self::NotInTime { step, .. } | Self::Protocol { step, .. } | Self::TooLarge { step, .. } => *step == UpstreamStep::Call,
            // With one of 400 to 499 it did not take the request.
            Self::Status { status, step, .. } => *status >= 500 && *step == UpstreamStep::Call,
            Self::Disconnected { was_sent, step, .. } => *was_sent && *step == UpstreamStep::Call,
        }
    }

    /// Whether the server does not work, which is another thing than whether a call was good. One that cannot be started or
    /// connected to is left alone by its connection already.
    pub(crate) const fn is_outage(&self) -> bool {
        match self {
            Self::NotInTime { .. } | Self::Disconnected { .. } => true,
            Self::Status { status, .. } => *status >= 500,
            _ => false,
        }
    }

    /// What to do about it.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::NotYet { cause, .. } if matches!(**cause, Self::Unauthorized { .. } | Self::Private { .. }) => cause.hint(),
            Self::Private { server, .. } => Some(format!(
                "if it is meant to be there, set `servers.{server}.allow_private: true` in `mce.yaml`, or `MCE_{}_ALLOW_PRIVATE=true`",
                server.to_uppercase()
            )),
            Self::NotYet { after, .. } => Some(format!(
                "it is tried again in {} s; `mce doctor` shows what it printed",
                after.as_secs() + 1
            )),
            Self::CannotStart { .. } | Self::Exited { .. } | Self::NoCommonVersion { .. } => {
                Some("`mce doctor` shows what it printed".to_owned())
            }
            Self::Unauthorized { server, need } => Some(need.hint(server)),
            Self::Unresolved { variable, .. } => Some(format!("set `{variable}`")),
            Self::NotInTime {
                step: UpstreamStep::Start, ..
            } => Some("`start_timeout` gives it longer".to_owned()),
            Self::NotInTime { .. } => Some("`timeout` gives it longer; it was told to stop".to_owned()),
            Self::PagesFirst { .. } => Some("the user was shown a page of the server: call again when that is done".to_owned()),
            Self::Busy { .. } => Some("call again later, or raise its `concurrency`".to_owned()),
            Self::TooLarge { .. } => Some("ask for less, or raise its `max_answer_bytes`".to_owned()),
            Self::Unreachable { internal, .. } if internal.starts_with("the proxy ") => Some(internal.clone()),
            Self::Unreachable { internal, .. } => tls_trouble(internal).map(|(_, hint)| hint.to_owned()),
            Self::Redirected { .. } => Some("set its `url` to that place if you trust it".to_owned()),
            Self::NotConfigured { .. }
            | Self::Status { .. }
            | Self::Refused { .. }
            | Self::Protocol { .. }
            | Self::TooMany { .. }
            | Self::Disconnected { .. }
            | Self::InputRefused { .. }
            | Self::Closed { .. } => None,
        }
    }

    /// The text for people and the log; it may name a program or a host.
    pub fn internal(&self) -> String {
        match self {
            Self::CannotStart { internal, .. }
            | Self::Unreachable { internal, .. }
            | Self::Private { internal, .. }
            | Self::NoCommonVersion { internal, .. } => format!("{self}: {internal}"),
            Self::NotYet { cause, .. } => cause.internal(),
            Self::NotConfigured { .. }
            | Self::Unresolved { .. }
            | Self::Exited { .. }
            | Self::Unauthorized { .. }
            | Self::Status { .. }
            | Self::Redirected { .. }
            | Self::NotInTime { .. }
            | Self::Busy { .. }
            | Self::Refused { .. }
            | Self::Protocol { .. }
            | Self::TooLarge { .. }
            | Self::TooMany { .. }
            | Self::Disconnected { .. }
            | Self::InputRefused { .. }
            | Self::PagesFirst { .. }
            | Self::Closed { .. } => self.to_string(),
        }
    }
}
