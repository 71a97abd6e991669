//! Fetching documents and guides that a person configured by URL. No credential goes with such a request.

#![expect(
    clippy::disallowed_methods,
    reason = "the client of documents, apart from that of calls: it carries no secret and follows redirects"
)]

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use mce_config::{ConnectionSettings, ServerSettings};
use reqwest::redirect::{Action, Attempt, Policy};
use reqwest::{Client, Url};
use thiserror::Error;
use tokio::sync::OnceCell;

use crate::connection::{build, proxy_host, proxy_trouble, tls_trouble};
use crate::http::{chain, install_crypto, private_address};
use crate::pinned_resolver::PinnedResolver;
use crate::reach::is_private;
use crate::upstream::Upstreams;

/// Bytes of a document that are read, decompressed.
const MAX_BYTES: usize = 256 << 20;
/// Redirects followed in a row.
const MAX_REDIRECTS: usize = 5;
/// From asking to the last byte.
const TOTAL: Duration = Duration::from_mins(2);

/// Fetches documents. The client is made by the first fetch; clones share it.
#[derive(Debug, Clone)]
pub struct DocumentFetcher {
    client: Arc<OnceCell<(Client, ConnectionSettings)>>,
    resolver: Arc<PinnedResolver>,
    /// Whose way is gone; else the direct one.
    server: Option<(Arc<Upstreams>, Arc<ServerSettings>)>,
}

/// A document could not be fetched.
#[derive(Debug, Error)]
pub enum DocumentError {
    /// Not an absolute http or https URL.
    #[error("`{url}` is no http or https URL")]
    Url {
        /// As given.
        url: String,
    },
    /// No connection, no answer in time, or an invalid certificate.
    #[error("failed to fetch `{url}`: {reason}")]
    Fetch {
        /// Without user and password.
        url: String,
        /// The client's words, with their causes.
        reason: String,
    },
    /// It is in a private network, and nobody said that it may.
    #[error(
        "failed to fetch `{url}`: it leads to `{address}`, which is no public address (`allow_private: true` at the server allows that)"
    )]
    Private {
        /// Without user and password.
        url: String,
        /// The address.
        address: IpAddr,
    },
    /// An answer other than 2xx.
    #[error("`{url}` answered with status {status}")]
    Status {
        /// Without user and password.
        url: String,
        /// The status.
        status: u16,
    },
    /// A larger document than is read.
    #[error("`{url}` has more than {limit} bytes")]
    TooLarge {
        /// Without user and password.
        url: String,
        /// The limit.
        limit: usize,
    },
}

impl DocumentFetcher {
    /// One for the documents of these servers. A name leads into a private network only where that was meant.
    pub fn new(servers: &[ServerSettings], allowed_domains: &[String]) -> Self {
        Self {
            client: Arc::default(),
            resolver: Arc::new(PinnedResolver::of(servers, allowed_domains)),
            server: None,
        }
    }

    /// One that goes by the way to this server. Its secrets are read by the first fetch, if the way needs one.
    #[must_use]
    pub fn by_way_to(&self, server: &ServerSettings, upstreams: &Arc<Upstreams>) -> Self {
        if server.connection == ConnectionSettings::default() {
            return self.clone();
        }
        Self {
            client: Arc::default(),
            server: Some((Arc::clone(upstreams), Arc::new(server.clone()))),
            ..self.clone()
        }
    }

    /// The client, and the way that it goes.
    async fn client(&self) -> Result<(Client, ConnectionSettings), String> {
        let Some((upstreams, server)) = &self.server else {
            let direct = ConnectionSettings::default();
            return Ok((client(&self.resolver, &direct)?, direct));
        };
        let way = upstreams.way_to(server).await;
        let way = way.map_err(|error| format!("{error}; {}", error.hint().unwrap_or_default()))?;
        Ok((client(&Arc::new(self.resolver.with(proxy_host(&way))), &way)?, way))
    }

