//! Where a server is. The one place that knows hosts; nothing here is shown to programs.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use mce_catalog::function::HttpTarget;
use mce_config::{Secret, ServerSettings};
use url::Url;

use crate::call_error::CallError;

/// A base URL in its parts.
#[derive(Clone)]
pub(crate) struct BaseUrl {
    /// Scheme, host and port, with path `/`.
    pub(crate) origin: Url,
    /// The path, without its final slash.
    pub(crate) path: String,
    /// Pairs that every request has.
    pub(crate) query: Option<String>,
    /// `Basic …` made of user and password in the URL.
    pub(crate) authorization: Option<Secret>,
}

impl BaseUrl {
    /// The configured base URL, else the document's.
    ///
    /// # Errors
    ///
    /// `Policy` if there is none, or one that is no http(s) URL.
    pub(crate) fn of(server: &ServerSettings, target: &HttpTarget) -> Result<Self, CallError> {
        let text = server.base_url.as_ref().or(target.base_url.as_ref()).ok_or_else(|| {
            CallError::policy(format!(
                "the document of `{}` does not say where its API is: `base_url` is needed",
                server.name
            ))
            .with_hint(format!("set `servers.{}.base_url` in the configuration", server.name))
        })?;
        Self::parse(text).ok_or_else(|| {
            CallError::policy(format!("the `base_url` of `{}` is no absolute http or https URL", server.name))
                .with_hint(format!("set `servers.{}.base_url` in the configuration", server.name))
        })
    }

    /// The parts of an absolute http(s) URL.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let mut url = Url::parse(text)
            .ok()
            .filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host())?;
        let path = url.path().trim_end_matches('/').to_owned();
        let query = url.query().filter(|query| !query.is_empty()).map(str::to_owned);
        let authorization = (!url.username().is_empty()).then(|| {
            let decode = |text: &str| percent_encoding::percent_decode_str(text).decode_utf8_lossy().into_owned();
            let pair = format!("{}:{}", decode(url.username()), decode(url.password().unwrap_or_default()));
            Secret::new(format!("Basic {}", STANDARD.encode(pair)))
        });
        url.set_username("").and_then(|()| url.set_password(None)).ok()?;
        url.set_path("/");
        url.set_query(None);
        url.set_fragment(None);
        Some(Self {
            origin: url,
            path,
            query,
            authorization,
        })
    }

    /// The host, lower case, without brackets and port.
    pub(crate) fn host(&self) -> &str {
        self.origin.host_str().unwrap_or_default().trim_matches(['[', ']'])
    }
}

impl std::fmt::Debug for BaseUrl {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("BaseUrl(***)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_taken_apart() {
        let base = BaseUrl::parse("https://ann:p%40ss@API.test:8443/api/v1/?k=v#x").unwrap();
        assert_eq!(
            (base.origin.as_str(), base.path.as_str(), base.query.as_deref()),
            ("https://api.test:8443/", "/api/v1", Some("k=v"))
        );
        assert_eq!(base.authorization, Some(Secret::new("Basic YW5uOnBAc3M=")));
        assert!(BaseUrl::parse("ftp://api.test").is_none() && BaseUrl::parse("/api").is_none());
    }

    #[test]
    fn a_base_url_is_not_printed() {
        let base = BaseUrl::parse("http://127.0.0.1:8080/secret-place").unwrap();
        assert_eq!(format!("{base:?}"), "BaseUrl(***)");
    }
}
