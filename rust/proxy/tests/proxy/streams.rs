//! Event streams are what the core makes of them; how they come makes no difference.

use std::net::SocketAddr;
use std::path::Path;

use stable_ids_proxy::server::Config;

use crate::bed::{Proxy, config, delta, opening, rewritten, soon};
use crate::client::{Answer, Client, ask, create};
use crate::fake::{Fake, header};

fn corpus() -> Vec<(String, Vec<u8>, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../sse_rewrite/tests/streams");
    let files = folder.read_dir().expect("the corpus");
    let streams = files.filter_map(|file| {
        let path = file.expect("a file").path();
        let stream = path.extension().is_some_and(|extension| extension == "sse");
        stream.then(|| {
            let read = |extension| std::fs::read(path.with_extension(extension)).expect("a file");
            (path.display().to_string(), read("sse"), read("expected"))
        })
    });
    streams.collect()
}

fn is_stream(answer: &Answer) {
    assert_eq!(answer.status(), "200");
    assert_eq!(header(&answer.head, "transfer-encoding"), Some("chunked"));
    assert_eq!(header(&answer.head, "content-length"), None);
    assert_eq!(
        header(&answer.head, "content-type"),
        Some("text/event-stream; charset=utf-8")
    );
}

/// A proxy that does what the corpus is about, and no more.
fn keeping_vocabulary(upstream: SocketAddr) -> Config {
    Config {
        openai_vocabulary: false,
        ..config(&[upstream])
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn parts_of_reasoning_have_the_names_of_the_api() {
    let mut renamed = 0;
    for (name, stream, expected) in corpus() {
        let upstream = Fake::streaming(stream.clone()).await;
        let proxy = Proxy::before(&[upstream.address]).await;
        let body = ask(proxy.address, create("")).await.body;
        assert_eq!(body, rewritten(&stream), "{name}");
        renamed += usize::from(body != expected);
    }
    assert!(renamed > 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn each_of_the_corpus_is_rewritten() {
    let corpus = corpus();
    assert!(corpus.len() >= 11);
    let mut changed = 0;
    for (name, stream, expected) in corpus {
        let upstream = Fake::streaming(stream.clone()).await;
        let proxy = Proxy::with(keeping_vocabulary(upstream.address)).await;
        let created = ask(proxy.address, create("")).await;
        is_stream(&created);
        assert_eq!(created.body, expected, "{name}");
        let replay = "GET /v1/responses/resp_1?stream=true HTTP/1.1\r\nhost: proxy\r\n\r\n";
        assert_eq!(ask(proxy.address, replay).await.body, expected, "{name}");
        changed += usize::from(stream != expected);
    }
    assert!(changed >= 5);
}

#[tokio::test(flavor = "multi_thread")]
async fn one_byte_at_a_time() {
    for (name, stream, expected) in corpus() {
        let upstream = Fake::new(move |_, mut wire| {
            let stream = stream.clone();
            async move {
                wire.begin().await;
                for byte in &stream {
                    wire.chunk([*byte]).await;
                }
                wire.end().await;
                Some(wire)
            }
        })
        .await;
        let proxy = Proxy::with(keeping_vocabulary(upstream.address)).await;
        assert_eq!(
            ask(proxy.address, create("")).await.body,
            expected,
            "{name}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn ten_thousand_small_chunks() {
    let upstream = Fake::new(|_, mut wire| async move {
        wire.begin().await;
        wire.chunk(opening("resp_1")).await;
        for number in 2..10_002 {
            wire.chunk(delta(number, "word ")).await;
        }
        wire.end().await;
        Some(wire)
    })
    .await;
    let proxy = Proxy::before(&[upstream.address]).await;
    let answer = ask(proxy.address, create("")).await;
    let mut want = opening("resp_1");
    (2..10_002).for_each(|number| want.extend(delta(number, "word ")));
    assert!(answer.body == rewritten(&want), "not what was sent");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_frame_leaves_when_it_has_come() {
    let upstream = Fake::new(|_, mut wire| async move {
        wire.begin().await;
        wire.chunk(opening("resp_1")).await;
        wire.chunk(&delta(2, "half")[..40]).await;
        wire.closed().await;
        None
    })
    .await;
    let proxy = Proxy::before(&[upstream.address]).await;
    let mut client = Client::new(proxy.address).await;
    client.send(create("")).await;
    client.head().await;
    let mut came = Vec::new();
    while came.len() < opening("resp_1").len() {
        came.extend(client.chunk().await.expect("a chunk"));
    }
    assert_eq!(came, opening("resp_1"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_length_is_dropped_from_a_stream() {
    let (_, stream, expected) = corpus()
        .into_iter()
        .find(|(_, a, b)| a.len() != b.len())
        .expect("one");
    let upstream = Fake::new(move |_, mut wire| {
        let stream = stream.clone();
        async move {
            let headers =
                "content-type: text/event-stream; charset=utf-8\r\netag: \"1\"\r\nx-kept: 1\r\n";
            wire.answer("200 OK", headers, &stream).await;
            Some(wire)
        }
    })
    .await;
    let proxy = Proxy::before(&[upstream.address]).await;
    let answer = ask(proxy.address, create("")).await;
    is_stream(&answer);
    assert_eq!(header(&answer.head, "etag"), None);
    assert_eq!(header(&answer.head, "x-kept"), Some("1"));
    assert_eq!(answer.body, expected);
}

#[tokio::test(flavor = "multi_thread")]
async fn no_compressed_stream_is_asked_for_or_rewritten() {
    let compressed = b"\x1f\x8b\x08\x00 no words\n\n".to_vec();
    let sent = compressed.clone();
    let upstream = Fake::new(move |_, mut wire| {
        let sent = sent.clone();
        async move {
            let headers = "content-type: text/event-stream\r\ncontent-encoding: gzip\r\n";
            wire.answer("200 OK", headers, &sent).await;
            Some(wire)
        }
    })
    .await;
    let proxy = Proxy::before(&[upstream.address]).await;
    let answer = ask(proxy.address, create("accept-encoding: gzip, br\r\n")).await;
    let request = upstream.request().await;
    assert_eq!(request.header("accept-encoding"), Some("identity"));
    assert_eq!(header(&answer.head, "content-encoding"), Some("gzip"));
    assert_eq!(answer.body, compressed);
}

#[tokio::test(flavor = "multi_thread")]
async fn trailers_follow_a_stream() {
    let upstream = Fake::new(|_, mut wire| async move {
        wire.send("HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntrailer: x-sum\r\ntransfer-encoding: chunked\r\n\r\n").await;
        wire.chunk(opening("resp_1")).await;
        wire.send("0\r\nx-sum: 7\r\n\r\n").await;
        Some(wire)
    })
    .await;
    let proxy = Proxy::before(&[upstream.address]).await;
    let mut client = Client::new(proxy.address).await;
    client
        .send(create("te: trailers\r\nconnection: te\r\n"))
        .await;
    let head = client.head().await;
    assert_eq!(header(&head, "trailer"), Some("x-sum"));
    assert_eq!(client.chunks().await.expect("all"), opening("resp_1"));
    assert_eq!(soon(client.trailers()).await, "0\r\nx-sum: 7\r\n\r\n");
    assert_eq!(upstream.request().await.header("te"), Some("trailers"));
}
