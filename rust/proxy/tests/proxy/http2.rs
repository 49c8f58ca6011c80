//! HTTP/2 and TLS, to clients and to upstreams.

use std::net::SocketAddr;
use std::sync::Arc;

use bytes::Bytes;
use http::{Method, Request, Response, StatusCode, Version};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::client::conn::http2;
use hyper_util::rt::{TokioExecutor, TokioIo};
use rcgen::{CertificateParams, CertifiedIssuer, KeyPair};
use rustls::pki_types::ServerName;
use stable_ids_proxy::server::Config;
use stable_ids_proxy::tls;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;
use tokio_rustls::{TlsAcceptor, TlsConnector};

use crate::bed::{Proxy, config, delta, opening, rewritten, soon};
use crate::client::get;
use crate::fake::{Fake, Wire};

type Sender = http2::SendRequest<Full<Bytes>>;

async fn over(io: impl AsyncRead + AsyncWrite + Send + Unpin + 'static) -> Sender {
    let (sender, connection) = http2::handshake(TokioExecutor::new(), TokioIo::new(io))
        .await
        .expect("HTTP/2");
    tokio::spawn(connection);
    sender
}

async fn create(sender: &mut Sender, address: SocketAddr) -> Response<Incoming> {
    let request = Request::builder()
        .method(Method::POST)
        .uri(format!("http://{address}/v1/responses"))
        .version(Version::HTTP_2)
        .body(Full::from("{}"))
        .expect("a request");
    soon(sender.send_request(request)).await.expect("an answer")
}

fn torn() -> Vec<u8> {
    [&opening("resp_1")[..], &opening("resp_1"), &delta(9, "x")].concat()
}

#[tokio::test(flavor = "multi_thread")]
async fn many_streams_share_a_connection() {
    let upstream = Fake::streaming(torn()).await;
    let proxy = Proxy::before(&[upstream.address]).await;
    let stream = TcpStream::connect(proxy.address).await.expect("it listens");
    let mut sender = over(stream).await;
    let mut answers = Vec::new();
    for _ in 0..20 {
        answers.push(create(&mut sender, proxy.address).await);
    }
    for answer in answers {
        assert_eq!(answer.version(), Version::HTTP_2);
        assert!(!answer.headers().contains_key("transfer-encoding"));
        let body = soon(answer.into_body().collect()).await.expect("all of it");
        assert_eq!(body.to_bytes(), rewritten(&torn()));
    }
    let came = upstream.requests().pop().expect("a request");
    assert!(came.is_for("POST /v1/responses"));
    assert_eq!(
        (came.header("content-length"), &came.body[..]),
        (Some("2"), &b"{}"[..])
    );
    let via = came.header("via").expect("a header");
    assert!(via.starts_with("2 vllm-stable-ids-"), "{via}");
    let authority = proxy.address.to_string();
    assert_eq!(came.header("x-forwarded-host"), Some(authority.as_str()));
}

#[tokio::test(flavor = "multi_thread")]
async fn one_stream_fails_alone() {
    let gone = Arc::new(Notify::new());
    let tell = Arc::clone(&gone);
    let upstream = Fake::new(move |request, mut wire: Wire| {
        let gone = Arc::clone(&tell);
        async move {
            wire.begin().await;
            wire.chunk(opening("resp_1")).await;
            if request.is_for("POST /v1/responses") {
                return None;
            }
            wire.closed().await;
            gone.notify_one();
            None
        }
    })
    .await;
    let proxy = Proxy::before(&[upstream.address]).await;
    let stream = TcpStream::connect(proxy.address).await.expect("it listens");
    let mut sender = over(stream).await;
    let replay = Request::get(format!("http://{}/v1/responses/resp_1", proxy.address))
        .body(Full::default())
        .expect("a request");
    let mut silent = soon(sender.send_request(replay)).await.expect("an answer");
    soon(silent.body_mut().frame())
        .await
        .expect("a frame")
        .expect("bytes");
    let failing = create(&mut sender, proxy.address).await;
    let error = soon(failing.into_body().collect())
        .await
        .expect_err("no clean end");
    assert!(
        !error.is_incomplete_message(),
        "the stream was reset, not the connection: {error}"
    );
    // The other one lives until its client resets it, and then its upstream learns of it.
    drop(silent);
    soon(gone.notified()).await;
    create(&mut sender, proxy.address).await;
}

struct Authority {
    ca: CertifiedIssuer<'static, KeyPair>,
    chain: String,
    key: String,
}

