//! The engine for Python: the machine's interpreter, jailed, as two kinds of fork server: a bare one, and one that has
//! imported the data libraries.

mod imports;
mod interpreter;
mod jail;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio::sync::OnceCell;

use self::imports::imports_any;
use self::interpreter::{Interpreter, is_open_to_all};
use crate::fork_server::{ForkServer, ForkServerSpec};
use crate::options::worker_limits;
use crate::pool::Engine;
use crate::{BoxFuture, EngineError, PythonFacts, SandboxOptions};

/// The interpreter that all programs share, looked for once.
pub(crate) struct Python {
    options: Arc<SandboxOptions>,
    found: OnceCell<Arc<Found>>,
}

/// What there is for a jail.
struct Found {
    interpreter: Interpreter,
    /// Those of the configured folders of packages that can be read in it.
    folders: Vec<PathBuf>,
}

/// What a fork server imports beside the standard library.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Preload {
    /// Each run imports what it wants.
    Nothing,
    /// pandas and what else of the kind is installed.
    DataLibraries,
}

/// How one kind of fork server is started.
pub(crate) struct PythonEngine {
    python: Arc<Python>,
    preload: Preload,
}

impl Python {
    pub(crate) fn new(options: Arc<SandboxOptions>) -> Self {
        Self {
            options,
            found: OnceCell::new(),
        }
    }

    /// The interpreter and its data libraries.
    pub(crate) async fn facts(&self) -> Result<PythonFacts, EngineError> {
        Ok(self.find().await?.interpreter.facts())
    }

    /// The program imports a data library that is there. False if there is no interpreter, which its start then tells.
    pub(crate) async fn wants_data_libraries(&self, source: &str) -> bool {
        let Ok(found) = self.find().await else { return false };
        imports_any(source, |module| found.interpreter.libraries.iter().any(|(name, _)| name == module))
    }

    async fn find(&self) -> Result<Arc<Found>, EngineError> {
        let find = || async {
            let options = Arc::clone(&self.options);
            tokio::task::spawn_blocking(move || Found::find(&options))
                .await
                .map_err(|error| EngineError::ForkServer { reason: error.to_string() })?
                .map(Arc::new)
        };
        self.found.get_or_try_init(find).await.cloned()
    }

    async fn start_server(&self, preload: Preload) -> Result<Arc<ForkServer>, EngineError> {
        let found = self.find().await?;
        let Found {
            interpreter,
            folders: libraries,
        } = &*found;
        let options = &self.options;
        let folders: Vec<String> = libraries
            .iter()
            .chain(&interpreter.site)
            .map(|path| path.to_string_lossy().into_owned())
            .collect();
        let limits = worker_limits(&options.limits);
        let configuration = serde_json::json!({
            "folders": folders,
            "has_data_libraries": preload == Preload::DataLibraries,
            "memory_kib": u64::from(limits.memory_mib) * 1024,
            "cpu_seconds": limits.cpu_seconds,
        });
        ForkServer::start(ForkServerSpec {
            jail: jail::spec(interpreter, libraries, options.layers()?, options.jail_processes()),
            launcher: options.jail_launcher(),
            configuration: configuration.to_string().into_bytes(),
            limits,
            output_bytes: options.limits.output_bytes,
        })
        .await
    }
}

impl Found {
    /// Where root starts programs that run as `nobody`, they need what everybody may read.
    fn find(options: &SandboxOptions) -> Result<Self, EngineError> {
        let sees_all = !mce_jail::runs_as_nobody(options.layers()?);
        let is_open = |path: &Path| sees_all || is_open_to_all(path);
        let (folders, closed): (Vec<_>, Vec<_>) = options.python_libraries.iter().cloned().partition(|folder| is_open(folder));
        for folder in closed.into_iter().filter(|folder| folder.exists()) {
            let folder = folder.display();
            tracing::warn!(target: "mce_sandbox", %folder, "packages are left out: without namespaces programs run as `nobody`, who cannot read them");
        }
        let interpreter = Interpreter::choose(&options.python, &options.environment, &folders, is_open)?;
        Ok(Self { interpreter, folders })
    }
}

impl PythonEngine {
    pub(crate) const fn new(python: Arc<Python>, preload: Preload) -> Self {
        Self { python, preload }
    }
}

impl Engine for PythonEngine {
    fn start(&self) -> BoxFuture<'_, Result<Arc<ForkServer>, EngineError>> {
        Box::pin(self.python.start_server(self.preload))
    }
}
