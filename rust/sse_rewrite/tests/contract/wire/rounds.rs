//! Several responses in one body, and several rounds of one.

use serde_json::{Value, json};

use crate::model::{Event, Numbered, call, lifecycle, message, numbered, reasoning, terminal};
use crate::wire::encoding::{PLAIN, as_json, events, rewritten, rewritten_in};

fn bytes(stream: &[Numbered]) -> Vec<u8> {
    let json: Vec<Value> = stream.iter().map(as_json).collect();
    PLAIN.stream(&json)
}

fn response(id: &str) -> Vec<u8> {
    let items = [message(id, "x"), call("fc", "functions.f:0", "f", "{}")];
    let mut stream = vec![Event::Created];
    for (index, item) in (0..).zip(&items) {
        stream.extend(lifecycle(index, item));
    }
    stream.push(terminal(items));
    bytes(&numbered(stream))
}

#[test]
fn responses_one_after_the_other_share_nothing() {
    let body = [
        response("a"),
        b"data: [DONE]\n\n".to_vec(),
        response("a"),
        response("b"),
    ]
    .concat();
    let (sent, rewriter) = rewritten_in(100, &body);
    assert_eq!(sent, body);
    assert!(rewriter.report().is_untouched());
}

#[test]
fn what_comes_after_the_end_passes() {
    let mut body = response("a");
    body.extend(bytes(&numbered(lifecycle(7, &reasoning("b", "late")))));
    // But for its numbers, which had reached 8.
    let sent = events(&rewritten(&body));
    let numbers: Vec<u64> = sent
        .iter()
        .filter_map(|event| event["sequence_number"].as_u64())
        .collect();
    assert_eq!(numbers, (0..13).collect::<Vec<_>>());
    assert_eq!(sent.last().unwrap()["output_index"], 7);
}

#[test]
fn an_end_told_twice_says_the_same_twice() {
    let mut stream = vec![Event::Created];
    stream.extend(lifecycle(0, &message("a", "x")));
    stream.push(terminal([message("b", "x")]));
    stream.push(terminal([message("c", "x")]));
    let sent = events(&rewritten(&bytes(&numbered(stream))));
    let ids: Vec<&Value> = sent
        .iter()
        .rev()
        .take(2)
        .map(|event| &event["response"]["output"][0]["id"])
        .collect();
    assert_eq!(ids, [&json!("a"); 2]);
}

#[test]
fn an_end_told_again_announces_nothing() {
    let mut body = response("a");
    let late = json!({"type": "response.completed", "sequence_number": 8, "response": {
        "output": [reasoning("late", "why"), message("b", "x")]}});
    body.extend(PLAIN.stream(&[late]));
    let sent = rewritten(&body);
    assert_eq!(rewritten(&sent), sent);
    let sent = events(&sent);
    assert_eq!(sent.len(), events(&body).len());
    let ids: Vec<&Value> = sent.last().unwrap()["response"]["output"]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| &item["id"])
        .collect();
    // As the server lists them, under the identities that were announced.
    assert_eq!(ids, ["late", "a"]);
}

#[test]
fn a_further_round_does_not_begin_again() {
    let round = |events: Vec<Value>| {
        let mut round = vec![
            json!({"type": "response.created", "response": {"id": "r"}}),
            json!({"type": "response.queued", "response": {"id": "r"}}),
            json!({"type": "response.in_progress", "response": {"id": "r"}}),
        ];
        round.extend(events);
        for (number, event) in round.iter_mut().enumerate() {
            event["sequence_number"] = json!(number);
        }
        round
    };
    let item = |item: &Value| -> Vec<Value> {
        let lifecycle = lifecycle(0, item);
        let numbered: Vec<Numbered> = lifecycle.into_iter().map(|event| (None, event)).collect();
        numbered.iter().map(as_json).collect()
    };
    let mut second = item(&message("b", "y"));
    second.push(json!({"type": "response.in_progress", "response": {"id": "r"}}));
    let mut stream = round(item(&reasoning("a", "x")));
    stream.extend(round(second));
    let sent = events(&rewritten(&PLAIN.stream(&stream)));
    let kinds: Vec<&str> = sent
        .iter()
        .map(|event| event["type"].as_str().unwrap())
        .collect();
    assert_eq!(
        kinds,
        [
            "response.created",
            "response.queued",
            "response.in_progress",
            "response.output_item.added",
            "response.content_part.added",
            "response.reasoning_text.delta",
            "response.output_item.done",
            "response.output_item.added",
            "response.content_part.added",
            "response.output_text.delta",
            "response.output_item.done",
            "response.in_progress",
        ]
    );
    for (number, event) in sent.iter().enumerate() {
        assert_eq!(event["sequence_number"], json!(number));
    }
    assert_eq!(sent[7]["output_index"], 1);
}
