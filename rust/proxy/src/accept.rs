//! Which requests are passed on: those that nobody after this proxy can read in another way.

use http::header::HOST;
use http::uri::{Authority, PathAndQuery};
use http::{HeaderValue, Method, Request, StatusCode, Version};

use crate::framing;
use crate::loops;

/// The path of a request that can be passed on, its framing settled; or what its client is
/// answered.
pub(crate) fn path<B>(
    request: &mut Request<B>,
    own: &loops::Name,
) -> Result<PathAndQuery, (StatusCode, &'static str)> {
    let path = request.uri().path_and_query().cloned();
    let path = path
        .filter(|path| path.path().starts_with('/'))
        .filter(|_| request.method() != Method::CONNECT && has_host(request))
        .ok_or((StatusCode::BAD_REQUEST, "this is no request for a proxy"))?;
    framing::settle(request.headers_mut())
        .map_err(|misframed| (misframed.status(), misframed.message()))?;
    if own.is_in(request.headers()) {
        tracing::warn!("a request came back: some upstream leads to this proxy");
        let message = "the request came back to this proxy: one of its servers leads to it";
        return Err((StatusCode::LOOP_DETECTED, message));
    }
    Ok(path)
}

/// Whether a request says for which host it is, and for one only.
fn has_host<B>(request: &Request<B>) -> bool {
    let mut hosts = request.headers().get_all(HOST).iter();
    let (host, second) = (hosts.next(), hosts.next());
    let in_uri = request.uri().authority();
    let is_proper = second.is_none()
        && host.is_none_or(|host| host.is_empty() || Authority::try_from(host.as_bytes()).is_ok())
        && !host.is_some_and(|host| host.as_bytes().contains(&b'@'))
        && !in_uri.is_some_and(|authority| authority.as_str().contains('@'));
    is_proper
        && match request.version() {
            Version::HTTP_11 => host.is_some(),
            Version::HTTP_2 => !differ(host, in_uri),
            _ => true,
        }
}

/// Whether HTTP/2 names one host in the URI and another in the header.
fn differ(host: Option<&HeaderValue>, in_uri: Option<&Authority>) -> bool {
    match (host, in_uri) {
        (Some(host), Some(authority)) => {
            let authority = authority.as_str().as_bytes();
            !host.as_bytes().eq_ignore_ascii_case(authority)
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn accepted(version: Version, uri: &str, hosts: &[&str]) -> Option<String> {
        let mut request = Request::builder().version(version).uri(uri);
        for host in hosts {
            request = request.header(HOST, *host);
        }
        let mut request = request.body(()).expect("a request");
        let path = path(&mut request, &loops::Name::new()).ok()?;
        Some(path.to_string())
    }

    #[test]
    fn a_request_is_for_one_host() {
        for (version, uri, hosts, is) in [
            (Version::HTTP_11, "/a?b", &["x"][..], true),
            (Version::HTTP_11, "/a?b", &["x:8001"], true),
            (Version::HTTP_11, "/a?b", &["[::1]:8001"], true),
            (Version::HTTP_11, "/a?b", &[""], true),
            (Version::HTTP_11, "/a?b", &[], false),
            (Version::HTTP_11, "/a?b", &["x", "x"], false),
            (Version::HTTP_11, "/a?b", &["u@x"], false),
            (Version::HTTP_11, "/a?b", &["x y"], false),
            (Version::HTTP_11, "/a?b", &["x/y"], false),
            (Version::HTTP_11, "http://y/a?b", &["x"], true),
            (Version::HTTP_11, "http://u@x/a?b", &["x"], false),
            (Version::HTTP_10, "/a?b", &[], true),
            (Version::HTTP_10, "/a?b", &["x", "y"], false),
            (Version::HTTP_2, "http://x/a?b", &[], true),
            (Version::HTTP_2, "http://x/a?b", &["X"], true),
            (Version::HTTP_2, "http://x/a?b", &["y"], false),
            (Version::HTTP_2, "/a?b", &["x"], true),
        ] {
            let path = accepted(version, uri, hosts);
            assert_eq!(
                path.as_deref(),
                is.then_some("/a?b"),
                "{version:?} {uri} {hosts:?}"
            );
        }
    }

    #[test]
    fn what_has_no_path_is_not_passed_on() {
        for uri in ["*", "x:443"] {
            assert_eq!(accepted(Version::HTTP_11, uri, &["x"]), None, "{uri}");
        }
    }
}
