//! The engine for Python: the machine's interpreter, jailed, as a fork server.

mod interpreter;
mod jail;

use std::sync::Arc;

use tokio::sync::OnceCell;

use self::interpreter::Interpreter;
use crate::fork_server::{ForkServer, ForkServerSpec};
use crate::options::worker_limits;
use crate::pool::Engine;
use crate::{BoxFuture, EngineError, PythonFacts, SandboxOptions};

/// Python, bare: the standard library is imported once, other packages by each run that wants them.
pub(crate) struct PythonEngine {
    options: Arc<SandboxOptions>,
    interpreter: OnceCell<Arc<Interpreter>>,
}

impl PythonEngine {
    pub(crate) fn new(options: Arc<SandboxOptions>) -> Self {
        Self {
            options,
            interpreter: OnceCell::new(),
        }
    }

    /// The interpreter, looked for once.
    pub(crate) async fn facts(&self) -> Result<PythonFacts, EngineError> {
        Ok(self.find().await?.facts())
    }

    async fn find(&self) -> Result<Arc<Interpreter>, EngineError> {
        let find = || async {
            let options = Arc::clone(&self.options);
            let found = tokio::task::spawn_blocking(move || Interpreter::find(&options.python, &options.environment)).await;
            found
                .map_err(|error| EngineError::ForkServer { reason: error.to_string() })?
                .map(Arc::new)
        };
        self.interpreter.get_or_try_init(find).await.cloned()
    }

    async fn start_server(&self) -> Result<Arc<ForkServer>, EngineError> {
        let interpreter = self.find().await?;
        let options = &self.options;
        let libraries: Vec<String> = options
            .python_libraries
            .iter()
            .chain(&interpreter.site)
            .map(|path| path.to_string_lossy().into_owned())
            .collect();
        let configuration = serde_json::json!({ "libraries": libraries, "preload": [] });
        ForkServer::start(ForkServerSpec {
            jail: jail::spec(&interpreter, &options.python_libraries, options.layers()?, options.jail_processes()),
            launcher: options.jail_launcher(),
            configuration: configuration.to_string().into_bytes(),
            limits: worker_limits(&options.limits),
            output_bytes: options.limits.output_bytes,
        })
        .await
    }
}

impl Engine for PythonEngine {
    fn start(&self) -> BoxFuture<'_, Result<Arc<ForkServer>, EngineError>> {
        Box::pin(self.start_server())
    }
}
