//! Streams that were once sent wrongly, written by hand.

use serde_json::{Value, json};

use crate::event::{Event, field, show_all};
use crate::wire::{Layout, parse, rewritten};

fn call(id: &str, call_id: &str, arguments: &str) -> Value {
    json!({"type": "function_call", "id": id, "call_id": call_id, "name": "g",
        "arguments": arguments})
}

fn message(id: &str, text: &str) -> Value {
    let part = json!({"type": "output_text", "text": text, "annotations": []});
    let content = if text.is_empty() {
        json!([])
    } else {
        json!([part])
    };
    json!({"type": "message", "id": id, "role": "assistant", "content": content})
}

fn created() -> Value {
    json!({"type": "response.created", "response": {"id": "r", "output": []}})
}

fn added(index: u64, item: &Value) -> Value {
    json!({"type": "response.output_item.added", "output_index": index, "item": item})
}

fn closed(index: u64, item: &Value) -> Value {
    json!({"type": "response.output_item.done", "output_index": index, "item": item})
}

fn delta(index: u64, id: &str, text: &str) -> Value {
    json!({"type": "response.function_call_arguments.delta", "output_index": index,
        "item_id": id, "delta": text})
}

fn arguments(index: u64, id: &str, text: &str) -> Value {
    json!({"type": "response.function_call_arguments.done", "output_index": index,
        "item_id": id, "arguments": text})
}

fn end(kind: &str, output: &[Value]) -> Value {
    json!({"type": format!("response.{kind}"), "response": {"id": "r", "output": output}})
}

/// What is sent for these events; a second pass must change nothing.
fn sent(events: &[Value]) -> Vec<Event> {
    let events: Vec<Event> = events.iter().cloned().map(Event::new).collect();
    let once = rewritten(&Layout::default().bytes(&events));
    let sent = parse(&once);
    let twice = parse(&rewritten(&once));
    assert_eq!(show_all(&sent), show_all(&twice), "a second pass");
    sent
}

/// The closed calls: `call_id` and arguments.
fn closes(sent: &[Event]) -> Vec<(String, String)> {
    let items = sent
        .iter()
        .filter(|event| event.is_done())
        .filter_map(Event::item);
    items.map(named).collect()
}

/// The calls of the terminal output: `call_id` and arguments.
fn listed(sent: &[Event]) -> Vec<(String, String)> {
    let end = sent.last().expect("an end");
    end.output().iter().map(named).collect()
}

fn named(item: &Value) -> (String, String) {
    let text = |key| field(item, key).unwrap_or_default().to_owned();
    (text("call_id"), text("arguments"))
}

fn pairs(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    let owned = |(id, text): &(&str, &str)| ((*id).to_owned(), (*text).to_owned());
    pairs.iter().map(owned).collect()
}

/// A call without a `call_id` waits when the body ends: its announcement and a delta.
fn waiting() -> String {
    let events = [
        created(),
        added(0, &call("fc_0", "", "")),
        delta(0, "fc_0", "A"),
    ];
    let events = events.map(Event::new);
    String::from_utf8(Layout::default().bytes(&events)).expect("text")
}

#[test]
fn what_waits_goes_out_before_the_remainder_of_a_body_that_is_cut() {
    let rest = "event: response.output_item.done\ndata: {\"item\":{\"argum";
    let body = waiting() + rest;
    let sent = String::from_utf8(rewritten(body.as_bytes())).expect("text");
    assert_eq!(sent, body);
}

#[test]
fn a_last_event_without_its_blank_line_may_name_the_call_that_waits() {
    for line_end in ["", "\n"] {
        let last = Event::new(closed(0, &call("fc_0", "call_0", "A")));
        let body = waiting() + &format!("data: {}{line_end}", last.body);
        let sent = parse(&rewritten(body.as_bytes()));
        let names: Vec<&str> = sent.iter().map(Event::name).collect();
        let deltas = "function_call_arguments.delta";
        assert_eq!(
            names,
            ["created", "output_item.added", deltas, "output_item.done"]
        );
        assert_eq!(closes(&sent), pairs(&[("call_0", "A")]));
    }
}

