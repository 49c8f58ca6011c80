//! Answers whose heads say one thing and mean another: they arrive as one thing, or not at all.

use crate::bed::Proxy;
use crate::client::{Client, get};
use crate::fake::{Fake, header};

/// An upstream that sends these bytes, and closes.
async fn sends(bytes: &'static str) -> Fake {
    Fake::new(move |_, mut wire| async move {
        wire.send(bytes).await;
        None
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn the_length_of_an_answer_is_one() {
    for (name, sent, body) in [
        (
            "two equal",
            "content-length: 5\r\ncontent-length: 5\r\n\r\nhello",
            "hello",
        ),
        (
            "a list of equal ones",
            "content-length: 5, 5\r\n\r\nhello",
            "hello",
        ),
        (
            "shorter than its chunks",
            "content-length: 3\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
            "hello",
        ),
        (
            "longer than its chunks",
            "transfer-encoding: chunked\r\ncontent-length: 9\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
            "hello",
        ),
        (
            "none that makes sense, but chunks",
            "transfer-encoding: chunked\r\ncontent-length: x\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
            "hello",
        ),
    ] {
        let text = format!("HTTP/1.1 200 OK\r\n{sent}").leak();
        let upstream = sends(text).await;
        let proxy = Proxy::before(&[upstream.address]).await;
        let mut client = Client::new(proxy.address).await;
        client
            .send("GET /a HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n")
            .await;
        let answer = client.answer().await.expect("a whole answer");
        assert_eq!(answer.status(), "200", "{name}");
        assert_eq!(answer.body, body.as_bytes(), "{name}");
        let framed = ["content-length", "transfer-encoding"]
            .map(|name| answer.head.to_lowercase().matches(name).count());
        assert_eq!(framed.iter().sum::<usize>(), 1, "{name}: {}", answer.head);
        assert!(!answer.head.contains("5, 5"), "{name}: {}", answer.head);
        assert!(client.rest().await.is_empty(), "{name}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_cannot_be_framed_is_a_502() {
    for sent in [
        "transfer-encoding: gzip, chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
        "transfer-encoding: gzip\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
        "transfer-encoding: chunked, chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
        "transfer-encoding: gzip\r\n\r\nhello",
        "transfer-encoding: identity\r\ncontent-length: 3\r\n\r\nhello",
        "content-length: 5\r\ncontent-length: 6\r\n\r\nhello",
        "content-length: 5, 6\r\n\r\nhello",
        "content-length: +5\r\n\r\nhello",
    ] {
        let upstream = sends(format!("HTTP/1.1 200 OK\r\n{sent}").leak()).await;
        let proxy = Proxy::before(&[upstream.address]).await;
        assert_eq!(get(proxy.address, "/a").await.status(), "502", "{sent}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_in_another_coding_does_not_arrive_without_its_label() {
    let upstream = Fake::new(|_, mut wire| async move {
        wire.answer("200 OK", "", "").await;
        Some(wire)
    })
    .await;
    let proxy = Proxy::before(&[upstream.address]).await;
    let request = "POST /v1/responses HTTP/1.1\r\nhost: x\r\ntransfer-encoding: gzip, chunked\r\n\r\n\
                   5\r\nhello\r\n0\r\n\r\n";
    let answer = crate::client::ask(proxy.address, request).await;
    assert_eq!(answer.status(), "501");
    assert_eq!(header(&answer.head, "connection"), Some("close"));
    assert!(upstream.requests().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn no_location_becomes_one_elsewhere() {
    for (path, want) in [
        ("/v1/models", Some("/v1/models")),
        ("/\\evil.example/", None),
        ("/\t/evil.example/", None),
        ("//evil.example/", None),
        ("\\evil.example/", None),
        ("@evil.example/", None),
    ] {
        for name in ["location", "content-location"] {
            let upstream = Fake::new(move |request, mut wire| async move {
                let host = request.header("host").expect("a host");
                let line = format!("{name}: http://{host}{path}\r\n");
                wire.answer("307 Temporary Redirect", &line, "").await;
                Some(wire)
            })
            .await;
            let proxy = Proxy::before(&[upstream.address]).await;
            let answer = get(proxy.address, "/a").await;
            let there = format!("http://{}{path}", upstream.address);
            let want = want.unwrap_or(&there);
            assert_eq!(header(&answer.head, name), Some(want), "{path:?}");
        }
    }
}
