//! What must hold of every stream, however it is mixed up.

use proptest::collection::vec;
use proptest::option::weighted;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Value, json};
use sse_rewrite::Policy;

use crate::driver::{play, play_under};
use crate::judge::{faults, losses};
use crate::model::{Event, Numbered, delta_type, numbered, unnumbered};

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

fn any_event() -> impl Strategy<Value = Event> {
    let item_event = (any_index(), any_item(), any::<bool>());
    let types: Vec<&str> = KINDS
        .iter()
        .map(|kind| delta_type(kind))
        .chain(["response.content_part.added", "response.mcp_call.completed"])
        .collect();
    let ids = one_of(&["", "a", "b", "c", "d", "k"]);
    prop_oneof![
        4 => item_event.prop_map(|(index, item, close)| if close {
            Event::Done { index, item }
        } else {
            Event::Added { index, item }
        }),
        3 => (select(types), any_index(), ids).prop_map(|(event_type, index, id)| {
            Event::Scoped {
                event_type: event_type.to_owned(),
                index,
                item_id: id.map(str::to_owned),
                text: String::new(),
            }
        }),
        1 => Just(Event::Created),
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
    (vec(any_event(), 0..10), output, any::<bool>()).prop_map(|(mut events, output, counts)| {
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
        events.push(Event::Terminal { output });
        if counts {
            numbered(events)
        } else {
            unnumbered(events)
        }
    })
}

/// A stream that keeps the contract: items interleaved, ids distinct, the output as streamed.
pub(crate) fn sound_stream() -> impl Strategy<Value = Vec<Numbered>> {
    let item = (
        select(&KINDS[..]),
        select(vec!["", "x", "{}", "{"]),
        one_of(&["f", "browser.f"]),
        0..3usize,
    );
    (
        vec(item, 0..5),
        vec(any::<prop::sample::Index>(), 30),
        any::<bool>(),
    )
        .prop_map(|(items, turns, counts)| {
            let mut waiting: Vec<Vec<Event>> = Vec::new();
            let mut output = Vec::new();
            for (slot, (kind, text, name, deltas)) in items.into_iter().enumerate() {
                let index = Some(slot as u64);
                let named = |mut item: Value, name: Option<&str>| {
                    item["id"] = json!(format!("i{slot}"));
                    if matches!(kind, "function_call" | "custom_tool_call") {
                        item["call_id"] = json!(format!("k{slot}"));
                    }
                    if let Some(name) = name.filter(|_| kind.ends_with("_call")) {
                        item["name"] = json!(name);
                    }
                    item
                };
                let delta = Event::Scoped {
                    event_type: delta_type(kind).to_owned(),
                    index,
                    item_id: Some(format!("i{slot}")),
                    text: format!("text {slot}"),
                };
                // A name that the announcement lacks is filled in by the close.
                let announced = named(saying(kind, "", false), name.filter(|_| deltas > 0));
                let mut events = vec![Event::Added {
                    index,
                    item: announced,
                }];
                events.extend(std::iter::repeat_n(delta, deltas));
                let item = named(saying(kind, text, false), name);
                events.push(Event::Done { index, item });
                events.reverse();
                waiting.push(events);
                output.push(named(saying(kind, text, true), name));
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
            events.push(Event::Terminal { output });
            if counts {
                numbered(events)
            } else {
                unnumbered(events)
            }
        })
}

fn conventional() -> Policy {
    Policy {
        conventional_ids: true,
        ..Policy::default()
    }
}

proptest! {
    #[test]
    fn any_stream_comes_out_keeping_the_contract(stream in any_stream()) {
        let played = play(&stream);
        prop_assert_eq!(faults(&played.sent), [""; 0], "{:#?}", played.lines());
        prop_assert_eq!(losses(&stream, &played.sent), [""; 0], "{:#?}", played.lines());
    }

    #[test]
    fn numbers_that_came_contiguous_leave_contiguous(stream in any_stream()) {
        let sent = play(&stream).sent;
        let numbers: Vec<u64> = sent.iter().filter_map(|(number, _)| *number).collect();
        let count = if stream[0].0.is_some() { sent.len() } else { 0 };
        prop_assert_eq!(numbers, (0..count as u64).collect::<Vec<_>>());
    }

    #[test]
    fn conventional_ids_keep_the_contract_too(stream in any_stream()) {
        let played = play_under(conventional(), &stream);
        prop_assert_eq!(faults(&played.sent), [""; 0], "{:#?}", played.lines());
        let again = play_under(conventional(), &played.sent);
        prop_assert_eq!(again.sent, played.sent);
    }

    #[test]
    fn a_second_pass_changes_nothing(stream in any_stream()) {
        let played = play(&stream);
        let again = play(&played.sent);
        prop_assert_eq!(&again.sent, &played.sent);
        prop_assert!(again.report.is_untouched(), "{:?}", again.report);
    }

    #[test]
    fn what_is_reported_untouched_is_unchanged(stream in any_stream()) {
        let played = play(&stream);
        if played.report.is_untouched() {
            // A second `response.created` is the caller's to drop and to report.
            let created = |(_, event): &&Numbered| *event == Event::Created;
            if stream.iter().filter(created).count() < 2 {
                prop_assert_eq!(played.sent, stream);
            }
        }
    }

    #[test]
    fn a_sound_stream_is_left_as_it_is(stream in sound_stream()) {
        prop_assert_eq!(faults(&stream), [""; 0], "the generator is wrong");
        let played = play(&stream);
        prop_assert_eq!(&played.sent, &stream);
        prop_assert!(played.report.is_untouched(), "{:?}", played.report);
    }
}