#[test]
fn nothing_is_glued_to_a_last_event_without_its_blank_line() {
    let last = json!({"type": "response.output_item.added", "output_index": 1,
        "item": message("msg_1", "")});
    let body = waiting() + &format!("data: {last}");
    let sent = parse(&rewritten(body.as_bytes()));
    assert_eq!(sent.iter().filter(|event| event.is_added()).count(), 2);
    assert!(!sent.iter().any(Event::is_raw), "{}", show_all(&sent));
    // Where nothing comes after it, it is sent as it came.
    let body = format!("data: {}\n\ndata: {last}", created()).replace(":1,", ":0,");
    assert_eq!(String::from_utf8_lossy(&rewritten(body.as_bytes())), body);
}

#[test]
fn a_joined_call_without_a_name_is_not_put_back() {
    let sent = sent(&[
        delta(0, "fc_0", " "),
        arguments(0, "fc_0", "x "),
        added(1, &message("msg_1", "")),
        end("completed", &[]),
    ]);
    let end = sent.last().expect("an end");
    assert!(
        !end.is_raw() && end.output().len() == 1,
        "{}",
        show_all(&sent)
    );
}

#[test]
fn a_close_that_names_a_closed_call_does_not_close_another() {
    // The second close comes without an index, or at one that all items share.
    let without_index = |mut event: Value| {
        event
            .as_object_mut()
            .expect("an object")
            .remove("output_index");
        event
    };
    let events = [
        created(),
        added(0, &call("fc_0", "call_0", "")),
        delta(0, "fc_0", "A"),
        added(0, &call("fc_1", "call_1", "")),
        delta(0, "fc_1", "B"),
        closed(0, &call("fc_0", "call_0", "A")),
        closed(0, &call("fc_0", "call_0", "A")),
        end(
            "completed",
            &[call("fc_0", "call_0", "A"), call("fc_1", "call_1", "B")],
        ),
    ];
    let want = pairs(&[("call_0", "A"), ("call_1", "B")]);
    let bare = events.clone().map(without_index);
    for events in [events, bare] {
        let sent = sent(&events);
        assert_eq!(closes(&sent), want, "{}", show_all(&sent));
        assert_eq!(listed(&sent), want);
    }
}

#[test]
fn where_all_calls_share_an_id_the_call_id_says_which_is_closed() {
    let sent = sent(&[
        created(),
        added(0, &call("same", "call_0", "")),
        delta(0, "same", "A"),
        closed(0, &call("same", "call_0", "A")),
        added(1, &call("same", "call_1", "")),
        delta(1, "same", "B"),
        closed(0, &call("same", "call_0", "")),
        closed(1, &call("same", "call_1", "B")),
        end(
            "completed",
            &[call("same", "call_0", "A"), call("same", "call_1", "B")],
        ),
    ]);
    let want = pairs(&[("call_0", "A"), ("call_1", "B")]);
    assert_eq!((closes(&sent), listed(&sent)), (want.clone(), want));
}

#[test]
fn where_all_calls_share_an_id_the_index_says_whose_arguments_come() {
    let sent = sent(&[
        created(),
        added(0, &call("same", "call_0", "")),
        closed(0, &call("same", "call_0", "")),
        added(1, &call("same", "call_1", "")),
        delta(1, "same", "B"),
        delta(0, "same", "A"),
        closed(1, &call("same", "call_1", "B")),
        end(
            "completed",
            &[call("same", "call_0", ""), call("same", "call_1", "B")],
        ),
    ]);
    let closes = closes(&sent);
    assert_eq!(closes[..2], pairs(&[("call_0", ""), ("call_1", "B")])[..]);
    assert_eq!(closes[2].1, "A", "{}", show_all(&sent));
}

