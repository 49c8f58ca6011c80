//! What is done most often, so often that instructions can be counted: `scripts/instructions`.
//!
//! `hot_paths NAME COUNT` does one of the things below `COUNT` times. The instructions of a run with
//! some, less those of a run with none, divided by how many, are the same on every run.

use std::hint::black_box;

use sse_rewrite::{Engine, Event, Item, Policy, SseRewriter, Template};

const ITEM: &str = r#"{"id":"fc_1","type":"function_call","call_id":"call_1","name":"get_weather","arguments":"{}","status":"completed"}"#;
const REBUILT: &str = r#"{"id":"fc_2","type":"function_call","call_id":"call_2","name":"get_weather","arguments":"{}","status":"completed"}"#;

fn frame(kind: &str, members: &str) -> String {
    format!("event: {kind}\ndata: {{{members},\"type\":\"{kind}\"}}\n\n")
}

fn delta(item_id: &str, number: usize) -> String {
    let members = format!(
        r#""content_index":0,"delta":" word","item_id":"{item_id}","output_index":0,"sequence_number":{number}"#
    );
    frame("response.output_text.delta", &members)
}

/// A stream of one message whose deltas have the id `item_id`, in pieces of a network packet.
fn deltas(item_id: &str, count: usize) {
    let response = r#""response":{"id":"resp_1","output":[]},"sequence_number":0"#;
    let item = r#""item":{"id":"msg_1","type":"message","content":[]},"output_index":0,"sequence_number":1"#;
    let mut stream = frame("response.created", response);
    let part = r#""content_index":0,"item_id":"msg_1","output_index":0,"part":{"type":"output_text","text":""},"sequence_number":2"#;
    stream += &frame("response.output_item.added", item);
    stream += &frame("response.content_part.added", part);
    for number in 0..count {
        stream += &delta(item_id, number + 3);
    }
    let mut rewriter = SseRewriter::new(Policy::default());
    let mut out = Vec::new();
    for piece in stream.as_bytes().chunks(1400) {
        out.clear();
        rewriter.feed_into(piece, &mut out);
        black_box(&out);
    }
}

/// Making the stream itself, which is no cost of rewriting it.
fn nothing(count: usize) {
    let mut stream = String::new();
    for number in 0..count {
        stream += &delta("msg_1", number + 3);
    }
    black_box(stream);
}

/// Calls as a stream tells of them: announced, closed, and ended under other ids.
fn calls(count: usize) {
    for _ in 0..count {
        let mut rewriter = SseRewriter::new(Policy::default());
        let mut stream = frame(
            "response.created",
            r#""response":{"id":"resp_1","output":[]}"#,
        );
        for kind in ["response.output_item.added", "response.output_item.done"] {
            stream += &frame(kind, &format!(r#""item":{ITEM},"output_index":0"#));
        }
        let end = format!(r#""response":{{"id":"resp_1","output":[{REBUILT}]}}"#);
        stream += &frame("response.completed", &end);
        black_box(rewriter.feed(stream.as_bytes()));
    }
}

/// The same as the plugin asks for it, event by event.
fn engine(count: usize) {
    let item = || Item::read(ITEM.as_bytes()).ok();
    let created = Event::Created {
        response_id: Some("resp_1"),
    };
    let announced = Event::Announced {
        index: Some(0),
        item: item(),
    };
    let closed = Event::Closed {
        index: Some(0),
        item: item(),
    };
    let terminal = Event::Terminal {
        failed: false,
        output: Item::read(REBUILT.as_bytes()).into_iter().collect(),
    };
    for _ in 0..count {
        let mut engine = Engine::new(Policy::default());
        for event in [&created, &announced, &closed, &terminal] {
            let _ = black_box(engine.take(event, None));
        }
    }
}

/// A message of so many words, whose text comes again with its close and at the end.
fn words(count: usize) {
    let item = |id: &str| {
        let text = "word ".repeat(count);
        format!(
            r#"{{"id":"{id}","type":"message","content":[{{"type":"output_text","text":"{text}"}}]}}"#
        )
    };
    let mut rewriter = SseRewriter::new(Policy::default());
    let added = r#""item":{"id":"msg_1","type":"message","content":[]},"output_index":0"#;
    let done = format!(r#""item":{},"output_index":0"#, item("msg_1"));
    let end = format!(
        r#""response":{{"id":"resp_1","output":[{}]}}"#,
        item("msg_9")
    );
    for (kind, members) in [
        (
            "response.created",
            r#""response":{"id":"resp_1","output":[]}"#,
        ),
        ("response.output_item.added", added),
        ("response.output_item.done", &done),
        ("response.completed", &end),
    ] {
        black_box(rewriter.feed(frame(kind, members).as_bytes()));
    }
}

/// Frames written like one that the server wrote.
fn encode(count: usize) {
    let Some(template) = Template::of(&delta("msg_1", 7), " word", 7) else {
        return;
    };
    let mut out = String::new();
    for number in 0..count {
        out.clear();
        template.write(" word", i64::try_from(number).unwrap_or(0), &mut out);
        black_box(&out);
    }
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let name = arguments.next().unwrap_or_default();
    let count = arguments.next().and_then(|count| count.parse().ok());
    let count = count.unwrap_or(0);
    match name.as_str() {
        "nothing" => nothing(count),
        "deltas" => deltas("msg_1", count),
        "deltas_under_another_id" => deltas("msg_9", count),
        "calls" => calls(count),
        "words" => words(count),
        "engine" => engine(count),
        "encode" => encode(count),
        _ => {
            eprintln!("hot_paths: there is no {name:?}");
            std::process::exit(2);
        }
    }
}
