//! The fork server for TypeScript as a program of its own, for this crate's tests. `mce` has it as a hidden role of its own.

use std::process::ExitCode;

fn main() -> ExitCode {
    mce_sandbox::typescript_fork_server_main()
}
