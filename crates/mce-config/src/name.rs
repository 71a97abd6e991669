//! A server's name as code writes it.

/// The longest name, in bytes.
const MAX_NAME_BYTES: usize = 64;

/// Makes an identifier of any text: lower case, everything but ASCII letters and digits becomes `_`, runs of `_` are one,
/// none at the ends; a leading digit gets `m_` before it; nothing left gives `module`.
///
/// A name that is a keyword or would hide something that programs use gets a `_` at its end, in both languages, so
/// that `import {server}` and `from {server}.functions import …` always mean the server and `import json` never does.
pub fn normalise_server_name(title: &str) -> String {
    let mut name = String::new();
    for character in title.chars() {
        if character.is_ascii_alphanumeric() {
            name.push(character.to_ascii_lowercase());
        } else if !name.is_empty() && !name.ends_with('_') {
            name.push('_');
        }
    }
    if name.starts_with(|first: char| first.is_ascii_digit()) {
        name.insert_str(0, "m_");
    }
    name.truncate(MAX_NAME_BYTES - 1);
    let name = name.trim_end_matches('_');
    match name {
        "" => "module".to_owned(),
        name if is_reserved(name) => format!("{name}_"),
        name => name.to_owned(),
    }
}

fn is_reserved(name: &str) -> bool {
    [KEYWORDS, GLOBALS, MODULES]
        .iter()
        .any(|words| words.split_whitespace().any(|word| word == name))
}

/// Keywords of Python, and words that TypeScript does not take as an identifier.
const KEYWORDS: &str = "
    and arguments as assert async await break case catch class const continue debugger def default del delete do elif else enum eval
    except export extends false finally for from function global if implements import in instanceof interface is lambda let new
    nonlocal not null or package pass private protected public raise return static super switch this throw true try typeof undefined
    var void while with yield
";

/// Globals of JavaScript that a server of that name would hide.
const GLOBALS: &str = "
    atob btoa console crypto escape exports fetch navigator performance process require self unescape window
";

/// Modules that programs import: ours, the data libraries, and the standard library of Python 3.10 to 3.14.
const MODULES: &str = "
    httpx matplotlib mce numpy openpyxl orjson pandas pydantic abc aifc annotationlib antigravity argparse array ast asynchat asyncio
    asyncore atexit audioop base64 bdb binascii binhex bisect builtins bz2 calendar cgi cgitb chunk cmath cmd code codecs codeop
    collections colorsys compileall compression concurrent configparser contextlib contextvars copy copyreg crypt csv ctypes curses
    dataclasses datetime dbm decimal difflib dis distutils doctest email encodings ensurepip errno faulthandler fcntl filecmp
    fileinput fnmatch fractions ftplib functools gc genericpath getopt getpass gettext glob graphlib grp gzip hashlib heapq hmac html
    http idlelib imaplib imghdr imp importlib inspect io ipaddress itertools json keyword lib2to3 linecache locale logging lzma
    mailbox mailcap marshal math mimetypes mmap modulefinder msilib msvcrt multiprocessing netrc nis nntplib nt ntpath nturl2path
    numbers opcode operator optparse os ossaudiodev pathlib pdb pickle pickletools pipes pkgutil platform plistlib poplib posix
    posixpath pprint profile pstats pty pwd py_compile pyclbr pydoc pydoc_data pyexpat queue quopri random re readline reprlib
    resource rlcompleter runpy sched secrets select selectors shelve shlex shutil signal site smtpd smtplib sndhdr socket socketserver
    spwd sqlite3 sre_compile sre_constants sre_parse ssl stat statistics string stringprep struct subprocess sunau symbol symtable sys
    sysconfig syslog tabnanny tarfile telnetlib tempfile termios textwrap threading time timeit tkinter token tokenize tomllib trace
    traceback tracemalloc tty turtle turtledemo types typing unicodedata unittest urllib uu uuid venv warnings wave weakref webbrowser
    winreg winsound wsgiref xdrlib xml xmlrpc zipapp zipfile zipimport zlib zoneinfo
";

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn names_are_made_as_existing_configurations_expect() {
        for (title, name) in [
            ("weather", "weather"),
            ("My API", "my_api"),
            ("--a..b--", "a_b"),
            ("__a__", "a"),
            ("3scale", "m_3scale"),
            ("Größe", "gr_e"),
            ("日本", "module"),
            ("", "module"),
            ("HotelBooking", "hotelbooking"),
            ("class", "class_"),
            ("delete", "delete_"),
            ("json", "json_"),
            ("MCE", "mce_"),
            ("fetch", "fetch_"),
            ("github", "github"),
        ] {
            assert_eq!(normalise_server_name(title), name, "{title}");
        }
    }

    proptest! {
        #[test]
        fn a_name_is_an_identifier_and_stays_what_it_is(title in "\\PC{0,90}") {
            let name = normalise_server_name(&title);
            prop_assert!(name.len() <= MAX_NAME_BYTES);
            prop_assert!(name.starts_with(|c: char| c.is_ascii_lowercase()));
            prop_assert!(name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_'));
            prop_assert!(!is_reserved(&name));
            prop_assert_eq!(normalise_server_name(&name), name);
        }
    }
}
