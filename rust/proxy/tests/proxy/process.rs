//! The program: its arguments, its log, its end.

use std::net::SocketAddr;
use std::process::{ExitStatus, Output, Stdio};
use std::time::Duration;

use bytes::Bytes;
use http::Request;
use http_body_util::Full;
use hyper::client::conn::http2;
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader};
use tokio::net::TcpStream;
use tokio::process::{Child, ChildStderr, Command};

use crate::bed::{delta, opening, soon};
use crate::client::{Client, ask, create, get};
use crate::fake::Fake;

pub(crate) fn program(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_vllm-stable-ids-proxy"));
    command.args(args).kill_on_drop(true).stdin(Stdio::null());
    command
}

/// A proxy in a process of its own, with its log.
struct Running {
    child: Child,
    log: BufReader<ChildStderr>,
    address: SocketAddr,
}

impl Running {
    async fn before(upstream: SocketAddr, more: &[&str]) -> Self {
        let url = format!("http://{upstream}");
        let args = [
            "--upstream",
            &url,
            "--listen",
            "127.0.0.1:0",
            "--log-format",
            "json",
        ];
        let mut child = program(&[&args, more].concat())
            .stderr(Stdio::piped())
            .spawn()
            .expect("it starts");
        let mut log = BufReader::new(child.stderr.take().expect("a log"));
        let mut line = String::new();
        soon(log.read_line(&mut line)).await.expect("a line");
        let line: serde_json::Value = serde_json::from_str(&line).expect("JSON");
        assert_eq!(line["message"], "listening");
        let address = line["address"].as_str().expect("an address");
        let address = address.parse().expect("an address");
        Self {
            child,
            log,
            address,
        }
    }

    fn signal(&self, name: &str) {
        let id = self.child.id().expect("it runs").to_string();
        let sent = std::process::Command::new("kill")
            .args(["-s", name, &id])
            .status();
        assert!(sent.expect("kill").success());
    }

    async fn end(mut self) -> (ExitStatus, String) {
        let status = soon(self.child.wait()).await.expect("an end");
        let mut log = String::new();
        self.log.read_to_string(&mut log).await.expect("text");
        (status, log)
    }
}

/// An upstream whose stream goes on for a while.
async fn slow() -> Fake {
    Fake::new(|_, mut wire| async move {
        wire.begin().await;
        wire.chunk(opening("resp_secret")).await;
        tokio::time::sleep(Duration::from_secs(1)).await;
        wire.chunk(delta(2, "secret")).await;
        wire.end().await;
        Some(wire)
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn sigterm_lets_open_streams_end() {
    for name in ["TERM", "INT"] {
        let upstream = slow().await;
        let proxy = Running::before(upstream.address, &["--log-level", "info"]).await;
        let mut idle = Client::new(proxy.address).await;
        idle.send("").await;
        let mut client = Client::new(proxy.address).await;
        client.send(create("")).await;
        client.head().await;
        client.chunk().await.expect("a chunk");
        proxy.signal(name);
        soon(async { while TcpStream::connect(proxy.address).await.is_ok() {} }).await;
        let rest = client.chunks().await.expect("a clean end");
        assert!(rest.ends_with(&delta(2, "secret")));
        let (status, log) = proxy.end().await;
        assert_eq!(status.code(), Some(0), "{log}");
        assert!(log.contains("\"message\":\"draining\""), "{log}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn draining_comes_to_an_end() {
    let upstream = Fake::new(|_, mut wire| async move {
        wire.begin().await;
        wire.chunk(opening("resp_1")).await;
        wire.closed().await;
        None
    })
    .await;
    for (drain, signals) in [("1", 1), ("300", 2)] {
        let args = ["--log-level", "info", "--drain", drain];
        let proxy = Running::before(upstream.address, &args).await;
        let mut client = Client::new(proxy.address).await;
        client.send(create("")).await;
        client.head().await;
        for _ in 0..signals {
            proxy.signal("TERM");
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
        client.chunks().await.expect_err("no clean end");
        assert_eq!(proxy.end().await.0.code(), Some(1));
    }
}

/// An upstream that breaks off every answer.
async fn broken() -> Fake {
    Fake::new(|request, mut wire| async move {
        if request.is_for("GET /v1/secret") {
            return None;
        }
        wire.begin().await;
        wire.chunk(opening("resp_secret")).await;
        wire.chunk(delta(2, "secret")).await;
        None
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn the_log_quotes_nothing() {
    let upstream = broken().await;
    let proxy = Running::before(upstream.address, &["--log-level", "debug"]).await;
    let mut client = Client::new(proxy.address).await;
    client
        .send(create("authorization: Bearer secret\r\n"))
        .await;
    client.head().await;
    client.chunks().await.expect_err("no clean end");
    assert_eq!(get(proxy.address, "/v1/secret").await.status(), "502");
    ask(proxy.address, "GET /secret HTTP/1.1\r\nsecret\r\n\r\n").await;
    proxy.signal("TERM");
    let (_, log) = proxy.end().await;
    assert!(
        log.contains("upstream failed in the middle of a stream"),
        "{log}"
    );
    assert!(!log.contains("secret"), "{log}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_log_quotes_nothing_of_http2_either() {
    let upstream = broken().await;
    let proxy = Running::before(upstream.address, &["--log-level", "debug"]).await;
    let stream = TcpStream::connect(proxy.address).await.expect("it listens");
    let (mut sender, connection) = http2::handshake(TokioExecutor::new(), TokioIo::new(stream))
        .await
        .expect("HTTP/2");
    tokio::spawn(connection);
    for path in ["/v1/responses?secret", "/v1/secret"] {
        let request = Request::post(format!("http://secret{path}"))
            .header("authorization", "Bearer secret")
            .header("x-secret", "secret")
            .body(Full::new(Bytes::from("secret")))
            .expect("a request");
        // It may break off before its head comes.
        let _ = soon(sender.send_request(request)).await;
    }
    drop(sender);
    // A frame that makes no sense, and a farewell (GOAWAY) in words of the client's.
    for frame in [
        &b"\0\0\x06\x07secret!secret"[..],
        b"\0\0\x0e\x07\0\0\0\0\0\0\0\0\0\0\0\0\x01secret",
    ] {
        let mut client = Client::new(proxy.address).await;
        let begin = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";
        client.send([begin, frame].concat()).await;
        client.rest().await;
    }
    proxy.signal("TERM");
    let (_, log) = proxy.end().await;
    assert!(log.contains("a connection failed"), "{log}");
    assert!(!log.contains("secret"), "{log}");
}

#[tokio::test(flavor = "multi_thread")]
async fn it_is_quiet_when_all_is_well() {
    let upstream = slow().await;
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    drop(listener);
    let url = format!("http://{}", upstream.address);
    let child = program(&["--upstream", &url, "--listen", &address.to_string()])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    soon(async { while TcpStream::connect(address).await.is_err() {} }).await;
    assert_eq!(ask(address, create("")).await.status(), "200");
    let id = child.id().expect("it runs").to_string();
    std::process::Command::new("kill")
        .arg(&id)
        .status()
        .expect("kill");
    let output = soon(child.wait_with_output()).await.expect("an end");
    assert!(output.status.success());
    assert_eq!(text(&output), "");
}

pub(crate) fn text(output: &Output) -> String {
    let bytes = [&output.stdout[..], &output.stderr].concat();
    String::from_utf8(bytes).expect("text")
}
