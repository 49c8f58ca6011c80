//! The wire's rules: one request is one request on both sides, or it is refused.

use crate::bed::{Proxy, soon};
use crate::client::{Client, ask, create, get};
use crate::fake::Fake;

/// An upstream that answers with what it was asked.
async fn echo() -> Fake {
    Fake::new(|request, mut wire| async move {
        wire.answer("200 OK", "", &request.body).await;
        Some(wire)
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn no_second_request_is_smuggled_in() {
    for (name, request) in [
        (
            "a length and chunks",
            "POST /a HTTP/1.1\r\nhost: x\r\ncontent-length: 4\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\nGET /smuggled HTTP/1.1\r\nhost: x\r\n\r\n",
        ),
        (
            "chunks and a length",
            "POST /a HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\ncontent-length: 51\r\n\r\n0\r\n\r\nGET /smuggled HTTP/1.1\r\nhost: x\r\n\r\n",
        ),
        (
            "two lengths",
            "POST /a HTTP/1.1\r\nhost: x\r\ncontent-length: 0\r\ncontent-length: 44\r\n\r\nGET /smuggled HTTP/1.1\r\nhost: x\r\nx: 1\r\n\r\n",
        ),
        (
            "a list of lengths",
            "POST /a HTTP/1.1\r\nhost: x\r\ncontent-length: 0, 44\r\n\r\nGET /smuggled HTTP/1.1\r\nhost: x\r\nx: 1\r\n\r\n",
        ),
        (
            "a signed length",
            "POST /a HTTP/1.1\r\nhost: x\r\ncontent-length: +3\r\n\r\nabcGET /smuggled HTTP/1.1\r\nhost: x\r\n\r\n",
        ),
        (
            "a folded header",
            "POST /a HTTP/1.1\r\nhost: x\r\nx: 1\r\n content-length: 40\r\n\r\nGET /smuggled HTTP/1.1\r\nhost: x\r\n\r\n",
        ),
        (
            "white space before a colon",
            "POST /a HTTP/1.1\r\nhost: x\r\ntransfer-encoding : chunked\r\ncontent-length: 5\r\n\r\n0\r\n\r\nGET /smuggled HTTP/1.1\r\nhost: x\r\n\r\n",
        ),
        (
            "an encoding that is not the last",
            "POST /a HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked, identity\r\n\r\n0\r\n\r\nGET /smuggled HTTP/1.1\r\nhost: x\r\n\r\n",
        ),
        (
            "an encoding with a tab",
            "POST /a HTTP/1.1\r\nhost: x\r\ntransfer-encoding: \x0bchunked\r\ncontent-length: 5\r\n\r\n0\r\n\r\nGET /smuggled HTTP/1.1\r\nhost: x\r\n\r\n",
        ),
        (
            "a chunk that is too long for a number",
            "POST /a HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n10000000000000000\r\nGET /smuggled HTTP/1.1\r\nhost: x\r\n\r\n",
        ),
    ] {
        let upstream = echo().await;
        let proxy = Proxy::before(&[upstream.address]).await;
        let mut client = Client::new(proxy.address).await;
        client.send(request).await;
        let head = client.head().await;
        let taken = head.starts_with("HTTP/1.1 200 ");
        assert!(taken || head.starts_with("HTTP/1.1 400 "), "{name}: {head}");
        for came in upstream.requests() {
            // The second is one of its own where the first was understood, and else is none.
            assert!(taken || came.is_for("POST /a"), "{name}: {came:?}");
            // Whatever comes, comes with one length: the fake checks that, too.
            let lengths = came.head.matches("content-length").count();
            let chunks = came.head.matches("transfer-encoding").count();
            assert!(lengths + chunks <= 1, "{name}: {came:?}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn chunks_rule_over_a_length() {
    let upstream = echo().await;
    let proxy = Proxy::before(&[upstream.address]).await;
    let mut client = Client::new(proxy.address).await;
    client.send("POST /a HTTP/1.1\r\nhost: x\r\ncontent-length: 60\r\ntransfer-encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n").await;
    assert_eq!(client.answer().await.expect("an answer").status(), "200");
    assert_eq!(upstream.request().await.body, b"2\r\nhi\r\n0\r\n\r\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn lines_that_end_in_lf_alone_are_written_anew() {
    let upstream = echo().await;
    let proxy = Proxy::before(&[upstream.address]).await;
    let mut client = Client::new(proxy.address).await;
    client
        .send("POST /a HTTP/1.1\nhost: x\nx-one: 1\ncontent-length: 2\n\nhi")
        .await;
    let head = client.head().await;
    if head.starts_with("HTTP/1.1 200 ") {
        let came = upstream.request().await;
        assert_eq!(
            came.head.matches('\n').count(),
            came.head.matches("\r\n").count()
        );
        assert_eq!(
            (came.header("x-one"), &came.body[..]),
            (Some("1"), &b"hi"[..])
        );
    } else {
        assert!(head.starts_with("HTTP/1.1 400 "), "{head}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn improper_requests_are_refused() {
    let upstream = echo().await;
    let proxy = Proxy::before(&[upstream.address]).await;
    for request in [
        "GET /a HTTP/1.1\r\n\r\n",
        "GET /a HTTP/1.1\r\nhost: x\r\nhost: y\r\n\r\n",
        "CONNECT there:443 HTTP/1.1\r\nhost: there:443\r\n\r\n",
        "OPTIONS * HTTP/1.1\r\nhost: x\r\n\r\n",
        "GET /a HTTP/1.1\r\nhost: x\r\nx\x01y: 1\r\n\r\n",
        "nonsense\r\n\r\n",
    ] {
        let answer = ask(proxy.address, request).await;
        assert_eq!(answer.status(), "400", "{request}");
    }
    assert!(upstream.requests().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_whole_url_is_asked_of_the_upstream_all_the_same() {
    let upstream = echo().await;
    let proxy = Proxy::before(&[upstream.address]).await;
    let request = "GET http://elsewhere.invalid/v1/models HTTP/1.1\r\nhost: x\r\n\r\n";
    assert_eq!(ask(proxy.address, request).await.status(), "200");
    let came = upstream.request().await;
    assert!(came.is_for("GET /v1/models"));
    assert_eq!(came.header("x-forwarded-host"), Some("elsewhere.invalid"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_expects_100_gets_it() {
    let upstream = echo().await;
    let proxy = Proxy::before(&[upstream.address]).await;
    let mut client = Client::new(proxy.address).await;
    client.send("POST /v1/responses HTTP/1.1\r\nhost: x\r\nexpect: 100-continue\r\ncontent-length: 2\r\n\r\n").await;
    assert_eq!(soon(client.head()).await, "HTTP/1.1 100 Continue\r\n\r\n");
    client.send("{}").await;
    assert_eq!(client.answer().await.expect("an answer").body, b"{}");
    assert_eq!(upstream.request().await.header("expect"), None);
}

#[tokio::test(flavor = "multi_thread")]
async fn chunks_of_upstream_that_make_no_sense_end_the_stream() {
    for torn in [
        "zz\r\n",
        "5\r\nabc",
        "ffffffffffffffffff\r\n",
        "3\r\nabcdef\r\n",
        "-1\r\n",
    ] {
        let upstream = Fake::new(move |_, mut wire| async move {
            wire.begin().await;
            wire.chunk(crate::bed::opening("resp_1")).await;
            wire.send(torn).await;
            None
        })
        .await;
        let proxy = Proxy::before(&[upstream.address]).await;
        let mut client = Client::new(proxy.address).await;
        client.send(create("")).await;
        client.head().await;
        let cut = client.chunks().await.expect_err("the end of the stream");
        assert!(
            cut.0.starts_with(&crate::bed::opening("resp_1")),
            "{torn}: {cut:?}"
        );
        assert!(client.rest().await.is_empty());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_is_no_http_is_a_502() {
    let upstream = Fake::new(|_, mut wire| async move {
        wire.send("HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nab")
            .await;
        None
    })
    .await;
    let proxy = Proxy::before(&[upstream.address]).await;
    assert_eq!(get(proxy.address, "/v1/models").await.status(), "502");
}
