//! Headers, from one connection to the next.

use std::net::IpAddr;

use http::header::{
    ACCEPT_ENCODING, CONNECTION, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, COOKIE, ETAG,
    EXPECT, HOST, PROXY_AUTHENTICATE, PROXY_AUTHORIZATION, TE, TRANSFER_ENCODING, UPGRADE, VIA,
};
use http::{HeaderMap, HeaderName, HeaderValue};

const KEEP_ALIVE: HeaderName = HeaderName::from_static("keep-alive");
const PROXY_CONNECTION: HeaderName = HeaderName::from_static("proxy-connection");
const FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");
const FORWARDED_HOST: HeaderName = HeaderName::from_static("x-forwarded-host");
const FORWARDED_PROTO: HeaderName = HeaderName::from_static("x-forwarded-proto");

/// What concerns one connection only. `Trailer` does not: it announces what is passed on.
const HOP_BY_HOP: [HeaderName; 8] = [
    CONNECTION,
    KEEP_ALIVE,
    PROXY_AUTHENTICATE,
    PROXY_AUTHORIZATION,
    PROXY_CONNECTION,
    TE,
    TRANSFER_ENCODING,
    UPGRADE,
];

/// What describes the exact bytes of a body.
const ABOUT_THE_BYTES: [HeaderName; 6] = [
    CONTENT_LENGTH,
    ETAG,
    HeaderName::from_static("content-digest"),
    HeaderName::from_static("content-md5"),
    HeaderName::from_static("digest"),
    HeaderName::from_static("repr-digest"),
];

/// Where a request came from.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Peer {
    pub(crate) ip: IpAddr,
    pub(crate) tls: bool,
}

/// The protocol that a message asks to go on with, by `Connection` and `Upgrade`.
///
/// An offer of HTTP/2 is none: it is to the proxy itself, which may go on with HTTP/1.1.
pub(crate) fn upgrade(headers: &HeaderMap) -> Option<HeaderValue> {
    tokens(headers, &CONNECTION)
        .any(|token| token.eq_ignore_ascii_case("upgrade"))
        .then(|| headers.get(UPGRADE).cloned())
        .flatten()
        .filter(|protocol| !protocol.as_bytes().eq_ignore_ascii_case(b"h2c"))
}

/// Makes the headers of a client those of the request to an upstream.
pub(crate) fn to_upstream(
    headers: &mut HeaderMap,
    via: Option<HeaderValue>,
    peer: Peer,
    upgrade: Option<&HeaderValue>,
) {
    let trailers = tokens(headers, &TE).any(|token| token.eq_ignore_ascii_case("trailers"));
    remove_hop_by_hop(headers);
    match upgrade {
        Some(protocol) => switch_to(headers, protocol.clone()),
        None if trailers => {
            headers.insert(CONNECTION, HeaderValue::from_static("te"));
            headers.insert(TE, HeaderValue::from_static("trailers"));
        }
        None => {}
    }
    // It was answered here: the body is read as soon as the upstream takes it.
    if tokens(headers, &EXPECT).any(|token| token.eq_ignore_ascii_case("100-continue")) {
        headers.remove(EXPECT);
    }
    // HTTP/2 may have one for each cookie, HTTP/1.1 has one for all.
    join(headers, &COOKIE, b"; ");
    if let Some(host) = headers.remove(HOST) {
        headers.entry(FORWARDED_HOST).or_insert(host);
    }
    let proto = if peer.tls { "https" } else { "http" };
    headers
        .entry(FORWARDED_PROTO)
        .or_insert(HeaderValue::from_static(proto));
    if let Ok(address) = peer.ip.to_string().parse() {
        append(headers, &FORWARDED_FOR, address);
    }
    if let Some(via) = via {
        append(headers, &VIA, via);
    }
}

/// Says that the connection goes on with `protocol`.
pub(crate) fn switch_to(headers: &mut HeaderMap, protocol: HeaderValue) {
    headers.insert(CONNECTION, HeaderValue::from_static("upgrade"));
    headers.insert(UPGRADE, protocol);
}

/// Asks for an answer that is not compressed: another cannot be rewritten.
pub(crate) fn ask_for_identity(headers: &mut HeaderMap) {
    headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
}

/// Removes what was between two others only.
pub(crate) fn remove_hop_by_hop(headers: &mut HeaderMap) {
    let named: Vec<HeaderName> = tokens(headers, &CONNECTION)
        .filter_map(|token| token.parse().ok())
        .collect();
    for name in named.iter().chain(&HOP_BY_HOP) {
        headers.remove(name);
    }
}

