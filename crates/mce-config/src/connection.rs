//! By what way a server is reached: `tls` and `proxy` of its entry.

use std::collections::BTreeMap;
use std::path::PathBuf;

use url::Url;

use crate::expand::expand;
use crate::field::Field;
use crate::nearest::suggestion;
use crate::reader::Reader;
use crate::secret_source::is_source;
use crate::source::Source;
use crate::yaml::{Kind, Node};
use crate::{ConfigError, Secret};

const TLS_KEYS: [&str; 4] = ["ca_file", "client_cert", "client_key", "verify"];

const PROXY_SCHEMES: [&str; 4] = ["http", "https", "socks5", "socks5h"];

/// By what way a server is reached. By default directly, and its certificate must be one that the system trusts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ConnectionSettings {
    /// `tls.ca_file`: certificates in PEM that are trusted beside those of the system.
    pub ca_file: Option<PathBuf>,
    /// `tls.client_cert`: this client's certificate in PEM, with those between it and the authority.
    pub client_cert: Option<PathBuf>,
    /// `tls.client_key`: its key in PEM.
    pub client_key: Option<Secret>,
    /// `tls.verify: false`: any certificate is taken, so that anybody on the way can read and change all.
    pub is_unverified: bool,
    /// `proxy`: a URL with `http`, `https`, `socks5` or `socks5h`, which may hold a user and a password.
    pub proxy: Option<Secret>,
    /// Where `proxy` stands, and the variables in it; empty without one.
    pub proxy_place: String,
}

impl ConnectionSettings {
    /// The same for who is not the server itself: without the client's certificate.
    #[must_use]
    pub fn without_client(&self) -> Self {
        Self {
            client_cert: None,
            client_key: None,
            ..self.clone()
        }
    }
}

/// Takes `tls` and `proxy` out of a server's fields. `at` is the server's key; `is_remote` says that it is reached over HTTP.
pub(crate) fn read_connection(
    reader: &mut Reader<'_>,
    at: &str,
    fields: &mut BTreeMap<String, Field>,
    is_remote: bool,
) -> Result<ConnectionSettings, ConfigError> {
    let mut settings = ConnectionSettings::default();
    let (tls, proxy) = (fields.remove("tls"), fields.remove("proxy"));
    if !is_remote {
        for field in tls.into_iter().chain(proxy) {
            reader.warn(
                field.place,
                "has no effect".to_owned(),
                Some("it is for servers over HTTP".to_owned()),
            );
        }
        return Ok(settings);
    }
    let place = tls.as_ref().map(|field| field.place.clone());
    for (name, field) in tls
        .map(|field| field.into_entries("a mapping such as `ca_file: …`"))
        .transpose()?
        .into_iter()
        .flatten()
    {
        let key = format!("{at}.tls.{name}");
        match name.as_str() {
            _ if field.is_blank() => {}
            "ca_file" => settings.ca_file = Some(reader.path(&key, &field)?),
            "client_cert" => settings.client_cert = Some(reader.path(&key, &field)?),
            "client_key" => settings.client_key = Some(reader.credential(&key, &key_field(field))?),
            "verify" => settings.is_unverified = !reader.flag(&key, &field)?,
            _ => reader.warn(
                field.place.clone(),
                format!("`tls` has no key `{name}`"),
                suggestion(&name, TLS_KEYS),
            ),
        }
    }
    if let Some(place) = place {
        if settings.client_cert.is_some() != settings.client_key.is_some() {
            let key = if settings.client_cert.is_some() {
                "client_key"
            } else {
                "client_cert"
            };
            let advice = "a client's certificate needs its key, and a key its certificate".to_owned();
            let key = key.to_owned();
            return Err(ConfigError::MissingKey { place, key, advice });
        }
        if settings.is_unverified {
            let message = "`verify: false`: anybody on the way to this server can read and change everything, credentials too".to_owned();
            reader.warn(
                place,
                message,
                Some("trust its certificate with `tls: {ca_file: …}` instead".to_owned()),
            );
        }
    }
    if let Some(field) = proxy.filter(|field| !field.is_blank()) {
        settings.proxy = Some(read_proxy(reader, &format!("{at}.proxy"), &field)?);
        settings.proxy_place = place_of(&field);
    }
    Ok(settings)
}

/// Where a field stands, and the variables that it names.
fn place_of(field: &Field) -> String {
    let text = match &field.node.kind {
        Kind::Scalar(text) => text,
        Kind::Null | Kind::List(_) | Kind::Map(_) => "",
    };
    // Programs are told it, too: of the file the name is enough.
    let place = match (&field.place.source, field.place.line) {
        (Source::File { file, key }, Some(line)) => {
            let name = file.file_name().unwrap_or_default().to_string_lossy();
            format!("{name}:{line}: {key}")
        }
        (source, _) => source.to_string(),
    };
    let variables = expand(text, |_| None).variables;
    let named: Vec<_> = variables.iter().map(|name| format!("`${{{name}}}`")).collect();
    match named.as_slice() {
        [] => format!("`{place}`"),
        named => format!("`{place}` ({})", named.join(", ")),
    }
}

