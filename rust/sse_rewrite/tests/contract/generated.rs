//! Items and events at the edge of the crate: what is read and what is made.

use proptest::prelude::*;
use serde_json::{Value, json};
use sse_rewrite::{Field, Item, Policy, ReasoningParts, SseRewriter};

use crate::encoding::{PLAIN, events, modelled_event};
use crate::judge::faults;
use crate::model::{
    Event, call, code, custom, mcp, message, numbered, reasoning, search, show, terminal, without,
};

/// The events of `item` when its close is all that was streamed of it, at index 0, as JSON.
fn whole(item: &Value, reasoning_parts: ReasoningParts) -> Vec<Value> {
    let mut rewriter = SseRewriter::new(Policy {
        reasoning_parts,
        ..Policy::default()
    });
    let stream = PLAIN.stream(&[
        json!({"type": "response.created", "response": {"id": "resp_1"}}),
        json!({"type": "response.output_item.done", "output_index": 0, "item": item}),
        json!({"type": "response.completed", "response": {"output": []}}),
    ]);
    let sent = events(&rewriter.feed(&stream));
    sent[1..sent.len() - 1].to_vec()
}

/// The deltas of all parts, joined per part.
fn deltas(events: &[Value]) -> Vec<String> {
    let mut parts: Vec<String> = Vec::new();
    for event in events {
        let part = event["content_index"]
            .as_u64()
            .or(event["summary_index"].as_u64())
            .unwrap_or(0);
        let part = usize::try_from(part).unwrap();
        if let Some(delta) = event["delta"].as_str() {
            parts.resize(parts.len().max(part + 1), String::new());
            parts[part] += delta;
        }
    }
    parts
}

#[test]
fn a_reasoning_part_is_named_as_the_server_names_it() {
    let names = |parts| -> Vec<String> {
        let events = whole(&reasoning("rs_1", "why"), parts);
        events
            .iter()
            .map(|event| show(&modelled_event(event).1))
            .collect()
    };
    assert_eq!(
        names(ReasoningParts::ReasoningPart),
        [
            "added 0 reasoning=rs_1",
            "reasoning_part.added 0 rs_1",
            "reasoning_text.delta 0 rs_1 why",
            "reasoning_text.done 0 rs_1 why",
            "reasoning_part.done 0 rs_1 why",
            "done 0 reasoning=rs_1",
        ]
    );
    assert_eq!(
        names(ReasoningParts::ContentPart)[1],
        "content_part.added 0 rs_1"
    );
}

#[test]
fn a_summary_is_streamed_too() {
    let item = json!({"type": "reasoning", "id": "rs_1",
        "summary": [{"type": "summary_text", "text": "in short"}]});
    let events = whole(&item, ReasoningParts::default());
    let names: Vec<String> = events
        .iter()
        .map(|event| show(&modelled_event(event).1))
        .collect();
    assert_eq!(
        names,
        [
            "added 0 reasoning=rs_1",
            "reasoning_summary_part.added 0 rs_1",
            "reasoning_summary_text.delta 0 rs_1 in short",
            "reasoning_summary_text.done 0 rs_1 in short",
            "reasoning_summary_part.done 0 rs_1 in short",
            "done 0 reasoning=rs_1",
        ]
    );
    assert!(events[1..5].iter().all(|event| event["summary_index"] == 0));
}

#[test]
fn every_part_has_its_index_and_its_close() {
    let item = json!({"type": "message", "id": "m", "content": [
        {"type": "output_text", "text": "one", "annotations": [{"url": "u"}]},
        {"type": "refusal", "refusal": "no"},
        {"type": "unheard_of"},
        {"type": "output_text", "text": ""},
    ]});
    let events = whole(&item, ReasoningParts::default());
    assert_eq!(deltas(&events), ["one", "no"]);
    let closed: Vec<&Value> = events
        .iter()
        .filter(|event| event["type"] == "response.content_part.done")
        .map(|event| &event["part"])
        .collect();
    let content = &item["content"];
    assert_eq!(closed, [&content[0], &content[1], &content[3]]);
}

