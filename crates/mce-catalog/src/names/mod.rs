//! Names of documents become identifiers of Python and TypeScript: split to words, cased, kept off reserved words,
//! unique by rules that do not depend on the order of the document.
//!
//! Two names that meet are told apart by what belongs to them alone (an operation's method and path, a parameter's
//! place), so that an operation more in a document renames no other, except that it may take a plain name from one that
//! sorts after it.

use std::collections::BTreeSet;

use unicode_ident::{is_xid_continue, is_xid_start};
use unicode_normalization::UnicodeNormalization as _;

use crate::digest::sha256_hex;

/// Longest identifier made here, in characters; longer ones are cut and end in a hash.
const MAX_CHARS: usize = 80;

/// Keywords of Python 3, which no identifier may be.
const PYTHON_KEYWORDS: &str = "\
    False None True and as assert async await break class continue def del elif else except finally for from global if \
    import in is lambda nonlocal not or pass raise return try while with yield";

/// Builtins of Python, which an imported function of this name would hide, and names that mean something in a program:
/// `main` and `result` give its value.
const PYTHON_TAKEN: &str = "\
    abs aiter all anext any ascii bin bool breakpoint bytearray bytes call_function callable chr classmethod cls compile \
    complex delattr dict dir divmod enumerate eval exec exit filter float format frozenset getattr globals hasattr hash \
    help hex id input int isinstance issubclass iter len list locals main map max mce memoryview min next object oct \
    open ord pow print property quit range repr result reversed round self set setattr slice sorted staticmethod str sum \
    super tuple type vars zip";

/// Words that no variable of TypeScript may be called, in strict mode and modules.
const TYPESCRIPT_KEYWORDS: &str = "\
    any arguments as async await break case catch class const continue debugger default delete do else enum eval export \
    extends false finally for function if implements import in instanceof interface let new null package private \
    protected public return static super switch this throw true try typeof undefined var void while with yield";

/// Members that every object or promise has; a function of this name would change what the server's object is.
const TYPESCRIPT_TAKEN: &str = "\
    constructor hasOwnProperty isPrototypeOf main prototype result then toJSON toLocaleString toString valueOf";

/// Names of types that generated Python or TypeScript uses for itself.
const TYPES_TAKEN: &str = "\
    Any Array Awaitable BigInt Boolean Date File Function Generic Iterable Iterator List Literal Map Never None \
    NotRequired Number Object Optional Partial Promise Readonly Record Required Self Set String Symbol Tuple Type \
    TypedDict Uint8Array Union";

/// What names an operation.
#[derive(Debug, Clone, Copy)]
pub struct OperationKey<'a> {
    /// As sent.
    pub method: &'a str,
    /// As in the document.
    pub path: &'a str,
    /// The document's own name, if it has one.
    pub operation_id: Option<&'a str>,
}

/// What names a parameter.
#[derive(Debug, Clone, Copy)]
pub struct ParameterKey<'a> {
    /// As sent.
    pub original: &'a str,
    /// `path`, `query`, `header`, `cookie` or `querystring`; places that come first in this order keep plain names.
    pub location: &'static str,
    /// The rank of the location, lowest first.
    pub rank: u8,
}

/// An identifier in both languages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identifier {
    /// In `snake_case`.
    pub python: String,
    /// In `camelCase`.
    pub typescript: String,
}

