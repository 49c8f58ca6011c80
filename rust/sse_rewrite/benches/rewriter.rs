//! What rewriting costs a byte, beside what copying costs.
//!
//! Absolute figures depend on the machine; look at ratios within one run.

use std::hint::black_box;
use std::time::Duration;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use sse_rewrite::{Policy, SseRewriter};

const CHUNK: usize = 64 << 10;
const DELTAS: u64 = 50_000;
const PACKET: usize = 1400;
const LONG: usize = 4_400_000;

fn frame(kind: &str, number: u64, members: &str) -> String {
    format!(
        "event: {kind}\ndata: {{{members},\"sequence_number\":{number},\"type\":\"{kind}\"}}\n\n"
    )
}

fn created() -> String {
    let response = r#""response":{"id":"resp_1","object":"response","output":[]}"#;
    frame("response.created", 0, response)
}

fn announced() -> String {
    let item = r#""item":{"id":"msg_1","content":[],"role":"assistant","status":"in_progress","type":"message"},"output_index":0"#;
    frame("response.output_item.added", 1, item)
}

/// Deltas of 160 bytes, under the announced id or another.
fn deltas(item_id: &str, first: u64) -> String {
    let mut stream = created() + &announced();
    for number in first..first + DELTAS {
        let place = format!(r#""item_id":"{item_id}","output_index":0"#);
        let delta = |text: &str| {
            let members = format!(r#""delta":"{text}",{place}"#);
            frame("response.output_text.delta", number, &members)
        };
        let missing = 160 - delta("").len();
        stream += &delta(&" lorem ipsum dolor sit amet"[..missing]);
    }
    stream
}

/// A stream whose terminal event is as long as the longest that were seen.
fn long(terminal_id: &str) -> (String, String) {
    let text = "It is \\\"known\\\" that water is wet.\\n".repeat(LONG / 37);
    let item = |id: &str| {
        format!(
            r#"{{"id":"{id}","content":[{{"annotations":[],"text":"{text}","type":"output_text","logprobs":null}}],"role":"assistant","status":"completed","type":"message"}}"#
        )
    };
    let done = format!(r#""item":{},"output_index":0"#, item("msg_1"));
    let end = format!(
        r#""response":{{"id":"resp_1","object":"response","status":"completed","output":[{}]}}"#,
        item(terminal_id)
    );
    let start = created() + &announced() + &frame("response.output_item.done", 2, &done);
    (start, frame("response.completed", 3, &end))
}

fn rewrite(rewriter: &mut SseRewriter, stream: &[u8], chunk: usize, out: &mut Vec<u8>) {
    for piece in stream.chunks(chunk) {
        out.clear();
        rewriter.feed_into(piece, out);
        black_box(&out);
    }
}

fn delta_frames(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("deltas of 160 bytes in 64 KiB");
    let streams = [
        ("as they are", deltas("msg_1", 2)),
        ("another id and number", deltas("msg_other", 1)),
    ];
    group.throughput(Throughput::Bytes(streams[0].1.len() as u64));
    let mut out = Vec::new();
    group.bench_function("memcpy", |bencher| {
        bencher.iter(|| {
            for piece in streams[0].1.as_bytes().chunks(CHUNK) {
                out.clear();
                out.extend_from_slice(piece);
                black_box(&out);
            }
        });
    });
    for (name, stream) in &streams {
        group.bench_function(*name, |bencher| {
            bencher.iter(|| {
                let mut rewriter = SseRewriter::new(Policy::default());
                rewrite(&mut rewriter, stream.as_bytes(), CHUNK, &mut out);
            });
        });
    }
    group.finish();
}

fn terminal_frame(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("a terminal frame of 4.4 MB");
    let mut out = Vec::new();
    for (name, terminal_id) in [("as it is", "msg_1"), ("another id", "msg_other")] {
        let (start, end) = long(terminal_id);
        group.throughput(Throughput::Bytes(end.len() as u64));
        for (pieces, chunk) in [("at once", end.len()), ("in 1,400 bytes", PACKET)] {
            group.bench_function(format!("{name}, {pieces}"), |bencher| {
                bencher.iter_batched_ref(
                    || {
                        let mut rewriter = SseRewriter::new(Policy::default());
                        black_box(rewriter.feed(start.as_bytes()));
                        rewriter
                    },
                    |rewriter| rewrite(rewriter, end.as_bytes(), chunk, &mut out),
                    criterion::BatchSize::PerIteration,
                );
            });
        }
    }
    group.finish();
}

fn single_frames(criterion: &mut Criterion) {
    let stream = deltas("msg_1", 2);
    let frames: Vec<&str> = stream.split_inclusive("\n\n").collect();
    let mut out = Vec::new();
    criterion.bench_function("one delta frame a call", |bencher| {
        let mut rewriter = SseRewriter::new(Policy::default());
        let (start, rest) = frames.split_at(3);
        for frame in start {
            rewriter.feed_into(frame.as_bytes(), &mut out);
        }
        let mut rest = rest.iter().cycle();
        bencher.iter(|| {
            out.clear();
            rewriter.feed_into(rest.next().unwrap_or(&"").as_bytes(), &mut out);
            black_box(&out);
        });
    });
}

fn quick() -> Criterion {
    Criterion::default()
        .warm_up_time(Duration::from_millis(500))
        .measurement_time(Duration::from_secs(2))
        .sample_size(20)
}

criterion_group! {
    name = benches;
    config = quick();
    targets = delta_frames, terminal_frame, single_frames
}
criterion_main!(benches);
