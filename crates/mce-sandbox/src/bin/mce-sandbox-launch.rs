//! The jail's launcher as a program of its own, for this crate's tests. `mce` has it as a hidden role of its own.

use std::process::ExitCode;

fn main() -> ExitCode {
    mce_jail::launcher_main()
}
