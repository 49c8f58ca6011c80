//! `content_index` is counted inside its item.

use serde_json::{Value, json};
use sse_rewrite::SseRewriter;

use crate::model::message;
use crate::wire::encoding::{PLAIN, events, rewritten, rewritten_in};

fn stream(events: &[(&str, Option<u64>)]) -> Vec<u8> {
    let mut json = vec![
        json!({"type": "response.created", "response": {"id": "r"}}),
        json!({"type": "response.output_item.added", "output_index": 0, "item": message("m", "")}),
    ];
    for (kind, content_index) in events {
        let mut event = json!({"type": format!("response.{kind}"), "output_index": 0,
            "item_id": "m", "delta": "x"});
        if let Some(index) = content_index {
            event["content_index"] = json!(index);
        }
        json.push(event);
    }
    PLAIN.stream(&json)
}

fn indices(sent: &[u8]) -> Vec<Option<u64>> {
    let events = events(sent);
    let indices = events.iter().skip(2);
    indices
        .map(|event| event.get("content_index").and_then(Value::as_u64))
        .collect()
}

fn moved(rewriter: &SseRewriter) -> u64 {
    let mut counts = rewriter.report().counts();
    counts.find(|(name, _)| *name == "part_moved").unwrap().1
}

#[test]
fn a_count_over_the_whole_response_starts_at_0_in_each_item() {
    let stream = stream(&[
        ("content_part.added", Some(2)),
        ("output_text.delta", Some(2)),
        ("output_text.delta", Some(2)),
        ("output_text.done", Some(2)),
        ("content_part.done", Some(2)),
        ("content_part.added", Some(3)),
        ("output_text.delta", Some(3)),
    ]);
    let (sent, rewriter) = rewritten_in(usize::MAX, &stream);
    assert_eq!(indices(&sent), [0, 0, 0, 0, 0, 1, 1].map(Some));
    assert_eq!(moved(&rewriter), 7);
    assert_eq!(rewritten(&sent), sent);
}

#[test]
fn a_count_of_deltas_is_one_part() {
    let stream = stream(&[
        ("content_part.added", Some(0)),
        ("output_text.delta", Some(0)),
        ("output_text.delta", Some(1)),
        ("output_text.delta", Some(2)),
        ("output_text.done", Some(3)),
    ]);
    let (sent, rewriter) = rewritten_in(7, &stream);
    assert_eq!(indices(&sent), [Some(0); 5]);
    assert_eq!(moved(&rewriter), 3);
}

#[test]
fn a_missing_index_is_added_only_where_the_event_has_no_place_at_all() {
    let placed = stream(&[("content_part.added", None), ("output_text.delta", None)]);
    assert_eq!(rewritten(&placed), placed);
    let unplaced = String::from_utf8(placed.clone()).unwrap();
    let unplaced = unplaced.replace(r#""item_id":"m","output_index":0"#, r#""item_id":"m""#);
    assert_ne!(unplaced.as_bytes(), placed);
    let sent = rewritten(unplaced.as_bytes());
    assert_eq!(indices(&sent), [Some(0); 2]);
}

#[test]
fn a_second_part_without_an_index_gets_one() {
    let stream = stream(&[
        ("content_part.added", None),
        ("content_part.done", None),
        ("content_part.added", None),
        ("output_text.delta", None),
    ]);
    let sent = rewritten(&stream);
    assert_eq!(indices(&sent), [None, None, Some(1), Some(1)]);
    assert_eq!(rewritten(&sent), sent);
}

#[test]
fn a_part_that_was_never_opened_is_opened_with_the_number_of_its_place() {
    let stream = stream(&[
        ("output_text.delta", Some(3)),
        ("output_text.delta", None),
        ("content_part.added", Some(3)),
        ("content_part.done", Some(3)),
        ("output_text.delta", Some(4)),
    ]);
    let sent = rewritten(&stream);
    let names: Vec<String> = events(&sent)[2..]
        .iter()
        .map(|event| event["type"].as_str().unwrap().replace("response.", ""))
        .collect();
    assert_eq!(
        names,
        [
            "content_part.added",
            "output_text.delta",
            "output_text.delta",
            "content_part.done",
            "content_part.added",
            "output_text.delta",
        ]
    );
    assert_eq!(indices(&sent), [0, 0, 0, 0, 1, 1].map(Some));
    assert_eq!(rewritten(&sent), sent);
}
