//! Where requests may go: hosts of a program's own requests, and addresses of further pages that an API's answer gave.
//!
//! The checks are taken by their files and not through `mce-broker`, whose HTTP and SQLite would take minutes to build.

#![no_main]
#![allow(dead_code, reason = "the parts of these files that check no address")]

#[path = "../../crates/mce-broker/src/address.rs"]
mod address;
#[path = "../../crates/mce-broker/src/allowed_hosts.rs"]
mod allowed_hosts;
#[path = "../../crates/mce-broker/src/base_url.rs"]
mod base_url;
#[path = "../../crates/mce-broker/src/call_error.rs"]
mod call_error;
#[path = "../../crates/mce-broker/src/page.rs"]
mod page;
mod policy {
    /// What errors carry along and no check of an address looks at.
    #[derive(Debug, Clone)]
    pub(crate) struct Decision;
}
mod redact {
    pub(crate) const MARK: &str = "[redacted]";
}

use std::net::{IpAddr, Ipv4Addr};

use libfuzzer_sys::fuzz_target;
use percent_encoding::percent_decode_str;
use url::{Host, Url};

use self::address::is_public;
use self::allowed_hosts::AllowedHosts;
use self::base_url::BaseUrl;

const BASES: [&str; 4] = [
    "https://api.test",
    "https://api.test/v1",
    "http://10.0.0.1:8080/a/b?key=k",
    "https://[2001:4860::1]/v1",
];

// The first line is a list of allowed hosts, the second the address.
fuzz_target!(|input: &[u8]| {
    let text = String::from_utf8_lossy(input);
    let (list, address) = text.split_once('\n').unwrap_or(("*", &text));
    check_host(list, address);
    for base in BASES {
        check_page(&BaseUrl::parse(base).expect("a base URL"), address);
    }
});

/// A host is allowed by an entry of its own, or by one for many if it is public.
fn check_host(list: &str, address: &str) {
    let Ok(url) = Url::parse(address) else { return };
    let Some(host) = url.host() else { return };
    let entries: Vec<String> = list.split(',').map(str::to_owned).collect();
    let allowed = AllowedHosts::new(&entries);
    let is_allowed = allowed.contains(&host, url.port_or_known_default());
    let literal: Option<IpAddr> = match host {
        Host::Ipv4(address) => Some(address.into()),
        Host::Ipv6(address) => Some(address.into()),
        Host::Domain(_) => None,
    };
    if let Some(literal) = literal {
        let has_digits = |entry: &String| entry.contains(|c: char| c.is_alphanumeric());
        assert!(!is_allowed || is_public(literal) || entries.iter().any(has_digits), "{list} allows {literal}");
        assert!(!allowed.may_lead_to("example.com", literal) || is_public(literal) || entries.iter().any(has_digits));
    }
    let is_empty = entries.iter().all(|entry| entry.trim().is_empty());
    assert!(!(is_empty && is_allowed), "an empty list allows {host}");
    if let Some(IpAddr::V6(address)) = literal {
        let [.., a, b, c, d] = address.octets();
        let inside = Ipv4Addr::new(a, b, c, d);
        let is_translated = address.segments()[..6] == [0x64, 0xff9b, 0, 0, 0, 0];
        assert!(!is_translated || is_public(address.into()) == is_public(inside.into()));
        assert!(address.to_ipv4_mapped().is_none() || !is_public(address.into()));
    }
}

/// An address that is followed stays at the origin and below the base, however often its path is decoded.
fn check_page(base: &BaseUrl, address: &str) {
    let Ok((path, query)) = page::follow(("GET", "/users"), address, base, &[]) else { return };
    let mut url = base.origin.clone();
    let whole = format!("{}{path}", base.path);
    url.set_path(&whole);
    assert_eq!((url.origin(), url.path()), (base.origin.origin(), whole.as_str()), "URL rules change it");
    let decoded = percent_decode_str(&path).decode_utf8_lossy().into_owned();
    let names = |text: &str| text.split(['/', '\\']).any(|name| name == "..");
    assert!(path == "/users" || !names(&decoded), "{path} leaves the base");
    assert!(query.iter().all(|pair| !pair.contains('#')), "{query:?}");
}
