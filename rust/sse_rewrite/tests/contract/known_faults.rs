//! Faults that streams of real servers have, each as a small event list.
//!
//! The numbers are those of the project's corpus of faulty streams; a later rewriter of bytes
//! is judged by the full streams, the ledger's decisions are held fast here.

use crate::driver::{Played, play};
use crate::judge::{faults, losses};
use crate::model::{
    Event, Numbered, added, call, code, custom, done, lifecycle, mcp, message, numbered, reasoning,
    scoped, search, show_item, terminal, unnumbered, unplaced, with, without,
};

/// Plays `stream`, wants a faultless result that lists `want` (`*` for what was minted), and
/// wants a second pass to change nothing.
fn check_numbered(stream: &[Numbered], want: &str) -> Played {
    let played = play(stream);
    assert_eq!(faults(&played.sent), [""; 0], "{:#?}", played.lines());
    assert_eq!(losses(stream, &played.sent), [""; 0]);
    let got: Vec<String> = played.output().iter().map(show_item).collect();
    let want: Vec<&str> = want.split(" | ").collect();
    let fits = |got: &String, want: &&str| match want.split_once('*') {
        Some((head, tail)) => {
            got.len() > head.len() + tail.len() && got.starts_with(head) && got.ends_with(tail)
        }
        None => got == want,
    };
    let all_fit = got.iter().zip(&want).all(|(got, want)| fits(got, want));
    assert!(all_fit && got.len() == want.len(), "{got:?}, not {want:?}");
    assert_eq!(play(&played.sent).sent, played.sent);
    played
}

fn check(events: Vec<Event>, want: &str) -> Played {
    check_numbered(&numbered(events), want)
}

fn joined(parts: impl IntoIterator<Item = Vec<Event>>) -> Vec<Event> {
    parts.into_iter().flatten().collect()
}

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
    assert_eq!(played.lines()[6..10], places);
}

#[test]
fn c09_a_call_never_takes_the_place_of_the_message_that_leaked_it() {
    let markup = "<function=f></function>";
    let stream = joined([
        lifecycle(0, &reasoning("a1", "think")),
        lifecycle(1, &message("a2", markup)),
        vec![terminal([
            reasoning("rs_1", "think"),
            call("fc_1", "chatcmpl-tool-1", "f", r#"{"place":"Oban"}"#),
        ])],
    ]);
    let played = check(
        stream,
        "reasoning=a1 | message=a2 | function_call=fc_1/chatcmpl-tool-1",
    );
    assert_eq!(
        played.lines()[6..10],
        [
            "added 2 function_call=fc_1/chatcmpl-tool-1",
            r#"function_call_arguments.delta 2 fc_1 {"place":"Oban"}"#,
            "function_call_arguments.done 2 fc_1",
            "done 2 function_call=fc_1/chatcmpl-tool-1",
        ]
    );
    assert_eq!(played.output()[1]["content"][0]["text"], markup);
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
        played.lines()[3..7],
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
        played.lines()[..5],
        [
            "added 0 reasoning=rs_1",
            "reasoning_summary_text.delta 0 rs_1 both",
            "reasoning_summary_text.delta 0 rs_1  si",
            "reasoning_summary_text.delta 0 rs_1 des",
            "added 1 message=msg_1",
        ]
    );
    assert_eq!(played.lines()[7], "done 0 reasoning=rs_1");
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
    let played = check_numbered(
        &stream,
        "reasoning=rs_a | mcp_call=mcp_b | message=msg_c",
    );
    assert_eq!(played.lines()[7], "added 2 message=msg_c");
    assert_eq!(
        played.lines().iter().filter(|line| *line == "created").count(),
        1
    );
    let numbers: Vec<u64> = played.sent.iter().filter_map(|(number, _)| *number).collect();
    assert_eq!(numbers, (0..11).collect::<Vec<u64>>());
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
        if let Event::Scoped { item_id, .. } = &mut events[1] {
            *item_id = Some(format!("rotated {index}"));
        }
        events[2] = done(index, with(item.clone(), "id", format!("again {index}")));
        stream.extend(events);
    }
    let fresh = |(item, id): (&serde_json::Value, &str)| with(item.clone(), "id", id);
    stream.push(terminal(items.iter().zip(["x", "y", "z"]).map(fresh)));
    let played = check(stream, "reasoning=A1 | message=B1 | function_call=C1/call_1");
    assert_eq!(played.sent.len(), 10);
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
    assert_eq!(played.lines()[3], "output_text.delta 0 m1 Hi");
}

