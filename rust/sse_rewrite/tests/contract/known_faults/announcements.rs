//! Faults in announcements, indices and ids while the stream goes on.

use crate::driver::play;
use crate::known_faults::{check, check_numbered, joined};
use crate::model::{
    Event, added, call, done, lifecycle, mcp, message, numbered, reasoning, scoped, search,
    terminal, unnumbered, unplaced, with, without,
};

#[test]
fn c08_a_second_item_at_a_taken_index_is_a_new_item() {
    let query = r#"{"query":"ferry"}"#;
    let browse = search("tool_1", "ferry");
    let stream = joined([
        lifecycle(0, &reasoning("msg_1", "look")),
        lifecycle(1, &mcp("mcp_1", "search", query)),
        vec![
            added(1, browse.clone()),
            scoped("web_search_call.searching", 2, "tool_1", ""),
            done(1, browse),
        ],
        lifecycle(2, &message("msg_2", "hourly")),
        vec![terminal([
            reasoning("rs_9", "look"),
            search("ws_9", "ferry"),
            message("msg_9", "hourly"),
        ])],
    ]);
    let played = check(
        stream,
        "reasoning=msg_1 | mcp_call=mcp_1 | web_search_call=tool_1 | message=msg_2",
    );
    let places: Vec<&str> = vec![
        "added 2 web_search_call=tool_1",
        "web_search_call.searching 2 tool_1",
        "done 2 web_search_call=tool_1",
        "added 3 message=msg_2",
    ];
    assert_eq!(played.lines()[7..11], places);
}

#[test]
fn c16_a_message_without_announcement_gets_one_with_its_content_part() {
    let stream = joined([
        lifecycle(0, &reasoning("msg_1", "shout")),
        vec![
            scoped("output_text.done", 1, "msg_2", "AHOY"),
            done(1, message("msg_2", "AHOY")),
            terminal([reasoning("rs_9", "shout"), message("msg_9", "AHOY")]),
        ],
    ]);
    let played = check(stream, "reasoning=msg_1 | message=msg_2");
    assert_eq!(
        played.lines()[4..8],
        [
            "added 1 message=msg_2",
            "content_part.added 1 msg_2",
            "output_text.done 1 msg_2 AHOY",
            "done 1 message=msg_2",
        ]
    );
}

#[test]
fn c23_an_unknown_id_at_an_announced_index_is_the_item_there() {
    let tools = serde_json::json!({"type": "mcp_list_tools", "id": "mcpl_1",
        "server_label": "wiki", "tools": [{"name": "ask"}]});
    let stream = vec![
        added(0, tools.clone()),
        scoped("mcp_list_tools.completed", 0, "mcpl_1", ""),
        done(0, tools.clone()),
        added(1, mcp("mcp_2", "ask", "")),
        scoped("mcp_call_arguments.delta", 1, "mcp_2", "{}"),
        scoped("mcp_call.completed", 1, "mcp_3", ""),
        done(1, mcp("mcp_3", "ask", "{}")),
        terminal([with(tools, "id", "mcpl_9"), mcp("mcp_9", "ask", "{}")]),
    ];
    let played = check(stream, "mcp_list_tools=mcpl_1 | mcp_call=mcp_2");
    assert_eq!(played.sent.len(), 8);
    assert_eq!(played.lines()[5], "mcp_call.completed 1 mcp_2");
}

