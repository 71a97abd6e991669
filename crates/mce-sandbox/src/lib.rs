//! Engines, worker pool and frames. Knows nothing of catalog, network and credentials; see [`HostCalls`].

mod engine_error;
mod host_calls;
mod options;
mod program;
mod sandbox;

pub use engine_error::EngineError;
pub use host_calls::{BoxFuture, CallFailure, Description, FunctionStub, HostCall, HostCalls, HostValue, Naming, ParameterStub};
pub use options::{Launcher, Limits, SandboxOptions};
pub use program::{Content, ErrorKind, Language, Outcome, Program, ProgramError};
pub use sandbox::{LayerFact, PythonFacts, Sandbox, SandboxFacts};
