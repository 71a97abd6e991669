//! What the policy says, for commands; and the projects that are served.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use mce_broker::{
    Approvals, Asker, CallRequest, Caller, ClientRequest, ClientRequestKind, ClientRequests, Explanation, Naming, RuleFault, RunContext,
};
use serde_json::Value;
use serde_json::value::RawValue;

use super::{App, Behalf, run_calls};
use crate::failure::Failure;

impl App {
    /// Calls that wait for a person, and what people allowed always.
    pub(crate) fn approvals(&self) -> &Approvals {
        self.broker.approvals()
    }

    /// Parts of rules that fit nothing, as far as servers are compiled.
    ///
    /// # Errors
    ///
    /// A failure if the catalog cannot be read.
    pub(crate) fn rule_faults(&self) -> Result<Vec<RuleFault>, Failure> {
        self.discovery.rule_faults(&self.settings)
    }

    /// Tells them in the log, to whoever serves.
    pub(super) async fn log_rule_faults(self: &Arc<Self>) {
        let app = Arc::clone(self);
        let faults = tokio::task::spawn_blocking(move || app.rule_faults()).await;
        for fault in faults.ok().and_then(Result::ok).unwrap_or_default() {
            tracing::warn!(hint = fault.hint.as_deref().unwrap_or_default(), "{fault}");
        }
    }

    /// What would be decided of a call by original names, of this asker and client.
    ///
    /// # Errors
    ///
    /// As a call's, for arguments that do not fit.
    pub(crate) fn explain(
        &self,
        reference: &str,
        arguments: &RawValue,
        asker: Asker,
        client: Option<String>,
    ) -> Result<Explanation, Failure> {
        let request = CallRequest {
            run: &RunContext {
                client,
                ..RunContext::new("check", asker)
            },
            caller: Caller::Python,
            naming: Naming::Original,
            function: reference,
            arguments,
            with_content: false,
            page: None,
            client: None,
            recipes: None,
        };
        self.broker.explain(request).map_err(|error| run_calls::failure_of(&error))
    }

    /// Refuses to serve another project than those of `allowed_projects`, if there are any. The project is the folders of the
    /// client, if it tells some, else the working directory.
    ///
    /// # Errors
    ///
    /// A failure of type `policy`.
    pub(super) async fn check_project(&self, behalf: &Behalf) -> Result<(), Failure> {
        let allowed = &self.settings.policy.allowed_projects;
        if allowed.is_empty() {
            return Ok(());
        }
        let folders = match folders_of(behalf.client.as_ref()).await {
            folders if folders.is_empty() => vec![Some(self.working_dir.clone())],
            folders => folders,
        };
        let is_below = |folder: &Path| allowed.iter().any(|allowed| real(folder).starts_with(real(allowed)));
        if folders.iter().all(|folder| folder.as_deref().is_some_and(is_below)) {
            return Ok(());
        }
        Err(Failure::new(
            "policy",
            "this project is not among the allowed ones, so that nothing is called or run in it",
        )
        .with_hint("a person can add its folder to `allowed_projects` (`MCE_ALLOWED_PROJECTS`) in the configuration"))
    }
}

/// The folders that a client tells; none in place of one that is no folder of this machine.
async fn folders_of(client: &dyn ClientRequests) -> Vec<Option<PathBuf>> {
    if !client.abilities().roots {
        return Vec::new();
    }
    let request = ClientRequest {
        key: None,
        server: String::new(),
        kind: ClientRequestKind::Roots,
        params: Value::Null,
    };
    // A client that has folders and does not tell them is in none that is allowed.
    let Ok(answer) = client.answer(request).await else {
        return vec![None];
    };
    let roots = answer.get("roots").and_then(Value::as_array).cloned().unwrap_or_default();
    let folder = |root: &Value| url::Url::parse(root.get("uri")?.as_str()?).ok()?.to_file_path().ok();
    roots.iter().map(folder).collect()
}

/// Without links, where it exists.
fn real(path: &Path) -> PathBuf {
    fs_err::canonicalize(path).unwrap_or_else(|_| path.to_owned())
}
