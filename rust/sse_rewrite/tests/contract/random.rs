//! Random streams: any at all, and such as keep the contract.

use proptest::collection::vec;
use proptest::option::weighted;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Value, json};

use crate::model::{
    End, Event, Numbered, added, delta_type, done, field, numbered, opened, part_list, scoped,
    text_key, unnumbered,
};

const KINDS: [&str; 7] = [
    "message",
    "reasoning",
    "function_call",
    "custom_tool_call",
    "mcp_call",
    "code_interpreter_call",
    "web_search_call",
];

fn one_of(texts: &'static [&'static str]) -> impl Strategy<Value = Option<&'static str>> {
    weighted(0.8, select(texts))
}

/// An item of any type whose names come from a small pool, so that they often clash.
pub(crate) fn any_item() -> impl Strategy<Value = Value> {
    (
        select(&KINDS[..]),
        one_of(&["", "a", "b", "c", "d"]),
        one_of(&["", "a", "k", "l"]),
        one_of(&["", "f", "browser.f"]),
        select(vec!["", "x", "y", "{}", "{"]),
        any::<bool>(),
    )
        .prop_map(|(kind, id, call_id, name, text, extras)| {
            let mut item = saying(kind, text, extras);
            item["id"] = json!(id);
            if kind.ends_with("_call") && kind != "web_search_call" {
                item["call_id"] = json!(call_id);
                item["name"] = json!(name);
            }
            item
        })
}

/// An item without names that says `text`; with `extras` as a server adds them at the end.
fn saying(kind: &str, text: &str, extras: bool) -> Value {
    let mut item = json!({"type": kind});
    let logprobs = if extras {
        json!([{"logprob": -1.5}])
    } else {
        json!(null)
    };
    match kind {
        "message" => {
            item["content"] = json!([{"type": "output_text", "text": text, "logprobs": logprobs}]);
        }
        "reasoning" => item["content"] = json!([{"type": "reasoning_text", "text": text}]),
        "custom_tool_call" => item["input"] = json!(text),
        "code_interpreter_call" => item["code"] = json!(text),
        "web_search_call" if !text.is_empty() => item["action"] = json!({"query": text}),
        "web_search_call" => {}
        _ => item["arguments"] = json!(text),
    }
    if extras {
        item["status"] = json!("completed");
    }
    item
}

fn any_index() -> impl Strategy<Value = Option<u64>> {
    weighted(0.9, 0..4u64)
}

/// The events of an item that say something, or change its status, without `response.`.
const SCOPED: [&str; 14] = [
    "output_text.delta",
    "output_text.done",
    "refusal.delta",
    "reasoning_text.delta",
    "reasoning_summary_text.delta",
    "content_part.added",
    "content_part.done",
    "function_call_arguments.delta",
    "function_call_arguments.done",
    "custom_tool_call_input.delta",
    "mcp_call_arguments.delta",
    "code_interpreter_call_code.delta",
    "web_search_call.searching",
    "mcp_call.completed",
];

fn any_event() -> impl Strategy<Value = Event> {
    let item_event = (any_index(), any_item(), any::<bool>());
    let ids = one_of(&["", "a", "b", "c", "d", "k"]);
    let place = (weighted(0.9, 0..2u64), any::<bool>());
    let event = (select(&SCOPED[..]), any_index(), ids, place);
    prop_oneof![
        16 => item_event.prop_map(|(index, item, close)| if close {
            Event::Done { index, item }
        } else {
            Event::Added { index, item }
        }),
        16 => event.prop_map(|(event_type, index, id, (part, is_reasoning))| {
            let is_part = event_type.starts_with("content_part");
            let part_type = if is_reasoning { "reasoning_text" } else { "output_text" };
            Event::Scoped {
                event_type: format!("response.{event_type}"),
                index,
                item_id: id.map(str::to_owned),
                part: part.filter(|_| part_list(event_type).is_some()),
                part_type: is_part.then(|| part_type.to_owned()),
                text: String::new(),
            }
        }),
        4 => Just(Event::Created),
    ]
}

