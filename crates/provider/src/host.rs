//! Where a host is: on this machine, in the user's own network, or on the internet.

use std::net::IpAddr;

/// Endings of names that only a network of one's own knows (RFC 6762, RFC 8375, and what ICANN has set aside).
const OWN_ENDINGS: [&str; 5] = [".local", ".lan", ".home", ".internal", ".home.arpa"];

/// Whether `host` is this machine.
pub fn is_loopback(host: &str) -> bool {
    host == "localhost" || host.ends_with(".localhost") || address(host).is_some_and(|address| address.is_loopback())
}

/// Whether `host` is this machine or one in the user's own network: by its address, or by a name that is not public.
pub fn is_private(host: &str) -> bool {
    match address(host) {
        Some(IpAddr::V4(address)) => address.is_loopback() || address.is_private() || address.is_link_local(),
        Some(IpAddr::V6(address)) => {
            address.is_loopback() || address.is_unique_local() || address.is_unicast_link_local()
        }
        None => is_loopback(host) || !host.contains('.') || OWN_ENDINGS.iter().any(|end| host.ends_with(end)),
    }
}

/// A host without its port.
pub(super) fn without_port(host: &str) -> &str {
    host.rsplit_once(':')
        .filter(|(_, port)| port.bytes().all(|byte| byte.is_ascii_digit()))
        .map_or(host, |(name, _)| name)
}

/// The address that a URL has as its host.
fn address(host: &str) -> Option<IpAddr> {
    let address: IpAddr = host.trim_matches(['[', ']']).parse().ok()?;
    Some(address.to_canonical())
}
