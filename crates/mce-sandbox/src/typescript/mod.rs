//! The engine for TypeScript: QuickJS in a jailed worker, which is this program in another role, as a fork server.
//!
//! On the host: this file and `jail`. In the jail: all others. A program is compiled (`compile`), checked against the
//! catalog (`check`), run (`run`), and its value becomes JSON (`values`); what it finds defined is `guest/typescript`.

mod arguments;
mod channel;
mod check;
mod compile;
mod failure;
mod guest;
mod jail;
mod natives;
mod role;
mod run;
mod values;
mod web;

use std::sync::Arc;

use self::role::Configuration;
pub use self::role::typescript_fork_server_main;
use crate::fork_server::{ForkServer, ForkServerSpec};
use crate::options::worker_limits;
use crate::pool::Engine;
use crate::{BoxFuture, EngineError, SandboxOptions};

const MIB: usize = 1 << 20;

/// Of the memory of a worker, this part is left to what is no object of the program: its text, its tree, frames.
const OWN_PART: usize = 8;

/// Deep recursion of a program and of its syntax tree. Only what is used costs memory.
const STACK_MIB: u32 = 64;

/// TypeScript and JavaScript.
pub(crate) struct TypeScriptEngine {
    options: Arc<SandboxOptions>,
}

impl TypeScriptEngine {
    pub(crate) const fn new(options: Arc<SandboxOptions>) -> Self {
        Self { options }
    }

    async fn start_server(&self) -> Result<Arc<ForkServer>, EngineError> {
        let options = &self.options;
        let spec = jail::spec(&options.typescript, options.layers()?, options.jail_processes());
        let memory = options.limits.memory_mib as usize * MIB;
        let configuration = Configuration {
            memory_bytes: memory - memory / OWN_PART,
            cpu_seconds: options.limits.cpu_seconds(),
        };
        let mut limits = worker_limits(&options.limits);
        limits.stack_mib = STACK_MIB;
        let fault = |reason: String| EngineError::ForkServer { reason };
        ForkServer::start(ForkServerSpec {
            jail: spec.map_err(|error| fault(error.to_string()))?,
            launcher: options.jail_launcher(),
            configuration: serde_json::to_vec(&configuration).map_err(|error| fault(error.to_string()))?,
            limits,
            output_bytes: options.limits.output_bytes,
        })
        .await
    }
}

impl Engine for TypeScriptEngine {
    fn start(&self) -> BoxFuture<'_, Result<Arc<ForkServer>, EngineError>> {
        Box::pin(self.start_server())
    }
}
