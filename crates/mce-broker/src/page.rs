//! A further page at an address that an answer gave. Only what it asks for is taken over: the host, the server's own path
//! and its credentials stay as they are for every call.

use url::Url;

use crate::base_url::BaseUrl;
use crate::call_error::CallError;
use crate::redact::MARK;

/// A longer address is refused.
const MAX_ADDRESS_BYTES: usize = 8 << 10;

/// Path and query of the request to an address as programs see it: without the configured base URL, if it has one. The path
/// starts with a slash and follows the base's.
///
/// `own_path` is the function's path, from which a relative address leads; `own_pairs` are names of pairs that every request has; they are left out of the address.
///
/// # Errors
///
/// `Argument` if the function is not called by GET; `Policy` for an address at another host, or outside of the base URL.
pub(crate) fn follow(
    (method, own_path): (&str, &str),
    address: &str,
    base: &BaseUrl,
    own_pairs: &[String],
) -> Result<(String, Vec<String>), CallError> {
    if method != "GET" {
        let told = format!("addresses of further pages are followed for GET only, not for {method}");
        return Err(CallError::argument(told).with_hint("give the arguments of the next page instead"));
    }
    if address.len() > MAX_ADDRESS_BYTES {
        return Err(CallError::argument(format!(
            "the address of the next page is longer than {MAX_ADDRESS_BYTES} bytes"
        )));
    }
    let found = resolved(address, base, own_path)?;
    let path = found.path().strip_prefix(base.path.as_str()).filter(|path| path.starts_with('/'));
    let Some(path) = path else {
        return Err(CallError::policy("the address of the next page is not below the server's base URL"));
    };
    let is_own = |pair: &&str| {
        let name = pair.split('=').next().unwrap_or_default();
        own_pairs.iter().any(|own| own == name)
    };
    let pairs = found.query().into_iter().flat_map(|query| query.split('&'));
    let query: Vec<String> = pairs.filter(|pair| !pair.is_empty() && !is_own(pair)).map(str::to_owned).collect();
    let has_mark = |text: &str| text.contains(MARK) || text.contains("[redacted%5D") || text.contains("%5Bredacted%5D");
    if has_mark(path) || query.iter().any(|pair| has_mark(pair)) {
        return Err(CallError::policy("the address of the next page has a secret in it"));
    }
    Ok((path.to_owned(), query))
}

/// The address as a URL of the server's own origin. One that starts with a slash is meant from the root; only where it then is
/// the function's own path it may be one from which the base URL was cut out.
fn resolved(address: &str, base: &BaseUrl, own_path: &str) -> Result<Url, CallError> {
    let own = format!("{}{own_path}", base.path);
    let from = |address: &str| {
        let mut place = base.origin.clone();
        place.set_path(&own);
        let found = place.join(address).ok()?;
        (found.origin() == base.origin.origin() && found.username().is_empty() && found.password().is_none()).then_some(found)
    };
    let is_rooted = address.starts_with('/') && !address.starts_with("//");
    let cut = is_rooted.then(|| from(&format!("{}{address}", base.path))).flatten();
    let found = cut.filter(|url| url.path() == own).or_else(|| from(address));
    let Some(found) = found else {
        return Err(CallError::policy("the address of the next page is at another host than the server")
            .with_hint("if its query names what comes next, give that as an argument"));
    };
    // An API may read these as slashes, and so leave its base.
    let path = found.path().to_ascii_lowercase();
    if found.path() != own && (path.contains("%2f") || path.contains("%5c")) {
        return Err(CallError::policy("the address of the next page has an encoded slash in its path"));
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::call_error::CallErrorKind;

    fn follow_from(base: &str, address: &str) -> Result<String, CallError> {
        let own = ["api_key".to_owned()];
        let (path, query) = follow(("GET", "/users"), address, &BaseUrl::parse(base).unwrap(), &own)?;
        Ok(format!("{path}?{}", query.join("&")))
    }

    #[test]
    fn an_address_is_followed_below_the_base_url() {
        for (base, address, told) in [
            (
                "https://api.test/v1",
                "https://api.test/v1/users?$skiptoken=a%20b",
                "/users?$skiptoken=a%20b",
            ),
            // As it is shown where the base URL was cut out.
            ("https://api.test/v1", "/users?page=2", "/users?page=2"),
            ("https://api.test/v1", "/v1/users?page=2", "/users?page=2"),
            ("https://api.test/v1", "/v1/query/next-2000", "/query/next-2000?"),
            ("https://api.test", "/other/2", "/other/2?"),
            ("https://api.test/v1", "?page=2", "/users?page=2"),
            ("https://api.test/v1", "users?page=2", "/users?page=2"),
            (
                "https://api.test:8443/v1",
                "https://api.test:8443/v1/users?a=1&api_key=%5Bredacted%5D",
                "/users?a=1",
            ),
        ] {
            assert_eq!(follow_from(base, address).unwrap(), told, "{address}");
        }
    }

    #[test]
    fn what_leads_elsewhere_is_refused() {
        for (address, told) in [
            ("https://evil.test/v1/users?page=2", "another host"),
            ("//evil.test/v1/users", "another host"),
            ("http://api.test/v1/users", "another host"),
            ("https://api.test:444/v1/users", "another host"),
            ("https://me@api.test/v1/users", "another host"),
            ("https://api.test/v2/users", "not below"),
            ("https://api.test/v1/../admin", "not below"),
            ("https://api.test/v1/%2e%2e/admin", "not below"),
            ("https://api.test/v11/users", "not below"),
            // What was outside of the base is not inside because the host was cut out.
            ("/admin?x=1", "not below"),
            ("/v1/..%2fadmin", "encoded slash"),
            ("/v1/..%5Cadmin", "encoded slash"),
            ("/users?key=%5Bredacted%5D", "secret"),
        ] {
            let error = follow_from("https://api.test/v1", address).unwrap_err();
            assert_eq!(error.kind, CallErrorKind::Policy);
            assert!(error.to_string().contains(told), "{address}: {error}");
        }
    }

    #[test]
    fn an_address_has_a_longest_length() {
        let of = |length: usize| format!("/users?q={}", "x".repeat(length - "/users?q=".len()));
        assert!(follow_from("https://api.test/v1", &of(MAX_ADDRESS_BYTES)).is_ok());
        let error = follow_from("https://api.test/v1", &of(MAX_ADDRESS_BYTES + 1)).unwrap_err();
        assert!(error.to_string().contains("longer than 8192 bytes"), "{error}");
    }

    #[test]
    fn only_reading_is_asked_for_by_an_address() {
        let error = follow(
            ("POST", "/users"),
            "/users?page=2",
            &BaseUrl::parse("https://api.test").unwrap(),
            &[],
        )
        .unwrap_err();
        assert_eq!(error.kind, CallErrorKind::Argument);
    }
}
