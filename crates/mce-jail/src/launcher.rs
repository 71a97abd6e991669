//! The launcher: a single-threaded process that builds a jail and waits for its program.

use std::process::ExitCode;

/// The whole of a launcher. To be called first thing in `main`, before any thread is started. Descriptor 0 is a socket to
/// the host, which sends the [`crate::JailSpec`] over it.
pub fn launcher_main() -> ExitCode {
    ExitCode::FAILURE
}
