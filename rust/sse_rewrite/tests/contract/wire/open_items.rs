//! An item of each type of the API that its server leaves open, however the response ends.

use serde_json::{Value, json};
use sse_rewrite::contract::catalogue::{ITEM_TYPES, item_type};

use crate::model::field;
use crate::wire::api::{Streamed, items};
use crate::wire::encoding::{PLAIN, events, rewritten, rewritten_in};

/// Types whose events say something that has no known place in the item.
const NOT_KNOWN: [&str; 3] = ["shell_call", "shell_call_output", "apply_patch_call"];

fn kind(item: &Streamed) -> &str {
    field(&item.closed, "type").unwrap()
}

/// The item, announced and streamed up to its close, with `events` of its own.
fn left_open(item: &Streamed, own: &[Value]) -> Vec<Value> {
    let mut announced = item.announced.clone();
    announced["id"] = json!("item_0");
    let mut events = vec![
        json!({"type": "response.created", "response": {"id": "resp_1"}}),
        json!({"type": "response.output_item.added", "output_index": 0, "item": announced}),
    ];
    events.extend(own.iter().map(|event| {
        let mut event = event.clone();
        event["output_index"] = json!(0);
        if !field(&event, "type")
            .unwrap()
            .contains("shell_call_command")
        {
            event["item_id"] = json!("item_0");
        }
        event
    }));
    events
}

/// A stream that ends with `end`, whose response lists `output`.
fn ended(mut stream: Vec<Value>, end: &str, output: &[Value]) -> Vec<u8> {
    let response = json!({"id": "resp_1", "output": output});
    stream.push(json!({"type": format!("response.{end}"), "response": response}));
    PLAIN.stream(&stream)
}

/// The close that is inserted, and the entry of the terminal output.
fn closed(stream: &[u8]) -> (Option<Value>, Value) {
    let sent = events(&rewritten(stream));
    let mut closes = sent
        .iter()
        .filter(|event| event["type"] == "response.output_item.done");
    let close = closes.next().map(|event| event["item"].clone());
    (close, sent.last().unwrap()["response"]["output"][0].clone())
}

#[test]
fn it_is_closed_with_what_it_has_said() {
    for item in items() {
        for end in ["completed", "incomplete"] {
            let stream = ended(left_open(&item, &item.events), end, &[]);
            let (close, listed) = closed(&stream);
            if NOT_KNOWN.contains(&kind(&item)) {
                assert_eq!(close, None);
                let (_, rewriter) = rewritten_in(usize::MAX, &stream);
                let mut counts = rewriter.report().counts();
                assert_eq!(
                    counts.find(|(name, _)| *name == "left_open"),
                    Some(("left_open", 1))
                );
                continue;
            }
            let mut want = item.closed.clone();
            want["id"] = json!("item_0");
            let says_all = !item.events.is_empty();
            if !says_all && item.announced.get("status").is_some() {
                want["status"] = json!(item_type(kind(&item)).unfinished);
            }
            let failed = item
                .events
                .iter()
                .any(|event| field(event, "type").unwrap().ends_with("_call.failed"));
            if failed {
                want["status"] = json!("failed");
            }
            // What is encrypted when it is done is not known before.
            if let Some(cipher) = item.announced.get("encrypted_content") {
                want["encrypted_content"] = cipher.clone();
            }
            assert_eq!(close, Some(want.clone()), "{end}");
            assert_eq!(listed, want);
        }
    }
}

#[test]
fn it_is_closed_as_unfinished_where_no_event_sums_it_up() {
    for item in items() {
        let is_end = |event: &Value| {
            let kind = field(event, "type").unwrap();
            [".done", ".completed", ".failed"]
                .iter()
                .any(|end| kind.ends_with(end))
        };
        let own: Vec<Value> = item
            .events
            .iter()
            .filter(|event| !is_end(event))
            .cloned()
            .collect();
        if NOT_KNOWN.contains(&kind(&item)) || own.is_empty() {
            continue;
        }
        let (close, listed) = closed(&ended(left_open(&item, &own), "incomplete", &[]));
        let close = close.unwrap();
        let row = item_type(kind(&item));
        if item.announced.get("status").is_some() {
            assert_eq!(close["status"], row.unfinished);
        }
        if let Some(key) = row.text {
            assert_eq!(close[key], item.closed[key]);
        }
        for list in ["content", "summary"] {
            let texts = |item: &Value| -> Vec<Value> {
                let parts = item[list].as_array().into_iter().flatten();
                parts
                    .map(|part| part.get("text").or(part.get("refusal")).cloned().unwrap())
                    .collect()
            };
            assert_eq!(texts(&close), texts(&item.closed));
        }
        assert_eq!(listed, close);
    }
}

#[test]
fn it_is_closed_as_its_entry_has_it() {
    for item in items() {
        let mut listed = item.closed.clone();
        listed["id"] = json!("another");
        let stream = ended(left_open(&item, &item.events), "completed", &[listed]);
        let mut want = item.closed.clone();
        want["id"] = json!("item_0");
        assert_eq!(closed(&stream), (Some(want.clone()), want));
    }
}

#[test]
fn it_stays_open_where_the_server_fails_or_stops() {
    for item in items() {
        let open = left_open(&item, &item.events);
        let mut error = open.clone();
        error.push(json!({"type": "error", "message": "m"}));
        for stream in [
            ended(open.clone(), "failed", &[]),
            PLAIN.stream(&error),
            PLAIN.stream(&open),
        ] {
            assert_eq!(
                String::from_utf8_lossy(&rewritten(&stream)),
                String::from_utf8_lossy(&stream)
            );
        }
    }
}

#[test]
fn every_type_of_the_api_has_a_row() {
    for item in items() {
        let kind = kind(&item);
        assert!(ITEM_TYPES.iter().any(|row| row.name == kind), "{kind}");
    }
}
