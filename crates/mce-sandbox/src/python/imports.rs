//! What a program imports, guessed from its text to choose a fork server. A wrong guess costs time, nothing else.

/// A statement of the text, perhaps inside a function, imports a top-level module that `is_wanted`. Text that only looks like
/// such a statement counts too; imports by other means do not.
pub(crate) fn imports_any(source: &str, is_wanted: impl Fn(&str) -> bool) -> bool {
    let statements = source.split(['\n', '\r', ';', ':']).map(str::trim_start);
    let mut imported = statements.flat_map(|statement| {
        let (modules, is_list) = match (after(statement, "import"), after(statement, "from")) {
            (Some(modules), _) => (modules, true),
            (None, Some(module)) => (module, false),
            (None, None) => ("", false),
        };
        modules.split(',').take(if is_list { usize::MAX } else { 1 }).map(top_level)
    });
    imported.any(is_wanted)
}

/// What follows a keyword.
fn after<'a>(statement: &'a str, keyword: &str) -> Option<&'a str> {
    let rest = statement.strip_prefix(keyword)?;
    rest.starts_with([' ', '\t', '\\']).then_some(rest)
}

/// `a` of `a.b as c`.
fn top_level(module: &str) -> &str {
    let module = module.trim_start_matches([' ', '\t', '\\']);
    let end = module.find(|character: char| !character.is_alphanumeric() && character != '_');
    module.get(..end.unwrap_or(module.len())).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn import_statements_are_found_wherever_they_stand() {
        for (source, expected) in [
            ("import pandas", true),
            ("import json, pandas as pd", true),
            ("import json\n\nfrom pandas.io import excel", true),
            ("from pandas import DataFrame, Series", true),
            ("def f():\n    import pandas.io\n", true),
            ("x = 1; import pandas", true),
            ("if True: import pandas", true),
            ("try:\r\n\timport\tpandas", true),
            ("import \tjson as j,\tpandas", true),
            ("import pandasql", false),
            ("from json import pandas", false),
            ("from . import pandas", false),
            ("imports = 'pandas'\nfrom_ = pandas", false),
            ("# import pandas", false),
            ("import numpy", true),
            ("import é, ", false),
            ("import", false),
            ("", false),
        ] {
            assert_eq!(
                imports_any(source, |name| ["pandas", "numpy"].contains(&name)),
                expected,
                "{source}"
            );
        }
    }
}
