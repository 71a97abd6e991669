//! What may stand as a name in the texts, and names made from other names.

use unicode_normalization::UnicodeNormalization;

/// Names that mean something else in a text of types, in either language.
const TAKEN: [&str; 44] = [
    "Any",
    "Array",
    "ArrayBuffer",
    "BigInt",
    "Blob",
    "Boolean",
    "Buffer",
    "Date",
    "Dict",
    "Error",
    "Exception",
    "False",
    "File",
    "Function",
    "Infinity",
    "JSON",
    "List",
    "Literal",
    "Map",
    "Math",
    "NaN",
    "Never",
    "None",
    "NotRequired",
    "Number",
    "Object",
    "Omit",
    "Optional",
    "Partial",
    "Pick",
    "Promise",
    "Proxy",
    "Record",
    "RegExp",
    "Required",
    "Set",
    "String",
    "Symbol",
    "True",
    "Tuple",
    "TypeAlias",
    "TypedDict",
    "Uint8Array",
    "Union",
];

const PYTHON_KEYWORDS: [&str; 35] = [
    "False", "None", "True", "and", "as", "assert", "async", "await", "break", "class", "continue", "def", "del", "elif", "else", "except",
    "finally", "for", "from", "global", "if", "import", "in", "is", "lambda", "nonlocal", "not", "or", "pass", "raise", "return", "try",
    "while", "with", "yield",
];

/// Names of the types that annotations use; a property of such a name would hide the type from those that follow.
const PYTHON_TYPE_NAMES: [&str; 7] = ["bool", "bytes", "dict", "float", "int", "list", "str"];

/// Whether a name of a type would mean something else.
pub(super) fn is_taken(name: &str) -> bool {
    TAKEN.binary_search(&name).is_ok()
}

/// Whether a property's name can be written in a Python class as it is: an identifier that Python does not change.
pub(super) fn is_python_field(name: &str) -> bool {
    let mut chars = name.chars();
    let begins = chars.next().is_some_and(|c| c == '_' || unicode_ident::is_xid_start(c));
    let is_identifier = begins && chars.all(unicode_ident::is_xid_continue) && name.nfkc().eq(name.chars());
    // Two leading underscores are changed by the class; annotations would look a name up among the properties.
    is_identifier
        && !name.starts_with("__")
        && PYTHON_KEYWORDS.binary_search(&name).is_err()
        && PYTHON_TYPE_NAMES.binary_search(&name).is_err()
        && !is_taken(name)
}

/// Whether a property's name needs no quotes in TypeScript.
pub(super) fn is_typescript(name: &str) -> bool {
    let mut chars = name.chars();
    chars.next().is_some_and(|c| c == '_' || c == '$' || c.is_ascii_alphabetic())
        && chars.all(|c| c == '_' || c == '$' || c.is_ascii_alphanumeric())
}

/// Whether a name can be that of a type in both languages.
pub(super) fn is_type_name(name: &str) -> bool {
    is_python_field(name) && is_typescript(name) && name.starts_with(|c: char| c.is_ascii_uppercase())
}

/// The letters and digits of a name in Pascal case; empty if it has none.
pub(super) fn pascal(name: &str) -> String {
    const MAX_CHARS: usize = 60;
    let mut out = String::new();
    let mut begins = true;
    for c in name.chars() {
        if !c.is_ascii_alphanumeric() {
            begins = true;
            continue;
        }
        out.push(if begins { c.to_ascii_uppercase() } else { c });
        begins = false;
        if out.len() >= MAX_CHARS {
            break;
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_sorted_for_the_search_in_them() {
        assert!(TAKEN.is_sorted() && PYTHON_KEYWORDS.is_sorted() && PYTHON_TYPE_NAMES.is_sorted());
    }

    #[test]
    fn only_names_that_stay_as_they_are_become_fields() {
        for name in ["id", "_x", "größe"] {
            assert!(is_python_field(name), "{name}");
        }
        for name in ["class", "a-b", "1", "", "__x", "list", "ﬁ", "$id", "Any"] {
            assert!(!is_python_field(name), "{name}");
        }
    }

    #[test]
    fn pascal_case_has_only_letters_and_digits() {
        let check = |name: &str, expected: &str| assert_eq!(pascal(name), expected);
        check("created_at", "CreatedAt");
        check("x-y.z", "XYZ");
        check("+1", "1");
        check("größe", "GrE");
    }
}
