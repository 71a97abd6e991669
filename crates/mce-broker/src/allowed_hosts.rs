//! The hosts of `MCE_ALLOWED_DOMAINS`, and where a connection to one of them may lead.

use std::net::IpAddr;

use url::Host;

use crate::address::is_public;

/// The list. An entry is a host (`api.example.com`, `10.0.0.5`, `[fd00::1]`, `localhost`), all hosts below one
/// (`*.example.com` or `.example.com`, not `example.com` itself), or all public hosts (`*`). With a port (`localhost:8080`) it is
/// about that port alone.
#[derive(Debug, Default)]
pub(crate) struct AllowedHosts {
    is_set: bool,
    entries: Vec<Entry>,
    /// Those that are no hosts.
    unusable: Vec<String>,
}

#[derive(Debug)]
struct Entry {
    hosts: Hosts,
    /// The only one; none for all.
    port: Option<u16>,
}

#[derive(Debug)]
enum Hosts {
    All,
    One(Host),
    /// With the dot before it.
    Below(String),
}

impl AllowedHosts {
    /// Reads the list. An entry that is no host allows nothing.
    pub(crate) fn new(entries: &[String]) -> Self {
        let mut allowed = Self {
            is_set: !entries.is_empty(),
            ..Self::default()
        };
        for entry in entries {
            if !allowed.add(entry.trim()) {
                allowed.unusable.push(entry.clone());
            }
        }
        allowed
    }

    /// Writes to the log which entries allow nothing.
    pub(crate) fn warn_of_unusable(&self) {
        for entry in &self.unusable {
            tracing::warn!("`{entry}` in `MCE_ALLOWED_DOMAINS` is no host: it allows nothing");
        }
    }

    fn add(&mut self, entry: &str) -> bool {
        let (name, port) = without_port(entry);
        let above = name.strip_prefix('*').unwrap_or(name).strip_prefix('.');
        let hosts = match (above.map_or_else(|| host(name), host), above) {
            _ if name == "*" => Hosts::All,
            (Some(Host::Domain(domain)), Some(_)) => Hosts::Below(format!(".{domain}")),
            (Some(host), None) => Hosts::One(host),
            (_, _) => return false,
        };
        self.entries.push(Entry { hosts, port });
        true
    }

    /// Whether there is a list at all.
    pub(crate) const fn is_set(&self) -> bool {
        self.is_set
    }

    /// Whether the list names this host, at this port. Addresses are named by themselves only, or by `*` if they are public.
    pub(crate) fn contains(&self, host: &Host<&str>, port: Option<u16>) -> bool {
        let at_port = self.entries.iter().filter(|entry| entry.port.is_none() || entry.port == port);
        at_port.map(|entry| &entry.hosts).any(|hosts| match (hosts, host) {
            (Hosts::All, Host::Domain(_)) => true,
            (Hosts::All, Host::Ipv4(address)) => is_public((*address).into()),
            (Hosts::All, Host::Ipv6(address)) => is_public((*address).into()),
            (Hosts::Below(suffix), Host::Domain(domain)) => without_dot(domain).ends_with(suffix),
            (Hosts::Below(_), Host::Ipv4(_) | Host::Ipv6(_)) => false,
            (Hosts::One(known), host) => is_same(known, host),
        })
    }

    /// Whether a connection to this name may lead to this address: a public one, one that the list names itself, or
    /// loopback for a listed `localhost`.
    pub(crate) fn may_lead_to(&self, name: &str, address: IpAddr) -> bool {
        let literal = match address {
            IpAddr::V4(address) => Host::Ipv4(address),
            IpAddr::V6(address) => Host::Ipv6(address),
        };
        let is_local = || without_dot(name) == "localhost" && self.has_exactly(&Host::Domain("localhost"));
        is_public(address) || self.has_exactly(&literal) || address.is_loopback() && is_local()
    }

    fn has_exactly(&self, host: &Host<&str>) -> bool {
        let names = |entry: &Entry| matches!(&entry.hosts, Hosts::One(known) if is_same(known, host));
        self.entries.iter().any(names)
    }
}

fn is_same(known: &Host, host: &Host<&str>) -> bool {
    match (known, host) {
        (Host::Domain(known), Host::Domain(host)) => known == without_dot(host),
        (Host::Ipv4(known), Host::Ipv4(host)) => known == host,
        (Host::Ipv6(known), Host::Ipv6(host)) => known == host,
        (_, _) => false,
    }
}

