//! The ways to servers: own authorities, client certificates, proxies. One HTTP client for each server with a way of its own,
//! made when it is first needed, and one for all others.

#![expect(clippy::disallowed_methods, reason = "keys and passwords of ways are handed over here")]

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use mce_config::{ConnectionSettings, ServerSettings};
use reqwest::{Certificate, ClientBuilder, Identity, Proxy, Url};

use crate::http::{Http, chain};

/// Bytes of a file with certificates.
const MAX_FILE_BYTES: u64 = 4 << 20;

/// The clients for calls.
#[derive(Debug)]
pub(crate) struct Clients {
    plain: Arc<Http>,
    // Held for one look.
    own: Mutex<BTreeMap<String, Arc<Http>>>,
}

impl Clients {
    pub(crate) fn new(plain: Http) -> Self {
        Self {
            plain: Arc::new(plain),
            own: Mutex::default(),
        }
    }

    /// The client for a server, whose secrets must be filled in.
    pub(crate) fn of(&self, server: &ServerSettings) -> Arc<Http> {
        if server.connection == ConnectionSettings::default() {
            return Arc::clone(&self.plain);
        }
        let mut own = self.own.lock().unwrap_or_else(PoisonError::into_inner);
        let known = own.entry(server.name.clone());
        Arc::clone(known.or_insert_with(|| Arc::new(self.plain.by_way(server.connection.clone()))))
    }
}

/// Has a client go this way.
///
/// # Errors
///
/// What cannot be used, in words for a person.
pub(crate) fn going_by(mut builder: ClientBuilder, way: &ConnectionSettings) -> Result<ClientBuilder, String> {
    if let Some(file) = &way.ca_file {
        let unusable = |reason: String| format!("`tls.ca_file` cannot be used: `{}`: {reason}", file.display());
        let certificates = Certificate::from_pem_bundle(&read(file).map_err(unusable)?).map_err(|error| unusable(chain(&error)))?;
        if certificates.is_empty() {
            return Err(unusable("there is no certificate in PEM in it".to_owned()));
        }
        builder = builder.tls_certs_merge(certificates);
    }
    if let (Some(file), Some(key)) = (&way.client_cert, &way.client_key) {
        let unusable = |reason: String| format!("`tls.client_cert` cannot be used: `{}`: {reason}", file.display());
        let mut pem = read(file).map_err(unusable)?;
        pem.push(b'\n');
        pem.extend_from_slice(key.expose().as_bytes());
        let identity =
            Identity::from_pem(&pem).map_err(|_| unusable("it and `tls.client_key` are no certificate and key in PEM".to_owned()))?;
        builder = builder.identity(identity);
    }
    if way.is_unverified {
        builder = builder.tls_danger_accept_invalid_certs(true);
    }
    if let Some(proxy) = &way.proxy {
        // The text may hold a password.
        let proxy = Proxy::all(proxy.expose()).map_err(|_| "`proxy` cannot be used".to_owned())?;
        builder = builder.proxy(proxy);
    }
    Ok(builder)
}

fn read(file: &Path) -> Result<Vec<u8>, String> {
    let size = fs_err::metadata(file).map_err(|error| error.kind().to_string())?;
    if !size.is_file() || size.len() > MAX_FILE_BYTES {
        return Err(format!("it is no file of at most {MAX_FILE_BYTES} bytes"));
    }
    fs_err::read(file).map_err(|error| error.kind().to_string())
}

/// The host of a proxy, which a person named: it may be in a private network.
pub(crate) fn proxy_host(way: &ConnectionSettings) -> Option<String> {
    let url: Url = way.proxy.as_ref()?.expose().parse().ok()?;
    url.host_str().map(str::to_owned)
}

/// What is wrong with the certificates of a connection that failed, and which key says otherwise. By the words of the TLS
/// library, whose errors are within those of others.
pub(crate) fn tls_trouble(causes: &str) -> Option<(&'static str, &'static str)> {
    const TROUBLES: [(&str, &str, &str); 6] = [
        (
            "UnknownIssuer",
            "its certificate is of an authority that nobody here knows",
            "set `tls: {ca_file: …}` of the server to that authority's certificate",
        ),
        ("certificate expired", "its certificate has expired", "who runs it has to renew it"),
        (
            "not valid for name",
            "its certificate is for another name",
            "use that name in `base_url` or `url`",
        ),
        (
            "CaUsedAsEndEntity",
            "its certificate is an authority's own, which no server may use",
            "who runs it makes one for the server, such as by `openssl req -x509` with \
             `-addext basicConstraints=critical,CA:FALSE`, and `tls: {ca_file: …}` of the server names that; else \
             `tls: {verify: false}` of this server alone takes any, and anybody on the way can read and change everything",
        ),
        (
            "CertificateRequired",
            "it wants a client's certificate",
            "set `client_cert` and `client_key` in `tls` of the server",
        ),
        (
            "received fatal alert",
            "it refused the TLS connection",
            "look at `tls` of the server: a client's certificate may be missing or unknown",
        ),
    ];
    let found = TROUBLES.into_iter().find(|(words, _, _)| causes.contains(words));
    found.map(|(_, what, hint)| (what, hint))
}

/// A server that ends a TLS connection and does not say why. It may have seen the request.
pub(crate) fn silent_end(error: &reqwest::Error) -> Option<(&'static str, &'static str)> {
    const BROKEN: [&str; 3] = ["reset by peer", "Broken pipe", "before message completed"];
    let causes = chain(error);
    let is_tls = error.url().is_some_and(|url| url.scheme() == "https") && !error.is_connect();
    let is_silent = causes.contains("without sending TLS close_notify") || is_tls && BROKEN.iter().any(|words| causes.contains(words));
    is_silent.then_some((
        "it ended the TLS connection and did not say why",
        "if it wants a client's certificate, set `client_cert` and `client_key` in `tls` of the server",
    ))
}