/// Any events, then any output: partly the items that were closed, in any order.
pub(crate) fn any_stream() -> impl Strategy<Value = Vec<Numbered>> {
    let output = vec(
        prop_oneof![
            any_item().prop_map(Ok),
            (
                any::<prop::sample::Index>(),
                weighted(0.5, select(vec!["a", "z"]))
            )
                .prop_map(Err),
        ],
        0..5,
    );
    let end = (select(&End::ALL[..]), proptest::bool::weighted(0.1));
    let all = (vec(any_event(), 0..10), output, end, any::<bool>());
    all.prop_map(|(mut events, output, (end, fails), counts)| {
        for (place, event) in events.iter_mut().enumerate() {
            if let Event::Scoped {
                event_type, text, ..
            } = event
                && !event_type.contains("_call.")
            {
                *text = format!("text {place}");
            }
        }
        let closed: Vec<&Value> = events
            .iter()
            .filter_map(|event| match event {
                Event::Done { item, .. } => Some(item),
                _ => None,
            })
            .collect();
        let output = output
            .into_iter()
            .filter_map(|item| match item {
                Ok(item) => Some(item),
                Err((_, _)) if closed.is_empty() => None,
                Err((place, id)) => {
                    let mut item = (*place.get(&closed)).clone();
                    if let Some(id) = id {
                        item["id"] = json!(id);
                    }
                    Some(item)
                }
            })
            .collect();
        events.extend(fails.then_some(Event::Error));
        events.push(Event::Terminal { end, output });
        if counts {
            numbered(events)
        } else {
            unnumbered(events)
        }
    })
}

/// A stream that keeps the contract: items interleaved, ids distinct, parts opened, the output as
/// streamed.
pub(crate) fn sound_stream() -> impl Strategy<Value = Vec<Numbered>> {
    let item = (
        select(&KINDS[..]),
        select(vec!["", "x", "{}", "{", "some text"]),
        one_of(&["f", "browser.f"]),
        0..3usize,
    );
    let end = select(vec![End::Completed, End::Incomplete]);
    (
        vec(item, 0..5),
        vec(any::<prop::sample::Index>(), 40),
        any::<bool>(),
        end,
    )
        .prop_map(|(items, turns, counts, end)| {
            let mut output = Vec::new();
            let mut waiting: Vec<Vec<Event>> = Vec::new();
            for (slot, (kind, text, name, deltas)) in items.into_iter().enumerate() {
                let mut events = sound_item(slot, kind, text, name, deltas);
                events.reverse();
                waiting.push(events);
                output.push(sound_names(saying(kind, text, true), slot, name));
            }
            let mut events = vec![Event::Created];
            let mut announced = 0;
            let mut turns = turns.into_iter();
            loop {
                // Any item already announced may go on, or the next one is announced.
                let able: Vec<usize> = (0..waiting.len().min(announced + 1))
                    .filter(|&slot| !waiting[slot].is_empty())
                    .collect();
                let Some(turn) = turns.next().filter(|_| !able.is_empty()) else {
                    break;
                };
                let slot = *turn.get(&able);
                announced = announced.max(slot + 1);
                events.extend(waiting[slot].pop());
            }
            for mut events_left in waiting {
                events_left.reverse();
                events.extend(events_left);
            }
            events.push(Event::Terminal { end, output });
            if counts {
                numbered(events)
            } else {
                unnumbered(events)
            }
        })
}

/// `item` with names of its own.
fn sound_names(mut item: Value, slot: usize, name: Option<&str>) -> Value {
    let kind = field(&item, "type").unwrap().to_owned();
    item["id"] = json!(format!("i{slot}"));
    let is_client_call = matches!(&*kind, "function_call" | "custom_tool_call");
    if is_client_call {
        item["call_id"] = json!(format!("k{slot}"));
    }
    // A call that a client runs has a name.
    let name = name.or(is_client_call.then_some("f"));
    if let Some(name) = name.filter(|_| kind.ends_with("_call")) {
        item["name"] = json!(name);
    }
    item
}

/// The events of one item, whose text comes in so many deltas, or with its close alone.
fn sound_item(
    slot: usize,
    kind: &str,
    text: &str,
    name: Option<&str>,
    deltas: usize,
) -> Vec<Event> {
    let index = slot as u64;
    let item = sound_names(saying(kind, text, false), slot, name);
    // A name that the announcement of a hosted call lacks is filled in by the close.
    let is_client_call = matches!(kind, "function_call" | "custom_tool_call");
    let announced = name.filter(|_| deltas > 0 || is_client_call);
    let mut events = vec![added(
        index,
        sound_names(saying(kind, "", false), slot, announced),
    )];
    if deltas > 0 {
        events.extend(opened(index, &item));
    }
    let event_type = delta_type(kind).trim_start_matches("response.");
    let is_text = text_key(event_type).is_some();
    let mut rest = text;
    for left in (0..deltas).rev() {
        let (piece, after) = rest.split_at(if left > 0 { rest.len() / 2 } else { rest.len() });
        rest = after;
        let piece = if is_text { piece } else { "" };
        events.push(scoped(event_type, index, &format!("i{slot}"), piece));
    }
    events.push(done(index, item));
    events
}
