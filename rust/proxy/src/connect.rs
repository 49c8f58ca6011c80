//! Connections to upstreams.

use std::time::Duration;

use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::connect::HttpConnector;
use rustls::ClientConfig;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// How long a peer may be silent before the system asks whether it is still there.
pub(crate) const KEEPALIVE: Duration = Duration::from_secs(60);

/// Opens connections, with or without TLS as the URL says.
pub(crate) type Connector = HttpsConnector<HttpConnector>;

pub(crate) fn connector(tls: ClientConfig) -> Connector {
    let mut tcp = HttpConnector::new();
    tcp.enforce_http(false);
    tcp.set_nodelay(true);
    tcp.set_keepalive(Some(KEEPALIVE));
    tcp.set_connect_timeout(Some(CONNECT_TIMEOUT));
    HttpsConnectorBuilder::new()
        .with_tls_config(tls)
        .https_or_http()
        .enable_http1()
        .wrap_connector(tcp)
}
