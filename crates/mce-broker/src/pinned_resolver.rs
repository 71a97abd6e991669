//! Names become addresses, and those that may not be reached are left out. The connection is made to what
//! was checked here, so that a name cannot lead elsewhere a moment later.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use mce_config::ServerSettings;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use thiserror::Error;

use crate::allowed_hosts::AllowedHosts;
use crate::reach::PrivateNames;

/// The system's resolver, with a check of what it says.
#[derive(Debug)]
pub(crate) struct PinnedResolver {
    pub(crate) allowed: Arc<AllowedHosts>,
    /// Names that may lead into a private network.
    pub(crate) private: Arc<PrivateNames>,
}

impl PinnedResolver {
    /// Where connections to these servers may lead.
    pub(crate) fn of(servers: &[ServerSettings], allowed_domains: &[String]) -> Self {
        Self {
            allowed: Arc::new(AllowedHosts::new(allowed_domains)),
            private: Arc::new(PrivateNames::of(servers)),
        }
    }

    /// The same, with one more name that may lead into a private network.
    pub(crate) fn with(&self, name: Option<String>) -> Self {
        let private = name.map_or_else(|| Arc::clone(&self.private), |name| Arc::new(self.private.with(&name)));
        Self {
            allowed: Arc::clone(&self.allowed),
            private,
        }
    }
}

/// A name that leads to addresses of private networks only.
#[derive(Debug, Error)]
#[error("`{name}` leads to `{address}`, which is no public address")]
pub(crate) struct PrivateAddress {
    pub(crate) name: String,
    /// The first of them.
    pub(crate) address: IpAddr,
}

impl Resolve for PinnedResolver {
    fn resolve(&self, name: Name) -> Resolving {
        let allowed = Arc::clone(&self.allowed);
        let private = Arc::clone(&self.private);
        Box::pin(async move {
            let found = tokio::net::lookup_host((name.as_str(), 0)).await?;
            let is_allowed = |address| allowed.may_lead_to(name.as_str(), address) || private.may_lead_to(name.as_str(), address);
            let addresses = checked(name.as_str(), is_allowed, found)?;
            Ok(Box::new(addresses.into_iter()) as Addrs)
        })
    }
}

/// Those addresses that the name may lead to.
///
/// # Errors
///
/// [`PrivateAddress`] if there are addresses and none is left.
fn checked(
    name: &str,
    is_allowed: impl Fn(IpAddr) -> bool,
    found: impl Iterator<Item = SocketAddr>,
) -> Result<Vec<SocketAddr>, PrivateAddress> {
    let (kept, refused): (Vec<_>, Vec<_>) = found.partition(|address| is_allowed(address.ip()));
    match refused.first() {
        Some(first) if kept.is_empty() => Err(PrivateAddress {
            name: name.to_owned(),
            address: first.ip(),
        }),
        Some(_) | None => Ok(kept),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_also_leads_into_a_private_network_keeps_its_public_addresses() {
        let allowed = AllowedHosts::new(&["a.test".to_owned()]);
        let addresses = |texts: &[&str]| texts.iter().map(|text| text.parse().unwrap()).collect::<Vec<SocketAddr>>();
        let check = |texts: &[&str]| {
            checked(
                "a.test",
                |address| allowed.may_lead_to("a.test", address),
                addresses(texts).into_iter(),
            )
        };
        assert_eq!(check(&["127.0.0.1:0", "1.1.1.1:0"]).unwrap(), addresses(&["1.1.1.1:0"]));
        let refused = check(&["10.0.0.1:0", "[::1]:0"]).unwrap_err();
        assert_eq!(refused.to_string(), "`a.test` leads to `10.0.0.1`, which is no public address");
        assert!(check(&[]).unwrap().is_empty());
    }
}
