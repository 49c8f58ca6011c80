//! Asks upstreams whether they are well.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::uri::PathAndQuery;
use http_body_util::Empty;
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;
use rustls::ClientConfig;
use tokio::time::{sleep, timeout};

use crate::balance::Balancer;
use crate::connect::{Connector, connector};
use crate::metrics::Metrics;
use crate::upstream::Upstream;

/// How long an upstream may take to say that it is well.
const PATIENCE: Duration = Duration::from_secs(5);

/// How often in a row it has to fail to be down: a busy one may be late once.
const FAILURES: u32 = 2;

type Asker = Client<Connector, Empty<Bytes>>;

/// Asks every upstream, over and over, until what is returned is dropped.
pub(crate) fn watch(
    tls: ClientConfig,
    balancer: &Arc<Balancer>,
    metrics: &Arc<Metrics>,
    interval: Duration,
) -> tokio::task::JoinSet<()> {
    let asker = Client::builder(TokioExecutor::new())
        .pool_max_idle_per_host(0)
        .build(connector(tls));
    balancer
        .all()
        .iter()
        .cloned()
        .map(|upstream| {
            let (asker, balancer) = (asker.clone(), Arc::clone(balancer));
            let metrics = Arc::clone(metrics);
            async move {
                let mut failures = 0;
                loop {
                    failures = if is_well(&asker, &upstream).await {
                        0
                    } else {
                        failures + 1
                    };
                    if failures == 0 || failures >= FAILURES {
                        balancer.set_up(&upstream, failures == 0);
                    }
                    metrics.upstream_up(&upstream);
                    sleep(interval).await;
                }
            }
        })
        .collect()
}

/// Whether an upstream answers `GET /health`, with anything but an error of its own.
async fn is_well(asker: &Asker, upstream: &Upstream) -> bool {
    let Ok(uri) = upstream.address.at(PathAndQuery::from_static("/health")) else {
        return false;
    };
    match timeout(PATIENCE, asker.get(uri)).await {
        Ok(Ok(response)) => !response.status().is_server_error(),
        Ok(Err(_)) | Err(_) => false,
    }
}
