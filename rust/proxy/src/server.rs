//! Listens, serves connections, and drains them in the end.

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use hyper_util::server::graceful::{GracefulShutdown, Watcher};
use rustls::{ClientConfig, ServerConfig};
use socket2::{SockRef, TcpKeepalive};
use sse_rewrite::Policy;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;

use crate::BoxError;
use crate::admin::Admin;
use crate::balance::Balancer;
use crate::connect::KEEPALIVE;
use crate::headers::Peer;
use crate::health;
use crate::listen::{accept, listen};
use crate::metrics::Metrics;
use crate::proxy::Proxy;
use crate::tls;
use crate::upstream::{Address, Upstream};

/// How long a client may take for TLS.
const HANDSHAKE: Duration = Duration::from_secs(10);

/// How long a client may take for the headers of its next request.
const HEADERS: Duration = Duration::from_secs(75);

/// What a proxy does.
#[derive(Debug)]
pub struct Config {
    /// The servers behind it; at least one.
    pub upstreams: Vec<Address>,
    /// How https upstreams are verified; without it none is trusted.
    pub upstream_tls: Option<ClientConfig>,
    /// Whether events of vLLM's own are sent under the names that the `OpenAI` API has for them.
    pub openai_vocabulary: bool,
    /// Where clients connect.
    pub listen: SocketAddr,
    /// How clients are served TLS.
    pub tls: Option<Arc<ServerConfig>>,
    /// Where `/health`, `/ready` and `/metrics` are.
    pub admin: Option<SocketAddr>,
    /// How long open streams are waited for at the end.
    pub drain: Duration,
    /// How often upstreams are asked whether they are well.
    pub health_interval: Duration,
    /// Up to how many bytes of a request are read to find the response that it goes on from.
    pub body_limit: u64,
}

impl Config {
    /// A proxy in front of `upstreams`, on any free port of the loopback interface.
    #[must_use]
    pub fn new(upstreams: Vec<Address>) -> Self {
        Self {
            upstreams,
            upstream_tls: None,
            openai_vocabulary: true,
            listen: SocketAddr::from(([127, 0, 0, 1], 0)),
            tls: None,
            admin: None,
            drain: Duration::from_secs(300),
            health_interval: Duration::from_secs(5),
            body_limit: 32 << 20,
        }
    }
}

/// A proxy that listens.
pub struct Server {
    listener: TcpListener,
    admin: Option<TcpListener>,
    tls: Option<TlsAcceptor>,
    upstream_tls: ClientConfig,
    balancer: Arc<Balancer>,
    metrics: Arc<Metrics>,
    policy: Policy,
    drain: Duration,
    health_interval: Duration,
    body_limit: u64,
}

impl Server {
    /// Starts to listen.
    ///
    /// # Errors
    ///
    /// An address cannot be listened at.
    pub async fn bind(config: Config) -> Result<Self, BoxError> {
        let upstreams = config.upstreams.into_iter().enumerate();
        let upstreams = upstreams.map(|(index, address)| Arc::new(Upstream::new(index, address)));
        let admin = match config.admin {
            Some(address) => Some(listen(address).await?),
            None => None,
        };
        Ok(Self {
            listener: listen(config.listen).await?,
            admin,
            tls: config.tls.map(TlsAcceptor::from),
            upstream_tls: config.upstream_tls.map_or_else(tls::for_nobody, Ok)?,
            balancer: Arc::new(Balancer::new(upstreams.collect())),
            metrics: Arc::new(Metrics::new()),
            policy: Policy {
                openai_vocabulary: config.openai_vocabulary,
                ..Policy::default()
            },
            drain: config.drain,
            health_interval: config.health_interval,
            body_limit: config.body_limit,
        })
    }

    /// Where clients connect.
    ///
    /// # Errors
    ///
    /// The system does not say.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Where `/health`, `/ready` and `/metrics` are.
    ///
    /// # Errors
    ///
    /// The system does not say.
    pub fn admin_address(&self) -> io::Result<Option<SocketAddr>> {
        self.admin.as_ref().map(TcpListener::local_addr).transpose()
    }

    /// Serves until `end` is there, then drains. Returns whether all streams came to their end.
    pub async fn run(self, end: impl Future<Output = ()>) -> bool {
        let draining = Arc::new(AtomicBool::new(false));
        let proxy = Arc::new(Proxy::new(
            self.upstream_tls.clone(),
            Arc::clone(&self.balancer),
            Arc::clone(&self.metrics),
            self.policy,
            self.body_limit,
        ));
        let mut background = tokio::task::JoinSet::new();
        // One upstream alone is asked whatever its health: only /ready wants to know.
        if self.balancer.all().len() > 1 || self.admin.is_some() {
            background = health::watch(
                self.upstream_tls,
                &self.balancer,
                &self.metrics,
                self.health_interval,
            );
        }
        background.spawn(proxy.idle().close_old());
        if let Some(listener) = self.admin {
            let admin = Admin {
                balancer: self.balancer,
                metrics: self.metrics,
                draining: Arc::clone(&draining),
            };
            background.spawn(admin.serve(listener));
        }
        let open = GracefulShutdown::new();
        tokio::pin!(end);
        loop {
            tokio::select! {
                (stream, peer) = accept(&self.listener) => {
                    let connection = Connection { proxy: Arc::clone(&proxy), ip: peer, watcher: open.watcher() };
                    tokio::spawn(connection.serve(stream, self.tls.clone()));
                }
                () = &mut end => break,
            }
        }
        drop(self.listener);
        draining.store(true, Ordering::Relaxed);
        tracing::info!(connections = open.count(), "draining");
        proxy.tunnels().close();
        let drained = timeout(self.drain, async {
            open.shutdown().await;
            proxy.tunnels().wait().await;
        });
        drained.await.is_ok()
    }
}

/// A connection of a client's.
struct Connection {
    proxy: Arc<Proxy>,
    ip: SocketAddr,
    watcher: Watcher,
}

impl Connection {
    async fn serve(self, stream: TcpStream, tls: Option<TlsAcceptor>) {
        let keepalive = TcpKeepalive::new()
            .with_time(KEEPALIVE)
            .with_interval(KEEPALIVE / 4);
        let set = stream
            .set_nodelay(true)
            .and_then(|()| SockRef::from(&stream).set_tcp_keepalive(&keepalive));
        if set.is_err() {
            return;
        }
        match tls {
            None => self.http(stream, false).await,
            Some(tls) => match timeout(HANDSHAKE, tls.accept(stream)).await {
                Ok(Ok(stream)) => self.http(stream, true).await,
                Ok(Err(error)) => tracing::info!(%error, "a client failed at TLS"),
                Err(_) => tracing::info!("a client took too long for TLS"),
            },
        }
    }

    async fn http(self, stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static, tls: bool) {
        let peer = Peer {
            ip: self.ip.ip(),
            tls,
        };
        let proxy = self.proxy;
        let service = service_fn(move |request| {
            let proxy = Arc::clone(&proxy);
            async move { Ok::<_, Infallible>(proxy.answer(request, peer).await) }
        });
        let mut server = auto::Builder::new(TokioExecutor::new());
        server
            .http1()
            .timer(TokioTimer::new())
            .header_read_timeout(HEADERS)
            .auto_date_header(false);
        server
            .http2()
            .timer(TokioTimer::new())
            .auto_date_header(false);
        let connection = server.serve_connection_with_upgrades(TokioIo::new(stream), service);
        if let Err(error) = self.watcher.watch(connection.into_owned()).await {
            tracing::debug!(%error, "a connection failed");
        }
    }
}
