//! Keeps requests from going in circles.

use std::hash::{BuildHasher, RandomState};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs, UdpSocket};

use http::header::VIA;
use http::{HeaderMap, HeaderValue, Version};

use crate::headers::tokens;
use crate::upstream::Address;

/// Whether connections to `upstream` arrive at `listen`, as far as can be seen from here.
pub(crate) fn leads_to(upstream: &Address, listen: SocketAddr) -> bool {
    let (host, port) = upstream.host_and_port();
    // Names are not looked up in vain: that may take long.
    port == listen.port()
        && (host, port)
            .to_socket_addrs()
            .is_ok_and(|mut found| found.any(|address| arrives(address.ip(), listen.ip())))
}

/// Whether a connection to `address` arrives at a socket that listens at `listen`.
fn arrives(address: IpAddr, listen: IpAddr) -> bool {
    // The system takes a connection to the unspecified address for one to itself.
    let address = match address.to_canonical() {
        IpAddr::V4(Ipv4Addr::UNSPECIFIED) => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(Ipv6Addr::UNSPECIFIED) => Ipv6Addr::LOCALHOST.into(),
        address => address,
    };
    let listen = listen.to_canonical();
    if !listen.is_unspecified() {
        return address == listen;
    }
    // A socket at `::` takes IPv4 as well. Only an address of this machine can be bound to.
    (listen.is_ipv6() || address.is_ipv4()) && UdpSocket::bind((address, 0)).is_ok()
}

/// The name that one proxy has in `Via`, by which it recognizes its own requests.
///
/// Each proxy has another, so that one may stand before another.
pub(crate) struct Name(String);

impl Name {
    pub(crate) fn new() -> Self {
        // The only source of randomness in the standard library; it need not be unguessable.
        let random = RandomState::new().hash_one(());
        Self(format!("vllm-stable-ids-{random:016x}"))
    }

    /// Whether a request with these headers passed this proxy before.
    pub(crate) fn is_in(&self, headers: &HeaderMap) -> bool {
        tokens(headers, &VIA).any(|element| element.split_whitespace().nth(1) == Some(&self.0))
    }

    /// What the proxy adds to `Via`.
    pub(crate) fn element(&self, version: Version) -> Option<HeaderValue> {
        let version = match version {
            Version::HTTP_2 => "2",
            Version::HTTP_10 => "1.0",
            _ => "1.1",
        };
        HeaderValue::try_from(format!("{version} {}", self.0)).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_upstream_that_is_the_proxy_is_recognized() {
        for (upstream, listen, is) in [
            ("http://127.0.0.1:8001", "127.0.0.1:8001", true),
            ("http://127.0.0.1:8000", "127.0.0.1:8001", false),
            ("http://127.0.0.2:8001", "127.0.0.1:8001", false),
            ("http://localhost:8001", "127.0.0.1:8001", true),
            ("http://0.0.0.0:8001", "127.0.0.1:8001", true),
            ("http://127.0.0.1:8001", "0.0.0.0:8001", true),
            ("http://127.3.4.5:8001", "0.0.0.0:8001", true),
            // An address for documentation: of some other machine.
            ("http://192.0.2.1:8001", "0.0.0.0:8001", false),
            ("http://127.0.0.1:8001", "[::]:8001", true),
            (
                "http://[::ffff:127.0.0.1]:8001",
                "[::ffff:127.0.0.1]:8001",
                true,
            ),
            ("http://[::1]:8001", "0.0.0.0:8001", false),
            ("http://127.0.0.1", "127.0.0.1:80", true),
            ("https://127.0.0.1", "127.0.0.1:443", true),
            ("http://no-such-host.invalid:8001", "127.0.0.1:8001", false),
        ] {
            let address = upstream.parse().expect("an address");
            let listen_at = listen.parse().expect("an address");
            assert_eq!(leads_to(&address, listen_at), is, "{upstream} at {listen}");
        }
    }

    #[test]
    fn a_proxy_knows_its_own_name_only() {
        let (own, other) = (Name::new(), Name::new());
        let mut headers = HeaderMap::new();
        headers.append(VIA, HeaderValue::from_static("1.1 nginx, 1.0 fred (a b)"));
        headers.append(VIA, other.element(Version::HTTP_2).expect("a value"));
        assert!(!own.is_in(&headers) && other.is_in(&headers));
        headers.append(VIA, own.element(Version::HTTP_11).expect("a value"));
        assert!(own.is_in(&headers));
    }
}
