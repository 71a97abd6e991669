//! A launcher for this crate's tests and no part of the product, whose launcher is `mce` itself in a hidden role.

use std::process::ExitCode;

fn main() -> ExitCode {
    mce_jail::launcher_main()
}