/// Removes what is not true of a body that is changed.
pub(crate) fn remove_about_the_bytes(headers: &mut HeaderMap) {
    for name in &ABOUT_THE_BYTES {
        headers.remove(name);
    }
}

pub(crate) fn is_event_stream(headers: &HeaderMap) -> bool {
    let text = headers.get(CONTENT_TYPE).map(HeaderValue::as_bytes);
    let media = text.and_then(|text| text.split(|&byte| byte == b';').next());
    media.is_some_and(|media| {
        media
            .trim_ascii()
            .eq_ignore_ascii_case(b"text/event-stream")
    })
}

/// Whether a body comes compressed, or otherwise encoded.
pub(crate) fn is_encoded(headers: &HeaderMap) -> bool {
    headers.get_all(CONTENT_ENCODING).iter().any(|value| {
        !value
            .as_bytes()
            .trim_ascii()
            .eq_ignore_ascii_case(b"identity")
    })
}

/// The elements of a header that is a list.
pub(crate) fn tokens<'a>(
    headers: &'a HeaderMap,
    name: &HeaderName,
) -> impl Iterator<Item = &'a str> {
    headers
        .get_all(name)
        .into_iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .map(str::trim)
}

/// Adds an element to a header that is a list.
fn append(headers: &mut HeaderMap, name: &HeaderName, element: HeaderValue) {
    headers.append(name, element);
    join(headers, name, b", ");
}

/// Makes one header of several of the same name.
fn join(headers: &mut HeaderMap, name: &HeaderName, separator: &[u8]) {
    let values: Vec<_> = headers
        .get_all(name)
        .iter()
        .map(HeaderValue::as_bytes)
        .collect();
    if values.len() < 2 {
        return;
    }
    if let Ok(value) = HeaderValue::from_bytes(&values.join(separator)) {
        headers.insert(name, value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PEER: Peer = Peer {
        ip: IpAddr::V4(std::net::Ipv4Addr::LOCALHOST),
        tls: false,
    };

    fn headers(lines: &[(&'static str, &'static str)]) -> HeaderMap {
        let pair = |&(name, value)| {
            (
                HeaderName::from_static(name),
                HeaderValue::from_static(value),
            )
        };
        lines.iter().map(pair).collect()
    }

    #[test]
    fn what_concerns_a_connection_stays_on_it() {
        let mut found = headers(&[
            ("authorization", "Bearer x"),
            ("connection", "keep-alive, X-Private"),
            ("cookie", "a=1"),
            ("cookie", "b=2"),
            ("expect", "100-continue"),
            ("host", "there"),
            ("keep-alive", "timeout=5"),
            ("te", "trailers, deflate"),
            ("transfer-encoding", "chunked"),
            ("upgrade", "h2c"),
            ("x-forwarded-for", "10.0.0.1"),
            ("x-private", "1"),
        ]);
        let via = HeaderValue::from_static("1.1 this");
        to_upstream(&mut found, Some(via), PEER, None);
        let want = headers(&[
            ("authorization", "Bearer x"),
            ("connection", "te"),
            ("cookie", "a=1; b=2"),
            ("te", "trailers"),
            ("via", "1.1 this"),
            ("x-forwarded-for", "10.0.0.1, 127.0.0.1"),
            ("x-forwarded-host", "there"),
            ("x-forwarded-proto", "http"),
        ]);
        assert_eq!(found, want);
    }

    #[test]
    fn an_upgrade_needs_both_headers() {
        let both = headers(&[
            ("connection", "keep-alive, Upgrade"),
            ("upgrade", "websocket"),
        ]);
        assert!(upgrade(&both).is_some());
        let h2c = headers(&[("connection", "upgrade"), ("upgrade", "h2c")]);
        assert!(upgrade(&h2c).is_none());
        assert!(upgrade(&headers(&[("upgrade", "websocket")])).is_none());
        assert!(upgrade(&headers(&[("connection", "upgrade")])).is_none());
    }

    #[test]
    fn an_event_stream_is_known_by_its_type() {
        for (text, is) in [
            ("text/event-stream", true),
            ("Text/Event-Stream; charset=utf-8", true),
            ("text/event-streams", false),
            ("application/json", false),
        ] {
            assert_eq!(
                is_event_stream(&headers(&[("content-type", text)])),
                is,
                "{text}"
            );
        }
    }

    #[test]
    fn only_identity_is_not_encoded() {
        assert!(!is_encoded(&headers(&[])));
        assert!(!is_encoded(&headers(&[("content-encoding", "identity")])));
        assert!(is_encoded(&headers(&[("content-encoding", "gzip")])));
    }
}
