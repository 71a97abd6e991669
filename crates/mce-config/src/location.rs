//! What a path or URL in a configuration means.

use std::path::{Component, Path, PathBuf};

use url::Url;

use crate::Location;

/// What relative paths and `~/` are relative to.
#[derive(Clone, Copy)]
pub(crate) struct Base<'a> {
    pub(crate) directory: &'a Path,
    /// `HOME`; without it `~/` is an ordinary name.
    pub(crate) home: Option<&'a Path>,
}

/// An absolute path, without `.` and `..` components, and the same for all ways that lead to a file.
pub(crate) fn resolve_path(text: &str, base: Base<'_>) -> PathBuf {
    let path = match (text.strip_prefix("~/"), base.home) {
        (Some(rest), Some(home)) => home.join(rest),
        (Some(_), None) | (None, _) => base.directory.join(text),
    };
    normalise(&path)
}

/// The path by which a file is known: that of its directory as the system gives it, and its own name, which may be a
/// symbolic link. What does not exist is taken as written.
pub(crate) fn normalise(path: &Path) -> PathBuf {
    let Some(name) = path.file_name() else {
        return fs_err::canonicalize(path).unwrap_or_else(|_| without_dots(path));
    };
    match path.parent().filter(|parent| !parent.as_os_str().is_empty()) {
        Some(parent) if parent.parent().is_some() => {
            let parent = fs_err::canonicalize(parent).unwrap_or_else(|_| normalise(parent));
            parent.join(name)
        }
        Some(_) | None => path.components().collect(),
    }
}

fn without_dots(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => drop(plain.pop()),
            Component::Prefix(_) | Component::RootDir | Component::Normal(_) => plain.push(component),
        }
    }
    plain
}

/// A URL with `http` or `https`, else a file; `file://` URLs are files.
pub(crate) fn resolve_location(text: &str, base: Base<'_>) -> Option<Location> {
    match text.split_once("://") {
        Some((scheme, _)) if is_http(scheme) => http_url(text).map(|_| Location::Url(text.to_owned())),
        Some((scheme, _)) if scheme.eq_ignore_ascii_case("file") => {
            Url::parse(text).ok().and_then(|url| url.to_file_path().ok()).map(Location::File)
        }
        Some((scheme, _)) if scheme.chars().all(|c| c.is_ascii_alphanumeric() || c == '+') => None,
        Some(_) | None if text.is_empty() => None,
        Some(_) | None => Some(Location::File(resolve_path(text, base))),
    }
}

/// An absolute http(s) URL; none for anything else.
pub(crate) fn http_url(text: &str) -> Option<Url> {
    let url = Url::parse(text).ok()?;
    (is_http(url.scheme()) && url.has_host() && text.contains("://")).then_some(url)
}

fn is_http(scheme: &str) -> bool {
    scheme.eq_ignore_ascii_case("http") || scheme.eq_ignore_ascii_case("https")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn locations_are_urls_or_absolute_files() {
        let file = |path: &str| Some(Location::File(path.into()));
        let url = |text: &str| Some(Location::Url(text.to_owned()));
        for (text, expected) in [
            ("./shop.yaml", file("/etc/mce/shop.yaml")),
            ("a/./b//c.json", file("/etc/mce/a/b/c.json")),
            ("../x.json", file("/etc/x.json")),
            ("../../../no/./such/../x.json", file("/no/x.json")),
            ("/x.json", file("/x.json")),
            ("~/x.json", file("/home/ann/x.json")),
            ("~x.json", file("/etc/mce/~x.json")),
            ("file:///x%20y.json", file("/x y.json")),
            ("https://h/x.json", url("https://h/x.json")),
            ("HTTP://h/x.json", url("HTTP://h/x.json")),
            ("https://", None),
            ("ftp://h/x", None),
            ("", None),
        ] {
            let base = Base {
                directory: Path::new("/etc/mce"),
                home: Some(Path::new("/home/ann")),
            };
            assert_eq!(resolve_location(text, base), expected, "{text}");
        }
    }

    #[test]
    fn only_absolute_http_urls_are_base_urls() {
        for (text, is_url) in [
            ("http://127.0.0.1:9000/v1", true),
            ("https://h", true),
            ("/v1", false),
            ("h/v1", false),
            ("https:h", false),
            ("ftp://h", false),
        ] {
            assert_eq!(http_url(text).is_some(), is_url, "{text}");
        }
    }
}