#[test]
fn c37_an_id_missing_from_the_close_is_the_announced_one() {
    let item = call("fc_1", "call_1", "f", "{}");
    let nameless = with(without(item.clone(), "id"), "item_id", "fc_1");
    let stream = joined([
        lifecycle(0, &reasoning("rs_1", "why")),
        vec![
            added(1, item),
            done(1, nameless.clone()),
            terminal([reasoning("rs_1", "why"), nameless]),
        ],
    ]);
    let played = check(stream, "reasoning=rs_1 | function_call=fc_1/call_1");
    assert_eq!(played.output()[1]["item_id"], "fc_1");
}

#[test]
fn c38_an_empty_output_becomes_what_was_streamed() {
    let items = [reasoning("rs_1", "why"), message("msg_1", "so")];
    let stream = joined([
        lifecycle(0, &items[0]),
        lifecycle(1, &items[1]),
        vec![terminal([])],
    ]);
    let played = check(stream, "reasoning=rs_1 | message=msg_1");
    assert_eq!(played.output(), items);
}

#[test]
fn c40_a_partial_output_keeps_places_and_the_phase() {
    let streamed = with(message("msg_1", "at noon"), "phase", "final_answer");
    let stream = joined([
        lifecycle(0, &reasoning("rs_1", "known")),
        lifecycle(1, &streamed),
        vec![terminal([message("msg_9", "at noon")])],
    ]);
    let played = check(stream, "reasoning=rs_1 | message=msg_1");
    assert_eq!(played.output()[1]["phase"], "final_answer");
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
        played.lines()[3..6],
        [
            "added 1 function_call=fc_2/call_2",
            "function_call_arguments.delta 1 fc_2 delta of fc_2",
            "done 1 function_call=fc_2/call_2",
        ]
    );
}

