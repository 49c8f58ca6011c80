//! Large frames, and many streams.

use std::time::Duration;

use crate::bed::{Proxy, delta, opening, rewritten};
use crate::client::{Client, ask, create};
use crate::fake::Fake;

/// An upstream that sends `opening`, then one delta of so many bytes, in pieces.
async fn large(bytes: usize) -> (Fake, Vec<u8>) {
    let frame = delta(2, &"x".repeat(bytes));
    let all = [opening("resp_1"), frame, delta(2, "after")].concat();
    let stream = all.clone();
    let upstream = Fake::new(move |_, mut wire| {
        let stream = stream.clone();
        async move {
            wire.begin().await;
            for piece in stream.chunks(100_000) {
                wire.chunk(piece).await;
            }
            wire.end().await;
            Some(wire)
        }
    })
    .await;
    (upstream, all)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_frame_of_nearly_64_mib_is_rewritten() {
    let (upstream, all) = large((64 << 20) - 1000).await;
    let proxy = Proxy::before(&[upstream.address]).await;
    let answer = ask(proxy.address, create("")).await;
    let want = rewritten(&all);
    assert_ne!(want.len(), 0);
    assert!(
        answer.body == want,
        "{} bytes came of {}",
        answer.body.len(),
        want.len()
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_frame_beyond_64_mib_passes_and_is_counted() {
    let (upstream, all) = large(65 << 20).await;
    let proxy = Proxy::before(&[upstream.address]).await;
    let answer = ask(proxy.address, create("")).await;
    assert!(
        answer.body == all,
        "{} bytes came of {}",
        answer.body.len(),
        all.len()
    );
    let counted = "stable_ids_streams_gave_up_total{reason=\"frame_too_long\"} 1\n";
    crate::bed::until(|| async {
        let page = crate::client::get(proxy.admin, "/metrics").await.body;
        String::from_utf8(page).expect("text").contains(counted)
    })
    .await;
}

/// Prints what an idle stream costs: memory of this process with the proxy in it, less what the
/// test's own two ends of each stream take without it.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "measures"]
async fn two_thousand_idle_streams() {
    const STREAMS: usize = 2000;
    let upstream = Fake::new(|_, mut wire| async move {
        wire.begin().await;
        wire.chunk(opening("resp_1")).await;
        wire.chunk(delta(2, "one")).await;
        wire.closed().await;
        None
    })
    .await;
    let proxy = Proxy::before(&[upstream.address]).await;
    let mut used = [0; 2];
    for (used, address) in used.iter_mut().zip([upstream.address, proxy.address]) {
        let before = resident();
        let mut open = Vec::new();
        for _ in 0..STREAMS {
            let mut client = Client::new(address).await;
            client.send(create("")).await;
            client.head().await;
            client.chunk().await.expect("a chunk");
            open.push(client);
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
        *used = resident().saturating_sub(before) / STREAMS;
    }
    let [direct, through] = used;
    println!("bytes a stream: {through} with the proxy, {direct} without");
    assert!(through < direct + (64 << 10));
}

fn resident() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").expect("it is Linux");
    let line = status
        .lines()
        .find(|line| line.starts_with("VmRSS:"))
        .expect("a size");
    let kib: usize = line
        .split_whitespace()
        .nth(1)
        .expect("a number")
        .parse()
        .expect("a number");
    kib << 10
}
