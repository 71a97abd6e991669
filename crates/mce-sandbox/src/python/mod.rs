//! The engine for Python: the machine's interpreter, jailed, as two kinds of fork server: a bare one, and one that has
//! imported the data libraries.

mod imports;
mod interpreter;
mod jail;

use std::sync::Arc;

use tokio::sync::OnceCell;

use self::imports::imports_any;
use self::interpreter::Interpreter;
use crate::fork_server::{ForkServer, ForkServerSpec};
use crate::options::worker_limits;
use crate::pool::Engine;
use crate::{BoxFuture, EngineError, PythonFacts, SandboxOptions};

/// The interpreter that all programs share, looked for once.
pub(crate) struct Python {
    options: Arc<SandboxOptions>,
    interpreter: OnceCell<Arc<Interpreter>>,
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
            interpreter: OnceCell::new(),
        }
    }

    /// The interpreter and its data libraries.
    pub(crate) async fn facts(&self) -> Result<PythonFacts, EngineError> {
        Ok(self.find().await?.facts())
    }

    /// The program imports a data library that is there. False if there is no interpreter, which its start then tells.
    pub(crate) async fn wants_data_libraries(&self, source: &str) -> bool {
        let Ok(interpreter) = self.find().await else { return false };
        imports_any(source, |module| interpreter.libraries.iter().any(|(name, _)| name == module))
    }

    async fn find(&self) -> Result<Arc<Interpreter>, EngineError> {
        let find = || async {
            let options = Arc::clone(&self.options);
            let found =
                tokio::task::spawn_blocking(move || Interpreter::find(&options.python, &options.environment, &options.python_libraries));
            found
                .await
                .map_err(|error| EngineError::ForkServer { reason: error.to_string() })?
                .map(Arc::new)
        };
        self.interpreter.get_or_try_init(find).await.cloned()
    }

    async fn start_server(&self, preload: Preload) -> Result<Arc<ForkServer>, EngineError> {
        let interpreter = self.find().await?;
        let options = &self.options;
        let folders: Vec<String> = options
            .python_libraries
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
            jail: jail::spec(&interpreter, &options.python_libraries, options.layers()?, options.jail_processes()),
            launcher: options.jail_launcher(),
            configuration: configuration.to_string().into_bytes(),
            limits,
            output_bytes: options.limits.output_bytes,
        })
        .await
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
