//! The process environment, read here and nowhere else.

use std::collections::BTreeMap;
use std::path::PathBuf;

/// Variables by name.
pub type Environment = BTreeMap<String, String>;

/// A copy of the process environment. Variables whose name or value is not UTF-8 are left out.
#[expect(clippy::disallowed_methods, reason = "the one place that reads the process environment")]
pub fn snapshot() -> Environment {
    std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .collect()
}

/// The file of the running program, without symbolic links.
pub(crate) fn executable() -> Option<PathBuf> {
    fs_err::canonicalize(std::env::current_exe().ok()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_snapshot_holds_the_variables_of_the_process() {
        assert!(snapshot().contains_key("PATH"));
    }
}
