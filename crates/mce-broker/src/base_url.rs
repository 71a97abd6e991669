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

    /// Cuts whatever tells of this place out of a text: origin, host with port, host, and a path long enough to be telling.
    pub(crate) fn hide_in(&self, text: &str) -> String {
        let origin = self.origin.as_str().trim_end_matches('/');
        let authority = origin.split_once("://").map_or(origin, |(_, authority)| authority);
        let path = if self.path.len() >= 8 { self.path.as_str() } else { "" };
        // A plain word such as `api` is a host in some networks, and a word of many texts.
        let is_telling = |host: &&str| host.contains(['.', ':']);
        let host = Some(self.host()).filter(is_telling).unwrap_or_default();
        let authority = Some(authority).filter(is_telling).unwrap_or_default();
        let forms = [
            format!("{origin}{}", self.path),
            origin.to_owned(),
            authority.to_owned(),
            host.to_owned(),
            path.to_owned(),
        ];
        let mut out = text.to_owned();
        for form in forms.iter().filter(|form| !form.is_empty()) {
            let escaped = form.replace('/', "\\/");
            out = out.replace(form.as_str(), "").replace(&escaped, "");
        }
        out
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
    fn nothing_tells_of_the_place() {
        let base = BaseUrl::parse("http://127.0.0.1:8080/secret-place").unwrap();
        let text = r#"{"path":"/secret-place/items","url":"http:\/\/127.0.0.1:8080\/secret-place/x","host":"127.0.0.1:8080"}"#;
        assert_eq!(base.hide_in(text), r#"{"path":"/items","url":"/x","host":""}"#);
        assert_eq!(format!("{base:?}"), "BaseUrl(***)");
        assert_eq!(
            BaseUrl::parse("http://api/v1").unwrap().hide_in("api key: http://api/v1/x"),
            "api key: /x"
        );
    }
}
