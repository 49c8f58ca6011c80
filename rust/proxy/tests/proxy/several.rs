//! Several upstreams.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use stable_ids_proxy::server::Config;

use crate::bed::{Proxy, config, delta, opening, until};
use crate::client::{ask, create, get};
use crate::fake::Fake;

/// An upstream that calls its responses after itself.
async fn named(name: &'static str) -> Fake {
    Fake::new(move |request, mut wire| async move {
        if request.is_for("POST /v1/responses") && request.body.starts_with(b"{\"stream\"") {
            wire.begin().await;
            wire.chunk(opening(&format!("resp_{name}"))).await;
            wire.chunk(delta(2, "x")).await;
            wire.end().await;
        } else if request.is_for("POST /v1/responses") {
            let body = format!("{{\"id\":\"resp_plain_{name}\",\"output\":[]}}");
            wire.answer("200 OK", "content-type: application/json\r\n", body)
                .await;
        } else {
            wire.answer("200 OK", "", name).await;
        }
        Some(wire)
    })
    .await
}

/// An address where nobody listens.
async fn nobody() -> SocketAddr {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await;
    listener.expect("a port").local_addr().expect("an address")
}

fn post(body: &str) -> String {
    format!(
        "POST /v1/responses HTTP/1.1\r\nhost: x\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn all_of_them_are_asked() {
    let (a, b) = (named("a").await, named("b").await);
    let proxy = Proxy::before(&[a.address, b.address]).await;
    for _ in 0..64 {
        get(proxy.address, "/v1/models").await;
    }
    assert!(a.requests().len() >= 8, "{}", a.requests().len());
    assert!(b.requests().len() >= 8, "{}", b.requests().len());
}

#[tokio::test(flavor = "multi_thread")]
async fn the_less_busy_one_is_asked() {
    let busy = Fake::new(|request, mut wire| async move {
        if request.is_for("GET /v1/models") {
            wire.answer("200 OK", "", "").await;
            return Some(wire);
        }
        wire.closed().await;
        None
    });
    let (busy, free) = (busy.await, named("free").await);
    let proxy = Proxy::before(&[busy.address, free.address]).await;
    // Streams that do not end pile up on one of them.
    let mut open = Vec::new();
    while busy.requests().is_empty() {
        let mut client = crate::client::Client::new(proxy.address).await;
        client.send(create("")).await;
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        open.push(client);
    }
    let before = busy.requests().len();
    for _ in 0..32 {
        get(proxy.address, "/v1/models").await;
    }
    assert_eq!(busy.requests().len(), before);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dead_one_costs_no_request() {
    let alive = named("alive").await;
    let proxy = Proxy::before(&[nobody().await, alive.address]).await;
    for _ in 0..32 {
        let answer = ask(proxy.address, post("{\"input\":\"kept whole\"}")).await;
        assert_eq!(answer.status(), "200");
    }
    for came in alive.requests() {
        assert_eq!(came.body, b"{\"input\":\"kept whole\"}");
    }
    until(|| async {
        let page = get(proxy.admin, "/metrics").await.body;
        String::from_utf8(page).expect("text").contains("\"} 0\n")
    })
    .await;
    assert_eq!(get(proxy.admin, "/ready").await.status(), "200");
}

#[tokio::test(flavor = "multi_thread")]
async fn where_all_are_dead_there_is_a_502_and_no_readiness() {
    let proxy = Proxy::before(&[nobody().await, nobody().await]).await;
    assert_eq!(get(proxy.address, "/v1/models").await.status(), "502");
    until(|| async { get(proxy.admin, "/ready").await.status() == "503" }).await;
    assert_eq!(get(proxy.admin, "/health").await.status(), "200");
}

#[tokio::test(flavor = "multi_thread")]
async fn where_all_were_down_one_that_comes_back_is_asked_at_once() {
    for which in [0, 1] {
        let addresses = [nobody().await, nobody().await];
        let proxy = Proxy::with(Config {
            health_interval: Duration::from_secs(3600),
            ..config(&addresses)
        })
        .await;
        for _ in 0..3 {
            assert_eq!(get(proxy.address, "/v1/models").await.status(), "502");
        }
        let listener = tokio::net::TcpListener::bind(addresses[which]).await;
        let back = Fake::at(
            listener.expect("the port is free"),
            |request, mut wire| async move {
                wire.answer("200 OK", "", request.body).await;
                Some(wire)
            },
        );
        for _ in 0..4 {
            let answer = ask(proxy.address, post("{\"input\":\"kept whole\"}")).await;
            assert_eq!(answer.status(), "200");
            assert_eq!(answer.body, b"{\"input\":\"kept whole\"}");
        }
        assert_eq!(back.requests().len(), 4);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_that_was_begun_goes_to_no_other() {
    let taken = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&taken);
    let begins = move |_, _| {
        count.fetch_add(1, Ordering::SeqCst);
        std::future::ready(None)
    };
    let (a, b) = (Fake::new(begins.clone()).await, Fake::new(begins).await);
    let proxy = Proxy::before(&[a.address, b.address]).await;
    for number in 1..=8 {
        let answer = ask(proxy.address, post("{\"input\":[]}")).await;
        assert_eq!(answer.status(), "502");
        assert_eq!(taken.load(Ordering::SeqCst), number);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn one_that_comes_back_is_asked_again() {
    let (alive, late) = (named("alive").await, nobody().await);
    let proxy = Proxy::before(&[alive.address, late]).await;
    let up = async |up: u8| {
        let line = format!("stable_ids_upstream_up{{upstream=\"http://{late}\"}} {up}\n");
        until(|| async {
            let page = get(proxy.admin, "/metrics").await.body;
            String::from_utf8(page).expect("text").contains(&line)
        })
        .await;
    };
    up(0).await;
    let listener = tokio::net::TcpListener::bind(late)
        .await
        .expect("the port is free");
    tokio::spawn(async move {
        use tokio::io::{AsyncReadExt, AsyncWriteExt};
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut bytes = [0; 1024];
            let _ = stream.read(&mut bytes).await;
            let _ = stream
                .write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 4\r\nconnection: close\r\n\r\nlate")
                .await;
        }
    });
    up(1).await;
    until(|| async { get(proxy.address, "/v1/models").await.body == b"late" }).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stored_response_is_asked_of_the_one_that_made_it() {
    let (a, b) = (named("a").await, named("b").await);
    let proxy = Proxy::before(&[a.address, b.address]).await;
    for (request, prefix) in [("{\"stream\":true}", "resp_"), ("{}", "resp_plain_")] {
        let mut made = Vec::new();
        until(|| async { ask(proxy.address, post(request)).await.status() == "200" }).await;
        for _ in 0..32 {
            let answer = ask(proxy.address, post(request)).await;
            let text = String::from_utf8(answer.body).expect("text");
            for name in ["a", "b"] {
                if text.contains(&format!("\"{prefix}{name}\"")) && !made.contains(&name) {
                    made.push(name);
                }
            }
        }
        assert_eq!(made.len(), 2);
        for name in made {
            for _ in 0..8 {
                let path = format!("/v1/responses/{prefix}{name}");
                assert_eq!(get(proxy.address, &path).await.body, name.as_bytes());
                let cancel =
                    format!("POST {path}/cancel HTTP/1.1\r\nhost: x\r\ncontent-length: 0\r\n\r\n");
                assert_eq!(ask(proxy.address, cancel).await.body, name.as_bytes());
                let next = format!("{{\"input\":[],\"previous_response_id\":\"{prefix}{name}\"}}");
                let body = ask(proxy.address, post(&next)).await.body;
                let plain = format!("{{\"id\":\"resp_plain_{name}\",\"output\":[]}}");
                assert_eq!(String::from_utf8(body).expect("text"), plain);
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_too_long_to_be_read_ahead_arrives_whole() {
    let (a, b) = (named("a").await, named("b").await);
    let proxy = Proxy::before(&[a.address, b.address]).await;
    for length in [(1 << 20) - 12, 3 << 20] {
        let body = format!("{{\"input\":\"{}\"}}", "x".repeat(length));
        let chunked = format!(
            "POST /v1/responses HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n{:x}\r\n{body}\r\n0\r\n\r\n",
            body.len()
        );
        for request in [post(&body), chunked] {
            assert_eq!(ask(proxy.address, request).await.status(), "200");
        }
    }
    let came = [a.requests(), b.requests()].concat();
    assert_eq!(came.len(), 4);
    for request in came {
        let text = String::from_utf8(request.body).expect("text");
        let length = text.matches('x').count();
        assert!(length == (1 << 20) - 12 || length == 3 << 20);
    }
}
