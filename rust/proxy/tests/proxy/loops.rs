//! Requests that go in circles, and chains of proxies that are none.

use std::net::SocketAddr;

use tokio::net::{TcpListener, TcpStream};

use crate::bed::Proxy;
use crate::client::{Client, get};
use crate::fake::Fake;

/// Passes on every connection to `to`, as a port of a container or a balancer does.
fn relay(listener: TcpListener, to: SocketAddr) {
    tokio::spawn(async move {
        while let Ok((mut here, _)) = listener.accept().await {
            tokio::spawn(async move {
                let mut there = TcpStream::connect(to).await.expect("it listens");
                let _ = tokio::io::copy_bidirectional(&mut here, &mut there).await;
            });
        }
    });
}

async fn relays() -> (TcpListener, SocketAddr) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    (listener, address)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_that_comes_back_is_stopped() {
    let (listener, address) = relays().await;
    let proxy = Proxy::before(&[address]).await;
    relay(listener, proxy.address);
    let answer = get(proxy.address, "/v1/models").await;
    assert_eq!(answer.status(), "508");
    assert!(answer.body.starts_with(b"{\"error\":{"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_that_comes_back_through_others_is_stopped() {
    let (listener, address) = relays().await;
    let first = Proxy::before(&[address]).await;
    let second = Proxy::before(&[first.address]).await;
    let third = Proxy::before(&[second.address]).await;
    relay(listener, third.address);
    for proxy in [&first, &second, &third] {
        let mut client = Client::new(proxy.address).await;
        client
            .send("GET /v1/models HTTP/1.1\r\nhost: x\r\nvia: 1.0 fred, 1.1 nginx\r\n\r\n")
            .await;
        assert_eq!(client.answer().await.expect("an answer").status(), "508");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_chain_of_proxies_is_no_circle() {
    let upstream = Fake::new(|_, mut wire| async move {
        wire.answer("200 OK", "", "").await;
        Some(wire)
    })
    .await;
    let mut address = upstream.address;
    let mut chain = Vec::new();
    for _ in 0..5 {
        chain.push(Proxy::before(&[address]).await);
        address = chain.last().expect("one").address;
    }
    assert_eq!(get(address, "/v1/models").await.status(), "200");
    let came = upstream.request().await;
    let via = came.header("via").expect("a header").to_owned();
    let mut names: Vec<_> = via.split(", ").collect();
    assert!(
        names
            .iter()
            .all(|name| name.starts_with("1.1 vllm-stable-ids-")),
        "{via}"
    );
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), 5, "{via}");
}
