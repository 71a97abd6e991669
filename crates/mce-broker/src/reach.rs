//! Where calls of functions may go: to what a person configured, and into a private network only where that was meant.

use std::collections::BTreeSet;
use std::net::IpAddr;

use mce_catalog::function::HttpTarget;
use mce_config::{Auth, Location, Origin, ServerSettings};
use url::{Host, Url};

use crate::address::{is_metadata, is_public};
use crate::allowed_hosts::{AllowedHosts, without_dot};
use crate::base_url::BaseUrl;
use crate::call_error::CallError;
use crate::credential::{has_credential, is_withheld};

/// Endings of names that are of private networks by themselves. (RFC 6761, 6762, 8375; ICANN SAC-113; common use)
const LOCAL_ENDINGS: [&str; 9] = [
    ".localhost",
    ".local",
    ".internal",
    ".intranet",
    ".lan",
    ".home.arpa",
    ".home",
    ".corp",
    ".test",
];

/// Names in the configuration that may lead to private addresses: those of private networks by themselves (`localhost`,
/// `grafana`, `nas.local`), and all of servers with `allow_private`.
#[derive(Debug, Default)]
pub(crate) struct PrivateNames(BTreeSet<String>);

impl PrivateNames {
    pub(crate) fn of<'a>(servers: impl IntoIterator<Item = &'a ServerSettings>) -> Self {
        let mut names = BTreeSet::new();
        for server in servers {
            let hosts = configured_urls(server).into_iter().filter_map(|url| domain(&url));
            names.extend(hosts.filter(|name| server.allow_private || is_local_name(name)));
            if matches!(server.origin, Origin::OpenApi(Location::File(_))) && server.base_url.is_none() {
                names.insert("localhost".to_owned());
            }
        }
        Self(names)
    }

    /// One name that a person gave.
    pub(crate) fn only(name: Option<&str>) -> Self {
        Self(name.map(|name| without_dot(name).to_owned()).into_iter().collect())
    }

    /// These and another one that a person gave.
    pub(crate) fn with(&self, name: &str) -> Self {
        Self(self.0.iter().cloned().chain([without_dot(name).to_owned()]).collect())
    }

    pub(crate) fn contains(&self, name: &str) -> bool {
        self.0.contains(without_dot(name))
    }

    /// Whether a connection to this name may lead to this address because a person gave the name. Services that tell a
    /// machine its credentials are never meant by a name.
    pub(crate) fn may_lead_to(&self, name: &str, address: IpAddr) -> bool {
        self.contains(name) && !is_metadata(address)
    }
}

/// Refuses a host that only a document names if it is private (this machine, named by a file of this machine, is not), or if there is a list of allowed ones and it is not in there.
/// A host that a person configured, as `base_url` or as the place of the document, is allowed by that.
pub(crate) fn check_host(allowed: &AllowedHosts, private: &PrivateNames, server: &ServerSettings, base: &BaseUrl) -> Result<(), CallError> {
    let host = base.origin.host();
    let is_configured = server.base_url.is_some() || document_url(server).is_some_and(|place| place.host() == host);
    if is_configured {
        return Ok(());
    }
    let is_listed = host
        .as_ref()
        .is_some_and(|host| allowed.contains(host, base.origin.port_or_known_default()));
    // What another server leads to is not this one's.
    let is_private = is_private(host.as_ref()) || matches!(&host, Some(Host::Domain(name)) if private.contains(name));
    // The file of somebody who develops an API says where it runs while they do.
    let is_own_machine = matches!(server.origin, Origin::OpenApi(Location::File(_))) && is_loopback(&base.origin);
    let is_private = is_private && !is_own_machine;
    let (told, hint) = match (is_private && !is_listed, allowed.is_set() && !is_listed) {
        (true, _) => ("names a host of a private network, which must be configured", ""),
        (false, true) => (
            "names a host that is not among the allowed domains",
            ", or add the host to `MCE_ALLOWED_DOMAINS`",
        ),
        (false, false) => return Ok(()),
    };
    let name = &server.name;
    Err(CallError::policy(format!("the document of `{name}` {told}"))
        .with_hint(format!("set `servers.{name}.base_url` in the configuration{hint}"))
        .with_internal(format!("the document of `{name}` {told}: `{}`", base.host())))
}

/// Whether a server has credentials that go where its document says.
pub fn follows_document(server: &ServerSettings) -> bool {
    server.base_url.is_none() && (has_credential(server) || !server.credentials.is_empty())
}