#[test]
fn of_two_calls_under_one_call_id_the_terminal_output_tells_of_each() {
    let sent = sent(&[
        created(),
        added(0, &call("fc_1", "call_0", "")),
        delta(0, "fc_1", "B"),
        closed(0, &call("fc_1", "call_0", "B")),
        end(
            "completed",
            &[call("fc_0", "call_0", "A"), call("fc_1", "call_0", "B")],
        ),
    ]);
    let closes = closes(&sent);
    assert_eq!(closes[0], pairs(&[("call_0", "B")])[0]);
    assert_eq!(closes[1].1, "A", "{}", show_all(&sent));
    assert_ne!(closes[1].0, "call_0");
    assert_eq!(listed(&sent), closes);
}

#[test]
fn a_joined_stream_that_fails_keeps_what_was_not_seen() {
    let events = [
        added(2, &message("msg_2", "")),
        json!({"type": "response.content_part.added", "output_index": 2, "item_id": "msg_2",
            "content_index": 0, "part": {"type": "output_text", "text": ""}}),
        end(
            "failed",
            &[call("fc_0", "call_0", "A"), message("msg_1", "B")],
        ),
    ];
    assert_eq!(show_all(&sent(&events)), show_all(&events.map(Event::new)));
}

#[test]
fn a_failure_announces_no_call_that_the_server_did_not() {
    let begun = [created(), delta(0, "fc_0", "A"), arguments(0, "fc_0", "A")];
    for failure in [
        Some(end("failed", &[])),
        Some(json!({"type": "error"})),
        None,
    ] {
        let events: Vec<Value> = begun.iter().cloned().chain(failure).collect();
        let came: Vec<Event> = events.iter().cloned().map(Event::new).collect();
        assert_eq!(show_all(&sent(&events)), show_all(&came));
    }
}

#[test]
fn in_a_joined_stream_an_item_without_an_index_is_not_announced_again() {
    let events = [
        json!({"type": "response.output_text.delta", "item_id": "msg_0", "content_index": 0,
            "delta": "A"}),
        added(1, &call("fc_1", "call_1", "")),
        closed(1, &call("fc_1", "call_1", "")),
        json!({"type": "response.output_item.done", "item": message("msg_0", "A")}),
        end(
            "completed",
            &[message("msg_0", "A"), call("fc_1", "call_1", "")],
        ),
    ];
    assert_eq!(show_all(&sent(&events)), show_all(&events.map(Event::new)));
}

#[test]
fn arguments_at_an_index_are_not_those_of_an_item_without_one() {
    let mut first = added(0, &call("fc_0", "call_0", ""));
    first
        .as_object_mut()
        .expect("an object")
        .remove("output_index");
    let sent = sent(&[
        created(),
        first,
        delta(1, "fc_1", "B"),
        closed(1, &call("fc_1", "call_1", "B")),
        end(
            "completed",
            &[call("fc_0", "call_0", ""), call("fc_1", "call_1", "B")],
        ),
    ]);
    assert_eq!(listed(&sent), pairs(&[("call_0", ""), ("call_1", "B")]));
}

#[test]
fn what_is_said_after_the_close_of_a_call_that_waits_is_not_lost() {
    let begun = [created(), added(0, &call("fc_0", "", ""))];
    let late_arguments = vec![
        closed(0, &call("fc_0", "", "")),
        delta(0, "fc_0", "A"),
        arguments(0, "fc_0", "A"),
        closed(0, &call("fc_0", "", "A")),
    ];
    let longer_close = vec![
        delta(0, "fc_0", "A"),
        closed(0, &call("fc_0", "", "A")),
        closed(0, &call("fc_0", "", "A and more")),
    ];
    let longer_announcement = vec![
        delta(0, "fc_0", "A"),
        closed(0, &call("fc_0", "", "A")),
        added(0, &call("fc_0", "", "A and more")),
    ];
    let again_while_open = vec![
        delta(0, "fc_0", "A"),
        added(0, &call("fc_0", "", "A and more")),
    ];
    for (events, text) in [
        (late_arguments, "A"),
        (longer_close, "A and more"),
        (longer_announcement, "A and more"),
        (again_while_open, "A and more"),
    ] {
        let events = begun.iter().cloned().chain(events);
        let end = end("completed", &[call("fc_0", "call_0", "A")]);
        let sent = sent(&events.chain([end]).collect::<Vec<_>>());
        // The terminal output may have what any of its events said.
        assert_eq!(
            closes(&sent),
            pairs(&[("call_0", text)]),
            "{}",
            show_all(&sent)
        );
        assert_eq!(listed(&sent).len(), 1);
    }
}

