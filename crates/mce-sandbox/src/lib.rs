//! Engines, worker pool and frames. Knows nothing of catalog, network and credentials; see [`HostCalls`].

mod host_calls;
mod program;

pub use host_calls::{BoxFuture, CallFailure, Description, FunctionStub, HostCall, HostCalls, HostValue, Naming, ParameterStub};
pub use program::{Content, ErrorKind, Language, Outcome, Program, ProgramError};