#[test]
fn c43_interleaved_items_pass_untouched() {
    let (thought, run) = (reasoning("rs_1", "where"), call("fc_2", "call_2", "run", "{}"));
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
        played.lines()[2..6],
        [
            "added 1 reasoning=rs_2",
            "done 1 reasoning=rs_2",
            "output_text.done 0 msg_1 Hi!",
            "done 0 message=msg_1",
        ]
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
    let numbers: Vec<u64> = played.sent.iter().filter_map(|(number, _)| *number).collect();
    assert_eq!(numbers, [0, 1, 2, 3, 4, 5, 6]);
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
    assert_eq!(played.lines()[3], "added 1 message=msg_2");
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

#[test]
fn c50_an_empty_call_id_is_replaced_by_one_that_can_be_answered() {
    let stream = joined([
        lifecycle(0, &message("msg_1", "wait")),
        vec![terminal([
            message("msg_1", "wait"),
            call("fc_2", "", "f", "{}"),
        ])],
    ]);
    let played = check(stream, "message=msg_1 | function_call=fc_2/*");
    let output = played.output();
    let Event::Added { item, .. } = &played.sent[3].1 else {
        panic!("the call is announced late");
    };
    assert_eq!(item["call_id"], output[1]["call_id"]);
}

#[test]
fn c51_a_custom_call_has_two_identities_too() {
    let input = "line\nline";
    let stream = joined([
        lifecycle(0, &custom("ctc_1", "call_1", "sh", input)),
        vec![terminal([custom("ctc_9", "call_9", "sh", input)])],
    ]);
    let played = check(stream, "custom_tool_call=ctc_1/call_1");
    assert_eq!(played.output()[0]["input"], input);
}

#[test]
fn c53_one_id_for_all_leaves_as_many_items_with_ids_of_their_own() {
    let items = [
        message("same", "both"),
        call("same", "call_1", "read", r#"{"p":1}"#),
        call("same", "call_2", "read", r#"{"p":2}"#),
    ];
    let stream = joined([
        lifecycle(0, &items[0]),
        lifecycle(1, &items[1]),
        lifecycle(2, &items[2]),
        vec![terminal(items)],
    ]);
    check(
        stream,
        "message=same | function_call=*/call_1 | function_call=*/call_2",
    );
}

#[test]
fn c53_a_shared_id_does_not_hide_a_message_of_its_own() {
    let stream = joined([
        lifecycle(0, &message("same", "one")),
        lifecycle(1, &message("same", "two")),
        vec![terminal([message("same", "two"), message("same", "three")])],
    ]);
    check(stream, "message=same | message=* | message=*");
}

#[test]
fn c58_deltas_that_name_nothing_make_one_message() {
    let delta = "output_text.delta";
    let stream = unnumbered(vec![
        Event::Created,
        unplaced(delta, None, "I will"),
        unplaced(delta, None, " check."),
        terminal([
            message("msg_1", "I will check."),
            call("fc_2", "call_2", "check", "{}"),
        ]),
    ]);
    let played = check_numbered(&stream, "message=* | function_call=fc_2/call_2");
    let names: Vec<String> = played
        .lines()
        .iter()
        .map(|line| line.split(' ').take(2).collect::<Vec<_>>().join(" "))
        .collect();
    assert_eq!(
        names[1..7],
        [
            "added 0",
            "content_part.added 0",
            "output_text.delta 0",
            "output_text.delta 0",
            "done 0",
            "added 1",
        ]
    );
}

#[test]
fn c58_arguments_that_name_nothing_become_the_call_the_output_has() {
    let delta = "function_call_arguments.delta";
    let stream = vec![
        scoped(delta, 0, "fc_1", r#"{"a""#),
        scoped(delta, 0, "fc_1", ":1}"),
        terminal([call("fc_9", "call_9", "f", r#"{"a":1}"#)]),
    ];
    check(stream, "function_call=fc_1/call_9");
}

#[test]
fn c64_code_that_comes_back_as_reasoning_stands_as_code() {
    let stream = joined([
        lifecycle(0, &reasoning("rs_1", "use python")),
        lifecycle(1, &code("tool_2", "print(6*9)")),
        lifecycle(2, &message("msg_3", "54")),
        vec![terminal([
            reasoning("rs_1", "use python"),
            reasoning("rs_9", "print(6*9)"),
            message("msg_3", "54"),
        ])],
    ]);
    check(
        stream,
        "reasoning=rs_1 | code_interpreter_call=tool_2 | message=msg_3",
    );
}

#[test]
fn c65_text_under_the_id_of_a_reasoning_is_a_message_of_its_own() {
    let stream = joined([
        lifecycle(0, &reasoning("msg_1", "nothing")),
        vec![
            scoped("output_text.done", 1, "msg_1", ""),
            scoped("content_part.done", 1, "msg_1", ""),
            done(1, message("msg_1", "")),
            terminal([reasoning("rs_9", "nothing"), message("msg_9", "")]),
        ],
    ]);
    let played = check(stream, "reasoning=msg_1 | message=*");
    let names: Vec<&str> = played.lines()[3..8]
        .iter()
        .map(|line| line.split(' ').next().unwrap_or_default())
        .map(|name| match name {
            "added" => "added",
            "content_part.added" => "part added",
            "output_text.done" => "text done",
            "content_part.done" => "part done",
            "done" => "done",
            other => panic!("{other}"),
        })
        .collect();
    assert_eq!(
        names,
        ["added", "part added", "text done", "part done", "done"]
    );
}

#[test]
fn c66_a_call_without_any_event_is_announced_with_empty_arguments() {
    let stream = joined([
        lifecycle(0, &reasoning("rs_1", "why")),
        vec![terminal([
            reasoning("rs_1", "why"),
            call("fc_2", "call_2", "f", ""),
        ])],
    ]);
    let played = check(stream, "reasoning=rs_1 | function_call=fc_2/call_2");
    let lines = played.lines();
    assert!(!lines.iter().any(|line| line.starts_with("function_call_arguments.delta")));
    assert_eq!(played.output()[1]["arguments"], "");
}

#[test]
fn c66_an_empty_call_is_not_taken_for_another_empty_call() {
    let stream = joined([
        lifecycle(0, &mcp("mcp_1", "ask", "")),
        vec![terminal([call("fc_2", "call_2", "f", "")])],
    ]);
    check(stream, "mcp_call=mcp_1 | function_call=fc_2/call_2");
}

#[test]
fn c67_an_item_that_only_left_a_gap_comes_last() {
    let stream = joined([
        lifecycle(1, &message("msg_2", "so")),
        vec![terminal([
            reasoning("rs_1", "why"),
            message("msg_2", "so"),
        ])],
    ]);
    let played = check(stream, "message=msg_2 | reasoning=rs_1");
    assert_eq!(played.lines()[0], "added 0 message=msg_2");
}