#[test]
fn c26_overlapping_calls_without_id_and_index_are_told_apart_by_call_id() {
    let first = without(call("", "fc_P", "f", r#"{"a":1}"#), "id");
    let second = without(call("", "fc_R", "f", r#"{"a":2}"#), "id");
    let at = |item: &serde_json::Value, close: bool| {
        let (index, item) = (None, item.clone());
        if close {
            Event::Done { index, item }
        } else {
            Event::Added { index, item }
        }
    };
    let delta = "function_call_arguments.delta";
    let stream = unnumbered(vec![
        at(&first, false),
        unplaced(delta, Some("fc_P"), r#"{"a":"#),
        at(&second, false),
        unplaced(delta, Some("fc_R"), r#"{"a":2}"#),
        unplaced(delta, Some("fc_P"), "1}"),
        at(&first, true),
        at(&second, true),
        terminal([first, second]),
    ]);
    let played = check_numbered(&stream, "function_call=fc_P/fc_P | function_call=fc_R/fc_R");
    assert_eq!(
        played.lines()[1..6],
        [
            r#"function_call_arguments.delta 0 fc_P {"a":"#,
            "added 1 function_call=fc_R/fc_R",
            r#"function_call_arguments.delta 1 fc_R {"a":2}"#,
            "function_call_arguments.delta 0 fc_P 1}",
            "done 0 function_call=fc_P/fc_P",
        ]
    );
    assert!(played.sent.iter().all(|(number, _)| number.is_none()));
    assert!(!played.report.is_untouched());
}

#[test]
fn c29_an_unannounced_item_keeps_the_first_id_seen() {
    let delta = "reasoning_summary_text.delta";
    let thought = serde_json::json!({"type": "reasoning", "id": "rs_7",
        "summary": [{"type": "summary_text", "text": "both sides"}]});
    let stream = joined([
        vec![
            scoped(delta, 0, "rs_1", "both"),
            scoped(delta, 0, "rs_2", " si"),
            scoped(delta, 0, "rs_3", "des"),
        ],
        lifecycle(0, &message("msg_1", "left")),
        vec![terminal([thought, message("msg_1", "left")])],
    ]);
    let played = check(stream, "reasoning=rs_1 | message=msg_1");
    assert_eq!(
        played.lines()[..6],
        [
            "added 0 reasoning=rs_1",
            "reasoning_summary_part.added 0 rs_1",
            "reasoning_summary_text.delta 0 rs_1 both",
            "reasoning_summary_text.delta 0 rs_1  si",
            "reasoning_summary_text.delta 0 rs_1 des",
            "added 1 message=msg_1",
        ]
    );
    assert_eq!(played.lines()[9], "done 0 reasoning=rs_1");
}

#[test]
fn the_part_that_an_unannounced_item_speaks_in_is_opened_too() {
    let deltas = [
        ("output_text.delta", "content_part.added"),
        ("refusal.delta", "content_part.added"),
        ("reasoning_text.delta", "content_part.added"),
        (
            "reasoning_summary_text.delta",
            "reasoning_summary_part.added",
        ),
    ];
    for (delta, part) in deltas {
        let played = check(
            vec![scoped(delta, 0, "x_1", "here"), terminal([])],
            if delta.starts_with("reasoning") {
                "reasoning=x_1"
            } else {
                "message=x_1"
            },
        );
        assert_eq!(played.lines()[1], format!("{part} 0 x_1"));
    }
}

#[test]
fn c31_a_second_round_continues_the_response() {
    let round = |events: Vec<Event>| joined([vec![Event::Created], events]);
    let first = joined([
        lifecycle(0, &reasoning("rs_a", "ask")),
        lifecycle(1, &mcp("mcp_b", "ask", "{}")),
    ]);
    let second = joined([
        lifecycle(0, &message("msg_c", "y")),
        vec![terminal([
            reasoning("rs_a", "ask"),
            mcp("mcp_b", "ask", "{}"),
            message("msg_c", "y"),
        ])],
    ]);
    let mut stream = numbered(round(first));
    stream.extend(numbered(round(second)));
    let played = check_numbered(&stream, "reasoning=rs_a | mcp_call=mcp_b | message=msg_c");
    assert_eq!(played.lines()[8], "added 2 message=msg_c");
    assert_eq!(
        played
            .lines()
            .iter()
            .filter(|line| *line == "created")
            .count(),
        1
    );
    let numbers: Vec<u64> = played
        .sent
        .iter()
        .filter_map(|(number, _)| *number)
        .collect();
    assert_eq!(numbers, (0..13).collect::<Vec<u64>>());
}

#[test]
fn c33_rotating_ids_are_held_by_index_and_call_id() {
    let mut stream = Vec::new();
    let items = [
        reasoning("A1", "why"),
        message("B1", "so"),
        call("C1", "call_1", "f", "{}"),
    ];
    for (index, item) in (0..).zip(&items) {
        let mut events = lifecycle(index, item);
        for event in &mut events {
            if let Event::Scoped { item_id, .. } = event {
                *item_id = Some(format!("rotated {index}"));
            }
        }
        events.pop();
        let closed = with(item.clone(), "id", format!("again {index}"));
        events.push(done(index, closed));
        stream.extend(events);
    }
    let fresh = |(item, id): (&serde_json::Value, &str)| with(item.clone(), "id", id);
    stream.push(terminal(items.iter().zip(["x", "y", "z"]).map(fresh)));
    let played = check(
        stream,
        "reasoning=A1 | message=B1 | function_call=C1/call_1",
    );
    assert_eq!(played.sent.len(), 12);
}

#[test]
fn c33_rotating_ids_at_a_shared_index_follow_the_type() {
    // An unannounced close takes the index of an open item; that item's events go on.
    let stream = vec![
        added(0, message("m1", "")),
        done(0, reasoning("r1", "aside")),
        scoped("output_text.delta", 0, "m2", "Hi"),
        done(0, message("m3", "Hi")),
        terminal([message("m4", "Hi"), reasoning("r4", "aside")]),
    ];
    let played = check(stream, "message=m1 | reasoning=r1");
    assert_eq!(
        played.lines()[1..9],
        [
            "added 1 reasoning=r1",
            "content_part.added 1 r1",
            "reasoning_text.delta 1 r1 aside",
            "reasoning_text.done 1 r1 aside",
            "content_part.done 1 r1 aside",
            "done 1 reasoning=r1",
            "content_part.added 0 m1",
            "output_text.delta 0 m1 Hi",
        ]
    );
}

#[test]
fn c41_a_call_at_the_index_of_the_reasoning_moves_on() {
    let stream = joined([
        lifecycle(0, &reasoning("rs_1", "why")),
        lifecycle(0, &call("fc_2", "call_2", "f", "{}")),
        vec![terminal([
            reasoning("rs_1", "why"),
            call("fc_2", "call_2", "f", "{}"),
        ])],
    ]);
    let played = check(stream, "reasoning=rs_1 | function_call=fc_2/call_2");
    assert_eq!(
        played.lines()[4..7],
        [
            "added 1 function_call=fc_2/call_2",
            "function_call_arguments.delta 1 fc_2 {}",
            "done 1 function_call=fc_2/call_2",
        ]
    );
}

#[test]
fn c43_interleaved_items_pass_untouched() {
    let (thought, run) = (
        reasoning("rs_1", "where"),
        call("fc_2", "call_2", "run", "{}"),
    );
    let stream = numbered(vec![
        added(0, thought.clone()),
        added(1, run.clone()),
        scoped("function_call_arguments.delta", 1, "fc_2", "{}"),
        done(1, run.clone()),
        done(0, thought.clone()),
        terminal([thought, run]),
    ]);
    let played = play(&stream);
    assert_eq!(played.sent, stream);
    assert!(played.report.is_untouched());
}

#[test]
fn c44_a_reasoning_split_off_at_the_end_comes_after_the_message() {
    let stream = vec![
        added(0, message("msg_1", "")),
        scoped("output_text.delta", 0, "msg_1", "<think>hi</think>Hi!"),
        done(0, reasoning("rs_2", "hi")),
        scoped("output_text.done", 1, "msg_1", "Hi!"),
        done(1, message("msg_1", "Hi!")),
        terminal([reasoning("rs_2", "hi"), message("msg_1", "Hi!")]),
    ];
    let played = check(stream, "message=msg_1 | reasoning=rs_2");
    assert_eq!(
        played.lines()[3..10],
        [
            "added 1 reasoning=rs_2",
            "content_part.added 1 rs_2",
            "reasoning_text.delta 1 rs_2 hi",
            "reasoning_text.done 1 rs_2 hi",
            "content_part.done 1 rs_2 hi",
            "done 1 reasoning=rs_2",
            "output_text.done 0 msg_1 Hi!",
        ]
    );
    assert_eq!(
        played.lines()[9..11],
        ["output_text.done 0 msg_1 Hi!", "done 0 message=msg_1",]
    );
}

#[test]
fn c45_a_call_announced_again_is_dropped_with_all_its_events() {
    let (full, empty) = (
        call("call_1", "call_1", "mul", r#"{"m":3}"#),
        call("call_1", "call_1", "mul", ""),
    );
    let later = message("msg_2", "21");
    let stream = joined([
        lifecycle(0, &full),
        vec![
            added(1, empty.clone()),
            scoped("function_call_arguments.done", 1, "call_1", ""),
            done(1, empty.clone()),
        ],
        lifecycle(2, &later),
        vec![terminal([full.clone(), empty, later.clone()])],
    ]);
    let played = check(stream, "function_call=call_1/call_1 | message=msg_2");
    assert_eq!(played.lines()[3], "added 1 message=msg_2");
    assert_eq!(played.output(), [full, later]);
    let numbers: Vec<u64> = played
        .sent
        .iter()
        .filter_map(|(number, _)| *number)
        .collect();
    assert_eq!(numbers, [0, 1, 2, 3, 4, 5, 6, 7]);
}

#[test]
fn c47_a_gap_in_the_indices_is_closed_up() {
    let items = [reasoning("rs_1", "why"), message("msg_2", "so")];
    let stream = joined([
        lifecycle(0, &items[0]),
        lifecycle(2, &items[1]),
        vec![terminal(items)],
    ]);
    let played = check(stream, "reasoning=rs_1 | message=msg_2");
    assert_eq!(played.lines()[4], "added 1 message=msg_2");
}

#[test]
fn c48_a_null_item_announces_nothing() {
    let stream = vec![
        added(0, serde_json::Value::Null),
        scoped("content_part.added", 0, "msg_1", ""),
        scoped("output_text.delta", 0, "msg_1", "here"),
        done(0, message("msg_1", "here")),
        terminal([message("msg_2", "here")]),
    ];
    let played = check(stream, "message=msg_1");
    assert_eq!(
        played.lines()[..3],
        [
            "added 0 message=msg_1",
            "content_part.added 0 msg_1",
            "output_text.delta 0 msg_1 here",
        ]
    );
}
