//! Either side goes, or is slow: the other side learns of it.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use tokio::io::AsyncWriteExt;
use tokio::sync::Notify;

use crate::bed::{Proxy, delta, opening, soon, until};
use crate::client::{Client, create, get};
use crate::fake::{Fake, Wire};

const AT_ONCE: Duration = Duration::from_secs(1);

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_that_upstream_drops_does_not_end_well() {
    for reset in [false, true] {
        let upstream = Fake::new(move |_, mut wire| async move {
            wire.begin().await;
            wire.chunk(opening("resp_1")).await;
            wire.chunk(&delta(2, "half")[..50]).await;
            tokio::time::sleep(Duration::from_millis(100)).await;
            if reset {
                wire.stream.set_zero_linger().expect("linger");
            }
            None
        })
        .await;
        let proxy = Proxy::before(&[upstream.address]).await;
        let mut client = Client::new(proxy.address).await;
        client.send(create("")).await;
        client.head().await;
        let cut = client.chunks().await.expect_err("no clean end");
        let want = [&opening("resp_1")[..], &delta(2, "half")[..50]].concat();
        assert_eq!(cut.0, want, "reset: {reset}");
        assert!(client.rest().await.is_empty());
        let counted = "stable_ids_streams_total{end=\"upstream_failed\"} 1\n";
        until(|| async {
            let page = get(proxy.admin, "/metrics").await.body;
            String::from_utf8(page).expect("text").contains(counted)
        })
        .await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plain_answer_that_upstream_drops_does_not_end_well() {
    let upstream = Fake::new(|_, mut wire| async move {
        wire.send("HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhalf")
            .await;
        None
    })
    .await;
    let proxy = Proxy::before(&[upstream.address]).await;
    let mut client = Client::new(proxy.address).await;
    client
        .send("GET /v1/models HTTP/1.1\r\nhost: x\r\n\r\n")
        .await;
    client.answer().await.expect_err("half an answer");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_upstream_that_says_nothing_is_a_502() {
    let upstream = Fake::new(|_, wire| async move {
        drop(wire);
        None
    })
    .await;
    let proxy = Proxy::before(&[upstream.address]).await;
    let answer = get(proxy.address, "/v1/models").await;
    assert_eq!(answer.status(), "502");
    assert!(answer.body.starts_with(b"{\"error\":{"));
}

/// An upstream that is silent once it has sent what is asked for, and says how long it took the
/// proxy to leave after the client did.
async fn left(streams: bool, reset: bool) {
    let gone = Arc::new(Notify::new());
    let begun = Arc::new(Notify::new());
    let (tell_begun, tell) = (Arc::clone(&begun), Arc::clone(&gone));
    let upstream = Fake::new(move |_, mut wire: Wire| {
        let (begun, gone) = (Arc::clone(&tell_begun), Arc::clone(&tell));
        async move {
            if streams {
                wire.begin().await;
                wire.chunk(opening("resp_1")).await;
            }
            begun.notify_one();
            wire.closed().await;
            gone.notify_one();
            None
        }
    })
    .await;
    let proxy = Proxy::before(&[upstream.address]).await;
    let mut client = Client::new(proxy.address).await;
    client.send(create("")).await;
    if streams {
        client.head().await;
        client.chunk().await.expect("a chunk");
    }
    soon(begun.notified()).await;
    if reset {
        client.stream.set_zero_linger().expect("linger");
    }
    drop(client);
    let since = Instant::now();
    soon(gone.notified()).await;
    assert!(since.elapsed() < AT_ONCE, "{:?}", since.elapsed());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_leaves_a_silent_stream_ends_it() {
    left(true, false).await;
    left(true, true).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_leaves_before_the_answer_ends_the_request() {
    left(false, false).await;
    left(false, true).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_closes_its_half_has_left() {
    let gone = Arc::new(Notify::new());
    let tell = Arc::clone(&gone);
    let upstream = Fake::new(move |_, mut wire: Wire| {
        let gone = Arc::clone(&tell);
        async move {
            wire.begin().await;
            wire.chunk(opening("resp_1")).await;
            wire.closed().await;
            gone.notify_one();
            None
        }
    })
    .await;
    let proxy = Proxy::before(&[upstream.address]).await;
    let mut client = Client::new(proxy.address).await;
    client.send(create("")).await;
    client.head().await;
    client.stream.shutdown().await.expect("half closed");
    soon(gone.notified()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_slow_client_slows_its_own_upstream_only() {
    let sent = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&sent);
    let upstream = Fake::new(move |request, mut wire: Wire| {
        let sent = Arc::clone(&counter);
        async move {
            wire.begin().await;
            let slow = request.header("x-slow").is_some();
            let text = "x".repeat(60_000);
            for number in 0..if slow { usize::MAX } else { 100 } {
                let frame = delta(number, &text);
                let chunk = [format!("{:x}\r\n", frame.len()).as_bytes(), &frame, b"\r\n"].concat();
                if wire.stream.write_all(&chunk).await.is_err() {
                    return None;
                }
                if slow {
                    sent.fetch_add(frame.len(), Ordering::Relaxed);
                }
            }
            wire.end().await;
            Some(wire)
        }
    })
    .await;
    let proxy = Proxy::before(&[upstream.address]).await;
    let mut slow = Client::new(proxy.address).await;
    slow.send(create("x-slow: 1\r\n")).await;
    slow.head().await;
    // Upstream writes on until the buffers of the sockets and the proxy's are full.
    let mut before = usize::MAX;
    until(|| {
        let now = sent.load(Ordering::Relaxed);
        let settled = now == before;
        before = now;
        async move {
            tokio::time::sleep(Duration::from_millis(300)).await;
            settled
        }
    })
    .await;
    assert!(before < 24 << 20, "{before} bytes were taken from upstream");
    let mut quick = Client::new(proxy.address).await;
    quick.send(create("")).await;
    quick.head().await;
    assert!(quick.chunks().await.expect("all").len() > 6_000_000);
    assert!(sent.load(Ordering::Relaxed) < before + (1 << 20));
    // It goes on when the client does.
    let mut came = 0;
    while came < before + (4 << 20) {
        came += slow.chunk().await.expect("a chunk").len();
    }
}

async fn silent(length: Duration) {
    let upstream = Fake::new(move |_, mut wire| async move {
        wire.begin().await;
        wire.chunk(opening("resp_1")).await;
        let until = Instant::now() + length;
        while Instant::now() < until {
            tokio::time::sleep(Duration::from_secs(15).min(length)).await;
            wire.chunk(": keep-alive\n\n").await;
        }
        wire.chunk(delta(2, "late")).await;
        wire.end().await;
        Some(wire)
    })
    .await;
    let proxy = Proxy::before(&[upstream.address]).await;
    let mut client = Client::new(proxy.address).await;
    client.send(create("")).await;
    client.head().await;
    let mut came = Vec::new();
    while !came.ends_with(&delta(2, "late")) {
        match client.chunk().await {
            Ok(chunk) => came.extend(chunk),
            Err(cut) => panic!("{cut:?}"),
        }
    }
    assert!(client.chunk().await.expect("the end").is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_silent_stream_is_not_cut() {
    silent(Duration::from_secs(8)).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "takes five minutes"]
async fn a_stream_that_is_silent_for_five_minutes_is_not_cut() {
    silent(Duration::from_secs(300)).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "takes 90 seconds, longer than anything waits for by itself"]
async fn a_stream_without_a_byte_for_90_seconds_is_not_cut() {
    let upstream = Fake::new(move |_, mut wire| async move {
        tokio::time::sleep(Duration::from_secs(90)).await;
        wire.answer("200 OK", "", "late").await;
        Some(wire)
    })
    .await;
    let proxy = Proxy::before(&[upstream.address]).await;
    let mut client = tokio::net::TcpStream::connect(proxy.address)
        .await
        .expect("it listens");
    client.write_all(create("").as_bytes()).await.expect("sent");
    let mut read = Vec::new();
    while !read.ends_with(b"late") {
        let more = tokio::io::AsyncReadExt::read_buf(&mut client, &mut read).await;
        assert!(more.expect("bytes") > 0);
    }
}