/// A text is the key's file.
fn key_field(field: Field) -> Field {
    let Kind::Scalar(_) = field.node.kind else { return field };
    if is_source(&field) {
        return field;
    }
    let entry = crate::yaml::Entry {
        key: "file".to_owned(),
        line: field.node.line,
        value: field.node.clone(),
    };
    let node = Node {
        kind: Kind::Map(vec![entry]),
        ..field.node.clone()
    };
    Field { node, ..field }
}

fn read_proxy(reader: &mut Reader<'_>, key: &str, field: &Field) -> Result<Secret, ConfigError> {
    let proxy = reader.masked_if(key, field, |_| false)?;
    let is_known = reader.missing.is_empty() && proxy.sources().next().is_none();
    let is_proxy = |url: Url| PROXY_SCHEMES.contains(&url.scheme()) && url.has_host();
    if is_known && !Url::parse(proxy.text()).is_ok_and(is_proxy) {
        return Err(field.refuse("a URL with `http`, `https`, `socks5` or `socks5h`", field.kind_name()));
    }
    Ok(proxy)
}

#[cfg(test)]
mod tests {
    use crate::load::tests::bench;

    fn with(more: &str) -> crate::load::tests::Bench {
        let yaml = format!("servers:\n  shop:\n    openapi: ./shop.yaml\n{more}");
        let bench = bench(
            &[("mce.yaml", &yaml), ("key.pem", "-----BEGIN PRIVATE KEY-----\nAAAA\n")],
            &[("PROXY_PASSWORD", "hidden-pass")],
        );
        let key = bench.directory.path().join("key.pem");
        fs_err::set_permissions(key, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
        bench
    }

    #[test]
    fn a_way_is_read_and_its_secrets_are_not_shown() {
        let bench = with(
            "    tls: {ca_file: ./ca.pem, client_cert: ./me.pem, client_key: ./key.pem}\n    proxy: 'socks5h://me:${PROXY_PASSWORD}@proxy.example:1080'\n",
        );
        let (settings, report) = bench.load();
        let way = &settings.servers[0].connection;
        assert_eq!(way.proxy_place, "`mce.yaml:5: servers.shop.proxy` (`${PROXY_PASSWORD}`)");
        assert_eq!(way.ca_file.as_deref(), Some(bench.directory.path().join("ca.pem").as_path()));
        assert!(way.client_key.as_ref().unwrap().text().starts_with("-----BEGIN") && !way.is_unverified);
        assert_eq!(way.proxy.as_ref().unwrap().text(), "socks5h://me:hidden-pass@proxy.example:1080");
        let shown = format!("{:?}", report.shown);
        assert!(
            !shown.contains("AAAA") && !shown.contains("hidden-pass") && shown.contains("proxy.example"),
            "{shown}"
        );
        assert!(bench.warnings().is_empty(), "{:?}", bench.warnings());
        assert!(way.without_client().client_key.is_none() && way.without_client().proxy.is_some());
    }

    #[test]
    fn what_is_not_verified_is_told_loudly_and_what_cannot_be_meant_is_refused() {
        let warnings = with("    tls: {verify: false, ca: x}\n").warnings();
        assert!(
            warnings[0].contains("`tls` has no key `ca`") && warnings[1].contains("anybody on the way"),
            "{warnings:?}"
        );
        for (more, told) in [
            ("    tls: {client_cert: ./me.pem}\n", "client_key"),
            ("    proxy: proxy.example:80\n", "a URL with"),
            ("    proxy: ftp://proxy.example\n", "a URL with"),
        ] {
            let error = crate::load(&with(more).options).unwrap_err().to_string();
            assert!(error.contains(told), "{more}: {error}");
        }
        let far = "servers: {far: {url: 'https://a.example/mcp', auth: {type: oauth2, token_url: 'https://a.example/t', client_id: me, client_secret: '${PROXY_PASSWORD}'}}}";
        let far = bench(&[("mce.yaml", far)], &[("PROXY_PASSWORD", "hidden-pass")]);
        assert!(far.warnings()[0].contains("run `mce auth login far`"), "{:?}", far.warnings());
        let stdio = bench(&[("mce.yaml", "servers: {a: {command: x, tls: {verify: false}}}")], &[]);
        assert!(stdio.warnings()[0].contains("has no effect"), "{:?}", stdio.warnings());
    }
}
