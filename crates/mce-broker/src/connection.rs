//! The ways to servers: own authorities, client certificates, proxies. One HTTP client for each server with a way of its own,
//! made when it is first needed, and one for all others.

#![expect(clippy::disallowed_methods, reason = "keys and passwords of ways are handed over here")]

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use mce_config::{ConnectionSettings, ServerSettings};
use reqwest::{Certificate, Client, ClientBuilder, Identity, Proxy, Url};

use crate::http::{Http, chain, install_crypto};

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
        let unusable = |reason: String| unusable_certificate(file, &reason);
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

/// What is wrong with the files of `tls`, before a connection needs them; it names the key. A client's key that a command
/// or the keyring gives is not looked at.
pub fn tls_fault(server: &ServerSettings) -> Option<String> {
    let has_files = server.connection.ca_file.is_some() || server.connection.client_cert.is_some();
    // Making a client reads all authorities of the machine.
    if !has_files {
        return None;
    }
    let way = ConnectionSettings {
        proxy: None,
        ..server.connection.clone()
    };
    let is_whole = way.client_key.as_ref().is_none_or(|key| key.sources().next().is_none());
    install_crypto();
    if is_whole {
        build(Client::builder, &way).err()
    } else {
        let file = way.client_cert.as_deref();
        let unreadable = file.and_then(|file| Some(unusable_certificate(file, &read(file).err()?)));
        build(Client::builder, &way.without_client()).err().or(unreadable)
    }
}

/// A client that goes this way.
///
/// # Errors
///
/// What cannot be used, in words for a person.
pub(crate) fn build(builder: impl Fn() -> ClientBuilder, way: &ConnectionSettings) -> Result<Client, String> {
    let error = match going_by(builder(), way)?.build() {
        Ok(client) => return Ok(client),
        Err(error) => error,
    };
    // The TLS library looks at a client's certificate only now, and does not say whose it is.
    let is_of_client = going_by(builder(), &way.without_client())?.build().is_ok();
    Err(match way.client_cert.as_deref().filter(|_| is_of_client) {
        Some(file) => unusable_certificate(file, &chain(&error)),
        None => chain(&error),
    })
}

fn unusable_certificate(file: &Path, reason: &str) -> String {
    let hint = if reason.contains("UnsupportedCertVersion") {
        " (it has to be X.509 version 3)"
    } else {
        ""
    };
    format!("`tls.client_cert` cannot be used: `{}`: {reason}{hint}", file.display())
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

/// What is wrong with the proxy of a connection that could not be made, and where the proxy is from.
pub(crate) fn proxy_trouble(way: &ConnectionSettings, error: &reqwest::Error) -> Option<(String, String)> {
    const UNREACHED: [&str; 3] = ["tcp connect error", "dns error", "failed to create underlying connection"];
    let url: Url = way.proxy.as_ref()?.expose().parse().ok().filter(|_| error.is_connect())?;
    let port = url.port().map_or_else(String::new, |port| format!(":{port}"));
    // Without user and password.
    let shown = format!("the proxy `{}://{}{port}`", url.scheme(), url.host_str()?);
    let causes = chain(error);
    let what = if error.is_timeout() {
        "did not answer in time"
    } else if UNREACHED.iter().any(|words| causes.contains(words)) {
        "cannot be reached"
    } else if causes.contains("authorization required") {
        "wants a user and a password, or others"
    } else {
        "did not let the connection through"
    };
    Some((format!("{shown} {what}"), format!("the proxy is that of {}", way.proxy_place)))
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