/// The host of a function to which none of the server's credentials go, if there are any and the document alone names that host.
pub fn host_without_credentials(server: &ServerSettings, target: &HttpTarget, allowed_domains: &[String]) -> Option<String> {
    let is_withheld = follows_document(server) && is_withheld(server, target, &AllowedHosts::new(allowed_domains));
    let place = target.base_url.as_deref().filter(|_| is_withheld)?;
    Some(Url::parse(place).ok()?.host_str()?.to_owned())
}

/// Whether a host is known to be none of the Internet without looking it up.
pub(crate) fn is_private(host: Option<&Host<&str>>) -> bool {
    match host {
        Some(Host::Ipv4(address)) => !is_public((*address).into()),
        Some(Host::Ipv6(address)) => !is_public((*address).into()),
        Some(Host::Domain(name)) => is_local_name(name),
        None => true,
    }
}

/// Whether a place is on this machine.
pub(crate) fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        Some(Host::Domain(name)) => without_dot(name) == "localhost" || without_dot(name).ends_with(".localhost"),
        None => false,
    }
}

/// Whether a name means nothing on the Internet: one without a dot, or with an ending that is private.
pub(crate) fn is_local_name(name: &str) -> bool {
    let name = without_dot(name);
    !name.contains('.') || LOCAL_ENDINGS.iter().any(|ending| name.ends_with(ending))
}

/// All places that a person gave for a server.
fn configured_urls(server: &ServerSettings) -> Vec<Url> {
    let of_auth = match &server.auth {
        Auth::OAuth2 { place, .. } => Some(place.url()),
        Auth::Keycloak { base_url, .. } => Some(base_url.as_str()),
        Auth::Session(session) => Some(session.login_url.as_str()),
        Auth::None | Auth::Static { .. } | Auth::Jwt { .. } | Auth::Basic { .. } => None,
    };
    let of_origin = match &server.origin {
        Origin::OpenApi(Location::Url(url)) => Some(url.as_str()),
        Origin::McpHttp(http) => Some(http.url.as_str()),
        Origin::OpenApi(Location::File(_)) | Origin::McpStdio(_) | Origin::Recipes(_) => None,
    };
    let of_guide = match &server.skills {
        Some(Location::Url(url)) => Some(url.as_str()),
        Some(Location::File(_)) | None => None,
    };
    let of_overlays = server.overlays.iter().filter_map(|overlay| match overlay {
        Location::Url(url) => Some(url.as_str()),
        Location::File(_) => None,
    });
    let written = [server.base_url.as_deref(), of_auth, of_origin, of_guide];
    let all = written.into_iter().flatten().chain(of_overlays);
    all.filter_map(|text| Url::parse(text).ok()).collect()
}

fn domain(url: &Url) -> Option<String> {
    match url.host()? {
        Host::Domain(name) => Some(without_dot(name).to_owned()),
        Host::Ipv4(_) | Host::Ipv6(_) => None,
    }
}

fn document_url(server: &ServerSettings) -> Option<Url> {
    match &server.origin {
        Origin::OpenApi(Location::Url(url)) => Url::parse(url).ok(),
        Origin::OpenApi(Location::File(_)) | Origin::McpStdio(_) | Origin::McpHttp(_) | Origin::Recipes(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_without_meaning_on_the_internet_are_local() {
        for (name, expected) in [
            ("localhost", true),
            ("LOCALHOST.".to_ascii_lowercase().as_str(), true),
            ("grafana", true),
            ("nas.local", true),
            ("metadata.google.internal", true),
            ("router.home.arpa", true),
            ("api.example.com", false),
            ("local.example.com", false),
            ("notlocal", true),
            ("evil-local.com", false),
        ] {
            assert_eq!(is_local_name(name), expected, "{name}");
        }
    }

    #[test]
    fn a_given_name_leads_anywhere_but_to_metadata() {
        let names = PrivateNames::only(Some("intranet"));
        for (name, address, expected) in [
            ("intranet", "10.0.0.1", true),
            ("intranet.", "127.0.0.1", true),
            ("intranet", "fd00::1", true),
            ("intranet", "169.254.169.254", false),
            ("intranet", "fd00:ec2::254", false),
            ("intranet", "100.100.100.200", false),
            ("other", "10.0.0.1", false),
        ] {
            assert_eq!(names.may_lead_to(name, address.parse().unwrap()), expected, "{name} {address}");
        }
    }
}