/// A port at the end, unless the colons are those of an address.
fn without_port(entry: &str) -> (&str, Option<u16>) {
    match entry.rsplit_once(':') {
        Some((name, port)) if !name.contains(':') || name.ends_with(']') => match port.parse() {
            Ok(port) => (name, Some(port)),
            Err(_) => (entry, None),
        },
        Some(_) | None => (entry, None),
    }
}

/// A host in its one spelling: lower case, punycode, addresses as numbers.
fn host(text: &str) -> Option<Host> {
    let is_bare_v6 = text.matches(':').count() > 1 && !text.starts_with('[');
    let host = Host::parse(&if is_bare_v6 { format!("[{text}]") } else { text.to_owned() }).ok()?;
    Some(match host {
        Host::Domain(domain) => Host::Domain(without_dot(&domain).to_owned()),
        Host::Ipv4(_) | Host::Ipv6(_) => host,
    })
}

/// `example.com.` is `example.com`, looked up without a search list.
pub(crate) fn without_dot(domain: &str) -> &str {
    domain.strip_suffix('.').unwrap_or(domain)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(entries: &str) -> AllowedHosts {
        AllowedHosts::new(&entries.split(',').map(str::to_owned).collect::<Vec<_>>())
    }

    fn check(entries: &str, host: &str, expected: bool) {
        let url = url::Url::parse(&format!("http://{host}/")).unwrap();
        let port = url.port_or_known_default();
        assert_eq!(list(entries).contains(&url.host().unwrap(), port), expected, "{host} by {entries}");
    }

    #[test]
    fn entries_name_a_host_or_all_below_one() {
        for (entries, host, expected) in [
            ("api.example.com", "api.example.com", true),
            ("API.Example.com.", "api.example.COM", true),
            ("api.example.com", "api.example.com.:8080", true),
            ("api.example.com", "example.com", false),
            ("api.example.com", "x.api.example.com", false),
            ("api.example.com", "api.example.com.evil.test", false),
            ("*.example.com", "a.b.example.com", true),
            (".example.com", "a.example.com", true),
            ("*.example.com", "example.com", false),
            ("*.example.com", "notexample.com", false),
            ("bücher.example", "xn--bcher-kva.example", true),
            ("a.test, b.test", "b.test", true),
            ("*", "any.test", true),
            ("*", "1.1.1.1", true),
            ("*", "127.0.0.1", false),
            ("127.0.0.1", "2130706433", true),
            ("::1", "[::1]", true),
            ("[::1]", "[0:0:0:0:0:0:0:1]", true),
            ("127.0.0.1", "[::ffff:127.0.0.1]", false),
            ("127.0.0.1", "localhost", false),
            ("localhost", "LOCALHOST.", true),
            ("localhost", "127.0.0.1", false),
            ("*.0.0.1", "127.0.0.1", false),
            ("http://a.test", "a.test", false),
            ("a.test:8080", "a.test:8080", true),
            ("a.test:8080", "a.test", false),
            ("a.test:80", "a.test", true),
            ("*.a.test:8080", "b.a.test:8080", true),
            ("*:8080", "b.test:8080", true),
            ("*:8080", "b.test:8081", false),
            ("a.test:8080,a.test:8081", "a.test:8081", true),
            ("[::1]:8080", "[::1]:8080", true),
            ("[::1]:8080", "[::1]:8081", false),
            ("::1", "[::1]:9", true),
            ("a.test:99999", "a.test", false),
            ("a.test:", "a.test", false),
            ("", "a.test", false),
        ] {
            check(entries, host, expected);
        }
    }

    #[test]
    fn names_lead_to_public_addresses_unless_the_address_itself_is_listed() {
        for (entries, name, address, expected) in [
            ("a.test", "a.test", "1.1.1.1", true),
            ("a.test", "a.test", "127.0.0.1", false),
            ("a.test", "a.test", "169.254.169.254", false),
            ("a.test,10.0.0.5", "a.test", "10.0.0.5", true),
            ("a.test,10.0.0.5", "a.test", "10.0.0.6", false),
            ("localhost", "localhost.", "127.0.0.1", true),
            ("localhost", "localhost", "::1", true),
            ("localhost", "localhost", "10.0.0.1", false),
            ("localhost,a.test", "a.test", "127.0.0.1", false),
            ("*", "localhost", "127.0.0.1", false),
        ] {
            assert_eq!(
                list(entries).may_lead_to(name, address.parse().unwrap()),
                expected,
                "{name} to {address} by {entries}"
            );
        }
    }
}
