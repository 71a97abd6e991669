//! Engines, worker pool and frames. Knows nothing of catalog, network and credentials; see [`HostCalls`].

mod engine_error;
mod fork_server;
pub mod frames;
mod host_calls;
mod lane;
mod options;
mod outline;
mod places;
mod pool;
mod program;
mod python;
mod run;
mod run_end;
mod sandbox;
mod typescript;
mod watch;
mod worker;

pub use engine_error::EngineError;
pub use host_calls::{
    BoxFuture, CallFailure, Description, FunctionStub, HostCall, HostCalls, HostValue, Naming, PaginationStub, ParameterStub, ResultStub,
    SearchBy, WrittenCall,
};
pub use options::{Launcher, Limits, SandboxOptions};
pub use outline::{Input, Outline};
pub use program::{Content, ErrorKind, Finding, Inputs, Language, Outcome, Program, ProgramError};
pub use sandbox::{LayerFact, PythonFacts, Sandbox, SandboxFacts};
pub use typescript::typescript_fork_server_main;
