//! The tools of MCP servers, listed into the catalog: when `mce compile` asks for it, when a server was never listed, and when
//! a server says that its tools changed.

use std::time::Instant;

use mce_broker::{ToolList, UpstreamError};
use mce_catalog::function::Function;
use mce_catalog::openapi::{self, Document, Problem};
use mce_catalog::store::{DocumentRecord, Source};
use mce_config::{Origin, ServerSettings};
use serde_json::Value;

use super::answer::millis;
use super::compile::{COMPILER, CompileOptions, Compiler, record, replace};
use super::documents::sha256;
use super::fit::misfits;
use super::report::{ChangeLists, Counts};
use super::views::location_of;
use crate::failure::Failure;

/// Characters of what a server says about itself.
const MAX_DESCRIPTION_CHARS: usize = 1_000;

impl Compiler {
    /// MCP servers whose tools were never listed.
    pub(super) fn unlisted(&self) -> Vec<&ServerSettings> {
        let is_mcp = |server: &&ServerSettings| !matches!(server.origin, Origin::OpenApi(_));
        let is_listed = |server: &ServerSettings| {
            let record = self.store.document(&location_of(server)).ok().flatten();
            record.is_some_and(|record| record.compiler == COMPILER)
        };
        self.settings
            .servers
            .iter()
            .filter(is_mcp)
            .filter(|server| !is_listed(server))
            .collect()
    }

    /// Lists the tools of a server that was asked for by a person, whatever happened before.
    pub(super) async fn compile_tools(&self, server: &ServerSettings, options: CompileOptions<'_>) -> Result<Counts, Failure> {
        let connected = self.upstreams.connect(&server.name).await;
        connected.map_err(|error| upstream_failure(&error))?;
        self.list_tools(server, options).await
    }

    /// Lists the tools of a server, and keeps them if they are others than before.
    ///
    /// # Errors
    ///
    /// A failure if the server cannot be asked; what is known of its tools stays.
    pub(super) async fn list_tools(&self, server: &ServerSettings, options: CompileOptions<'_>) -> Result<Counts, Failure> {
        let list = self
            .upstreams
            .list_tools(&server.name)
            .await
            .map_err(|error| upstream_failure(&error))?;
        let key = location_of(server);
        let source = Source {
            location: key.clone(),
            sha256: sha256(Value::Array(list.tools.clone()).to_string().as_bytes()),
            stamp: None,
        };
        let known = self.store.document(&key).map_err(Failure::internal)?;
        let known = known.filter(|record| record.compiler == COMPILER);
        if let Some(record) = known.as_ref().filter(|record| record.sources.first() == Some(&source)) {
            return self.keep_tools(server, record, Vec::new());
        }
        let start = Instant::now();
        let document = tokio::task::spawn_blocking(move || read(list))
            .await
            .map_err(|_| Failure::internal("the reader of tools failed"))?;
        let changes = known.as_ref().map(|_| self.changes(&key, &document)).transpose()?;
        if let (Some(record), Some(changes)) = (&known, &changes)
            && server.upstream.is_pinned
            && !options.accepts_changes
        {
            // A description can mislead as well as a signature.
            let changed = self.changed_definitions(&key, &document)?;
            let lists = [("new", &changes.added), ("gone", &changes.removed), ("changed", &changed)];
            let all = lists
                .iter()
                .flat_map(|(what, names)| names.iter().map(move |name| held(name, what)));
            let all: Vec<Problem> = all.collect();
            if !all.is_empty() {
                return self.keep_tools(server, record, all);
            }
        }
        let record = record(&key, vec![source], &document, millis(start.elapsed()));
        let mut counts = Counts::new(record.clone(), document.functions.len());
        counts.changes = changes.map(ChangeLists::from);
        if !options.is_dry_run {
            replace(&self.store, &record, &document)?;
            counts
                .problems
                .extend(misfits(server, &self.store, &self.settings.allowed_domains)?);
        }
        Ok(counts)
    }

    /// Tools that are known and are defined otherwise now, in whatever part.
    fn changed_definitions(&self, key: &str, document: &Document) -> Result<Vec<String>, Failure> {
        let (known, _) = self.store.contents(key).map_err(Failure::internal)?;
        let is_other = |function: &&Function| {
            let same = known.iter().find(|known| known.operation == function.operation);
            same.is_some_and(|same| same.target != function.target)
        };
        let changed = document.functions.iter().filter(is_other);
        Ok(changed.map(|function| function.operation.clone()).collect())
    }

    /// What is known stays as it is.
    pub(super) fn keep_tools(&self, server: &ServerSettings, record: &DocumentRecord, held: Vec<Problem>) -> Result<Counts, Failure> {
        let (compiled, _) = self.store.count_functions(&record.location).map_err(Failure::internal)?;
        let mut counts = Counts::new(record.clone(), usize::try_from(compiled).unwrap_or(usize::MAX));
        counts.unchanged = held.is_empty();
        counts.problems.extend(held);
        counts
            .problems
            .extend(misfits(server, &self.store, &self.settings.allowed_domains)?);
        Ok(counts)
    }
}

fn held(tool: &str, what: &str) -> Problem {
    Problem {
        pointer: tool.to_owned(),
        message: format!("it is {what}, and held back because the server is pinned; `mce compile --accept` takes it over"),
    }
}

fn read(list: ToolList) -> Document {
    let mut document = openapi::read_tools(list.tools);
    document.title = list.title;
    document.description = list.instructions.chars().take(MAX_DESCRIPTION_CHARS).collect();
    document
}

/// A failure of an MCP server as commands tell it.
pub(super) fn upstream_failure(error: &UpstreamError) -> Failure {
    Failure::new("tool", error.to_string()).with_hint(error.hint().unwrap_or_default())
}
