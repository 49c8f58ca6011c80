//! The servers behind the proxy, and the connections to them.

use std::fmt;
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

    fn from_str(text: &str) -> Result<Self, String> {
        let parts = text
            .parse::<Uri>()
            .map_err(|error| error.to_string())?
            .into_parts();
        let (Some(scheme), Some(authority)) = (parts.scheme, parts.authority) else {
            return Err("a URL such as http://127.0.0.1:8000 is wanted".to_owned());
        };
        if scheme != Scheme::HTTP && scheme != Scheme::HTTPS {
            return Err(format!("http or https is wanted, not {scheme}"));
        }
        if authority.as_str().contains('@') {
            return Err("a user or password has no place here: clients send their own".to_owned());
        }
        if parts.path_and_query.is_some_and(|path| path != "/") {
            return Err("a path has no place here: requests keep their own".to_owned());
        }
        let host = match authority.port_u16() {
            Some(443) if scheme == Scheme::HTTPS => authority.host(),
            Some(80) if scheme == Scheme::HTTP => authority.host(),
            _ => authority.as_str(),
        };
        let host = HeaderValue::from_str(host).map_err(|error| error.to_string())?;
        Ok(Self {
            scheme,
            authority,
            host,
        })
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
}

impl Upstream {
    pub(crate) fn new(index: usize, address: Address) -> Self {
        Self {
            index,
            address,
            up: AtomicBool::new(true),
            open: AtomicUsize::new(0),
        }
    }

    pub(crate) fn is_up(&self) -> bool {
        self.up.load(Ordering::Relaxed)
    }

    /// Notes whether it is up; returns whether that is news.
    pub(crate) fn set_up(&self, up: bool) -> bool {
        self.up.swap(up, Ordering::Relaxed) != up
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