    /// The bytes at this URL: TLS verified unless the way says otherwise, at most 256 MiB, within two minutes, with at most five redirects, none of
    /// which leads from https to http.
    ///
    /// # Errors
    ///
    /// [`DocumentError`]
    pub async fn fetch(&self, url: &str) -> Result<Vec<u8>, DocumentError> {
        let parsed = Url::parse(url).ok().filter(|url| matches!(url.scheme(), "http" | "https"));
        let parsed = parsed.ok_or_else(|| DocumentError::Url { url: url.to_owned() })?;
        let shown = shown(&parsed);
        let made = self.client.get_or_try_init(|| self.client()).await;
        let (client, way) = made.map_err(|reason| DocumentError::Fetch {
            url: shown.clone(),
            reason,
        })?;
        let failed = |error: &reqwest::Error| match private_address(error) {
            Some(private) => DocumentError::Private {
                url: shown.clone(),
                address: private.address,
            },
            None => DocumentError::Fetch {
                url: shown.clone(),
                reason: match (tls_trouble(&chain(error)), proxy_trouble(way, error)) {
                    (Some((what, hint)), _) => format!("{what}; {hint}"),
                    (None, Some((what, hint))) => format!("{what}; {hint}"),
                    (None, None) => chain(error),
                },
            },
        };
        let mut response = client.get(parsed).send().await.map_err(|error| failed(&error))?;
        if !response.status().is_success() {
            return Err(DocumentError::Status {
                url: shown,
                status: response.status().as_u16(),
            });
        }
        let mut bytes = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(|error| failed(&error))? {
            if bytes.len() + chunk.len() > MAX_BYTES {
                return Err(DocumentError::TooLarge {
                    url: shown,
                    limit: MAX_BYTES,
                });
            }
            bytes.extend_from_slice(&chunk);
        }
        Ok(bytes)
    }
}

fn client(resolver: &Arc<PinnedResolver>, way: &ConnectionSettings) -> Result<Client, String> {
    install_crypto();
    let builder = || {
        Client::builder()
            .user_agent(concat!("mce/", env!("CARGO_PKG_VERSION")))
            .redirect(Policy::custom(follow))
            .dns_resolver(Arc::clone(resolver))
            .timeout(TOTAL)
            .connect_timeout(Duration::from_secs(10))
    };
    build(builder, way)
}

fn follow(attempt: Attempt<'_>) -> Action {
    let is_downgrade = attempt.url().scheme() == "http" && attempt.previous().iter().any(|url| url.scheme() == "https");
    if attempt.previous().len() > MAX_REDIRECTS {
        attempt.error(format!("more than {MAX_REDIRECTS} redirects"))
    } else if is_downgrade {
        attempt.error("a redirect leads from https to http")
    } else if is_into_private(&attempt) {
        attempt.error("a redirect leads into a private network")
    } else {
        attempt.follow()
    }
}

/// Whether a redirect to another host names a private one.
fn is_into_private(attempt: &Attempt<'_>) -> bool {
    let host = attempt.url().host();
    let is_other = attempt.previous().iter().all(|url| url.host() != host);
    is_other && is_private(host.as_ref())
}

/// The URL without what may be secret.
fn shown(url: &Url) -> String {
    let mut url = url.clone();
    let _ = url.set_username("");
    let _ = url.set_password(None);
    url.set_query(None);
    url.to_string()
}

#[cfg(test)]
mod tests {
    use mce_test::{FakeAnswer, FakeApi};

    use super::*;

    fn fetch(url: &str) -> Result<Vec<u8>, DocumentError> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(DocumentFetcher::new(&[], &[]).fetch(url))
    }

    #[test]
    fn a_document_is_fetched_through_redirects() {
        let api = FakeApi::start();
        api.answer_next(FakeAnswer::empty(302).with_header("location", "/there"));
        api.answer_next(FakeAnswer::new(200, "application/yaml", "openapi: 3.1.0"));
        assert_eq!(fetch(&format!("{}/here", api.origin())).unwrap(), b"openapi: 3.1.0");
        let targets: Vec<_> = api.requests().into_iter().map(|request| request.target).collect();
        assert_eq!(targets, ["/here", "/there"]);
    }

    #[test]
    fn no_document_and_no_redirect_leads_into_a_private_network() {
        let api = FakeApi::start();
        api.answer_next(FakeAnswer::empty(302).with_header("location", "http://127.0.0.2/there"));
        let error = fetch(&format!("{}/here", api.origin())).unwrap_err().to_string();
        assert!(error.ends_with("a redirect leads into a private network"), "{error}");
        // A name that no server of the settings has.
        let error = fetch("http://localhost:1/x").unwrap_err();
        assert!(
            matches!(&error, DocumentError::Private { address, .. } if address.is_loopback()),
            "{error}"
        );
    }

    #[test]
    fn what_is_no_document_is_an_error_without_secrets() {
        let api = FakeApi::start();
        api.answer_next(FakeAnswer::empty(404));
        let url = api.origin().replace("http://", "http://me:hidden@");
        let error = fetch(&format!("{url}/x?key=hidden")).unwrap_err().to_string();
        assert_eq!(error, format!("`{}/x` answered with status 404", api.origin()));
        assert!(matches!(fetch("file:///etc/passwd"), Err(DocumentError::Url { .. })));
        assert!(matches!(fetch("http://127.0.0.1:1/x"), Err(DocumentError::Fetch { .. })));
    }
}
