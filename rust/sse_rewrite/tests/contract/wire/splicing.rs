//! What is changed in a frame is an identity; every other byte of its JSON stays.

use proptest::prelude::*;
use serde_json::{Value, json};

use crate::model::{added, call, done, lifecycle, message, numbered, terminal};
use crate::random::any_stream;
use crate::wire::encoding::{LAYOUTS, PLAIN, as_json, events, rewritten, rewritten_in};

#[test]
fn key_order_numbers_escapes_and_white_space_stay() {
    let stream = r#"data: {"type":"response.created","response":{"id":"r"}}

data: { "sequence_number" : 1 , "output_index":2, "type":"response.output_item.added" ,"x":1.0, "item" :{"n":1e5,"id":"a\/b","type":"message","t":"\u00e9\ud83c\udf0a"} }

data: {"item_id" : "other","content_index":0,"output_index" :2,"type":"response.content_part.added","part" : {"text":"","type":"output_text"},"sequence_number":2}

data: {"item_id" : "other","content_index":0,"output_index" :2,"type":"response.output_text.delta","delta":"\/","logprobs":[{"logprob":-0.50}],"sequence_number":3}

data: {"item":{"type":"message","id":null,"content":[ {"text":"\u002f","type":"output_text"} ]},"output_index":2,"type":"response.output_item.done","sequence_number":4}

data: {"type":"response.completed","sequence_number":5,"response":{"id":"r","usage":{"cost":0.10},"output" : [ {"type":"message","content":[ {"text":"/","type":"output_text","logprobs":[1.50]} ],"id" : "z"} ] ,"a":[]}}

"#;
    let want = stream
        .replace("\"output_index\":2", "\"output_index\":0")
        .replace("\"output_index\" :2", "\"output_index\" :0")
        .replace("\"item_id\" : \"other\"", "\"item_id\" : \"a/b\"")
        .replace("\"id\":null", "\"id\":\"a/b\"")
        .replace("\"id\" : \"z\"", "\"id\" : \"a/b\"");
    let sent = String::from_utf8(rewritten(stream.as_bytes())).unwrap();
    assert_eq!(sent, want);
}

#[test]
fn an_output_is_written_with_its_own_separators() {
    let (first, second) = (message("a", "1"), message("b", "2"));
    let start = [lifecycle(0, &first), lifecycle(1, &second)].concat();
    let start: Vec<Value> = numbered(start).iter().map(as_json).collect();
    let start = PLAIN.stream(&start);
    for (output, want) in [
        (
            format!("[\n  {second},\n  {first}\n]"),
            format!("[\n  {first},\n  {second}\n]"),
        ),
        ("[ ]".to_owned(), format!("[ {first},{second}]")),
        ("null".to_owned(), format!("[{first},{second}]")),
        (format!("[{second}]"), format!("[{first},{second}]")),
        (
            format!("[{first}, {{}}, {second}]"),
            format!("[{first}, {second}]"),
        ),
    ] {
        let end = |output: &str| {
            let data = format!(
                "{{\"type\":\"response.completed\",\"response\":{{\"output\":{output},\"u\":1.0}},\"sequence_number\":8}}"
            );
            let lines = data.replace('\n', "\ndata: ");
            format!("event: response.completed\ndata: {lines}\n\n")
        };
        let stream = [&start, end(&output).as_bytes()].concat();
        let sent = String::from_utf8(rewritten(&stream)).unwrap();
        let sent = &sent[sent.find("event: response.completed").unwrap()..];
        assert_eq!(sent, end(&want));
    }
}