#[test]
fn a_part_of_another_kind_of_item_is_not_streamed() {
    let text = json!({"type": "output_text", "text": "x"});
    let thought = json!({"type": "reasoning_text", "text": "y"});
    let content = json!([text, thought]);
    for (kind, own) in [("message", "x"), ("reasoning", "y")] {
        let item = json!({"type": kind, "id": "i", "content": content});
        let events = whole(&item, ReasoningParts::default());
        assert_eq!(deltas(&events).concat(), own);
        assert_eq!(events.last().unwrap()["item"], item);
    }
}

#[test]
fn parts_beyond_all_measure_are_told_by_the_close_alone() {
    let part = json!({"type": "output_text", "text": ""});
    let content = vec![part; 5000];
    let item = json!({"type": "message", "id": "m", "content": content});
    let events = whole(&item, ReasoningParts::default());
    assert_eq!(events.len(), 2);
    assert_eq!(events[1]["item"], item);
}

#[test]
fn a_payload_that_is_no_text_is_no_delta() {
    let mut item = call("fc_1", "call_1", "f", "");
    item["arguments"] = json!({"a": 1});
    let events = whole(&item, ReasoningParts::default());
    assert!(events.iter().all(|event| event.get("delta").is_none()));
    assert_eq!(events.last().unwrap()["item"], item);
}

#[test]
fn a_type_without_content_events_is_announced_in_full() {
    let item = search("ws_1", "tides");
    let events = whole(&item, ReasoningParts::default());
    assert_eq!(events.len(), 2);
    assert_eq!(events[0]["item"], item);
}

/// Any JSON, with the keys an item has among its keys.
fn any_json() -> impl Strategy<Value = Value> {
    let keys = "type|id|call_id|name|content|summary|text|arguments|code|input|[a-z]{0,3}";
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        "message|reasoning|function_call|mcp_call|.{0,6}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 40, 5, move |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            proptest::collection::btree_map(keys, inner, 0..6)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

fn any_text() -> impl Strategy<Value = String> {
    proptest::collection::vec(any::<char>(), 0..12).prop_map(|text| text.into_iter().collect())
}

proptest! {
    #[test]
    fn no_text_makes_reading_an_item_panic(text in ".{0,60}") {
        if let Ok(item) = Item::read(text.as_bytes()) {
            prop_assert!(!item.identity.kind.is_empty());
        }
    }

    #[test]
    fn no_json_makes_reading_an_item_panic(value in any_json()) {
        let json = value.to_string();
        let read = Item::read(json.as_bytes());
        let kind = value.get("type").and_then(Value::as_str).unwrap_or_default();
        prop_assert_eq!(read.is_ok(), !kind.is_empty());
        if let Ok(item) = read {
            prop_assert_eq!(item.identity.get(Field::Id).is_some(), value.get("id")
                .and_then(Value::as_str).is_some_and(|id| !id.is_empty()));
        }
    }

    #[test]
    fn the_events_of_a_whole_item_are_json_whatever_the_item(value in any_json()) {
        if Item::read(value.to_string().as_bytes()).is_ok() {
            let events = whole(&value, ReasoningParts::default());
            prop_assert!(events.iter().all(|event| event["output_index"] == 0));
            // An id that it lacks is made.
            let without_id = |item: &Value| without(item.clone(), "id");
            prop_assert_eq!(without_id(&events.last().unwrap()["item"]), without_id(&value));
        }
    }

    #[test]
    fn deltas_add_up_to_the_payload(text in any_text(), id in "[a-z\"\\\\\u{e9}]{1,4}") {
        for item in [
            message(&id, &text),
            reasoning(&id, &text),
            call(&id, "call_1", "f", &text),
            custom(&id, "call_1", "f", &text),
            mcp(&id, "f", &text),
            code(&id, &text),
        ] {
            let events = whole(&item, ReasoningParts::default());
            prop_assert_eq!(deltas(&events).concat(), text.as_str());
            let mut stream: Vec<Event> = events.iter().map(|event| modelled_event(event).1).collect();
            stream.push(terminal([item]));
            prop_assert_eq!(faults(&numbered(stream)), [""; 0]);
        }
    }
}