#[test]
fn an_unnamed_announcement_that_repeats_a_closed_call_is_dropped() {
    let mut naming = arguments(0, "fc_0", "");
    naming["call_id"] = json!("call_0");
    let sent = sent(&[
        created(),
        added(0, &call("fc_0", "", "")),
        naming,
        closed(0, &call("fc_0", "call_0", "")),
        added(0, &call("fc_0", "", "")),
        end("completed", &[call("fc_0", "call_0", "")]),
    ]);
    let want = pairs(&[("call_0", "")]);
    assert_eq!((closes(&sent), listed(&sent)), (want.clone(), want));
}

#[test]
fn arguments_of_no_announced_call_are_not_those_of_another_that_failed() {
    let sent = sent(&[
        created(),
        delta(0, "fc_0", "A"),
        added(1, &call("fc_1", "call_1", "")),
        end("failed", &[]),
    ]);
    let places: Vec<_> = sent
        .iter()
        .filter_map(|it| Some((it.index()?, it.id()?)))
        .collect();
    assert_eq!(places, [(0, "fc_1"), (1, "fc_0")]);
}

#[test]
fn what_comes_after_a_close_without_a_call_id_is_given_one() {
    let sent = sent(&[
        created(),
        added(0, &call("fc_0", "", "")),
        delta(0, "fc_0", "A"),
        closed(0, &call("fc_0", "call_0", "A")),
        added(0, &call("fc_0", "", "other")),
        end("completed", &[call("fc_0", "call_0", "A")]),
    ]);
    let closes = closes(&sent);
    assert_eq!(closes.len(), 2, "{}", show_all(&sent));
    assert!(closes[1].0.starts_with("call_") && closes[1].1 == "other");
    assert_eq!(listed(&sent), closes);
}

#[test]
fn a_call_without_a_name_that_only_the_end_lists_goes_last() {
    let mut unnamed = call("fc_0", "", "A");
    unnamed["name"] = json!("");
    let sent = sent(&[
        created(),
        end("completed", &[unnamed, message("msg_1", "B")]),
    ]);
    let listed = sent.last().expect("an end").output();
    let kinds: Vec<_> = listed
        .iter()
        .filter_map(|item| field(item, "type"))
        .collect();
    assert_eq!(kinds, ["message", "function_call"]);
}

#[test]
fn a_summary_part_is_closed_under_the_number_it_was_streamed_under() {
    let sent = sent(&[
        created(),
        json!({"type": "response.reasoning_summary_text.delta", "output_index": 0,
            "item_id": "rs_0", "summary_index": 1, "delta": "x"}),
        end("completed", &[]),
    ]);
    let parts: Vec<_> = sent
        .iter()
        .filter_map(|event| event.body["summary_index"].as_u64())
        .collect();
    assert_eq!(parts, [1; 4], "{}", show_all(&sent));
}

#[test]
fn an_inserted_announcement_of_a_known_item_has_its_container() {
    let sent = sent(&[
        created(),
        closed(
            0,
            &json!({"type": "code_interpreter_call", "id": "ci_0", "code": "1",
            "container_id": "cntr_7", "outputs": null, "status": "completed"}),
        ),
        end("completed", &[]),
    ]);
    assert_eq!(sent[1].body["item"]["container_id"], "cntr_7");
}

#[test]
fn an_item_that_is_left_open_is_left_open_by_a_second_pass() {
    // What such an event says has no place in the item that the rewriter knows.
    let shell = json!({"type": "shell_call", "id": "sh_0", "call_id": "call_0",
        "status": "in_progress"});
    let sent = sent(&[
        created(),
        added(0, &shell),
        json!({"type": "response.shell_call_command.delta", "output_index": 0,
            "command_index": 0, "delta": "ls"}),
        end("completed", &[]),
    ]);
    assert!(!sent.iter().any(Event::is_done));
}
