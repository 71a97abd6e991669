//! For whom something is run or called: what the policy decides by, and what the audit log keeps.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;

use mce_broker::{Asker, ClientRequests, NoClient, RunContext};

use super::documents;
use super::model::ModelLeave;
use super::narrowed::Narrowed;
use crate::at_terminal::AtTerminal;
use crate::terminal::Terminal;

/// On whose behalf something is run or called.
#[derive(Debug, Clone)]
pub(crate) struct Behalf {
    /// Of its run, in the audit log.
    pub(crate) id: String,
    /// What the client's own records know its request by.
    pub(crate) correlation: Option<String>,
    /// Who wants it.
    pub(crate) asker: Asker,
    /// What the client calls itself.
    pub(crate) client_name: Option<String>,
    /// Who answers what MCP servers and programs ask meanwhile.
    pub(crate) client: Arc<dyn ClientRequests>,
    /// Leave for a program to ask the client's language model.
    pub(crate) model: Option<ModelLeave>,
    /// What a program may do less than the settings allow.
    pub(crate) narrowed: Narrowed,
}

impl Behalf {
    /// Of somebody who typed a command.
    pub(crate) fn person() -> Self {
        Self {
            id: new_run_id(),
            correlation: None,
            asker: Asker::Person,
            client_name: None,
            client: Arc::new(NoClient),
            model: None,
            narrowed: Narrowed::default(),
        }
    }

    /// The same, who may be asked at this terminal.
    pub(crate) fn person_at(terminal: Terminal) -> Self {
        Self {
            client: AtTerminal::new(terminal),
            ..Self::person()
        }
    }

    /// Of a client, by the name that it gives itself.
    pub(crate) fn client(client: Arc<dyn ClientRequests>, name: Option<String>) -> Self {
        Self {
            asker: Asker::Model,
            client_name: name,
            client,
            ..Self::person()
        }
    }

    /// The run, of this program if there is one.
    pub(crate) fn run(&self, source: Option<&str>) -> RunContext {
        RunContext {
            id: self.id.clone(),
            correlation: self.correlation.clone(),
            asker: self.asker,
            client: self.client_name.clone(),
            code_sha256: source.map(|source| documents::sha256(source.as_bytes())),
        }
    }
}

/// An id for the audit log, unique among the runs of all processes that share it.
fn new_run_id() -> String {
    static COUNTER: AtomicU64 = AtomicU64::new(0);
    let started = SystemTime::now()
        .duration_since(SystemTime::UNIX_EPOCH)
        .map_or(0, |since| since.as_millis());
    format!("{started:x}-{:x}-{:x}", std::process::id(), COUNTER.fetch_add(1, Ordering::Relaxed))
}
