//! The servers behind the proxy, and how busy they are.

use std::fmt;
use std::net::Ipv6Addr;
use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use http::uri::{Authority, PathAndQuery, Scheme};
use http::{HeaderValue, Uri};

/// Where an upstream is: a URL without a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Address {
    scheme: Scheme,
    authority: Authority,
    port: u16,
    host: HeaderValue,
}

impl Address {
    pub(crate) fn is_https(&self) -> bool {
        self.scheme == Scheme::HTTPS
    }

    /// What requests there say in `Host`.
    pub(crate) fn host(&self) -> HeaderValue {
        self.host.clone()
    }

    /// The name or IP address to look up, and the port.
    pub(crate) fn host_and_port(&self) -> (&str, u16) {
        let host = self.authority.host();
        let bare = host
            .strip_prefix('[')
            .and_then(|rest| rest.strip_suffix(']'));
        (bare.unwrap_or(host), self.port)
    }

    /// The URL of `path` there.
    pub(crate) fn at(&self, path: PathAndQuery) -> Result<Uri, http::Error> {
        Uri::builder()
            .scheme(self.scheme.clone())
            .authority(self.authority.clone())
            .path_and_query(path)
            .build()
    }
}

impl FromStr for Address {
    type Err = String;

    /// Messages say what to write instead.
    fn from_str(text: &str) -> Result<Self, String> {
        let uri = text.parse::<Uri>();
        let uri = uri.map_err(|error| format!("{error}; write one such as {EXAMPLE}"))?;
        let parts = uri.into_parts();
        let (Some(scheme), Some(authority)) = (parts.scheme, parts.authority) else {
            return Err(format!("a URL is wanted, such as {EXAMPLE}"));
        };
        if scheme != Scheme::HTTP && scheme != Scheme::HTTPS {
            return Err(format!(
                "http or https is wanted, not {scheme}; write one such as {EXAMPLE}"
            ));
        }
        if let Some((_, rest)) = authority.as_str().rsplit_once('@') {
            return Err(format!(
                "a user or password has no place here: clients send their own; \
                 write {scheme}://{rest}"
            ));
        }
        // The parser drops a fragment without a word.
        if text.contains('#') || parts.path_and_query.is_some_and(|path| path != "/") {
            return Err(format!(
                "a path, query or fragment has no place here: requests keep their own; \
                 write {scheme}://{authority}"
            ));
        }
        let is_https = scheme == Scheme::HTTPS;
        let default = if is_https { 443 } else { 80 };
        let port = port(&scheme, &authority)?.unwrap_or(default);
        let host = if port == default {
            authority.host()
        } else {
            authority.as_str()
        };
        let host = HeaderValue::from_str(host).map_err(|error| error.to_string())?;
        Ok(Self {
            scheme,
            authority,
            port,
            host,
        })
    }
}

const EXAMPLE: &str = "http://127.0.0.1:8000";

/// The port of a URL, if it has one, once its host is one that can be looked up.
fn port(scheme: &Scheme, authority: &Authority) -> Result<Option<u16>, String> {
    let host = authority.host();
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || b"-._".contains(&byte);
    let is_host = match host.strip_prefix('[') {
        Some(rest) => rest
            .strip_suffix(']')
            .is_some_and(|ip| ip.parse::<Ipv6Addr>().is_ok()),
        None => !host.is_empty() && host.bytes().all(is_name),
    };
    let after = authority.as_str().strip_prefix(host).filter(|_| is_host);
    let text = match after.map(|after| after.strip_prefix(':').ok_or(after)) {
        Some(Ok(text)) => text,
        Some(Err("")) => return Ok(None),
        Some(Err(_)) | None => {
            return Err(format!(
                "`{authority}` is no name of a host and no IP address; write one such as {EXAMPLE}"
            ));
        }
    };
    let is_number = text.bytes().all(|byte| byte.is_ascii_digit());
    match text.parse() {
        Ok(port @ 1..) if is_number => Ok(Some(port)),
        _ => Err(format!(
            "`{text}` is no port; write one from 1 to 65535, such as {scheme}://{host}:8000"
        )),
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}", self.scheme, self.authority)
    }
}

/// One server behind the proxy.
#[derive(Debug)]
pub(crate) struct Upstream {
    /// Its place in the order of `--upstream`.
    pub(crate) index: usize,
    pub(crate) address: Address,
    /// Whether it answered when it was asked last; it is believed to before that.
    up: AtomicBool,
    /// Requests it has not answered to their end.
    open: AtomicUsize,
    /// Which of all connections that could not be made was the last one to it; 0: none.
    last_failure: AtomicUsize,
}

impl Upstream {
    pub(crate) fn new(index: usize, address: Address) -> Self {
        Self {
            index,
            address,
            up: AtomicBool::new(true),
            open: AtomicUsize::new(0),
            last_failure: AtomicUsize::new(0),
        }
    }

    pub(crate) fn is_up(&self) -> bool {
        self.up.load(Ordering::Relaxed)
    }

    /// Notes whether it is up; returns whether that is news.
    pub(crate) fn set_up(&self, up: bool) -> bool {
        self.up.swap(up, Ordering::Relaxed) != up
    }

    /// Notes that the connection with this number could not be made.
    pub(crate) fn note_failure(&self, number: usize) {
        self.last_failure.fetch_max(number, Ordering::Relaxed);
    }

    pub(crate) fn last_failure(&self) -> usize {
        self.last_failure.load(Ordering::Relaxed)
    }

    pub(crate) fn open(&self) -> usize {
        self.open.load(Ordering::Relaxed)
    }

    /// Counts a request until what is returned is dropped.
    pub(crate) fn begin(self: &Arc<Self>) -> Open {
        self.open.fetch_add(1, Ordering::Relaxed);
        Open(Arc::clone(self))
    }
}

/// A request that an upstream is at.
#[derive(Debug)]
pub(crate) struct Open(Arc<Upstream>);

impl Drop for Open {
    fn drop(&mut self) {
        self.0.open.fetch_sub(1, Ordering::Relaxed);
    }
}
