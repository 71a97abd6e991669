//! Which network addresses are of the public Internet.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Whether this address is one of the public Internet: none of this machine, a private or carrier's network, a link,
/// metadata services, multicast, documentation, or of a tunnel that leads to one of those.
///
/// Follows the IANA special-purpose registries. (RFC 6890)
pub(crate) fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

/// Whether a cloud tells a machine its credentials at this address: AWS, Azure, Google and most others at a link's address;
/// AWS over IPv6; Alibaba; Oracle; Azure's second.
pub(crate) fn is_metadata(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_metadata_v4(address),
        IpAddr::V6(address) => {
            let inner = address.to_ipv4_mapped();
            address.is_unicast_link_local()
                || address.segments() == [0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254]
                || inner.is_some_and(is_metadata_v4)
        }
    }
}

fn is_metadata_v4(address: Ipv4Addr) -> bool {
    address.is_link_local() || matches!(address.octets(), [100, 100, 100, 200] | [192, 0, 0, 192] | [168, 63, 129, 16])
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let [first, second, third, _] = address.octets();
    let is_special = match (first, second, third) {
        (0 | 10 | 127 | 224.., _, _) => true,
        // Of carriers. (RFC 6598)
        (100, 64..=127, _) => true,
        (169, 254, _) | (172, 16..=31, _) | (192, 168, _) => true,
        // Protocol assignments, documentation, relays of 6to4, AS112.
        (192, 0, 0 | 2) | (192, 88, 99) | (192, 31, 196) | (192, 52, 193) | (192, 175, 48) => true,
        (198, 18 | 19, _) | (198, 51, 100) | (203, 0, 113) => true,
        _ => false,
    };
    !is_special && !is_metadata_v4(address)
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    let [first, second, third, fourth, fifth, sixth, seventh, eighth] = address.segments();
    match (first, second) {
        // Translated by the network. (RFC 6052)
        (0x64, 0xff9b) if [third, fourth, fifth, sixth] == [0; 4] => {
            let [a, b] = seventh.to_be_bytes();
            let [c, d] = eighth.to_be_bytes();
            is_public_v4(Ipv4Addr::new(a, b, c, d))
        }
        // Protocol assignments with Teredo, documentation, 6to4, documentation.
        (0x2001, ..=0x01ff | 0x0db8) | (0x2002, _) | (0x3fff, ..=0x0fff) => false,
        // All that is global and assigned. (RFC 4291, 2.4)
        (0x2000..=0x3fff, _) => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_addresses_of_the_internet_are_public() {
        for (address, expected) in [
            ("1.1.1.1", true),
            ("93.184.215.14", true),
            ("172.32.0.1", true),
            ("100.128.0.1", true),
            ("192.1.0.1", true),
            ("2606:4700::1111", true),
            ("64:ff9b::101:101", true),
            ("0.0.0.0", false),
            ("0.1.2.3", false),
            ("10.0.0.1", false),
            ("100.64.0.1", false),
            ("127.0.0.1", false),
            ("127.255.255.254", false),
            ("169.254.169.254", false),
            ("172.16.0.1", false),
            ("172.31.255.255", false),
            ("192.0.0.192", false),
            ("168.63.129.16", false),
            ("192.168.0.1", false),
            ("198.18.0.1", false),
            ("203.0.113.1", false),
            ("224.0.0.1", false),
            ("255.255.255.255", false),
            ("::", false),
            ("::1", false),
            ("::7f00:1", false),
            ("::ffff:127.0.0.1", false),
            ("::ffff:1.1.1.1", false),
            ("64:ff9b::7f00:1", false),
            ("64:ff9b:1::1.1.1.1", false),
            ("2001::1", false),
            ("2001:db8::1", false),
            ("2002:7f00:1::", false),
            ("3fff::1", false),
            ("fc00::1", false),
            ("fd00:ec2::254", false),
            ("fe80::1", false),
            ("fec0::1", false),
            ("ff02::1", false),
        ] {
            assert_eq!(is_public(address.parse().unwrap()), expected, "{address}");
        }
    }
}