impl Authority {
    fn new() -> Self {
        let mut params = CertificateParams::new(Vec::new()).expect("names");
        params.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
        let ca = CertifiedIssuer::self_signed(params, KeyPair::generate().expect("a key"))
            .expect("an authority");
        let key = KeyPair::generate().expect("a key");
        let names = vec!["localhost".to_owned(), "127.0.0.1".to_owned()];
        let leaf = CertificateParams::new(names)
            .expect("names")
            .signed_by(&key, &ca)
            .expect("a certificate");
        Self {
            chain: leaf.pem(),
            key: key.serialize_pem(),
            ca,
        }
    }

    fn server(&self) -> Arc<rustls::ServerConfig> {
        tls::for_clients(self.chain.as_bytes(), self.key.as_bytes()).expect("they fit")
    }

    fn client(&self) -> rustls::ClientConfig {
        tls::for_upstreams(Some(self.ca.pem().as_bytes())).expect("an authority")
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_with_tls_chooses_its_http() {
    let authority = Authority::new();
    let upstream = Fake::streaming(torn()).await;
    let proxy = Proxy::with(Config {
        tls: Some(authority.server()),
        ..config(&[upstream.address])
    })
    .await;
    let name = ServerName::try_from("localhost").expect("a name");
    for protocol in ["h2", "http/1.1"] {
        let mut client = authority.client();
        client.alpn_protocols = vec![protocol.into()];
        let stream = TcpStream::connect(proxy.address).await.expect("it listens");
        let connector = TlsConnector::from(Arc::new(client));
        let mut stream = connector.connect(name.clone(), stream).await.expect("TLS");
        assert_eq!(
            stream.get_ref().1.alpn_protocol(),
            Some(protocol.as_bytes())
        );
        if protocol == "h2" {
            let answer = create(&mut over(stream).await, proxy.address).await;
            let body = soon(answer.into_body().collect()).await.expect("all of it");
            assert_eq!(body.to_bytes(), rewritten(&torn()));
            continue;
        }
        let request = crate::client::create("connection: close\r\n");
        stream.write_all(request.as_bytes()).await.expect("sent");
        let mut read = Vec::new();
        soon(stream.read_to_end(&mut read))
            .await
            .expect("all of it");
        let sent = rewritten(&torn());
        assert!(crate::fake::find(&read, &sent).is_some());
    }
    let came = upstream.requests().pop().expect("a request");
    assert_eq!(came.header("x-forwarded-proto"), Some("https"));
}

/// An upstream with TLS that answers every connection once.
async fn with_tls(server: Arc<rustls::ServerConfig>) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    let acceptor = TlsAcceptor::from(server);
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let Ok(mut stream) = acceptor.accept(stream).await else {
                continue;
            };
            let mut bytes = [0; 1024];
            let _ = stream.read(&mut bytes).await;
            let answer = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\nhi";
            let _ = stream.write_all(answer.as_bytes()).await;
            let _ = stream.shutdown().await;
        }
    });
    address
}

#[tokio::test(flavor = "multi_thread")]
async fn an_upstream_with_tls_is_verified() {
    let (authority, other) = (Authority::new(), Authority::new());
    let address = with_tls(authority.server()).await;
    for (client, status) in [
        (Some(authority.client()), StatusCode::OK),
        (Some(other.client()), StatusCode::BAD_GATEWAY),
        (None, StatusCode::BAD_GATEWAY),
    ] {
        let url = format!("https://localhost:{}", address.port());
        let proxy = Proxy::with(Config {
            upstreams: vec![url.parse().expect("a URL")],
            upstream_tls: client,
            ..config(&[])
        })
        .await;
        let answer = get(proxy.address, "/v1/models").await;
        assert_eq!(answer.status(), status.as_str());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_upstream_may_show_the_authority_that_is_trusted() {
    // As `openssl req -x509` makes it: CA:TRUE, and signed by itself.
    let make = |name: &str| {
        let mut params = CertificateParams::new(vec![name.to_owned()]).expect("names");
        params.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
        let key = KeyPair::generate().expect("a key");
        let made = params.self_signed(&key).expect("a certificate");
        (made.pem(), key.serialize_pem())
    };
    let (own, elsewhere, other) = (make("localhost"), make("elsewhere"), make("localhost"));
    for (shown, named, status) in [
        (&own, &own, "200"),
        (&elsewhere, &elsewhere, "502"),
        (&own, &other, "502"),
    ] {
        let server = tls::for_clients(shown.0.as_bytes(), shown.1.as_bytes()).expect("they fit");
        let address = with_tls(server).await;
        let url = format!("https://localhost:{}", address.port());
        let proxy = Proxy::with(Config {
            upstreams: vec![url.parse().expect("a URL")],
            upstream_tls: Some(tls::for_upstreams(Some(named.0.as_bytes())).expect("it is read")),
            ..config(&[])
        })
        .await;
        assert_eq!(get(proxy.address, "/v1/models").await.status(), status);
    }
}
