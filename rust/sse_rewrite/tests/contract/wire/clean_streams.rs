//! Streams as `OpenAI` sends them: every event type and item type of its API, without a fault.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::model::field;
use crate::wire::api::{Streamed, event, items};
use crate::wire::encoding::{LAYOUTS, rewritten_in};

/// The stream of a response that has `items` and ends with the event `end`.
fn stream(items: Vec<Streamed>, end: &str) -> Vec<Value> {
    let response = |status: &str, output: &[Value]| {
        json!({"id": "resp_1", "object": "response", "created_at": 1_768_000_000.0,
            "status": status, "output": output, "temperature": 1.0})
    };
    let mut events = vec![
        json!({"type": "response.created", "response": response("in_progress", &[])}),
        json!({"type": "response.queued", "response": response("queued", &[])}),
        json!({"type": "response.in_progress", "response": response("in_progress", &[])}),
    ];
    let mut output = Vec::new();
    for (index, streamed) in items.into_iter().enumerate() {
        let Streamed {
            mut announced,
            events: own,
            mut closed,
        } = streamed;
        let id = format!("item_{index}");
        announced["id"] = json!(id);
        closed["id"] = json!(id);
        events.push(
            json!({"type": "response.output_item.added", "item": announced,
            "output_index": index}),
        );
        for mut event in own {
            event["output_index"] = json!(index);
            if !field(&event, "type")
                .unwrap()
                .contains("shell_call_command")
            {
                event["item_id"] = json!(id);
            }
            events.push(event);
        }
        events.push(json!({"type": "response.output_item.done", "item": closed,
            "output_index": index}));
        output.push(closed);
    }
    for kind in [
        "audio.delta",
        "audio.done",
        "audio.transcript.delta",
        "audio.transcript.done",
    ] {
        events.push(event(kind, &json!({"delta": "UklGRg=="})));
    }
    events.push(json!({"type": "error", "code": null, "message": "m", "param": null}));
    events.push(json!({"type": format!("response.{end}"), "response": response(end, &output)}));
    for (number, event) in events.iter_mut().enumerate() {
        event["sequence_number"] = json!(number);
    }
    events
}

fn passes(events: &[Value], what: &str) {
    for layout in LAYOUTS {
        let bytes = layout.stream(events);
        for chunk in [usize::MAX, 1400, 3] {
            let (sent, rewriter) = rewritten_in(chunk, &bytes);
            assert_eq!(
                String::from_utf8_lossy(&sent),
                String::from_utf8_lossy(&bytes),
                "{what}"
            );
            assert!(rewriter.report().is_untouched(), "{what}");
        }
    }
}

#[test]
fn a_response_of_any_one_item_passes() {
    for (index, item) in items().into_iter().enumerate() {
        let kind = field(&item.closed, "type").unwrap().to_owned();
        let end = ["completed", "incomplete", "failed"][index % 3];
        passes(&stream(vec![item], end), &kind);
    }
}

#[test]
fn a_response_of_all_items_passes() {
    for end in ["completed", "incomplete", "failed"] {
        passes(&stream(items(), end), end);
    }
}

#[test]
fn all_types_of_the_api_are_among_them() {
    let events: Vec<Value> = ["completed", "incomplete", "failed"]
        .iter()
        .flat_map(|end| stream(items(), end))
        .collect();
    let types = |events: &mut dyn Iterator<Item = &Value>| -> BTreeSet<String> {
        events
            .map(|event| field(event, "type").unwrap().to_owned())
            .collect()
    };
    // The package lists 59 and lacks the two of `apply_patch_call_operation_diff`.
    assert_eq!(types(&mut events.iter()).len(), 59 + 2);
    assert_eq!(
        types(&mut items().iter().map(|item| &item.closed)).len(),
        28
    );
}