#[test]
fn a_response_without_output_gets_one() {
    let item = message("a", "1");
    let events: Vec<Value> = numbered(lifecycle(0, &item)).iter().map(as_json).collect();
    for (response, want) in [
        (
            r#"{"id":"r"}"#,
            format!(r#"{{"output":[{item}],"id":"r"}}"#),
        ),
        ("{}", format!(r#"{{"output":[{item}]}}"#)),
        ("null", "null".to_owned()),
        (r#"{"output":{}}"#, r#"{"output":{}}"#.to_owned()),
    ] {
        let end = |response: &str| {
            format!("data: {{\"type\":\"response.incomplete\",\"response\":{response}}}\n\n")
        };
        let stream = [PLAIN.stream(&events), end(response).into_bytes()].concat();
        let sent = rewritten(&stream);
        assert_eq!(
            String::from_utf8_lossy(&sent),
            String::from_utf8_lossy(&[PLAIN.stream(&events), end(&want).into_bytes()].concat())
        );
    }
}

#[test]
fn an_item_broken_over_data_lines_is_put_back_so() {
    let created = "data: {\"type\":\"response.created\",\"response\":{}}\n\n";
    let done = "data: {\"type\":\"response.output_item.done\",\"output_index\":0,\"item\":{\"type\":\"x\",\ndata: \"id\":\"i\"}}\n\n";
    let end = "data:{\"type\":\"response.completed\",\"response\":{\"output\":[]}}\r\n\r\n";
    let sent = rewritten([created, done, end].concat().as_bytes());
    let sent = String::from_utf8(sent).unwrap();
    let want = "data:{\"type\":\"response.completed\",\"response\":{\"output\":[{\"type\":\"x\",\r\ndata: \"id\":\"i\"}]}}\r\n\r\n";
    assert!(sent.ends_with(want), "{sent}");
}

#[test]
fn encrypted_reasoning_keeps_the_id_it_was_issued_under() {
    let item = |id: &str| {
        json!({"type": "reasoning", "id": id, "summary": [],
        "encrypted_content": "gAAAAB+/=="})
    };
    let stream = numbered(vec![
        added(0, item("rs_issued")),
        done(0, item("rotated")),
        terminal([item("rotated again"), call("fc", "call", "f", "{}")]),
    ]);
    let json: Vec<Value> = stream.iter().map(as_json).collect();
    let sent = events(&rewritten(&PLAIN.stream(&json)));
    for at in [
        &sent[1]["item"],
        &sent.last().unwrap()["response"]["output"][0],
    ] {
        assert_eq!(*at, item("rs_issued"));
    }
}

#[test]
fn an_event_that_repeats_the_names_of_its_call_is_corrected_too() {
    let created = json!({"type": "response.created", "response": {}});
    let item = call("fc", "call", "f", "");
    let added = json!({"type": "response.output_item.added", "output_index": 0, "item": item});
    let done = |name: &str, call_id: &str| {
        json!({"type": "response.function_call_arguments.done", "output_index": 0,
            "item_id": "fc", "arguments": "{}", "name": name, "call_id": call_id})
    };
    let stream = |done| PLAIN.stream(&[created.clone(), added.clone(), done]);
    let sent = rewritten(&stream(done("g", "other")));
    assert_eq!(sent, stream(done("f", "call")));
    let unnamed = stream(done("", ""));
    assert_eq!(rewritten(&unnamed), unnamed);
}

/// The event without what names items and places: what no rewriter may touch.
fn unnamed(event: &Value) -> Value {
    let mut event = event.clone();
    for key in [
        "item_id",
        "output_index",
        "content_index",
        "summary_index",
        "sequence_number",
    ] {
        event.as_object_mut().unwrap().remove(key);
    }
    if let Some(item) = event.get_mut("item").and_then(Value::as_object_mut) {
        for key in ["id", "call_id", "name", "namespace", "server_label"] {
            item.remove(key);
        }
    }
    event
}

/// How many events of `streamed` are in `sent`, in their order.
///
/// The longest common subsequence: to pair each event with the first that equals it would pair
/// one that was dropped with a later one that says the same, and lose all between the two.
fn most_in_common(streamed: &[Value], sent: &[Value]) -> usize {
    let mut before = vec![0; sent.len() + 1];
    for event in streamed {
        let mut row = vec![0];
        for (at, other) in sent.iter().enumerate() {
            row.push(if event == other {
                before[at] + 1
            } else {
                before[at + 1].max(row[at])
            });
        }
        before = row;
    }
    before[sent.len()]
}

#[test]
fn a_dropped_event_is_not_taken_for_a_later_one_that_says_the_same() {
    let [dropped, between] = [json!("searching"), json!("added")];
    let streamed = [dropped.clone(), between.clone(), dropped.clone()];
    assert_eq!(
        most_in_common(&streamed, &[between.clone(), dropped.clone()]),
        2
    );
    assert_eq!(most_in_common(&streamed, &streamed), 3);
    assert_eq!(most_in_common(&streamed, &[between]), 1);
    assert_eq!(most_in_common(&streamed, &[]), 0);
}

/// Whether `event` carries payload of its own.
fn says(event: &Value) -> bool {
    event["delta"].as_str().is_some_and(|text| !text.is_empty())
}

proptest! {
    /// With `serde_json` as oracle: frames of the stream's own are the same but for names, and
    /// all that say something are there, in their order.
    #[test]
    fn a_frame_differs_in_identities_only(
        stream in any_stream(),
        layout in proptest::sample::select(&LAYOUTS[..]),
    ) {
        let json: Vec<Value> = stream.iter().map(as_json).collect();
        let (sent, rewriter) = rewritten_in(usize::MAX, &layout.stream(&json));
        let sent: Vec<Value> = events(&sent).iter().map(unnamed).collect();
        let streamed = json.iter().filter(|event| event["response"]["output"].is_null());
        let streamed: Vec<Value> = streamed.map(unnamed).collect();
        let dropped = streamed.len() - most_in_common(&streamed, &sent);
        let counted = rewriter.report().counts();
        let counted = counted.filter(|(name, _)| matches!(*name, "dropped" | "deferred"));
        let created = json.iter().filter(|event| event["type"] == "response.created").count();
        let most = counted.map(|(_, count)| count).sum::<u64>() + created as u64;
        prop_assert!(dropped as u64 <= most, "{dropped} frames lost or changed, {most} counted");
        if !json.iter().any(|event| event["type"] == "response.output_item.added") {
            for event in json.iter().filter(|event| says(event)) {
                let event = unnamed(event);
                prop_assert!(sent.contains(&event), "{event} is lost");
            }
        }
    }
}