/// Names for the functions of a server, in the order of `operations`; no two alike in either language.
///
/// An operation is called by its `operationId`, else by its method and path. Of those that meet, the first by path and
/// method keeps the name; the others have their own method and path added.
pub fn functions(operations: &[OperationKey<'_>]) -> Vec<Identifier> {
    let mut order: Vec<usize> = (0..operations.len()).collect();
    order.sort_by_key(|index| operations.get(*index).map(|operation| (operation.path, operation.method)));
    let mut names: Vec<Option<Identifier>> = vec![None; operations.len()];
    let mut taken = Taken::default();
    let mut losers = Vec::new();
    for index in order {
        let Some(operation) = operations.get(index) else { continue };
        let name = function_identifier(&base_words(operation));
        if taken.take(&name) {
            set(&mut names, index, name);
        } else {
            losers.push((index, operation));
        }
    }
    for (index, operation) in losers {
        let mut words = base_words(operation);
        if operation.operation_id.is_some() {
            words.extend(method_and_path_words(operation));
        }
        let name = taken.first_free(&words, &format!("{} {}", operation.method, operation.path), function_identifier);
        set(&mut names, index, name);
    }
    names.into_iter().flatten().collect()
}

/// The name that a person chose for a function, in both languages; a reserved word gets a `_` at its end.
pub fn function_named(name: &str) -> Identifier {
    function_identifier(&or_words(words(name), "function"))
}

/// Names for the parameters of one function, in the order of `parameters`; no two alike in either language.
///
/// Of those that meet, the one in the first place keeps the name, and in one place the one that is spelt like the
/// identifier; the others have their place added, or a number in the order of their original names.
/// `body` is never given away if `has_body`.
pub fn parameters(parameters: &[ParameterKey<'_>], has_body: bool) -> Vec<Identifier> {
    let python = unique(parameters, has_body, |words| parameter_identifier(words).python);
    let typescript = unique(parameters, has_body, |words| parameter_identifier(words).typescript);
    python
        .into_iter()
        .zip(typescript)
        .map(|(python, typescript)| Identifier { python, typescript })
        .collect()
}

/// The names of [`parameters`] in one language.
fn unique(parameters: &[ParameterKey<'_>], has_body: bool, make: fn(&[String]) -> String) -> Vec<String> {
    let bases: Vec<Vec<String>> = parameters
        .iter()
        .map(|parameter| or_words(words(parameter.original), "parameter"))
        .collect();
    let mut order: Vec<(usize, &ParameterKey<'_>, &Vec<String>)> = parameters
        .iter()
        .zip(&bases)
        .enumerate()
        .map(|(index, (parameter, base))| (index, parameter, base))
        .collect();
    order.sort_by_cached_key(|(_, parameter, base)| (parameter.rank, parameter.original != make(base), parameter.original));
    let mut taken: BTreeSet<String> = has_body.then(|| "body".to_owned()).into_iter().collect();
    let mut names = vec![String::new(); parameters.len()];
    let mut give = |index: usize, name: String| {
        let is_free = taken.insert(name.clone());
        if let Some(slot) = names.get_mut(index).filter(|_| is_free) {
            *slot = name;
        }
        is_free
    };
    order.retain(|(index, _, base)| !give(*index, make(base)));
    for (index, parameter, base) in order {
        let with = |word: String| make(&base.iter().cloned().chain([word]).collect::<Vec<_>>());
        let is_elsewhere = parameters
            .iter()
            .any(|other| other.original == parameter.original && other.rank != parameter.rank);
        let has_place = (is_elsewhere || *base == ["body"]) && give(index, with(parameter.location.to_owned()));
        if !has_place && !(2..=parameters.len() + 2).any(|number| give(index, with(number.to_string()))) {
            give(index, with(hash(&format!("{} {}", parameter.location, parameter.original))));
        }
    }
    names
}

/// A type's name in Pascal case, not yet unique; `None` if nothing in `original` can be part of an identifier.
pub(crate) fn type_name(original: &str) -> Option<String> {
    let words = words(original);
    if words.is_empty() {
        return None;
    }
    let name: String = words.iter().map(|word| capitalise(word)).collect();
    let name: String = cap(&name, original).nfkc().collect();
    let name = if name.chars().next().is_some_and(is_xid_start) {
        name
    } else {
        format!("_{name}")
    };
    Some(if is_in(TYPES_TAKEN, &name) { format!("{name}Model") } else { name })
}

/// `name`, told apart from all others by a hash of `identity`.
pub(crate) fn with_hash(name: &str, identity: &str) -> String {
    format!("{name}_{}", hash(identity))
}

fn set(names: &mut [Option<Identifier>], index: usize, name: Identifier) {
    if let Some(slot) = names.get_mut(index) {
        *slot = Some(name);
    }
}

/// Identifiers given away.
#[derive(Default)]
struct Taken {
    python: BTreeSet<String>,
    typescript: BTreeSet<String>,
}

impl Taken {
    /// Takes a name that is free in both languages.
    fn take(&mut self, name: &Identifier) -> bool {
        if self.python.contains(&name.python) || self.typescript.contains(&name.typescript) {
            return false;
        }
        self.python.insert(name.python.clone());
        self.typescript.insert(name.typescript.clone())
    }

    /// Takes the name of `words`, or with a hash of `identity` if it is not free.
    fn first_free(&mut self, words: &[String], identity: &str, make: fn(&[String]) -> Identifier) -> Identifier {
        let mut name = make(words);
        let mut round = 0;
        while !self.take(&name) {
            let mut words = words.to_vec();
            words.push(hash(&format!("{identity}{}", "#".repeat(round))));
            name = make(&words);
            round += 1;
        }
        name
    }
}

fn base_words(operation: &OperationKey<'_>) -> Vec<String> {
    let own = operation.operation_id.map(words).unwrap_or_default();
    if own.is_empty() { method_and_path_words(operation) } else { own }
}

/// `GET /users/{id}` is `get users by id`.
fn method_and_path_words(operation: &OperationKey<'_>) -> Vec<String> {
    let mut all = words(&operation.method.to_lowercase());
    let before = all.len();
    let mut rest = operation.path;
    while let Some((literal, from)) = rest.split_once('{') {
        all.extend(words(literal));
        let (variable, after) = from.split_once('}').unwrap_or((from, ""));
        let variable = words(variable);
        if !variable.is_empty() {
            all.push("by".to_owned());
            all.extend(variable);
        }
        rest = after;
    }
    all.extend(words(rest));
    if all.len() == before {
        all.push("root".to_owned());
    }
    all
}

fn or_words(words: Vec<String>, fallback: &str) -> Vec<String> {
    if words.is_empty() { vec![fallback.to_owned()] } else { words }
}

fn function_identifier(words: &[String]) -> Identifier {
    let mut name = parameter_identifier(words);
    if is_in(PYTHON_TAKEN, &name.python) {
        name.python.push('_');
    }
    if is_in(TYPESCRIPT_KEYWORDS, &name.typescript) || is_in(TYPESCRIPT_TAKEN, &name.typescript) {
        name.typescript.push('_');
    }
    name
}

/// Arguments are members of an object in TypeScript, where reserved words are fine.
fn parameter_identifier(words: &[String]) -> Identifier {
    let snake = cap(&words.join("_"), &words.join(" "));
    let mut python: String = start(&snake).nfkc().collect();
    if is_in(PYTHON_KEYWORDS, &python) || python == "self" {
        python.push('_');
    }
    let mut camel = String::new();
    for (index, word) in words.iter().enumerate() {
        // A digit that follows a digit would run together with it: `1.2` is not `12`.
        let joins_digits = camel.ends_with(|c: char| c.is_numeric()) && word.starts_with(char::is_numeric);
        if joins_digits {
            camel.push('_');
        }
        if index == 0 {
            camel.push_str(word);
        } else {
            camel.push_str(&capitalise(word));
        }
    }
    let typescript = start(&cap(&camel, &words.join(" "))).nfkc().collect();
    Identifier { python, typescript }
}

/// With an underscore in front if an identifier cannot start like this.
fn start(name: &str) -> String {
    if name.chars().next().is_some_and(is_xid_start) {
        name.to_owned()
    } else {
        format!("_{name}")
    }
}

/// At most [`MAX_CHARS`] characters, the last of them a hash if something was cut.
fn cap(name: &str, identity: &str) -> String {
    if name.chars().count() <= MAX_CHARS {
        return name.to_owned();
    }
    let kept: String = name.chars().take(MAX_CHARS - 9).collect();
    format!("{}_{}", kept.trim_end_matches('_'), hash(identity))
}

fn capitalise(word: &str) -> String {
    let mut chars = word.chars();
    chars
        .next()
        .map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}

/// Whether a list of words has this one.
fn is_in(list: &str, word: &str) -> bool {
    list.split_ascii_whitespace().any(|known| known == word)
}

/// Eight hex digits.
fn hash(identity: &str) -> String {
    sha256_hex(identity.as_bytes()).chars().take(8).collect()
}

/// Lower-case words: split at what is no part of an identifier and where the case changes. Comparison signs, and a sign
/// before a number, are words of their own.
fn words(original: &str) -> Vec<String> {
    let text: Vec<char> = original.nfkc().collect();
    let mut words = Vec::new();
    let mut word = String::new();
    for (index, c) in text.iter().copied().enumerate() {
        let next = text.get(index + 1).copied();
        if !is_xid_continue(c) || c == '_' {
            flush(&mut words, &mut word);
            words.extend(sign(c, index, &text).map(str::to_owned));
            continue;
        }
        let previous = index.checked_sub(1).and_then(|before| text.get(before)).copied();
        if previous.is_some_and(|previous| starts_word(previous, c, next, text.get(index + 2).copied())) {
            flush(&mut words, &mut word);
        }
        word.push(c);
    }
    flush(&mut words, &mut word);
    words
}

fn flush(words: &mut Vec<String>, word: &mut String) {
    if !word.is_empty() {
        // Lower-casing can leave characters that NFKC would change again.
        words.push(word.to_lowercase().nfkc().filter(|c| is_xid_continue(*c)).collect());
        word.clear();
    }
}

/// Whether a capital starts a word: `userId`, and the last one of a run, `HTTPServer`, but not in `userIDs`.
fn starts_word(previous: char, c: char, next: Option<char>, after: Option<char>) -> bool {
    if !c.is_uppercase() {
        return false;
    }
    if !previous.is_uppercase() {
        return true;
    }
    let is_plural = next == Some('s') && after.is_none_or(|after| !after.is_lowercase());
    next.is_some_and(char::is_lowercase) && !is_plural
}

/// The word for a sign that tells names apart.
fn sign(c: char, index: usize, text: &[char]) -> Option<&'static str> {
    let next = text.get(index + 1).copied();
    let previous = index.checked_sub(1).and_then(|before| text.get(before)).copied();
    match c {
        '<' => Some("lt"),
        '>' => Some("gt"),
        '=' if matches!(previous, Some('<' | '>' | '!')) => Some("eq"),
        '!' => (next == Some('=')).then_some("not"),
        '+' if index == 0 && next.is_some_and(char::is_numeric) => Some("plus"),
        '-' if index == 0 && next.is_some_and(char::is_numeric) => Some("minus"),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
